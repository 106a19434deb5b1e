"""The block scanner against markdown-it-py: every block's kind and lines, every heading's level and title."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

pytest.importorskip("markdown_it")
pytest.importorskip("mdit_py_plugins")
from markdown_oracle import commonmark, expected, extended, scanned
from markdown_pieces import BREAKS, EXTENSIONS, PIECES
from rapidchunk.kernels import cpu

SPEC = Path(__file__).parent / "data" / "markdown" / "commonmark-0.31.2.json"
EXAMPLES = json.loads(SPEC.read_text("utf-8"))
PLAIN = {"front_matter": False, "tables": False, "math": False, "footnotes": False}


@pytest.mark.parametrize("section", sorted({e["section"] for e in EXAMPLES}))
def test_commonmark_spec(section: str) -> None:
    md = commonmark()
    for e in EXAMPLES:
        if e["section"] == section:
            text = e["markdown"]
            assert scanned(cpu.markdown_blocks(text, **PLAIN), text) == expected(md, text), e["example"]


def test_headings_of_the_spec_are_those_of_its_html() -> None:
    """The oracle reads block tokens; the specification's own HTML says the same."""
    for e in EXAMPLES:
        blocks = scanned(cpu.markdown_blocks(e["markdown"], **PLAIN), e["markdown"])
        levels = [detail[0] for kind, _, _, detail in blocks if kind == "heading"]
        if e["section"] not in ("HTML blocks", "Raw HTML"):
            assert levels == re.findall(r"<h([1-6])>", e["html"]), e["example"]


# Where the scanner means to differ from markdown-it-py 4 and its plugins. Documents that show one are not compared.
#
# 1. The line after a link definition: markdown-it begins a new block there; here, as in cmark and commonmark.js, it is
#    still a line of the paragraph which the definition began ("[a]: b\n2)" has no list), so it can also be a lazy line.
#    And "[a]: \" has a destination, which markdown-it refuses.
# 2. ">" alone and then "    >": markdown-it takes a mark after four spaces for the quote's. Here it is indented code.
# 3. Table: markdown-it asks for a table before it asks for a list item, quote or heading in the header row. Here the
#    marks at the start of a line come first, as in cmark-gfm.
# 4. Math: no blank line within (a "$$" in prose must not swallow headings up to the next); it ends where its container
#    ends; "\[ … \]" too; "$$$$" is closed.
# 5. Footnotes may interrupt a lazy paragraph, and spaces after the label are no code.
# 6. Front matter: only at the document's start, exactly three marks, not followed by a blank line, "..." may close it.
# 7. "> > a" and then a lazy line with four spaces before a mark: markdown-it takes it for code. Code cannot interrupt a
#    paragraph, so here, as in cmark, the line goes on with it.
# 8. Titles are trimmed of spaces and tabs as CommonMark says; markdown-it trims every white space of Unicode.
# The examples are the same in every run: a further quirk of the oracle's is no news of this code.
def differs_by_intent(text: str, blocks: list[tuple[str, int, int, str]]) -> bool:
    kinds = {kind for kind, *_ in blocks}
    return (
        "link_definition" in kinds
        or (sum(b[0] == "block_quote" for b in blocks) > 2 and bool(re.search(r"^ *(    |\t)", text, re.MULTILINE)))
        or bool(re.search(r"^[ \t>*+\-0-9.)]*>[ \t]*(\r\n|\r|\n)(?=[^\r\n]*(    |\t)[^\r\n]*>)", text, re.MULTILINE))
        or ("math" in kinds and bool(re.search(r"\$\$\$\$|\n\n|>", text) or kinds & {"list_item", "footnote"}))
        or ("footnote" in kinds and bool(re.search(r"^[ \t]*>|\]:[ \t]{2,}|\]:\t", text, re.MULTILINE)))
        or ("front_matter" in kinds and not re.match(r"---[ \t]*\n[ \t]*\S", text))
        or ("table" in kinds and bool(re.search(r"^[ \t]*([-*+>#]|\d+[.)])[^|\n]*\|", text, re.MULTILINE)))
    )


@settings(max_examples=2000, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(PIECES + BREAKS), max_size=16).map("".join))
def test_generated_commonmark(text: str) -> None:
    want, got = expected(commonmark(), text), scanned(cpu.markdown_blocks(text, **PLAIN), text)
    assume(not differs_by_intent(text, want + got))
    assert got == want


@settings(max_examples=1000, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(PIECES + EXTENSIONS * 2 + BREAKS * 2), max_size=12).map("".join))
def test_generated_with_extensions(text: str) -> None:
    assume(not re.search(r"^-{3}", text) and not re.search(r"[ >\-*+.)]-{3}", text))
    want, got = expected(extended(), text), scanned(cpu.markdown_blocks(text), text)
    assume(not differs_by_intent(text, want + got))
    assert got == want


definition = st.builds(
    "[{}]:{}{}{}{}".format,
    st.text("ab \\]!^", min_size=1, max_size=4),
    st.sampled_from([" ", "\n", " \n  ", ""]),
    st.sampled_from(["/u", "<u v>", "<>", "a(b)c", "a(b", "a)b", "\\(", "<a"]),
    st.sampled_from([" ", "\n", "  \n"]),  # markdown-it wants no space before a title of two lines
    st.sampled_from(["", '"t"', "'a\nb'", "(c)", '"t', '"t" x', "(a(b)"]),
)


@settings(max_examples=800, deadline=None, derandomize=True)
@given(st.lists(definition, min_size=1, max_size=4).map("\n\n".join))
def test_generated_link_definitions(text: str) -> None:
    assert scanned(cpu.markdown_blocks(text, **PLAIN), text) == expected(commonmark(), text)


def test_real_files() -> None:
    md = extended()
    paths = sorted(p for p in Path("/usr/share/doc").rglob("*.md*") if p.is_file() and p.suffix in (".md", ".gz"))[:60]
    if not paths:
        pytest.skip("no Markdown files under /usr/share/doc")
    for path in paths:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        text = data[:60_000].decode("utf-8", "replace")
        got, want = scanned(cpu.markdown_blocks(text), text), expected(md, text)
        if not differs_by_intent(text, want + got):
            assert got == want, path
