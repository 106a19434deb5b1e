"""Markdown text -> blocks and sections: the plain form of csrc/structure/markdown.h, which describes the columns."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class BlockKind(IntEnum):
    """What the column `kind` holds."""

    HEADING = 0
    PARAGRAPH = 1
    FENCED_CODE = 2
    INDENTED_CODE = 3
    HTML = 4
    BLOCK_QUOTE = 5
    LIST_ITEM = 6
    TABLE = 7
    FRONT_MATTER = 8
    MATH = 9
    FOOTNOTE = 10
    LINK_DEFINITION = 11
    THEMATIC_BREAK = 12


_MAX_DEPTH = 64

_LINE = re.compile(rb"([^\r\n]*)(\r\n|\r|\n|\Z)")
_ATX = re.compile(rb"(#{1,6})(?:[ \t]+|$)")
_ATX_END = re.compile(rb"(?:^|[ \t]+)#+[ \t]*$")
_SETEXT = re.compile(rb"(=+|-+)[ \t]*$")
_FENCE = re.compile(rb"(`{3,})[ \t]*([^`]*?)[ \t]*$|(~{3,})[ \t]*(.*?)[ \t]*$", re.DOTALL)
_RULE = re.compile(rb"(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_ITEM = re.compile(rb"([*+-]|(\d{1,9})[.)])(?=[ \t]|$)")
_FOOTNOTE = re.compile(rb"\[\^([^ \t\[\]]+)\]:")
_DELIMITER_ROW = re.compile(rb"[|:-][|:\- \t]+$")
_DELIMITER_CELL = re.compile(rb":?-+:?$")

_TAGS = (
    b"address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|"
    b"fieldset|figcaption|figure|footer|form|frame|frameset|h1|h2|h3|h4|h5|h6|head|header|hr|html|iframe|legend|li|link|"
    b"main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|"
    b"title|tr|track|ul"
)
_ATTRIBUTE = rb"[ \t]+[a-zA-Z_:][a-zA-Z0-9_.:-]*(?:[ \t]*=[ \t]*(?:\"[^\"]*\"|'[^']*'|[^\x00-\x20\"'=<>`]+))?"
_HTML = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rb"<(?:pre|script|style|textarea)(?:[ \t>]|$)",
        rb"<!--",
        rb"<\?",
        rb"<![a-z]",
        rb"<!\[CDATA\[",
        rb"</?(?:" + _TAGS + rb")(?:[ \t]|/?>|$)",
        rb"(?:<[a-z][a-z0-9-]*(?:" + _ATTRIBUTE + rb")*[ \t]*/?>|</[a-z][a-z0-9-]*[ \t]*>)[ \t]*$",
    )
]
_HTML_END = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (rb"</(?:pre|script|style|textarea)>", rb"-->", rb"\?>", rb">", rb"\]\]>", rb"(?!)", rb"(?!)")
]
_DESTINATION = re.compile(rb"<(?:[^\n<>\\]|\\[^\n]|\\(?=\n))*>")
_LABEL = re.compile(rb"\[((?:[^\\\[\]]|\\[^\n]|\\(?=\n))*)\]:", re.DOTALL)
_TITLE = re.compile(
    rb'"(?:[^"\\]|\\[^\n]|\\(?=\n))*"|' rb"'(?:[^'\\]|\\[^\n]|\\(?=\n))*'|" rb"\((?:[^()\\]|\\[^\n]|\\(?=\n))*\)"
)


class _Line(NamedTuple):
    start: int
    end: int
    next: int


class _Container:
    def __init__(self, kind: int, row: int) -> None:
        self.kind, self.row, self.indent, self.empty = kind, row, 0, True


class _Scanner:
    def __init__(self, text: bytes, options: dict[str, Any]) -> None:
        self.text, self.options = text, options
        self.rows: list[list[int]] = []  # kind, start, end, level, text_start, text_end, parent, section
        self.sections: list[list[int]] = []  # parent, level, block, start, end
        self.open_sections: list[int] = []
        self.stack: list[_Container] = []
        self.leaf: int | None = None  # kind of the open leaf; its row is the last one
        self.leaf_end = 0
        self.paragraph: list[tuple[_Line, int]] = []  # lines with the start of their text
        self.fence = b""
        self.html = 0
        self.math_close = b""

    # -- rows

    def push(self, kind: int, start: int, end: int, level: int = 0, text: tuple[int, int] | None = None) -> int:
        text_start, text_end = text or (start, start)
        parent = self.stack[-1].row if self.stack else -1
        self.rows.append([kind, start, end, level, text_start, text_end, parent, len(self.sections) - 1])
        if self.stack:
            self.stack[-1].empty = False
            self.grow(parent, end)
        return len(self.rows) - 1

    def grow(self, row: int, end: int) -> None:
        self.rows[row][2] = max(self.rows[row][2], end)

    def open_section(self, level: int, block: int, start: int) -> None:
        while len(self.open_sections) > 1 and self.sections[self.open_sections[-1]][1] >= level:
            self.sections[self.open_sections.pop()][4] = start
        parent = self.open_sections[-1] if self.open_sections else -1
        self.open_sections.append(len(self.sections))
        self.sections.append([parent, level, block, start, len(self.text)])

    def heading(self, start: int, level: int, text: tuple[int, int]) -> None:
        if not self.stack and self.options["heading_levels"] >> level & 1:
            self.open_section(level, len(self.rows), start)
        self.push(BlockKind.HEADING, start, self.line.next, level, text)

    def open_leaf(self, kind: int, text: tuple[int, int] | None = None) -> None:
        self.push(kind, self.line.start, self.line.next, 0, text)
        self.leaf, self.leaf_end = kind, self.line.next

    def close_leaf(self) -> None:
        if self.leaf is None:
            return
        self.rows[-1][2] = self.leaf_end
        if self.stack:
            self.grow(self.stack[-1].row, self.leaf_end)
        if self.leaf == BlockKind.PARAGRAPH:
            self.leaf = None
            left = self.take_definitions()
            if left:
                self.push(BlockKind.PARAGRAPH, left[0][0].start, self.leaf_end)
        self.leaf = None

    def close_to(self, depth: int) -> None:
        self.close_leaf()
        while len(self.stack) > depth:
            container = self.stack.pop()
            if self.stack:
                self.grow(self.stack[-1].row, self.rows[container.row][2])

    def open_container(self, kind: int, text: tuple[int, int] | None = None) -> _Container:
        level = 0 if kind == BlockKind.FOOTNOTE else 1 + sum(c.kind == kind for c in self.stack)
        container = _Container(kind, self.push(kind, self.line.start, self.line.next, level, text))
        self.stack.append(container)
        return container

    # -- the text of the line: `indent` columns of white space, then `content`, which begins at column `column`

    def set_content(self, start: int, column: int) -> None:
        """Puts the cursor at byte `start`, column `column`."""
        content = self.text[start : self.line.end]
        self.content = content.lstrip(b" \t")
        self.column = column
        for char in content[: len(content) - len(self.content)]:
            self.column += 4 - self.column % 4 if char == 9 else 1
        self.indent = self.column - column

    @property
    def first(self) -> int:
        return self.line.end - len(self.content)

    def take_marks(self, n: int) -> None:
        self.set_content(self.first + n, self.column + n)

    def take_quote_mark(self) -> None:
        self.take_marks(1)
        self.indent -= self.indent > 0

    # -- lines

    def run(self) -> None:
        self.open_section(0, -1, 0)
        at = 3 if self.text.startswith(b"\xef\xbb\xbf") else 0
        if self.options["front_matter"]:
            at = self.front_matter(at)
        self.lines = []
        while at < len(self.text):
            match = _LINE.match(self.text, at)
            assert match
            self.lines.append(_Line(at, match.end(1), match.end()))
            at = match.end()
        for number, line in enumerate(self.lines):
            self.number, self.line = number, line
            self.scan()
        self.close_to(0)

    def scan(self) -> None:
        self.set_content(self.line.start, 0)
        matched = self.match_containers()
        if matched == len(self.stack) and self.go_on():
            return
        lazy = matched < len(self.stack) and self.leaf == BlockKind.PARAGRAPH
        while self.content:
            inside = matched == len(self.stack)
            in_paragraph = inside and self.leaf == BlockKind.PARAGRAPH
            if self.indent >= 4:
                if in_paragraph or lazy:
                    break
                self.close_to(matched)
                self.open_leaf(BlockKind.INDENTED_CODE)
                return
            if self.line_block(matched, in_paragraph or lazy or (inside and self.leaf == BlockKind.TABLE)):
                return
            if matched >= _MAX_DEPTH or not self.container(matched, in_paragraph):
                break
            matched, lazy = len(self.stack), False
        inside = matched == len(self.stack)
        if not self.content:
            self.close_to(matched)
        elif lazy or (inside and self.leaf == BlockKind.PARAGRAPH):
            self.paragraph.append((self.line, self.first))
            self.leaf_end = self.line.next
        elif inside and self.leaf == BlockKind.TABLE:
            self.leaf_end = self.line.next
        else:
            self.close_to(matched)
            self.open_paragraph()

    def open_paragraph(self) -> None:
        self.open_leaf(BlockKind.PARAGRAPH)
        self.paragraph = [(self.line, self.first)]

    def match_containers(self) -> int:
        for depth, container in enumerate(self.stack):
            if container.kind == BlockKind.BLOCK_QUOTE:
                if self.indent > 3 or not self.content.startswith(b">"):
                    return depth
                self.grow(container.row, self.line.next)
                self.take_quote_mark()
            elif self.content:
                if self.indent < container.indent:
                    return depth
                self.indent -= container.indent
            elif container.kind == BlockKind.LIST_ITEM and container.empty:
                return depth
        return len(self.stack)

    def go_on(self) -> bool:
        """True when the line belongs to the open leaf, or ends it."""
        if self.leaf == BlockKind.FENCED_CODE:
            if self.content:
                self.leaf_end = self.line.next
            marks = self.content.rstrip(b" \t")
            if self.indent < 4 and marks.startswith(self.fence) and not marks.strip(self.fence[:1]):
                self.close_leaf()
            return True
        if self.leaf == BlockKind.INDENTED_CODE:
            if self.content and self.indent >= 4:
                self.leaf_end = self.line.next
            return not self.content or self.indent >= 4
        if self.leaf == BlockKind.HTML:
            if not self.content:
                return self.html < 5
            self.leaf_end = self.line.next
            if _HTML_END[self.html].search(self.content):
                self.close_leaf()
            return True
        if self.leaf == BlockKind.MATH and self.content:
            self.leaf_end = self.line.next
            if self.content.rstrip(b" \t").endswith(self.math_close):
                self.close_leaf()
            return True
        if self.leaf == BlockKind.PARAGRAPH and self.content and self.indent < 4:
            return self.begins_table() or self.setext()
        return False

    # -- leaves that one line begins

    def line_block(self, matched: int, interrupts: bool) -> bool:
        content, first = self.content, self.first
        if match := _ATX.match(content):
            self.close_to(matched)
            rest = content[match.end() :]
            title = _ATX_END.sub(b"", rest.rstrip(b" \t"), count=1).rstrip(b" \t")
            start = first + match.end()
            self.heading(self.line.start, len(match[1]), (start, start + len(title)))
            return True
        if match := _FENCE.match(content):
            self.close_to(matched)
            self.fence = match[1] or match[3]
            start, end = match.span(2 if match[1] else 4)
            self.open_leaf(BlockKind.FENCED_CODE, (first + start, first + end))
            return True
        kind = next((i for i, pattern in enumerate(_HTML) if pattern.match(content)), None)
        if kind is not None and not (kind == 6 and interrupts):
            self.close_to(matched)
            self.open_leaf(BlockKind.HTML)
            self.html = kind
            if _HTML_END[kind].search(content):
                self.close_leaf()
            return True
        if _RULE.match(content):
            self.close_to(matched)
            self.push(BlockKind.THEMATIC_BREAK, self.line.start, self.line.next)
            return True
        return bool(self.options["math"]) and self.math(matched)

    def math(self, matched: int) -> bool:
        close = {b"$$": b"$$", b"\\[": b"\\]"}.get(self.content[:2])
        if close is None:
            return False
        marked = self.content.rstrip(b" \t")
        one_line = len(marked) >= 4 and marked.endswith(close)
        if not one_line and not self.closes_later(close):
            return False
        self.close_to(matched)
        self.open_leaf(BlockKind.MATH)
        self.math_close = close
        if one_line:
            self.close_leaf()
        return True

    def closes_later(self, close: bytes) -> bool:
        for line in self.lines[self.number + 1 :]:
            content = self.text[line.start : line.end].rstrip(b" \t")
            if not content:
                return False
            if content.endswith(close):
                return True
        return False

    def setext(self) -> bool:
        match = _SETEXT.match(self.content)
        if not match:
            return False
        left = self.take_definitions()
        self.leaf = None
        if not left:
            if self.content.startswith(b"-"):
                return False
            self.open_paragraph()
            return True
        start, end = left[0][1], left[-1][0].end
        end = start + len(self.text[start:end].rstrip(b" \t"))
        self.heading(left[0][0].start, 1 if match[1].startswith(b"=") else 2, (start, end))
        return True

    def begins_table(self) -> bool:
        row = self.content.rstrip(b" \t")
        if not self.options["tables"] or not _DELIMITER_ROW.match(row) or re.match(rb"-[ \t]", row):
            return False
        cells = [cell.strip(b" \t") for cell in row.split(b"|")]
        cells = cells[not cells[0] :] if cells else cells
        cells = cells[: len(cells) - (bool(cells) and not cells[-1])]
        if not cells or not all(_DELIMITER_CELL.match(cell) for cell in cells):
            return False
        header, start = self.paragraph[-1]
        if _row_cells(self.text[start : header.end].strip(b" \t")) != len(cells):
            return False
        self.paragraph.pop()
        if self.paragraph:
            self.leaf_end = header.start
            self.close_leaf()
        else:
            self.rows.pop()
        self.push(BlockKind.TABLE, header.start, self.line.next, 0, (header.start, self.line.next))
        self.leaf, self.leaf_end = BlockKind.TABLE, self.line.next
        return True

    # -- containers

    def container(self, matched: int, in_paragraph: bool) -> bool:
        first = self.first
        if self.content.startswith(b">"):
            self.close_to(matched)
            self.open_container(BlockKind.BLOCK_QUOTE)
            self.take_quote_mark()
            return True
        if self.options["footnotes"] and (match := _FOOTNOTE.match(self.content)):
            self.close_to(matched)
            self.open_container(BlockKind.FOOTNOTE, (first + 2, first + match.end(1))).indent = 4
            self.take_marks(match.end())
            self.indent = 0
            return True
        match = _ITEM.match(self.content)
        if not match:
            return False
        empty = not self.content[match.end() :].strip(b" \t")
        if in_paragraph and (empty or (match[2] and int(match[2]) != 1)):
            return False
        self.close_to(matched)
        item = self.open_container(BlockKind.LIST_ITEM, (first, first + match.end()))
        before = self.indent
        self.take_marks(match.end())
        gap = self.indent if self.content and self.indent <= 4 else 1
        self.indent = max(0, self.indent - gap)
        item.indent = before + match.end() + gap
        return True

    # -- link definitions

    def take_definitions(self) -> list[tuple[_Line, int]]:
        """Puts rows for the link definitions that begin the paragraph in place of its row; returns the lines left."""
        self.rows.pop()
        lines = self.paragraph
        while lines and (found := self.read_definition(lines)):
            count, label = found
            self.push(BlockKind.LINK_DEFINITION, lines[0][0].start, lines[count - 1][0].next, 0, label)
            lines = lines[count:]
        return lines

    def read_definition(self, lines: list[tuple[_Line, int]]) -> tuple[int, tuple[int, int]] | None:
        pieces = [self.text[start : line.end] for line, start in lines]
        text = b"\n".join(pieces) + b"\n"
        if not text.startswith(b"["):
            return None
        match = _LABEL.match(text)
        if not match or not match[1].strip(b" \t\n") or _label_steps(match[1]) >= 1000:
            return None
        label_lines = match[1].split(b"\n")
        label_end = lines[len(label_lines) - 1][1] + len(label_lines[-1]) + (len(label_lines) == 1)
        label = (lines[0][1] + 1, label_end)
        at = _gap(text, match.end())
        if at is None or (end := _destination(text, at)) is None:
            return None
        after = end + len(text[end:]) - len(text[end:].lstrip(b" \t"))
        ends_here = text[after : after + 1] == b"\n"
        if ends_here or after > end:
            title = _TITLE.match(text, after + 1 if ends_here else after)
            if title and (tail := re.compile(rb"[ \t]*\n").match(text, title.end())):
                return text.count(b"\n", 0, tail.end()), label
        return (text.count(b"\n", 0, after + 1), label) if ends_here else None

    # -- front matter

    def front_matter(self, start: int) -> int:
        """Returns where the first line after it begins."""
        opening = _LINE.match(self.text, start)
        assert opening
        mark = opening[1].rstrip(b" \t")
        if mark not in (b"---", b"+++"):
            return start
        body = at = opening.end()
        while at < len(self.text):
            match = _LINE.match(self.text, at)
            assert match
            content = match[1].rstrip(b" \t")
            if at == body and not content:
                return start
            if content == mark or (mark == b"---" and content == b"..."):
                self.push(BlockKind.FRONT_MATTER, start, match.end(), 0, (body, at))
                return match.end()
            at = match.end()
        return start


def _row_cells(row: bytes) -> int:
    """Cells of a table row, 0 where it has no pipe. A pipe after a backslash is text."""
    if b"|" not in row:
        return 0
    cells = re.split(rb"(?<!\\)\|", row)
    cells = cells[not cells[0] :]
    return len(cells) - (bool(cells) and not cells[-1])


def _label_steps(label: bytes) -> int:
    """Length of a label where an escaped pair and a line break count as one."""
    return len(re.sub(rb"\\[^\n]", b"x", label))


def _gap(text: bytes, at: int) -> int | None:
    """The position after spaces with at most one line break, None where the text ends."""
    match = re.compile(rb"[ \t]*\n?[ \t]*").match(text, at)
    assert match
    return None if match.end() == len(text) else match.end()


def _destination(text: bytes, at: int) -> int | None:
    if text[at : at + 1] == b"<":
        match = _DESTINATION.match(text, at)
        return match.end() if match else None
    start, depth = at, 0
    while (char := text[at]) > 32 and char != 127:
        if char == 0x5C and text[at + 1] not in b" \t\n":
            at += 1
        elif char == 0x28:
            depth += 1
            if depth > 32:
                return None
        elif char == 0x29:
            if depth == 0:
                return None
            depth -= 1
        at += 1
    return at if at > start and depth == 0 else None


def markdown_blocks(
    text: bytes | str,
    heading_levels: int = 0x7E,
    *,
    front_matter: bool = True,
    tables: bool = True,
    math: bool = True,
    footnotes: bool = True,
) -> dict[str, NDArray[Any]]:
    """Blocks and sections of a Markdown text.

    Args:
        text: UTF-8; a `str` is encoded.
        heading_levels: bit n set: a heading of level n (1 to 6) outside of every container begins a section.
        front_matter, tables, math, footnotes: which extensions of CommonMark count.

    Returns:
        Columns, described in csrc/structure/markdown.h. One row a block: kind uint8, start, end, text_start, text_end
        int64 (bytes), level, parent, section int32. One row a section: section_parent, section_level, section_block
        int32, section_start, section_end int64.

    Raises:
        ValueError: heading_levels has other bits.
    """
    if not 0 <= heading_levels < 128:
        raise ValueError("heading_levels must be a set of bits 1 to 6")
    data = text.encode() if isinstance(text, str) else bytes(text)
    options = dict(
        heading_levels=heading_levels, front_matter=front_matter, tables=tables, math=math, footnotes=footnotes
    )
    scanner = _Scanner(data, options)
    scanner.run()
    blocks = np.array(scanner.rows, dtype=np.int64).reshape(-1, 8)
    sections = np.array(scanner.sections, dtype=np.int64).reshape(-1, 5)
    types = dict(kind=np.uint8, level=np.int32, parent=np.int32, section=np.int32)
    names = ("kind", "start", "end", "level", "text_start", "text_end", "parent", "section")
    columns: dict[str, NDArray[Any]] = {
        name: blocks[:, i].astype(types.get(name, np.int64)) for i, name in enumerate(names)
    }
    for i, name in enumerate(("parent", "level", "block", "start", "end")):
        columns["section_" + name] = sections[:, i].astype(np.int64 if name in ("start", "end") else np.int32)
    return columns
