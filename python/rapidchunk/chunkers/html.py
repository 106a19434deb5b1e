"""HTML: the text as a browser shows it, cut at its headings."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rapidchunk._html_encoding import decode_html
from rapidchunk._words import words
from rapidchunk.chunkers.base import Chunker
from rapidchunk.chunkers.section_chunker import SectionChunker
from rapidchunk.chunkers.sections import Section, Table, heading_prefixes
from rapidchunk.kernels.cpu import html_page, html_text

__all__ = ["HtmlChunker"]

# Not shown, or not text of the page.
_DROPPED = ("noscript", "head", "title", "nav", "object", "svg", "canvas", "audio", "video", "datalist")
# Their text is not escaped when the tree is written out, so that they have to go before (and a template may hold some).
_RAW = ("script", "style", "iframe", "noembed", "noframes", "plaintext", "xmp", "template")
_SECTION_TAGS = words("article section aside main details div header footer form fieldset figure")
_DEPTH = 12  # section elements nested deeper count as this deep, so that paths stay short
_SPACE = " \t\n\f\r"
_LINE = re.compile("\n+")


class HtmlChunker(SectionChunker):
    """One chunk a section, as far as it fits; longer sections are cut between blocks, lines, sentences, words.

    A document is a str, or bytes, whose encoding is that of a byte order mark, else the one it declares, else UTF-8. Spans
    refer to the text as a browser shows it (`Chunks.document_text`): white space is collapsed except in ``pre``, blocks
    are apart by an empty line, list items and rows by a line break, cells by a tab; an image is its ``alt`` text. Scripts,
    styles, navigation and what is hidden are left out. Pages are read in one pass; those that need a tree (badly nested
    ones, `drop`) are parsed by lexbor, in the extra ``rapidchunk[html]``, to the same text.

    A table or ``pre`` is cut only where it is too long by itself, between rows or lines; the context of a table's further
    pieces repeats its caption and header rows. An empty cell is a tab too.

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
        ImportError: there is something to drop, or (when called) a page that needs a tree, and selectolax is not installed.
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
        parsed: Any = _parser("drop")("<p>") if self.drop else None
        for selector in self.drop:
            try:
                parsed.css(selector)
            except Exception as error:
                raise ValueError(f"drop must hold CSS selectors, not {selector!r}: {error}") from error

    def _is_document(self, text: Any) -> bool:
        return isinstance(text, (str, bytes))

    def _read(self, document: Any) -> tuple[str, list[Section]]:
        html = decode_html(document) if isinstance(document, bytes) else document
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
    """`events`: (start, 7, end) of tables, each followed by (position, 8, 1 or 0) of its rows and whether it is a header;
    (start, 9, end) of pre, which is like a table with lines for rows."""
    starts = [number for number, (_, level, _) in enumerate(events) if level != 8]
    for first, after in zip(starts, [*starts[1:], len(events)]):
        start, level, end = events[first]
        loose = "\n\n" in text[start:end]
        if level == 9:
            yield Table(start, end, "", tuple(match.end() for match in _LINE.finditer(text, start, end)), loose)
            continue
        rows = events[first + 1 : after]
        heads = next((i for i, (_, _, head) in enumerate(rows) if not head), 0)  # 0 too where all of them are
        body = [position for position, _, _ in rows[heads:] if position < end]
        head = text[start : body[0]].rstrip() + "\n" if heads and body else ""
        yield Table(start, end, head, tuple(dict.fromkeys(body[1:])), loose)


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
    tree = _parser("the page needs a tree and that")(html.encode("utf-8", "replace"))
    tree.strip_tags(list(_RAW), recursive=True)
    if drop:
        _remove(tree.css(", ".join(drop)))
    _remove(node for node in tree.css("[hidden], [aria-hidden=true], [style]") if _is_hidden(node.attributes))
    return tree.html or ""


def _remove(nodes: Iterable[Any]) -> None:
    """Nodes in the order of the page, some more than once: the inner ones go first, each once."""
    for node in reversed(list({node.mem_id: node for node in nodes}.values())):
        node.decompose()


def _is_hidden(attributes: Mapping[str, str | None]) -> bool:
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return True
    found = {"display": "", "visibility": ""}
    for declaration in (attributes.get("style") or "").split(";"):
        name, _, value = declaration.partition(":")
        name = name.strip(_SPACE).lower()
        if name in found:
            found[name] = value.partition("!")[0].strip(_SPACE).lower()
    return found["display"] == "none" or found["visibility"] == "hidden"


def _parser(what: str) -> Any:
    try:
        from selectolax.lexbor import LexborHTMLParser
    except ImportError as error:
        raise ImportError(f"{what} needs selectolax: pip install rapidchunk[html]") from error
    return LexborHTMLParser
