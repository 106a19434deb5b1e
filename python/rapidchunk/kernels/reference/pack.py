"""Reference of the packing stage (csrc/chunks/pack.h), in code points and without any cleverness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rapidchunk.kernels.reference.graphemes import is_cluster_boundary

Level = list[str] | list[tuple[int, int]] | str
"""Literal separators, sorted separator spans, or "words"."""

FINAL, BETWEEN = -1, 1 << 20
Cut = tuple[int, int, int]
"""Where the chunk ends, where the next one starts, the level."""


class Measure(Protocol):
    """Token starts and word starts of one document: sorted positions."""

    text: str
    tokens: Sequence[int]
    words: Sequence[int]

    def size(self, start: int, end: int) -> int: ...


class Units:
    """Characters, or tokens given by their starts (each lasts until the next one or to the white space before it)."""

    def __init__(self, text: str, tokens: Sequence[int] | None = None, words: Sequence[int] | None = None) -> None:
        self.text = text
        self.tokens = list(range(len(text))) if tokens is None else list(tokens)
        spaced = [i for i in range(len(text)) if not text[i].isspace() and (i == 0 or text[i - 1].isspace())]
        self.words = spaced if words is None else list(words)

    def size(self, start: int, end: int) -> int:
        """Tokens that overlap [start, end); a start inside a token counts that token."""
        if start >= end:
            return 0
        return sum(start <= token < end for token in self.tokens) + (start not in set(self.tokens))

    def reach(self, start: int, tokens: int) -> int:
        end = start
        while end < len(self.text) and self.size(start, end + 1) <= tokens:
            end += 1
        return end

    def back(self, end: int, tokens: int) -> int:
        """The smallest token start from which at most `tokens` tokens lead to `end`."""
        if tokens <= 0:
            return end
        earlier = [token for token in self.tokens if token < end]
        return earlier[-tokens] if len(earlier) >= tokens else 0


def pack(
    units: Units, levels: Sequence[Level], *, max_tokens: int, min_tokens: int = 0, overlap: int = 0, keep: str = "end"
) -> list[tuple[int, int]]:
    """Chunks of one document as code point spans: see csrc/chunks/pack.h for the rules."""
    return _Packer(units, levels, max_tokens, min_tokens, overlap, keep).run()


class _Packer:
    def __init__(
        self, units: Units, levels: Sequence[Level], max_tokens: int, min_tokens: int, overlap: int, keep: str
    ) -> None:
        self.units, self.levels, self.keep = units, levels, keep
        self.max_tokens, self.min_tokens, self.overlap = max_tokens, min_tokens, overlap
        self.text = units.text
        self.end = len(self.text.rstrip())
        self.anchor = 0  # the start of the current chunk: clusters are told from there
        self.tail = units.back(self.end, min_tokens) if min_tokens > 1 else -1
        self.cuts = [self._all_cuts(level) for level in levels]

    def run(self) -> list[tuple[int, int]]:
        chunks: list[tuple[int, int]] = []
        start = resume = self.start_at(0)
        previous, overlaps = 0, False
        while start < self.end:
            self.anchor = start
            cut = self.best_cut(start, previous)
            if cut is None:
                if overlaps:
                    start, overlaps = resume, False
                    continue
                cut = (start + 1, start + 1, BETWEEN)
            stop = self.trim(start, cut[0])
            if stop <= start:  # white space out of a cluster that is larger than the maximum
                start = resume = cut[1]
                overlaps = False
                continue
            chunks.append((start, stop))
            if cut[2] == FINAL:
                break
            start = resume = self.start_at(cut[1])
            previous, overlaps = stop, False
            if self.overlap and resume < self.end:
                start = self.overlap_start(chunks[-1], cut, resume)
                overlaps = start < resume
        return chunks

    def best_cut(self, start: int, previous: int) -> Cut | None:
        reach = min(self.end, self.units.reach(start, self.max_tokens))
        if reach >= self.end:
            return self.end, self.end, FINAL
        high = self.skip(reach)
        low = max(previous, start, self.units.reach(start, max(self.min_tokens, 1) - 1))
        if self.tail > low:
            high = min(high, self.tail)
        for number, cuts in enumerate(self.cuts):
            within = [cut for cut in cuts if low < cut[0] <= high and self.allowed(cut)]
            if within:
                last = max(within)
                if self.trim(start, last[0]) > low:
                    return (*last, number)
        floor = max(self.skip(previous), start)
        for furthest in (min(high, reach), reach):
            inside = [p for p in range(floor + 1, furthest + 1) if is_cluster_boundary(self.text, p, start)]
            if inside:
                return inside[-1], inside[-1], BETWEEN
        return (reach, reach, BETWEEN) if reach > floor else None

    def overlap_start(self, chunk: tuple[int, int], cut: Cut, resume: int) -> int:
        start, stop = chunk
        unit = self.first_unit_end(cut, resume)
        low = max(self.units.back(stop, self.overlap), start + 1, self.units.back(unit, self.max_tokens))
        if low >= stop:
            return resume
        starts = [
            self.start_at(found[1])
            for level, cuts in zip(self.levels, self.cuts)
            if not _is_words(level)
            for found in cuts
            if self.allowed(found)
        ]
        starts = [at for at in starts if low <= at < stop]
        if starts:
            return min(starts)
        if self.levels:
            word = next((word for word in self.units.words if low <= word < stop), None)
            if word is not None and self.boundary(word):
                return word
        if not self.levels or cut[2] == BETWEEN:
            at = next((at for at in range(low, stop) if self.boundary(at)), stop)
            at = self.start_at(at) if at < stop else stop
            return at if at < stop else resume
        return resume

    def first_unit_end(self, cut: Cut, resume: int) -> int:
        following = self.best_cut(resume, cut[0])
        limit = following[0] if following else resume + 1
        following_level = following[2] if following else FINAL
        level = cut[2] if following_level == FINAL else following_level
        if level == BETWEEN:
            return next((at for at in range(resume + 1, limit) if is_cluster_boundary(self.text, at, resume)), limit)
        unit = limit
        for number, (kind, cuts) in enumerate(zip(self.levels, self.cuts)):
            if number > level and (following_level != FINAL or _is_words(kind)):
                break
            unit = min([found[0] for found in cuts if resume < found[0] <= unit and self.allowed(found)], default=unit)
        return self.trim(resume, unit)

    def _all_cuts(self, level: Level) -> list[tuple[int, int]]:
        """Every cut that the level allows in the document."""
        if level == "words":
            spans = [(word, word) for word in self.units.words if word > 0]
        elif level and isinstance(level[0], str):
            spans = [
                (at, at + len(literal))
                for literal in level
                for at in range(len(self.text) - len(literal) + 1)
                if self.text.startswith(str(literal), at)
            ]
        else:
            spans = list(level)  # type: ignore[arg-type]
        cuts = [{"end": (end, end), "start": (start, start), "drop": (start, end)}[self.keep] for start, end in spans]
        return sorted(cuts)

    def allowed(self, cut: tuple[int, ...]) -> bool:
        return self.boundary(cut[0]) and self.boundary(cut[1])

    def boundary(self, at: int) -> bool:
        return is_cluster_boundary(self.text, at, self.anchor)

    def skip(self, at: int) -> int:
        while at < self.end and self.text[at].isspace():
            at += 1
        return at

    def trim(self, start: int, end: int) -> int:
        while end > start and self.text[end - 1].isspace():
            end -= 1
        return end

    def start_at(self, at: int) -> int:
        p = self.skip(at)
        return p - 1 if at < p < self.end and not self.boundary(p) else p


def _is_words(level: Level) -> bool:
    return level == "words" or level == [" "]
