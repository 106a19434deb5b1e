"""The languages of `CodeChunker`: their tree-sitter grammars, and what a definition is in these."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterator
from typing import Any

from rapidchunk._words import words

__all__ = [
    "ALIASES",
    "LANGUAGES",
    "LEADING",
    "TRANSPARENT",
    "blocks",
    "body",
    "definition",
    "grammar",
    "header_end",
    "is_container",
    "kind",
    "language_of",
    "members",
    "name",
    "receiver",
]

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
    "kotlin": ("tree_sitter_kotlin", "language", ("kt", "kts")),
    "scala": ("tree_sitter_scala", "language", ("scala", "sc")),
    "swift": ("tree_sitter_swift", "language", ("swift",)),
    "lua": ("tree_sitter_lua", "language", ("lua",)),
}
_OF_SUFFIX = {f".{suffix}": name for name, (_, _, suffixes) in LANGUAGES.items() for suffix in suffixes}
ALIASES = {
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
    macro_definition method singleton_method function_signature_item operator_declaration function_signature
    method_signature abstract_method_signature secondary_constructor init_declaration deinit_declaration
    protocol_function_declaration given_definition
    """
)
_METHODS = words("method singleton_method method_definition method_declaration")
_CONTAINERS = words(
    """
    class_definition class_declaration abstract_class_declaration class_specifier struct_specifier
    union_specifier enum_specifier struct_item enum_item union_item trait_item impl_item mod_item
    interface_declaration enum_declaration record_declaration annotation_type_declaration namespace_definition
    namespace_declaration internal_module module class type_declaration struct_declaration trait_declaration
    type_definition object object_declaration companion_object object_definition trait_definition enum_definition
    protocol_declaration
    """
)
# Without a body they only name something.
_NEED_A_BODY = words("class_specifier struct_specifier union_specifier enum_specifier namespace_definition")
# These give a name to a value, which may be a function or a class.
_ASSIGNMENTS = words(
    """
    variable_declarator assignment_expression assignment_statement public_field_definition field_definition pair
    export_statement
    """
)
_FUNCTION_VALUES = words("arrow_function function_expression function generator_function function_definition")
# These stand around a definition.
_WRAPPERS = words(
    """
    decorated_definition export_statement template_declaration ambient_declaration expression_statement
    lexical_declaration variable_declaration
    """
)
# These only group definitions.
TRANSPARENT = words(
    """
    preproc_ifdef preproc_if preproc_else preproc_elif linkage_specification declaration_list foreign_mod_item
    """
)
_BRANCHES = words("if_statement elif_clause else_clause try_statement except_clause finally_clause")
# These belong to the definition that they stand above.
LEADING = words(
    """
    comment line_comment block_comment attribute_item attribute_list decorator annotation access_specifier
    """
)
_BODIES = words("declaration_list field_declaration_list class_body enum_class_body body_statement function_body")
_KINDS = {
    "internal_module": "namespace",
    "module": "namespace",
    "preproc_function_def": "macro",
    "macro_definition": "macro",
    "property_declaration": "property",
    "companion_object": "object",
}
_KEYWORDS = words("struct enum interface extension actor")  # of what Swift and Kotlin parse as a class
_LONGEST_NAME = 100


# What C has not, in the header files that both languages call .h.
_CPP = re.compile(
    r"(?m)^[ \t]*(?:namespace\b|template[ \t]*<|class[ \t]+\w+[^;]*$|using[ \t]|(?:public|private):)|\bstd::"
)


def language_of(suffix: str, text: str = "") -> str | None:
    """The language of a file by its suffix (with the dot, in lower case) and, for .h, by what is in it; None: of no code."""
    language = _OF_SUFFIX.get(suffix)
    return "cpp" if language == "c" and suffix == ".h" and _CPP.search(text[:100_000]) else language


@functools.cache
def grammar(language: str) -> Any:
    """The tree_sitter.Language of one of `LANGUAGES`.

    Raises:
        ImportError: tree-sitter or the grammar is not installed.
    """
    package, function, _ = LANGUAGES[language]
    try:
        import tree_sitter

        return tree_sitter.Language(getattr(importlib.import_module(package), function)())
    except ImportError as error:
        raise ImportError(f"CodeChunker needs tree-sitter and {package}: pip install rapidchunk[code]") from error


def definition(node: Any) -> Any:
    """The function or class that a node is, or stands around; None: neither."""
    for _ in range(4):
        if not node.is_named:
            return None
        if node.type == "preproc_function_def":  # a macro of one line is no more than a constant
            return node if node.end_point[0] - node.start_point[0] > 1 else None
        if node.type == "property_declaration":  # C#'s have accessors, others are plain variables
            arrow = node.child_by_field_name("value")
            return node if node.child_by_field_name("accessors") or (arrow and arrow.type.startswith("arrow")) else None
        if node.type == "object":
            return node if _holds_functions(node) else None
        if node.type in _FUNCTIONS or node.type in _CONTAINERS:
            return node if node.type not in _NEED_A_BODY or body(node) else None
        if node.type in _ASSIGNMENTS and _value(node) is not None:
            return node
        if node.type not in _WRAPPERS:
            return None
        inner = node.child_by_field_name("definition") or node.child_by_field_name("declaration")
        inner = inner or next((c for c in reversed(node.named_children) if c.type not in LEADING), None)
        if inner is None:
            return None
        node = inner
    return None


