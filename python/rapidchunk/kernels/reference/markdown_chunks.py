"""Blocks and sections of a Markdown document as chunks: csrc/structure/markdown_chunks.h in plain Python."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from rapidchunk.kernels.reference.graphemes import is_cluster_boundary
from rapidchunk.kernels.reference.markdown import BlockKind, markdown_blocks
from rapidchunk.kernels.reference.pack import Units, pack
from rapidchunk.kernels.reference.sentences import sentence_spans

__all__ = ["MarkdownChunk", "markdown_chunks"]

NOTHING, TABLE_HEADER, SHORT_TABLE_HEADER, FENCES, CLOSING_FENCE, OPENING_FENCE = range(6)
_BREAK_AFTER = (BlockKind.FENCED_CODE, BlockKind.INDENTED_CODE, BlockKind.MATH, BlockKind.FRONT_MATTER, BlockKind.HTML)


class MarkdownChunk(NamedTuple):
    """Positions are code points of the document."""

    start: int
    end: int
    tokens: int
    section: int
    repeat: int = NOTHING
    repeat_start: int = 0
    repeat_end: int = 0
    deferred: bool = False


def markdown_chunks(
    text: str,
    measure: str,
    *,
    max_tokens: int,
    min_tokens: int = 0,
    overlap: int = 0,
    keep_headings: bool = True,
    reserve_headings: bool = False,
    joint: int = 0,
    defer: bool = False,
    heading_levels: int = 0x7E,
) -> list[MarkdownChunk]:
    """The chunks of one document. The rules and options are those of csrc/structure/markdown_chunks.h.

    Args:
        text: without lone surrogates.
        measure: "chars" or "words".
    """
    assembler = _Assembler(text, measure, heading_levels)
    assembler.max_tokens, assembler.min_tokens, assembler.overlap = max_tokens, min_tokens, overlap
    assembler.keep_headings, assembler.defer = keep_headings, defer
    if reserve_headings:
        assembler.reserve(joint)
    assembler.run()
    return assembler.merged() if min_tokens > 1 else assembler.out


class _Assembler:
    max_tokens: int
    min_tokens: int
    overlap: int
    keep_headings: bool
    defer: bool

    def __init__(self, text: str, measure: str, heading_levels: int) -> None:
        self.text, self.measure = text, measure
        columns = markdown_blocks(text, heading_levels)
        point_of: dict[int, int] = {}
        byte = 0
        for point, character in enumerate(text):
            point_of[byte] = point
            byte += len(character.encode())
        point_of[byte] = len(text)
        places = {"start", "end", "text_start", "text_end", "section_start", "section_end"}
        self.b = {
            name: [point_of[at] for at in values.tolist()] if name in places else values.tolist()
            for name, values in columns.items()
        }
        self.reserved = [0] * len(self.b["section_start"])
        self.out: list[MarkdownChunk] = []
        self.section = self.budget = 0

    def reserve(self, joint: int) -> None:
        """Room that the heading path of each section takes, at most half of the maximum."""
        for s in range(1, len(self.reserved)):
            row = self.b["section_block"][s]
            title = self.count(self.b["text_start"][row], self.b["text_end"][row])
            self.reserved[s] = self.reserved[self.b["section_parent"][s]] + (title + joint if title else 0)
        self.reserved = [min(room, self.max_tokens // 2) for room in self.reserved]

    def run(self) -> None:
        starts, parents = self.b["section_start"], self.b["section_parent"]
        pending: int | None = None  # where sections without text begin that wait for the next one
        for s, start in enumerate(starts):
            self.section, self.budget = s, self.max_tokens - self.reserved[s]
            rows = [row for row, section in enumerate(self.b["section"]) if section == s]
            begin_row = rows[0] if rows else 0
            last_row = rows[-1] + 1 if rows else 0
            last = s + 1 == len(starts)
            end = len(self.text) if last else starts[s + 1]
            if s == 0:
                mark = not last and self.text.startswith("\ufeff")  # alone, it goes with the first heading
                if rows or self.text[mark:end].strip():
                    self.add_section(0, end, begin_row, last_row)
                elif mark:
                    pending = 0
            elif len(rows) > 1:
                begin = start if pending is None else pending
                if not self.keep_headings:
                    begin, begin_row = self.b["end"][begin_row], begin_row + 1
                self.add_section(begin, end, begin_row, last_row)
                pending = None
            elif self.keep_headings:
                pending = start if pending is None else pending
                if last:
                    self.add_section(pending, end, begin_row, last_row)
            elif last or parents[s + 1] != s:
                self.add_section(start, end, begin_row, last_row)

    # ---- places in the text

    def count(self, start: int, end: int) -> int:
        piece = self.text[start:end]
        return len(piece) if self.measure == "chars" else len(piece.split())

    def skip(self, at: int, end: int) -> int:
        while at < end and self.text[at].isspace():
            at += 1
        return at

    def trim(self, start: int, end: int) -> int:
        while end > start and self.text[end - 1].isspace():
            end -= 1
        return end

    def start_at(self, at: int, end: int, whole_line: bool) -> int:
        """The first character at or after `at` that a chunk may start with; the indentation of code stays."""
        p = self.skip(at, end)
        if p < end and whole_line:
            while p > at and self.text[p - 1] in " \t":
                p -= 1
            return p
        return p - 1 if at < p < end and not is_cluster_boundary(self.text, p) else p

    def next_line(self, at: int, end: int) -> int:
        while at < end and self.text[at] not in "\r\n":
            at += 1
        return min(end, at + 1 + (self.text[at : at + 2] == "\r\n" and at + 1 < end)) if at < end else end

    def lines(self, start: int, end: int) -> list[int]:
        """Where lines begin in (start, end)."""
        found = [self.next_line(start, end)]
        while found[-1] < end:
            found.append(self.next_line(found[-1], end))
        return found[:-1]

    # ---- sections

    def add(self, start: int, end: int, **more: Any) -> None:
        self.out.append(MarkdownChunk(start, end, self.count(start, end), self.section)._replace(**more))

    def add_section(self, begin: int, end: int, row: int, last_row: int) -> None:
        kinds = self.b["kind"]
        start = self.start_at(begin, end, row < last_row and kinds[row] == BlockKind.INDENTED_CODE)
        stop = self.trim(start, end)
        if start >= stop:
            return
        if self.count(start, stop) <= self.budget:
            return self.add(start, stop)
        at, at_row = start, row
        for i in range(row, last_row):
            first, last = self.b["start"][i], self.trim(self.b["start"][i], self.b["end"][i])
            if kinds[i] in (BlockKind.TABLE, BlockKind.FENCED_CODE) and self.count(first, last) > self.budget:
                if any(kinds[j] != BlockKind.HEADING for j in range(at_row, i)):
                    self.run_of_blocks(at, first, at_row, i)
                    at = first
                self.split(at, i)
                at, at_row = self.b["end"][i], i + 1
        self.run_of_blocks(at, stop, at_row, last_row)

    def run_of_blocks(self, begin: int, end: int, row: int, last_row: int) -> None:
        """Text between long tables and code blocks."""
        start = self.start_at(begin, end, False)
        stop = self.trim(start, end)
        if start >= stop:
            return
        if self.count(start, stop) <= self.budget:
            self.add(start, stop)
        elif self.defer:
            self.out.append(MarkdownChunk(start, stop, 0, self.section, deferred=True))
        else:
            self.pack(start, stop, self.levels(start, stop, row, last_row), self.budget)

    def levels(self, start: int, stop: int, row: int, last_row: int) -> list[list[int]]:
        """Where the text may be cut: between blocks, within containers, at lines of code and rows, sentences, soft breaks.
        Never after a heading, but before a table or code that fits as a whole."""
        levels: list[list[int]] = [[], [], [], [], []]
        between, within, lines, sentences, soft = levels
        before: int = BlockKind.HEADING
        for i in range(row, last_row):
            at, end, kind = self.b["start"][i], min(self.b["end"][i], stop), self.b["kind"][i]
            if at >= stop:
                break
            whole = kind in (BlockKind.TABLE, BlockKind.FENCED_CODE)
            if at > start and (before != BlockKind.HEADING or whole):
                (between if self.b["parent"][i] < 0 and before != BlockKind.HEADING else within).append(at)
            before = kind
            if kind == BlockKind.TABLE:
                lines += self.lines(self.b["text_end"][i], end)
            elif kind in _BREAK_AFTER:
                lines += self.lines(at, end)
            elif kind == BlockKind.PARAGRAPH:
                piece = self.text[at:end].encode()
                spans, _ = sentence_spans([piece])
                sentences += [at + len(piece[: int(first)].decode()) for first, _ in spans[1:]]
                soft += self.lines(at, end)
        return [sorted(set(level)) for level in levels]

    def pack(self, start: int, stop: int, levels: list[list[int]], budget: int) -> None:
        most = max(budget, 1)
        piece = self.text[start:stop]
        units = Units(piece)
        if self.measure == "words":
            units = Units(piece, units.words, units.words)
        spans = [[(at - start, at - start) for at in level if start < at < stop] for level in levels]
        least, overlap = min(self.min_tokens, most), min(self.overlap, most - 1)
        for a, b in pack(units, [*spans, "words"], max_tokens=most, min_tokens=least, overlap=overlap):
            self.add(start + a, start + b)

    def split(self, begin: int, row: int) -> None:
        """A table or code block that is too long, between lines; `begin` may be before it, at headings that go with it."""
        table = self.b["kind"][row] == BlockKind.TABLE
        end = self.trim(begin, self.b["end"][row])
        head, head_end = self.b["start"][row], self.b["text_end"][row]
        body = head_end if table else self.next_line(head_end, end)
        opening = self.count(head, body)
        closing = 0 if table else self.closing_fence(head, head_end) + self.count(head_end, body)
        shorten = table and opening > self.budget // 4
        if shorten:
            opening = self.short_header(head, head_end)
        repeats = opening + closing <= self.budget // 2
        if not repeats:
            opening = closing = 0
        at = self.start_at(begin, end, False)
        while at < end:
            first = at <= head
            middle = NOTHING
            if repeats and not first:
                middle = SHORT_TABLE_HEADER if shorten else TABLE_HEADER if table else FENCES
            room = self.budget - (0 if first else opening)
            stop, least = end, body if first else at
            if self.count(at, end) > room:
                fits = [
                    p for p in self.lines(at, end) if p > least and self.count(at, self.trim(at, p)) <= room - closing
                ]
                if not fits or room - closing < 1:
                    stop = body if first else self.next_line(at, end)
                    done = len(self.out)
                    self.pack(at, stop, [], room - closing)
                    self.out[done:] = [self.repeating(chunk, middle, row) for chunk in self.out[done:]]
                    at = self.start_at(stop, end, not table)
                    continue
                stop = fits[-1]
            self.add(at, self.trim(at, stop))
            what = middle
            if not table and repeats:
                what = CLOSING_FENCE if first else OPENING_FENCE if stop == end and self.closed(row) else FENCES
            self.out[-1] = self.repeating(self.out[-1], what, row)
            at = self.start_at(stop, end, not table)

    def short_header(self, head: int, head_end: int) -> int:
        """Tokens of a table's header row and delimiter row, whose runs of dashes are three long at most."""
        delimiter = self.next_line(head, head_end)
        short = len(re.sub("-{4,}", "---", self.text[delimiter:head_end]))
        return self.count(head, delimiter) + min(self.count(delimiter, head_end), short)

    def closing_fence(self, head: int, head_end: int) -> int:
        fence = re.match(".*?(```+|~~~+)", self.text[head:head_end])
        assert fence is not None
        return self.count(head, head + fence.end())

    def repeating(self, chunk: MarkdownChunk, what: int, row: int) -> MarkdownChunk:
        if what == NOTHING:
            return chunk
        start, end = self.b["start"][row], self.b["text_end"][row]
        return chunk._replace(repeat=what, repeat_start=start, repeat_end=end)

    def closed(self, row: int) -> bool:
        """Whether the fenced code block ends with a fence."""
        start, end = self.b["start"][row], self.trim(self.b["start"][row], self.b["end"][row])
        lines = self.lines(start, end)
        return bool(lines) and self.text[lines[-1] : end].endswith(("```", "~~~"))

    # ---- the minimum

    def common(self, a: int, b: int) -> int:
        while a != b:
            if self.b["section_level"][a] >= self.b["section_level"][b]:
                a = self.b["section_parent"][a]
            else:
                b = self.b["section_parent"][b]
        return a

    def affinity(self, a: MarkdownChunk, b: MarkdownChunk) -> int:
        """How close two neighbours are: 2 in one section, 1 of one parent or parent and child, 0 neither; -1: they cannot
        merge."""
        if a.deferred or b.deferred or a.repeat or b.repeat:
            return -1
        both = self.common(a.section, b.section)
        if self.count(a.start, b.end) > self.max_tokens - self.reserved[both]:
            return -1
        if a.section == b.section:
            return 2
        return int(all(both in (s, self.b["section_parent"][s]) for s in (a.section, b.section)))

    def merged(self) -> list[MarkdownChunk]:
        pieces = self.out[::-1]
        out: list[MarkdownChunk] = []
        while pieces:
            chunk = pieces.pop()
            while chunk.tokens < self.min_tokens:
                back = self.affinity(out[-1], chunk) if out else -1
                forth = self.affinity(chunk, pieces[-1]) if pieces else -1
                if back < 0 and forth < 0:
                    break
                a, b = (out.pop(), chunk) if back > forth else (chunk, pieces.pop())
                section = self.common(a.section, b.section)
                chunk = a._replace(end=b.end, section=section, tokens=self.count(a.start, b.end))
            out.append(chunk)
        return out
