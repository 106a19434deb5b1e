"""OpenAPI descriptions, by endpoint."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rapidchunk.chunkers.base import Chunker
from rapidchunk.chunkers.sections import Section, SectionChunker
from rapidchunk.chunks import Chunks

__all__ = ["ApiChunker"]

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_BLANK = re.compile(r"[ \t\n\r]*")
_DEPTH = 4  # of schemas in a context; what is deeper is named, not spelled out
_PARTS = 400  # of all schemas of one operation that are spelled out


class ApiChunker(SectionChunker):
    """One chunk an operation of an OpenAPI 3 (or Swagger 2) description in JSON or YAML, one a component.

    The text of a chunk is the operation's own source. Its `context` begins with what an embedding should know: method and
    path, summary, description, parameters, request and response schemas with every ``$ref`` resolved (a cycle, and what is
    more than four deep, is left as the name); as much of that, in this order, as `max_tokens` allows.

    Further columns of the result, beside those of `SectionChunker`:
        kind: "operation", "schema" (or another kind of component, singular) or "description".
        method, path, name: str or None; name is the operationId or the component's name.
        summary: str or None; tags: list of str.

    Args:
        max_tokens, min_tokens, overlap, tokenizer, within: see `SectionChunker`.

    Raises:
        ValueError: a parameter is out of range; while chunking: a text is neither JSON nor YAML, or no object.
        ImportError: PyYAML is not installed (``rapidchunk[api]``) and a text is not JSON.
    """

    _repeats_heads = True

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
        try:
            api, starts = _read_json(document) if document.lstrip()[:1] == "{" else _read_yaml(document)
        except RecursionError as error:
            raise ValueError("the description is nested too deeply") from error
        rest: dict[str, Any] = {
            "kind": "description",
            "method": None,
            "path": None,
            "name": None,
            "summary": None,
            "tags": [],
        }
        found: list[tuple[int, tuple[str, ...], dict[str, Any], tuple[str, ...]]] = [(0, (), rest, ())]
        for start, where in sorted(starts):
            found.append((start, *self._describe(api, where, rest)))
        sections = []
        for (start, path, columns, context), end in zip(found, [*(start for start, *_ in found[1:]), len(document)]):
            if end > start:  # what only opens the next part goes with it
                bare = columns is rest and path[:1] in ((), ("paths",), ("components",)) and end - start < 200
                sections.append(Section(start, end, path, columns, context, bare=bare))
        return document, sections

    def _describe(
        self, api: Any, where: tuple[str, ...], rest: dict[str, Any]
    ) -> tuple[tuple[str, ...], dict[str, Any], tuple[str, ...]]:
        """Heading path, columns and contexts of what is at a place in the description; `rest` at a place of no interest."""
        if len(where) == 3 and where[0] == "paths" and where[2] in _METHODS:
            item = _mapping(_mapping(api.get("paths")).get(where[1]))
            operation, shared = _mapping(item.get(where[2])), item.get("parameters")
            columns: dict[str, Any] = {
                "kind": "operation",
                "method": where[2].upper(),
                "path": where[1],
                "name": _text(operation.get("operationId")),
                "summary": _text(operation.get("summary")),
                "tags": [str(tag) for tag in operation.get("tags") or ()]
                if isinstance(operation.get("tags"), list)
                else [],
            }
            lines = list(_operation_lines(api, columns, operation, shared))
            contexts = tuple("\n".join(lines[:n]) + "\n\n" for n in _fewer(len(lines)))
            return ("paths", where[1], columns["method"]), columns, contexts
        if (len(where) == 3 and where[0] == "components") or (len(where) == 2 and where[0] == "definitions"):
            kind = "schema" if where[0] == "definitions" else where[1][:-1] if where[1].endswith("s") else where[1]
            return where, {**rest, "kind": kind, "name": where[-1]}, (f"{kind} {where[-1]}\n\n",)
        return where, rest, ()

    def _columns(self, chunks: Chunks, sections: list[Section], first: list[int], last: list[int]) -> dict[str, Any]:
        columns: dict[str, list[Any]] = {n: [] for n in ("kind", "method", "path", "name", "summary", "tags")}
        for a, b in zip(first, last):
            run = [section for section in sections[a : b + 1] if not section.bare] or [sections[b]]
            for name, column in columns.items():
                values = [section.values[name] for section in run]
                if name == "tags":
                    column.append(list(dict.fromkeys(tag for tags in values for tag in tags)))
                else:
                    column.append(values[0] if all(value == values[0] for value in values) else None)
        return columns


def _fewer(n: int) -> Iterator[int]:
    """n, then about two thirds of it, ... down to 1."""
    while n > 1:
        yield n
        n = n * 2 // 3
    yield 1


def _operation_lines(api: Any, columns: dict[str, Any], operation: Mapping[str, Any], shared: Any) -> Iterator[str]:
    """What to know of an operation, the most important first."""
    budget = [_PARTS]
    yield f"{columns['method']} {columns['path']}" + (f": {columns['summary']}" if columns["summary"] else "")
    if _text(operation.get("description")):
        yield " ".join(str(operation["description"]).split())
    for given in [*_list(shared), *_list(operation.get("parameters"))]:
        parameter = _mapping(_resolve(api, given))
        shape = _schema(api, parameter.get("schema") or {"type": parameter.get("type")}, (), budget)
        required = " required" if parameter.get("required") else ""
        about = _text(parameter.get("description"))
        yield f"parameter {parameter.get('name')} ({parameter.get('in')}{required}): {shape}" + (
            f" - {about}" if about else ""
        )
    bodies = [("request", operation.get("requestBody")), *_mapping(operation.get("responses")).items()]
    for status, given in bodies:
        body = _mapping(_resolve(api, given))
        content = [(kind, _mapping(value).get("schema")) for kind, value in _mapping(body.get("content")).items()]
        if "schema" in body:
            content.append(("", body["schema"]))
        about = _text(body.get("description"))
        if body and not content:
            yield f"{status}: {about or ''}".rstrip()
        for kind, schema in content:
            yield f"{status} {kind}: {_schema(api, schema, (), budget)}" + (f" - {about}" if about else "")


def _schema(api: Any, schema: Any, above: tuple[str, ...], budget: list[int]) -> str:
    """A schema in a line: "Pet {id: integer, tags: [string]}"."""
    name = ""
    budget[0] -= 1
    if isinstance(schema, Mapping) and isinstance(schema.get("$ref"), str):
        name = str(schema["$ref"]).rsplit("/", 1)[-1]
        if schema["$ref"] in above or len(above) >= _DEPTH or budget[0] < 0:
            return name
        above = (*above, schema["$ref"])
        schema = _resolve(api, schema)
    elif len(above) >= _DEPTH + 4 or budget[0] < 0:
        return "..."
    else:
        above = (*above, "")
    if not isinstance(schema, Mapping):
        return name or "any"
    joined = [
        (word, schema[key]) for key, word in (("allOf", " & "), ("oneOf", " | "), ("anyOf", " | ")) if key in schema
    ]
    if joined:
        word, parts = joined[0]
        return (f"{name} " if name else "") + word.join(_schema(api, part, above, budget) for part in _list(parts)[:20])
    if schema.get("type") == "array" or "items" in schema:
        return (f"{name} " if name else "") + f"[{_schema(api, schema.get('items'), above, budget)}]"
    properties = _mapping(schema.get("properties"))
    if properties:
        fields = [f"{key}: {_schema(api, value, above, budget)}" for key, value in list(properties.items())[:50]]
        return (f"{name} " if name else "") + "{" + ", ".join(fields) + "}"
    values = schema.get("enum")
    kind = "|".join(map(str, values[:20])) if isinstance(values, list) else str(schema.get("type") or "any")
    return f"{name} {kind}" if name else kind


def _resolve(api: Any, value: Any) -> Any:
    """What a local reference leads to; None where it leads nowhere, or in a circle."""
    for _ in range(16):
        if not (isinstance(value, Mapping) and isinstance(value.get("$ref"), str)):
            return value
        steps = value["$ref"].split("/")
        value = api if steps[0] == "#" else None
        for step in steps[1:]:
            value = _mapping(value).get(step.replace("~1", "/").replace("~0", "~"))
    return None


def _read_json(text: str) -> tuple[Any, list[tuple[int, tuple[str, ...]]]]:
    """The description, and where each of its parts begins (its key), with the path to it, three deep."""
    decoder = json.JSONDecoder()
    starts: list[tuple[int, tuple[str, ...]]] = []

    def members(at: int, path: tuple[str, ...]) -> None:
        at = _after(text, at + 1)
        while text[at] == '"':
            key_at = at
            key, at = json.decoder.scanstring(text, at + 1)  # type: ignore[attr-defined]
            at = _after(text, _after(text, at) + 1)
            _, end = decoder.raw_decode(text, at)
            here = (*path, key)
            if _of_interest(here):
                starts.append((key_at, here))
            if text[at] == "{" and _holds_interest(here):
                members(at, here)
            at = _after(text, end)
            if text[at] == ",":
                at = _after(text, at + 1)

    try:
        api = json.loads(text)
        members(_after(text, 0), ())
    except ValueError as error:
        raise ValueError(f"the description is not valid JSON: {error}") from error
    return api, starts


def _read_yaml(text: str) -> tuple[Any, list[tuple[int, tuple[str, ...]]]]:
    try:
        import yaml
    except ImportError as error:
        raise ImportError("ApiChunker needs PyYAML for YAML: pip install rapidchunk[api]") from error
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    starts: list[tuple[int, tuple[str, ...]]] = []

    def members(node: Any, path: tuple[str, ...]) -> None:
        for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
            here = (*path, str(key.value))
            if _of_interest(here):
                starts.append((line_starts[key.start_mark.line] + key.start_mark.column, here))
            if _holds_interest(here):
                members(value, here)

    # The marks of libyaml count bytes in one version and characters in another; lines and columns are safe.
    line_starts = [0, *(match.end() for match in re.finditer("\r\n|\r|\n|\x85|\u2028|\u2029", text))]
    try:
        root = yaml.compose(text, Loader=loader)
        api = yaml.load(text, Loader=loader)
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(f"the description is neither JSON nor YAML: {error}") from error
    if not isinstance(api, dict):
        raise ValueError(f"the description must be an object, not {type(api).__name__}")
    members(root, ())
    return api, starts


def _of_interest(where: tuple[str, ...]) -> bool:
    if len(where) < 3:
        return len(where) == 1 or where[0] in ("paths", "components", "definitions")
    return where[0] == "components" or where[2] in _METHODS


def _holds_interest(where: tuple[str, ...]) -> bool:
    return (where[0] in ("paths", "components") and len(where) < 3) or where == ("definitions",)


def _after(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return str(value) if value is not None and str(value).strip() else None