def _value(node: Any) -> Any:
    """The function, class or object of functions that an assignment gives a name to."""
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    if node.type == "assignment_statement" and node.named_child_count == 2:  # Lua has lists on both sides
        value = node.named_children[1].child_by_field_name("value")
    if value is None or not (value.type in _FUNCTION_VALUES or value.type == "class" or _holds_functions(value)):
        return None
    return value


def _holds_functions(node: Any) -> bool:
    return node.type == "object" and any(
        c.type == "method_definition" or (c.type == "pair" and _value(c) is not None) for c in node.named_children
    )


def _core(found: Any) -> Any:
    """The definition itself, without the assignment around it."""
    return (_value(found) if found.type in _ASSIGNMENTS else None) or found


def is_container(found: Any) -> bool:
    """Whether a definition has members."""
    return _core(found).type in _CONTAINERS


def body(found: Any) -> Any:
    """What is between a definition's braces; None: it has none."""
    node = _core(found)
    if node.type == "object":
        return node
    return node.child_by_field_name("body") or next((c for c in node.named_children if c.type in _BODIES), None)


def members(found: Any) -> Iterator[Any]:
    """The nodes in a container's body. In some grammars the comments before the first of them are not in the body."""
    inner = body(found)
    for child in _core(found).children:
        if (
            child.type in LEADING
            and child.start_byte < inner.start_byte
            and child.start_point[0] > found.start_point[0]
        ):
            yield child
    yield from inner.children


def header_end(found: Any) -> int:
    """Where a definition's header ends, in bytes."""
    inner = body(found)
    if inner is None:
        return int(found.end_byte)
    comments = (c.start_byte for c in _core(found).children if c.type in LEADING and c.start_byte > found.start_byte)
    return int(min([inner.start_byte, *(at for at in comments if found.type in _CONTAINERS)]))


def blocks(node: Any) -> Iterator[Any]:
    """The blocks below a node that hold definitions, without being one: the branches of an if or try, the function that a
    module is wrapped in."""
    if node.type in _BRANCHES:
        for child in node.named_children:
            if child.type == "block" and any(map(definition, child.children)):
                yield child
            yield from blocks(child)
    elif node.type in ("expression_statement", "unary_expression", "parenthesized_expression", "arguments"):
        for child in node.named_children:
            yield from blocks(child)
    elif node.type == "call_expression":
        for field in ("function", "arguments"):
            yield from blocks(node.child_by_field_name(field) or node)
    elif node.type in _FUNCTION_VALUES:
        inner = node.child_by_field_name("body")
        if inner is not None and any(map(definition, inner.children)):
            yield inner


def receiver(found: Any) -> str | None:
    """The type that a Go method belongs to."""
    node = found.child_by_field_name("receiver")
    for _ in range(5):
        if node is None or node.type == "type_identifier":
            break
        node = node.child_by_field_name("type") or next(iter(node.named_children), None)
    return None if node is None else _text(node)


def name(found: Any) -> str | None:
    """The name of a definition. C and C++ keep it in a chain of declarators, Rust's impl in its type, Go's type in a spec."""
    node = found
    if node.type == "type_declaration":
        node = next((c for c in node.named_children if c.type not in LEADING), node)
    if node.type == "assignment_statement":
        return _text(node.named_children[0])
    for field in ("name", "left", "key"):
        if node.child_by_field_name(field) is not None:
            return _text(node.child_by_field_name(field))
    if node.type == "impl_item":
        node = node.child_by_field_name("type")
        return _text(node.child_by_field_name("type") or node)
    if node.type == "deinit_declaration":
        return "deinit"
    if node.type == "operator_declaration":
        operator = node.child_by_field_name("operator")
        return None if operator is None else f"operator {_text(operator)}"
    if node.child_by_field_name("declarator") is None:
        return None
    for _ in range(16):
        if node.type == "operator_cast":
            return (_text(node) or "").partition("(")[0] or None
        inner = node.child_by_field_name("declarator") or (
            next((c for c in node.named_children if c.type.endswith(("declarator", "identifier"))), None)
            if node.type.endswith("declarator")
            else None
        )
        if inner is None:
            return _text(node)
        node = inner
    return None


def _text(node: Any) -> str | None:
    text = " ".join(node.text.decode("utf-8", "replace").split())
    return text if 0 < len(text) <= _LONGEST_NAME else None


def kind(found: Any, around: str) -> str:
    """What a definition is ("function", "method", "class", ...), by the kind of the container around it."""
    node = _core(found)
    if node.type in _KINDS:
        return _KINDS[node.type]
    if node.type == "class_declaration":
        return next((str(child.type) for child in node.children if child.type in _KEYWORDS), "class")
    if node.type in _CONTAINERS:
        return str(node.type.split("_")[-2 if "_" in node.type else 0])
    alone = around in ("module", "mod", "namespace") and found.child_by_field_name("receiver") is None
    return "function" if alone and (node.type not in _METHODS or around == "module") else "method"
