"""Sections -> chunks: what all strategies that know a document's structure share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from rapidchunk import _core
from rapidchunk.chunkers.base import Chunker, _Batch, threads
from rapidchunk.chunkers.recursive import DEFAULT_SEPARATORS, RecursiveChunker
from rapidchunk.chunkers.sentence import sentence_level
from rapidchunk.chunks import Chunks

__all__ = ["Section", "SectionChunker", "Table"]


class Table(NamedTuple):
    """A table in a section. One that is too long by itself is cut between its rows."""

    start: int
    end: int
    head: str
    """What the context of its further pieces begins with."""
    rows: tuple[int, ...]
    """Where a piece may begin."""
    loose: bool = False
    """Has empty lines in it, where a section that is too long would be cut."""


class Section(NamedTuple):
    """A part of a document that its author set off. Sections come in order and cover all that is not white space."""

    start: int
    """In code points of the document's text, as `end`."""
    end: int
    headings: tuple[str, ...] = ()
    """Titles of the sections that this one is in, outermost first, its own included."""
    values: Any = ()
    """What the strategy makes its further columns of."""
    context: tuple[str, ...] = ()
    """What may go before the text in `context`; the first of these that fits does."""
    apart: bool = False
    """Never shares a chunk with what is before it."""
    bare: bool = False
    """Only a heading: goes with the section after it, if both fit."""
    tables: tuple[Table, ...] = ()
    rows: tuple[int, ...] = ()
    """Of a table that is a section, because it is too long: where to cut it."""


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
        if within is not None:
            if not isinstance(within, Chunker):
                raise ValueError(f"within must be a chunker, not {within!r}")
            if within.max_tokens > self.max_tokens:
                raise ValueError(f"within has max_tokens {within.max_tokens}, more than the {max_tokens} here")
            if repr(within.tokenizer) != repr(self.tokenizer):
                raise ValueError(f"within must count tokens with {self.tokenizer!r}, not {within.tokenizer!r}")
        self.within = within

    @abstractmethod
    def _read(self, document: Any) -> tuple[str, list[Section]]:
        """The text of a document and its sections.

        Raises:
            ValueError: the document cannot be read; the caller adds its number.
        """

    def _columns(self, chunks: Chunks, sections: list[Section], first: list[int], last: list[int]) -> dict[str, Any]:
        """The strategy's further columns of chunks that begin in section `first` and end in `last`."""
        return {}

    def _prefixes(self, first: Section, main: Section, last: Section, into: int) -> tuple[str, ...]:
        """What may go before a chunk's text, best first. `main` is the first section that is not bare; the chunk begins `into`
        bytes after the start of the text of `first`."""
        return main.context if main is last or main.context == last.context else ()

    def _plan(self, batch: _Batch) -> tuple[list[str], Callable[[int, int], Chunks]]:
        source: list[str] = []

        def chunk(begin: int, end: int) -> Chunks:
            sections, offsets = [], [0]
            for number in range(begin, end):
                try:
                    text, found = self._read(batch.source[number])
                except ValueError as error:
                    raise ValueError(f"texts: document {number}: {error}") from error
                source.append(text)
                sections.extend(found)
                offsets.append(len(sections))
            return self._chunk_sections(_core.Texts(source[begin:end]), sections, np.array(offsets))

        return source, chunk

    def _chunk(self, texts: _core.Texts) -> Chunks:
        _, chunk = self._plan(_Batch([texts[number] for number in range(len(texts))]))
        return chunk(0, len(texts))

    def _chunk_sections(self, texts: _core.Texts, sections: list[Section], offsets: np.ndarray) -> Chunks:
        measure = self.tokenizer.measure(texts, threads())
        sections, offsets = self._tables_apart(texts, measure, sections, offsets)
        points = np.array([section[:2] for section in sections], np.int64).reshape(-1, 2)
        spans = _core.byte_offsets(texts, offsets, points)
        document = np.repeat(np.arange(len(texts)), np.diff(offsets))
        step = int(spans.max(initial=0)) + 1  # positions of all documents on one rising scale
        starts = spans[:, 0] + document * step

        def section_of(document: np.ndarray, byte: np.ndarray) -> np.ndarray:
            return np.asarray(np.searchsorted(starts, byte + document * step, side="right") - 1)

        levels = [*_rows(texts, sections, document), *self._levels()]
        pieces, of, tokens = self._pieces(texts, measure, spans, document, sections, levels)
        piece_section = section_of(of, pieces[:, 0])
        groups = self._group(piece_section.tolist(), of.tolist(), tokens.tolist(), sections)
        joined = np.array([(pieces[i, 0], max(pieces[j, 1], pieces[i, 1])) for i, j in groups], np.int64).reshape(-1, 2)
        joined_of = of[[i for i, _ in groups]] if groups else of[:0]
        # What is joined may have more tokens than its parts; then it is cut once more.
        joined, bounds, tokens = _core.split_spans(
            texts, measure, joined, np.searchsorted(joined_of, np.arange(len(texts) + 1)),
            [sentence_level(pieces, np.searchsorted(of, np.arange(len(texts) + 1))), *levels],
            max_tokens=self.max_tokens - self.tokenizer.special_tokens, threads=threads(),
        )  # fmt: skip
        of = np.repeat(np.arange(len(texts)), np.diff(bounds))
        columns = {
            "document": of,
            "byte_start": joined[:, 0],
            "byte_end": joined[:, 1],
            "start": _core.code_point_offsets(texts, of, np.ascontiguousarray(joined[:, 0])),
            "end": _core.code_point_offsets(texts, of, np.ascontiguousarray(joined[:, 1])),
            "tokens": tokens + self.tokenizer.special_tokens,
        }
        chunks = Chunks(texts, columns)
        first, last = section_of(of, joined[:, 0]).tolist(), section_of(of, joined[:, 1] - 1).tolist()
        main = [_main(sections, a, b) for a, b in zip(first, last)]
        headings = [_shared(sections[a].headings, sections[b].headings) for a, b in zip(main, last)]
        further = self._columns(chunks, sections, first, last)
        begins = np.full(len(sections), np.iinfo(np.int64).max)  # where a section's text begins, white space left out
        np.minimum.at(begins, piece_section, pieces[:, 0])
        into = (joined[:, 0] - begins[first]).tolist()
        context = self._contexts(chunks, sections, zip(first, main, last), into)
        return chunks.replace(headings=headings, **further, context=context)

    def _levels(self) -> list[Any]:
        return [list(level) for level in self._separators]

    def _tables_apart(
        self, texts: _core.Texts, measure: Any, sections: list[Section], offsets: np.ndarray
    ) -> tuple[list[Section], np.ndarray]:
        """Makes sections of tables that would be cut, and of what is before and after them."""
        document = np.repeat(np.arange(len(texts)), np.diff(offsets))
        holders = [row for row, section in enumerate(sections) if section.tables]
        if not holders:
            return sections, offsets
        too_long = self._are_too_long(texts, measure, [sections[row][:2] for row in holders], document[holders])
        tables = [
            (row, table) for row, long in zip(holders, too_long.tolist()) if long for table in sections[row].tables
        ]
        if not tables:
            return sections, offsets
        of_tables = document[[row for row, _ in tables]]
        long = self._are_too_long(texts, measure, [table[:2] for _, table in tables], of_tables)
        apart: dict[int, list[Table]] = {}
        for (row, table), by_itself in zip(tables, long.tolist()):
            if by_itself or table.loose:
                apart.setdefault(row, []).append(table)
        found: list[Section] = []
        numbers: list[int] = []
        for row, section in enumerate(sections):
            parts = list(_around(section, apart[row])) if row in apart else [section]
            found.extend(parts)
            numbers.extend([int(document[row])] * len(parts))
        return found, np.searchsorted(numbers, np.arange(len(texts) + 1))

    def _are_too_long(
        self, texts: _core.Texts, measure: Any, spans: list[tuple[int, int]], document: np.ndarray
    ) -> np.ndarray:
        """Which of the spans (code points; they do not overlap) have more than `max_tokens`."""
        bounds = np.searchsorted(document, np.arange(len(texts) + 1))
        bytes_ = _core.byte_offsets(texts, bounds, np.array(spans, np.int64))
        room = self.max_tokens - self.tokenizer.special_tokens
        cut, bounds, _ = _core.split_spans(
            texts, measure, bytes_, bounds, ["words"], max_tokens=room, threads=threads()
        )
        step = int(bytes_.max(initial=0)) + 1
        starts = cut[:, 0] + np.repeat(np.arange(len(texts)), np.diff(bounds)) * step
        row = np.searchsorted(bytes_[:, 0] + document * step, starts, side="right") - 1
        return np.asarray(np.bincount(row, minlength=len(spans)) > 1)

    def _pieces(
        self,
        texts: _core.Texts,
        measure: Any,
        spans: np.ndarray,
        document: np.ndarray,
        sections: list[Section],
        levels: list[Any],
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sections, cut where they are too long: byte spans, documents and tokens (without special ones)."""
        special = self.tokenizer.special_tokens
        room = self.max_tokens - special

        def split(rows: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            cut, bounds, tokens = _core.split_spans(
                texts, measure, np.ascontiguousarray(spans[rows]),
                np.searchsorted(document[rows], np.arange(len(texts) + 1)), levels,
                max_tokens=most, threads=threads(),
            )  # fmt: skip
            return cut, np.repeat(np.arange(len(texts)), np.diff(bounds)), tokens

        step = int(spans.max(initial=0)) + 1
        cut, of, tokens = split(np.arange(len(spans)), room)
        row = np.searchsorted(spans[:, 0] + document * step, cut[:, 0] + of * step, side="right") - 1
        many = np.bincount(row, minlength=len(spans)) > 1
        sizes = np.bincount(row, tokens, len(spans)).astype(np.int64)
        if self._keeps_context:
            least = np.array([self._least(section) for section in sections], np.int64)
            heads = [
                self._heads(row, sections, document, sizes, room // 2) if least[row] else 0
                for row in range(len(sections))
            ]
            many |= (sizes + heads + least > room) & (least > 0)
        reserved = self._reserved(np.flatnonzero(many).tolist(), sections, document, sizes, room // 2)
        with_inner = self.within is not None or self.overlap > 0
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
            parts.append((found_spans, document[rows[found.document]], found.tokens - special))
        again = np.flatnonzero(by_room)
        rooms = room - reserved[again]
        parts.extend(split(again[rooms == most], int(most)) for most in np.unique(rooms))
        cut, of, tokens = (np.concatenate(columns) for columns in zip(*parts))
        order = np.lexsort((cut[:, 0], of))
        return np.ascontiguousarray(cut[order]), of[order], tokens[order]

    def _inner(self, reserved: int) -> Chunker:
        """What cuts sections that are too long, where that is not `_separators` alone: `within`, whose limits are its own, or
        overlapping pieces that leave `reserved` tokens free."""
        if self.within is not None:
            return self.within
        most = max(self.max_tokens - reserved, min(self.max_tokens, 4))
        overlap = min(self.overlap, most - self.tokenizer.special_tokens - 1)
        return RecursiveChunker(most, overlap, self.tokenizer, separators=self._separators)

    def _reserved(
        self, rows: list[int], sections: list[Section], document: np.ndarray, sizes: np.ndarray, most: int
    ) -> np.ndarray:
        """Tokens to leave free in the pieces of the sections `rows`, which are cut: for the first context that takes at most
        `most`, or the headings that go with the section."""
        counts = self._sizes({text for row in rows for text in sections[row].context})
        reserved = np.zeros(len(sections), np.int64)
        for row in rows:
            heads = self._heads(row, sections, document, sizes, most)
            heads = heads if heads <= most else 0
            left = most - heads * self._repeats_heads
            context = next((counts[text] for text in sections[row].context if counts[text] <= left), 0)
            reserved[row] = context + heads if self._repeats_heads else max(context, heads)
        return reserved

    def _least(self, section: Section) -> int:
        """The tokens that a chunk of the section has to leave free for a context."""
        if not (self._keeps_context and section.context):
            return 0
        size = self._sizes({section.context[-1]})[section.context[-1]]
        return size if 2 * size <= self.max_tokens - self.tokenizer.special_tokens else 0

    @staticmethod
    def _heads(row: int, sections: list[Section], document: np.ndarray, sizes: np.ndarray, most: int) -> int:
        """The tokens of the bare sections before a section, which go with it; more than `most` where they are more."""
        heads, before = 0, row - 1
        while before >= 0 and sections[before].bare and document[before] == document[row] and heads <= most:
            heads += int(sizes[before])
            before -= 1
        return heads and heads + 1

    def _sizes(self, contexts: set[str]) -> dict[str, int]:
        """The tokens that contexts take before a text."""
        distinct = sorted(contexts)
        return dict(zip(distinct, (self.tokenizer.count(distinct) - self.tokenizer.special_tokens + 1).tolist()))

    def _group(
        self, section: list[int], of: list[int], tokens: list[int], sections: list[Section]
    ) -> list[tuple[int, int]]:
        """Runs of pieces (first, last) that make a chunk, by their tokens: siblings first, then any neighbours."""
        special = self.tokenizer.special_tokens
        room, least = self.max_tokens - special, max(self.min_tokens - special, 0)
        groups = [(i, i) for i in range(len(tokens))]
        sizes = list(tokens)
        rounds = ["any"] if self._fills else ["bare", "siblings", "any"] if least else ["bare"]
        for which in rounds:
            merged: list[tuple[int, int]] = []
            merged_sizes: list[int] = []
            for (i, j), size in zip(groups, sizes):
                if merged and of[merged[-1][1]] == of[i] and merged_sizes[-1] + size <= room:
                    left, right = section[merged[-1][1]], section[i]
                    apart = left != right and sections[right].apart
                    wanted = self._fills or min(size, merged_sizes[-1]) < least
                    if which == "bare":
                        together = merged_sizes[-1] + size + self._least(sections[right])
                        wanted = sections[left].bare and left != right and together <= room
                    elif which == "siblings":
                        wanted = wanted and _siblings(sections[left], sections[right])
                    if wanted and not apart:
                        merged[-1] = merged[-1][0], j
                        merged_sizes[-1] += size
                        continue
                merged.append((i, j))
                merged_sizes.append(size)
            groups, sizes = merged, merged_sizes
        return groups

    def _contexts(
        self, chunks: Chunks, sections: list[Section], runs: Iterable[tuple[int, int, int]], into: list[int]
    ) -> list[str | None]:
        contexts: list[str | None] = [None] * len(chunks)
        left: dict[int, tuple[str, ...]] = {}
        for row, (first, main, last) in enumerate(runs):
            prefixes = self._prefixes(sections[first], sections[main], sections[last], into[row])
            if prefixes:
                left[row] = prefixes
        while left:
            made = [prefixes[0] + chunks[row].text for row, prefixes in left.items()]
            rest: dict[int, tuple[str, ...]] = {}
            for (row, prefixes), text, size in zip(left.items(), made, self.tokenizer.count(made).tolist()):
                if size <= self.max_tokens:
                    contexts[row] = text
                elif len(prefixes) > 1:
                    rest[row] = prefixes[1:]
            left = rest
        return contexts


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def heading_prefixes(titles: tuple[str, ...]) -> tuple[str, ...]:
    """The heading path as contexts: all of it, then without its outermost titles."""
    return tuple(" > ".join(titles[i:]) + "\n\n" for i in range(len(titles)))


def _around(section: Section, tables: list[Table]) -> Iterator[Section]:
    """What is before, between and after the tables, and the tables."""
    at = section.start
    for table in tables:
        if table.start > at:
            yield section._replace(start=at, end=table.start, tables=())
        head = (*(before + table.head for before in section.context), table.head) if table.head else section.context
        yield section._replace(start=table.start, end=table.end, tables=(), context=head, rows=table.rows)
        at = table.end
    if section.end > at:
        yield section._replace(start=at, tables=())


def _rows(texts: _core.Texts, sections: list[Section], document: np.ndarray) -> list[Any]:
    """The rows of long tables as a level of boundaries, if there are any."""
    rows = [(row, at) for row, section in enumerate(sections) for at in section.rows]
    if not rows:
        return []
    bounds = np.searchsorted(document[[row for row, _ in rows]], np.arange(len(texts) + 1))
    spans = _core.byte_offsets(texts, bounds, np.array([(at, at) for _, at in rows], np.int64))
    return [(spans, bounds)]


def _main(sections: list[Section], first: int, last: int) -> int:
    """The first of the sections that is not bare, else the last."""
    while first < last and sections[first].bare:
        first += 1
    return first


def _siblings(a: Section, b: Section) -> bool:
    shared = len(_shared(a.headings, b.headings))
    return shared >= min(len(a.headings), len(b.headings)) or shared >= max(len(a.headings), len(b.headings)) - 1


def _shared(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
    if a == b:
        return a
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return a[:n]
