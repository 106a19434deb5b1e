"""OpenAPI descriptions, by endpoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rapidchunk.chunkers.base import Chunker
from rapidchunk.chunkers.openapi import (
    METHODS,
    as_list,
    as_mapping,
    as_text,
    operation_lines,
    parameter_lines,
    read,
)
from rapidchunk.chunkers.section_chunker import SectionChunker
from rapidchunk.chunkers.sections import Section
from rapidchunk.chunks import Chunks
from rapidchunk.columns import Column

__all__ = ["ApiChunker"]


class _Part(NamedTuple):
    """The columns of a part of a description."""

    kind: str = "description"
    method: str | None = None
    path: str | None = None
    name: str | None = None
    summary: str | None = None
    tags: tuple[str, ...] = ()


_OTHER = _Part()


class ApiChunker(SectionChunker):
    """One chunk an operation of an OpenAPI 3 (or Swagger 2) description in JSON or YAML, one a component.

    The text of a chunk is the operation's own source. Its `context` begins with what an embedding should know: method and
    path, summary, description, parameters, request and response schemas with every ``$ref`` resolved (a cycle, and what is
    more than four deep, is left as the name); as much of that, in this order, as `max_tokens` allows. An operation that
    leaves no room for the first line of it is cut.

    Further columns of the result, beside those of `SectionChunker`:
        kind: "operation", "webhook", "path" (what all its operations share), "schema" (or another kind of component,
            singular) or "description".
        method, path, name: str or None; name is the operationId, or that of the webhook or component.
        summary: str or None; tags: list of str.

    Args:
        max_tokens, min_tokens, overlap, tokenizer, within: see `SectionChunker`.

    Raises:
        ValueError: a parameter is out of range; while chunking: a text is neither JSON nor YAML, or no object.
        ImportError: PyYAML is not installed (``rapidchunk[api]``) and a text is not JSON.
    """

    _repeats_heads = True
    _keeps_context = True

    def __init__(
        self,
        max_tokens: int = 512,
        overlap: int = 0,
        tokenizer: Any = None,
        *,
        min_tokens: int = 0,
        within: Chunker | None = None,
    ) -> None:
        super().__init__(max_tokens, min_tokens, overlap, tokenizer, within)

    def _read(self, document: Any) -> tuple[str, list[Section]]:
        if not document.strip():
            return document, []
        api, starts = read(document)
        found: list[tuple[int, tuple[str, ...], _Part, Sequence[str]]] = [(0, (), _OTHER, ())]
        for start, where in sorted(starts):
            found.append((start, *_describe(api, where)))
        sections = []
        for (start, path, part, context), end in zip(found, [*(start for start, *_ in found[1:]), len(document)]):
            if end > start:
                # What only opens the next part goes with it.
                opens = path[:1] in ((), ("openapi",), ("swagger",), ("paths",), ("webhooks",), ("components",))
                bare = opens and part.kind in ("description", "path") and end - start < 200
                sections.append(Section(start, end, path, part, context, bare=bare))
        return document, sections

    def _columns(
        self, chunks: Chunks, sections: Sequence[Section], first: list[int], last: list[int]
    ) -> dict[str, Any]:
        columns: dict[str, list[Any]] = {name: [] for name in _Part._fields}
        for a, b in zip(first, last):
            parts = [section.values for section in sections[a : b + 1] if not section.bare] or [sections[b].values]
            for name, column in columns.items():
                values = [getattr(part, name) for part in parts]
                if name == "tags":
                    column.append(list(dict.fromkeys(tag for tags in values for tag in tags)))
                else:
                    column.append(values[0] if all(value == values[0] for value in values) else None)
        return columns


def _describe(api: Any, where: tuple[str, ...]) -> tuple[tuple[str, ...], _Part, Sequence[str]]:
    """Heading path, columns and contexts of what is at a place in the description."""
    if len(where) in (2, 3) and where[0] in ("paths", "webhooks"):
        item = as_mapping(as_mapping(api.get(where[0])).get(where[1]))
        if len(where) == 3 and where[2] in METHODS:
            operation = as_mapping(item.get(where[2]))
            part = _operation(where, operation)
            kind, name = ("webhook ", where[1]) if part.path is None else ("", where[1])
            title = f"{kind}{part.method} {name}" + (" (deprecated)" if operation.get("deprecated") is True else "")
            lines = operation_lines(api, operation, item.get("parameters"))
            return (where[0], where[1], where[2].upper()), part, _contexts(title, part.summary, lines)
        if len(where) == 2:
            path = where[1] if where[0] == "paths" else None
            part = _Part("path", None, path, None if path else where[1], as_text(item.get("summary")))
            return where, part, _contexts(where[1], part.summary, parameter_lines(api, as_list(item.get("parameters"))))
    if (len(where) == 3 and where[0] == "components") or (len(where) == 2 and where[0] == "definitions"):
        kind = "schema" if where[0] == "definitions" else where[1][:-1] if where[1].endswith("s") else where[1]
        return where, _Part(kind, name=where[-1]), (f"{kind} {where[-1]}\n\n",)
    return where, _OTHER, ()


def _operation(where: tuple[str, ...], operation: Any) -> _Part:
    webhook = where[0] == "webhooks"
    return _Part(
        "webhook" if webhook else "operation",
        where[2].upper(),
        None if webhook else where[1],
        as_text(operation.get("operationId")) or (where[1] if webhook else None),
        as_text(operation.get("summary")),
        tuple(map(str, as_list(operation.get("tags")))),
    )


def _contexts(title: str, summary: str | None, further: Iterator[str]) -> Sequence[str]:
    return _Lines((title + (f": {summary}" if summary else ""), *further))


class _Lines(Column):
    """All lines, then fewer, down to the first; made when they are asked for."""

    __slots__ = ("_lines",)

    def __init__(self, lines: tuple[str, ...]) -> None:
        self._lines = lines

    def __len__(self) -> int:
        return sum(1 for _ in _fewer(len(self._lines)))

    def __getitem__(self, item: Any) -> Any:
        numbers = list(_fewer(len(self._lines)))[item]
        if isinstance(item, slice):
            return [self._first(n) for n in numbers]
        return self._first(numbers)

    def _first(self, n: int) -> str:
        return "\n".join(self._lines[:n]) + "\n\n"


def _fewer(n: int) -> Iterator[int]:
    """n, then about two thirds of it, ... down to 1."""
    while n > 1:
        yield n
        n = n * 2 // 3
    yield 1
