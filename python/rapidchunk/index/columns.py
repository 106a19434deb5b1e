"""The columns of an index: those that it always has, and metadata of any types."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rapidchunk._surrogates import without_surrogates
from rapidchunk.chunks import Chunks
from rapidchunk.documents import Document

__all__ = ["SCHEMA_KEY", "VECTORS", "empty_schema", "final_schema", "finished", "json_kind", "lines"]

#: Key of the settings (JSON) in the schema metadata of the Parquet file.
SCHEMA_KEY = b"rapidchunk"
_STRINGS = ("document", "file", "text", "id", "strategy", "section")
_NUMBERS = (
    "line", "index", "count", "start", "end", "byte_start", "byte_end", "tokens", "characters", "start_line", "end_line",
    "page_start", "page_end", "level", "parent",
)  # fmt: skip
#: The columns with vectors.
VECTORS = ("vector", "sentence_vectors")
#: The columns that an index always has; `VECTORS` only with an encoder.
OWN_COLUMNS = (*_STRINGS, *_NUMBERS, "headings", *VECTORS)


def lines(chunks: Chunks, run: list[Document]) -> list[int | None]:
    """The line in its file where each chunk (of `Chunks.with_metadata`) begins; for JSON lines the record's; None where the text
    is not the file's own (HTML, JSON messages)."""
    of_record = [document.line for document in run]
    extracted = [d.messages is not None or chunks.document_text(n) != d.text for n, d in enumerate(run)]
    return [
        of_record[number] or (None if extracted[number] else line)
        for number, line in zip(chunks.document.tolist(), chunks.extra["start_line"].tolist())
    ]


def json_kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if -(2**63) <= value < 2**63 else "other"
    if isinstance(value, float):
        return "float" if math.isfinite(value) else "other"
    return "str" if isinstance(value, str) else "other"


def _metadata_names(schema: Any, taken: Sequence[str]) -> dict[str, str]:
    """Column of a part -> column of the output, for metadata. Names that are taken get "meta_" before them."""
    names: dict[str, str] = {}
    used = {*OWN_COLUMNS, *taken}
    for column in schema.names:
        if column.startswith("json:"):
            name = without_surrogates(column.removeprefix("json:")) or "meta_"
            while name in used:
                name = f"meta_{name}"
            used.add(name)
            names[column] = name
    return names


def final_schema(parts: Any, seen: Mapping[str, Sequence[str]]) -> Any:
    """The output's schema: metadata with the one type that all its values have, else as text."""
    import pyarrow as pa

    plain = [name for name in parts.names if not name.startswith("json:")]
    renamed = _metadata_names(parts, plain)
    types = {"bool": pa.bool_(), "int": pa.int64(), "float": pa.float64(), "str": pa.large_string()}
    fields = []
    for column in parts:
        if column.name not in renamed:
            fields.append(pa.field(column.name, pa.string() if pa.types.is_null(column.type) else column.type))
            continue
        kinds = set(seen.get(column.name.removeprefix("json:"), ()))
        if kinds == {"int", "float"}:
            kinds = {"float"}
        type = types.get(next(iter(kinds)), pa.large_string()) if len(kinds) == 1 else pa.large_string()
        fields.append(pa.field(renamed[column.name], type))
    return pa.schema(fields)


def empty_schema() -> Any:
    import pyarrow as pa

    return pa.schema(
        [
            *((name, pa.large_string() if name == "text" else pa.string()) for name in _STRINGS),
            *((name, pa.int64()) for name in _NUMBERS),
            ("headings", pa.list_(pa.string())),
        ]
    )


def finished(table: Any, parts: Any, final: Any) -> Any:
    """A part with all columns of the output, of the output's types."""
    import pyarrow as pa

    columns = []
    for source, target in zip(parts, final):
        if source.name not in table.column_names:
            columns.append(pa.nulls(table.num_rows, target.type))
        elif source.name.startswith("json:"):
            columns.append(_metadata(table[source.name].to_pylist(), target.type))
        else:
            columns.append(table[source.name].cast(target.type))
    return pa.table(columns, schema=final)


def _metadata(column: list[str | None], type: Any) -> Any:
    import pyarrow as pa

    values = [None if text is None else json.loads(text) for text in column]
    if pa.types.is_large_string(type):
        # A string is itself; anything else keeps its JSON.
        texts = [value if value is None or isinstance(value, str) else text for value, text in zip(values, column)]
        return pa.array([None if text is None else without_surrogates(text) for text in texts], type)
    if pa.types.is_floating(type):
        values = [None if value is None else float(value) for value in values]
    return pa.array(values, type)
