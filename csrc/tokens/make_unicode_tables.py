"""Writes unicode_tables.h: what the BERT normaliser and pre-tokeniser need to know about every code point.

    python csrc/tokens/make_unicode_tables.py          (needs `tokenizers`; rewrites the header beside this file)

The base is Python's `unicodedata`. The `tokenizers` library has its own, mixed tables (its punctuation, mark and
control categories are those of Unicode 8, its decompositions are newer, its white space and lower case are those of the
Rust release it was built with), and equal ids and offsets are promised, so every code point is compared with what
`tokenizers` does with it, and where the two differ `tokenizers` wins. The result therefore does not depend on the
Python that runs this script; the header's comment says how many code points differ from that Python's `unicodedata`,
and for which property.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import cmp_to_key
from pathlib import Path

import tokenizers
from tokenizers import AddedToken, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import NFD, BertNormalizer, Lowercase
from tokenizers.pre_tokenizers import BertPreTokenizer

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
BLOCK = 128
HANGUL = range(0xAC00, 0xAC00 + 11172)  # decomposed by arithmetic, so not in the table

CLEANED, SPACE, PUNCTUATION, NONSPACING, CJK, WORD = 1, 2, 4, 8, 16, 32
CJK_RANGES = [
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    # The BERT paper's code says 0x2B820; `tokenizers` says 0x2B920, so U+2B820..U+2B91F are not separated.
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
]


def python_view(c: int) -> dict[str, object]:
    """The properties as `unicodedata` and `str` have them."""
    ch = chr(c)
    category = unicodedata.category(ch)
    return {
        "removed by cleaning": c not in (9, 10, 13) and (c == 0xFFFD or category in ("Cc", "Cf", "Co")),
        "white space": ch.isspace() and not 0x1C <= c <= 0x1F,  # str.isspace also accepts the four separators 1C-1F
        "punctuation": category[0] == "P" or ch in "$+<=>^`|~",
        "nonspacing mark": category == "Mn",
        "word character": ch == "_" or category[0] in "LMN" or category == "Pc",
        "lower case": ch.lower(),
        "decomposition": unicodedata.normalize("NFD", ch),
        "combining class": unicodedata.combining(ch),
    }


def batched(function: Callable[[str], object]) -> list[object]:
    return [function(chr(c)) for c in CODE_POINTS]


def combining_classes(nfd: NFD) -> dict[int, int]:
    """Canonical combining classes as the library has them. It only shows in which order marks end up, so a mark's class
    is found between marks whose classes are known in every version of Unicode."""

    def swaps(a: int, b: int) -> bool:
        return a != b and nfd.normalize_str(chr(a) + chr(b)) == chr(b) + chr(a)

    known: dict[int, int] = {}  # one mark for each class, of those that the library knows as marks
    for c in [*range(0x300, 0x3100), 0xFB1E, 0x1D165, 0x1D16D]:
        number = unicodedata.combining(chr(c))
        if number and number not in known and (number == 1 or swaps(c, 0x334)):
            known[number] = c
    order = sorted(known, key=cmp_to_key(lambda a, b: 1 if swaps(known[a], known[b]) else -1 if a != b else 0))
    assert order == sorted(known), "the known marks are not in the expected order"
    low, high = known[min(known)], known[max(known)]
    result = {}
    for c in CODE_POINTS:
        if len(nfd.normalize_str(chr(c))) != 1 or c in (low, high):
            if c in (low, high):
                result[c] = min(known) if c == low else max(known)
            continue
        if not swaps(c, low) and not swaps(high, c):
            continue  # a starter, or of the lowest or highest class
        below = [k for k in known if swaps(c, known[k])]
        above = [k for k in known if swaps(known[k], c)]
        between = [k for k in known if k not in below and k not in above]
        assert len(between) == 1, f"U+{c:04X} has an unknown combining class between {below} and {above}"
        result[c] = between[0]
    for c in CODE_POINTS:  # the same class as the lowest or highest one: swaps with everything else
        if c not in result and len(nfd.normalize_str(chr(c))) == 1:
            if swaps(known[order[1]], c):
                result[c] = order[0]
            elif swaps(c, known[order[-2]]):
                result[c] = order[-1]
    return result


def library_view() -> list[dict[str, object]]:
    """The properties as `tokenizers` shows them, in the order of CODE_POINTS."""
    clean = BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    strip = BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False)
    nfd, lower, split = NFD(), Lowercase(), BertPreTokenizer()
    classes = combining_classes(nfd)
    probe = Tokenizer(WordLevel({"?": 0}, unk_token="?"))
    probe.add_tokens([AddedToken("A", single_word=True, normalized=False)])
    words = probe.encode_batch([chr(c) + "A" for c in CODE_POINTS])
    views = []
    for c, word in zip(CODE_POINTS, words):
        ch = chr(c)
        pieces = [piece for piece, _ in split.pre_tokenize_str("a" + ch + "b")]
        views.append(
            {
                "removed by cleaning": clean.normalize_str(ch) == "",
                "white space": pieces == ["a", "b"],
                "punctuation": len(pieces) == 3,
                "nonspacing mark": strip.normalize_str(ch) == "" if len(nfd.normalize_str(ch)) == 1 else False,
                "word character": 1 not in word.ids,
                "lower case": lower.normalize_str(ch),
                "decomposition": nfd.normalize_str(ch),
                "combining class": classes.get(c, 0),
            }
        )
        if not clean.normalize_str(ch):
            continue
        assert clean.normalize_str(ch) == (" " if pieces == ["a", "b"] else ch), f"U+{c:04X} is cleaned oddly"
    return views


def rows(values: list[int], per_line: int = 24) -> str:
    return "\n".join(
        "    " + ", ".join(str(v) for v in values[i : i + per_line]) + "," for i in range(0, len(values), per_line)
    )


def main() -> None:
    views = library_view()
    differences: dict[str, list[int]] = {}
    for c, view in zip(CODE_POINTS, views):
        mine = python_view(c)
        for name in view:
            if view[name] != mine[name]:
                differences.setdefault(name, []).append(c)

    expansions: list[int] = []
    places: dict[tuple[int, ...], int] = {}

    def place(text: str) -> int:
        key = tuple(map(ord, text))
        if key not in places:
            places[key] = len(expansions)
            expansions.extend(key)
        return places[key]

    records: dict[tuple[int, ...], int] = {(0,) * 6: 0}
    index = [0] * 0x110000
    for c, view in zip(CODE_POINTS, views):
        ch = chr(c)
        lower, decomposed = str(view["lower case"]), str(view["decomposition"])
        if c in HANGUL:
            s = c - 0xAC00
            jamo = [0x1100 + s // 588, 0x1161 + s % 588 // 28] + ([0x11A7 + s % 28] if s % 28 else [])
            assert list(map(ord, decomposed)) == jamo, "Hangul is not decomposed by arithmetic"
            decomposed = ch
        assert len(lower) == 1 or ch == "\u0130", f"U+{c:04X}: only dotted I may have a longer lower case"
        flags = (
            CLEANED * bool(view["removed by cleaning"])
            | SPACE * bool(view["white space"])
            | PUNCTUATION * bool(view["punctuation"])
            | NONSPACING * bool(view["nonspacing mark"])
            | CJK * any(a <= c <= b for a, b in CJK_RANGES)
            | WORD * bool(view["word character"])
        )
        kept = [d for d in decomposed if not views_of(views, ord(d))["nonspacing mark"]]
        assert len(kept) <= len(ch.encode()), f"U+{c:04X} may give more tokens than it has bytes"
        lower_place, lower_size = (place(lower), len(lower)) if len(lower) > 1 else (ord(lower) - c, 1)
        where, size = (place(decomposed), len(decomposed)) if decomposed != ch else (0, 0)
        record = (
            flags,
            int(str(view["combining class"])),
            size,
            lower_size % 256 if lower != ch else 0,
            where,
            lower_place,
        )
        index[c] = records.setdefault(record, len(records))
    stage1: list[int] = []
    blocks: dict[tuple[int, ...], int] = {}
    for start in range(0, 0x110000, BLOCK):
        block = tuple(index[start : start + BLOCK])
        stage1.append(blocks.setdefault(block, len(blocks)))
    stage2 = [v for block in blocks for v in block]
    assert len(records) < 65536 and len(blocks) < 65536 and len(expansions) < 65536

    notes = "\n".join(
        f"//   {name}: {len(found)} code points, the first U+{found[0]:04X}, the last U+{found[-1]:04X}"
        for name, found in sorted(differences.items())
    )
    text = f"""// Generated by make_unicode_tables.py; do not edit.
