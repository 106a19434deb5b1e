"""Sections -> chunks, and the sections of HTML: csrc/chunks/sections.h and csrc/structure/html_sections.h in plain Python, for
one document, in code points."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rapidchunk.kernels.reference.pack import Level, Units, pack

__all__ = ["PlainSection", "PlainTable", "html_sections", "section_chunks", "section_groups", "section_pieces"]

Path = tuple[str, ...]


class PlainTable(NamedTuple):
    start: int
    end: int
    head_end: int
    """Where the header rows end, which the table begins with; -1: it has none."""
    loose: bool
    """Has empty lines in it, where a section that is too long would be cut."""
    rows: tuple[int, ...]
    """Where a piece may begin."""


class PlainSection(NamedTuple):
    start: int
    end: int
    path: Path = ()
    bare: bool = False
    """Only a heading: goes with what comes after it."""
    apart: bool = False
    """Shares no chunk with what is before it."""
    tables: tuple[PlainTable, ...] = ()


class PlainPart(NamedTuple):
    start: int
    end: int
    section: int
    table: int
    """Its number in the section, or -1."""


class PlainPiece(NamedTuple):
    start: int
    end: int
    tokens: int
    part: int


class PlainChunk(NamedTuple):
    start: int
    end: int
    tokens: int
    first: int
    """The part that it begins in; `main` is the first that is not bare, `last` the one that it ends in."""
    main: int
    last: int
    path: Path
    """What main and last share."""
    into: int
    """Characters between the beginning of the first part's text and of the chunk."""


# ---- HTML


def html_sections(text: str, events: Sequence[tuple[int, int, int]]) -> list[PlainSection]:
    """The sections of a page. Headings begin sections; those inside of a section element are below those outside, and end with
    it.

    Args:
        text, events: as `html_text` gives them.
    """
    sections: list[PlainSection] = []
    open_: list[tuple[int, int, str]] = []  # headings: depth, level, title
    depth = start = 0
    path: Path = ()

    for position, level, end in (event for event in events if event[1] < 7):
        if level > 0:
            inside = min(depth, 12)
            while open_ and open_[-1][0] == inside and open_[-1][1] >= level:
                open_.pop()
            open_.append((inside, level, " ".join(text[position:end].split())))
        elif level == 0:
            depth += 1
        else:
            depth -= 1
            while open_ and open_[-1][0] > depth:
                open_.pop()
        now = tuple(title for _, _, title in open_ if title)
        if now != path or level > 0:
            position = max(position, start)  # never back, whatever the page
            blank = position - start < 100 and text[start:position].isspace()
            if position > start and not blank:
                sections.append(PlainSection(start, position, path))
            start, path = position, now
            if level > 0 and end > start:
                sections.append(PlainSection(start, end, path, bare=True))
                start = end
    if len(text) > start:
        sections.append(PlainSection(start, len(text), path))
    return _with_tables(sections, _tables(text, [event for event in events if event[1] >= 7]))


def _tables(text: str, events: list[tuple[int, int, int]]) -> list[PlainTable]:
    tables = []
    begins = [number for number, (_, level, _) in enumerate(events) if level != 8]
    for first, after in zip(begins, [*begins[1:], len(events)]):
        start, level, end = events[first]
        loose = "\n\n" in text[start:end]
        if level == 9:  # a pre: its lines are rows
            lines = tuple(start + match.end() for match in re.finditer("\n+", text[start:end]))
            tables.append(PlainTable(start, end, -1, loose, lines))
            continue
        rows = events[first + 1 : after]
        heads = next((i for i, (_, _, head) in enumerate(rows) if not head), 0)  # 0 too where all of them are
        body = [position for position, _, _ in rows[heads:] if position < end]
        head_end = start + len(text[start : body[0]].rstrip()) if heads and body else -1
        tables.append(PlainTable(start, end, head_end, loose, tuple(dict.fromkeys(body[1:]))))
    return tables


def _with_tables(sections: list[PlainSection], tables: list[PlainTable]) -> list[PlainSection]:
    """Each table goes to the section that it is in; one that is in two is none."""
    found = []
    at = 0
    for section in sections:
        inside: list[PlainTable] = []
        while at < len(tables) and tables[at].start < section.end:
            begin = inside[-1].end if inside else section.start
            if tables[at].start >= begin and tables[at].end <= section.end:
                inside.append(tables[at])
            at += 1
        found.append(section._replace(tables=tuple(inside)))
    return found


# ---- sections -> chunks


