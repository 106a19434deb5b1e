"""Sections: the parts that a document's author set off, and their heading paths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

__all__ = ["Section", "Table", "around", "heading_prefixes", "main_section", "shared_path", "siblings"]


class Table(NamedTuple):
    """A table in a section. One that is too long by itself is cut between its rows."""

    start: int
    end: int
    head: str
    """What the context of its further pieces begins with."""
    rows: tuple[int, ...]
    """Where a piece may begin."""
    loose: bool = False
    """Has empty lines in it, where a section that is too long would be cut."""


class Section(NamedTuple):
    """A part of a document that its author set off. Sections come in order and cover all that is not white space."""

    start: int
    """In code points of the document's text, as `end`."""
    end: int
    headings: tuple[str, ...] = ()
    """Titles of the sections that this one is in, outermost first, its own included."""
    values: Any = ()
    """What the strategy makes its further columns of."""
    context: tuple[str, ...] = ()
    """What may go before the text in `context`; the first of these that fits does."""
    apart: bool = False
    """Never shares a chunk with what is before it."""
    bare: bool = False
    """Only a heading: goes with the section after it, if both fit."""
    tables: tuple[Table, ...] = ()
    rows: tuple[int, ...] = ()
    """Of a table that is a section, because it is too long: where to cut it."""


def heading_prefixes(titles: tuple[str, ...]) -> tuple[str, ...]:
    """The heading path as contexts: all of it, then without its outermost titles."""
    return tuple(" > ".join(titles[i:]) + "\n\n" for i in range(len(titles)))


def around(section: Section, tables: list[Table]) -> Iterator[Section]:
    """What is before, between and after the tables, and the tables."""
    at = section.start
    for table in tables:
        if table.start > at:
            yield section._replace(start=at, end=table.start, tables=())
        head = (*(before + table.head for before in section.context), table.head) if table.head else section.context
        yield section._replace(start=table.start, end=table.end, tables=(), context=head, rows=table.rows)
        at = table.end
    if section.end > at:
        yield section._replace(start=at, tables=())


def main_section(sections: list[Section], first: int, last: int) -> int:
    """The first of the sections that is not bare, else the last."""
    while first < last and sections[first].bare:
        first += 1
    return first


def siblings(a: Section, b: Section) -> bool:
    """Whether two sections have the same parent, or one is in the other."""
    shared = len(shared_path(a.headings, b.headings))
    return shared >= min(len(a.headings), len(b.headings)) or shared >= max(len(a.headings), len(b.headings)) - 1


def shared_path(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
    """The headings that two paths begin with."""
    if a == b:
        return a
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return a[:n]
