"""The float arithmetic of csrc/core/lanes.h in NumPy, over many rows at once: same operations, same order, same bits.

A row is walked in blocks of 64 numbers, the last one filled up with zeros; products are added block by block into 64
sums, and those are added in halves (32, 16, 8, 4, 2, 1). All in float32, multiplication and addition apart.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]

LANES = 64


def blocks(rows: NDArray[np.floating]) -> Float32:
    """[n, H] of float16 or float32 -> float32 [n, blocks, 64], with zeros at the end."""
    n, width = rows.shape
    padded = np.zeros((n, -(-width // LANES) * LANES), np.float32)
    padded[:, :width] = rows
    return padded.reshape(n, padded.shape[1] // LANES, LANES)


def lane_sum(lanes: Float32) -> Float32:
    """[n, 64] -> [n]"""
    half = LANES // 2
    while half:
        lanes = lanes[:, :half] + lanes[:, half : 2 * half]
        half //= 2
    return lanes[:, 0]


def dot(a: Float32, b: Float32) -> Float32:
    """The dot products of the rows of a and b, [n, blocks, 64] -> [n]."""
    total = np.zeros((len(a), LANES), np.float32)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for block in range(a.shape[1]):
            total = total + a[:, block] * b[:, block]
        return lane_sum(total)


def norms(x: Float32) -> tuple[Float32, Float32]:
    """scale [n] and inverse [n] such that (x * scale) * inverse is the unit vector; zero rows have inverse 0.

    scale is 1 where the squares add up to 2^-60 .. 2^60, else the power of two that brings the largest magnitude to
    [1, 2), within 2^-126 .. 2^126. Rows must be finite.
    """
    scale = np.ones(len(x), np.float32)
    squares = dot(x, x)
    odd = ~((squares >= 2.0**-60) & (squares <= 2.0**60))
    largest = np.abs(x[odd]).max((1, 2), initial=0.0)
    exponent = np.clip(127 - (largest.view(np.int32) >> 23), -126, 126)
    scale[odd] = np.ldexp(np.float32(1), exponent)
    scaled = x[odd] * scale[odd, None, None]
    squares[odd] = dot(scaled, scaled)
    inverse = np.zeros(len(x), np.float32)
    some = squares > 0
    inverse[some] = np.float32(1) / np.sqrt(squares[some])
    return scale, inverse


def finite_rows(rows: NDArray[np.floating]) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(rows).all(1))
