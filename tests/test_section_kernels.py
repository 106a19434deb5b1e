"""The kernels that make chunks of sections, and sections of HTML, against their plain reference; every SIMD level, one thread
and many; bad columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidchunk import _core
from rapidchunk.kernels import cpu, reference

TAGS = [
    "p", "div", "h1", "h1", "h2", "h2", "h3", "section", "article", "pre", "ul", "li", "table", "table", "thead", "tr", "tr",
    "td", "td", "th", "th", "b", "br", "nav",
]  # fmt: skip
PARTS = [
    *(f"<{tag}>" for tag in TAGS), *(f"</{tag}>" for tag in TAGS), " ", "\n", "some words ", "One two. Three! ", "x",
    "<h2>T</h2>", "<h2>T</h2>", "<h1>\u00a0</h1>", "<h3> a\u00a0 b </h3>", "<pre>a\nb\n\nc\n</pre>", "é文字 \u0301", "<td>1</td>",
    "<table><thead><tr><th>H<th>I<tbody><tr><td>a b<td>c<tr><td><p>d<p>e<tr><td>f</table>", "👩‍🚀", f"<p>{'long ' * 9}",
]  # fmt: skip
PAGES = st.lists(st.sampled_from(PARTS), max_size=40).map("".join)
LEVELS = st.sampled_from([["words"], [["\n\n"], ["\n"], [". ", "! "], [" "]], [["。", ". "], "words"]])
OPTIONS = st.fixed_dictionaries(
    {"max_tokens": st.integers(1, 40)}, optional={"min_tokens": st.integers(0, 40), "fill": st.booleans()}
)
SECTION_TAGS = ["section", "article"]


def read(pages, threads=1):
    """Texts and columns of pages that are read in one pass, with whatever in them needs a tree taken as it is."""
    found = _core.HtmlPages(_core.Texts(pages), SECTION_TAGS, threads)
    for number in found.unread:
        found.read(number, pages[number], ["nav"])
    return found.take()


def points_of(text):
    """Byte -> code point."""
    sizes = np.cumsum([0, *(len(character.encode("utf-8", "surrogatepass")) for character in text)])
    return {int(byte): point for point, byte in enumerate(sizes)}


def plain_sections(text, columns):
    """The columns of one document as the reference has them."""
    point = points_of(text)
    columns = {name: column.tolist() for name, column in columns.items()}
    paths: list[tuple[str, ...]] = []
    for parent, start, end in zip(columns["path_parent"], columns["title_start"], columns["title_end"]):
        title = " ".join(text[point[start] : point[end]].split())
        paths.append((*(paths[parent] if parent >= 0 else ()), title))
    assert len(set(paths)) == len(paths)
    tables = [
        reference.sections.PlainTable(
            point[start], point[end], -1 if head < 0 else point[head], bool(loose),
            tuple(point[at] for at in columns["row"][columns["rows"][t] : columns["rows"][t + 1]]),
        )
        for t, (start, end, head, loose) in enumerate(
            zip(columns["table_start"], columns["table_end"], columns["head_end"], columns["loose"])
        )
    ]  # fmt: skip
    return [
        reference.sections.PlainSection(
            point[start], point[end], paths[path] if path >= 0 else (), bool(bare), bool(apart),
            tuple(tables[columns["tables"][s] : columns["tables"][s + 1]]),
        )
        for s, (start, end, path, bare, apart) in enumerate(
            zip(*(columns[name] for name in ("start", "end", "path", "bare", "apart")))
        )
    ]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(PAGES)
def test_sections_of_html_equal_the_reference(page):
    texts, columns = read([page])
    found = cpu.html_page(page, SECTION_TAGS)
    text, events = cpu.html_text(page, SECTION_TAGS, ["nav"]) if found is None else found
    assert texts[0] == text and columns["offsets"].tolist() == [0, len(columns["start"])]
    assert plain_sections(text, columns) == reference.html_sections(text, events.tolist())


def check_chunks(page, measure, levels, chosen, random):
    texts, columns = read([page])
    text = texts[0]
    if random is not None:  # what only other strategies have
        columns["apart"] = np.array([random.random() < 0.2 for _ in columns["start"]], np.uint8)
    sections, point = plain_sections(text, columns), points_of(text)
    most = {"max_tokens": chosen["max_tokens"]}
    index = _core.word_indexes(texts) if measure == "words" else measure
    found = cpu.section_pieces(texts, index, columns, levels, **most)
    parts, pieces = reference.section_pieces(text, measure, sections, levels, **most)

    def rows(columns, names):
        return [tuple(row) for row in zip(*(columns[name].tolist() for name in names))]

    names = ("part_start", "part_end", "part_section", "part_table")
    first_table = columns["tables"].tolist()
    assert [(point[a], point[b], s, t) for a, b, s, t in rows(found, names)] == [
        (part.start, part.end, part.section, part.table + first_table[part.section] if part.table >= 0 else -1)
        for part in parts
    ]
    names = ("byte_start", "byte_end", "tokens", "part")
    assert [(point[a], point[b], n, p) for a, b, n, p in rows(found, names)] == pieces
    room = [random.randrange(9) for _ in parts] if random is not None else None
    left = None if room is None else np.array(room, np.int64)
    groups = cpu.section_groups(texts, columns, found, room_left=left, **chosen)
    plain = reference.section_groups(sections, parts, pieces, room_left=room, **chosen)
    assert groups.tolist() == [list(group) for group in plain]
    chunks = cpu.section_chunks(texts, index, columns, found, groups, levels, **most)
    want = reference.section_chunks(text, measure, sections, parts, pieces, plain, levels, **most)
    names = ("start", "end", "tokens", "first", "main", "last")
    assert rows(chunks, names) == [chunk[:6] for chunk in want]
    paths = {path for section in sections for n in range(len(section.path) + 1) for path in [section.path[:n]]}
    assert {chunk.path for chunk in want} <= paths
    assert [len(_path(columns, number)) for number in chunks["path"].tolist()] == [len(chunk.path) for chunk in want]
    starts = [point[at] for at in chunks["byte_start"].tolist()]
    begins = [point[a - into] for a, into in zip(chunks["byte_start"].tolist(), chunks["into"].tolist())]
    assert [a - b for a, b in zip(starts, begins)] == [chunk.into for chunk in want]


def _path(columns, number):
    path = []
    while number >= 0:
        path.append(number)
        number = int(columns["path_parent"][number])
    return path


@settings(max_examples=300, deadline=None)
@given(PAGES, st.sampled_from(["chars", "words"]), LEVELS, OPTIONS, st.none() | st.randoms(use_true_random=False))
def test_chunks_equal_the_reference(page, measure, levels, chosen, random):
    chosen = {**chosen, "min_tokens": min(chosen.get("min_tokens", 0), chosen["max_tokens"])}
    check_chunks(page, measure, levels, chosen, random)


def chunks_of(pages, threads=1):
    texts, columns = read(pages, threads)
    pieces = cpu.section_pieces(texts, "chars", columns, ["words"], max_tokens=30, threads=threads)
    groups = cpu.section_groups(texts, columns, pieces, max_tokens=30, min_tokens=9)
    found = cpu.section_chunks(texts, "chars", columns, pieces, groups, ["words"], max_tokens=30, threads=threads)
    return {name: column.tolist() for name, column in {**columns, **pieces, **found}.items()}


@settings(max_examples=60, deadline=None)
@given(st.lists(PAGES, max_size=6), st.sampled_from([2, 3]))
def test_threads_and_batches_change_nothing(pages, threads):
    assert chunks_of(pages) == chunks_of(pages, threads)
    one, alone = chunks_of(pages), [chunks_of([page]) for page in pages]
    for name in ("start", "end", "tokens", "into"):
        assert one[name] == [value for found in alone for value in found[name]]


def test_every_simd_level(at_every_simd_level):
    program = """
