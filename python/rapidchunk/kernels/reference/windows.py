"""Token windows and their gather into arrays for an encoder. The contract of the native kernels of the same names."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rapidchunk.kernels.reference._checks import check, check_offsets, check_threads

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


def token_windows(
    doc_offsets: Int64,
    max_tokens: int,
    overlap: int = 0,
    tail: str = "keep",
    min_tokens: int = 0,
    threads: int | None = None,
) -> tuple[Int32, Int64, Int64]:
    """Cut documents into windows of `max_tokens` tokens that share `overlap` tokens with the window before.

    Window k of a document starts at k * (max_tokens - overlap). The last window is the first that reaches the end of
    the document, so no window only repeats text of the one before. An empty document has no window.

    `tail` says what happens to a last window shorter than `min_tokens` that has a window before it:
    "keep" leaves it; "drop" leaves it out; "join" shares its tokens with the window before. (The two never fit into
    one: the window before is full.) The last window then holds exactly the last `min_tokens` tokens, and the one
    before ends `overlap` tokens after the start of the last, or where it would end anyway if that is earlier. It comes
    out shorter than `min_tokens` only if 2 * min_tokens > max_tokens + overlap.

    Args:
        doc_offsets: int64 [D + 1], document d has the tokens doc_offsets[d] .. doc_offsets[d + 1].
        max_tokens, overlap, min_tokens: 0 <= overlap < max_tokens, 0 <= min_tokens <= max_tokens.
        threads: how many threads the native kernel uses; None means one for each processor.

    Returns:
        document int32 [W], start int64 [W], end int64 [W]: windows in order, as half-open ranges of token indices.

    Raises:
        ValueError: naming the argument that is out of range.
    """
    documents = check_offsets(doc_offsets, None, "doc_offsets")
    check(tail in ("keep", "drop", "join"), "tail", f"must be 'keep', 'drop' or 'join', not '{tail}'")
    check_threads(threads)
    check(1 <= max_tokens < 2**31, "max_tokens", "must be from 1 to 2^31 - 1")
    check(0 <= overlap < max_tokens, "overlap", "must be at least 0 and less than max_tokens")
    check(0 <= min_tokens <= max_tokens, "min_tokens", "must be from 0 to max_tokens")
    rows: list[tuple[int, int, int]] = []
    for d in range(documents):
        begin, stop = int(doc_offsets[d]), int(doc_offsets[d + 1])
        windows: list[tuple[int, int]] = []
        start = begin
        while start < stop and (not windows or windows[-1][1] < stop):
            windows.append((start, min(start + max_tokens, stop)))
            start += max_tokens - overlap
        if len(windows) > 1 and windows[-1][1] - windows[-1][0] < min_tokens:
            if tail == "drop":
                windows.pop()
            elif tail == "join":
                last = stop - min_tokens
                windows[-1] = (last, stop)
                windows[-2] = (windows[-2][0], min(windows[-2][1], last + overlap))
        rows += [(d, a, b) for a, b in windows]
    columns = np.array(rows, np.int64).reshape(-1, 3)
    return columns[:, 0].astype(np.int32), columns[:, 1].copy(), columns[:, 2].copy()


def _window_rows(ids: Int32, start: Int64, end: Int64, prefix: Int32, suffix: Int32) -> list[Int32]:
    check(len(start) == len(end), "end", "must have as many entries as start")
    for a, b in zip(start, end):
        check(0 <= a <= b, "start", "must be from 0 to end")
        check(b <= len(ids), "end", "must not be beyond the ids")
    return [np.concatenate([prefix, ids[a:b], suffix]) for a, b in zip(start, end)]


def gather_windows(
    ids: Int32,
    start: Int64,
    end: Int64,
    prefix: Int32,
    suffix: Int32,
    pad_id: int = 0,
    length: int | None = None,
    threads: int | None = None,
) -> tuple[Int64, Int64]:
    """Write windows of tokens into padded arrays, each as prefix + ids[start:end] + suffix, padded at the end.

    Args:
        ids: int32 [T]; start, end: int64 [B]; prefix int32 [p] and suffix int32 [s] are the special tokens.
        pad_id: fills the rest of each row.
        length: columns of the result; None means those of the longest window.

    Returns:
        input_ids int64 [B, L] and attention_mask int64 [B, L] (1 for tokens, 0 for padding).

    Raises:
        ValueError: if a window lies outside of ids, or is longer than length: nothing is truncated.
    """
    rows = _window_rows(ids, start, end, prefix, suffix)
    check_threads(threads)
    longest = max((len(row) for row in rows), default=0)
    check(length is None or length >= longest, "length", f"must be at least {longest}, the longest window")
    input_ids = np.full((len(rows), longest if length is None else length), pad_id, np.int64)
    mask = np.zeros_like(input_ids)
    for b, row in enumerate(rows):
        input_ids[b, : len(row)] = row
        mask[b, : len(row)] = 1
    return input_ids, mask


def pack_windows(
    ids: Int32, start: Int64, end: Int64, prefix: Int32, suffix: Int32, threads: int | None = None
) -> tuple[Int32, Int32, Int32]:
    """Write windows of tokens one after the other, each as prefix + ids[start:end] + suffix, without padding.

    Returns:
        ids int32 [N], position int32 [N] (the index of each token within its window) and cu_seqlens int32 [B + 1]
        (window b has the entries cu_seqlens[b] .. cu_seqlens[b + 1]).

    Raises:
        ValueError: if a window lies outside of ids, or the result had 2^31 or more tokens.
    """
    rows = _window_rows(ids, start, end, prefix, suffix)
    check_threads(threads)
    lengths = np.array([len(row) for row in rows], np.int64)
    check(int(lengths.sum()) < 2**31, "start", "and end must give fewer than 2^31 packed tokens")
    empty = np.zeros(0, np.int32)
    packed = np.concatenate([empty, *rows])
    position = np.concatenate([empty, *(np.arange(n, dtype=np.int32) for n in lengths)])
    return packed, position, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
