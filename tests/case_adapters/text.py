"""Cases of the strategies token, sentence, recursive and semantic."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import numpy as np
import rapidchunk as rc

STRATEGIES = ("token", "sentence", "recursive", "semantic")


def leadspace(text: str) -> int:
    """A word with the space before it is one token, without it two."""
    return sum(1 if p[0] == " " or p.isspace() else 2 for p in re.findall(r" ?[^\s]+|\s", text))


def tokenizer(name: str | None) -> Any:
    """The tokenizer that a case names; of 'a|b', a where it can be had here, else b."""
    if name is None:
        return None
    for choice in name.split("|"):
        if choice.startswith("callback:"):
            return lambda text: len(text.split())
        if choice == "hf:bert-base-uncased":
            return "bert"
        if choice in ("words", "chars"):
            return choice
        if choice == "utf8":
            return "bytes"
        if choice == "words+2":
            return lambda text: len(text.split()) + 2
        if choice == "leadspace":
            return leadspace
    raise KeyError(name)


class Embedder:
    """The stub embedders of the cases; keeps the texts of every call."""

    def __init__(self, kind: dict[str, Any]) -> None:
        self.kind = kind
        self.calls: list[list[str]] = []
        self.seen = 0

    def encode(self, texts: list[str]) -> np.ndarray:
        self.calls.append(list(texts))
        limit = self.kind.get("max_input_tokens")
        if limit and any(len(text.split()) > limit for text in texts):
            raise RuntimeError("input too long")
        return np.array([self.vector(text) for text in texts], float)

    def vector(self, text: str) -> list[float]:
        self.seen += 1
        if "keyword" in self.kind:
            return next((v for word, v in self.kind["keyword"].items() if word in text), [0.5, 0.5])
        if self.kind.get("alternate"):
            return [1.0, 0.0] if self.seen % 2 else [0.0, 1.0]
        if "inf_for" in self.kind:
            return [float("inf"), 1.0] if self.kind["inf_for"] in text else [1.0, 0.0]
        return list(self.kind.get("const") or self.kind["async_const"])


class AsyncEmbedder(Embedder):
    async def encode(self, texts: list[str]) -> np.ndarray:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().encode(texts)


def adapter(case: dict[str, Any], value: Any) -> dict[str, Any]:
    given = dict(case["params"])
    strategy = case["strategy"]
    options: dict[str, Any] = {"tokenizer": tokenizer(given.pop("tokenizer", None))}
    for name in ("max_tokens", "min_tokens", "overlap", "snap_to_words", "language", "newline_is_boundary"):
        if name in given:
            options[name] = given.pop(name)
    batch, asynchronous, pages = given.pop("batch", False), given.pop("run", None), given.pop("page_separator", None)
    embedder = None
    if strategy == "token":
        make: Any = rc.TokenChunker
        options.setdefault("overlap", 0)
    elif strategy == "sentence":
        make = rc.SentenceChunker
    elif strategy == "recursive":
        make = rc.RecursiveChunker
        for ours, theirs in (
            ("separators", "separators"),
            ("is_regex", "separators_are_regex"),
            ("keep_separator",) * 2,
        ):
            if theirs in given:
                options[ours] = given.pop(theirs)
    else:
        make = rc.SemanticChunker
        kind = given.pop("embedder")
        embedder = (AsyncEmbedder if "async_const" in kind else Embedder)(kind)
        options |= {"encoder": embedder, "min_tokens": options.get("min_tokens", 0)}
        if "threshold" in given or "threshold_type" in given:
            rule = given.pop("threshold_type", "threshold")
            options[rule] = given.pop("threshold", 1.5)
        if "embed_batch_size" in given:
            options["batch_size"] = given.pop("embed_batch_size")
    if given:
        raise ValueError(f"unknown option {sorted(given)}")
    chunker = make(**options)
    chunks = asyncio.run(chunker.acall(value)) if asynchronous == "async" else chunker(value)
    if pages:
        chunks = chunks.with_pages(pages)
    rows = [rows_of(chunks.of_document(number)) for number in range(chunks.documents)]
    result: dict[str, Any] = {"docs": rows} if batch else {"chunks": rows[0]}
    if strategy == "sentence" and isinstance(value, str):
        language, newlines = options.get("language"), options.get("newline_is_boundary", False)
        spans = rc.sentence_spans(value, language, newline_is_boundary=newlines)
        result["sentences"] = [value[start:end] for start, end in spans]
    if embedder is not None:
        result["embed_calls"] = embedder.calls
    return result


def rows_of(chunks: rc.Chunks) -> list[dict[str, Any]]:
    return [
        {"text": row.text, "start": row.start, "end": row.end, "tokens": row.tokens, "metadata": row.metadata}
        for row in chunks
    ]
