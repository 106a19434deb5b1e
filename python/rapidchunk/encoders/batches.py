"""Which texts an encoder sees together: long texts as windows, windows sorted by length, batches by padded tokens."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Windows", "buckets", "merge", "overlapping", "packs", "plan", "windows"]

Ints = NDArray[np.int64]

#: Padded tokens from which a larger batch no longer raises the throughput (measured on one core: 16 x 22).
FULL_BATCH = 352
#: Padding that a batch may hold for the sake of its size, as a share of its tokens: what a small batch costs in
#: throughput (343 us a token for a sentence alone against 288 us).
PADDING = 0.15


class Windows(NamedTuple):
    """Texts as an encoder sees them: windows of tokens, in the order of the texts."""

    ids: NDArray[np.int32]  #: of all texts, without special tokens
    text: Ints  #: of each window; a text may have none
    start: Ints  #: of each window in `ids`
    end: Ints
    lengths: Ints  #: of each window, special tokens included
    texts: int  #: how many


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


def overlapping(count: int, limit: int, overlap: int) -> tuple[Ints, Ints, Ints]:
    """Windows of at most `limit` tokens over `count` tokens, each sharing at least `overlap` with the next.

    Returns start and end of every window, and the bounds [windows + 1] of what each answers for: where two share tokens,
    half of them each, so that every token has context on both sides.
    """
    pieces = 1 + max(0, -(-(count - limit) // (limit - overlap)))
    start = np.arange(pieces) * max(count - limit, 0) // max(pieces - 1, 1)
    end = np.minimum(start + limit, count)
    return start, end, np.concatenate([[0], (start[1:] + end[:-1]) // 2, [count]])


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


def packs(lengths: Ints, max_batch_tokens: int, batch_size: int | None = None) -> list[tuple[int, int]]:
    """Batches (start, end) without padding, over items whose lengths are sorted from long to short.

    A batch holds at most `batch_size` items and `max_batch_tokens` tokens (one item alone may exceed it). Its padded table
    (items times the longest), which attention kernels may make, holds at most twice as many.
    """
    out = []
    start, n = 0, len(lengths)
    sums = np.concatenate([[0], np.cumsum(lengths)])
    while start < n:
        longest = max(int(lengths[start]), 1)
        end = int(np.searchsorted(sums, sums[start] + max_batch_tokens, side="right")) - 1
        end = min(end, start + 2 * max_batch_tokens // longest, start + (batch_size or n), n)
        out.append((start, max(end, start + 1)))
        start = out[-1][1]
    return out


def buckets(
    lengths: Ints, max_batch_tokens: int, batch_size: int | None = None, limit: int | None = None
) -> list[tuple[int, int, int, int]]:
    """Batches (start, end, rows, columns) in few shapes, over items whose lengths are sorted from long to short.

    What a GPU runs for the first time with a shape is slow. So lengths are rounded up to one of few columns (at most
    `limit`), and a batch has as many rows as `max_batch_tokens` and `batch_size` allow, or, where there are fewer items
    of these columns, the next power of two; the rows beyond `end - start` are there for the shape alone.
    """
    out = []
    start, n = 0, len(lengths)
    kinds, kind_of = np.unique(lengths, return_inverse=True)
    columns = np.array([_columns(int(length), limit) for length in kinds], np.int64)[kind_of]
    while start < n:
        width = int(columns[start])
        most = max(1, max_batch_tokens // width)
        most = min(most, batch_size) if batch_size else most
        same = int(np.searchsorted(-columns, -width, side="right"))
        end = min(start + most, same)
        rows = min(most, 1 << (end - start - 1).bit_length())
        out.append((start, end, rows, width))
        start = end
    return out


def _columns(length: int, limit: int | None) -> int:
    """`length` rounded up: to a multiple of 16 below 64, of 32 below 128, of 64 below 256, and so on."""
    step = max(16, 1 << max((length - 1).bit_length() - 2, 0))
    rounded = -(-max(length, 1) // step) * step
    return rounded if limit is None else max(min(rounded, limit), length)


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
