"""The promises, for the strategies that know a document's structure."""

from __future__ import annotations

import json
import pickle

import pytest
import rapidchunk as rc
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import TEXTS, quarter
from test_promises import TOKENIZERS, check_promises

PARTS = """
Ada: |[10:00] Bo: |def f(x):|class K:|    def m(self):|        return 1|@deco|# note|x = 1|CHAPTER I|PART TWO|1. Scope
|1.2 Terms|(a) first|§ 3 Duty|Article 4|Some words here. |And others! |é文字|👩‍🚀 |{|}|'''|  |<h1>|</p>|&amp;|<b
"""
PIECES = st.sampled_from([*PARTS.replace("\n", "").split("|"), "\n", "\n\n", "\f", "\u0301", "\x00", "\ud800"])
TAGS = (
    "p div h1 h2 h3 section article pre ul li table tr td span b br img nav script details summary textarea a".split()
)
MARKUP = st.sampled_from(
    [*(f"<{tag}>" for tag in TAGS), *(f"</{tag}>" for tag in TAGS), " ", "\n", "some words ", "x", "&lt;b&gt; &amp; &nbsp;é",
     "<p hidden>", '<img alt="a > b">', "<!-- c -->", "<", ">", "&", "\u0301", "\x00", "\ud800", "<td>1</td>"]
)  # fmt: skip
KEYS = st.sampled_from(
    "/a get post parameters schema $ref allOf items properties schemas Pet responses content 200".split()
)
DOCUMENTS = TEXTS | st.lists(PIECES, max_size=40).map("".join) | st.lists(PIECES, max_size=30).map("\n".join)


def python_code(**options):
    return rc.CodeChunker("python", **options)


def c_code(**options):
    return rc.CodeChunker("c", **options)


def chat(**options):
    return rc.ChatChunker(format="transcript", **options)


STRATEGIES = [python_code, c_code, chat, rc.BookChunker, rc.LegalChunker, rc.PaperChunker, rc.PageChunker]


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.__name__)
@settings(max_examples=40, deadline=None)
@given(
    texts=st.lists(DOCUMENTS, max_size=3), size=st.integers(0, 60), overlap=st.integers(0, 20), least=st.integers(0, 20)
)
def test_promises(strategy, name, texts, size, overlap, least):
    tokenizer = TOKENIZERS[name]()
    most = size + 8
    chunker = strategy(
        max_tokens=most, overlap=min(overlap, most - 3), min_tokens=min(least, most), tokenizer=tokenizer
    )
    chunks = chunker(texts)
    check_promises(chunks, texts, tokenizer, most)
    sizes = rc.as_tokenizer(tokenizer).count(chunks.contexts())
    for row, size in zip(chunks, sizes):
        assert size <= most or row.context == row.text


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.__name__)
@settings(max_examples=60, deadline=None)
@given(text=DOCUMENTS, size=st.integers(8, 60), least=st.integers(1, 30))
def test_min_tokens_is_real(strategy, text, size, least):
    chunks = strategy(max_tokens=size, min_tokens=min(least, size), overlap=0, tokenizer="words")(text)
    for a, b in zip(chunks, chunks[1:] if len(chunks) else []):
        if min(a.tokens, b.tokens) < min(least, size):
            assert len(text[a.start : b.end].split()) > size


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.__name__)
def test_threads_pickle_and_batches_do_not_matter(strategy, monkeypatch):
    text = "1. One\nAda: Some words. Others!\n\ndef f(x):\n    return x\n\fCHAPTER II\n\nBo: é文字 and so on.\n"
    texts = [text * n for n in range(30)]
    chunker = strategy(max_tokens=30, min_tokens=5, overlap=6, tokenizer="bert")

    def rows(chunks):
        return [(row.document, row.start, row.end, row.tokens, row.metadata) for row in chunks]

    want = rows(chunker(texts))
    for count in ("1", "7"):
        monkeypatch.setenv("RAPIDCHUNK_THREADS", count)
        assert rows(chunker(texts)) == want
    assert rows(pickle.loads(pickle.dumps(chunker))(texts)) == want
    monkeypatch.setattr("rapidchunk.chunkers.base.BATCH_BYTES", 500)
    assert rows(chunker(texts)) == want
    assert rows(chunker(iter(texts)).collect()) == want
    assert [row[1:] for t in texts for row in rows(chunker(t))] == [row[1:] for row in want]


