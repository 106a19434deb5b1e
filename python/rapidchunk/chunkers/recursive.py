"""Recursive splitting along a hierarchy of separators."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from rapidchunk import _core
from rapidchunk.chunkers.base import Chunker
from rapidchunk.chunks import Chunks

__all__ = ["DEFAULT_SEPARATORS", "RecursiveChunker"]

# Paragraphs, lines, sentences (roughly, by their last mark), words. Separators in one group count alike.
DEFAULT_SEPARATORS: tuple[tuple[str, ...], ...] = (
    ("\n\n", "\r\n\r\n"),
    ("\n",),
    (". ", "! ", "? ", "。", "！", "？", "।", "॥"),
    (" ",),
)


class RecursiveChunker(Chunker):
    """Cuts at the best separator that the size allows: the furthest paragraph end within `max_tokens`, else the furthest line
    end, sentence end, word end; failing all, between two characters.

    Every chunk is as full as its best separator permits, so that a small rest of a long paragraph goes together with what
    follows it. (Splitting level by level, as LangChain's RecursiveCharacterTextSplitter does, leaves such rests alone.)

    Args:
        max_tokens, min_tokens, overlap, tokenizer: see `Chunker`.
        separators: best first. An entry is a string, a compiled regular expression, or a sequence of these that count alike.
            An empty string (cut anywhere) is implied at the end.
        keep_separator: True or "end": it ends the chunk before it; "start": it begins the chunk after it; False: it is in no
            chunk where a cut is made at it.
        is_regex: the strings in `separators` are regular expressions.

    Raises:
        ValueError: a parameter is out of range, or a regular expression is not valid.
    """

    def __init__(
        self,
        max_tokens: int = 512,
        overlap: int = 0,
        tokenizer: Any = None,
        *,
        min_tokens: int = 0,
        separators: Sequence[str | re.Pattern[str] | Sequence[str | re.Pattern[str]]] = DEFAULT_SEPARATORS,
        keep_separator: bool | str = True,
        is_regex: bool = False,
    ) -> None:
        super().__init__(max_tokens, min_tokens, overlap, tokenizer)
        if isinstance(separators, (str, bytes)) or not isinstance(separators, Sequence):
            raise ValueError(f"separators must be a sequence of separators, not {separators!r}")
        self.separators = separators
        self.keep_separator = keep_separator
        self.is_regex = bool(is_regex)
        if keep_separator not in (True, False, "end", "start"):
            raise ValueError(f'keep_separator must be True, False, "end" or "start", not {keep_separator!r}')
        self._keep = keep_separator if isinstance(keep_separator, str) else "end" if keep_separator else "drop"
        self._levels = [self._level(entry) for entry in separators]

    def _level(self, entry: Any) -> list[str] | re.Pattern[str]:
        """A list of literals, or one regular expression."""
        alone = isinstance(entry, (str, re.Pattern)) or not isinstance(entry, Sequence)
        group: list[Any] = [entry] if alone else list(entry)
        for separator in group:
            if not isinstance(separator, (str, re.Pattern)):
                raise ValueError(f"separators must be strings or regular expressions, not {separator!r}")
        if not self.is_regex and all(isinstance(separator, str) for separator in group):
            return [separator for separator in group if separator]
        patterns = [
            separator.pattern
            if isinstance(separator, re.Pattern)
            else separator
            if self.is_regex
            else re.escape(separator)
            for separator in group
            if separator
        ]
        flags = 0
        for separator in group:
            flags |= separator.flags & ~re.UNICODE if isinstance(separator, re.Pattern) else 0
        try:
            return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), flags)
        except re.error as error:
            raise ValueError(f"separators: {patterns} is not a valid regular expression: {error}") from error

    def _chunk(self, texts: _core.Texts) -> Chunks:
        levels = [
            level if isinstance(level, list) else regex_spans(texts, level)
            for level in self._levels
            if not isinstance(level, list) or level
        ]
        return self._pack(texts, levels, keep=self._keep)


def regex_spans(texts: _core.Texts, pattern: re.Pattern[str]) -> tuple[np.ndarray, np.ndarray]:
    """The matches of a pattern in a batch: byte spans int64 [n, 2] and document offsets int64 [D + 1]."""
    spans: list[tuple[int, int]] = []
    offsets = np.zeros(len(texts) + 1, np.int64)
    for document in range(len(texts)):
        spans.extend(match.span() for match in pattern.finditer(texts[document]))
        offsets[document + 1] = len(spans)
    found = np.array(spans, np.int64).reshape(-1, 2)
    return _core.byte_offsets(texts, offsets, found), offsets
