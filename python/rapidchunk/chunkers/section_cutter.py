"""Sections -> pieces: sections that are too long are cut, with room left for what goes before a piece."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rapidchunk import _core
from rapidchunk.chunkers.base import Chunker, threads
from rapidchunk.chunkers.recursive import RecursiveChunker
from rapidchunk.chunkers.sections import Section, SectionColumns, of_table

if TYPE_CHECKING:
    from rapidchunk.chunkers.section_chunker import SectionChunker

__all__ = ["SectionCutter"]


class SectionCutter:
    """Cuts the sections of a batch.

    Args:
        chunker: for its limits, tokenizer and `within`.
        texts: the documents.
        sections: of all documents.
        separators: where to cut sections without `within`, the best first.
        repeats_heads: contexts say what headings in the text say too.
        keeps_context: cut a section that would leave no room for the shortest of its contexts.

    Attributes:
        texts: as given.
        pieces: the columns of `rapidchunk.kernels.reference.section_pieces`: the parts of the sections (long tables are parts
            by themselves), cut where they are too long.
        levels: where these may be cut, for the kernels.
        measure: the tokenizer's, of `texts`.
        room_left: int64 [parts], tokens that a chunk of the part has to leave free for a context; None: none.
    """

    def __init__(
        self,
        chunker: SectionChunker,
        texts: _core.Texts,
        sections: SectionColumns,
        *,
        separators: Sequence[Sequence[str]],
        repeats_heads: bool,
        keeps_context: bool,
    ) -> None:
        self._chunker = chunker
        self._separators = separators
        self._repeats_heads = repeats_heads
        self._special = chunker.tokenizer.special_tokens
        self._room = chunker.max_tokens - self._special
        self.texts = texts
        self._sections = sections
        self.measure = chunker.tokenizer.measure(texts, threads())
        self.levels: list[Any] = [list(level) for level in separators]
        self.pieces = _core.section_pieces(
            texts, self.measure, sections.columns, self.levels, max_tokens=self._room, threads=threads()
        )
        self.room_left = self._room_left() if keeps_context else None
        self._cut_again()

    def part(self, number: int) -> Section:
        """What is known of a part."""
        section = self._sections[int(self.pieces["part_section"][number])]
        table = int(self.pieces["part_table"][number])
        return section if table < 0 else of_table(section, *self._sections.table(self.texts, table))

    def _cut_again(self) -> None:
        """Cuts sections that are too long once more, where something takes room in their pieces or `within` cuts them."""
        pieces, chunker, texts, room = self.pieces, self._chunker, self.texts, self._room
        n = len(pieces["part_start"])
        many = np.bincount(pieces["part"], minlength=n) > 1
        if self.room_left is None and not many.any():
            return
        sizes = np.bincount(pieces["part"], pieces["tokens"], n).astype(np.int64)
        after_bare = self._after_bare()
        if self.room_left is not None:
            least = self.room_left
            heads = np.zeros(n, np.int64)
            for i in np.flatnonzero(after_bare & (least > 0)).tolist():
                heads[i] = self._heads(i, sizes, room // 2)
            many |= (sizes + heads + least > room) & (least > 0)
        reserved = self._reserved(many & (self._with_context() | after_bare), sizes, room // 2)
        with_inner = chunker.within is not None or chunker.overlap > 0
        by_inner = many & (self._without_rows() if with_inner else False)
        by_room = ~by_inner & many & (reserved > 0)
        if not (by_inner | by_room).any():
            return
        kept = ~(by_inner | by_room)[pieces["part"]]
        document = np.repeat(np.arange(len(texts)), np.diff(pieces["part_offsets"]))
        starts, ends = pieces["part_start"], pieces["part_end"]
        found = [tuple(pieces[name][kept] for name in ("byte_start", "byte_end", "tokens", "part"))]
        again = np.flatnonzero(by_inner)
        for most in np.unique(reserved[again]).tolist():
            rows = again[reserved[again] == most]
            columns = [np.ascontiguousarray(column[rows]) for column in (starts, ends)]
            points = [_core.code_point_offsets(texts, document[rows], column) for column in columns]
            inner = self._inner(most)(texts.slices(document[rows], *points, *columns))
            row = rows[inner.document]
            base = starts[row]
            found.append((inner.byte_start + base, inner.byte_end + base, inner.tokens - self._special, row))
        again = np.flatnonzero(by_room)
        rooms = room - reserved[again]
        levels = [*self._rows(document), *self.levels]
        for most in np.unique(rooms).tolist():
            rows = again[rooms == most]
            cut, bounds, tokens = _core.split_spans(
                texts, self.measure, np.stack([starts[rows], ends[rows]], axis=1),
                np.searchsorted(document[rows], np.arange(len(texts) + 1)), levels,
                max_tokens=most, threads=threads(),
            )  # fmt: skip
            of = np.repeat(np.arange(len(texts)), np.diff(bounds))
            step = int(ends.max(initial=0)) + 1  # positions of all documents on one rising scale
            scale = starts + document * step
            part = np.searchsorted(scale, cut[:, 0] + of * step, side="right") - 1
            found.append((cut[:, 0], cut[:, 1], tokens, part))
        start, end, tokens, part = (np.concatenate(columns) for columns in zip(*found))
        order = np.lexsort((start, document[part]))
        for name, column in (("byte_start", start), ("byte_end", end), ("tokens", tokens), ("part", part)):
            pieces[name] = np.ascontiguousarray(column[order], np.int64)
        pieces["offsets"] = np.searchsorted(document[pieces["part"]], np.arange(len(texts) + 1))

    def _inner(self, reserved: int) -> Chunker:
        """What cuts sections that are too long, where that is not `_separators` alone: `within`, whose limits are its own, or
        overlapping pieces that leave `reserved` tokens free."""
        chunker = self._chunker
        if chunker.within is not None:
            return chunker.within
        most = max(chunker.max_tokens - reserved, min(chunker.max_tokens, 4))
        overlap = min(chunker.overlap, most - self._special - 1)
        return RecursiveChunker(most, overlap, chunker.tokenizer, separators=self._separators)

    def _reserved(self, rows: np.ndarray, sizes: np.ndarray, most: int) -> np.ndarray:
        """Tokens to leave free in the pieces of the parts `rows` (a mask), which are cut: for the first context that takes at
        most `most`, or the headings that go with the section."""
        contexts = {row: self.part(row).context for row in np.flatnonzero(rows).tolist()}
        counts = self._sizes({text for context in contexts.values() for text in context})
        reserved = np.zeros(len(rows), np.int64)
        for row, texts in contexts.items():
            heads = self._heads(row, sizes, most)
            heads = heads if heads <= most else 0
            left = most - heads * self._repeats_heads
            context = next((counts[text] for text in texts if counts[text] <= left), 0)
            reserved[row] = context + heads if self._repeats_heads else max(context, heads)
        return reserved

    def _room_left(self) -> np.ndarray:
        shortest = {row: self.part(row).context[-1] for row in np.flatnonzero(self._with_context()).tolist()}
        sizes = self._sizes(set(shortest.values()))
        room_left = np.zeros(len(self.pieces["part_start"]), np.int64)
        for row, text in shortest.items():
            room_left[row] = sizes[text] if 2 * sizes[text] <= self._room else 0
        return room_left

    def _heads(self, row: int, sizes: np.ndarray, most: int) -> int:
        """The tokens of the bare sections before a part, which go with it; more than `most` where they are more."""
        bare, section = self._sections.columns["bare"], self.pieces["part_section"]
        offsets = self.pieces["part_offsets"]
        first = offsets[np.searchsorted(offsets, row, side="right") - 1]
        heads, before = 0, row - 1
        while before >= first and bare[section[before]] and heads <= most:
            heads += int(sizes[before])
            before -= 1
        return heads and heads + 1

    def _after_bare(self) -> np.ndarray:
        """Whether bare sections may be before each part, in its document or another."""
        bare = self._sections.columns["bare"][self.pieces["part_section"]].astype(bool)
        return np.concatenate([[False], bare[:-1]])[: len(bare)]

    def _with_context(self) -> np.ndarray:
        """Whether there is anything that could go before each part."""
        sections, part_table = self._sections, self.pieces["part_table"]
        found: np.ndarray = sections.with_context[self.pieces["part_section"]]
        headed = sections.headed
        return found | ((part_table >= 0) & headed[part_table]) if len(headed) else found

    def _without_rows(self) -> np.ndarray:
        rows, part_table = self._sections.columns["rows"], self.pieces["part_table"]
        return (part_table < 0) | (np.diff(rows)[part_table] == 0) if len(rows) > 1 else part_table < 0

    def _sizes(self, contexts: set[str]) -> dict[str, int]:
        """The tokens that contexts take before a text."""
        distinct = sorted(contexts)
        return dict(zip(distinct, (self._chunker.tokenizer.count(distinct) - self._special + 1).tolist()))

    def _rows(self, document: np.ndarray) -> list[Any]:
        """The rows of long tables as a level of boundaries, if there are any."""
        rows, row = self._sections.columns["rows"], self._sections.columns["row"]
        parts = np.flatnonzero(self.pieces["part_table"] >= 0).tolist()
        tables = self.pieces["part_table"][parts].tolist()
        at = [(part, position) for part, t in zip(parts, tables) for position in row[rows[t] : rows[t + 1]].tolist()]
        if not at:
            return []
        bounds = np.searchsorted(document[[part for part, _ in at]], np.arange(len(self.texts) + 1))
        return [(np.array([(position, position) for _, position in at], np.int64), bounds)]
