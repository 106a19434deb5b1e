"""HTML: the text as a browser shows it, cut at its headings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rapidchunk import _core
from rapidchunk._html_encoding import decode_html
from rapidchunk._words import words
from rapidchunk.chunkers.base import Chunker, _Batch, threads
from rapidchunk.chunkers.section_chunker import SectionChunker, naming
from rapidchunk.chunkers.section_cutter import SectionCutter
from rapidchunk.chunkers.sections import Section, SectionColumns, heading_prefixes
from rapidchunk.chunks import Chunks
from rapidchunk.columns import LazyColumn

__all__ = ["HtmlChunker"]

# Not shown, or not text of the page.
_DROPPED = ("noscript", "head", "title", "nav", "object", "svg", "canvas", "audio", "video", "datalist")
# Their text is not escaped when the tree is written out, so that they have to go before (and a template may hold some).
_RAW = ("script", "style", "iframe", "noembed", "noframes", "plaintext", "xmp", "template")
_SECTION_TAGS = words("article section aside main details div header footer form fieldset figure")
_SPACE = " \t\n\f\r"


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

    def _plan(self, batch: _Batch) -> tuple[list[str] | _core.Texts, Callable[[int, int], Chunks]]:
        source = _core.Texts([])

        def chunk(begin: int, end: int) -> Chunks:
            texts, columns = self._pages(batch, begin, end)
            source.extend(texts)
            return self._chunk_sections(texts, HtmlSections(texts, columns, self.prepend_headings))

        return source, chunk

    def _pages(self, batch: _Batch, begin: int, end: int) -> tuple[_core.Texts, dict[str, np.ndarray]]:
        """What the pages show, and their sections as columns."""
        if isinstance(batch.source, list):
            some: list[Any] = batch.source[begin:end]
            source = _core.Texts([decode_html(page) if isinstance(page, bytes) else page for page in some])
        else:
            source = batch.source.part(begin, end)
        pages = _core.HtmlPages(source, self.section_tags, threads(), bool(self.drop))
        for number in pages.unread:
            with naming(begin + number):
                pages.read(number, _written_out(source[number], self.drop), _DROPPED)
        return pages.take()

    def _contexts(self, chunks: Chunks, cutter: SectionCutter, found: dict[str, np.ndarray]) -> Sequence[str | None]:
        rows = len(chunks)
        if not self.prepend_headings and cutter.pieces["part_table"].max(initial=-1) < 0:
            return LazyColumn(rows, lambda: [None] * rows)
        return LazyColumn(rows, lambda: list(super(HtmlChunker, self)._contexts(chunks, cutter, found)))

    def _prefixes(self, first: Section, main: Section, last: Section, into: int) -> Sequence[str]:
        if into or not (first.bare or first.rows):
            return first.context
        return heading_prefixes(first.headings[: -1 if first.bare else None]) if self.prepend_headings else ()


class HtmlSections(SectionColumns):
    """The sections of pages, in the columns of `_core.HtmlPages`."""

    def __init__(self, texts: _core.Texts, columns: dict[str, np.ndarray], prepend_headings: bool) -> None:
        self.columns = columns
        self.listed = None
        self.with_context = (columns["path"] >= 0) & prepend_headings
        self.headed = columns["head_end"] >= 0
        self._texts = texts
        self._prepend_headings = prepend_headings
        self._paths: list[tuple[str, ...]] | None = None
        self._sections: dict[tuple[int, bool], Section] = {}  # sections with one path share it

    def __getitem__(self, number: int) -> Section:
        path, bare = int(self.columns["path"][number]), bool(self.columns["bare"][number])
        found = self._sections.get((path, bare))
        if found is None:
            titles = self.paths()[path] if path >= 0 else ()
            context = heading_prefixes(titles) if self._prepend_headings else ()
            found = self._sections[path, bare] = Section(0, 0, titles, (), context, bare=bare)
        return found

    def paths(self) -> list[tuple[str, ...]]:
        if self._paths is None:
            paths: list[tuple[str, ...]] = []
            names = ("path_parent", "path_document", "title_start", "title_end")
            for parent, *span in zip(*(self.columns[name].tolist() for name in names)):
                title = " ".join(self._texts.utf8(*span).decode().split())
                paths.append((*(paths[parent] if parent >= 0 else ()), title))
            self._paths = paths
        return self._paths

    def table(self, texts: _core.Texts, number: int) -> tuple[str, tuple[int, ...]]:
        columns = self.columns
        start, end = int(columns["table_start"][number]), int(columns["head_end"][number])
        section = int(np.searchsorted(columns["tables"], number, side="right")) - 1
        document = int(np.searchsorted(columns["offsets"], section, side="right")) - 1
        head = texts.utf8(document, start, end).decode() + "\n" if end >= 0 else ""
        first, last = columns["rows"][number : number + 2].tolist()
        return head, tuple(columns["row"][first:last].tolist())


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
