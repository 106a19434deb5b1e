"""Reference of csrc/core/graphemes: where a text may be cut without splitting what a reader sees as one character."""

from __future__ import annotations

import unicodedata

PREPEND = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0xD4E, 0x110BD, 0x110CD, 0x111C2, 0x111C3}


def is_cluster_boundary(text: str, at: int, low: int = 0) -> bool:
    """Whether a cut before character `at` splits no extended grapheme cluster (UAX 29); clusters here are those or larger."""
    if at <= low or at >= len(text):
        return True
    before, after = ord(text[at - 1]), ord(text[at])
    if before == 0x0D and after == 0x0A:
        return False
    if before < 0x20:
        return True
    if _extends(after) or _joins_next(before) or _hangul_joins(before, after):
        return False
    mark = at - 1  # a virama joins across the marks that follow it
    while mark >= low and _extends(ord(text[mark])):
        if _joins_next(ord(text[mark])):
            return False
        mark -= 1
    if _is_regional(before) and _is_regional(after):
        run = at - 1
        while run >= low and _is_regional(ord(text[run])):
            run -= 1
        return (at - 1 - run) % 2 == 0
    return True


def _extends(c: int) -> bool:
    return (
        unicodedata.category(chr(c)) in ("Mn", "Me", "Mc")
        or c in (0x200C, 0x200D, 0xFF9E, 0xFF9F, 0x0E33, 0x0EB3)
        or 0x1F3FB <= c <= 0x1F3FF
        or 0xE0020 <= c <= 0xE007F
    )


def _joins_next(c: int) -> bool:
    return unicodedata.combining(chr(c)) == 9 or c == 0x200D or c in PREPEND


def _is_regional(c: int) -> bool:
    return 0x1F1E6 <= c <= 0x1F1FF


def _hangul(c: int) -> str:
    if 0x1100 <= c <= 0x115F or 0xA960 <= c <= 0xA97C:
        return "L"
    if 0x1160 <= c <= 0x11A7 or 0xD7B0 <= c <= 0xD7C6:
        return "V"
    if 0x11A8 <= c <= 0x11FF or 0xD7CB <= c <= 0xD7FB:
        return "T"
    if 0xAC00 <= c <= 0xD7A3:
        return "LV" if (c - 0xAC00) % 28 == 0 else "LVT"
    return ""


def _hangul_joins(before: int, after: int) -> bool:
    a, b = _hangul(before), _hangul(after)
    joins = {"L": ("L", "V", "LV", "LVT"), "V": ("V", "T"), "LV": ("V", "T"), "T": ("T",), "LVT": ("T",)}
    return b in joins.get(a, ())
