"""Plain text whose headings are known by their wording or numbers: what books, contracts and papers share."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rapidchunk.chunkers.base import Chunker
from rapidchunk.chunkers.section_chunker import SectionChunker
from rapidchunk.chunkers.sections import Section, heading_prefixes

__all__ = ["Heading", "OutlineChunker"]


class Heading(NamedTuple):
    """A heading in a text."""

    start: int
    """In code points, as `end`."""
    end: int
    level: int
    """1 is the outermost."""
    title: str


class OutlineChunker(SectionChunker):
    """Sections that begin where a line is a heading; a heading's section holds all that follow of a deeper level.

    Args:
        max_tokens, min_tokens, overlap, tokenizer, within: see `SectionChunker`.
        prepend_headings: `context` begins with the heading path (titles that are in the chunk left out).
    """

    def __init__(
        self,
        max_tokens: int,
        overlap: int = 0,
        tokenizer: Any = None,
        *,
        min_tokens: int = 0,
        prepend_headings: bool = True,
        within: Chunker | None = None,
    ) -> None:
        super().__init__(max_tokens, min_tokens, overlap, tokenizer, within)
        self.prepend_headings = bool(prepend_headings)

    @abstractmethod
    def _headings(self, text: str) -> Iterable[Heading]:
        """The headings in order."""

    def _read(self, document: Any) -> tuple[str, list[Section]]:
        sections: list[Section] = []
        path: list[tuple[int, str]] = []
        start = 0

        def close(end: int, bare: bool = False) -> None:
            titles = tuple(title for _, title in path)
            if end > start and not (end - start < 100 and document[start:end].isspace()):
                context = heading_prefixes(titles) if self.prepend_headings else ()
                sections.append(Section(start, end, titles, (), context, bare=bare))

        for heading in _without_contents(document, list(self._headings(document))):
            close(heading.start)
            while path and path[-1][0] >= heading.level:
                path.pop()
            path.append((heading.level, heading.title))
            start = heading.start
            close(heading.end, bare=True)
            start = heading.end
        close(len(document))
        return document, sections

    def _prefixes(self, first: Section, main: Section, last: Section, into: int) -> Sequence[str]:
        return heading_prefixes(first.headings[:-1]) if first.bare and not into and first.context else first.context


def _without_contents(text: str, headings: list[Heading]) -> list[Heading]:
    """The headings without the lines of a table of contents: those with nothing below them that come again later."""
    last = {_key(heading): at for at, heading in enumerate(headings)}
    return [
        heading
        for at, heading in enumerate(headings)
        if last[_key(heading)] == at or text[heading.end : headings[at + 1].start].strip(" .\t\r\n0123456789")
    ]


def _key(heading: Heading) -> str:
    """The title without the page number that follows it in a table of contents."""
    return re.sub(r"(?:[ .]{2,}|\t)[0-9]{1,4}$", "", heading.title).casefold()
