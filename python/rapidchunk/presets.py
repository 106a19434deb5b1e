"""A chunker for a kind of document, with the sizes and overlaps that people recommend for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np

from rapidchunk import _core
from rapidchunk.chunkers.base import Chunker, _Batch
from rapidchunk.chunkers.grammars import language_of
from rapidchunk.chunkers.sections import shared_path
from rapidchunk.chunks import COLUMNS, Chunks
from rapidchunk.kinds import guess, is_html

__all__ = ["KINDS", "DocumentChunker", "for_document", "sized"]


class _Preset(NamedTuple):
    strategy: str
    max_tokens: int
    overlap: int
    why: str


KINDS: dict[str, _Preset] = {
    "product": _Preset("sentence", 256, 32, "product texts: 128 to 256 tokens, overlap 0 to 32"),
    "news": _Preset("sentence", 512, 64, "news and blogs: 256 to 512 tokens, overlap 32 to 64"),
    "docs": _Preset("markdown", 512, 64, "technical documentation: 512 tokens, overlap 64 to 128, by section"),
    "legal": _Preset(
        "legal", 1024, 128, "legal and financial texts: 512 to 1024 tokens, overlap 128 to 256, by clause"
    ),
    "paper": _Preset("paper", 512, 64, "papers: 256 to 512 tokens a section, overlap 32 to 64"),
    "chat": _Preset("chat", 256, 0, "conversations: whole turns, up to 256 tokens, no overlap"),
    "code": _Preset("code", 512, 0, "code: by function and class, up to 512 tokens"),
    "api": _Preset("api", 512, 0, "API descriptions: by operation, up to 512 tokens"),
    "book": _Preset("book", 512, 64, "books: by chapter, 512 tokens, overlap 64"),
    "general": _Preset("sentence", 512, 64, "anything else: 512 tokens, overlap 64"),
}
# Kinds whose sections have no meaning of their own where the whole document fits.
_WHOLE = ("docs", "legal", "paper", "book")


def for_document(
    kind: str = "auto", text: Any = None, *, file: Any = None, language: str | None = None, **overrides: Any
) -> Chunker:
    """A chunker for a kind of document.

    Sizes (tokens/overlap): product 256/32, news 512/64, docs 512/64, legal 1024/128, paper 512/64 a section, chat 256/0 in
    whole turns, code and api 512/0, book and everything else 512/64. A document of docs, legal, paper or book that fits
    `max_tokens` stays one chunk (the other kinds fill chunks anyway, or, api and code, have units of their own).

    Args:
        kind: one of `KINDS`, or "auto": by the file's suffix, else by what is in the text.
        text: a document of the kind, for "auto", and to tell Markdown from HTML.
        file: its name or path (not read), for "auto" and the language of code.
        language: of code (see `CodeChunker`); with other kinds, where the strategy has it.
        overrides: parameters of the strategy, such as max_tokens, overlap, tokenizer.

    Returns:
        The chunker; ``chunker.reason`` says why it is this one.

    Raises:
        ValueError: no such kind, "auto" without text or file, code without a language, or a parameter out of range.
        TypeError: the strategy has no such parameter.
    """
    from rapidchunk import strategies

    if kind != "auto" and kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(map(repr, (*KINDS, 'auto')))}, not {kind!r}")
    suffix = "" if file is None else PurePath(file).suffix.lower()
    because = ""
    if kind == "auto":
        if text is None and file is None:
            raise ValueError('kind "auto" needs text or file')
        kind, because = guess(text, suffix)
    preset = KINDS[kind]
    strategy = preset.strategy
    if kind == "docs" and (suffix in (".html", ".htm", ".xhtml") or (not suffix and is_html(text))):
        strategy = "html"
    options = _sized(preset, overrides)
    if kind == "code":
        language = language or language_of(suffix, text if isinstance(text, str) else "")
        if language is None:
            raise ValueError("language must be given for code, or a file with a known suffix")
    known = strategies.parameters(strategy)
    if language is not None:
        if "language" not in known:
            raise ValueError(f"language is no parameter of the strategy {strategy}")
        options["language"] = language
    inner: Chunker = strategies.names()[strategy](**options)
    chunker = DocumentChunker(inner) if kind in _WHOLE else inner
    chunker._reason = f"{kind}{f' ({because})' if because else ''}: {preset.why}; strategy {strategy}"  # type: ignore[attr-defined]
    return chunker


def _sized(preset: _Preset, given: Mapping[str, Any]) -> dict[str, Any]:
    """What is given, with the preset's sizes for the rest; a smaller maximum takes a smaller overlap."""
    options = {"max_tokens": preset.max_tokens, "overlap": preset.overlap, **given}
    if "max_tokens" in given and "overlap" not in given and isinstance(given["max_tokens"], int):
        options["overlap"] = min(preset.overlap, given["max_tokens"] // 8)
    return options


def sized(strategy: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options `given` for a strategy, with the sizes of the kind of document that it suits for what is not given."""
    from rapidchunk import strategies

    kind = next((kind for kind in reversed(KINDS.values()) if kind.strategy == strategy), KINDS["general"])
    known = strategies.parameters(strategy)
    return {name: value for name, value in _sized(kind, given).items() if name in known or name in given}


class DocumentChunker(Chunker):
    """What another chunker makes, but one chunk where the whole document fits its `max_tokens`.

    Of a document that became one chunk, `headings` is the path that all its chunks share; other columns have the value that
    all share, else None; of positions (``…_start``, ``…_end``, ``start_…``, ``end_…``) the first and the last.

    Args:
        within: the chunker.
    """

    def __init__(self, within: Chunker) -> None:
        if not isinstance(within, Chunker):
            raise ValueError(f"within must be a chunker, not {within!r}")
        super().__init__(within.max_tokens, within.min_tokens, within.overlap, within.tokenizer)
        self.within = within
        self._special = self.tokenizer.special_tokens

    def _settings(self) -> str:
        return f"{self.within._settings()} whole"

    def _is_document(self, text: Any) -> bool:
        return self.within._is_document(text)

    def _check_document(self, text: Any, number: int) -> None:
        self.within._check_document(text, number)

    def _plan(self, batch: _Batch) -> tuple[list[str] | _core.Texts, Callable[[int, int], Chunks]]:
        source, chunk = self.within._plan(batch)
        return source, lambda begin, end: self._joined(chunk(begin, end))

    def _chunk(self, texts: _core.Texts) -> Chunks:
        return self._joined(self.within._chunk(texts))

    def _joined(self, chunks: Chunks) -> Chunks:
        firsts = np.flatnonzero(np.diff(chunks.document, prepend=-1))
        lasts = np.append(firsts[1:], len(chunks)) - 1
        # A text has hardly more tokens as a whole than its parts have; what is far too long is not counted.
        runs = [
            (a, b)
            for a, b in zip(firsts.tolist(), lasts.tolist())
            if b > a and int(chunks.tokens[a : b + 1].sum()) <= 2 * self.max_tokens + self._special * (b - a)
        ]
        texts = [
            chunks.document_text(int(chunks.document[a]))[int(chunks.start[a]) : int(chunks.end[b])] for a, b in runs
        ]
        sizes = self.tokenizer.count(texts).tolist() if texts else []
        whole = {a: (b, size) for (a, b), size in zip(runs, sizes) if size <= self.max_tokens}
        if not whole:
            return chunks
        keep = np.ones(len(chunks), bool)
        columns = {name: getattr(chunks, name).copy() for name in COLUMNS}
        extra = {name: list(column) for name, column in chunks.extra.items()}
        for a, (b, size) in whole.items():
            keep[a + 1 : b + 1] = False
            columns["end"][a], columns["byte_end"][a] = columns["end"][b], columns["byte_end"][b]
            columns["tokens"][a] = size
            for name, column in extra.items():
                column[a] = _merged(name, column[a : b + 1])
        rows = np.flatnonzero(keep)
        kept_extra: dict[str, Any] = {}
        for name, column in extra.items():
            values = [column[row] for row in rows.tolist()]
            was = chunks.extra[name]
            kept_extra[name] = np.array(values, was.dtype) if isinstance(was, np.ndarray) else values
        return Chunks(
            chunks._source,
            {name: column[rows] for name, column in columns.items()},
            extra=kept_extra,
            report=chunks.report,
        )


def _merged(name: str, values: list[Any]) -> Any:
    if name == "context":  # the whole text needs no path around it
        return None
    if name == "headings":
        return reduce(shared_path, values)
    if name.endswith("_end") or name.startswith("end_"):
        return values[-1]
    if name.endswith("_start") or name.startswith("start_") or isinstance(values[0], np.generic):
        return values[0]
    return values[0] if all(value == values[0] for value in values) else None