//
// Base: Python's unicodedata {unicodedata.unidata_version}.
// Exceptions: whatever tokenizers {tokenizers.__version__} does otherwise, because ids and offsets must equal its. Its
// categories are those of the crate unicode_categories (Unicode 8), its decompositions those of the crate
// unicode-normalization-alignments, white space and lower case those of its Rust release (lower case of one character
// knows no final sigma), word characters those of the crate regex. Differences:
{notes}
#pragma once
#include <cstdint>

namespace rc {{
namespace unicode {{

enum : uint8_t {{
  kCleaned = {CLEANED},       // removed by clean_text
  kSpace = {SPACE},         // splits words
  kPunctuation = {PUNCTUATION},   // a word of its own
  kNonspacing = {NONSPACING},    // removed by strip_accents, after decomposition
  kCjk = {CJK},          // set apart by handle_chinese_chars
  kWord = {WORD},         // a word character for single_word added tokens
}};

struct Record {{
  uint8_t flags;
  uint8_t combining_class;
  uint8_t decomposition_size;  // 0: not decomposed (Hangul syllables: by arithmetic)
  uint8_t lower_size;          // 0: its own lower case; 1: code point + lower; more: kExpansions[lower]
  uint16_t decomposition;      // index into kExpansions
  int32_t lower;
}};

constexpr int kBlock = {BLOCK};

const uint16_t kStage1[] = {{
{rows(stage1)}
}};

const uint16_t kStage2[] = {{
{rows(stage2)}
}};

const Record kRecords[] = {{
{chr(10).join("    {" + ", ".join(map(str, r)) + "}," for r in records)}
}};

const uint32_t kExpansions[] = {{
{rows(expansions)}
}};

inline const Record& record(uint32_t c) {{ return kRecords[kStage2[kStage1[c / kBlock] * kBlock + c % kBlock]]; }}

}}  // namespace unicode
}}  // namespace rc
"""
    Path(__file__).with_name("unicode_tables.h").write_text(text)
    print(f"{len(records)} records, {len(blocks)} blocks, {len(expansions)} expansions, {len(text)} bytes")
    for name, found in sorted(differences.items()):
        print(f"{name}: {len(found)}: {' '.join(f'{c:04X}' for c in found[:12])}")


def views_of(views: list[dict[str, object]], c: int) -> dict[str, object]:
    return views[c if c < 0xD800 else c - 0x800]


if __name__ == "__main__":
    main()
