"""Similarity of neighbouring sentences, and of chunks with a query. The contracts of the native kernels of the same names."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rapidchunk.kernels.reference import lanes
from rapidchunk.kernels.reference._checks import check, check_offsets, check_threads

Float32 = NDArray[np.float32]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

ONE = 2**20
NO_SIMILARITY = 2**31 - 1


def quantise_cosine(cosine: NDArray[np.floating]) -> Int32:
    """round(2^20 * cosine), half away from zero, within +-2^20."""
    scaled = cosine.astype(np.float64) * ONE
    rounded = np.trunc(scaled + np.where(scaled < 0, -0.5, 0.5))
    return np.clip(rounded, -ONE, ONE).astype(np.int32)


def adjacent_similarity(
    vectors: NDArray[np.floating], doc_offsets: Int64, block: int = 1, threads: int | None = None
) -> Int32:
    """The cosine between each sentence's vector and the next one's, times 2^20, rounded half away from zero.

    With `block` = k > 1: the cosine between the sum of the unit vectors of the k sentences up to and including i and
    the sum of those of the k sentences after it (fewer at the ends of a document), which is that of their means. The
    time grows with block. A sum whose square is at most 2^-40 counts as zero.

    Sums are in float32 in the order of csrc/core/lanes.h: the same integers on every backend, for any thread number.

    Args:
        vectors: float32 or float16 [n, H], C-contiguous, need not have length 1.
        doc_offsets: int64 [D + 1], document d has the sentences doc_offsets[d] .. doc_offsets[d + 1].

    Returns:
        int32 [n], within +-2^20; 0 where a vector is zero; 2^31 - 1 for the last sentence of each document.

    Raises:
        ValueError: if a vector holds NaN or infinity (it names the first such row).
    """
    check(vectors.ndim == 2, "vectors", f"must have 2 dimension(s), not {vectors.ndim}")
    known = vectors.dtype in (np.float32, np.float16)
    check(known, "vectors", f"must have dtype float32 or float16, not {vectors.dtype}")
    check_threads(threads)
    check(block >= 1, "block", "must be at least 1")
    documents = check_offsets(doc_offsets, len(vectors), "doc_offsets")
    bad = np.flatnonzero(~lanes.finite_rows(vectors))
    check(not len(bad), "vectors", f"must be finite; row {bad[0] if len(bad) else ''} is not")

    x = lanes.blocks(vectors)
    scale, inverse = lanes.norms(x)
    scaled = x * scale[:, None, None]
    result = np.full(len(vectors), NO_SIMILARITY, np.int32)
    if block == 1:
        if len(vectors) > 1:
            cosine = lanes.dot(scaled[:-1], scaled[1:]) * inverse[:-1] * inverse[1:]
            result[:-1] = quantise_cosine(cosine)
    else:
        unit = scaled * inverse[:, None, None]
        for d in range(documents):
            begin, end = int(doc_offsets[d]), int(doc_offsets[d + 1])
            for i in range(begin, end - 1):
                left = _sum(unit, max(begin, i + 1 - block), i + 1)
                right = _sum(unit, i + 1, min(end, i + 1 + block))
                aa, bb = lanes.dot(left, left), lanes.dot(right, right)
                result[i] = 0
                if aa[0] > 2.0**-40 and bb[0] > 2.0**-40:
                    one = np.float32(1)
                    result[i] = quantise_cosine(lanes.dot(left, right) * (one / np.sqrt(aa)) * (one / np.sqrt(bb)))[0]
    ends = doc_offsets[1:][np.diff(doc_offsets) > 0]
    result[ends - 1] = NO_SIMILARITY
    return result


def _sum(unit: lanes.Float32, first: int, last: int) -> lanes.Float32:
    total = np.zeros_like(unit[:1])
    for r in range(first, last):
        total = total + unit[r : r + 1]
    return total


def chunk_scores(
    vectors: NDArray[np.floating],
    query: Float32,
    start: Int64,
    end: Int64,
    share: float = 0.5,
    threads: int | None = None,
) -> Float32:
    """For each chunk the largest cosine of its sentences with the query, plus `share` of the mean of these cosines.

    Sums are in float32 in a fixed order (those of csrc/core/lanes.h; the cosines of a chunk one by one): the same bits on
    every backend, for any thread number.

    Args:
        vectors: float32 or float16 [n, H], C-contiguous, one for each sentence; need not have length 1. The cosine of a zero
            vector is 0.
        query: float32 [H], need not have length 1.
        start, end: int64 [chunks], the rows of each chunk, half open; chunks may share rows.

    Returns:
        float32 [chunks]; NaN for a chunk without rows.

    Raises:
        ValueError: a range lies outside of vectors; the query or a vector holds NaN or infinity (it names the row).
    """
    check(vectors.ndim == 2, "vectors", f"must have 2 dimension(s), not {vectors.ndim}")
    known = vectors.dtype in (np.float32, np.float16)
    check(known, "vectors", f"must have dtype float32 or float16, not {vectors.dtype}")
    check(query.dtype == np.float32, "query", f"must have dtype float32, not {query.dtype}")
    check_threads(threads)
    check(len(query) == vectors.shape[1], "query", "must have as many entries as a vector")
    check(len(start) == len(end), "end", "must have as many entries as start")
    check(((start >= 0) & (start <= end)).all(), "start", "must be from 0 to end")
    check((end <= len(vectors)).all(), "end", "must not be beyond the vectors")
    check(np.isfinite(query).all(), "query", "must be finite")
    bad = np.flatnonzero(~lanes.finite_rows(vectors))
    check(not len(bad), "vectors", f"must be finite; row {bad[0] if len(bad) else ''} is not")

    q = lanes.blocks(query[None])
    q = q * lanes.norms(q)[0] * lanes.norms(q)[1]
    x = lanes.blocks(vectors)
    scale, inverse = lanes.norms(x)
    cosine = lanes.dot(x * scale[:, None, None], np.broadcast_to(q, x.shape)) * inverse
    scores = np.full(len(start), np.nan, np.float32)
    for c in np.flatnonzero(start < end):
        own = cosine[start[c] : end[c]]
        total = np.cumsum(own)[-1]  # one by one
        scores[c] = own.max() + np.float32(share) * (total * (np.float32(1) / np.float32(len(own))))
    return scores
