"""Markdown, cut where its author cut it: at headings, then blocks, then whatever is inside of blocks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from rapidchunk import _core
from rapidchunk.chunkers.base import Chunker, check_within
from rapidchunk.chunks import COLUMNS, Chunks
from rapidchunk.columns import LazyColumn

__all__ = ["MarkdownChunker"]

# What the context of a piece repeats (csrc/structure/markdown_chunks.h).
_NOTHING, _TABLE_HEADER, _SHORT_TABLE_HEADER, _FENCES, _CLOSING_FENCE, _OPENING_FENCE = range(6)


class MarkdownChunker(Chunker):
    """One chunk a section, as far as it fits; longer sections are cut between blocks, then between list items and
    paragraphs within, rows of tables and lines of code, sentences, lines, words.

    CommonMark with pipe tables, front matter, display math and footnotes. A heading in a block quote or list item
    begins no section. A section without text of its own goes with the next one. A table or fenced code block that fits
    is whole; one that does not is cut between rows or lines only, unless a single one is too long, and the context of
    its pieces repeats the header rows (of a long delimiter row no more than three dashes a column) or the fences.

    Further columns of the result:
        headings: tuple of str, the titles of the sections that hold all of the chunk's text, outermost first.
        context: str, the text to embed; None where it is the chunk's own (`Chunks.contexts()` has all). It is the
            heading path (with `prepend_headings`; headings that are in the text already are left out), the repeated
            table header or fences, and the chunk's text. At most `max_tokens` too: where the path would take more than
            half of them, its outermost titles are left out.

    Args:
        max_tokens, min_tokens, overlap, tokenizer: see `Chunker`. Chunks under `min_tokens` are merged, by preference
            with a neighbour that has the same parent. There is no overlap between sections, rows or lines of code.
        heading_levels: the levels (1 to 6) of headings that begin a section.
        keep_headings: False: a chunk's text begins after the heading of its section, which is only in `headings`. (The
            heading of a section with neither text nor subsections stays.)
        prepend_headings: begin `context` with the heading path.
        within: the chunker for text that is too long between headings, long tables and long code, in place of cuts at
            blocks. Its max_tokens may not be larger, and it must count tokens alike.

    Raises:
        ValueError: a parameter is out of range.
    """

    def __init__(
        self,
        max_tokens: int = 512,
        overlap: int = 0,
        tokenizer: Any = None,
        *,
        min_tokens: int = 0,
        heading_levels: Iterable[int] = (1, 2, 3, 4, 5, 6),
        keep_headings: bool = True,
        prepend_headings: bool = False,
        within: Chunker | None = None,
    ) -> None:
        super().__init__(max_tokens, min_tokens, overlap, tokenizer)
        try:
            self.heading_levels = tuple(sorted(set(heading_levels)))
        except TypeError:
            raise ValueError(f"heading_levels must hold levels from 1 to 6, not {heading_levels!r}") from None
        if not all(type(level) is int and 1 <= level <= 6 for level in self.heading_levels):
            raise ValueError(f"heading_levels must hold levels from 1 to 6, not {heading_levels!r}")
        self.keep_headings = bool(keep_headings)
        self.prepend_headings = bool(prepend_headings)
        self.within = within
        check_within(within, self)
        self._joint = self._joint_tokens() if prepend_headings else 0

    def _joint_tokens(self) -> int:
        """Tokens that what stands between two titles, or between path and text, takes at most."""
        special = self.tokenizer.special_tokens
        a, b, inline, block = (int(n) - special for n in self.tokenizer.count(["a", "b", "a > b", "a\n\nb"]))
        return max(inline - a - b, block - a - b, 0)

    def _chunk(self, texts: _core.Texts) -> Chunks:
        special = self.tokenizer.special_tokens
        found = _core.markdown_chunks(
            texts,
            self.tokenizer.measure(texts, _core.default_threads()),
            max_tokens=self.max_tokens - special,
            min_tokens=max(self.min_tokens - special, 0),
            overlap=self.overlap,
            keep_headings=self.keep_headings,
            reserve_headings=self.prepend_headings,
            joint=self._joint,
            defer=self.within is not None,
            heading_levels=sum(1 << level for level in self.heading_levels),
            threads=_core.default_threads(),
        )
        found["tokens"] += special
        if self.within is not None and found["deferred"].any():
            self._fill_in(texts, found, self.within)
        chunks = Chunks(texts, {name: found[name] for name in COLUMNS})
        titles = LazyColumn(len(found["title_start"]), lambda: _titles(texts, found))
        paths = LazyColumn(len(titles), lambda: _paths(found["section_parent"].tolist(), titles))
        rows = len(chunks)
        context = LazyColumn(rows, lambda: self._contexts(texts, found, chunks, titles, paths))
        plain = not self.prepend_headings and not found["repeat"].any()
        return chunks.replace(
            headings=LazyColumn(rows, lambda: _headings(found["section"].tolist(), titles, paths)),
            context=LazyColumn(rows, lambda: [None] * rows) if plain else context,
        )

    def _fill_in(self, texts: _core.Texts, found: dict[str, Any], within: Chunker) -> None:
        """Puts the chunks that `within` makes of the deferred rows in their place."""
        rows = np.flatnonzero(found["deferred"])
        names = ("document", "start", "end", "byte_start", "byte_end")
        inner = within(texts.slices(*(np.ascontiguousarray(found[name][rows]) for name in names)))
        of = rows[inner.document]  # the deferred row of each new chunk
        kept = np.flatnonzero(~found["deferred"].astype(bool))
        order = np.argsort(np.concatenate([kept, of]), kind="stable")
        new = {
            "start": inner.start + found["start"][of],
            "end": inner.end + found["start"][of],
            "byte_start": inner.byte_start + found["byte_start"][of],
            "byte_end": inner.byte_end + found["byte_start"][of],
            "tokens": inner.tokens,
        }
        per_chunk = (*COLUMNS, "section", "repeat", "repeat_start", "repeat_end", "deferred")
        for name in per_chunk:
            added = new[name] if name in new else found[name][of]
            found[name] = np.concatenate([found[name][kept], added])[order]

    def _contexts(
        self, texts: _core.Texts, found: dict[str, Any], chunks: Chunks, titles: Sequence[str], paths: Sequence[Any]
    ) -> list[str | None]:
        """The text to embed of every chunk, within `max_tokens`; None where it is the chunk's own."""
        title_end, sections = found["title_end"].tolist(), found["section"].tolist()
        starts, repeats = found["byte_start"].tolist(), found["repeat"].tolist()
        contexts: list[str | None] = [None] * len(starts)
        # Rows where the context is more than the text: the titles that go first, and what stands around the text.
        more: dict[int, tuple[list[str], str, str]] = {}
        for row in range(len(starts)):
            before = (
                [titles[s] for s in paths[sections[row]] if title_end[s] <= starts[row]]
                if self.prepend_headings
                else []
            )
            opening, closing = self._repeated(texts, found, row) if repeats[row] else ("", "")
            if before or opening or closing:
                more[row] = before, opening, closing
        while more:
            made = [
                (" > ".join(before) + "\n\n" if before else "") + opening + chunks[row].text + closing
                for row, (before, opening, closing) in more.items()
            ]
            large = {}
            for row, context, size in zip(more, made, self.tokenizer.count(made).tolist()):
                before, opening, closing = more[row]
                if size <= self.max_tokens:
                    contexts[row] = context
                elif before:  # leave out the outermost title; where none is left, also the repeated rows or fences
                    large[row] = before[1:], opening, closing
            more = large
        return contexts

    def _repeated(self, texts: _core.Texts, found: dict[str, Any], row: int) -> tuple[str, str]:
        """What the context of a piece of a table or code block has before and after the piece."""
        document = int(found["document"][row])
        start, end = int(found["repeat_start"][row]), int(found["repeat_end"][row])
        head = texts.utf8(document, start, end).decode("utf-8", "replace").strip("\r\n")
        what = int(found["repeat"][row])
        if what == _TABLE_HEADER:
            return head + "\n", ""
        if what == _SHORT_TABLE_HEADER:
            delimiter = max(head.rfind("\n"), head.rfind("\r")) + 1
            return head[:delimiter] + re.sub("-{4,}", "---", head[delimiter:]) + "\n", ""
        marks = re.match("(.*?)(```+|~~~+)", head)
        assert marks is not None
        indent, fence = re.sub(r"[^\s>]", " ", marks[1]), marks[2]  # the marker of a list item is not repeated
        opening = "" if what == _CLOSING_FENCE else head + "\n"
        closing = "" if what == _OPENING_FENCE else f"\n{indent}{fence}"
        return opening, closing


def _titles(texts: _core.Texts, found: dict[str, Any]) -> list[str]:
    """Titles in one line: the line breaks of an underlined heading, and the white space beside them, become spaces."""
    spans = zip(*(found[name].tolist() for name in ("section_document", "title_start", "title_end")))
    titles = (texts.utf8(*span).decode("utf-8", "replace") if span[2] > span[1] else "" for span in spans)
    return [re.sub("[ \t\r\n]+", " ", title) if "\n" in title or "\r" in title else title for title in titles]


def _paths(parents: list[int], titles: Sequence[str]) -> list[tuple[int, ...]]:
    """The sections above each section, itself included, that have a title, outermost first."""
    paths: list[tuple[int, ...]] = []
    for section, parent in enumerate(parents):
        above = paths[parent] if parent >= 0 else ()
        paths.append((*above, section) if titles[section] else above)
    return paths


def _headings(sections: list[int], titles: Sequence[str], paths: Sequence[tuple[int, ...]]) -> list[tuple[str, ...]]:
    names = [tuple(titles[section] for section in path) for path in paths]
    return [names[section] for section in sections]
