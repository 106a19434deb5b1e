"""Plain text whose headings are known by their wording or numbers: books, contracts and laws, papers."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rapidchunk.chunkers.base import Chunker
from rapidchunk.chunkers.sections import Section, SectionChunker, heading_prefixes

__all__ = ["BookChunker", "LegalChunker", "PaperChunker"]

_NUMBER = (
    r"(?:[0-9]{1,4}|[IVXLCDM]{1,9}|[A-Z]|(?i:the )?(?i:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|one|two|"
    r"three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|"
    r"twenty(?:[- ][a-z]{3,5})?|thirty(?:[- ][a-z]{3,5})?|forty(?:[- ][a-z]{3,5})?))"
)


class OutlineChunker(SectionChunker):
    """Sections that begin where a line is a heading; a heading's section holds all that follow of a deeper level.

    Args:
        max_tokens, min_tokens, overlap, tokenizer, within: see `SectionChunker`.
        prepend_headings: `context` begins with the heading path (titles that are in the chunk left out).
    """

    def __init__(
        self,
        max_tokens: int,
        overlap: int = 0,
        tokenizer: Any = None,
        *,
        min_tokens: int = 0,
        prepend_headings: bool = True,
        within: Chunker | None = None,
    ) -> None:
        super().__init__(max_tokens, min_tokens, overlap, tokenizer, within)
        self.prepend_headings = bool(prepend_headings)

    @abstractmethod
    def _headings(self, text: str) -> Iterable[tuple[int, int, str]]:
        """(position, level, title) of the headings in order; level 1 is the outermost. The text at the position begins
        with the title."""

    def _read(self, document: Any) -> tuple[str, list[Section]]:
        sections: list[Section] = []
        path: list[tuple[int, str]] = []
        start = 0

        def close(end: int, bare: bool = False) -> None:
            titles = tuple(title for _, title in path)
            if end > start and not (end - start < 100 and document[start:end].isspace()):
                context = heading_prefixes(titles) if self.prepend_headings else ()
                sections.append(Section(start, end, titles, (), context, bare=bare))

        for position, level, title in self._headings(document):
            close(position)
            while path and path[-1][0] >= level:
                path.pop()
            path.append((level, title))
            start = position
            close(position + len(title), bare=True)
            start += len(title)
        close(len(document))
        return document, sections

    def _prefixes(self, first: Section, main: Section, last: Section, into: int) -> tuple[str, ...]:
        return heading_prefixes(first.headings[:-1]) if first.bare and not into and first.context else first.context


class BookChunker(OutlineChunker):
    """Parts and chapters, and what else stands alone on a line in a book ("PROLOGUE", "Act II").

    Args:
        max_tokens, min_tokens, overlap, tokenizer, within, prepend_headings: see `OutlineChunker`.
        patterns: (level, regular expression) pairs, in place of ours; the first that matches a whole line is taken.

    Raises:
        ValueError: a parameter is out of range, or a pattern is not valid.
    """

    PATTERNS: tuple[tuple[int, str], ...] = (
        (1, rf"(?:PART|Part|BOOK|Book|VOLUME|Volume|TEIL|Teil|PARTIE|Partie|PARTE|Parte) {_NUMBER}\b.{{0,80}}"),
        (1, rf"(?:THE )?(?:{_NUMBER}) (?:PART|BOOK|VOLUME)\b.{{0,80}}"),
        (1, r"第[0-9一二三四五六七八九十百]{1,5}[部編编卷].{0,40}"),
        (2, rf"(?:CHAPTER|Chapter|CHAP\.|LETTER|Letter|KAPITEL|Kapitel|CHAPITRE|Chapitre|CAPÍTULO|Capítulo|CAPITOLO|"
            rf"Capitolo|ACT|Act|Акт|Глава|ГЛАВА) {_NUMBER}\b.{{0,80}}"),
        (2, r"第[0-9一二三四五六七八九十百千]{1,7}[章回].{0,40}"),
        (2, r"(?i:prologue|epilogue|preface|foreword|introduction|afterword|appendix|conclusion|acknowledge?ments)\.?"),
        (3, rf"(?:SCENE|Scene) {_NUMBER}\b.{{0,80}}"),
        (3, r"[IVXLC]{1,8}\.?"),
    )  # fmt: skip

    def __init__(
        self,
        max_tokens: int = 512,
        overlap: int = 0,
        tokenizer: Any = None,
        *,
        min_tokens: int = 0,
        patterns: Sequence[tuple[int, str]] | None = None,
        prepend_headings: bool = True,
        within: Chunker | None = None,
    ) -> None:
        super().__init__(
            max_tokens,
            overlap,
            tokenizer,
            min_tokens=min_tokens,
            prepend_headings=prepend_headings,
            within=within,
        )
        self.patterns = self.PATTERNS if patterns is None else tuple(patterns)
        try:
            for level, pattern in self.patterns:
                if isinstance(level, bool) or not isinstance(level, int) or level < 1:
                    raise ValueError(f"patterns must have levels from 1, not {level!r}")
                re.compile(pattern)
        except (TypeError, re.error) as error:
            raise ValueError(f"patterns must be (level, regular expression) pairs: {error}") from error

    def _headings(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Lines after an empty one; short ones only, so that no pattern is tried on a whole paragraph."""
        patterns = [(level, re.compile(pattern)) for level, pattern in self.patterns]
        for match in re.finditer(r"(?:\A|\n[ \t\r]{0,8}\n|\f)\s{0,20}?([^\s][^\n\f]{0,118})(?=[\n\f]|\Z)", text):
            line = match[1].strip()
            level = next((level for level, pattern in patterns if pattern.fullmatch(line)), 0)
            if level:
                yield match.start(1), level, line


