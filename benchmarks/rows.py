"""The rows: what is measured, on which documents, in which unit, and the goal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from baseline import SENTENCE_END
from corpus import SIZES
from harness import Result
from resources import BLOCK, Setup


@dataclass
class Row:
    """`documents` names the kind of input: prose, markdown, html, or blocks of made sentences. `size` is the size of document
    that the goal is for; "own" are the corpus' own files, or an input that has no size."""

    title: str
    unit: str
    goal: str
    documents: str = "prose"
    ascii_only: bool = False
    sizes: tuple[str, ...] = ("2KB", "20KB", "1MB")
    size: str = "20KB"


OWN = ("own",)
ROWS: dict[str, Row] = {
    "token-bert": Row("token windows 512/64, BERT", "MB/s", ">= 100 MB/s"),
    "token-cl100k": Row("token windows 512/64, cl100k", "MB/s", ">= 95 % of tiktoken alone"),
    # ASCII, because the rivals of delimiters cut inside characters and then fail on other text.
    "chars": Row("windows of 512 characters, overlap 64; ASCII", "ns/chunk", "<= 30 ns a chunk", ascii_only=True),
    "chars-unicode": Row("windows of 512 characters, overlap 64; any text", "ns/chunk", "none: such text is copied"),
    "delimiters": Row(
        "pieces of at most 512 bytes that end at a delimiter", "ns/chunk", "<= 30 ns a chunk", ascii_only=True
    ),
    "sentences": Row("sentence spans", "MB/s", ">= 500 MB/s"),
    "sentence-groups": Row("sentences grouped to 512 BERT tokens, overlap 64", "MB/s", ">= 60 MB/s"),
    "recursive-chars": Row("recursive, 512 characters, overlap 64", "MB/s", ">= 1000 MB/s"),
    "recursive-tokens": Row("recursive, 512 BERT tokens, overlap 64", "MB/s", ">= 60 MB/s"),
    "markdown": Row(
        "Markdown sections with heading path", "MB/s", ">= 600 MB/s", "markdown",
        sizes=("own", "2KB", "20KB", "1MB"), size="own",
    ),
    "html": Row(
        "HTML sections with heading path", "MB/s", ">= 60 MB/s", "html",
        sizes=("own", "2KB", "20KB", "1MB"), size="own",
    ),
    "semantic-tail": Row(
        "similarity and cuts, 384-d vectors given", "us/sentence", "<= 0.2 us a sentence", "blocks", sizes=OWN, size="own"
    ),
    "semantic-static": Row("semantic chunks, static vectors", "sentences/s", ">= 300,000 sentences/s"),
    # A document of 1 MB would keep a rival busy for minutes.
    "semantic-minilm": Row(
        "semantic chunks, MiniLM-L6 fp32", "sentences/s", ">= 4 x the best rival", sizes=("2KB", "20KB")
    ),
    "semantic-bf16": Row(
        "semantic chunks, MiniLM-L6, ours in bf16", "sentences/s", ">= 14 x the best rival", sizes=("2KB", "20KB")
    ),
    "memory-100mb": Row(
        "one document of 100 MB, ASCII", "MiB added", "<= 1.5 x the input; every strategy finishes", sizes=OWN, size="own"
    ),
    "memory-100mb-unicode": Row(
        "one document of 100 MB, Russian and Chinese", "MiB added", "<= 1.5 x the input; every strategy finishes",
        sizes=OWN, size="own",
    ),
    "threads": Row(
        "two threads against one, 20 KB documents", "speed-up", ">= 1.9 x, results identical", sizes=OWN, size="own"
    ),
}  # fmt: skip
MEMORY_ROWS = (
    "token-bert", "token-cl100k", "chars", "delimiters", "sentences", "sentence-groups", "recursive-chars",
    "recursive-tokens", "markdown", "html", "memory-100mb",
)  # fmt: skip
"""Rows whose cases are tried on a document of 100 MB; the cases of memory-100mb itself are our other strategies."""


def inputs(row: str, s: Setup, size: str) -> tuple[Sequence[Any], Callable[[Sequence[Any]], float]]:
    """The documents of a row, and the measure of the work done on some of them: bytes, or sentences."""
    kind = ROWS[row].documents
    if kind == "blocks":
        _ = s.vectors, s.vector_lists, s.sentence_tokens  # made here, not in every child
        return range(200), lambda blocks: len(blocks) * BLOCK
    if kind in ("markdown", "html"):
        documents = getattr(s.corpus, kind) if size == "own" else s.corpus.pieces(kind, *SIZES[size])
    else:
        documents = s.corpus.documents(*SIZES[size], ascii_only=ROWS[row].ascii_only)
    if ROWS[row].unit == "sentences/s":
        return documents, lambda ds: sum(len(SENTENCE_END.split(d)) for d in ds)
    return documents, lambda ds: sum(len(d.encode()) for d in ds)


def growing(
    row: str, documents: Sequence[Any], smallest: int = 20_000
) -> tuple[Callable[[int, int], Sequence[Any]], int, int]:
    """(size, copies) -> one document of that size, repeated; the smallest and the largest size for the scaling test."""
    if ROWS[row].documents == "blocks":
        return lambda size, copies: range(size * copies), 2, 200
    joined = "\n\n".join(documents)
    return lambda size, copies: [joined[:size] * copies], smallest, min(8_000_000, len(joined))


def figure(row: str, result: Result) -> float:
    """A result in the unit of its row."""
    unit = ROWS[row].unit
    if unit == "MB/s":
        return result.rate / 1e6
    if unit == "ns/chunk":
        return result.ns_per_chunk
    if unit == "us/sentence":
        return 1e6 / result.rate
    return result.rate


def advantage(row: str, ours: Result, other: Result) -> float:
    """How many times better ours is: work per second, or time per chunk where that is the row's unit."""
    if ROWS[row].unit == "ns/chunk":
        return other.ns_per_chunk / ours.ns_per_chunk
    return ours.rate / other.rate
