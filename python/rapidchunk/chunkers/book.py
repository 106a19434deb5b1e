"""Books in plain text, by parts and chapters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from rapidchunk.chunkers.base import Chunker
from rapidchunk.chunkers.outline import Heading, OutlineChunker

__all__ = ["BookChunker", "counted"]

_NUMBER = (
    r"(?:[0-9]{1,4}|[IVXLCDM]{1,9}|[A-Z]|(?i:the )?(?i:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|one|two|"
    r"three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|"
    r"twenty(?:[- ][a-z]{3,5})?|thirty(?:[- ][a-z]{3,5})?|forty(?:[- ][a-z]{3,5})?))"
)
# A short line after an empty one.
_LINE = re.compile(r"(?:\A|\n[ \t\r]{0,8}\n|\f)\s{0,20}?([^\s][^\n\f]{0,118})(?=[\n\f]|\Z)")
# A chapter that is only numbered, and the line that may be its title.
_NUMBERED = re.compile(rf"(?:\w{{3,10}}\.? )?{_NUMBER}\.?")
_BELOW = re.compile(r"[ \t\r]{0,8}\n(?:[ \t\r]{0,8}\n)?[ \t]{0,40}([^\s][^\n\f]{0,60})(?=\r?\n[ \t\r]{0,8}\n)")
_NAMED = re.compile(r"((?:[1-3] )?[^\W\d_][\w’']{1,20}(?: [\w’']{1,20}){0,2}) ([0-9]{1,3})")


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

    def _headings(self, text: str) -> Iterator[Heading]:
        """Lines after an empty one; short ones only, so that no pattern is tried on a whole paragraph."""
        patterns = [(level, re.compile(pattern)) for level, pattern in self.patterns]
        lines = [(match.start(1), match[1].strip()) for match in _LINE.finditer(text)]
        numbered = counted(text) if self.patterns is self.PATTERNS else frozenset()
        after = 0  # where the last heading ends
        for start, line in lines:
            level = next((level for level, pattern in patterns if pattern.fullmatch(line)), 0)
            level = level or 2 * (line in numbered)
            if not level or start < after:
                continue
            title, after = line, start + len(line)
            below = _BELOW.match(text, after) if self.patterns is self.PATTERNS and _NUMBERED.fullmatch(line) else None
            if below and _is_title(below[1]) and not any(p.fullmatch(below[1].strip()) for _, p in patterns):
                title, after = f"{line.rstrip('.')}: {below[1].strip()}", below.end(1)
            yield Heading(start, after, level, title)


def counted(text: str) -> frozenset[str]:
    """The lines after an empty one that count something of one name ("Jonah 1", "Jonah 2"), each with text below it."""
    numbers: dict[str, set[int]] = {}
    for match in _LINE.finditer(text):
        named = _NAMED.fullmatch(match[1].strip())
        if named and not named[1].islower() and text[match.end() : match.end() + 400].strip():
            numbers.setdefault(named[1], set()).add(int(named[2]))
    return frozenset(
        f"{name} {number}" for name, found in numbers.items() for number in found if {number - 1, number + 1} & found
    )


def _is_title(line: str) -> bool:
    words = [word for word in re.findall(r"[^\W\d_]+", line) if len(word) > 3] or line.split()
    return all(word[0].isupper() for word in words) and line.rstrip()[-1] not in ",;:"
