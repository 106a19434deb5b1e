"""Source code, by function, class and method."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from rapidchunk.chunkers.base import Chunker
from rapidchunk.chunkers.sections import Section, SectionChunker, words
from rapidchunk.chunks import Chunks

__all__ = ["LANGUAGES", "CodeChunker"]

# language -> its grammar's package, the function there, and the file name extensions.
LANGUAGES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "python": ("tree_sitter_python", "language", ("py", "pyi")),
    "javascript": ("tree_sitter_javascript", "language", ("js", "jsx", "mjs", "cjs")),
    "typescript": ("tree_sitter_typescript", "language_typescript", ("ts", "mts", "cts")),
    "tsx": ("tree_sitter_typescript", "language_tsx", ("tsx",)),
    "java": ("tree_sitter_java", "language", ("java",)),
    "c": ("tree_sitter_c", "language", ("c", "h")),
    "cpp": ("tree_sitter_cpp", "language", ("cpp", "cc", "cxx", "hpp", "hh", "hxx", "cu", "cuh")),
    "csharp": ("tree_sitter_c_sharp", "language", ("cs",)),
    "go": ("tree_sitter_go", "language", ("go",)),
    "rust": ("tree_sitter_rust", "language", ("rs",)),
    "ruby": ("tree_sitter_ruby", "language", ("rb",)),
    "php": ("tree_sitter_php", "language_php", ("php",)),
    "bash": ("tree_sitter_bash", "language", ("sh", "bash")),
}
_ALIASES = {
    "py": "python",
    "js": "javascript",
    "ts": "typescript",
    "c++": "cpp",
    "c#": "csharp",
    "golang": "go",
    "sh": "bash",
}

_FUNCTIONS = words(
    """
    function_definition function_declaration generator_function_declaration function_item method_definition
    method_declaration constructor_declaration compact_constructor_declaration destructor_declaration
    macro_definition method singleton_method function_signature_item property_declaration operator_declaration
    preproc_function_def
    """
)
_CONTAINERS = words(
    """
    class_definition class_declaration abstract_class_declaration class_specifier struct_specifier
    union_specifier enum_specifier struct_item enum_item union_item trait_item impl_item mod_item
    interface_declaration enum_declaration record_declaration annotation_type_declaration namespace_definition
    namespace_declaration internal_module module class type_declaration struct_declaration trait_declaration
    type_definition
    """
)
# These stand around a definition or only group some.
_WRAPPERS = words(
    """
    decorated_definition export_statement template_declaration ambient_declaration expression_statement
    lexical_declaration variable_declaration
    """
)
_TRANSPARENT = words(
    """
    preproc_ifdef preproc_if preproc_else preproc_elif linkage_specification declaration_list
    """
)
_LEADING = words(
    """
    comment line_comment block_comment attribute_item attribute_list decorator annotation
    """
)
_BODIES = ("body", "declaration_list", "field_declaration_list", "class_body", "body_statement")
_DEPTH = 8  # classes nested deeper are not looked into


class _Unit(NamedTuple):
    start: int  # byte
    path: tuple[str, ...]
    kind: str
    name: str | None
    outer: tuple[str, ...] = ()  # headers of the classes around, the outermost first
    header: str = ""
    defines: bool = False
    body: int = 0  # where a class's members begin


class CodeChunker(SectionChunker):
    """One chunk a function or class; a class that is too long is cut between its members, and what stands between
    definitions makes chunks of its own. Comments and decorators right above a definition belong to it. Functions that are
    too long, and code that does not parse, are cut between paragraphs and lines.

    Grammars: tree-sitter's, in the extra ``rapidchunk[code]``.

    Further columns of the result, beside those of `SectionChunker`:
        name: str, of the one definition that the chunk is (a part of), else None.
        names: list of str, of all definitions that begin in it, those inside of a whole class left out.
        kind: str, "function", "method", "class" (or namespace, interface, …) or "module" (outside of definitions).
        start_line, end_line: int64, from 1.
        headings: the names of the classes around, and its own.
        context: has the headers of the classes around in front, and its own if the chunk begins inside a function.

    Args:
        language: a key of `LANGUAGES`, or a usual short name ("js", "c++").
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
        self.language = _ALIASES.get(name, name)
        if self.language not in LANGUAGES:
            raise ValueError(f"language must be one of {', '.join(LANGUAGES)}, not {language!r}")
        _grammar(self.language)

    def _read(self, document: Any) -> tuple[str, list[Section]]:
        import tree_sitter

        data = document.encode("utf-8", "surrogatepass")
        root = tree_sitter.Parser(_grammar(self.language)).parse(data).root_node
        units = [_Unit(0, (), "module", None), *self._units(root, data, 0, _Unit(0, (), "module", None))]
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

    def _units(self, parent: Any, data: bytes, depth: int, around: _Unit) -> Iterator[_Unit]:
        """The definitions below a node and what is between, in order; each goes on until the next begins."""
        between = around._replace(header="", defines=False, body=0)
        leading: Any = None  # the first of the comments right above
        row = -1  # where the node before ended
        inside = True  # what is no definition goes on with the unit before
        for node in parent.children:
            first, row_before = node.start_point[0], row
            row = node.end_point[0] - (node.end_point[1] == 0)  # some nodes hold the line break at their end
            if first > row_before + 1:
                leading = None
            if node.type in _LEADING:
                leading = leading or (None if first == row_before else node)
                continue
            start, leading = leading or node, None
            found = _definition(node)
            if node.type in _TRANSPARENT and depth < _DEPTH:
                yield from self._units(node, data, depth + 1, around)
                inside = False
            elif found is not None and first != row_before:
                yield from self._definition_units(found, _line_start(start, data), node, data, depth, around)
                inside = False
            elif not inside and node.is_named:
                yield between._replace(start=_line_start(start, data))
                inside = True

    def _definition_units(
        self, found: Any, start: int, node: Any, data: bytes, depth: int, around: _Unit
    ) -> Iterator[_Unit]:
        name = _name(found)
        body = _body(found)
        container = found.type in _CONTAINERS
        kind = _kind(found.type, around.kind)
        header = (
            data[found.start_byte : found.end_byte if body is None else body.start_byte]
            .decode("utf-8", "replace")
            .rstrip()
        )
        header = header + " {" if body is not None and data[body.start_byte : body.start_byte + 1] == b"{" else header
        path = (*around.path, name) if name else around.path
        unit = _Unit(start, path, kind, name, around.outer, header, True)
        inside = 0 if body is None else body.start_byte + (data[body.start_byte : body.start_byte + 1] == b"{")
        yield unit._replace(header="", body=inside) if container else unit
        if container and body is not None and depth < _DEPTH and self._too_long(data[start : node.end_byte]):
            yield from self._units(body, data, depth + 1, unit._replace(outer=(*around.outer, header)))

    def _too_long(self, code: bytes) -> bool:
        if len(code) <= self.max_tokens - self.tokenizer.special_tokens:
            return False
        return bool(self.tokenizer.count([code.decode("utf-8", "surrogatepass").strip()])[0] > self.max_tokens)

    def _prefixes(self, first: Section, main: Section, last: Section, continued: bool) -> tuple[str, ...]:
        if continued:
            return first.context
        return _headers(first.values.outer) if first.values.outer == last.values.outer else ()

    def _columns(self, chunks: Chunks, sections: list[Section], first: list[int], last: list[int]) -> dict[str, Any]:
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


