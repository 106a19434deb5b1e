"""Parents, children and sentence windows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import rapidchunk as rc
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidchunk.chunkers.hierarchical import HierarchicalChunker, SentenceWindowChunker

BLOCKS = "\n\n\n".join(f"  Block {i}. " + "It has several plain words in it.   " * 5 for i in range(10))


def check_tree(chunks, texts, sizes):
    """Every child is in its parent, children hold all of the parent but white space, and no chunk is too large."""
    for number, text in enumerate(texts):
        rows = chunks.of_document(number)
        levels, parents = rows.extra["level"], rows.extra["parent"]
        assert (np.diff(levels) >= 0).all()
        assert ((parents == -1) == (levels == 0)).all()
        for level, size in enumerate(sizes):
            assert rows.tokens[levels == level].max(initial=0) <= size
        held = {-1: set()}
        for i, row in enumerate(rows):
            assert row.index == i and text[row.start : row.end] == row.text
            parent = int(parents[i])
            if parent >= 0:
                assert levels[parent] == levels[i] - 1
                assert rows.start[parent] <= row.start < row.end <= rows.end[parent]
            held.setdefault(parent, set()).update(range(row.start, row.end))
        whole = {-1: range(len(text))} | {
            i: range(rows.start[i], rows.end[i]) for i in range(len(rows)) if levels[i] < len(sizes) - 1
        }
        for parent, span in whole.items():
            assert {i for i in span if not text[i].isspace()} <= held.get(parent, set())


@given(
    texts=st.lists(st.text(st.sampled_from("ab. \n\r\tÄ日😀!"), max_size=120), max_size=4),
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=3, unique=True),
    overlap=st.integers(0, 2),
)
@settings(max_examples=80, deadline=None)
def test_tree_of_sizes(texts, sizes, overlap):
    sizes = sorted(sizes, reverse=True)
    overlap = min(overlap, sizes[-1] - 1)
    check_tree(HierarchicalChunker(sizes, overlap, "chars")(texts), texts, sizes)


def test_case_b303_and_the_default_sizes():
    chunks = HierarchicalChunker((40, 10), tokenizer="words")(BLOCKS)
    check_tree(chunks, [BLOCKS], (40, 10))
    check_tree(HierarchicalChunker()([BLOCKS * 30]), [BLOCKS * 30], (2048, 512, 128))


def test_case_b302_equal_texts_in_two_documents_have_different_ids():
    texts = ["Same passage in both files. " * 4] * 2
    chunks = HierarchicalChunker((32, 8), tokenizer="words")(texts)
    check_tree(chunks, texts, (32, 8))
    assert len(set(chunks.chunk_ids())) == len(chunks)


def test_small_documents_are_one_chunk_a_level():
    chunks = HierarchicalChunker(tokenizer="words")(["Small.", "", " \n"])
    assert chunks.texts() == ["Small."] * 3
    assert chunks.extra["parent"].tolist() == [-1, 0, 1]


def test_levels_of_strategies():
    text = "# One\n\nFirst here. Second here.\n\n## Two\n\nThird here. Fourth one is here.\n"
    levels = [rc.MarkdownChunker(20, tokenizer="words"), rc.SentenceChunker(6, tokenizer="words")]
    chunks = HierarchicalChunker(levels)(text)
    check_tree(chunks, [text], (20, 6))
    last = chunks[chunks.extra["level"] == 1]
    assert last.extra["headings"][0] == ("One",) and last.extra["headings"][-1] == ("One", "Two")


def test_expand_gives_parents_once_best_first():
    texts = [BLOCKS, BLOCKS.upper()]
    chunks = HierarchicalChunker((80, 40, 10), tokenizer="words")(texts)
    leaves = np.flatnonzero(chunks.extra["level"] == 2)
    hits = leaves[[-1, 0, -2, 1]]
    parents = chunks.expand(hits)
    assert parents.extra["level"].tolist() == [0, 0]
    assert [row.document for row in parents] == [1, 0]
    middle = chunks.expand([chunks[int(hit)] for hit in hits], level=1)
    for hit in hits:
        child = chunks[int(hit)]
        assert any(p.document == child.document and p.start <= child.start and child.end <= p.end for p in middle)
    assert len(chunks.expand([0, int(leaves[0])])) == 1  # a parent that was found itself
    assert len(chunks.expand([])) == 0
    with pytest.raises(ValueError, match="level"):
        rc.TokenChunker(tokenizer="words")("a b").expand([0])
    with pytest.raises(ValueError, match="hits"):
        chunks.expand([len(chunks)])
    with pytest.raises(ValueError, match="parent"):
        chunks[leaves].expand([0])


def test_parents_hold_over_batches(monkeypatch):
    texts = [BLOCKS] * 5
    whole = HierarchicalChunker((40, 10), tokenizer="words")(texts)
    monkeypatch.setattr("rapidchunk.chunkers.base.BATCH_BYTES", 1000)
    parts = HierarchicalChunker((40, 10), tokenizer="words")(texts)
    check_tree(parts, texts, (40, 10))
    assert parts.extra["parent"].tolist() == whole.extra["parent"].tolist()


@pytest.mark.parametrize(
    "options",
    [
        {"levels": ()},
        {"levels": (10, 10)},
        {"levels": (10, 20)},
        {"levels": "ab"},
        {"levels": (10, 1.5)},
        {"levels": [rc.TokenChunker(100), 5]},
        {"levels": [rc.TokenChunker(100), rc.TokenChunker(200)]},
        {"levels": [rc.TokenChunker(100), rc.TokenChunker(90, tokenizer="words")]},
        {"levels": [rc.TokenChunker(100)], "tokenizer": "words"},
        {"levels": [rc.TokenChunker(100)], "overlap": 3},
        {"levels": (20, 5), "overlap": 5},
    ],
)
def test_parameters(options):
    with pytest.raises(ValueError, match=r"levels|overlap"):
        HierarchicalChunker(**options)


def test_sentence_windows():
    texts = ["One is here. Two is. Three goes on. Four.", "", "Five alone."]
    chunks = SentenceWindowChunker(1, tokenizer="words")(texts)
    assert [t.strip() for t in chunks.texts()] == [
        "One is here.", "Two is.", "Three goes on.", "Four.", "Five alone.",
    ]  # fmt: skip
    assert [w.strip() for w in chunks.extra["window"]] == [
        "One is here. Two is.", "One is here. Two is. Three goes on.", "Two is. Three goes on. Four.",
        "Three goes on. Four.", "Five alone.",
    ]  # fmt: skip
    assert chunks.strategy == "sentence-window"
    for row in chunks:
        about = row.metadata
        assert texts[row.document][about["window_start"] : about["window_end"]] == about["window"]
    assert SentenceWindowChunker(2, 3, "words")("a b c d e f g.").tokens.max() <= 3
    with pytest.raises(ValueError, match="window"):
        SentenceWindowChunker(-1)


def test_first_level_may_read_its_own_kind_of_document():
    messages = [{"role": "user", "content": "One thing. Another thing."}, {"role": "assistant", "content": "Yes."}]
    levels = [rc.ChatChunker(30, tokenizer="words"), rc.SentenceChunker(4, tokenizer="words")]
    chunks = HierarchicalChunker(levels)([messages])
    check_tree(chunks, [chunks.document_text(0)], (30, 4))


def test_the_heading_path_goes_down_into_contexts():
    text = "# A\n\n## B\n\n" + "One two three four. " * 12

    def tree(prepend):
        top = rc.MarkdownChunker(40, tokenizer="words", prepend_headings=prepend)
        return rc.HierarchicalChunker([top, rc.SentenceChunker(14, tokenizer="words")])(text)

    children = [row for row in tree(True) if row.metadata["level"] == 1]
    assert children[0].text.startswith("# A") and all(row.metadata["headings"] == ("A", "B") for row in children)
    assert all(len(row.context.split()) <= 14 for row in children)
    assert all(row.context == f"A > B\n\n{row.text}" for row in children[1:] if row.tokens <= 11) and len(children) > 4
    assert any(row.context != row.text for row in children)
    assert all(row.context == row.text for row in tree(False) if row.metadata["level"] == 1)


def test_windows_are_made_when_asked_for(monkeypatch):
    monkeypatch.setattr("rapidchunk.chunkers.base.BATCH_BYTES", 20)  # so that the columns of several batches are joined
    texts = ["One is here. Two is. Three goes on. Four.", "Fünf allein. 六。七。", "", "Eight."]
    chunks = SentenceWindowChunker(1, tokenizer="words")(texts)
    windows = list(chunks.extra["window"])
    spans = zip(chunks.document.tolist(), chunks.extra["window_start"].tolist(), chunks.extra["window_end"].tolist())
    assert windows == [texts[d][a:b] for d, a, b in spans] and len(set(chunks.document.tolist())) == 3
    column = chunks.extra["window"]
    assert column[-1] == windows[-1] and column[1:4] == windows[1:4] and column == windows
    assert chunks[np.array([4, 0])].extra["window"] == [windows[4], windows[0]]
    assert pickle.loads(pickle.dumps(chunks)).extra["window"] == windows
    with pytest.raises(IndexError):
        column[len(windows)]
    pa = pytest.importorskip("pyarrow")
    assert SentenceWindowChunker(1, tokenizer="words")(pa.array(texts)).extra["window"] == windows
