"""A segmentation against a reference, both as boundaries between n units (sentences): bool [n - 1], true at i for a boundary
after unit i."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["BoundaryScores", "boundaries", "boundary_scores", "default_window", "pk", "windowdiff"]

Boundaries = NDArray[np.bool_]


class BoundaryScores(NamedTuple):
    """0 to 1; without a boundary on one side, precision or recall is 1 if there is none on the other side either, else 0."""

    precision: float
    recall: float
    f1: float


def boundaries(starts: ArrayLike, units: int) -> Boundaries:
    """Boundaries from the numbers of the units that begin a segment (0 may be among them): bool [units - 1].

    Raises:
        ValueError: a start is not a unit.
    """
    at = np.asarray(starts, np.int64).reshape(-1)
    if units < 1 or (len(at) and (at.min() < 0 or at.max() >= units)):
        raise ValueError(f"starts must be from 0 to units - 1, with {units} units")
    found = np.zeros(units, bool)
    found[at] = True
    return found[1:]


def default_window(reference: ArrayLike) -> int:
    """Half the mean segment of the reference, in units, rounded, at least 2 and less than the document (Beeferman et al.,
    1999)."""
    given = _bits(reference, "reference")
    units = len(given) + 1
    return int(min(max(2, round(units / (int(given.sum()) + 1) / 2)), units - 1))


def pk(reference: ArrayLike, hypothesis: ArrayLike, k: int | None = None) -> float:
    """The share of pairs of units, k apart, that one segmentation puts into one segment and the other does not (Beeferman,
    Berger and Lafferty, 1999): 0 is perfect. A document of one unit has 0.

    Args:
        reference, hypothesis: see the module.
        k: default `default_window`.

    Raises:
        ValueError: the lengths differ, not truth values, or `k` is not from 1 to units - 1.
    """
    counts = _counts(reference, hypothesis, k)
    return float(np.mean((counts[0] > 0) != (counts[1] > 0))) if counts.size else 0.0


def windowdiff(reference: ArrayLike, hypothesis: ArrayLike, k: int | None = None) -> float:
    """The share of windows of k in which the numbers of boundaries differ (Pevzner and Hearst, 2002): 0 is perfect.

    Arguments and errors as for `pk`.
    """
    counts = _counts(reference, hypothesis, k)
    return float(np.mean(counts[0] != counts[1])) if counts.size else 0.0


def boundary_scores(reference: ArrayLike, hypothesis: ArrayLike, tolerance: int = 0) -> BoundaryScores:
    """Precision, recall and F1 of the boundaries, paired one to one where they are at most `tolerance` units apart.

    Raises:
        ValueError: the lengths differ, not truth values, or `tolerance` is negative.
    """
    wanted, found = (np.flatnonzero(bits) for bits in _pair(reference, hypothesis))
    if tolerance < 0:
        raise ValueError(f"tolerance must be at least 0, not {tolerance}")
    pairs = i = j = 0
    while i < len(wanted) and j < len(found):  # earliest with earliest: as many pairs as there can be
        if abs(int(wanted[i]) - int(found[j])) <= tolerance:
            pairs, i, j = pairs + 1, i + 1, j + 1
        elif wanted[i] < found[j]:
            i += 1
        else:
            j += 1
    precision = pairs / len(found) if len(found) else float(not len(wanted))
    recall = pairs / len(wanted) if len(wanted) else float(not len(found))
    total = len(wanted) + len(found)
    return BoundaryScores(precision, recall, 2 * pairs / total if total else 1.0)


def _counts(reference: ArrayLike, hypothesis: ArrayLike, k: int | None) -> NDArray[np.int64]:
    """int64 [2, windows], boundaries of the reference and the hypothesis in each window."""
    pair = _pair(reference, hypothesis)
    bits = pair.shape[1]
    if not bits:
        return np.empty((2, 0), np.int64)
    k = default_window(pair[0]) if k is None else k
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= bits:
        raise ValueError(f"k must be from 1 to {bits}, the units less one, not {k!r}")
    before = np.zeros((2, bits + 1), np.int64)
    np.cumsum(pair, axis=1, out=before[:, 1:])
    return np.asarray(before[:, k:] - before[:, : bits + 1 - k])


def _pair(reference: ArrayLike, hypothesis: ArrayLike) -> NDArray[np.bool_]:
    one, other = _bits(reference, "reference"), _bits(hypothesis, "hypothesis")
    if len(one) != len(other):
        raise ValueError(f"hypothesis has {len(other)} places for a boundary, reference {len(one)}")
    return np.stack([one, other])


def _bits(given: ArrayLike, name: str) -> Boundaries:
    bits = np.asarray(given)
    if bits.size == 0:
        return np.empty(0, bool)
    if bits.ndim != 1 or not np.isin(bits, (0, 1)).all():
        raise ValueError(f"{name} must be truth values [units - 1]")
    return bits.astype(bool)
