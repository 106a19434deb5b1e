"""Contracts, laws and papers in plain text, by the numbers of their clauses and sections."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rapidchunk.chunkers.base import Chunker
from rapidchunk.chunkers.outline import Heading, OutlineChunker

__all__ = ["LegalChunker", "PaperChunker"]

_WRAPPED = 40  # a line that was broken to fit a width is at least as long
_WHOLE = 50  # a line as short as this, above text, is a title even without capitals
_WORDS = {"part", "chapter", "article", "section"}  # marks that are words


class LegalChunker(OutlineChunker):
    """Clauses by their numbers: "PART I", "Article 4", "§ 3", "1.", "1.2", "(a)", "(ii)".

    A clause's title is its first line or, where its text runs on in the same line, its first words ("2. Grant of License. The
    licensor …"), if these are short and no sentence; else its number. Of articles and sections, those that come first hold
    the others. Numbers where a line was broken within a sentence ("as stated in / 4.2 above") begin no clause.
    """

    _LINE = re.compile(
        r"^[ \t]{0,24}(?:"
        r"(?P<part>(?:PART|Part|TITLE|Title|BOOK|Book|SCHEDULE|Schedule|ANNEX|Annex|APPENDIX|Appendix|EXHIBIT|Exhibit) "
        r"(?:[0-9]{1,3}|[IVXLC]{1,7}|[A-Z])\b)"
        r"|(?P<chapter>(?:CHAPTER|Chapter) (?:[0-9]{1,3}|[IVXLC]{1,7})\b)"
        r"|(?P<article>(?:ARTICLE|Article|Art\.) (?:[0-9]{1,4}[a-z]?(?:\.[0-9]{1,3}){0,4}|[IVXLC]{1,7})\b)"
        r"|(?P<section>(?:(?:SECTION|Section|CLAUSE|Clause|Sec\.) |§{1,2} ?)"
        r"(?:[0-9]{1,4}[a-z]?(?:\.[0-9]{1,3}){0,4}|[IVXLC]{1,7})\b)"
        r"|(?P<decimal>[0-9]{1,3}(?:\.[0-9]{1,3}){0,5})(?:\.|\)|(?<=\.[0-9])|(?<=\.[0-9][0-9])|(?=[ \t]+[^\W\d_]))(?=[ \t])"
        r"|\((?P<letter>[a-zA-Z]{1,6})\)(?=[ \t])|(?P<lone>[a-z])\)(?=[ \t])"
        r")",
        re.MULTILINE,
    )

    def __init__(
        self,
        max_tokens: int = 512,
        overlap: int = 0,
        tokenizer: Any = None,
        *,
        min_tokens: int = 32,
        prepend_headings: bool = True,
        within: Chunker | None = None,
    ) -> None:
        super().__init__(
            max_tokens,
            overlap,
            tokenizer,
            min_tokens=min(min_tokens, max_tokens) if min_tokens == 32 else min_tokens,
            prepend_headings=prepend_headings,
            within=within,
        )

    def _headings(self, text: str) -> Iterator[Heading]:
        letter = ""  # the last one, to tell the letter (i) from the number
        numbers: tuple[int, ...] = ()
        seen: list[str] = []  # of "article" and "section", the outer first
        for match in self._LINE.finditer(text):
            kind = str(match.lastgroup)
            mark = match[0].strip()
            start = match.start() + len(match[0]) - len(match[0].lstrip())
            line = text[start : start + 120].split("\n", 1)[0].strip()
            inside = _is_inside_a_sentence(text, match.start())
            lower = line[len(mark) :].lstrip(" \t.:").strip()[:1].islower()
            if kind in ("letter", "lone"):
                level = self._letter_level(match[kind], letter, inside)
                if level is None:
                    continue
                letter = match[kind] if level == 20 else letter
            else:
                if kind == "decimal":
                    found = tuple(map(int, match[kind].split(".")))
                    bare = mark.isdigit()  # as street numbers are
                    if ((inside or bare) and not _follows(numbers, found)) or (lower and mark[-1].isdigit()):
                        continue
                    numbers = found
                elif kind in _WORDS and (lower or inside or line[len(mark) :][:1] in (",", ";", ")")):
                    continue
                if kind in ("article", "section") and kind not in seen:
                    seen.append(kind)
                letter = ""
                level = self._level(kind, match[kind].count("."), seen)
            length = len(mark) if lower else _title_end(text, start, line, len(mark), kind in ("letter", "lone"))
            if self._accepts(kind, length > len(mark)):
                yield Heading(start, start + length, level, line[:length].rstrip(" \t.:"))

    def _level(self, kind: str, dots: int, seen: list[str]) -> int:
        if kind in seen:
            return (3, 8)[seen.index(kind)] + dots
        return {"part": 1, "chapter": 2, "decimal": 13}[kind] + dots * (kind == "decimal")

    def _accepts(self, kind: str, titled: bool) -> bool:
        return True

    def _letter_level(self, mark: str, before: str, inside: bool) -> int | None:
        follows = len(mark) == 1 and ord(mark) == (ord(before) + 1 if before else ord("a"))
        if inside and not follows:
            return None
        if follows or (len(mark) == 1 and mark.islower() and mark not in "ivx"):
            return 20
        if re.fullmatch(r"[ivxlc]+", mark):
            return 21
        return 22 if len(mark) == 1 or re.fullmatch(r"[IVXLC]+", mark) else None


class PaperChunker(LegalChunker):
    """Sections of a paper in plain text: numbered ("2.1 Data", "II. METHODS"), or by their usual names ("Abstract"). Only a
    short line that is no sentence is a heading."""

    _LINE = re.compile(
        r"^[ \t]{0,24}(?:"
        r"(?P<name>(?i:abstract|introduction|background|related work|methods?|materials and methods|methodology|experiments?|"
        r"evaluation|results(?: and discussion)?|discussion|limitations|conclusions?|future work|acknowledge?ments?|"
        r"references|bibliography|appendix(?: [A-Z0-9])?|supplementary material)[.:]?)(?=[ \t\r]*$)"
        r"|(?P<roman>[IVX]{1,5})\.(?=[ \t]+[^\W\d_])"
        r"|(?P<decimal>[0-9]{1,2}(?:\.[0-9]{1,2}){0,4})\.?(?=[ \t]+[^\W\d_])"
        r"|(?P<capital>[A-H])\.(?=[ \t]+[^\W\d_])"
        r")",
        re.MULTILINE,
    )

    def _level(self, kind: str, dots: int, seen: list[str]) -> int:
        """Names, roman and first-level numbers count alike."""
        return 2 if kind == "capital" else 1 + dots

    def _accepts(self, kind: str, titled: bool) -> bool:
        return kind == "name" or titled


def _is_inside_a_sentence(text: str, start: int) -> bool:
    """Whether the line at a position goes on with a sentence of the line before, broken to fit a width."""
    before = text[max(start - 200, 0) : start - 1].rsplit("\n", 1)[-1].strip() if start else ""
    last = re.search(r"[^\W\d_]+$", before)
    goes_on = before[-1:] == "," or (last is not None and last[0].lower() not in ("and", "or"))
    return len(before) >= _WRAPPED and goes_on and not before.isupper()


def _follows(before: tuple[int, ...], number: tuple[int, ...]) -> bool:
    """Whether a number is the next, or the first below, in the counting of clauses."""
    if not before:
        return number in ((0,), (1,))
    depth = len(number)
    if depth > len(before):
        return number == (*before, 1)
    return number == (*before[: depth - 1], before[depth - 1] + 1)


def _title_end(text: str, start: int, line: str, mark: int, item: bool) -> int:
    """How much of a line is its heading: all, its first words, or only the mark (so many characters). Items of a list have no
    title unless it looks like one."""
    rest = line[mark:].strip()
    first = re.match(r"[^.:]{2,60}[.:](?=\s|$)", rest)
    if first and _is_title(first[0]):
        return line.index(rest, mark) + len(first[0])
    if not rest or len(line) > 90 or line[-1] in ".;,:":
        return mark
    end = text.find("\n", start)
    below = text[end + 1 : end + 120].split("\n", 1)[0].strip() if end >= 0 else ""
    alone = not re.sub(r"[-=_~*\s]", "", below)  # nothing, or a line under it
    return len(line) if alone or _is_title(rest) or (len(rest) <= _WHOLE and not item) else mark


def _is_title(text: str) -> bool:
    words = re.findall(r"[^\W\d_][\w'’-]*", text)
    long = [word for word in words if len(word) > 3] or words
    return 0 < len(words) <= 10 and words[0][0].isupper() and sum(w[0].isupper() for w in long) >= 0.7 * len(long)