def section_pieces(
    text: str, measure: str, sections: Sequence[PlainSection], levels: Sequence[Level], *, max_tokens: int
) -> tuple[list[PlainPart], list[PlainPiece]]:
    """The parts of the sections and their pieces. Where a section is too long, its tables that are too long by themselves, or
    loose, are parts, and what is before, between and after them. Parts that are too long are cut at the levels, these tables
    at their rows first.

    Args:
        measure: "chars" or "words".
    """

    def too_long(start: int, end: int) -> bool:
        return len(_cut(text, measure, start, end, ["words"], max_tokens)) > 1

    parts: list[PlainPart] = []
    for number, section in enumerate(sections):
        at = section.start
        for t, table in enumerate(section.tables if too_long(section.start, section.end) else ()):
            if table.loose or too_long(table.start, table.end):
                parts.append(PlainPart(at, table.start, number, -1))
                parts.append(PlainPart(table.start, table.end, number, t))
                at = table.end
        parts.append(PlainPart(at, section.end, number, -1))
    parts = [part for part in parts if part.end > part.start]
    levels = [_rows(sections, parts), *levels]
    pieces = [
        PlainPiece(start, end, _count(text[start:end], measure), number)
        for number, part in enumerate(parts)
        for start, end in _cut(text, measure, part.start, part.end, levels, max_tokens)
    ]
    return parts, pieces


def section_groups(
    sections: Sequence[PlainSection],
    parts: Sequence[PlainPart],
    pieces: Sequence[PlainPiece],
    *,
    max_tokens: int,
    min_tokens: int = 0,
    fill: bool = False,
    room_left: Sequence[int] | None = None,
) -> list[tuple[int, int]]:
    """Runs of pieces (first, last) that make a chunk: headings go with what they are the headings of, then pieces under the
    minimum with siblings, then with any neighbour. With `fill`, as many as fit make one. `room_left` are, by part, the tokens
    to leave free where a heading joins it."""
    groups = [(i, i) for i in range(len(pieces))]
    for which in ["any"] if fill else ["bare", "siblings", "any"] if min_tokens else ["bare"]:
        merged: list[tuple[int, int]] = []
        for i, j in groups:
            if merged:
                a, b = pieces[merged[-1][1]].part, pieces[i].part
                left, right = sections[parts[a].section], sections[parts[b].section]
                sizes = [sum(piece.tokens for piece in pieces[k : m + 1]) for k, m in (merged[-1], (i, j))]
                wanted = fill or min(sizes) < min_tokens
                if which == "bare":
                    wanted = left.bare and a != b and sum(sizes) + (room_left[b] if room_left else 0) <= max_tokens
                elif which == "siblings":
                    wanted = wanted and _siblings(left.path, right.path)
                if wanted and sum(sizes) <= max_tokens and not (a != b and right.apart):
                    merged[-1] = merged[-1][0], j
                    continue
            merged.append((i, j))
        groups = merged
    return groups


def section_chunks(
    text: str,
    measure: str,
    sections: Sequence[PlainSection],
    parts: Sequence[PlainPart],
    pieces: Sequence[PlainPiece],
    groups: Sequence[tuple[int, int]],
    levels: Sequence[Level],
    *,
    max_tokens: int,
) -> list[PlainChunk]:
    """The chunks that the groups make. One with more tokens than its pieces had is cut once more, where a piece begins, else at
    the levels; where pieces overlap, what of it is in the next group as a whole is left out."""
    levels = [[(piece.start, piece.start) for piece in pieces], _rows(sections, parts), *levels]
    spans: list[tuple[int, int]] = []
    for i, j in groups:
        start, end = pieces[i].start, max(pieces[i].end, pieces[j].end)
        while spans and spans[-1][0] > start and spans[-1][1] <= end:
            spans.pop()
        spans.extend(_cut(text, measure, start, end, levels, max_tokens))
    chunks = []
    for start, end in spans:
        first = max(i for i, part in enumerate(parts) if part.start <= start)
        last = max(i for i, part in enumerate(parts) if part.start < end)
        main = next((i for i in range(first, last) if not sections[parts[i].section].bare), last)
        path = _shared(sections[parts[main].section].path, sections[parts[last].section].path)
        begin = min(piece.start for piece in pieces if piece.part == first)
        chunks.append(PlainChunk(start, end, _count(text[start:end], measure), first, main, last, path, start - begin))
    return chunks


def _cut(
    text: str, measure: str, start: int, end: int, levels: Sequence[Level], max_tokens: int
) -> list[tuple[int, int]]:
    within = text[start:end]
    units = Units(within)
    units = Units(within, units.words, units.words) if measure == "words" else units
    own = [_inside(level, start, end) for level in levels]
    return [(start + a, start + b) for a, b in pack(units, own, max_tokens=max_tokens)]


def _inside(level: Level, start: int, end: int) -> Level:
    """The level in text[start:end]."""
    if isinstance(level, str):
        return level
    spans = [span for span in level if isinstance(span, tuple)]
    return [(a - start, b - start) for a, b in spans if start <= a and b <= end] if spans or not level else level


def _rows(sections: Sequence[PlainSection], parts: Sequence[PlainPart]) -> Level:
    tables = [sections[part.section].tables[part.table] for part in parts if part.table >= 0]
    return [(row, row) for table in tables for row in table.rows]


def _count(text: str, measure: str) -> int:
    return len(text.split()) if measure == "words" else len(text)


def _siblings(a: Path, b: Path) -> bool:
    """Whether two sections have the same parent, or one is in the other."""
    shared = len(_shared(a, b))
    return shared >= min(len(a), len(b)) or shared >= max(len(a), len(b)) - 1


def _shared(a: Path, b: Path) -> Path:
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return a[:n]
