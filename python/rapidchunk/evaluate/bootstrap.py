"""Confidence intervals by resampling (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, percentile intervals).

Of two methods measured on the same questions, compare with `paired_difference`: what is hard for both drops out. Where
questions come in groups that go together (many on one document), give `groups`: whole groups are drawn then."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Interval", "mean_interval", "paired_difference"]

#: Numbers drawn at a time: 32 MB.
_BLOCK = 1 << 22


class Interval(NamedTuple):
    """A mean (of values or differences) with its confidence interval."""

    mean: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether 0 is outside, as for a difference that is more than noise."""
        return self.low > 0 or self.high < 0

    def __format__(self, spec: str) -> str:
        spec = spec or ".3f"
        return f"{format(self.mean, spec)} [{format(self.low, spec)}, {format(self.high, spec)}]"


def mean_interval(
    values: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    confidence: float = 0.95,
    samples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """The mean of values and its interval.

    Args:
        values: [n], one for each question or document.
        groups: [n], anything that numpy.unique sorts (document numbers): values of a group are drawn together.
        confidence: between 0 and 1.
        samples: resamples.
        seed: of the random generator; the same seed gives the same interval.

    Raises:
        ValueError: no values, values that are not finite, lengths that differ, or an option out of range.
    """
    given = np.asarray(values, np.float64)
    if given.ndim != 1 or not len(given):
        raise ValueError(f"values must be [n] with at least one, not of shape {given.shape}")
    if not np.isfinite(given).all():
        raise ValueError(f"values must be finite, value {np.flatnonzero(~np.isfinite(given))[0]} is not")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence!r}")
    if samples < 1:
        raise ValueError(f"samples must be at least 1, not {samples!r}")
    sums, counts = given, np.ones(len(given))
    if groups is not None:
        names = np.asarray(groups)
        if names.shape != given.shape:
            raise ValueError(f"groups has shape {names.shape}, values {given.shape}")
        number = np.unique(names, return_inverse=True)[1]
        sums, counts = (np.asarray(np.bincount(number, weights), np.float64) for weights in (sums, counts))
    tail = (1 - confidence) / 2
    low, high = np.quantile(_means(sums, counts, samples, seed), [tail, 1 - tail])
    return Interval(float(given.mean()), float(low), float(high))


def paired_difference(
    a: ArrayLike,
    b: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    confidence: float = 0.95,
    samples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """The mean of a - b over the same questions and its interval; `Interval.clear` says whether it is more than noise.

    Arguments and errors as for `mean_interval`; a and b must have the same length.
    """
    one, other = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if one.shape != other.shape:
        raise ValueError(f"a has shape {one.shape}, b {other.shape}; both are of the same questions")
    return mean_interval(one - other, groups=groups, confidence=confidence, samples=samples, seed=seed)


def _means(sums: np.ndarray, counts: np.ndarray, samples: int, seed: int) -> NDArray[np.float64]:
    """The mean of each resample: float64 [samples]."""
    random = np.random.default_rng(seed)
    means = np.empty(samples)
    block = max(1, _BLOCK // len(sums))
    for begin in range(0, samples, block):
        drawn = random.integers(0, len(sums), (min(block, samples - begin), len(sums)))
        means[begin : begin + block] = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    return means
