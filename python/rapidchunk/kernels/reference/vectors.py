"""Pooling of token vectors. The contract of the native kernel of the same name."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rapidchunk.kernels.reference import lanes
from rapidchunk.kernels.reference._checks import check, check_offsets, check_threads

Int64 = NDArray[np.int64]


def pool_spans(
    vectors: NDArray[np.floating],
    start: Int64,
    end: Int64,
    offsets: Int64 | None = None,
    normalize: bool = True,
    threads: int | None = None,
) -> NDArray[np.float32]:
    """The mean of the rows of each span; with `normalize` scaled to length 1.

    The rows are added in float32 in the order given, the sum is multiplied with the reciprocal of their number, and
    normalised as csrc/core/lanes.h does: the same bits on every backend.

    Args:
        vectors: float32 or float16 [T, H], C-contiguous.
        start, end: int64 [P], half-open row ranges.
        offsets: int64 [S + 1], output s is the mean over the ranges offsets[s] .. offsets[s + 1] together;
            None means one range for each output.

    Returns:
        float32 [S, H]. An output without rows, or whose rows add up to zero, is zero.

    Raises:
        ValueError: if a range lies outside of vectors; if a mean is not finite (it names the span).
    """
    check(vectors.ndim == 2, "vectors", f"must have 2 dimension(s), not {vectors.ndim}")
    known = vectors.dtype in (np.float32, np.float16)
    check(known, "vectors", f"must have dtype float32 or float16, not {vectors.dtype}")
    check(len(start) == len(end), "end", "must have as many entries as start")
    check(((start >= 0) & (start <= end)).all(), "start", "must be from 0 to end")
    check((end <= len(vectors)).all(), "end", "must not be beyond the vectors")
    check_threads(threads)
    if offsets is None:
        offsets = np.arange(len(start) + 1)
    outputs = check_offsets(offsets, len(start), "offsets")
    mean = np.zeros((outputs, vectors.shape[1]), np.float32)
    with np.errstate(all="ignore"):
        for s in range(outputs):
            rows = [r for p in range(offsets[s], offsets[s + 1]) for r in range(start[p], end[p])]
            for r in rows:
                mean[s] += vectors[r]
            mean[s] *= np.float32(1) / np.float32(len(rows)) if rows else np.float32(0)
    bad = np.flatnonzero(~lanes.finite_rows(mean))
    check(not len(bad), "vectors", f"must be finite; the mean of span {bad[0] if len(bad) else ''} is not")
    if not normalize:
        return mean
    scale, inverse = lanes.norms(lanes.blocks(mean))
    return (mean * scale[:, None]) * inverse[:, None]
