"""WordPiece in plain Python: slow and clear, with the ids, spans and flags of the native one.

Method: BERT's normaliser, pre-tokeniser and greedy longest match (Devlin et al. 2018, tokenization.py in
github.com/google-research/bert), with the positions that Hugging Face `tokenizers` gives. What a code point is (white
space, punctuation, mark, its lower case and decomposition) comes from the native tables, which tests compare with
`tokenizers`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rapidchunk._core import unicode_record

_CLEANED, _SPACE, _PUNCTUATION, _NONSPACING, _CJK, _WORD = 1, 2, 4, 8, 16, 32


class _Char(NamedTuple):
    """A character, and the bytes of the text that it comes from."""

    value: str
    start: int
    end: int


@cache
def _record(char: str) -> tuple[int, int, str, str]:
    """Flags, combining class, lower case and full canonical decomposition."""
    code_point = ord(char)
    flags, combining_class, lower, parts = unicode_record(code_point)
    syllable = code_point - 0xAC00
    if 0 <= syllable < 11172:
        parts = [0x1100 + syllable // 588, 0x1161 + syllable % 588 // 28]
        if syllable % 28:
            parts.append(0x11A7 + syllable % 28)
    return flags, combining_class, "".join(map(chr, lower)), "".join(map(chr, parts)) or char


def _decode(text: bytes) -> Iterator[_Char]:
    """The code points of UTF-8; every maximal invalid part is U+FFFD."""
    at = 0
    while at < len(text):
        try:
            valid, broken = text[at:].decode("utf-8"), 0
        except UnicodeDecodeError as error:
            valid, broken = text[at : at + error.start].decode("utf-8"), error.end - error.start
        for char in valid:
            size = len(char.encode())
            yield _Char(char, at, at + size)
            at += size
        if broken:
            yield _Char("\ufffd", at, at + broken)
            at += broken


class WordPiece:
    """The reference for `_core.WordPiece`: the same arguments, the same results."""

    def __init__(
        self,
        vocab: Sequence[str],
        *,
        lowercase: bool = True,
        strip_accents: bool = True,
        clean_text: bool = True,
        handle_chinese_chars: bool = True,
        unk: str = "[UNK]",
        prefix: str = "##",
        max_input_chars_per_word: int = 100,
        encode_special: bool = False,
        added: Sequence[tuple[str, int, bool, bool, bool, bool, bool]] = (),
    ) -> None:
        self._ids = {token: i for i, token in enumerate(vocab)}
        self._longest = max(map(len, vocab))
        self._lowercase, self._strip_accents = lowercase, strip_accents
        self._clean_text, self._handle_chinese_chars = clean_text, handle_chinese_chars
        self._unk, self._prefix, self._max_chars = self._ids[unk], prefix, max_input_chars_per_word
        self._encode_special = encode_special
        self._raw = {token[0]: token for token in added if not token[2]}
        self._normalized = {}
        for token in added:
            if token[2]:
                chars = self._normalize(list(_decode(token[0].encode())))
                self._normalized["".join(c.value for c in chars)] = token

    def encode(
        self, texts: Sequence[bytes], threads: int = 1
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
        """ids (int32), starts and ends (int64, bytes of the text), continues (uint8: 1 for a further piece of a word),
        one row a token, and offsets (int64, one more than texts): the rows where documents begin and end."""
        rows: list[tuple[int, int, int, int]] = []
        offsets = [0]
        for text in texts:
            rows.extend(self._encode(text))
            offsets.append(len(rows))
        columns = list(zip(*rows)) if rows else [(), (), (), ()]
        return (
            np.array(columns[0], np.int32),
            np.array(columns[1], np.int64),
            np.array(columns[2], np.int64),
            np.array(columns[3], np.uint8),
            np.array(offsets, np.int64),
        )

    def count(self, texts: Sequence[bytes], threads: int = 1) -> NDArray[np.int64]:
        """The number of tokens of each text (int64)."""
        return np.array([sum(1 for _ in self._encode(text)) for text in texts], np.int64)

    def _encode(self, text: bytes) -> Iterator[tuple[int, int, int, int]]:
        for part, token in self._match(list(_decode(text)), self._raw):
            if token is not None:
                yield token, part[0].start, part[-1].end, 0
                continue
            for piece, found in self._match(self._normalize(part), self._normalized):
                if found is not None:
                    yield found, piece[0].start, piece[-1].end, 0
                    continue
                for word in self._words(piece):
                    yield from self._pieces(word)

    def _match(
        self, chars: list[_Char], added: dict[str, tuple[str, int, bool, bool, bool, bool, bool]]
    ) -> Iterator[tuple[list[_Char], int | None]]:
        """The text in parts: added tokens with their ids, and what is between them with None."""
        text = "".join(c.value for c in chars)
        longest = max(map(len, added), default=0)
        done = at = 0
        while at < len(text) and longest:
            size = next((n for n in range(longest, 0, -1) if text[at : at + n] in added), 0)
            if size == 0:
                at += 1
                continue
            _, token_id, _, lstrip, rstrip, single_word, special = added[text[at : at + size]]
            start, stop = at, at + size
            at = stop
            if special and not self._encode_special:
                continue
            if single_word and start > 0 and _record(text[start - 1])[0] & _WORD:
                continue
            if single_word and stop < len(text) and _record(text[stop])[0] & _WORD:
                continue
            while lstrip and start > done and _record(text[start - 1])[0] & _SPACE:
                start -= 1
            while rstrip and stop < len(text) and _record(text[stop])[0] & _SPACE:
                stop += 1
            if done < start:
                yield chars[done:start], None
            yield chars[start:stop], token_id
            done = stop
        if done < len(chars):
            yield chars[done:], None

    def _normalize(self, chars: list[_Char]) -> list[_Char]:
        if self._clean_text:
            chars = [c for c in chars if not _record(c.value)[0] & _CLEANED]
            chars = [c._replace(value=" ") if _record(c.value)[0] & _SPACE else c for c in chars]
        if self._handle_chinese_chars:
            blank = [(c, c._replace(value=" ")) for c in chars]
            chars = [x for c, b in blank for x in ([b, c, b] if _record(c.value)[0] & _CJK else [c])]
        if self._strip_accents:
            chars = [c for c in self._decompose(chars) if not _record(c.value)[0] & _NONSPACING]
        if self._lowercase:
            chars = [c._replace(value=lower) for c in chars for lower in _record(c.value)[2]]
        return chars

    def _decompose(self, chars: list[_Char]) -> list[_Char]:
        """NFD. As in `tokenizers`, places are handed out after reordering: each first part of a decomposition takes the
        next character's place, each further part the last place taken."""
        parts = [(part, i > 0) for c in chars for i, part in enumerate(_record(c.value)[3])]
        ordered: list[tuple[str, bool]] = []
        marks: list[tuple[str, bool]] = []
        for part in parts:
            if _record(part[0])[1] == 0:
                ordered += sorted(marks, key=lambda mark: _record(mark[0])[1])
                marks = []
                ordered.append(part)
            else:
                marks.append(part)
        ordered += sorted(marks, key=lambda mark: _record(mark[0])[1])
        result: list[_Char] = []
        taken = 0
        for value, further in ordered:
            taken += not further
            result.append(chars[taken - 1]._replace(value=value))
        return result

    def _words(self, chars: list[_Char]) -> Iterator[list[_Char]]:
        word: list[_Char] = []
        for c in chars:
            flags = _record(c.value)[0]
            if not flags & (_SPACE | _PUNCTUATION):
                word.append(c)
                continue
            if word:
                yield word
            word = []
            if not flags & _SPACE:
                yield [c]
        if word:
            yield word

    def _pieces(self, word: list[_Char]) -> list[tuple[int, int, int, int]]:
        unknown = [(self._unk, word[0].start, word[-1].end, 0)]
        if len(word) > self._max_chars:
            return unknown
        text = "".join(c.value for c in word)
        pieces: list[tuple[int, int, int, int]] = []
        at = 0
        while at < len(word):
            prefix = self._prefix if at else ""
            for end in range(min(len(word), at + self._longest), at, -1):
                piece = self._ids.get(prefix + text[at:end])
                if piece is not None:
                    break
            else:
                return unknown
            pieces.append((piece, word[at].start, word[end - 1].end, int(at > 0)))
            at = end
        return pieces