import random
from rapidchunk import _core
draw = random.Random(5)
parts = ["<p>", "</p>", "<h1>", "</h1>", " ", "\\n", "a", "b c  d ", "&amp;", "\\r\\n", "é文字", "x" * 70]
parts += [" y" * 40, "\\t\\f", "<b>"]
for n in range(300):
    page = "".join(draw.choice(parts) for _ in range(draw.randint(0, 60)))
    print(repr(_core.html_page(page)))
"""
    assert len(set(at_every_simd_level(program).values())) == 1


def test_bad_columns_are_refused():
    texts, columns = read(["<h1>a</h1>b<table><tr><td>c</table> some more words<h2>d</h2>some more words"])
    for name, value in (
        ("start", columns["start"] + 9), ("offsets", columns["offsets"] + 1), ("path", columns["path"] + 9),
        ("path_parent", columns["path_parent"] + 1), ("tables", columns["tables"][::-1].copy()),
        ("table_end", columns["table_end"] + 99), ("rows", columns["rows"] + 1), ("bare", columns["bare"][1:]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="must"):
            cpu.section_pieces(texts, "chars", {**columns, name: value}, [], max_tokens=5)
    with pytest.raises(ValueError, match="loose must be among the columns"):
        cpu.section_pieces(texts, "chars", {n: c for n, c in columns.items() if n != "loose"}, [], max_tokens=5)
    with pytest.raises(ValueError, match="max_tokens"):
        cpu.section_pieces(texts, "chars", columns, [], max_tokens=0)
    pieces = cpu.section_pieces(texts, "chars", columns, [], max_tokens=5)
    groups = cpu.section_groups(texts, columns, pieces, max_tokens=5)
    for name in ("part", "part_section", "part_table", "byte_end", "offsets"):
        with pytest.raises(ValueError, match="must"):
            cpu.section_groups(texts, columns, {**pieces, name: pieces[name] + 99}, max_tokens=5)
    with pytest.raises(ValueError, match="room_left must be as long as the parts"):
        cpu.section_groups(texts, columns, pieces, max_tokens=5, room_left=np.zeros(0, np.int64))
    for bad in (groups + 9, groups[::-1].copy(), -groups - 1):
        with pytest.raises(ValueError, match="groups must be runs"):
            cpu.section_chunks(texts, "chars", columns, pieces, bad, [], max_tokens=5)
