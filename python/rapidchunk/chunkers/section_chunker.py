"""Sections -> chunks: what all strategies that know a document's structure share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from rapidchunk import _core
from rapidchunk.chunkers.base import RUN, Chunker, _Batch, check_within, runs, threads
from rapidchunk.chunkers.recursive import DEFAULT_SEPARATORS
from rapidchunk.chunkers.section_cutter import SectionCutter
from rapidchunk.chunkers.sections import Section, SectionColumns, Sections
from rapidchunk.chunks import COLUMNS, Chunks
from rapidchunk.columns import LazyColumn, PrefixedTexts, SpanTexts, joined

__all__ = ["SectionChunker", "naming"]


class SectionChunker(Chunker):
    """Finds sections, cuts those that are too long and joins those that are too small.

    Further columns of every such strategy:
        headings: tuple of str, the titles of the sections that hold all of the chunk's text, outermost first.
        context: str, the text to embed; None where it is the chunk's own. At most `max_tokens` too.

    Args:
        max_tokens, min_tokens, overlap, tokenizer: see `Chunker`. Sections under `min_tokens` are merged, by preference
            with a neighbour that has the same parent. `overlap` is between the pieces of one section.
        within: the chunker for sections that are too long; its max_tokens may not be larger (what it is smaller is room for
            `context`), and it must count tokens alike. Default: recursive, by the strategy's own separators.
    """

    _separators: Sequence[Sequence[str]] = DEFAULT_SEPARATORS
    _repeats_heads = False  # contexts say what headings in the text say too
    _fills = False  # put as many sections as fit into a chunk
    _keeps_context = False  # cut a section that would leave no room for the shortest of its contexts

    def __init__(self, max_tokens: int, min_tokens: int, overlap: int, tokenizer: Any, within: Chunker | None) -> None:
        super().__init__(max_tokens, min_tokens, overlap, tokenizer)
        check_within(within, self)
        self.within = within

    def _read(self, document: Any) -> tuple[str, Sequence[Section]]:
        """The text of a document and its sections. A strategy that reads many documents at once has a `_plan` of its own instead.

        Raises:
            ValueError: the document cannot be read; the caller adds its number.
        """
        raise NotImplementedError

    def _columns(
        self, chunks: Chunks, sections: Sequence[Section], first: list[int], last: list[int]
    ) -> dict[str, Any]:
        """The strategy's further columns of chunks that begin in section `first` and end in `last`."""
        return {}

    def _prefixes(self, first: Section, main: Section, last: Section, into: int) -> Sequence[str]:
        """What may go before a chunk's text, best first. `main` is the first section that is not bare; the chunk begins `into`
        bytes after the start of the text of `first`."""
        return main.context if main is last or main.context == last.context else ()

    def _plan(self, batch: _Batch) -> tuple[list[str] | _core.Texts, Callable[[int, int], Chunks]]:
        source: list[str] = []

        def chunk(begin: int, end: int) -> Chunks:
            parts: list[Sequence[Section]] = []
            offsets = [0]
            for number in range(begin, end):
                with naming(number):
                    text, found = self._read(batch.source[number])
                source.append(text)
                parts.append(found)
                offsets.append(offsets[-1] + len(found))
            texts = _core.Texts(source[begin:end])
            return self._chunk_sections(texts, Sections(texts, joined(parts) if parts else [], np.array(offsets)))

        return source, chunk

    def _chunk(self, texts: _core.Texts) -> Chunks:
        _, chunk = self._plan(_Batch([texts[number] for number in range(len(texts))]))
        return chunk(0, len(texts))

    def _chunk_sections(self, texts: _core.Texts, sections: SectionColumns) -> Chunks:
        cutter = SectionCutter(
            self, texts, sections,
            separators=self._separators, repeats_heads=self._repeats_heads, keeps_context=self._keeps_context,
        )  # fmt: skip
        special = self.tokenizer.special_tokens
        found = _core.section_chunks(
            texts, cutter.measure, sections.columns, cutter.pieces, self._groups(texts, sections, cutter), cutter.levels,
            max_tokens=self.max_tokens - special, threads=threads(),
        )  # fmt: skip
        found["tokens"] += special
        chunks = Chunks(texts, {name: found[name] for name in COLUMNS})
        path = found["path"]
        headings = LazyColumn(len(chunks), lambda: _headings(path.tolist(), sections.paths()))
        cutter.measure = None  # the tokens of the texts go before there are more columns
        context = self._contexts(chunks, cutter, found)
        part_section = cutter.pieces["part_section"]
        further: dict[str, Any] = {}
        if sections.listed is not None:
            first, last = (part_section[found[name]].tolist() for name in ("first", "last"))
            further = self._columns(chunks, sections.listed, first, last)
        chunks.extra = {"headings": headings, **further, "context": context}
        return chunks

    def _groups(self, texts: _core.Texts, sections: SectionColumns, cutter: SectionCutter) -> np.ndarray:
        """Runs of pieces that make a chunk: int64 [chunks, 2], the first and the last."""
        special = self.tokenizer.special_tokens
        return _core.section_groups(
            texts, sections.columns, cutter.pieces, max_tokens=self.max_tokens - special,
            min_tokens=max(self.min_tokens - special, 0), fill=self._fills, room_left=cutter.room_left,
        )  # fmt: skip

    def _contexts(self, chunks: Chunks, cutter: SectionCutter, found: dict[str, np.ndarray]) -> Sequence[str | None]:
        """The text to embed of every chunk, within `max_tokens`; None where it is the chunk's own."""
        runs = zip(*(found[name].tolist() for name in ("first", "main", "last", "into")))
        prefixes: dict[int, Sequence[str]] = {}
        for row, (first, main, last, into) in enumerate(runs):
            part = cutter.part(first)
            main_part = part if main == first else cutter.part(main)
            before = self._prefixes(part, main_part, main_part if last == main else cutter.part(last), into)
            if before:
                prefixes[row] = before
        columns = (chunks.document, chunks.start, chunks.end, chunks.byte_start, chunks.byte_end)
        texts = SpanTexts(cutter.texts, *columns)
        return PrefixedTexts(LazyColumn(len(chunks), lambda: self._fitting(texts, prefixes)), texts)

    def _fitting(self, texts: SpanTexts, prefixes: dict[int, Sequence[str]]) -> list[str | None]:
        """The first of its prefixes with which the text of a row fits. Run by run, since their texts may be all of a document."""
        found: list[str | None] = [None] * len(texts)
        rows = list(prefixes)
        for begin, end in runs(texts.sizes(rows), RUN):
            left = {row: prefixes[row] for row in rows[begin:end]}
            while left:
                sizes = self.tokenizer.count([before[0] + texts[row] for row, before in left.items()]).tolist()
                rest: dict[int, Sequence[str]] = {}
                for (row, before), size in zip(left.items(), sizes):
                    if size <= self.max_tokens:
                        found[row] = before[0]
                    elif len(before) > 1:
                        rest[row] = before[1:]
                left = rest
        return found


@contextmanager
def naming(number: int) -> Iterator[None]:
    """Errors of reading a document say which one it is."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"texts: document {number}: {error}") from error
    except ImportError as error:
        raise ImportError(f"texts: document {number}: {error}") from error


def _headings(path: list[int], names: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The heading path of every chunk; chunks of one section share the tuple."""
    return [names[number] if number >= 0 else () for number in path]
