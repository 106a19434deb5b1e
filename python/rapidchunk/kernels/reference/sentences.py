"""The sentence stage in plain Python: one code point at a time, what csrc/sentences/sentences.cpp does.

The rules follow what the golden rules of pragmatic_segmenter and the test sets of pySBD and sentencex agree on.
Positions inside the scanner are code points; the spans that come out are bytes of the UTF-8 text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rapidchunk.kernels.reference import sentence_tables as tables

LONGEST_QUOTE = 1024  # bytes that one pair of quotes or brackets holds together
WORD_REACH = 32  # characters that are read of a word before or after a full stop
MOST_OPENED = 8

TITLE, NUMBER, COMPANY, LOOSE, TIME, STARTER, MONTH, PRONOUN, ZONE, OPENING, LOWER = tables.WORD_CLASSES.values()
ABBREVIATION = TITLE | NUMBER | COMPANY | LOOSE | TIME
ORDINAL_LANGUAGES = frozenset(
    ["de", "da", "nb", "fi", "is", "et", "lv", "cs", "sk", "sl", "hr", "sr", "hu", "tr", "pl"]
)
CLOSING = dict(zip('(["“„«»「『〈《【（［｢', ')]"”“»«」』〉》】）］｣', strict=True))
PARTICLES = "とっのをがな"
ALPHANUMERIC = frozenset(("upper", "lower", "letter", "digit"))
CANDIDATES = frozenset('\n\r.!?:;()[]"')


def sentence_spans(
    texts: Sequence[bytes],
    language: str | None = None,
    newline_is_boundary: bool = False,
    threads: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The sentences of UTF-8 texts.

    A blank line ends a sentence; a single line break does so where a list item, heading, table row or rule begins or
    ends, and everywhere with `newline_is_boundary`. Text within one pair of quotes or brackets (up to 1024 bytes) stays
    together. `language` is an ISO 639-1 code, with or without a region; None takes the abbreviations of all languages.
    `threads` changes nothing in the result.

    Returns the spans, int64 [n, 2], in bytes of their own text, without white space at either end, and for D texts the
    offsets, int64 [D + 1]: spans[offsets[d]:offsets[d + 1]] are those of text d. Every character that is not white
    space is in exactly one span. Raises ValueError naming `language` or `threads`.
    """
    code = language_code(language)
    if threads is not None and threads < 1:
        raise ValueError("threads must be at least 1")
    spans: list[tuple[int, int]] = []
    offsets = [0]
    for text in texts:
        spans += Scanner(text.decode("utf-8"), code, newline_is_boundary).run()
        offsets.append(len(spans))
    return np.array(spans, np.int64).reshape(-1, 2), np.array(offsets, np.int64)


def language_code(language: str | None) -> int:
    """The column of a language in the tables; 0 for none given."""
    if not language:
        return 0
    name = language.replace("_", "-").split("-")[0]
    if name not in tables.LANGUAGES:
        raise ValueError(f"language must be None or one of {', '.join(tables.LANGUAGES)}, not {language!r}")
    return 1 + tables.LANGUAGES.index(name)


@dataclass
class Marker:
    """A list item's marker, "3." "b)" "iv."; a letter has a value as a letter and as a Roman number."""

    end: int = 0
    number: int = 0
    letter: int = 0
    roman: int = 0
    style: str = ""


@dataclass
class Sentence:
    """The sentence that is being read."""

    start: int = 0
    item: int = 0
    whole_line: bool = False
    list: Marker = field(default_factory=Marker)


@dataclass
class Opened:
    closing: str
    at: int
    sentences: int
    sentence: Sentence


@dataclass
class Run:
    """Full stops that stand together."""

    first_end: int = 0
    end: int = 0
    dots: int = 0
    groups: int = 1
    strong: bool = False
    wide: bool = False
    stop: bool = False


@dataclass
class Next:
    """What follows a full stop: `word` is the first character that tells something."""

    word: int
    kind: str = "newline"
    char: str = ""
    opened: bool = False
    bracket: bool = False
    dash: bool = False


@dataclass
class Word:
    begin: int
    end: int
    digits: bool = True
    roman: bool = True
    letters: int = 0


def kind_of(char: str) -> str:
    return tables.KINDS[tables.RANGE_KIND[bisect_right(tables.RANGE_START, ord(char)) - 1]]


