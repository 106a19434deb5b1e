"""Further columns whose values are made when they are asked for."""

from __future__ import annotations

import bisect
import itertools
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from rapidchunk import _core

__all__ = ["Column", "LazyColumn", "PrefixedTexts", "SpanTexts", "joined"]


class Column(Sequence[Any]):
    """Compares, shows and pickles as the list of its values."""

    __slots__ = ()

    @abstractmethod
    def __getitem__(self, item: Any) -> Any: ...

    def __eq__(self, other: object) -> bool:
        return list(self) == (list(other) if isinstance(other, Column) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


class LazyColumn(Column):
    """All values are made when one of them is first asked for; then it is the list of them."""

    def __init__(self, size: int, make: Callable[[], list[Any]]) -> None:
        self._size = size
        self._make: Callable[[], list[Any]] | None = make
        self._values: list[Any] = []

    def _list(self) -> list[Any]:
        make = self._make
        if make is not None:
            self._values = make()
            self._make = None  # after the values, so that another thread sees either
        return self._values

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, item: Any) -> Any:
        return self._list()[item]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._list())


class SpanTexts(Column):
    """The texts of spans, made anew each time.

    Args:
        texts: the documents.
        document: int64 [n], numbers of the texts.
        start, end: int64 [n], code points, half open.
        byte_start, byte_end: int64 [n], the same spans in UTF-8.

    Attributes:
        spans: these arrays.
    """

    def __init__(
        self,
        texts: _core.Texts,
        document: np.ndarray,
        start: np.ndarray,
        end: np.ndarray,
        byte_start: np.ndarray,
        byte_end: np.ndarray,
    ) -> None:
        self._texts = texts.part(0, len(texts))  # without what a stage has converted
        self.spans = document, start, end, byte_start, byte_end

    def sizes(self, rows: list[int]) -> list[int]:
        """The characters of some of them."""
        _, start, end, *_ = self.spans
        sizes: list[int] = (end[rows] - start[rows]).tolist()
        return sizes

    def __len__(self) -> int:
        return len(self.spans[0])

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, slice):
            return self._texts.slices(*(np.ascontiguousarray(column[item]) for column in self.spans))
        return self._texts.slice(*(int(column[item]) for column in self.spans))


class PrefixedTexts(Column):
    """The texts of spans behind a prefix, made anew each time; None where there is no prefix."""

    def __init__(self, prefixes: Sequence[str | None], texts: SpanTexts) -> None:
        self._prefixes = prefixes
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, slice):
            return [self[row] for row in range(*item.indices(len(self)))]
        prefix = self._prefixes[item]
        return None if prefix is None else prefix + self._texts[item]


class _Chain(Column):
    """Columns one after the other."""

    def __init__(self, parts: list[Sequence[Any]]) -> None:
        self._parts = parts
        self._ends = list(itertools.accumulate(map(len, parts)))

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, slice):
            return [self[row] for row in range(*item.indices(len(self)))]
        row = range(len(self))[item]
        part = bisect.bisect_right(self._ends, row)
        return self._parts[part][row - (self._ends[part - 1] if part else 0)]

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self._parts)


def joined(columns: list[Any]) -> Any:
    """Columns of several batches as one, of the same kind."""
    if len(columns) == 1:
        return columns[0]
    if isinstance(columns[0], np.ndarray):
        return np.concatenate(columns)
    if isinstance(columns[0], Column):
        return _Chain(columns)
    return [value for column in columns for value in column]
