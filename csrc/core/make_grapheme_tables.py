"""Writes grapheme_tables.h from Python's unicodedata: the characters that never start a grapheme cluster.

Usage: python make_grapheme_tables.py > grapheme_tables.h
"""

import sys
import unicodedata


def ranges(test):
    out, start = [], None
    for c in range(0x110000 + 1):
        if c < 0x110000 and test(c):
            start = c if start is None else start
        elif start is not None:
            out.append((start, c - 1))
            start = None
    return out


def extends(c):
    """Marks, zero width (non-)joiner, variation selectors, emoji modifiers, tags, half-width sound marks."""
    return (
        unicodedata.category(chr(c)) in ("Mn", "Me", "Mc")
        or c in (0x200C, 0x200D, 0xFF9E, 0xFF9F)
        or 0x1F3FB <= c <= 0x1F3FF
        or 0xE0020 <= c <= 0xE007F
        # UAX 29 keeps these letters with the one before them (SpacingMark)
        or c in (0x0E33, 0x0EB3)
    )


def joins_next(c):
    """Viramas (combining class 9) join consonants; the zero width joiner joins pictures; prepended marks."""
    return unicodedata.combining(chr(c)) == 9 or c == 0x200D or c in PREPEND


PREPEND = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0xD4E, 0x110BD, 0x110CD, 0x111C2, 0x111C3}

if __name__ == "__main__":
    print(f"// Written by make_grapheme_tables.py from Unicode {unicodedata.unidata_version}. Do not edit.")
    print("#pragma once\n#include <cstdint>\n\nnamespace rc {\n")
    print("struct CodePointRange {\n  uint32_t first, last;\n};\n")
    for name, test in (("EXTENDS", extends), ("JOINS_NEXT", joins_next)):
        found = ranges(test)
        print(f"constexpr CodePointRange {name}[] = {{")
        for i in range(0, len(found), 6):
            print("    " + " ".join(f"{{0x{a:X}, 0x{b:X}}}," for a, b in found[i : i + 6]))
        print("};\n")
    print("}  // namespace rc")
    sys.stdout.flush()