class LegalChunker(OutlineChunker):
    """Clauses by their numbers: "PART I", "Article 4", "§ 3", "1.", "1.2", "(a)", "(ii)".

    A clause's title is its first line, if that is short and no sentence; else its number.
    """

    _LINE = re.compile(
        r"^[ \t]{0,24}(?:"
        r"(?P<part>(?:PART|Part|TITLE|Title|BOOK|Book|SCHEDULE|Schedule|ANNEX|Annex|APPENDIX|Appendix|EXHIBIT|Exhibit) "
        r"(?:[0-9]{1,3}|[IVXLC]{1,7}|[A-Z])\b)"
        r"|(?P<chapter>(?:CHAPTER|Chapter) (?:[0-9]{1,3}|[IVXLC]{1,7})\b)"
        r"|(?P<article>(?:(?:SECTION|Section|ARTICLE|Article|CLAUSE|Clause|Art\.|Sec\.) |§{1,2} ?)"
        r"(?:[0-9]{1,4}[a-z]?(?:\.[0-9]{1,3}){0,4}|[IVXLC]{1,7})\b)"
        r"|(?P<decimal>[0-9]{1,3}(?:\.[0-9]{1,3}){0,5})(?:\.|\)|(?<=\.[0-9])|(?<=\.[0-9][0-9])|(?=[ \t]+[^\W\d_]))(?=[ \t])"
        r"|\((?P<letter>[a-zA-Z]{1,6})\)(?=[ \t])"
        r")",
        re.MULTILINE,
    )
    _MARKS: tuple[str, ...] = ("part", "chapter", "article", "decimal", "letter")

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

    def _headings(self, text: str) -> Iterator[tuple[int, int, str]]:
        letter = ""  # the last one, to tell the letter (i) from the number
        for match in self._LINE.finditer(text):
            kind = str(match.lastgroup)
            if kind not in self._MARKS:
                continue
            number = match[0].strip()
            line = text[match.start() : match.start() + 120].lstrip().split("\n", 1)[0].strip()
            titled = len(line) <= 90 and line[-1] not in ".;,:" and not line[len(number) :].strip()[:1].islower()
            if kind == "letter":
                level = self._letter_level(match["letter"], letter)
                if level is None:
                    continue
                letter = match["letter"] if level == 20 else letter
            else:
                letter = ""
                level = self._MARKS.index(kind) + 1 + match[kind].count(".") * (kind == "decimal")
            if self._accepts(kind, titled, line):
                start = match.start() + len(match[0]) - len(match[0].lstrip())
                yield start, level, line if titled else number

    def _accepts(self, kind: str, titled: bool, line: str) -> bool:
        return True

    def _letter_level(self, mark: str, before: str) -> int | None:
        follows = len(mark) == 1 and ord(mark) == (ord(before) + 1 if before else ord("a"))
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
    _MARKS = ("name", "roman", "decimal", "capital")

    def _headings(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Names, roman and first-level numbers count alike."""
        levels = {1: 1, 2: 1, 4: 2}
        for position, level, title in super()._headings(text):
            yield position, levels.get(level, level - 2), title

    def _accepts(self, kind: str, titled: bool, line: str) -> bool:
        return kind == "name" or titled
