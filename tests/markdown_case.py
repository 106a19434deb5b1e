"""MarkdownChunker behind the checker of the cases (data/cases/check.py)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from rapidchunk import MarkdownChunker

DATA = Path(__file__).parent / "data" / "cases"
sys.path.insert(0, str(DATA))
from check import count_tokens, load, run_case  # noqa: E402

__all__ = ["CASES", "markdown_case", "run_case"]

CASES = [case for case in load(DATA / "open.jsonl") if case["strategy"] == "markdown"]


def markdown_case(case: dict[str, Any], text: str) -> dict[str, Any]:
    """The result of one case, as the checker wants it."""
    options = dict(case["params"])
    name = options.pop("tokenizer", "words").split("|")[-1]
    tokenizer = name if name in ("words", "chars") else lambda piece: count_tokens(name, piece)
    metadata, separator = options.pop("metadata", {}), options.pop("page_separator", None)
    prepend = options.pop("prepend_headers", False)
    chunks = MarkdownChunker(tokenizer=tokenizer, prepend_headings=prepend, **options)(text)
    if separator:
        chunks = chunks.with_pages(separator)
    chunks = chunks.replace(**{key: [value] * len(chunks) for key, value in metadata.items()})
    result = []
    for c in chunks:
        columns = c.metadata
        headings, context = list(columns.pop("headings")), c.context
        row = {"text": c.text, "start": c.start, "end": c.end, "tokens": c.tokens}
        result.append({**row, "headers": headings, "context": context, "metadata": columns})
    return {"chunks": result}
