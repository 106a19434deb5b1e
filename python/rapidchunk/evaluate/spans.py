"""Retrieval measured in characters: how much of the reference spans is retrieved, and how much besides.

Source: Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval" (Chroma, 2024), and the code published with it,
github.com/brandonstarxel/chunking_evaluation, whose figures these are equal to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rapidchunk.chunks import Chunks

__all__ = ["SpanScores", "overlap", "relevant_chunks", "span_scores", "union"]

Spans = NDArray[np.int64]
Scores = NDArray[np.float64]


class SpanScores(NamedTuple):
    """Each float64 [questions], 0 to 1."""

    recall: Scores  #: characters of the references that are retrieved, by characters of the references
    precision: Scores  #: the same, by characters of the retrieved chunks
    precision_omega: Scores  #: precision if exactly the chunks that touch a reference were retrieved (by their union)
    iou: Scores  #: the same as recall's numerator, by retrieved characters and references that were missed


def as_spans(spans: ArrayLike, name: str) -> Spans:
    """int64 [n, 2].

    Raises:
        ValueError: not pairs of whole numbers, or a pair that ends before it starts; the message has `name`.
    """
    found = np.asarray(spans)
    if found.size == 0:
        return np.empty((0, 2), np.int64)
    if found.ndim != 2 or found.shape[1] != 2 or found.dtype.kind not in "iu":
        raise ValueError(f"{name} must be pairs (start, end) of whole numbers, not {spans!r:.80}")
    bad = np.flatnonzero((found[:, 0] < 0) | (found[:, 1] < found[:, 0]))
    if len(bad):
        raise ValueError(f"{name}: span {bad[0]} is {found[bad[0]].tolist()}, it must be 0 <= start <= end")
    return found.astype(np.int64)


def union(spans: ArrayLike) -> Spans:
    """The characters that are in any of the spans, as spans apart from each other in rising order: int64 [m, 2]."""
    given = as_spans(spans, "spans")
    given = given[given[:, 1] > given[:, 0]]
    if not len(given):
        return given
    given = given[np.argsort(given[:, 0], kind="stable")]
    reach = np.maximum.accumulate(given[:, 1])
    first = np.flatnonzero(np.append(True, given[1:, 0] > reach[:-1]))
    last = np.append(first[1:], len(given)) - 1
    return np.stack([given[first, 0], reach[last]], axis=1)


def overlap(one: ArrayLike, other: ArrayLike) -> int:
    """How many characters are in spans of `one` and in spans of `other`, each counted once."""
    a, b = union(one), union(other)
    if not len(a) or not len(b):
        return 0
    # Characters of b before a position, at the ends of a.
    length = np.append(0, np.cumsum(b[:, 1] - b[:, 0]))

    def before(position: Spans) -> Spans:
        at = np.searchsorted(b[:, 0], position, side="right")
        inside = np.where(at > 0, np.minimum(position - b[at - 1, 0], b[at - 1, 1] - b[at - 1, 0]), 0)
        return np.asarray(np.where(at > 0, length[at - 1] + inside, 0))

    return int((before(a[:, 1]) - before(a[:, 0])).sum())


def span_scores(
    chunks: Chunks | tuple[ArrayLike, ArrayLike, ArrayLike],
    retrieved: Sequence[Any] | np.ndarray,
    references: Sequence[ArrayLike],
    documents: ArrayLike,
) -> SpanScores:
    """Recall, precision, precision-omega and intersection over union of retrieved chunks, in characters.

    As published, references and retrieved chunks that overlap count as often as they are there in the denominators of recall
    and precision, and a chunk touches a reference also where one only begins where the other ends.

    Args:
        chunks: all chunks that could be retrieved; or their columns (document, start, end), int [n] each.
        retrieved: for each question the rows of the chunks retrieved, [questions, k] or ragged.
        references: for each question the spans that answer it, [(start, end), ...] in characters of its document.
        documents: int [questions], the number of the document that each question is about.

    Raises:
        ValueError: the lengths differ, a row is out of range, a question has no reference character, or a document no chunk.
    """
    document, spans = _columns(chunks)
    asked, wanted = _questions(references, documents)
    if len(retrieved) != len(wanted):
        raise ValueError(f"retrieved has {len(retrieved)} entries for {len(wanted)} questions")
    order = np.argsort(document, kind="stable")
    grouped = document[order]
    rows = np.zeros((len(wanted), 4))
    for question, (number, reference) in enumerate(zip(asked, wanted)):
        hits = np.asarray(retrieved[question], np.int64).reshape(-1)
        if len(hits) and (hits.min() < 0 or hits.max() >= len(document)):
            raise ValueError(f"retrieved: question {question} has a row outside the {len(document)} chunks")
        low, high = np.searchsorted(grouped, [number, number + 1])
        if low == high:
            raise ValueError(f"documents: question {question} is about document {number}, which has no chunk")
        own = spans[order[low:high]]
        found = overlap(spans[hits[document[hits] == number]], reference)
        size, chosen = _size(union(reference)), _size(spans[hits])
        touching = ((own[:, :1] <= reference[:, 1]) & (reference[:, 0] <= own[:, 1:])).any(axis=1)
        best = overlap(own[touching], reference)
        rows[question] = (
            found / _size(reference),
            found / chosen if chosen else 0.0,
            best / (_size(union(own[touching])) + size - best),
            found / (chosen + size - found),
        )
    return SpanScores(*rows.T)


def relevant_chunks(
    chunks: Chunks | tuple[ArrayLike, ArrayLike, ArrayLike],
    references: Sequence[ArrayLike],
    documents: ArrayLike,
    *,
    whole: bool = False,
) -> list[NDArray[np.int64]]:
    """For each question the rows of the chunks that hold a character of a reference; with `whole`, a reference as a whole.

    For the measures of `ranking`. With `whole`, a reference that a cut goes through has no relevant chunk.

    Args:
        chunks, references, documents: see `span_scores`.

    Raises:
        ValueError: see `span_scores`.
    """
    document, spans = _columns(chunks)
    asked, wanted = _questions(references, documents)
    order = np.argsort(document, kind="stable")
    grouped = document[order]
    found = []
    for number, reference in zip(asked, wanted):
        low, high = np.searchsorted(grouped, [number, number + 1])
        own = spans[order[low:high]]
        if whole:
            held = (own[:, :1] <= reference[:, 0]) & (reference[:, 1] <= own[:, 1:])
        else:
            held = (own[:, :1] < reference[:, 1]) & (reference[:, 0] < own[:, 1:])
        found.append(np.sort(order[low:high][held.any(axis=1)]))
    return found


def _columns(chunks: Chunks | tuple[ArrayLike, ArrayLike, ArrayLike]) -> tuple[Spans, Spans]:
    if isinstance(chunks, Chunks):
        return chunks.document, np.stack([chunks.start, chunks.end], axis=1)
    if len(chunks) != 3:
        raise ValueError(f"chunks must be Chunks or the columns (document, start, end), not {len(chunks)} columns")
    document, start, end = (np.asarray(column, np.int64).reshape(-1) for column in chunks)
    if not len(document) == len(start) == len(end):
        raise ValueError(f"chunks: columns of {len(document)}, {len(start)} and {len(end)} rows")
    return document, as_spans(np.stack([start, end], axis=1), "chunks")


def _questions(references: Sequence[ArrayLike], documents: ArrayLike) -> tuple[list[int], list[Spans]]:
    asked = np.asarray(documents).reshape(-1)
    if len(asked) != len(references):
        raise ValueError(f"documents has {len(asked)} entries for {len(references)} questions")
    wanted = [as_spans(spans, f"references of question {question}") for question, spans in enumerate(references)]
    for question, spans in enumerate(wanted):
        if not _size(spans):
            raise ValueError(f"references: question {question} has none")
    return asked.tolist(), wanted


def _size(spans: Spans) -> int:
    return int((spans[:, 1] - spans[:, 0]).sum())
