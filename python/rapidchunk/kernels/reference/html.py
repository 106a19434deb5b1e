"""The text of serialised HTML, as a browser shows it."""

from __future__ import annotations

import re
from collections.abc import Sequence

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


def html_text(
    html: str, section_tags: Sequence[str] = (), drop_tags: Sequence[str] = ()
) -> tuple[str, list[tuple[int, int, int]]]:
    """The rendered text of HTML that a parser has written out again (all tags closed, ``<`` escaped), and its headings;
    without the elements of `drop_tags`.

    Returns:
        The text, and events in order: (start, level, end) of a heading's text, (position, 0, 0) and (position, -1, 0)
        where an element of `section_tags` begins and ends. Positions are code points.
    """
    out: list[str] = []
    events: list[tuple[int, int, int] | None] = []
    size = breaks = pre = 0
    space = False  # a collapsed space waits for more text
    broken = False  # the text so far ends with a line break of its own: no space follows
    cell = False  # a cell waits for the next one in its row
    waiting: list[int] = []  # headings and section elements that begin with the next text
    heading = -1
    dropped, opened = "", 0  # the element that is left out, if any, and how many of its name are open

    def write(text: str) -> None:
        nonlocal size, breaks, space, cell, broken
        if breaks and size:
            lead = "\n" * breaks
        else:
            lead = ("\t" if cell else " " if space else "") if size else ""
        breaks, space, cell = 0, False, False
        out.append(lead)
        size += len(lead)
        for number in waiting:
            _, level, end = events[number] or (0, 0, 0)
            events[number] = (size, level, end)
        waiting.clear()
        out.append(text)
        size += len(text)
        broken = text[-1] == "\n"

    def close_heading() -> None:
        nonlocal heading
        event = events[heading] if heading >= 0 else None
        if event is not None and heading in waiting:  # a heading without text is none
            waiting.remove(heading)
            events[heading] = None
        elif event is not None:
            events[heading] = (event[0], event[1], size)
        heading = -1

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
            breaks, cell = max(breaks, need), False
        if tag == "br" and not closing:
            space = False
            if size:
                write("\n")
        elif tag in ("td", "th"):
            cell = bool(closing) or cell
        elif tag == "img":
            found = _ALT.search(attributes)
            alt = _SPACE.sub(" ", found[1]).strip(" ") if found else ""
            if alt:
                space = True
                write(_ENTITY.sub(lambda entity: _CHARACTERS[entity[1]], alt))
                space = True
        if tag in ("pre", "textarea"):
            pre = max(pre + (-1 if closing else 1), 0)
        if len(tag) == 2 and tag[0] == "h" and tag[1] in "123456":
            close_heading()
            if not closing:
                heading = len(events)
                waiting.append(heading)
                events.append((size, int(tag[1]), 0))
        elif tag in section_tags:
            if not closing:
                waiting.append(len(events))
            events.append((size, -1 if closing else 0, 0))
    close_heading()
    for number in waiting:
        _, level, end = events[number] or (0, 0, 0)
        events[number] = (size, level, end)
    return "".join(out), [event for event in events if event is not None]
