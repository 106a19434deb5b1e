"""Writes the tables of the sentence stage: character classes, abbreviations, and the words that begin sentences.

    python csrc/sentences/make_tables.py

writes csrc/sentences/tables.h for the native scanner and python/rapidchunk/kernels/reference/sentence_tables.py for the
reference, both from words.txt beside this file and from `unicodedata`, so both see one Unicode version.
"""

from __future__ import annotations

import unicodedata
from pathlib import Path

HERE = Path(__file__).parent
REFERENCE = HERE.parent.parent / "python" / "rapidchunk" / "kernels" / "reference" / "sentence_tables.py"

# The order is the value of enum class Kind in tables.h.
KINDS = [
    "other",
    "space",
    "upper",
    "lower",
    "letter",
    "digit",
    "mark",
    "open",
    "close",
    "quote",
    "wide",
    "stop",
    "dots",
    "strong",
    "dash",
    "bullet",
    "emoji",
    "newline",
    "inverted",
]
KIND = {name: value for value, name in enumerate(KINDS)}

NEWLINES = "\n\r\x85\u2028\u2029"
# Full stops that need no space after them, as East Asian writing has none.
WIDE = "。！？｡．﹒﹖﹗"
# Sentence_Terminal of Unicode's PropList.txt for the scripts in use today, less the East Asian ones above.
STOPS = (
    "\u0589\u061d\u061e\u061f\u06d4\u0700\u0701\u0702\u07f9\u0837\u0839\u083d\u083e\u0964\u0965\u0f0d\u0f0e\u104b\u1362"
    "\u1367\u1368\u166e\u17d4\u17d5\u1803\u1809\u1944\u1945\u1aa8\u1aa9\u1aaa\u1aab\u1b5a\u1b5b\u1b5e\u1b5f\u1c3b\u1c3c"
    "\u1c7e\u1c7f\ua4ff\ua60e\ua60f\ua6f3\ua6f7\ua876\ua877\ua8ce\ua8cf\ua92f\ua9c8\ua9c9\uaa5d\uaa5e\uaa5f\uaaf0\uaaf1"
    "\uabeb\u037e"
)
STRONG = "!?\u203c\u203d\u2047\u2048\u2049\u2e2e\u2e53\u2e54"
DOTS = "…\u2025\u22ef\u2026"
QUOTES = (
    "\"'`\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u2039\u203a\u00ab\u00bb\u2e42\u301d\u301e\u301f\uff02\uff07"
)
BULLETS = "•‣◦▪▫●○■□◆◇➢➤⁃∙·"
EMOJI = [(0x1F000, 0x1FAFF), (0x2600, 0x27BF), (0x2B50, 0x2B55), (0x2764, 0x2764), (0x263A, 0x263B)]
# Grapheme extenders that are not of category M: ZWNJ, ZWJ, half-width voicing marks, Thai and Lao sara am, emoji skin
# tones and tags.
EXTENDERS = [
    (0x200C, 0x200D),
    (0xFF9E, 0xFF9F),
    (0x0E33, 0x0E33),
    (0x0EB3, 0x0EB3),
    (0x1F3FB, 0x1F3FF),
    (0xE0020, 0xE007F),
]


def kind_of(code: int) -> str:
    char = chr(code)
    category = unicodedata.category(char)
    if category[0] == "M" or any(a <= code <= b for a, b in EXTENDERS):
        return "mark"
    for name, members in (
        ("newline", NEWLINES),
        ("wide", WIDE),
        ("stop", STOPS),
        ("strong", STRONG),
        ("dots", DOTS),
        ("quote", QUOTES),
        ("bullet", BULLETS),
        ("inverted", "¿¡"),
    ):
        if char in members:
            return name
    if char.isspace():
        return "space"
    if any(a <= code <= b for a, b in EMOJI):
        return "emoji"
    by_category = {
        "Lu": "upper",
        "Lt": "upper",
        "Ll": "lower",
        "Lo": "letter",
        "Lm": "letter",
        "Nd": "digit",
        "Ps": "open",
        "Pe": "close",
        "Pd": "dash",
        "Pi": "quote",
        "Pf": "quote",
    }
    return by_category.get(category, "other")


