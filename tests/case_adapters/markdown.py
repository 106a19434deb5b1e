"""Cases of the strategy markdown."""

from __future__ import annotations

from typing import Any

from check import count_tokens
from rapidchunk import MarkdownChunker

STRATEGIES = ("markdown",)


def adapter(case: dict[str, Any], text: str) -> dict[str, Any]:
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
