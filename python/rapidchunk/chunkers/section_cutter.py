"""Sections -> pieces: sections that are too long are cut, with room left for what goes before a piece."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rapidchunk import _core
from rapidchunk.chunkers.base import Chunker, threads
from rapidchunk.chunkers.recursive import RecursiveChunker
from rapidchunk.chunkers.sections import Section, Table, around

if TYPE_CHECKING:
    from rapidchunk.chunkers.section_chunker import SectionChunker

__all__ = ["SectionCutter"]


class SectionCutter:
    """Cuts the sections of a batch.

    Args:
        chunker: for its limits, tokenizer and `within`.
        texts: the documents.
        sections, offsets: of all documents; those of document d are ``sections[offsets[d]:offsets[d + 1]]``.
        separators: where to cut sections without `within`, the best first.
        repeats_heads: contexts say what headings in the text say too.
        keeps_context: cut a section that would leave no room for the shortest of its contexts.

    Attributes:
        sections: with long tables, and what is around these, as sections of their own.
        levels: of boundaries, for `_core.split_spans`.
        measure: the tokenizer's, of `texts`.
    """

    def __init__(
        self,
        chunker: SectionChunker,
        texts: _core.Texts,
        sections: list[Section],
        offsets: np.ndarray,
        *,
        separators: Sequence[Sequence[str]],
        repeats_heads: bool,
        keeps_context: bool,
    ) -> None:
        self._chunker = chunker
        self._separators = separators
        self._repeats_heads = repeats_heads
        self._keeps_context = keeps_context
        self._special = chunker.tokenizer.special_tokens
        self._room = chunker.max_tokens - self._special
        self._texts = texts
        self.measure = chunker.tokenizer.measure(texts, threads())
        self.sections, offsets = self._tables_apart(sections, offsets)
        points = np.array([section[:2] for section in self.sections], np.int64).reshape(-1, 2)
        self._spans = _core.byte_offsets(texts, offsets, points)
        self._document = np.repeat(np.arange(len(texts)), np.diff(offsets))
        self._step = int(self._spans.max(initial=0)) + 1  # positions of all documents on one rising scale
        self._starts = self._spans[:, 0] + self._document * self._step
        self.levels = [*self._rows(), *(list(level) for level in separators)]

    def section_of(self, document: np.ndarray, byte: np.ndarray) -> np.ndarray:
        """The sections that positions are in."""
        return np.asarray(np.searchsorted(self._starts, byte + document * self._step, side="right") - 1)

    def pieces(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The sections, cut where they are too long: byte spans, documents and tokens (without special ones)."""
        texts, spans, document, sections, room = self._texts, self._spans, self._document, self.sections, self._room
        cut, of, tokens = self._split(np.arange(len(spans)), room)
        row = self.section_of(of, cut[:, 0])
        many = np.bincount(row, minlength=len(spans)) > 1
        sizes = np.bincount(row, tokens, len(spans)).astype(np.int64)
        if self._keeps_context:
            least = np.array([self.least(section) for section in sections], np.int64)
            heads = [self._heads(i, sizes, room // 2) if least[i] else 0 for i in range(len(sections))]
            many |= (sizes + heads + least > room) & (least > 0)
        reserved = self._reserved(np.flatnonzero(many).tolist(), sizes, room // 2)
        with_inner = self._chunker.within is not None or self._chunker.overlap > 0
        by_inner = np.array([with_inner and not section.rows for section in sections], bool) & many
        by_room = ~by_inner & many & (reserved > 0)
        if not (by_inner | by_room).any():
            return cut, of, tokens
        kept = ~(by_inner | by_room)[row]
        parts = [(cut[kept], of[kept], tokens[kept])]
        again = np.flatnonzero(by_inner)
        for most in np.unique(reserved[again]).tolist():
            rows = again[reserved[again] == most]
            columns = [np.ascontiguousarray(spans[rows, i]) for i in (0, 1)]
            points = [_core.code_point_offsets(texts, document[rows], column) for column in columns]
            found = self._inner(most)(texts.slices(document[rows], *points, *columns))
            base = spans[rows[found.document], 0]
            found_spans = np.stack([found.byte_start + base, found.byte_end + base], axis=1)
            parts.append((found_spans, document[rows[found.document]], found.tokens - self._special))
        again = np.flatnonzero(by_room)
        rooms = room - reserved[again]
        parts.extend(self._split(again[rooms == most], int(most)) for most in np.unique(rooms))
        cut, of, tokens = (np.concatenate(columns) for columns in zip(*parts))
        order = np.lexsort((cut[:, 0], of))
        return np.ascontiguousarray(cut[order]), of[order], tokens[order]

    def _split(self, rows: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The sections `rows` in pieces of at most `most` tokens, as `pieces`."""
        cut, bounds, tokens = _core.split_spans(
            self._texts, self.measure, np.ascontiguousarray(self._spans[rows]),
            np.searchsorted(self._document[rows], np.arange(len(self._texts) + 1)), self.levels,
            max_tokens=most, threads=threads(),
        )  # fmt: skip
        return cut, np.repeat(np.arange(len(self._texts)), np.diff(bounds)), tokens

    def _inner(self, reserved: int) -> Chunker:
        """What cuts sections that are too long, where that is not `_separators` alone: `within`, whose limits are its own, or
        overlapping pieces that leave `reserved` tokens free."""
        chunker = self._chunker
        if chunker.within is not None:
            return chunker.within
        most = max(chunker.max_tokens - reserved, min(chunker.max_tokens, 4))
        overlap = min(chunker.overlap, most - self._special - 1)
        return RecursiveChunker(most, overlap, chunker.tokenizer, separators=self._separators)

    def _reserved(self, rows: list[int], sizes: np.ndarray, most: int) -> np.ndarray:
        """Tokens to leave free in the pieces of the sections `rows`, which are cut: for the first context that takes at most
        `most`, or the headings that go with the section."""
        sections = self.sections
        counts = self._sizes({text for row in rows for text in sections[row].context})
        reserved = np.zeros(len(sections), np.int64)
        for row in rows:
            heads = self._heads(row, sizes, most)
            heads = heads if heads <= most else 0
            left = most - heads * self._repeats_heads
            context = next((counts[text] for text in sections[row].context if counts[text] <= left), 0)
            reserved[row] = context + heads if self._repeats_heads else max(context, heads)
        return reserved

    def least(self, section: Section) -> int:
        """The tokens that a chunk of the section has to leave free for a context."""
        if not (self._keeps_context and section.context):
            return 0
        size = self._sizes({section.context[-1]})[section.context[-1]]
        return size if 2 * size <= self._room else 0

    def _heads(self, row: int, sizes: np.ndarray, most: int) -> int:
        """The tokens of the bare sections before a section, which go with it; more than `most` where they are more."""
        sections, document = self.sections, self._document
        heads, before = 0, row - 1
        while before >= 0 and sections[before].bare and document[before] == document[row] and heads <= most:
            heads += int(sizes[before])
            before -= 1
        return heads and heads + 1

    def _sizes(self, contexts: set[str]) -> dict[str, int]:
        """The tokens that contexts take before a text."""
        distinct = sorted(contexts)
        return dict(zip(distinct, (self._chunker.tokenizer.count(distinct) - self._special + 1).tolist()))

    def _tables_apart(self, sections: list[Section], offsets: np.ndarray) -> tuple[list[Section], np.ndarray]:
        """Makes sections of tables that would be cut, and of what is before and after them."""
        document = np.repeat(np.arange(len(self._texts)), np.diff(offsets))
        holders = [row for row, section in enumerate(sections) if section.tables]
        if not holders:
            return sections, offsets
        too_long = self._are_too_long([sections[row][:2] for row in holders], document[holders])
        tables = [
            (row, table) for row, long in zip(holders, too_long.tolist()) if long for table in sections[row].tables
        ]
        if not tables:
            return sections, offsets
        of_tables = document[[row for row, _ in tables]]
        long = self._are_too_long([table[:2] for _, table in tables], of_tables)
        apart: dict[int, list[Table]] = {}
        for (row, table), by_itself in zip(tables, long.tolist()):
            if by_itself or table.loose:
                apart.setdefault(row, []).append(table)
        found: list[Section] = []
        numbers: list[int] = []
        for row, section in enumerate(sections):
            parts = list(around(section, apart[row])) if row in apart else [section]
            found.extend(parts)
            numbers.extend([int(document[row])] * len(parts))
        return found, np.searchsorted(numbers, np.arange(len(self._texts) + 1))

    def _are_too_long(self, spans: list[tuple[int, int]], document: np.ndarray) -> np.ndarray:
        """Which of the spans (code points; they do not overlap) have more than `max_tokens`."""
        texts = self._texts
        bounds = np.searchsorted(document, np.arange(len(texts) + 1))
        bytes_ = _core.byte_offsets(texts, bounds, np.array(spans, np.int64))
        cut, bounds, _ = _core.split_spans(
            texts, self.measure, bytes_, bounds, ["words"], max_tokens=self._room, threads=threads()
        )
        step = int(bytes_.max(initial=0)) + 1
        starts = cut[:, 0] + np.repeat(np.arange(len(texts)), np.diff(bounds)) * step
        row = np.searchsorted(bytes_[:, 0] + document * step, starts, side="right") - 1
        return np.asarray(np.bincount(row, minlength=len(spans)) > 1)

    def _rows(self) -> list[Any]:
        """The rows of long tables as a level of boundaries, if there are any."""
        rows = [(row, at) for row, section in enumerate(self.sections) for at in section.rows]
        if not rows:
            return []
        bounds = np.searchsorted(self._document[[row for row, _ in rows]], np.arange(len(self._texts) + 1))
        spans = _core.byte_offsets(self._texts, bounds, np.array([(at, at) for _, at in rows], np.int64))
        return [(spans, bounds)]
