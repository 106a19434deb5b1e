"""Directional cuts: the default segmentation. The contract of the native kernel of the same name.

The objective is an integrated von Mises-Fisher likelihood in form; its constants were fitted on Choi's documents:

    x_i unit sentence vector; t_i tokens; p_i what stands before sentence i
    mu_i = mean of x (n <= 257), else running mean over +-256 sentences;   y_i = unit(x_i - mu_i)
    s2 = clamp(mean |y_{i+1} - y_i|^2 / 2, .3, .95);  m = sqrt(1 - s2);  kappa = .9 * 2m / (1 - m^2)
    w_i = max((max(t_i, 1) / mean t)^.25, .05), rescaled to mean 1, at most 32;   z = w * y
    E[i, j] = |z_i + ... + z_j|^2
    R = (q - log(1 + q) - 1 + log 2) / kappa,  q = sqrt(1 + kappa^2 E)
    L = 7; four times:
        beta = .25 * clamp(L, 2, 20) / 7
        F[j] = min_i F[i] - R[i, j] + beta - bonus[p_i] + 1000 * max(0, min - tokens) / min
        L = L / 2 + (n / number of chunks) / 2

Scalar products, rewards, penalties and bonuses are whole numbers in 2^-20: from there on everything is exact. A centred
vector whose square is at most 2^-40 is zero. plain_log is written out, so that no two libraries can differ.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rapidchunk.kernels.reference import lanes
from rapidchunk.kernels.reference._checks import check, check_threads
from rapidchunk.kernels.reference.boundaries import _check_limits, _check_sentences

Int64 = NDArray[np.int64]
UInt8 = NDArray[np.uint8]
Float64 = NDArray[np.float64]

ONE = 2**20
REACH = 256
LONGEST = 400
PASSES = 4
USUAL_LENGTH = 7.0
AUTOMATIC = -1
AUTOMATIC_FROM = 80
SURELY_LONG = 22.0
FLAT = 0.65
ALL_CUTS = 2**30
HEAVIEST = 32.0
LOG2 = 0.6931471805599453


def _quantise(x: NDArray[np.floating] | float) -> Int64:
    scaled = np.asarray(x, np.float64) * ONE
    return np.trunc(scaled + np.where(scaled < 0, -0.5, 0.5)).astype(np.int64)


def plain_log(x: Float64) -> Float64:
    """log(x), x >= 1, by the series of atanh, in IEEE operations of fixed order."""
    mantissa, exponent = np.frexp(x)
    mantissa, exponent = mantissa * 2.0, exponent - 1
    upper = mantissa > 1.4142135623730951
    mantissa, exponent = np.where(upper, mantissa * 0.5, mantissa), exponent + upper
    s = (mantissa - 1.0) / (mantissa + 1.0)
    t = s * s
    p = np.full_like(t, 1.0 / 21)
    for k in range(19, 0, -2):
        p = p * t + 1.0 / k
    return np.asarray(exponent.astype(np.float64) * LOG2 + (s * 2.0) * p)


def _rewards(energy: Int64, kappa: float) -> Int64:
    e = np.maximum(energy, 0).astype(np.float64) * (1.0 / ONE)
    q = np.sqrt(kappa * kappa * e + 1.0)
    reward = (q - plain_log(q + 1.0) - (1.0 - LOG2)) / kappa * ONE + 0.5
    return np.minimum(reward, 2147483647.0).astype(np.int64)


def _centred(unit: lanes.Float32) -> lanes.Float32:
    n = len(unit)
    local = n > REACH + 1
    count = REACH + 1 if local else n
    total = np.zeros_like(unit[0])
    for i in range(count):
        total = total + unit[i]
    y = np.empty_like(unit)
    for i in range(n):
        if local and i and i + REACH < n:
            total, count = total + unit[i + REACH], count + 1
        if local and i > REACH:
            total, count = total - unit[i - REACH - 1], count - 1
        y[i] = unit[i] - total * (np.float32(1) / np.float32(count))
    square = lanes.dot(y, y)
    some = square > 2.0**-40
    inverse = np.zeros(n, np.float32)
    inverse[some] = np.float32(1) / np.sqrt(square[some])
    return y * inverse[:, None, None]


def _concentration(y: lanes.Float32) -> float:
    n = len(y)
    difference = y[1:] - y[:-1]
    total = int(_quantise(lanes.dot(difference, difference)).sum())
    s2 = min(max(total / ((n - 1) * 2.0 * ONE), 0.3), 0.95) if n > 1 else 0.3
    m = float(np.sqrt(1.0 - s2))
    return 1.8 * m / (1.0 - m * m)


def _weights(tokens: Int64) -> Float64:
    n = len(tokens)
    mean = float(max(int(tokens.sum()), 1)) / n
    weight = np.maximum(np.sqrt(np.sqrt(np.maximum(tokens, 1) / mean)), 0.05)
    weight = weight / (float(np.cumsum(weight)[-1]) / n)  # cumsum adds one by one
    return np.asarray(np.minimum(weight, HEAVIEST))


def directional_cuts(
    vectors: NDArray[np.floating],
    first: Int64,
    last: Int64,
    prior: UInt8,
    doc_offsets: Int64,
    min_tokens: int,
    max_tokens: int,
    segment_length: float = 0.0,
    threads: int | None = None,
) -> UInt8:
    """Choose the cuts between which the sentences of a document point most in one direction; see the module.

    No chunk exceeds max_tokens but a single sentence that does so alone; none holds more than 400 sentences. Chunks
    shorter than min_tokens cost far more than any boundary can earn, so they come only where they cannot be avoided. Of
    equal segmentations, each chunk from the last one backwards has the earliest start.

    Args:
        vectors: float32 or float16 [n, H], C-contiguous, one for each sentence; need not have length 1.
        first, last: int64 [n], ranks of the first token of each sentence and of the token after its last, such that
            neither falls within a document.
        prior: uint8 [n], what stands before each sentence: 0 nothing, 1 a line break, 2 a blank line, 3 a heading;
            a cut there earns 0, .25, .5, .75.
        doc_offsets: int64 [D + 1].
        segment_length: 0: the penalty adapts (see the module). From 1 on: sentences of a chunk, on average: the penalty is
            bisected for the number of chunks that comes nearest within the limits (of two as near, the smaller). -1: in
            documents of 80 sentences and more, chunks as long as similarities reach, where that is further than the chunks
            that the adapting penalty finds, and either far (22 sentences) or these are not flat inside; see `_reach`.

    Returns:
        uint8 [n], 1 where a chunk ends with this sentence; always 1 for the last sentence of a document.

    Raises:
        ValueError: naming the argument that is out of range; if a vector holds NaN or infinity (it names the row).
    """
    known = vectors.dtype in (np.float32, np.float16)
    check(known, "vectors", f"must have dtype float32 or float16, not {vectors.dtype}")
    check(vectors.ndim == 2, "vectors", f"must have 2 dimension(s), not {vectors.ndim}")
    check(len(prior) == len(vectors), "prior", "must have as many entries as vectors")
    documents = _check_sentences(first, last, doc_offsets, len(vectors))
    check_threads(threads)
    _check_limits(min_tokens, max_tokens)
    some = segment_length in (0, AUTOMATIC) or 1 <= segment_length <= 1e9
    check(some, "segment_length", "must be from 1 to 1e9, 0 or -1")
    check((prior <= 3).all(), "prior", "must be from 0 to 3")
    bad = np.flatnonzero(~lanes.finite_rows(vectors))
    check(not len(bad), "vectors", f"must be finite; row {bad[0] if len(bad) else ''} is not")
    cut = np.zeros(len(vectors), np.uint8)
    for d in range(documents):
        inside = slice(int(doc_offsets[d]), int(doc_offsets[d + 1]))
        if inside.start < inside.stop:
            document = (vectors[inside], first[inside], last[inside], prior[inside])
            cut[inside] = _document(*document, min_tokens, max_tokens, segment_length)
    return cut


class DirectionalStream:
    """`directional_cuts` of one document whose vectors come part by part; the native one does not keep them, unless
    `segment_length` is -1. Arguments and errors are those of `directional_cuts`, `vectors` left out; ValueError too where
    there are other vectors than one for each sentence, or not all of one type and width."""

    def __init__(
        self, first: Int64, last: Int64, prior: UInt8, min_tokens: int, max_tokens: int, segment_length: float = 0.0
    ) -> None:
        self._sentences = first, last, prior, np.array([0, len(first)])
        self._rules = min_tokens, max_tokens, segment_length
        self._parts: list[NDArray[np.floating]] = []
        directional_cuts(np.zeros((len(first), 1), np.float32), *self._sentences, *self._rules)  # checks them

    def add(self, vectors: NDArray[np.floating]) -> None:
        """The vectors of the next sentences: float32 or float16 [m, H]."""
        known = sum(map(len, self._parts))
        check(known + len(vectors) <= len(self._sentences[0]), "vectors", "must not be more than the sentences")
        bad = np.flatnonzero(~lanes.finite_rows(vectors))
        check(not len(bad), "vectors", f"must be finite; row {known + bad[0] if len(bad) else ''} is not")
        self._parts.append(vectors)

    def result(self) -> UInt8:
        """uint8 [n], as `directional_cuts`."""
        n = len(self._sentences[0])
        check(sum(map(len, self._parts)) == n, "vectors", "must be as many as the sentences")
        vectors = np.concatenate(self._parts) if self._parts else np.zeros((0, 1), np.float32)
        return directional_cuts(vectors, *self._sentences, *self._rules)


def _document(
    vectors: NDArray[np.floating],
    first: Int64,
    last: Int64,
    prior: UInt8,
    min_tokens: int,
    max_tokens: int,
    segment_length: float,
) -> UInt8:
    n = len(vectors)
    x = lanes.blocks(vectors)
    scale, inverse = lanes.norms(x)
    y = _centred((x * scale[:, None, None]) * inverse[:, None, None])
    kappa = _concentration(y)
    weight = _weights(last - first)
    z = y * weight.astype(np.float32)[:, None, None]

    starts: list[Int64] = []  # for each last sentence the possible first ones, and what the chunks cost
    costs: list[Int64] = []
    energy = np.zeros(n, np.int64)
    low = 0
    for j in range(n):
        while low < j and (last[j] - first[low] > max_tokens or j - low >= LONGEST):
            low += 1
        products = _quantise(lanes.dot(z[low : j + 1], np.broadcast_to(z[j], (j + 1 - low, *z[j].shape))))
        own, others = products[-1], products[:-1]
        energy[low : j + 1] += own
        energy[low:j] += 2 * np.cumsum(others[::-1])[::-1]
        missing = np.maximum(min_tokens - (last[j] - first[low : j + 1]), 0)
        starts.append(np.arange(low, j + 1))
        costs.append(1000 * ONE * missing // max(min_tokens, 1) - _rewards(energy[low : j + 1], kappa))

    bonus = prior.astype(np.int64) * (ONE // 4)

    def segment(penalty: int) -> list[int]:
        """The last sentences of the chunks of the cheapest segmentation, from the end."""
        best = np.zeros(n + 1, np.int64)
        origin = np.zeros(n + 1, np.int64)
        for j in range(n):
            value = best[starts[j]] + costs[j]
            k = int(np.argmin(value))  # the first of equal ones
            origin[j + 1] = starts[j][k]
            best[j + 1] = value[k] + penalty - (bonus[j + 1] if j + 1 < n else 0)
        ends = []
        end = n
        while end > 0:
            ends.append(end - 1)
            end = int(origin[end])
        return ends

    if segment_length > 0:
        ends = _meet(segment, n, segment_length)
    else:
        length = USUAL_LENGTH
        for _ in range(PASSES):
            ends = segment(int(_quantise(0.25 * min(max(length, 2.0), 20.0) / USUAL_LENGTH)))
            length = 0.5 * length + 0.5 * (n / len(ends))
        if segment_length == AUTOMATIC and n >= AUTOMATIC_FROM:
            length = _reach(z, weight)
            if length > n / len(ends) and (length > SURELY_LONG or _flatness(z, weight, ends[::-1]) < FLAT):
                ends = segment(int(_quantise(0.25 * (length / USUAL_LENGTH) * (length / USUAL_LENGTH))))
    cut = np.zeros(n, np.uint8)
    cut[ends] = 1
    return cut


def _meet(segment: Callable[[int], list[int]], n: int, length: float) -> list[int]:
    """The segmentation whose number of chunks comes nearest to n / length; it never rises with the penalty."""
    wanted = max(1, int(n / length + 0.5))
    low, high = -ALL_CUTS, ALL_CUTS
    more, fewer = n + 1, 0
    while high - low > 1:
        middle = low + (high - low) // 2
        ends = segment(middle)
        if len(ends) == wanted:
            return ends
        if len(ends) > wanted:
            low, more = middle, len(ends)
        else:
            high, fewer = middle, len(ends)
    return segment(low if fewer == 0 or more - wanted < wanted - fewer else high)


def _cosines(z: lanes.Float32, weight: Float64, left: Int64, right: Int64) -> Int64:
    return _quantise(lanes.dot(z[left], z[right]).astype(np.float64) / (weight[left] * weight[right]))


def _reach(z: lanes.Float32, weight: Float64) -> float:
    """How far the similarity of sentences reaches: three times the mean distance under the curve of the autocorrelation, as
    far as it is above its floor (the median from a quarter to half of the distances)."""
    n = len(z)
    lags = min(n - 3, LONGEST - 1)
    y = np.empty(lags)
    for k in range(lags):
        left = np.arange(n - k - 1)
        y[k] = float(_cosines(z, weight, left, left + k + 1).sum()) / (float(n - k - 1) * ONE)
    y = y - np.median(y[lags // 4 : lags // 2 + 1])
    around = np.concatenate([[0.0], y, [0.0]])
    smooth = ((around[:-2] + around[1:-1]) + around[2:]) / 3.0
    low = np.flatnonzero(smooth <= 0.05 * max(y[0], 1e-3))
    mass = moment = 0.0
    for k in range(max(int(low[0]) if len(low) else lags, 1)):
        mass += max(y[k], 0.0)
        moment += max(y[k], 0.0) * (k + 1)
    return float(3 * moment / max(mass, 1e-9))


def _flatness(z: lanes.Float32, weight: Float64, ends: list[int]) -> float:
    """The mean similarity within chunks (of 4 and more) from distance 3 on, over that of neighbours."""
    near, far = [0, 0], [0, 0]
    begin = 0
    for end in ends:
        size = end + 1 - begin
        for distance in range(1, size) if size >= 4 else ():
            left = np.arange(begin, end + 1 - distance)
            if distance != 2:
                sums = near if distance == 1 else far
                sums[0] += int(_cosines(z, weight, left, left + distance).sum())
                sums[1] += len(left)
        begin = end + 1
    if not near[1] or not far[1]:
        return 1.0
    return (far[0] / (float(far[1]) * ONE)) / max(near[0] / (float(near[1]) * ONE), 1e-3)