def roman_value(text: str) -> int:
    total = last = 0
    for char in reversed(text.lower()):
        value = {"i": 1, "v": 5, "x": 10}.get(char, 0)
        if not value:
            return 0
        total += -value if value < last else value
        last = max(last, value)
    return total


class Scanner:
    def __init__(self, text: str, language: int, newline_is_boundary: bool) -> None:
        self.text = text
        self.size = len(text)
        self.kinds = [kind_of(char) for char in text]
        self.bytes = [0]
        for char in text:
            self.bytes.append(self.bytes[-1] + len(char.encode()))
        self.language = language
        self.newline_is_boundary = newline_is_boundary
        self.ordinals = language > 0 and tables.LANGUAGES[language - 1] in ORDINAL_LANGUAGES
        self.out: list[tuple[int, int]] = []
        self.opened: list[Opened] = []
        self.sentence = Sentence()
        self.at = 0  # candidates before this position are done

    def run(self) -> list[tuple[int, int]]:
        self.begin(self.skip_space(0)[0], True)
        self.at = self.sentence.start
        for i in range(self.size):
            if i >= self.at:
                self.visit(i)
        if self.sentence.start < self.size:
            self.end_sentence(self.trim(self.size), self.size, True)
        return [(self.bytes[start], self.bytes[end]) for start, end in self.out]

    # ---- characters ----

    def kind_at(self, i: int) -> str:
        return self.kinds[i] if i < self.size else "newline"

    def char_at(self, i: int) -> str:
        return self.text[i] if 0 <= i < self.size else ""

    def is_one_of(self, i: int, chars: str) -> bool:
        return 0 <= i < self.size and self.text[i] in chars

    def is_space_at(self, i: int) -> bool:
        return self.kind_at(i) in ("space", "newline")

    def is_alphanumeric_at(self, i: int) -> bool:
        return self.kind_at(i) in ALPHANUMERIC

    def skip_space(self, i: int) -> tuple[int, int]:
        """The end of the white space from i on and its line breaks. A space that carries a combining mark is none."""
        newlines, last_space = 0, -1
        while i < self.size:
            char, kind = self.text[i], self.kinds[i]
            if kind == "newline":
                newlines += not (char == "\n" and i > 0 and self.text[i - 1] == "\r")
                newlines += char == "\u2029"  # a paragraph separator is a blank line
            elif kind == "mark" and last_space >= 0:
                return last_space, newlines
            elif kind != "space":
                break
            last_space = i if kind == "space" and char >= " " else -1
            i += 1
        return i, newlines

    def trim(self, end: int) -> int:
        while end > self.sentence.start and self.is_space_at(end - 1):
            end -= 1
        return end

    # ---- sentences ----

    def begin(self, start: int, line_start: bool) -> None:
        item = start
        while item < self.size and (self.kinds[item] == "bullet" or self.text[item] in " \t"):
            item += 1
        self.sentence = Sentence(start, item, line_start and self.is_whole_line(start), self.marker_at(item))

    def end_sentence(self, end: int, following: int, hard: bool, line_start: bool = False) -> None:
        """A hard end is one that no closing quote or bracket may undo."""
        if end > self.sentence.start:
            self.out.append((self.sentence.start, end))
        if hard:
            self.opened.clear()
        self.begin(following, line_start)
        self.at = following

    def is_whole_line(self, i: int) -> bool:
        """Lines that stand alone: "# heading", "-----", "| table | row |"."""
        char = self.char_at(i)
        if char == "|":
            return True
        if not char or char not in "#-=_*~+/":
            return False
        j = i
        while self.char_at(j) == char:
            j += 1
        if char == "#" and j - i <= 6 and self.is_one_of(j, " \t"):
            return True
        if j - i < 3:
            return False
        while self.is_one_of(j, " \t"):
            j += 1
        return j == self.size or self.text[j] in "\n\r"

    def marker_at(self, i: int) -> Marker:
        """The marker "12." "b)" "iv.)" "(3)" at i, with white space after it."""
        m = Marker()
        bracket = self.char_at(i) == "("
        first = j = i + bracket
        while j - first < 3 and self.is_one_of(j, "0123456789"):
            j += 1
        if j > first:
            m.number = int(self.text[first:j])
        else:
            while j - first < 5 and self.char_at(j).isascii() and self.char_at(j).isalpha():
                j += 1
            letters = self.text[first:j]
            if len(letters) == 1:
                m.letter = ord(letters.lower()) - ord("a") + 1
            m.roman = roman_value(letters)
            if not m.letter and not m.roman:
                return Marker()
        if self.char_at(j) == ")":
            m.style = ")"
            j += 1
        elif self.char_at(j) == "." and not bracket:
            m.style = "."
            j += 1
            j += self.char_at(j) == ")"
        if not m.style or j >= self.size or not self.is_space_at(j):
            return Marker()
        m.end = j
        return m

    def begins_block(self, i: int) -> bool:
        """A line that begins at i begins a list item, a heading, a table row or a rule."""
        char, kind = self.text[i], self.kinds[i]
        if kind == "bullet" or self.is_whole_line(i):
            return True
        if (kind == "dash" or char in "*+") and i + 1 < self.size and self.is_space_at(i + 1):
            return True
        m = self.marker_at(i)
        return bool(m.style) and (m.number > 0 or char == "(" or m.style == ")" or kind == "lower")

    def is_hard(self, gap: tuple[int, int]) -> bool:
        end, newlines = gap
        if newlines == 1:
            return self.newline_is_boundary or self.sentence.whole_line or (end < self.size and self.begins_block(end))
        return newlines >= 2

    # ---- quotes and brackets ----

    def open(self, closing: str, i: int) -> None:
        if len(self.opened) == MOST_OPENED:
            del self.opened[0]
        self.opened.append(Opened(closing, i, len(self.out), copy(self.sentence)))

    def close(self, char: str, i: int) -> bool:
        """Undoes the ends of sentences inside what `char` at i closes; False when it closes nothing."""
        for k in reversed(range(len(self.opened))):
            opened = self.opened[k]
            if opened.closing != char and not (opened.closing == "“" and char == "”"):
                continue
            del self.opened[k:]
            if len(self.out) > opened.sentences and self.bytes[i] - self.bytes[opened.at] <= LONGEST_QUOTE:
                del self.out[opened.sentences :]
                self.sentence = opened.sentence
            return True
        return False

    def is_open(self, char: str) -> bool:
        return any(o.closing == char or (o.closing == "“" and char == "”") for o in self.opened)

    def mouth_of_smiley(self, i: int) -> bool:
        start = self.sentence.start
        j = i - (i > start and self.text[i - 1] == "-")
        if j == start or self.text[j - 1] not in ":;=":
            return False
        return j - 1 == start or self.is_space_at(j - 2)

    def after_smiley(self, i: int) -> None:
        """A smiley ends a sentence without a full stop when a capital letter follows."""
        while self.is_one_of(self.at, "()"):
            self.at += 1
        if self.is_open(self.text[i]):
            return
        end = self.at
        gap = self.skip_space(end)
        if gap[0] >= self.size or gap[0] == end:
            return
        if self.is_hard(gap):
            self.end_sentence(end, gap[0], True, gap[1] > 0)
        elif self.kind_at(gap[0]) == "upper":
            self.end_sentence(end, gap[0], False)

    def quote_or_bracket(self, i: int) -> None:
        char = self.text[i]
        self.at = i + 1
        if char == ")" and self.inline_item(i):
            return
        if char in "()" and self.mouth_of_smiley(i):
            self.after_smiley(i)
            return
        other = CLOSING.get(char)
        if other is None:
            self.close(char, i)
        elif char not in '"“«»':
            self.open(other, i)
        else:
            left = self.kinds[i - 1] if i else "newline"
            after_gap = left in ("space", "newline", "open", "quote", "dash")
            before_gap = self.at >= self.size or self.is_space_at(self.at)
            if char != '"':
                if not (self.is_open(char) and self.close(char, i)) and (after_gap or char == "“"):
                    self.open(other, i)
            elif (after_gap and not before_gap) or (not self.close(char, i) and after_gap and before_gap):
                self.open(other, i)

    # ---- full stops ----

    def stops(self, i: int, run: Run) -> int:
        while i < self.size:
            kind = self.kinds[i]
            if self.text[i] == ".":
                run.dots += 1
            elif kind == "dots":
                run.dots += 3
            elif kind == "strong":
                run.strong = True
            elif kind == "wide":
                run.wide = True
            elif kind == "stop" or self.is_letter_stop(i):
                run.stop = True
            elif kind != "mark":
                break
            i += 1
        return i

    def is_letter_stop(self, i: int) -> bool:
        """The Greek question mark is typed as a semicolon, the Armenian full stop as a colon."""
        if i == 0 or self.text[i] not in ";:":
            return False
        j = i - 1
        if self.text[i] == ":" and self.text[j] == " " and j > 0:
            j -= 1
        code = ord(self.text[j])
        if self.text[i] == ";":
            return 0x370 <= code < 0x400 or 0x1F00 <= code < 0x2000
        return 0x531 <= code < 0x590 or code == 0x2026

    def closers(self, i: int, run: Run, closed: bool) -> tuple[int, bool]:
        """Quotes, brackets, emphasis and footnote numbers right after a full stop belong to its sentence."""
        while i < self.size:
            char, kind = self.text[i], self.kinds[i]
            if kind == "close":
                self.close(char, i)
                closed = True
            elif kind == "quote":
                always = char in "”’＂"
                if not always and self.is_alphanumeric_at(i + 1) and not (char != '"' and self.is_open(char)):
                    break
                self.close(char, i)
                closed = True
            elif char in "*_":
                pass
            elif char == "[" and not run.wide:
                j = i + 1
                while j < self.size and j - i - 1 < 8 and self.text[j].isascii() and self.is_alphanumeric_at(j):
                    j += 1
                if j == i + 1 or self.char_at(j) != "]":
                    break
                i = j
            elif char in "¹²³" or "\u2070" <= char <= "\u2079":
                pass
            elif closed and (char == "." or kind in ("strong", "wide", "stop")):
                i = self.stops(i, run)
                continue
            elif kind != "mark":
                break
            i += 1
        return i, closed

    def smiley(self, i: int) -> int:
        """The end of a smiley or of emoji at i; i when there is none."""
        j = i
        if i + 1 < self.size and self.text[i] in ":;=":
            j += 1
            j += self.text[j] in "-'"
            mouth = j
            while self.is_one_of(j, ")(DPp|/"):
                j += 1
            return i if j == mouth or self.is_alphanumeric_at(j) else j
        while j < self.size and (self.kinds[j] == "emoji" or (j > i and self.kinds[j] == "mark")):
            j += 1
        return j

    def trailer(self, i: int, run: Run, closed: bool) -> tuple[int, bool]:
        """The end of a closing quote, smiley or footnote that a space parts from its sentence; i when there is none."""
        char, kind = self.text[i], self.kinds[i]
        begins_word = char in '"“' and i + 1 < self.size and not self.is_space_at(i + 1)
        if kind in ("close", "quote") and self.is_open(char) and not begins_word:
            return self.closers(i, run, closed)
        if char == "[":
            j = i + 1
            while j - i < 5 and self.is_one_of(j, "0123456789"):
                j += 1
            return (j + 1 if j > i + 1 and self.char_at(j) == "]" else i), closed
        return self.smiley(i), closed

    def look(self, i: int) -> Next:
        """Looks past quotes, brackets, bullets, emphasis and dashes."""
        following = Next(i)
        for _ in range(8):
            if following.word >= self.size:
                break
            char, kind, after = self.text[following.word], self.kinds[following.word], following.word + 1
            if kind in ("open", "quote", "inverted", "bullet") or char in "*_":
                following.opened = True
                following.bracket |= kind == "open"
            elif kind == "dash" and (
                following.dash or self.kind_at(after) == "dash" or (after < self.size and self.is_space_at(after))
            ):
                following.dash = True
            elif not (kind == "space" and (following.dash or following.opened)):
                break
            following.word = after
        following.kind = self.kind_at(following.word)
        following.char = self.char_at(following.word)
        return following

    # ---- words ----

    def classes_of(self, begin: int, end: int) -> int:
        return self.classes_of_word(self.text[begin:end])

    def classes_of_word(self, word: str) -> int:
        profile = tables.WORDS.get(word)
        return 0 if profile is None else tables.PROFILES[profile][self.language]

    def classes_after(self, i: int) -> int:
        """The classes of the word that begins at i."""
        if i >= self.size:
            return 0
        end, apostrophe = i, -1
        for _ in range(WORD_REACH):
            if end >= self.size:
                break
            if self.text[end] in "'’" and apostrophe < 0:
                apostrophe = end
            elif not self.is_alphanumeric_at(end) and self.kinds[end] != "mark":
                break
            end += 1
        if self.char_at(end) == "." and end == i + 1:  # "A. A. Milne": an initial, not the article
            return 0
        classes = self.classes_of(i, end)
        return self.classes_of(i, apostrophe) if not classes and apostrophe > i else classes

    def word_before(self, end: int) -> int:
        """The beginning of the word that ends at `end`, with the signs that stand inside abbreviations."""
        i = end
        for _ in range(WORD_REACH):
            if i <= self.sentence.start:
                break
            if not self.is_alphanumeric_at(i - 1) and self.kinds[i - 1] != "mark" and self.text[i - 1] not in ".-'/’°º":
                break
            i -= 1
        return i

    def word_at(self, i: int) -> Word:
        """The word before the full stop at i; text that was split into tokens has a space between them."""
        end = i - (i > self.sentence.start and self.text[i - 1] == " ")
        begin = self.word_before(end)
        while begin < end and self.text[begin] == "-":
            begin += 1
        chars = self.text[begin:end]
        return Word(begin, end, all(c in "0123456789" for c in chars), all(c in "IVXLC" for c in chars), len(chars))

    def classes_before(self, word: Word) -> int:
        """The classes of a word, or of its last part after a full stop, hyphen, apostrophe or slash."""
        classes = self.classes_of(word.begin, word.end)
        if classes or word.letters == 1:
            return classes
        part = word.end
        while part > word.begin and self.text[part - 1] not in ".-'/":
            part -= 1
        if part in (word.begin, word.end):
            return 0
        if part + 1 < word.end:
            classes = self.classes_of(part, word.end)
        length = 0
        for j in reversed(range(word.begin, word.end)):  # "U.S", "i.v": parts of one or two letters
            if self.text[j] == "/":
                break
            length = 0 if self.text[j] == "." else length + 1
            if length > 2 or self.kinds[j] == "digit":
                return classes
        return classes | COMPANY if self.text[part - 1] == "." else classes

    def classes_of_pair(self, word: Word) -> int:
        """ "z. B.", "a. m.": the classes of a letter together with the letter and full stop before it."""
        begin = word.begin
        if begin < self.sentence.start + 3 or self.text[begin - 2 : begin] != ". ":
            return 0
        other = self.word_before(begin - 2)
        if begin - 2 - other != 1:
            return 0
        return self.classes_of_word(f"{self.text[other]}.{self.text[begin : word.end]}")

    def goes_on_after_time(self, after: int) -> bool:
        return bool(after & ZONE or (not after & STARTER and self.classes_after(self.sentence.start) & OPENING))

    def is_abbreviation(self, i: int, following: Next) -> bool:
        """The single full stop at i belongs to an abbreviation, an initial or an ordinal number."""
        word = self.word_at(i)
        if word.letters == 0:
            return False
        after = self.classes_after(following.word)
        starter = bool(after & STARTER)
        if word.digits or (word.roman and word.letters > 1):
            if word.letters > (2 if word.digits else 6):
                return False
            if after & MONTH or following.kind == "dash":
                return True
            return self.ordinals and following.kind == "upper" and not (starter or following.opened or following.dash)
        classes = self.classes_before(word)
        if word.letters == 1 and self.is_alphanumeric_at(word.begin):
            classes |= self.classes_of_pair(word)
            if classes & TITLE or following.kind == "digit":
                return True
            if classes & TIME:
                return self.goes_on_after_time(after)
            return not starter and (not following.opened or following.bracket)
        if not classes:
            return False
        if following.kind == "digit" and classes & (TITLE | NUMBER | COMPANY | LOOSE):
            return True
        if classes & TITLE:
            return following.kind in ("upper", "letter", "other")
        if classes & TIME:
            return self.goes_on_after_time(after)
        if classes & COMPANY:
            return (following.opened and following.bracket) or not starter
        if classes & NUMBER and following.kind == "upper" and not starter:  # "Fig. A", "Vol. II"
            j = following.word + 1
            if following.char in "IVXLC":
                for _ in range(WORD_REACH):
                    if not self.is_one_of(j, "IVXLC"):
                        break
                    j += 1
            return not self.is_alphanumeric_at(j)
        return False

    def is_small_word(self, begin: int, end: int, more: str = "") -> bool:
        """Small letters and the characters of `more`, the first letter perhaps a capital."""
        return all(
            self.kinds[j] == "lower" or self.text[j] in more or (j == begin and self.kinds[j] == "upper")
            for j in range(begin, end)
        )

    def is_glued(self, i: int) -> bool:
        """ "world.Today is": a full stop without the space after it; not in names of files, hosts and identifiers."""
        word = self.word_at(i)
        begin = word.begin
        if (
            word.end != i
            or word.letters >= WORD_REACH
            or not (begin == self.sentence.start or self.is_space_at(begin - 1))
        ):
            return False
        small = word.letters >= 3 and self.is_small_word(begin, i)
        if not word.digits and (not small or self.classes_of(begin, i) & ABBREVIATION):
            return False
        if self.kind_at(i + 1) != "upper":
            return False
        j = i + 2
        for _ in range(WORD_REACH):
            if self.kind_at(j) != "lower":
                break
            j += 1
        if j == i + 2 or j >= self.size:
            return False
        if self.text[j] == ".":
            return j + 1 < self.size and self.is_space_at(j + 1)
        return self.is_space_at(j) or self.text[j] in ",'’"

    def footnote_numbers(self, i: int) -> int:
        """ "consultation.11 12 Take": the end of the footnote numbers after the full stop at i, else 0."""
        if i == self.sentence.start:
            return 0
        if self.text[i - 1] != ")":
            word = self.word_at(i)
            if word.end != i or word.letters < 4 or self.classes_before(word) or not self.is_small_word(word.begin, i):
                return 0
        end, j = 0, i + 1
        while j < i + WORD_REACH:
            first = j
            while j - first < 3 and self.is_one_of(j, "0123456789"):
                j += 1
            if j == first or j >= self.size or not self.is_space_at(j):
                break
            end = j
            if self.text[j] != " ":
                break
            j += 1
        return end

    def is_plain_word(self, i: int) -> bool:
        """The word before the full stops at i is no abbreviation, nor looks like one."""
        word = self.word_at(i)
        if word.letters < 2 or self.classes_before(word) & ABBREVIATION:
            return False
        return self.is_small_word(word.begin, word.end, "'’")

    # ---- decisions ----

    def inline_item(self, i: int) -> bool:
        """ "1) The first 2) The second": the marker that ends at i is the next of the list the sentence begins with."""
        known, start = self.sentence.list, self.sentence.start
        if not known.style or i <= known.end:
            return False
        begin = i
        if begin > start and self.text[begin - 1] == "." and self.text[i] == ")":
            begin -= 1
        while begin > start and i - begin < 5 and self.text[begin - 1].isascii() and self.is_alphanumeric_at(begin - 1):
            begin -= 1
        if begin <= start or not self.is_space_at(begin - 1):
            return False
        m = self.marker_at(begin)
        if m.style != known.style or m.end < i or m.end > i + 2:
            return False
        if not (
            (m.number and m.number == known.number + 1)
            or (m.letter and known.letter and m.letter == known.letter + 1)
            or (m.roman and known.roman and m.roman == known.roman + 1)
        ):
            return False
        self.end_sentence(self.trim(begin), begin, False)
        self.at = m.end
        return True

    def full_stop(self, i: int) -> None:
        char = self.text[i]
        if char == "." and self.inline_item(i):
            return
        run = Run()
        run.first_end = run.end = self.at = self.stops(i, run)
        glued = self.kind_at(run.end)
        if glued in ALPHANUMERIC:
            plain = char == "." and run.dots == 1 and not run.strong and run.end == i + 1
            if run.wide:
                ends = not (char == "．" and glued == "digit" and i > 0 and self.kinds[i - 1] == "digit")
            elif run.stop:
                ends = not (char == "॥" and glued == "digit") and char not in ":;"
            elif plain and glued == "digit":
                ends = False
                end = self.footnote_numbers(i)
                if end:
                    self.finish(i, run, False, end)
            else:
                ends = plain and self.is_glued(i)
            if ends:
                self.end_sentence(run.end, run.end, False)
            return
        if not run.wide and not run.stop:  # ". . ." and "! ?"; stops before a letter belong to it (".NET", "...and")
            while self.char_at(run.end) == " " and (
                self.char_at(run.end + 1) == "." or self.kind_at(run.end + 1) in ("dots", "strong")
            ):
                more = Run()
                end = self.stops(run.end + 1, more)
                if self.is_alphanumeric_at(end) or more.wide or more.stop:
                    break
                run.dots += more.dots
                run.strong |= more.strong
                run.groups += 1
                run.end = end
        # "[...]" and "(!)" stand for words left out or doubted
        if i > 0 and self.text[i - 1] in "[(" and self.is_one_of(run.end, "])"):
            return
        end, closed = self.closers(run.end, run, False)
        if self.sentence.list.style and i < self.sentence.list.end:  # the full stop of a list marker
            self.at = end
            return
        self.finish(i, run, closed, end)

    def finish(self, i: int, run: Run, closed: bool, end: int) -> None:
        """Ends the sentence with full stops at i and its text's end at `end`, unless what follows says otherwise."""
        self.at = end
        gap = self.skip_space(end)
        if gap[0] >= self.size:
            return
        if self.is_hard(gap):
            self.end_sentence(end, gap[0], True, gap[1] > 0)
            return
        sentence_end = end
        if gap[0] == end:  # no space follows
            kind = self.kind_at(end)
            begins = kind in ("open", "quote", "emoji", "bullet") or kind in ALPHANUMERIC
            if not (run.wide or run.stop) or not begins:
                return
        while gap[1] == 0:
            more, closed = self.trailer(gap[0], run, closed)
            if more == gap[0]:
                break
            sentence_end = self.at = more
            gap = self.skip_space(more)
            if gap[0] >= self.size:
                return
            if self.is_hard(gap):
                self.end_sentence(sentence_end, gap[0], True, gap[1] > 0)
                return
            if gap[0] == more:
                return
        if not self.ends_sentence(i, run, closed, gap[0]):
            return
        if (
            (run.groups, run.dots, run.first_end) == (4, 4, i + 1)
            and end == run.end
            and i > 0
            and self.text[i - 1] != " "
        ):  # ". . . ." after a word is its full stop and an ellipsis that begins the next sentence
            self.end_sentence(run.first_end, run.first_end + 1, False)
            self.at = end
        else:
            self.end_sentence(sentence_end, gap[0], False)

    def ends_sentence(self, i: int, run: Run, closed: bool, next_start: int) -> bool:
        following = self.look(next_start)
        if run.wide or run.stop:
            char = self.char_at(next_start)  # a quotation inside its sentence goes on with a particle
            return not (closed and char in PARTICLES) and char not in ",;:"
        if following.kind in ("newline", "mark"):
            return False
        plain = run.dots == 1 and not run.strong
        if following.kind == "lower":
            if closed or following.dash or run.dots > 1:
                return False
            if plain and not following.opened and self.marker_at(following.word).style and following.char in "ai":
                return True
            if following.opened:
                return plain and not self.is_abbreviation(i, following)
            # messages in small letters: a sentence that began with one is followed by its like
            messages = self.kind_at(self.sentence.start) == "lower" or self.classes_after(following.word) & LOWER
            return bool(messages) and self.is_plain_word(i)
        if following.char == "." and not following.opened and not following.dash:  # "raak. ...en toen", ".NET is"
            j = following.word
            while self.char_at(j) == ".":
                j += 1
            return self.kind_at(j) == "upper" or (j - following.word > 1 and self.is_alphanumeric_at(j))
        if following.char in ",;:&+=/%.!?)]}>" or following.kind == "close":
            return False
        if run.strong:
            return True
        if run.dots > 1:
            return not (run.dots < 4 and self.classes_after(following.word) & PRONOUN)
        return not self.is_abbreviation(i, following)

    def line_break(self, i: int) -> None:
        gap = self.skip_space(i)
        self.at = gap[0]
        if gap[0] < self.size and self.is_hard(gap):
            self.end_sentence(self.trim(i), gap[0], True, True)

    def visit(self, i: int) -> None:
        char, kind = self.text[i], self.kinds[i]
        if char < "\x80" and char not in CANDIDATES:
            return
        if char in ":;":
            if self.is_letter_stop(i):
                self.full_stop(i)
        elif char == "." or kind in ("wide", "stop", "dots", "strong"):
            self.full_stop(i)
        elif kind in ("open", "close", "quote"):
            self.quote_or_bracket(i)
        elif kind == "newline":
            self.line_break(i)
        elif kind == "bullet":
            sentence = self.sentence
            inside = i > sentence.item and (self.kinds[sentence.start] == "bullet" or char != "·")
            if i > sentence.start and self.kinds[i - 1] == "space" and inside:
                self.end_sentence(self.trim(i), i, False)
            self.at = max(self.at, i + 1)
