"""A function over many items in threads, results in order, few at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["in_order"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """``map(function, items)`` in `threads` threads. Items are taken only a few ahead of the results, so that neither gather.

    The threads end with the iteration, so that a process may fork at any time.
    """
    if threads <= 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Result]] = deque()
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
