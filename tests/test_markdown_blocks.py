"""The native block scanner against its plain reference, and what its columns promise."""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_pieces import BREAKS, EXTENSIONS, PIECES
from rapidchunk.kernels import cpu, reference
from rapidchunk.kernels.reference.markdown import BlockKind

KINDS = [kind.name.lower() for kind in BlockKind]
documents = st.builds(
    lambda head, parts: head + "".join(parts),
    st.sampled_from(["", "", "", "\ufeff", "---\n", "+++\n", "\ufeff---\r\n"]),
    st.lists(st.sampled_from(PIECES + EXTENSIONS + ["\\[", "\\]", "\0", "\x0c", "\u00a0"] + BREAKS * 2), max_size=24),
)
options = st.fixed_dictionaries(
    {},
    optional={
        "heading_levels": st.integers(0, 63).map(lambda bits: bits * 2),
        "front_matter": st.booleans(),
        "tables": st.booleans(),
        "math": st.booleans(),
        "footnotes": st.booleans(),
    },
)


def assert_same(text: bytes | str, **chosen: object) -> None:
    native, plain = cpu.markdown_blocks(text, **chosen), reference.markdown_blocks(text, **chosen)
    assert list(native) == list(plain)
    for name in native:
        assert native[name].dtype == plain[name].dtype, name
        assert native[name].tolist() == plain[name].tolist(), name


@settings(max_examples=1500, deadline=None)
@given(documents, options)
@example("[a]: b\n===\n", {})
@example("> a\n    - b\n", {})
def test_native_equals_reference(text: str, chosen: dict[str, object]) -> None:
    assert_same(text, **chosen)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), options)
def test_any_bytes(text: bytes, chosen: dict[str, object]) -> None:
    assert_same(text, **chosen)


def test_real_files() -> None:
    """The Markdown files of this machine: the reference is slow, so a sample by name."""
    found = 0
    for path in sorted(Path("/usr/share/doc").rglob("*.md*"), key=lambda p: hashlib.sha1(str(p).encode()).digest()):
        if not path.is_file() or path.suffix not in (".md", ".gz") or path.stat().st_size > 100_000:
            continue
        data = path.read_bytes()
        assert_same(gzip.decompress(data) if path.suffix == ".gz" else data)
        found += 1
        if found == 25:
            break
    if not found:
        pytest.skip("no Markdown files under /usr/share/doc")


@settings(max_examples=500, deadline=None)
@given(documents)
def test_columns(text: str) -> None:
    data = text.encode()
    c = cpu.markdown_blocks(data)
    kind, start, end, parent, section = (c[k] for k in ("kind", "start", "end", "parent", "section"))
    base = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    assert (np.diff(start) >= 0).all()
    assert (start < end).all() and (end <= len(data)).all()
    covered = np.zeros(len(data), bool)
    tops = [(s, e) for s, e, p in zip(start, end, parent) if p < 0]
    assert all(a[1] <= b[0] for a, b in pairwise(tops))  # blocks outside of containers do not overlap
    for row in range(len(kind)):
        s, e = int(start[row]), int(end[row])
        assert s == base or data[s - 1 : s] in (b"\n", b"\r")
        assert e == len(data) or data[e - 1 : e] in (b"\n", b"\r")
        assert s <= c["text_start"][row] <= c["text_end"][row] <= e
        p = int(parent[row])
        assert p < row
        if p >= 0:
            assert KINDS[kind[p]] in ("block_quote", "list_item", "footnote")
            assert start[p] <= s and e <= end[p]
            assert section[p] == section[row]
        covered[s:e] = True
    left = bytes(np.frombuffer(data, np.uint8)[base:][~covered[base:]])
    assert not left.strip(b" \t\r\n")  # what is in no block is blank
    starts, ends = c["section_start"], c["section_end"]
    assert starts[0] == 0 and ends[0] == len(data) and c["section_parent"][0] == -1
    for i in range(1, len(starts)):
        p = int(c["section_parent"][i])
        assert c["section_level"][p] < c["section_level"][i]
        assert starts[p] <= starts[i] < ends[i] <= ends[p]
        assert start[c["section_block"][i]] == starts[i] and section[c["section_block"][i]] == i
    assert (np.diff(section) >= 0).all()


def blocks(text: str, **chosen: object) -> list[tuple[str, str]]:
    data = text.encode()
    c = cpu.markdown_blocks(data, **chosen)
    return [(KINDS[k], data[s:e].decode()) for k, s, e in zip(c["kind"], c["start"], c["end"])]


def headings(text: str) -> list[tuple[int, str]]:
    data = text.encode()
    c = cpu.markdown_blocks(data)
    return [
        (int(level), data[s:e].decode())
        for k, level, s, e in zip(c["kind"], c["level"], c["text_start"], c["text_end"])
        if KINDS[k] == "heading"
    ]


def test_headings() -> None:
    assert headings("# a\n###### b ##\n#c\n####### d\n    # e\n   ## f #g\n#\n# ##\n") == [
        (1, "a"), (6, "b"), (2, "f #g"), (1, ""), (1, "")
    ]  # fmt: skip
    assert headings("Two\nlines\n=====\n\nlocks\n---\n\n---\n") == [(1, "Two\nlines"), (2, "locks")]
    assert headings("#\u00a0no\n\u00a0# no\n# \u00a0yes\n") == [(1, "\u00a0yes")]  # NBSP is text
    assert headings("\ufeff# a\r\n\r\nb\r===\rtext\r") == [(1, "a"), (1, "b")]


