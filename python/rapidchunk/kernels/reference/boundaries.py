"""Boundaries and cuts, from quantised similarities. The contract of the native kernels of the same names.

Here everything is plain Python over whole numbers, written for reading: the chosen cuts are defined by this file, and
the native kernels find the same ones in linear time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rapidchunk.kernels.reference._checks import check, check_offsets, check_threads

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
UInt8 = NDArray[np.uint8]

ONE = 2**20
MILLION = 10**6


def _millionths(method: str, value: float) -> int:
    check(math.isfinite(value), "value", "must be finite")
    if method == "threshold":
        check(-1 <= value <= 1, "value", "must be from -1 to 1 (a cosine)")
    elif method in ("percentile", "gradient"):
        check(0 <= value <= 100, "value", "must be from 0 to 100 (a percentile)")
    else:
        check(-100 <= value <= 100, "value", "must be from -100 to 100")
    fraction, whole = math.modf(abs(value * MILLION))
    return int(math.copysign(whole + (fraction >= 0.5), value))


def _percentile(values: Sequence[int], millionths: int, parts: int = 1) -> int:
    """floor(parts * percentile), with linear interpolation (NumPy's default)."""
    ordered = sorted(values)
    k, rest = divmod((len(ordered) - 1) * millionths, 100 * MILLION)
    step = ordered[k + 1] - ordered[k] if rest else 0
    return ordered[k] * parts + step * rest * parts // (100 * MILLION)


def _deviation_level(values: Sequence[int], millionths: int) -> int:
    n, total = len(values), sum(values)
    spread = n * sum(v * v for v in values) - total * total
    deviation = math.isqrt(((spread // n) << 20) // n)  # in 2^-10
    return (total * MILLION * 1024 + millionths * deviation * n) // (n * MILLION * 1024)


def _interquartile_level(values: Sequence[int], millionths: int) -> int:
    n, total = len(values), sum(values)
    quarters = _percentile(values, 75 * MILLION, 4) - _percentile(values, 25 * MILLION, 4)
    return (total * 4 * MILLION + millionths * quarters * n) // (n * 4 * MILLION)


def _depths(similarity: Sequence[int]) -> list[int]:
    depths = []
    for i, here in enumerate(similarity):
        left = right = i
        while left > 0 and similarity[left - 1] >= similarity[left]:
            left -= 1
        while right + 1 < len(similarity) and similarity[right + 1] >= similarity[right]:
            right += 1
        depths.append(similarity[left] + similarity[right] - 2 * here)
    return depths


def _candidates(similarity: list[int], method: str, millionths: int) -> list[bool]:
    """similarity: the gaps of one document."""
    gaps = len(similarity)
    distance = [ONE - s for s in similarity]
    if gaps < (2 if method == "gradient" else 1):
        return [False] * gaps
    if method == "threshold":
        level = (MILLION - millionths) * ONE // MILLION
        return [d > level for d in distance]
    if method == "percentile":
        level = _percentile(distance, millionths)
        return [d > level for d in distance]
    if method == "std":
        level = _deviation_level(distance, millionths)
        return [d > level for d in distance]
    if method == "interquartile":
        level = _interquartile_level(distance, millionths)
        return [d > level for d in distance]
    if method == "gradient":
        inner = [distance[i + 1] - distance[i - 1] for i in range(1, gaps - 1)]
        gradient = [2 * (distance[1] - distance[0]), *inner, 2 * (distance[-1] - distance[-2])]
        level = _percentile(gradient, millionths)
        return [g > level for g in gradient]
    depths = _depths(similarity)
    level = max(_deviation_level(depths, -millionths), 0)
    return [
        depths[i] > level
        and (i == 0 or similarity[i - 1] >= similarity[i])
        and (i + 1 == gaps or similarity[i + 1] >= similarity[i])
        for i in range(gaps)
    ]


METHODS = ("threshold", "percentile", "std", "interquartile", "gradient", "depth")


def boundary_candidates(
    similarity: Int32, doc_offsets: Int64, method: str, value: float, threads: int | None = None
) -> UInt8:
    """Mark the sentences after which a chunk may end. The distance of a gap is 2^20 - similarity.

    Methods and the meaning of `value` (taken in millionths); statistics are those of the document:
        threshold: the cosine is below value (-1 .. 1).
        percentile: the distance is above the value-th percentile (0 .. 100) of distances, with linear interpolation.
        std: the distance is above the mean plus value times the standard deviation (population; rounded down to 2^-30
            of a cosine).
        interquartile: the distance is above the mean plus value times the range from 25th to 75th percentile.
        gradient: numpy.gradient of the distances is above its value-th percentile; none in documents of two sentences.
            (These four with LangChain's meaning.)
        depth: TextTiling (Hearst 1997): the depth of a gap is the height of the hills to its left and right over it,
            each followed for as long as the similarity does not fall; candidates are the local minima with a depth
            above the mean minus value times the standard deviation of depths, and above 0. Hearst: value = 0.5.

    Args:
        similarity: int32 [n] from adjacent_similarity; entries of the last sentences of documents are not read.
        doc_offsets: int64 [D + 1].

    Returns:
        uint8 [n], 0 or 1; 0 for the last sentence of each document.

    Raises:
        ValueError: naming the argument that is out of range.
    """
    documents = check_offsets(doc_offsets, len(similarity), "doc_offsets")
    check(method in METHODS, "method", f"must be {', '.join(METHODS[:-1])} or depth, not '{method}'")
    check_threads(threads)
    millionths = _millionths(method, value)
    candidate = np.zeros(len(similarity), np.uint8)
    for d in range(documents):
        begin, end = int(doc_offsets[d]), int(doc_offsets[d + 1])
        gaps = similarity[begin : max(begin, end - 1)].tolist()
        check(all(-ONE <= s <= ONE for s in gaps), "similarity", "must be from -2^20 to 2^20")
        candidate[begin : begin + len(gaps)] = _candidates(gaps, method, millionths)
    return candidate


def _check_sentences(first: Int64, last: Int64, doc_offsets: Int64, n: int) -> int:
    check(len(first) == n, "first", "must have as many entries as similarity")
    check(len(last) == n, "last", "must have as many entries as similarity")
    documents = check_offsets(doc_offsets, n, "doc_offsets")
    for d in range(documents):
        inside = slice(doc_offsets[d], doc_offsets[d + 1])
        check(((first[inside] >= 0) & (first[inside] <= last[inside])).all(), "first", "must be from 0 to last")
        check((last[inside] <= 2**52).all(), "last", "must be at most 2^52")
        check((np.diff(first[inside]) >= 0).all(), "first", "must not fall within a document")
        check((np.diff(last[inside]) >= 0).all(), "last", "must not fall within a document")
    return documents


def _check_limits(min_tokens: int, max_tokens: int) -> None:
    check(1 <= max_tokens < 2**31, "max_tokens", "must be from 1 to 2^31 - 1")
    check(0 <= min_tokens <= max_tokens, "min_tokens", "must be from 0 to max_tokens")


def greedy_cuts(
    similarity: Int32,
    candidates: UInt8,
    first: Int64,
    last: Int64,
    doc_offsets: Int64,
    min_tokens: int,
    max_tokens: int,
    threads: int | None = None,
) -> UInt8:
    """Choose cuts in one pass over each document. Sentences i .. j together have last[j] - first[i] tokens.

    A chunk that begins with sentence a ends
        1. at the first candidate where it has min_tokens and not more than max_tokens; else
        2. with the document, if the rest fits max_tokens; else
        3. at the weakest similarity where it has min_tokens and fits (the last of equal ones); else
        4. with the last sentence that fits (with a itself, if a alone exceeds max_tokens).
    A chunk that comes out shorter than min_tokens is joined to the chunk before if both fit max_tokens together; else
    the cut between the two moves to the weakest similarity (the last of equal ones) where both have min_tokens and fit;
    else it stays short. So no chunk exceeds max_tokens but a single sentence that does so alone.

    Args:
        similarity: int32 [n]; candidates: uint8 [n], as boundary_candidates gives them.
        first, last: int64 [n], ranks of the first token of each sentence and of the token after its last, such that
            neither falls within a document. For additive token counts first[i + 1] == last[i].
        doc_offsets: int64 [D + 1].

    Returns:
        uint8 [n], 1 where a chunk ends with this sentence; always 1 for the last sentence of a document.

    Raises:
        ValueError: naming the argument that is out of range.
    """
    check(len(candidates) == len(similarity), "candidates", "must have as many entries as similarity")
    documents = _check_sentences(first, last, doc_offsets, len(similarity))
    _check_limits(min_tokens, max_tokens)
    check_threads(threads)
    cut = np.zeros(len(similarity), np.uint8)
    for d in range(documents):
        begin, stop = int(doc_offsets[d]), int(doc_offsets[d + 1])

        def size(i: int, j: int) -> int:
            return int(last[j] - first[i])

        chunks: list[tuple[int, int]] = []  # first and last sentence
        a = begin
        while a < stop:
            fits = [a]
            while fits[-1] + 1 < stop and size(a, fits[-1] + 1) <= max_tokens:
                fits.append(fits[-1] + 1)
            enough = [b for b in fits if size(a, b) >= min_tokens]
            marked = [b for b in enough if candidates[b]]
            if marked:
                end = marked[0]
            elif fits[-1] == stop - 1 or not enough:
                end = fits[-1]
            else:
                end = min(enough, key=lambda b: (similarity[b], -b))
            chunks.append((a, end))
            if size(a, end) < min_tokens and len(chunks) > 1:
                (previous, _), _ = chunks[-2:]
                if size(previous, end) <= max_tokens:
                    chunks[-2:] = [(previous, end)]
                else:
                    places = [
                        c
                        for c in range(previous, end)
                        if size(previous, c) >= min_tokens
                        and (size(previous, c) <= max_tokens or c == previous)
                        and min_tokens <= size(c + 1, end) <= max_tokens
                    ]
                    if places:
                        c = min(places, key=lambda c: (similarity[c], -c))
                        chunks[-2:] = [(previous, c), (c + 1, end)]
            a = end + 1
        cut[[end for _, end in chunks]] = 1
    return cut


def optimal_cuts(
    similarity: Int32,
    first: Int64,
    last: Int64,
    doc_offsets: Int64,
    min_tokens: int,
    max_tokens: int,
    penalty: int = 0,
    threads: int | None = None,
) -> UInt8:
    """Choose the cuts with the least sum of similarity + penalty over all segmentations of each document.

    No chunk exceeds max_tokens but a single sentence that does so alone. Chunks shorter than min_tokens come only where
    they cannot be avoided: the sum of the tokens that chunks lack to min_tokens is made least first, then the sum over
    the cuts within the document. Of equal segmentations, each chunk from the last one backwards has the earliest start.

    Args:
        similarity: int32 [n], any whole numbers; the entries of the last sentences of documents are not read.
        first, last, doc_offsets: as in greedy_cuts.
        penalty: added for each cut, in the unit of similarity (2^20 = cosine 1); negative values ask for more cuts.

    Returns:
        uint8 [n], as greedy_cuts.

    Raises:
        ValueError: naming the argument that is out of range.
    """
    documents = _check_sentences(first, last, doc_offsets, len(similarity))
    check_threads(threads)
    _check_limits(min_tokens, max_tokens)
    check(abs(penalty) < 2**31, "penalty", "must be within +-(2^31 - 1)")
    cut = np.zeros(len(similarity), np.uint8)
    for d in range(documents):
        begin, stop = int(doc_offsets[d]), int(doc_offsets[d + 1])
        cost = {begin: (0, 0)}
        origin: dict[int, int] = {}
        for j in range(begin + 1, stop + 1):
            best: tuple[int, int, int] | None = None
            for i in range(j - 1, begin - 1, -1):
                size = int(last[j - 1] - first[i])
                if size > max_tokens and i < j - 1:
                    break
                missing, total = cost[i]
                option = (missing + max(0, min_tokens - size), total, i)
                best = option if best is None else min(best, option)
            assert best is not None
            origin[j] = best[2]
            cost[j] = (best[0], best[1] + (int(similarity[j - 1]) + penalty if j < stop else 0))
        j = stop
        while j > begin:
            cut[j - 1] = 1
            j = origin[j]
    return cut