def runs() -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for code in range(0x110000):
        kind = KIND["other"] if 0xD800 <= code < 0xE000 else KIND[kind_of(code)]
        if not found or found[-1][1] != kind:
            found.append((code, kind))
    return found


WORD_CLASSES = {
    "title": 1,
    "number": 2,
    "company": 4,
    "loose": 8,
    "time": 16,
    "starter": 32,
    "month": 64,
    "pronoun": 128,
    "zone": 256,
    "opening": 512,
    "lower": 1024,
}
LANGUAGES = [
    "en",
    "de",
    "fr",
    "es",
    "it",
    "pt",
    "nl",
    "da",
    "sv",
    "nb",
    "fi",
    "is",
    "et",
    "lv",
    "lt",
    "pl",
    "cs",
    "sk",
    "sl",
    "hr",
    "sr",
    "bg",
    "mk",
    "uk",
    "ru",
    "be",
    "kk",
    "hu",
    "ro",
    "el",
    "tr",
    "hy",
    "ka",
    "am",
    "ar",
    "fa",
    "ur",
    "he",
    "hi",
    "mr",
    "ne",
    "bn",
    "pa",
    "gu",
    "ta",
    "te",
    "kn",
    "ml",
    "si",
    "th",
    "lo",
    "km",
    "my",
    "bo",
    "mn",
    "ko",
    "ja",
    "zh",
    "vi",
    "id",
]


def words() -> dict[str, dict[int, int]]:
    """word -> {language: classes}; language 0 stands for all languages at once (no language given)."""
    table: dict[str, dict[int, int]] = {}
    language, name = "", ""
    for line in (HERE / "words.txt").read_text(encoding="utf-8").splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("[") and line.endswith("]"):
            language, name = line[1:-1].split()
            continue
        for word in line.split():
            everywhere = not word.startswith("~")
            word = word.lstrip("~")
            forms = {word}
            if name in ("starter", "month"):  # these follow a full stop: only capitalised they tell something
                forms = {word[0].upper() + word[1:]}
            elif name == "opening":
                forms |= {word[0].upper() + word[1:]}
            elif name not in ("pronoun", "zone", "lower") and len(word) > 1:
                forms |= {word[0].upper() + word[1:]}
                if language == "all" or "." in word:
                    forms.add(word.upper())
                if "." in word:  # Ph.D
                    forms.add(".".join(part[0].upper() + part[1:] for part in word.split(".")))
            codes = range(1, len(LANGUAGES) + 1) if language == "all" else [1 + LANGUAGES.index(language)]
            for form in forms:
                known = table.setdefault(form, {})
                for code in [0, *codes] if everywhere else codes:
                    known[code] = known.get(code, 0) | WORD_CLASSES[name]
    return table


def hash_of(word: bytes) -> int:
    value = 2166136261
    for byte in word:
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value


def escaped(data: bytes) -> str:
    return "".join(chr(b) if 32 < b < 127 and b not in b'"\\' else f"\\{b:03o}" for b in data)


