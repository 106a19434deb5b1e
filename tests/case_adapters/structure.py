"""Cases of the strategies html, code and chat, and of code in batches."""

from __future__ import annotations

from typing import Any

import rapidchunk as rc

from case_adapters.text import tokenizer

STRATEGIES = ("html", "code", "chat")


def adapter(case: dict[str, Any], value: Any) -> dict[str, Any]:
    given = dict(case["params"])
    strategy = given.pop("strategy_inner", case["strategy"])
    options: dict[str, Any] = {"tokenizer": tokenizer(given.pop("tokenizer", None))}
    for name in ("max_tokens", "min_tokens", "overlap", "language", "overlap_turns"):
        if name in given:
            options[name] = given.pop(name)
    batch, threads = given.pop("batch", False), given.pop("threads", None)
    given.pop("preserve", None)  # tables that fit are always whole
    if "headers_to_split_on" in given:
        options["section_tags"] = [tag for tag, _ in given.pop("headers_to_split_on")]
    if "format" in given:
        options["format"] = {"speaker_colon": "transcript"}[given.pop("format")]
    if given:
        raise ValueError(f"unknown option {sorted(given)}")
    make = getattr(rc, f"{strategy.capitalize()}Chunker")
    chunker = make(**options)
    if batch:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(threads) as pool:
            return {"docs": [rows_of(chunks) for chunks in pool.map(chunker, value)]}
    chunks = chunker(value)
    result: dict[str, Any] = {"chunks": rows_of(chunks)}
    if strategy == "code":
        result["units"] = [name for names in chunks.extra["names"] for name in names]
    return result


def rows_of(chunks: rc.Chunks) -> list[dict[str, Any]]:
    return [
        {
            "text": row.text,
            "start": row.start,
            "end": row.end,
            "tokens": row.tokens,
            "headers": list(row.metadata["headings"]),
            "context": row.context,
            "metadata": row.metadata,
        }
        for row in chunks
    ]
