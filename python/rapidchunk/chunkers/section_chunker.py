"""Sections -> chunks: what all strategies that know a document's structure share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from rapidchunk import _core
from rapidchunk.chunkers.base import Chunker, _Batch, check_within, threads
from rapidchunk.chunkers.recursive import DEFAULT_SEPARATORS
from rapidchunk.chunkers.section_cutter import SectionCutter
from rapidchunk.chunkers.sections import Section, main_section, shared_path, siblings
from rapidchunk.chunkers.sentence import sentence_level
from rapidchunk.chunks import Chunks

__all__ = ["SectionChunker"]


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
                except ImportError as error:
                    raise ImportError(f"texts: document {number}: {error}") from error
                source.append(text)
                sections.extend(found)
                offsets.append(len(sections))
            return self._chunk_sections(_core.Texts(source[begin:end]), sections, np.array(offsets))

        return source, chunk

    def _chunk(self, texts: _core.Texts) -> Chunks:
        _, chunk = self._plan(_Batch([texts[number] for number in range(len(texts))]))
        return chunk(0, len(texts))

    def _chunk_sections(self, texts: _core.Texts, sections: list[Section], offsets: np.ndarray) -> Chunks:
        cutter = SectionCutter(
            self, texts, sections, offsets,
            separators=self._separators, repeats_heads=self._repeats_heads, keeps_context=self._keeps_context,
        )  # fmt: skip
        sections = cutter.sections
        pieces, of, tokens = cutter.pieces()
        piece_section = cutter.section_of(of, pieces[:, 0])
        groups = self._group(piece_section.tolist(), of.tolist(), tokens.tolist(), cutter)
        joined = np.array([(pieces[i, 0], max(pieces[j, 1], pieces[i, 1])) for i, j in groups], np.int64).reshape(-1, 2)
        joined_of = of[[i for i, _ in groups]] if groups else of[:0]
        # What is joined may have more tokens than its parts; then it is cut once more.
        joined, bounds, tokens = _core.split_spans(
            texts, cutter.measure, joined, np.searchsorted(joined_of, np.arange(len(texts) + 1)),
            [sentence_level(pieces, np.searchsorted(of, np.arange(len(texts) + 1))), *cutter.levels],
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
        first = cutter.section_of(of, joined[:, 0]).tolist()
        last = cutter.section_of(of, joined[:, 1] - 1).tolist()
        main = [main_section(sections, a, b) for a, b in zip(first, last)]
        headings = [shared_path(sections[a].headings, sections[b].headings) for a, b in zip(main, last)]
        further = self._columns(chunks, sections, first, last)
        begins = np.full(len(sections), np.iinfo(np.int64).max)  # where a section's text begins, white space left out
        np.minimum.at(begins, piece_section, pieces[:, 0])
        into = (joined[:, 0] - begins[first]).tolist()
        context = self._contexts(chunks, sections, zip(first, main, last), into)
        return chunks.replace(headings=headings, **further, context=context)

    def _group(
        self, section: list[int], of: list[int], tokens: list[int], cutter: SectionCutter
    ) -> list[tuple[int, int]]:
        """Runs of pieces (first, last) that make a chunk, by their sections, documents and tokens: siblings first, then any
        neighbours."""
        sections = cutter.sections
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
                        together = merged_sizes[-1] + size + cutter.least(sections[right])
                        wanted = sections[left].bare and left != right and together <= room
                    elif which == "siblings":
                        wanted = wanted and siblings(sections[left], sections[right])
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