def main() -> None:
    ranges = runs()
    table = words()
    # Each distinct mapping of languages to classes is stored once.
    profiles: list[tuple[int, ...]] = []
    entries = []
    for word, known in sorted(table.items()):
        profile = tuple(known.get(code, 0) for code in range(len(LANGUAGES) + 1))
        if profile not in profiles:
            profiles.append(profile)
        entries.append((word.encode(), profiles.index(profile)))
    size = 1
    while size < 2 * len(entries):
        size *= 2
    slots = [-1] * size
    for number, (word, _) in enumerate(entries):
        at = hash_of(word) % size
        while slots[at] >= 0:
            at = (at + 1) % size
        slots[at] = number
    offsets = [0]
    for word, _ in entries:
        offsets.append(offsets[-1] + len(word))
    longest = max(len(word) for word, _ in entries)

    def rows(values: list[object], width: int = 118) -> str:
        lines, line = [], " "
        for value in values:
            piece = f" {value},"
            if len(line) + len(piece) > width:
                lines.append(line)
                line = " "
            line += piece
        return "\n".join([*lines, line])

    blob = b"".join(word for word, _ in entries)
    text = [f'    "{escaped(blob[i : i + 24])}"' for i in range(0, len(blob), 24)]
    interesting = [0] * 256
    for (first, kind), (after, _) in zip(ranges, [*ranges[1:], (0x110000, 0)]):
        for code in range(max(first, 0x80), after if kind in INTERESTING else 0):
            data = chr(code).encode()
            interesting[data[0]] |= 1 << (data[1] & 63)
    header = f"""// Written by make_tables.py from words.txt and Unicode {unicodedata.unidata_version}: do not edit.
#pragma once
#include <cstdint>

namespace rc::sentence_tables {{

enum class Kind : uint8_t {{ {", ".join(("dash_" if k == "dash" else k) for k in KINDS)} }};
{chr(10).join(f"constexpr uint16_t {name}_word = {value};" for name, value in WORD_CLASSES.items())}

// Code points from range_start[i] up to range_start[i + 1] are of range_kind[i].
constexpr int range_count = {len(ranges)};
constexpr uint32_t range_start[range_count] = {{
{rows([hex(a) for a, _ in ranges])}
}};
constexpr uint8_t range_kind[range_count] = {{
{rows([k for _, k in ranges])}
}};

// Bit b of interesting[lead] is set when a sequence of this lead byte and the second byte 0x80 + b may matter.
constexpr uint64_t interesting[256] = {{
{rows([hex(v) + "u" for v in interesting])}
}};

constexpr const char* languages[] = {{"", {", ".join(f'"{c}"' for c in LANGUAGES)}}};
constexpr int language_count = {len(LANGUAGES) + 1};

constexpr int longest_word = {longest};
constexpr uint32_t slot_count = {size};
constexpr int16_t slots[slot_count] = {{
{rows(slots)}
}};
constexpr uint16_t word_offset[] = {{
{rows(offsets)}
}};
constexpr uint8_t word_profile[] = {{
{rows([p for _, p in entries])}
}};
constexpr uint16_t profiles[][language_count] = {{
{chr(10).join("  {" + ", ".join(map(str, p)) + "}," for p in profiles)}
}};
constexpr char word_text[] =
{chr(10).join(text)};

}}  // namespace rc::sentence_tables
"""
    header = header.replace("dash_", "dash")
    (HERE / "tables.h").write_text(header, encoding="utf-8")
    reference = f'''"""Written by csrc/sentences/make_tables.py, Unicode {unicodedata.unidata_version}: do not edit."""
# ruff: noqa: E501
# fmt: off

KINDS = {KINDS!r}
WORD_CLASSES = {WORD_CLASSES!r}
LANGUAGES = {LANGUAGES!r}
RANGE_START = {[a for a, _ in ranges]!r}
RANGE_KIND = {[k for _, k in ranges]!r}
PROFILES = {profiles!r}
WORDS = {dict((w.decode(), p) for w, p in entries)!r}
LONGEST_WORD = {longest}
'''
    REFERENCE.parent.mkdir(parents=True, exist_ok=True)
    REFERENCE.write_text(reference, encoding="utf-8")
    print(len(ranges), "ranges,", len(entries), "words,", len(profiles), "profiles")


INTERESTING = {KIND[k] for k in ("open", "close", "quote", "wide", "stop", "dots", "strong", "bullet", "newline")}

if __name__ == "__main__":
    main()