@functools.cache
def _grammar(language: str) -> Any:
    package, function, _ = LANGUAGES[language]
    try:
        import tree_sitter

        return tree_sitter.Language(getattr(importlib.import_module(package), function)())
    except ImportError as error:
        raise ImportError(f"CodeChunker needs tree-sitter and {package}: pip install rapidchunk[code]") from error


def _definition(node: Any) -> Any:
    """The function or class that a node is, or stands around."""
    for _ in range(4):
        if not node.is_named:
            return None
        if node.type in _FUNCTIONS or node.type in _CONTAINERS:
            return (
                node
                if node.type not in ("struct_specifier", "union_specifier", "enum_specifier") or _body(node)
                else None
            )
        if node.type == "variable_declarator":
            value = node.child_by_field_name("value")
            function = value is not None and value.type in (
                "arrow_function",
                "function_expression",
                "function",
                "class",
            )
            return node if function else None
        if node.type not in _WRAPPERS:
            return None
        inner = node.child_by_field_name("definition") or node.child_by_field_name("declaration")
        if inner is None:
            inner = next((c for c in reversed(node.named_children) if c.type not in _LEADING), None)
        if inner is None:
            return None
        node = inner
    return None


def _name(node: Any) -> str | None:
    """C and C++ keep the name in a chain of declarators, Rust's impl in its type, Go's type in a spec."""
    for _ in range(16):
        inner = (
            node.child_by_field_name("name")
            or node.child_by_field_name("declarator")
            or node.child_by_field_name("type")
        )
        if inner is None and node.type == "type_declaration":
            inner = next(iter(node.named_children), None)
        if inner is None or node.type.endswith("identifier"):
            break
        node = inner
        if node.type.endswith("identifier"):
            break
    else:
        return None
    return node.text.decode("utf-8", "replace") if node.child_count == 0 or node.type.endswith("identifier") else None


def _body(node: Any) -> Any:
    if node.type == "variable_declarator":
        node = node.child_by_field_name("value")
    return node.child_by_field_name("body") or next((c for c in node.named_children if c.type in _BODIES), None)


def _kind(node_type: str, around: str) -> str:
    if node_type in _CONTAINERS:
        return {"internal_module": "namespace"}.get(node_type) or node_type.split("_")[-2 if "_" in node_type else 0]
    return "function" if around in ("module", "mod", "namespace") else "method"


def _line_start(node: Any, data: bytes) -> int:
    """The start of the node's line, if there is only white space before the node."""
    at: int = node.start_byte
    column = node.start_point[1]
    return at - column if column < 200 and not data[at - column : at].strip() else at


def _headers(outer: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("\n".join(outer[i:]) + "\n" for i in range(len(outer)))