def test_front_matter() -> None:
    assert blocks("---\na: 1\n---\n# b\n")[0] == ("front_matter", "---\na: 1\n---\n")
    assert blocks("\ufeff+++\r\na = 1\r\n+++\r\n")[0][0] == "front_matter"
    assert blocks("---\na: 1\n...\n")[0][0] == "front_matter"
    assert blocks("---\n\ntext\n\n---\n")[0] == ("thematic_break", "---\n")  # a rule, a blank line
    assert blocks("---\na: 1\n")[0] == ("thematic_break", "---\n")  # never closed
    assert blocks("\n---\na: 1\n---\n")[0] == ("thematic_break", "---\n")  # not at the start
    assert blocks("---\na: 1\n---\n", front_matter=False)[0][0] == "thematic_break"


def test_math() -> None:
    assert blocks("a\n$$\n# x\n$$\n# h\n") == [("paragraph", "a\n"), ("math", "$$\n# x\n$$\n"), ("heading", "# h\n")]
    assert blocks("\\[\nx\n\\]\n")[0][0] == "math"
    assert blocks("$$ x $$\n")[0][0] == "math"
    assert blocks("$$ 5\n\n# h\n") == [("paragraph", "$$ 5\n"), ("heading", "# h\n")]
    assert blocks("$$ 5\n# h\n") == [("paragraph", "$$ 5\n"), ("heading", "# h\n")]


def test_table_has_its_header() -> None:
    text = "lead\n| a | b |\n|---|:-:|\n| 1 | 2 |\n3\n\nend\n"
    data = text.encode()
    c = cpu.markdown_blocks(data)
    assert [KINDS[k] for k in c["kind"]] == ["paragraph", "table", "paragraph"]
    assert data[c["text_start"][1] : c["text_end"][1]] == b"| a | b |\n|---|:-:|\n"
    assert data[c["start"][1] : c["end"][1]].endswith(b"3\n")


def test_nesting() -> None:
    text = "- a\n  - b\n\n    ```\n    # c\n    ```\n> - # d\n"
    c = cpu.markdown_blocks(text)
    assert [(KINDS[k], int(level), int(p)) for k, level, p in zip(c["kind"], c["level"], c["parent"])] == [
        ("list_item", 1, -1), ("paragraph", 0, 0), ("list_item", 2, 0), ("paragraph", 0, 2), ("fenced_code", 0, 2),
        ("block_quote", 1, -1), ("list_item", 1, 5), ("heading", 1, 6),
    ]  # fmt: skip
    assert len(c["section_start"]) == 1  # a heading in a container begins no section


def test_section_tree() -> None:
    text = "lead\n# A\n### B\n## C\n# D\n"
    c = cpu.markdown_blocks(text)
    assert c["section_parent"].tolist() == [-1, 0, 1, 1, 0]
    assert [text[s:e] for s, e in zip(c["section_start"], c["section_end"])] == [
        text, "# A\n### B\n## C\n", "### B\n", "## C\n", "# D\n"
    ]  # fmt: skip
    only = cpu.markdown_blocks(text, heading_levels=1 << 1)
    assert only["section_level"].tolist() == [0, 1, 1]
    with pytest.raises(ValueError, match="heading_levels"):
        cpu.markdown_blocks(text, heading_levels=128)


@pytest.mark.parametrize(
    "unit", ["- ", "> ", "1. a\n", "[", "[a]: b\n'x\n", "$$x\n", "- $$\nx\n", "```x\n", "<a\n", "|\n", "\\"]
)
def test_long_runs(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    c = cpu.markdown_blocks(text)
    assert c["end"].max() == len(text)
    assert_same(unit * (3000 // len(unit)))


def test_deep_nesting_ends_as_text() -> None:
    c = cpu.markdown_blocks("> " * 1000 + "x\n")
    assert (c["kind"] == KINDS.index("block_quote")).sum() == 64
    assert KINDS[c["kind"][-1]] == "paragraph"


_LEVELS = """
import hashlib, random
from rapidchunk.kernels import cpu
r = random.Random(3)
pieces = ["a", "b c ", "# ", "\\n", "\\r\\n", "\\r", "- ", "x" * 70, "```"]
text = "".join(r.choice(pieces) for _ in range(20000)).encode()
h = hashlib.sha256()
for size in [*range(0, 300), len(text)]:
    for name, column in cpu.markdown_blocks(text[:size]).items():
        h.update(name.encode() + column.tobytes())
print(h.hexdigest())
"""


def test_simd_levels() -> None:
    seen = {}
    for level in ("baseline", "avx2", "avx512"):
        run = subprocess.run(
            [sys.executable, "-c", _LEVELS],
            env={**os.environ, "RAPIDCHUNK_SIMD": level, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
        )
        if run.returncode and "does not have" in run.stderr:
            continue
        assert run.returncode == 0, run.stderr
        seen[level] = run.stdout
    assert "baseline" in seen
    assert len(set(seen.values())) == 1
