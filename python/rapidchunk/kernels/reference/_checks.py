"""Checks that name the argument, as the native kernels do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def check(holds: object, argument: str, must: str) -> None:
    if not holds:
        raise ValueError(f"{argument} {must}")


def check_offsets(offsets: NDArray[np.int64], n: int | None, name: str) -> int:
    """Offsets start at 0, never fall and end at n (any end for None). Returns the number of documents."""
    check(len(offsets) >= 1, name, "must have at least one entry")
    check(offsets[0] == 0, name, "must start at 0")
    check((np.diff(offsets) >= 0).all(), name, "must not fall")
    check(n is None or offsets[-1] == n, name, "must end at the number of items")
    return len(offsets) - 1


def check_threads(threads: int | None) -> None:
    check(threads is None or 1 <= threads <= 4096, "threads", "must be from 1 to 4096")
