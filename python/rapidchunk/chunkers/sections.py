"""Sections: the parts that a document's author set off, and their heading paths."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rapidchunk import _core

__all__ = ["Section", "SectionColumns", "Sections", "heading_prefixes", "of_table", "shared_path"]


class Section(NamedTuple):
    """A part of a document that its author set off. Sections come in order and cover all that is not white space."""

    start: int
    """In code points of the document's text, as `end`."""
    end: int
    headings: tuple[str, ...] = ()
    """Titles of the sections that this one is in, outermost first, its own included."""
    values: Any = ()
    """What the strategy makes its further columns of."""
    context: Sequence[str] = ()
    """What may go before the text in `context`; the first of these that fits does."""
    apart: bool = False
    """Never shares a chunk with what is before it."""
    bare: bool = False
    """Only a heading: goes with the section after it, if both fit."""
    rows: tuple[int, ...] = ()
    """Of a table that is a part by itself, because it is too long: where to cut it."""


class SectionColumns(ABC):
    """The sections of a batch.

    Attributes:
        columns: what the kernels take (`rapidchunk.kernels.reference.sections`).
        listed: all of them, where a strategy gives them one by one, else None.
        with_context: bool [n], whether a section has contexts.
        headed: bool [tables], whether a table has header rows, which the contexts of its pieces repeat.
    """

    columns: dict[str, np.ndarray]
    listed: Sequence[Section] | None
    with_context: np.ndarray
    headed: np.ndarray

    @abstractmethod
    def __getitem__(self, number: int) -> Section:
        """What is known of a section; only its headings, contexts and whether it is bare or apart are needed."""

    @abstractmethod
    def paths(self) -> list[tuple[str, ...]]:
        """The heading paths that the column `path` numbers."""

    @abstractmethod
    def table(self, texts: _core.Texts, number: int) -> tuple[str, tuple[int, ...]]:
        """The header rows of a table, and where to cut it."""


class Sections(SectionColumns):
    """Sections that a strategy gives one by one.

    Args:
        texts: the documents.
        sections, offsets: of all documents; those of document d are ``sections[offsets[d]:offsets[d + 1]]``.
    """

    def __init__(self, texts: _core.Texts, sections: Sequence[Section], offsets: np.ndarray) -> None:
        self.listed = self._sections = sections
        self._paths: dict[tuple[str, ...], int] = {}
        parents: list[int] = []
        # In one go, since sections may be made one by one.
        kinds = [("start", "i8"), ("end", "i8"), ("bare", "u1"), ("apart", "u1"), ("path", "i8"), ("context", "?")]
        rows = ((s.start, s.end, s.bare, s.apart, self._path(s.headings, parents), bool(s.context)) for s in sections)
        known = np.fromiter(rows, kinds, len(sections))
        spans = _core.byte_offsets(texts, offsets, np.stack([known["start"], known["end"]], axis=1))
        n = len(sections)
        none = np.empty(0, np.int64)
        self.columns = {
            "offsets": np.asarray(offsets, np.int64),
            "start": np.ascontiguousarray(spans[:, 0]),
            "end": np.ascontiguousarray(spans[:, 1]),
            **{name: np.ascontiguousarray(known[name]) for name in ("bare", "apart", "path")},
            "path_parent": np.array(parents, np.int64),
            "tables": np.zeros(n + 1, np.int64),
            "rows": np.zeros(1, np.int64),
            **dict.fromkeys(("table_start", "table_end", "row"), none),
            "loose": np.empty(0, np.uint8),
        }
        self.with_context = np.ascontiguousarray(known["context"])
        self.headed = np.empty(0, bool)

    def _path(self, headings: tuple[str, ...], parents: list[int]) -> int:
        if not headings:
            return -1
        number = self._paths.get(headings)
        if number is None:
            parent = self._path(headings[:-1], parents)  # numbered before its paths
            number = self._paths[headings] = len(parents)
            parents.append(parent)
        return number

    def __getitem__(self, number: int) -> Section:
        return self._sections[number]

    def paths(self) -> list[tuple[str, ...]]:
        return list(self._paths)

    def table(self, texts: _core.Texts, number: int) -> tuple[str, tuple[int, ...]]:
        raise IndexError(f"table {number}: these sections have none")


def heading_prefixes(titles: tuple[str, ...]) -> tuple[str, ...]:
    """The heading path as contexts: all of it, then without its outermost titles."""
    return tuple(" > ".join(titles[i:]) + "\n\n" for i in range(len(titles)))


def of_table(section: Section, head: str, rows: tuple[int, ...]) -> Section:
    """What is known of a table that is a part of the section by itself."""
    context = (*(before + head for before in section.context), head) if head else section.context
    return section._replace(context=context, rows=rows)


def shared_path(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
    """The headings that two paths begin with."""
    if a == b:
        return a
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return a[:n]
