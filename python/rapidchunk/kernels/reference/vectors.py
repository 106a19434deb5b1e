"""Pooling of token vectors, and vectors from a static table. The contracts of the native kernels of the same names."""

from __future__ import annotations

from typing import Any

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
    return _finished(mean, normalize, "vectors", "span")


def gather_mean(
    table: NDArray[Any],
    scale: NDArray[np.float32] | None,
    ids: NDArray[np.int32],
    offsets: Int64,
    skip: int = -1,
    normalize: bool = True,
    threads: int | None = None,
) -> NDArray[np.float32]:
    """The mean of the table's rows of each text's tokens; with `normalize` scaled to length 1.

    Rows times their scales are added in float32 in the order of the ids, the sum is multiplied with the reciprocal of their
    number, and normalised as csrc/core/lanes.h does: the same bits on every backend.

    Args:
        table: int8, float16 or float32 [V, H], C-contiguous.
        scale: float32 [V], or None for 1.
        ids: int32 [T], the tokens of all texts.
        offsets: int64 [S + 1], text s has the ids offsets[s] .. offsets[s + 1].
        skip: a token that is left out (unknown words, say), or -1.

    Returns:
        float32 [S, H]. A text without tokens is zero.

    Raises:
        ValueError: an id is not in the table, lengths do not fit, or a mean is not finite (it names the text).
    """
    check(table.ndim == 2, "table", f"must have 2 dimension(s), not {table.ndim}")
    known = table.dtype in (np.int8, np.float32, np.float16)
    check(known, "table", f"must have dtype int8, float32 or float16, not {table.dtype}")
    check(scale is None or len(scale) == len(table), "scale", "must have as many entries as the table has rows")
    outputs = check_offsets(offsets, len(ids), "offsets")
    unknown = np.flatnonzero((ids < 0) | (ids >= len(table)))
    said = f"must be below the {len(table)} rows of the table; id {unknown[0] if len(unknown) else ''} is not"
    check(not len(unknown), "ids", said)
    check_threads(threads)
    mean = np.zeros((outputs, table.shape[1]), np.float32)
    with np.errstate(all="ignore"):
        for s in range(outputs):
            kept = [int(i) for i in ids[offsets[s] : offsets[s + 1]] if i != skip]
            for i in kept:
                row = table[i].astype(np.float32)
                mean[s] += row if scale is None else row * scale[i]
            mean[s] *= np.float32(1) / np.float32(len(kept)) if kept else np.float32(0)
    return _finished(mean, normalize, "table", "text")


def _finished(mean: NDArray[np.float32], normalize: bool, name: str, what: str) -> NDArray[np.float32]:
    bad = np.flatnonzero(~lanes.finite_rows(mean))
    check(not len(bad), name, f"must be finite; the mean of {what} {bad[0] if len(bad) else ''} is not")
    if not normalize:
        return mean
    scale, inverse = lanes.norms(lanes.blocks(mean))
    return (mean * scale[:, None]) * inverse[:, None]
