"""OpenAPI descriptions: where their parts are in the text, and what an operation says in a few lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["METHODS", "as_list", "as_mapping", "as_text", "operation_lines", "parameter_lines", "read"]

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_PATHS = ("paths", "webhooks")
_BLANK = re.compile(r"[ \t\n\r]*")
_DEPTH = 4  # of schemas; what is deeper is named, not spelled out
_PARTS = 400  # of all schemas of one operation that are spelled out

Place = tuple[str, ...]  # keys from the root


def read(text: str) -> tuple[Any, list[tuple[int, Place]]]:
    """The description, and where each of its parts begins (its key): what is at the root, paths and webhooks with their
    operations, components.

    Raises:
        ValueError: the text is neither JSON nor YAML, or no object.
        ImportError: PyYAML is not installed (``rapidchunk[api]``) and the text is not JSON.
    """
    try:
        return _read_json(text) if text.lstrip()[:1] == "{" else _read_yaml(text)
    except RecursionError as error:
        raise ValueError("the description is nested too deeply") from error


def operation_lines(api: Any, operation: Mapping[str, Any], shared: Any) -> Iterator[str]:
    """What to know of an operation, the most important first; `shared` are the parameters of its path."""
    budget = [_PARTS]
    if as_text(operation.get("description")):
        yield " ".join(str(operation["description"]).split())
    yield from parameter_lines(api, [*as_list(shared), *as_list(operation.get("parameters"))], budget)
    bodies = [("request", operation.get("requestBody")), *as_mapping(operation.get("responses")).items()]
    for status, given in bodies:
        body = as_mapping(_resolve(api, given))
        content = [(kind, as_mapping(value).get("schema")) for kind, value in as_mapping(body.get("content")).items()]
        if "schema" in body:
            content.append(("", body["schema"]))
        about = as_text(body.get("description"))
        if body and not content:
            yield f"{status}: {about or ''}".rstrip()
        shapes: dict[str, list[str]] = {}  # often the same in several formats
        for kind, schema in content:
            shapes.setdefault(_schema(api, schema, (), budget), []).append(kind)
        for shape, kinds in shapes.items():
            yield f"{status} {', '.join(kinds)}: {shape}" + (f" - {about}" if about else "")


def parameter_lines(api: Any, parameters: list[Any], budget: list[int] | None = None) -> Iterator[str]:
    budget = budget or [_PARTS]
    for given in parameters:
        parameter = as_mapping(_resolve(api, given))
        shape = _schema(api, parameter.get("schema") or {"type": parameter.get("type")}, (), budget)
        required = " required" if parameter.get("required") else ""
        about = as_text(parameter.get("description"))
        yield f"parameter {parameter.get('name')} ({parameter.get('in')}{required}): {shape}" + (
            f" - {about}" if about else ""
        )


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
        return (f"{name} " if name else "") + word.join(
            _schema(api, part, above, budget) for part in as_list(parts)[:20]
        )
    if schema.get("type") == "array" or "items" in schema:
        return (f"{name} " if name else "") + f"[{_schema(api, schema.get('items'), above, budget)}]"
    properties = list(as_mapping(schema.get("properties")).items())[:50]
    if isinstance(schema.get("additionalProperties"), Mapping):  # a map
        properties.append(("*", schema["additionalProperties"]))
    if properties:
        fields = [f"{key}: {_schema(api, value, above, budget)}" for key, value in properties]
        return (f"{name} " if name else "") + "{" + ", ".join(fields) + "}"
    values = next((schema[key] for key in ("enum", "type") if isinstance(schema.get(key), list)), None)
    kind = "|".join(map(str, values[:20])) if values else str(schema.get("const", schema.get("type") or "any"))
    return f"{name} {kind}" if name else kind


def _resolve(api: Any, value: Any) -> Any:
    """What a local reference leads to; None where it leads nowhere, or in a circle."""
    for _ in range(16):
        if not (isinstance(value, Mapping) and isinstance(value.get("$ref"), str)):
            return value
        steps = value["$ref"].split("/")
        value = api if steps[0] == "#" else None
        for step in steps[1:]:
            value = as_mapping(value).get(step.replace("~1", "/").replace("~0", "~"))
    return None


class _Undecoded(Mapping[str, Any]):
    """A path: each value is decoded when it is asked for, since all of a large description take three times its text."""

    __slots__ = ("_at", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._at: dict[str, int] = {}

    def add(self, key: str, at: int) -> None:
        self._at[key] = at

    def __getitem__(self, key: str) -> Any:
        return _DECODER.raw_decode(self._text, self._at[key])[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._at)

    def __len__(self) -> int:
        return len(self._at)


_DECODER = json.JSONDecoder()


def _read_json(text: str) -> tuple[Any, list[tuple[int, Place]]]:
    """The description, and where each of its parts begins (its key), with the path to it, three deep."""
    starts: list[tuple[int, Place]] = []

    def expect(mark: str, at: int) -> int:
        if text[at : at + 1] != mark:
            raise ValueError(f"{mark} is missing at character {at}")
        return at + 1

    def members(at: int, path: tuple[str, ...]) -> tuple[Mapping[str, Any], int]:
        """The object that begins at a place, and where it ends."""
        found: dict[str, Any] = {}
        item = _Undecoded(text) if len(path) == 2 and path[0] in _PATHS else None
        at = _after(text, expect("{", at))
        closed = text[at : at + 1] == "}"
        while not closed:
            key_at = at
            key, at = json.decoder.scanstring(text, expect('"', at))  # type: ignore[attr-defined]
            at = _after(text, expect(":", _after(text, at)))
            here = (*path, key)
            if _of_interest(here):
                starts.append((key_at, here))
            if text[at : at + 1] == "{" and _holds_interest(here):
                found[key], at = members(at, here)
            else:
                if item is not None:
                    item.add(key, at)
                value, at = _DECODER.raw_decode(text, at)
                if item is None:
                    found[key] = value
            at = _after(text, at)
            closed = text[at : at + 1] == "}"
            at = at if closed else _after(text, expect(",", at))
        return found if item is None else item, at + 1

    try:
        api, end = members(_after(text, 0), ())
        if _after(text, end) < len(text):
            raise ValueError(f"there is more after character {end}")
    except ValueError as error:
        raise ValueError(f"the description is not valid JSON: {_said_by_json(text) or error}") from error
    return api, starts


def _said_by_json(text: str) -> str:
    """What is wrong with a text, and where."""
    try:
        json.loads(text)
    except ValueError as error:
        return str(error)
    return ""


def _read_yaml(text: str) -> tuple[Any, list[tuple[int, Place]]]:
    try:
        import yaml
    except ImportError as error:
        raise ImportError("ApiChunker needs PyYAML for YAML: pip install rapidchunk[api]") from error
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    starts: list[tuple[int, Place]] = []

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
        return len(where) == 1 or where[0] in (*_PATHS, "components", "definitions")
    return where[0] == "components" or where[2] in METHODS


def _holds_interest(where: tuple[str, ...]) -> bool:
    return (where[0] in (*_PATHS, "components") and len(where) < 3) or where == ("definitions",)


def _after(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def as_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str | None:
    return str(value) if value is not None and str(value).strip() else None