@pytest.mark.parametrize(
    "strategy", [s for s in STRATEGIES if s is not rc.PageChunker], ids=lambda strategy: strategy.__name__
)
def test_within_cuts_long_sections(strategy):
    text = "Ada: " + "One sentence is here. " * 30
    inner = rc.SentenceChunker(20, tokenizer="words")
    chunks = strategy(max_tokens=25, tokenizer="words", within=inner)(text)
    assert len(chunks) > 5
    assert all(row.text.endswith("here.") for row in chunks)
    with pytest.raises(ValueError, match="within has max_tokens 20"):
        strategy(max_tokens=10, tokenizer="words", within=inner)
    with pytest.raises(ValueError, match="within must count tokens"):
        strategy(max_tokens=30, tokenizer=quarter, within=inner)
    with pytest.raises(ValueError, match="within must be a chunker"):
        strategy(within="recursive")


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.__name__)
def test_other_types_are_refused(strategy):
    with pytest.raises(ValueError, match="document 1 is int"):
        strategy()(["a", 1])


@settings(max_examples=150, deadline=None)
@given(
    html=DOCUMENTS | st.lists(MARKUP, max_size=60).map("".join), size=st.integers(8, 60), least=st.integers(0, 8),
    overlap=st.integers(0, 7), unit=st.sampled_from(["words", "words", "bytes"]),
)  # fmt: skip
@example("<h2>One two</h2>" + "x " * 20, 21, 0, 7, "bytes")  # what is joined is too long and cut where pieces overlap
def test_promises_of_html(html, size, least, overlap, unit):
    """Spans are of the text that a browser would show."""
    chunks = rc.HtmlChunker(size, overlap, tokenizer=unit, min_tokens=least, prepend_headings=True)(html)
    text = chunks.document_text(0)
    check_promises(chunks, [text], unit, size)
    assert all(size >= n for n in rc.as_tokenizer(unit).count(chunks.contexts()))
    assert text == text.strip(" \t") or "<pre" in html or "<textarea" in html


@settings(max_examples=60, deadline=None)
@given(
    messages=st.lists(
        st.fixed_dictionaries(
            {"role": st.sampled_from(["user", "Ada"]), "content": TEXTS}, optional={"time": st.just("1")}
        )
    ),
    size=st.integers(8, 40),
    overlap=st.integers(0, 7),
    turns=st.integers(0, 2),
)
def test_promises_of_messages(messages, size, overlap, turns):
    chunker = rc.ChatChunker(size, overlap * (not turns), tokenizer="words", overlap_turns=turns)
    chunks = chunker([messages])
    check_promises(chunks, [chunks.document_text(0)], "words", size)
    assert all(message["content"] in chunks.document_text(0) for message in messages)
    for row in chunks:
        assert row.metadata["turn_start"] <= row.metadata["turn_end"] < len(messages)


@settings(max_examples=60, deadline=None)
@given(api=st.recursive(st.none() | st.text(max_size=9), lambda inner: st.dictionaries(KEYS, inner, max_size=4)))
def test_promises_of_api_descriptions(api):
    """Whatever stands where a part is expected."""
    for text in (json.dumps({"paths": api, "components": api}), yaml.safe_dump({"paths": api, "x": 1})):
        check_promises(rc.ApiChunker(30, tokenizer="words", min_tokens=5)(text), [text], "words", 30)
