"""Retrieval measured in ranks, with the definitions of trec_eval (github.com/usnistgov/trec_eval).

`retrieved` holds for each question what was retrieved, best first, ids of any hashable kind (rows of `Chunks`, say), each at
most once. `relevant` holds for each question the ids that answer it: a set, list or array, or a mapping from id to gain
(0: not relevant). A question to which nothing is relevant scores 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "average_precision",
    "hit_rate",
    "ndcg",
    "precision",
    "rank_scores",
    "recall",
    "reciprocal_rank",
    "top_rows",
]

Scores = NDArray[np.float64]
Ids = Sequence[Any] | np.ndarray


def top_rows(scores: np.ndarray, k: int) -> NDArray[np.int64]:
    """The rows of the k highest scores, best first; among equals the earlier first: int64 [questions, min(k, n)].

    Args:
        scores: float [questions, n].

    Raises:
        ValueError: `scores` has other dimensions or is not finite, or `k` is below 1.
    """
    _check_k(k)
    scores = np.asarray(scores)
    if scores.ndim != 2:
        raise ValueError(f"scores must be [questions, n], not of shape {scores.shape}")
    if np.isnan(scores).any():
        raise ValueError("scores must not be NaN")
    k = min(k, scores.shape[1])
    if k == scores.shape[1]:
        return np.argsort(-scores, axis=1, kind="stable")
    # All that reach the k-th score, so that ties at the edge are settled by row.
    edge = np.partition(scores, -k, axis=1)[:, -k]
    found = np.empty((len(scores), k), np.int64)
    for question, row in enumerate(scores):
        rows = np.flatnonzero(row >= edge[question])
        found[question] = rows[np.argsort(-row[rows], kind="stable")[:k]]
    return found


def recall(retrieved: Sequence[Ids], relevant: Sequence[Any], k: int) -> Scores:
    """The share of what is relevant that is in the first k (trec_eval: recall_k): float64 [questions]."""
    gains, ideal = _gains(retrieved, relevant, k)
    return _ratio((gains > 0).sum(axis=1), np.array([len(row) for row in ideal]))


def precision(retrieved: Sequence[Ids], relevant: Sequence[Any], k: int) -> Scores:
    """The share of the first k that is relevant, where fewer were retrieved too (trec_eval: P_k): float64 [questions]."""
    gains, _ = _gains(retrieved, relevant, k)
    return np.asarray((gains > 0).sum(axis=1) / k, np.float64)


def hit_rate(retrieved: Sequence[Ids], relevant: Sequence[Any], k: int) -> Scores:
    """1 where any of the first k is relevant, else 0 (trec_eval: success_k): float64 [questions]."""
    gains, _ = _gains(retrieved, relevant, k)
    return np.asarray((gains > 0).any(axis=1), np.float64)


def reciprocal_rank(retrieved: Sequence[Ids], relevant: Sequence[Any], k: int | None = None) -> Scores:
    """1 by the rank of the first relevant one, 0 where there is none (its mean is MRR; trec_eval: recip_rank):
    float64 [questions]."""
    gains, _ = _gains(retrieved, relevant, k)
    if not gains.shape[1]:
        return np.zeros(len(gains))
    hit = gains > 0
    return np.where(hit.any(axis=1), 1.0 / (1 + hit.argmax(axis=1)), 0.0)


def ndcg(retrieved: Sequence[Ids], relevant: Sequence[Any], k: int | None = None) -> Scores:
    """Gains discounted by log2(rank + 1), by those of the best order (Järvelin and Kekäläinen, 2002, with the gain itself as
    the numerator; trec_eval: ndcg_cut_k): float64 [questions]."""
    gains, ideal = _gains(retrieved, relevant, k)
    depth = max([gains.shape[1], *(len(row) for row in ideal)])
    discount = 1 / np.log2(np.arange(depth) + 2)
    best = np.array([np.dot(row[:k], discount[: len(row[:k])]) for row in ideal])
    return _ratio(np.asarray(gains @ discount[: gains.shape[1]]), best)


def average_precision(retrieved: Sequence[Ids], relevant: Sequence[Any], k: int | None = None) -> Scores:
    """Precision at the rank of each relevant one, summed, by their number (its mean is MAP; trec_eval: map, map_cut_k):
    float64 [questions]."""
    gains, ideal = _gains(retrieved, relevant, k)
    hit = gains > 0
    at = np.cumsum(hit, axis=1) / (np.arange(gains.shape[1]) + 1)
    return _ratio((at * hit).sum(axis=1), np.array([len(row) for row in ideal]))


def rank_scores(
    retrieved: Sequence[Ids], relevant: Sequence[Any], ks: Sequence[int] = (1, 3, 5, 10)
) -> dict[str, Scores]:
    """All measures by name: "recall@5", "precision@5", "hit_rate@5" and "ndcg@5" for each k, and "mrr" and "map" of all that
    was retrieved; float64 [questions] each.

    Raises:
        ValueError: `retrieved` and `relevant` differ in length, a question has an id twice, a gain is negative, a k below 1.
    """
    found: dict[str, Scores] = {}
    for name, measure in (("recall", recall), ("precision", precision), ("hit_rate", hit_rate), ("ndcg", ndcg)):
        for k in ks:
            found[f"{name}@{k}"] = measure(retrieved, relevant, k)
    return {**found, "mrr": reciprocal_rank(retrieved, relevant), "map": average_precision(retrieved, relevant)}


def _gains(
    retrieved: Sequence[Ids], relevant: Sequence[Any], k: int | None
) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """float64 [questions, depth], the gains of what was retrieved in its order (0 where there was no more); and for each
    question the gains above 0 of all that is relevant, falling."""
    if k is not None:
        _check_k(k)
    if len(retrieved) != len(relevant):
        raise ValueError(f"retrieved has {len(retrieved)} entries, relevant {len(relevant)}; both are one a question")
    rows: list[list[float]] = []
    ideal = []
    for question, (found, wanted) in enumerate(zip(retrieved, relevant)):
        given = wanted if isinstance(wanted, Mapping) else dict.fromkeys(_plain(wanted), 1.0)
        worth = np.array(list(given.values()), np.float64)
        if not np.isfinite(worth).all() or (worth < 0).any():
            raise ValueError(f"relevant: question {question} has a gain that is negative or not finite")
        ranked = _plain(found)
        if len(set(ranked)) < len(ranked):
            raise ValueError(f"retrieved: question {question} has an id twice")
        rows.append([float(given.get(one, 0.0)) for one in ranked[:k]])
        ideal.append(-np.sort(-worth[worth > 0]))
    gains = np.zeros((len(rows), max(map(len, rows), default=0)))
    for question, row in enumerate(rows):
        gains[question, : len(row)] = row
    return gains, ideal


def _plain(ids: Any) -> list[Any]:
    return ids.tolist() if isinstance(ids, np.ndarray) else list(ids)


def _ratio(part: np.ndarray, whole: np.ndarray) -> Scores:
    out: Scores = np.zeros(len(part))
    np.divide(part, whole, out=out, where=whole > 0)
    return out


def _check_k(k: int) -> None:
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise ValueError(f"k must be a whole number of at least 1, not {k!r}")
