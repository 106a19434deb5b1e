"""The text of serialised HTML, as a browser shows it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

__all__ = ["html_text"]

# Line breaks that an element needs before and after it (HTML standard, "rendered text"; headings, lists and tables as
# paragraphs, because browsers put space around them).
_PARAGRAPHS = frozenset(
    "p h1 h2 h3 h4 h5 h6 ul ol dl table pre blockquote figure hr section article aside details".split()
)
_BLOCKS = frozenset(
    "html body div address main header footer form fieldset legend li dt dd tr caption thead tbody tfoot summary figcaption "
    "center dir menu search hgroup option optgroup select textarea dialog nav".split()
)
_BREAKS = {**dict.fromkeys(_BLOCKS, 1), **dict.fromkeys(_PARAGRAPHS, 2)}
_TAG = re.compile(
    r"<(?:!--.*?-->|[!?][^>]*>|(/?)([a-zA-Z][^ \t\n\f\r/>]*)((?:[^>\"]|\"[^\"]*\")*)>)|([^<]+)|<", re.DOTALL
)
_ALT = re.compile(r'[ \t\n\f\r]alt="([^"]*)"')
_SPACE = re.compile(r"[ \t\n\f\r]+")
_ENTITY = re.compile(r"&(amp|lt|gt|nbsp|quot);")
_CHARACTERS = {"amp": "&", "lt": "<", "gt": ">", "nbsp": "\u00a0", "quot": '"'}


def html_text(html: str, section_tags: Sequence[str] = (), drop_tags: Sequence[str] = ()) -> tuple[str, np.ndarray]:
    """The rendered text of HTML that a parser has written out again (all tags closed, ``<`` escaped), and its headings;
    without the elements of `drop_tags`.

    Returns:
        The text, and events in order, int64 [n, 3]: (start, level, end) of a heading's text, (position, 0, 0) and
        (position, -1, 0) where an element of `section_tags` begins and ends, (start, 7, end) of a table outside of others,
        (position, 8, 1 or 0) of each of its rows and whether it is a header (in thead, or of th only), (start, 9, end) of
        a pre outside of others and of tables. Positions are code points.
    """
    out: list[str] = []
    events: list[tuple[int, int, int] | None] = []
    size = breaks = pre = 0
    space = False  # a collapsed space waits for more text
    broken = False  # the text so far ends with a line break of its own: no space follows
    cells = 0  # of the row, that ended since the last text: as many tabs
    new_row = False  # a row began since the last text
    waiting: list[int] = []  # headings and section elements that begin with the next text
    heading = table = row = code = -1  # the open ones among the events
    tables = 0
    head = data = False  # in a thead; the row has a data cell
    dropped, opened = "", 0  # the element that is left out, if any, and how many of its name are open

    def write(text: str) -> None:
        nonlocal size, breaks, space, cells, new_row, broken
        lead = ("\n" * breaks or (" " if space and not cells else "")) if size else ""
        tabs = "\t" * cells
        breaks, space, cells, new_row = 0, False, 0, False
        out.append(lead)
        size += len(lead)
        for number in waiting:
            _, level, end = events[number] or (0, 0, 0)
            events[number] = (size, level, end)
        waiting.clear()
        out.append(tabs + text)  # a row begins with its empty cells
        size += len(tabs + text)
        broken = text[-1] == "\n"

    def begin(level: int, end: int = 0) -> int:
        waiting.append(len(events))
        events.append((size, level, end))
        return len(events) - 1

    def close(number: int) -> int:
        """Ends a heading, table or pre; one without text is none."""
        event = events[number] if number >= 0 else None
        if event is not None and number in waiting:
            waiting.remove(number)
            events[number] = None
        elif event is not None:
            events[number] = (event[0], event[1], size)
        return -1

    for match in _TAG.finditer(html):
        closing, tag, attributes, text = match.groups()
        if opened:
            opened += (tag == dropped) * (-1 if closing else 1)
            continue
        if tag in drop_tags and not closing:
            dropped, opened = tag, 1
            continue
        if text is not None:
            text = _ENTITY.sub(lambda entity: _CHARACTERS[entity[1]], text) if "&" in text else text
            if pre:
                write(text)
                continue
            parts = _SPACE.sub(" ", text)
            body = parts.strip(" ")
            if body:
                space = space or (parts[0] == " " and not broken)
                write(body)
                space = parts[-1] == " "
            else:
                space = space or (bool(parts) and not broken)
            continue
        if tag is None:
            continue
        need = _BREAKS.get(tag, 0)
        if need:
            breaks, cells = max(breaks, need), 0
        if tag == "br" and not closing:
            space = False
            if size:
                write("\n")
        elif tag in ("td", "th"):
            cells += bool(closing) and (not breaks or new_row)  # blocks in a cell are apart by breaks
            event = events[row] if row >= 0 and tables == 1 and not closing else None
            if event is not None:
                data = data or tag == "td"
                events[row] = (event[0], event[1], int(head or not data))
        elif tag == "img":
            found = _ALT.search(attributes)
            alt = _SPACE.sub(" ", found[1]).strip(" ") if found else ""
            if alt:
                space = True
                write(_ENTITY.sub(lambda entity: _CHARACTERS[entity[1]], alt))
                space = True
        if tag in ("pre", "textarea"):
            pre = max(pre + (-1 if closing else 1), 0)
            if tag == "pre" and closing and pre == 0:
                code = close(code)
            elif tag == "pre" and not closing and code < 0 and tables == 0:
                code = begin(9)
        if len(tag) == 2 and tag[0] == "h" and tag[1] in "123456":
            heading = close(heading)
            if not closing:
                heading = begin(int(tag[1]))
        elif tag in section_tags:
            if not closing:
                waiting.append(len(events))
            events.append((size, -1 if closing else 0, 0))
        elif tag == "table":
            if closing and tables == 1:
                table, row, head = close(table), -1, False
            tables = max(tables + (-1 if closing else 1), 0)
            if not closing and tables == 1:
                code = close(code)
                table = begin(7)
        elif tag == "thead" and tables == 1:
            head = not closing
        elif tag == "tr" and not closing:
            new_row = True
            if tables == 1:
                row, data = begin(8, int(head)), False
    close(heading)
    close(table)
    close(code)
    for number in waiting:
        _, level, end = events[number] or (0, 0, 0)
        events[number] = (size, level, end)
    return "".join(out), np.array([event for event in events if event is not None], np.int64).reshape(-1, 3)
