"""HTML: the text as a browser shows it, cut at its headings."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rapidchunk.chunkers.base import Chunker
from rapidchunk.chunkers.sections import Section, SectionChunker, Table, heading_prefixes, words
from rapidchunk.kernels.cpu import html_page, html_text

__all__ = ["HtmlChunker"]

# Not shown, or not text of the page.
_DROPPED = ("noscript", "head", "title", "nav", "object", "svg", "canvas", "audio", "video", "datalist")
# Their text is not escaped when the tree is written out, so that they have to go before (and a template may hold some).
_RAW = ("script", "style", "iframe", "noembed", "noframes", "plaintext", "xmp", "template")
_HIDDEN = (
    "[hidden], [aria-hidden=true], [style*='display:none' i], [style*='display: none' i], "
    "[style*='visibility:hidden' i], [style*='visibility: hidden' i]"
)
_SECTION_TAGS = words("article section aside main details div header footer form fieldset figure")
_DEPTH = 12  # section elements nested deeper count as this deep, so that paths stay short
# Where an attribute that may hide an element is written at all; the query is run only then.
_MAY_HIDE = ("hidden", "display:", "visibility:")
_DECLARED = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)


class HtmlChunker(SectionChunker):
    """One chunk a section, as far as it fits; longer sections are cut between blocks, lines, sentences, words.

    A document is a str, or bytes, whose encoding is that of a byte order mark, else the one it declares, else UTF-8. Spans
    refer to the text as a browser shows it (`Chunks.document_text`): white space is collapsed except in ``pre``, blocks
    are apart by an empty line, list items and rows by a line break, cells by a tab; an image is its ``alt`` text. Scripts,
    styles, navigation and what is hidden are left out. Pages that need a tree (badly nested ones, `drop`) are parsed by
    lexbor, in the extra ``rapidchunk[html]``; the others are read in one pass, to the same text.

    A table is cut only where it is too long by itself, between rows; the context of its further pieces repeats its
    caption and header rows.

    Headings (h1 to h6) begin sections. The headings inside of an element of `section_tags` are below those outside, and
    end with it.

    Args:
        max_tokens, min_tokens, overlap, tokenizer, within: see `SectionChunker`.
        section_tags: elements that are sections, of article, section, aside, main, details, div, header, footer, form,
            fieldset and figure.
        drop: CSS selectors of what to leave out, besides.
        prepend_headings: `context` begins with the heading path (titles that are in the chunk left out).

    Raises:
        ValueError: a parameter is out of range, or a selector is not valid.
        ImportError: selectolax is not installed.
    """

    def __init__(
        self,
        max_tokens: int = 512,
        overlap: int = 0,
        tokenizer: Any = None,
        *,
        min_tokens: int = 0,
        section_tags: Iterable[str] = ("article", "section", "aside", "details"),
        drop: Iterable[str] = (),
        prepend_headings: bool = False,
        within: Chunker | None = None,
    ) -> None:
        super().__init__(max_tokens, min_tokens, overlap, tokenizer, within)
        self.section_tags = tuple(section_tags)
        for tag in self.section_tags:
            if tag not in _SECTION_TAGS:
                raise ValueError(f"section_tags must be of {', '.join(sorted(_SECTION_TAGS))}, not {tag!r}")
        self.drop = tuple(drop)
        self.prepend_headings = bool(prepend_headings)
        empty = _parser()("<p>")
        for selector in self.drop:
            try:
                empty.css(selector)
            except Exception as error:
                raise ValueError(f"drop must hold CSS selectors, not {selector!r}: {error}") from error

    def _is_document(self, text: Any) -> bool:
        return isinstance(text, (str, bytes))

    def _read(self, document: Any) -> tuple[str, list[Section]]:
        html = _decode(document) if isinstance(document, bytes) else document
        found = None if self.drop else html_page(html, self.section_tags)
        if found is None:
            found = html_text(_written_out(html, self.drop), self.section_tags, _DROPPED)
        text, events = found
        of_table = events[:, 1] >= 7
        tables = deque(_tables(text, events[of_table].tolist()))
        sections = [_with_tables(section, tables) for section in self._sections(text, events[~of_table].tolist())]
        return text, sections

    def _sections(self, text: str, events: list[tuple[int, int, int]]) -> Iterable[Section]:
        """`events`: (position, level, end) of headings, (position, 0 or -1, 0) where a section element opens or closes."""
        path: list[tuple[int, int, str]] = []  # (depth, level, title)
        depth = start = 0
        titles: tuple[str, ...] = ()
        for position, level, end in events:
            if level > 0:
                title = " ".join(text[position:end].split())
                inside = min(depth, _DEPTH)
                while path and path[-1][0] == inside and path[-1][1] >= level:
                    path.pop()
                path.append((inside, level, title))
            elif level == 0:
                depth += 1
            else:
                depth -= 1
                while path and path[-1][0] > depth:
                    path.pop()
            now = tuple(title for _, _, title in path if title)
            if now != titles or level > 0:
                if position > start and not _blank(text, start, position):
                    yield self._section(start, position, titles)
                start, titles = position, now
                if level > 0 and end > start:
                    yield self._section(start, end, titles)._replace(bare=True)
                    start = end
        if len(text) > start:
            yield self._section(start, len(text), titles)

    def _section(self, start: int, end: int, titles: tuple[str, ...]) -> Section:
        return Section(start, end, titles, (), heading_prefixes(titles) if self.prepend_headings else ())

    def _prefixes(self, first: Section, main: Section, last: Section, into: int) -> tuple[str, ...]:
        if into or not (first.bare or first.rows):
            return first.context
        return heading_prefixes(first.headings[: -1 if first.bare else None]) if self.prepend_headings else ()


def _tables(text: str, events: list[tuple[int, int, int]]) -> Iterator[Table]:
    """`events`: (start, 7, end) of tables, each followed by (position, 8, 1 or 0) of its rows and whether it is a header."""
    ends = [number for number, (_, level, _) in enumerate(events) if level == 7]
    for first, after in zip(ends, [*ends[1:], len(events)]):
        start, _, end = events[first]
        rows = events[first + 1 : after]
        heads = next((i for i, (_, _, head) in enumerate(rows) if not head), 0)  # 0 too where all of them are
        body = [position for position, _, _ in rows[heads:] if position < end]
        head = text[start : body[0]].rstrip() + "\n" if heads and body else ""
        yield Table(start, end, head, tuple(dict.fromkeys(body[1:])), "\n\n" in text[start:end])


def _with_tables(section: Section, tables: deque[Table]) -> Section:
    """Takes the tables that are in the section off the list, with those before it."""
    inside = []
    while tables and tables[0].start < section.end:
        table = tables.popleft()
        if table.start >= section.start and table.end <= section.end:
            inside.append(table)
    return section._replace(tables=tuple(inside)) if inside else section


def _blank(text: str, start: int, end: int) -> bool:
    """Whether only (a little) white space is there, as between two headings."""
    return end - start < 100 and text[start:end].isspace()


def _written_out(html: str, drop: Sequence[str] = ()) -> str:
    """The page as the parser has understood it, without what is never shown."""
    tree = _parser()(html.encode("utf-8", "replace"))
    tree.strip_tags(list(_RAW), recursive=True)
    lower = html.lower()
    selectors = [*drop, *([_HIDDEN] if any(word in lower for word in _MAY_HIDE) else [])]
    for node in tree.css(", ".join(selectors)) if selectors else ():
        node.decompose()
    return tree.html or ""


def _parser() -> Any:
    try:
        from selectolax.lexbor import LexborHTMLParser
    except ImportError as error:
        raise ImportError("HtmlChunker needs selectolax: pip install rapidchunk[html]") from error
    return LexborHTMLParser


def _decode(data: bytes) -> str:
    """By the byte order mark, else by what the first 1024 bytes declare (as the HTML standard has it), else UTF-8."""
    for mark, name in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    declared = _DECLARED.search(data[:1024])
    name = declared[1].decode("ascii").lower() if declared else "utf-8"
    if name in ("iso-8859-1", "latin1", "latin-1", "ascii", "us-ascii"):
        name = "windows-1252"  # what browsers take these for
    try:
        return data.decode("utf-8" if name.startswith("utf-16") else name, "replace")
    except LookupError:
        return data.decode("utf-8", "replace")
