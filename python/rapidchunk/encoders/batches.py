"""Which texts an encoder sees together: long texts as windows, windows sorted by length, batches by padded tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["merge", "plan", "windows"]

Ints = NDArray[np.int64]

#: Padded tokens from which a larger batch no longer raises the throughput (measured on one core: 16 x 22).
FULL_BATCH = 352
#: Padding that a batch may hold for the sake of its size, as a share of its tokens: what a small batch costs in
#: throughput (343 us a token for a sentence alone against 288 us).
PADDING = 0.15


def windows(offsets: Ints, limit: int) -> tuple[Ints, Ints, Ints]:
    """Windows of at most `limit` tokens over texts given as ragged token offsets [n + 1].

    A text within the limit is one window, a longer one as few windows as possible of nearly equal size.
    Returns (text, start, end) of every window, in order; starts and ends are token positions.
    """
    counts = np.diff(offsets)
    pieces = np.maximum(1, -(-counts // limit))
    text = np.repeat(np.arange(len(counts)), pieces)
    first = np.cumsum(pieces) - pieces
    nth = np.arange(len(text)) - first[text]
    start = offsets[text] + counts[text] * nth // pieces[text]
    end = offsets[text] + counts[text] * (nth + 1) // pieces[text]
    return text, start, end


def plan(lengths: Ints, max_batch_tokens: int | None = None, batch_size: int | None = None) -> list[tuple[int, int]]:
    """Batches (start, end) over items whose lengths are sorted from long to short.

    A batch holds at most `batch_size` items and `max_batch_tokens` padded tokens (items times the longest; one item
    alone may exceed it). Within that, a batch ends where the length changes as soon as it is full enough to be fast.
    """
    out = []
    start, n = 0, len(lengths)
    sums = np.concatenate([[0], np.cumsum(lengths)])
    down = -lengths  # ascending, for searchsorted
    while start < n:
        longest = max(int(lengths[start]), 1)
        limit = min(n, start + (batch_size or n))
        if max_batch_tokens is not None:
            limit = min(limit, start + max(1, max_batch_tokens // longest))
        end = min(limit, int(np.searchsorted(down, down[start], side="right")))
        # Shorter items join a batch that is not full, while they bring little padding.
        while end < limit and (end - start) * longest < FULL_BATCH:
            padded = (end + 1 - start) * longest
            if padded > (1 + PADDING) * (sums[end + 1] - sums[start]):
                break
            end += 1
        out.append((start, end))
        start = end
    return out


def merge(vectors: NDArray[np.float32], text: Ints, weights: Ints, count: int) -> NDArray[np.float32]:
    """Vectors of `count` texts from the vectors of their windows: means with `weights` (tokens of each window).

    `text` is the text of each window, ascending; a text without windows gets the zero vector.
    """
    out = np.zeros((count, vectors.shape[1]), np.float32)
    per_text = np.bincount(text, minlength=count)
    single = per_text[text] == 1
    out[text[single]] = vectors[single]
    first = np.cumsum(per_text) - per_text
    for index in np.flatnonzero(per_text > 1):
        rows = slice(first[index], first[index] + per_text[index])
        share = np.maximum(weights[rows], 1).astype(np.float64)
        out[index] = (share / share.sum()) @ vectors[rows]
    return out
