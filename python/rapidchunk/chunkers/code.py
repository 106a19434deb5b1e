"""Source code, by function, class and method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from rapidchunk.chunkers import grammars
from rapidchunk.chunkers.base import Chunker
from rapidchunk.chunkers.section_chunker import SectionChunker
from rapidchunk.chunkers.sections import Section
from rapidchunk.chunks import Chunks

__all__ = ["CodeChunker"]

_DEPTH = 8  # classes nested deeper are not looked into


class _Unit(NamedTuple):
    start: int  # byte
    path: tuple[str, ...]
    kind: str
    name: str | None
    outer: tuple[str, ...] = ()  # headers of the classes around, the outermost first
    header: str = ""
    header_at: int = 0  # bytes of comments and decorators before it
    defines: bool = False
    body: int = 0  # where a class's members begin


class CodeChunker(SectionChunker):
    """One chunk a function or class; a class that is too long is cut between its members, and what stands between
    definitions makes chunks of its own. Comments and decorators above a definition belong to it. Functions that are
    too long, and code that does not parse, are cut between paragraphs and lines.

    Grammars: tree-sitter's, in the extra ``rapidchunk[code]``.

    Further columns of the result, beside those of `SectionChunker`:
        name: str, of the one definition that the chunk is (a part of), else None.
        names: list of str, of all definitions that begin in it, those inside of a whole class left out.
        kind: str, "function", "method", "property", "macro", "class" (or namespace, interface, …), "object" (of functions) or
            "module" (outside of definitions).
        start_line, end_line: int64, from 1.
        headings: the names of the classes around, and its own.
        context: has the headers of the classes around in front, and its own if the chunk begins inside a function.

    Args:
        language: a key of `rapidchunk.chunkers.grammars.LANGUAGES`, or a usual short name ("js", "c++").
        max_tokens, min_tokens, overlap, tokenizer, within: see `SectionChunker`.

    Raises:
        ValueError: a parameter is out of range, or the language is not known.
        ImportError: the grammar is not installed.
    """

    _separators = (("\n\n", "\r\n\r\n"), ("\n",), ("; ", ", "), (" ",))

    def __init__(
        self,
        language: str,
        max_tokens: int = 512,
        overlap: int = 0,
        tokenizer: Any = None,
        *,
        min_tokens: int = 0,
        within: Chunker | None = None,
    ) -> None:
        super().__init__(max_tokens, min_tokens, overlap, tokenizer, within)
        name = language.lower() if isinstance(language, str) else language
        self.language = grammars.ALIASES.get(name, name)
        if self.language not in grammars.LANGUAGES:
            raise ValueError(f"language must be one of {', '.join(grammars.LANGUAGES)}, not {language!r}")
        grammars.grammar(self.language)

    def _read(self, document: Any) -> tuple[str, list[Section]]:
        import tree_sitter

        data = document.encode("utf-8", "surrogatepass")
        root = tree_sitter.Parser(grammars.grammar(self.language)).parse(data).root_node
        units = [_Unit(0, (), "module", None), *self._units(root.children, data, 0, _Unit(0, (), "module", None))]
        sections = []
        at = point = 0
        for unit, after in zip(units, [*units[1:], None]):
            end = len(data) if after is None else after.start
            start = point
            point += end - at if document.isascii() else len(data[at:end].decode("utf-8", "surrogatepass"))
            at = end
            if point > start:
                own = (*unit.outer, unit.header) if unit.header else unit.outer
                bare = unit.body > 0 and end < unit.body + 200 and not data[unit.body : end].strip()
                sections.append(Section(start, point, unit.path, unit, _headers(own), bare=bare))
        return document, sections

    def _units(self, nodes: Iterable[Any], data: bytes, depth: int, around: _Unit) -> Iterator[_Unit]:
        """The definitions among the children of a node and what is between, in order; each goes on until the next begins."""
        between = around._replace(header="", defines=False, body=0)
        leading: Any = None  # the first of the comments above
        row, column = -1, 0  # where the node before ended, and began
        inside = True  # what is no definition goes on with the unit before
        for node in nodes:
            first, row_before = node.start_point[0], row
            row = node.end_point[0] - (node.end_point[1] == 0)  # some nodes hold the line break at their end
            if first > row_before + 1 and inside:  # after a definition, comments are about what follows
                leading = None
            if node.type in grammars.LEADING:
                of_before = first == row_before or (not inside and node.start_point[1] > column)
                leading = leading or (None if of_before else node)
                continue
            if leading is not None and node.type == ":":  # of C++'s "private:"
                continue
            start, leading, column = leading or node, None, node.start_point[1]
            found = grammars.definition(node)
            nested = () if found is not None or depth >= _DEPTH else tuple(grammars.blocks(node))
            line_end = data.find(b"\n", node.start_byte)  # where what groups definitions, as an if does, has its header
            if node.type in grammars.TRANSPARENT and depth < _DEPTH:
                if not inside:
                    yield between._replace(start=_line_start(start, data), body=line_end)
                yield from self._units(node.children, data, depth + 1, around)
                inside = False
            elif found is not None and first != row_before:
                yield from self._definition_units(found, _line_start(start, data), node, data, depth, around)
                inside = False
            elif nested and self._too_long(data[node.start_byte : node.end_byte]):
                yield between._replace(start=_line_start(start, data), body=line_end)
                for block in nested:
                    yield from self._units(block.children, data, depth + 1, around)
                inside = False
            elif not inside and node.is_named and data[node.start_byte : node.end_byte] != b";":
                yield between._replace(start=_line_start(start, data))
                inside = True

    def _definition_units(
        self, found: Any, start: int, node: Any, data: bytes, depth: int, around: _Unit
    ) -> Iterator[_Unit]:
        name, receiver, body = grammars.name(found), grammars.receiver(found), grammars.body(found)
        header = data[found.start_byte : grammars.header_end(found)].decode("utf-8", "replace").rstrip()
        brace = body is not None and data[body.start_byte : body.start_byte + 1] == b"{"
        header = header + " {" if brace else header
        path = (*around.path, *(part for part in (receiver, name) if part))
        kind = grammars.kind(found, around.kind)
        before = len(data[start : found.start_byte].lstrip())
        unit = _Unit(start, path, kind, name, around.outer, header, before, defines=True)
        if not grammars.is_container(found) or body is None:
            yield unit
            return
        yield unit._replace(body=body.start_byte + brace)
        if depth < _DEPTH and self._too_long(data[start : node.end_byte]):
            inner = unit._replace(outer=(*around.outer, header))
            yield from self._units(grammars.members(found), data, depth + 1, inner)

    def _too_long(self, code: bytes) -> bool:
        if len(code) <= self.max_tokens - self.tokenizer.special_tokens:
            return False
        return bool(self.tokenizer.count([code.decode("utf-8", "surrogatepass").strip()])[0] > self.max_tokens)

    def _prefixes(self, first: Section, main: Section, last: Section, into: int) -> Sequence[str]:
        if into > first.values.header_at:
            return first.context
        return _headers(first.values.outer) if first.values.outer == last.values.outer else ()

    def _columns(
        self, chunks: Chunks, sections: Sequence[Section], first: list[int], last: list[int]
    ) -> dict[str, Any]:
        names, name, kinds = [], [], []
        for row, (a, b) in enumerate(zip(first, last)):
            units = [section.values for section in sections[a : b + 1]]
            fresh = units[1:] if row and last[row - 1] >= a else units
            names.append([unit.name for unit in fresh if unit.defines and unit.name])
            units = [section.values for section in sections[a : b + 1] if not section.bare] or units
            single = {(unit.name, unit.kind) for unit in units}
            name.append(units[0].name if len(single) == 1 else None)
            kinds.append(next((u.kind for u in units if u.defines), units[0].kind))
        lines = chunks.with_pages("\n").extra
        return {
            "name": name,
            "names": names,
            "kind": kinds,
            "start_line": lines["page_start"],
            "end_line": lines["page_end"],
        }


def _line_start(node: Any, data: bytes) -> int:
    """The start of the node's line, if there is only white space before the node."""
    at: int = node.start_byte
    column = node.start_point[1]
    return at - column if column < 200 and not data[at - column : at].strip() else at


def _headers(outer: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("\n".join(outer[i:]) + "\n" for i in range(len(outer)))
