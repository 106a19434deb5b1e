"""markdown-it-py as an oracle for the block scanner: both as lists of (kind, first line, line after the last, text)."""

from __future__ import annotations

import re
from typing import Any

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.front_matter import front_matter_plugin
from rapidchunk.kernels.reference.markdown import BlockKind

KINDS = [kind.name.lower() for kind in BlockKind]
_TOKENS = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "fence": "fenced_code",
    "code_block": "indented_code",
    "html_block": "html",
    "blockquote_open": "block_quote",
    "list_item_open": "list_item",
    "table_open": "table",
    "front_matter": "front_matter",
    "math_block": "math",
    "footnote_reference_open": "footnote",
    "definition": "link_definition",
    "hr": "thematic_break",
}
Block = tuple[str, int, int, str]


def commonmark() -> MarkdownIt:
    md = MarkdownIt("commonmark")
    md.options["inline_definitions"] = True
    md.options["maxNesting"] = 1000
    return md


def extended() -> MarkdownIt:
    md = commonmark().enable("table")
    md.use(front_matter_plugin).use(dollarmath_plugin, allow_labels=False).use(footnote_plugin)
    md.core.ruler.disable("footnote_tail")  # which moves footnotes to the end
    return md


def lines_of(text: str) -> list[str]:
    return re.split(r"\r\n|\r|\n", text)


def expected(md: MarkdownIt, text: str) -> list[Block]:
    lines = lines_of(text)
    found: list[Block] = []
    # Only the block rules: what is inside a paragraph does not matter here.
    md.disable("inline", True)
    tokens = md.parse(text)
    for i, token in enumerate(tokens):
        kind = _TOKENS.get(token.type)
        if kind is None or token.map is None:
            continue
        first, last = token.map
        last = min(last, len(lines))
        while last > first + 1 and _blank(lines[last - 1]):
            last -= 1
        detail = ""
        if kind == "heading":
            detail = token.tag[1] + " " + _title(tokens[i + 1].content)
        elif kind == "fenced_code":
            detail = token.info.strip(" \t")
        found.append((kind, first, last, detail))
    return found


def scanned(columns: dict[str, Any], text: str) -> list[Block]:
    data = text.encode("utf-8", "surrogatepass")
    lines = lines_of(text)
    starts = [0]
    for m in re.finditer(rb"\r\n|\r|\n", data):
        starts.append(m.end())
    line_at = {s: i for i, s in enumerate(starts)}
    if data.startswith(b"\xef\xbb\xbf"):
        line_at[3] = 0
    found = []
    for i in range(len(columns["kind"])):
        kind = KINDS[columns["kind"][i]]
        first = line_at[int(columns["start"][i])]
        end = int(columns["end"][i])
        last = line_at[end] if end in line_at and end > starts[first] else len(lines)
        while last > first + 1 and _blank(lines[last - 1]):
            last -= 1
        title = data[int(columns["text_start"][i]) : int(columns["text_end"][i])].decode("utf-8", "surrogatepass")
        detail = ""
        if kind == "heading":
            detail = f"{columns['level'][i]} " + _title(title)
        elif kind == "fenced_code":
            detail = title
        found.append((kind, first, last, detail))
    return found


def _blank(line: str) -> bool:
    return not line.strip(" \t>")


def _title(content: str) -> str:
    """One line; marks of block quotes between the lines of an underlined heading are dropped."""
    first, *more = re.split(r"\r\n|\r|\n", content)
    return " ".join([first.strip(" \t"), *(line.strip(" \t").lstrip("> \t") for line in more)])
