"""Chunks: columns, rows, slices, Arrow, pandas, ids, streams; and what comes in: lists, arrays, Arrow, iterators."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import rapidchunk as rc

TEXTS = [
    "One is here. Two is there. Three is far.",
    "",
    "Später kommt noch mehr. 文字を読む。 Ende gut, alles gut.",
    " \n ",
]
CHUNKER = rc.SentenceChunker(6, tokenizer="words")


def rows(chunks):
    return [(row.document, row.index, row.text, row.start, row.end, row.tokens) for row in chunks]


def test_rows_and_columns():
    chunks = CHUNKER(TEXTS)
    assert chunks.documents == 4
    assert set(chunks.document.tolist()) == {0, 2}
    for row in chunks:
        assert TEXTS[row.document][row.start : row.end] == row.text
    assert chunks.texts() == [row.text for row in chunks]
    assert chunks[-1].text == chunks.texts()[-1]
    assert [row.index for row in chunks.of_document(2)] == list(range(len(chunks.of_document(2))))
    with pytest.raises(IndexError):
        chunks[len(chunks)]
    with pytest.raises(KeyError):
        chunks.of_document(9)


def test_ids_come_back():
    chunks = CHUNKER(TEXTS, ids=["a", "b", "c", "d"])
    assert {row.document for row in chunks} == {"a", "c"}
    assert rows(chunks.of_document("c"))[0][0] == "c"
    assert chunks.to_arrow()["document"].to_pylist()[0] == "a"
    with pytest.raises(ValueError, match="ids"):
        CHUNKER(TEXTS, ids=["a"])


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        lambda texts: np.array(texts, object),
        np.array,
        pd.Series,
        pa.array,
        lambda texts: pa.array(texts, pa.large_string()),
        lambda texts: pa.chunked_array([texts[:1], texts[1:]]),
        lambda texts: pa.table({"text": texts})["text"],
        lambda texts: pa.array(["x", *texts, "y"])[1:-1],
    ],
)
def test_every_kind_of_batch(make):
    assert rows(CHUNKER(make(TEXTS))) == rows(CHUNKER(TEXTS))


def test_iterator_streams():
    read = []

    def documents():
        for number in range(10):
            read.append(number)
            yield TEXTS[number % 4]

    stream = CHUNKER(documents())
    assert isinstance(stream, rc.ChunkStream) and not read
    assert rows(stream) == rows(CHUNKER([TEXTS[n % 4] for n in range(10)]))
    assert rows(CHUNKER(iter(TEXTS), ids=iter("abcd")).collect()) == rows(CHUNKER(TEXTS, ids=list("abcd")))


def test_stream_reads_no_further_than_needed(monkeypatch):
    monkeypatch.setattr("rapidchunk.chunkers.base.BATCH_BYTES", 100)
    read = []

    def documents():
        for number in range(100):
            read.append(number)
            yield TEXTS[0]

    next(iter(CHUNKER(documents())))
    assert len(read) < 10


@pytest.mark.parametrize("bad", [None, 3, b"bytes", {"a": "text"}, [b"bytes"], ["good", None], pa.array([1, 2])])
def test_bad_texts_are_refused(bad):
    with pytest.raises(ValueError, match="texts"):
        CHUNKER(bad)


def test_bad_document_is_named():
    with pytest.raises(ValueError, match="document 1"):
        CHUNKER(["good", 7])
    with pytest.raises(ValueError, match="document 2"):
        CHUNKER(pa.array(["a", "b", None]))
    with pytest.raises(ValueError, match="document 1"):
        list(CHUNKER(iter(["good", 7])))


def test_arrow_and_pandas():
    plain = CHUNKER(TEXTS)
    chunks = plain.replace(vectors=np.ones((len(plain), 3), np.float32), page=np.arange(len(plain)))
    table = chunks.to_arrow()
    assert table.column_names == [
        "document",
        "index",
        "start",
        "end",
        "byte_start",
        "byte_end",
        "tokens",
        "text",
        "page",
        "vector",
    ]
    assert pa.table(chunks).equals(table)
    assert table["text"].to_pylist() == chunks.texts()
    assert table["vector"].type == pa.list_(pa.float32(), 3)
    frame = chunks.to_pandas()
    assert frame["text"].tolist() == chunks.texts() and len(frame["vector"][0]) == 3
    assert chunks[0].metadata == {"page": 0}
    assert type(chunks[0].metadata["page"]) is int  # as JSON wants it
    assert CHUNKER("").to_arrow().num_rows == 0


def test_slices_and_repr():
    chunks = CHUNKER(TEXTS * 3)
    assert rows(chunks[1:4]) == rows(chunks)[1:4]
    assert rows(chunks[chunks.tokens > 3]) == [row for row in rows(chunks) if row[5] > 3]
    assert repr(chunks).startswith(f"Chunks({len(chunks)} chunks of 12 documents")
    assert repr(CHUNKER("")) == "Chunks(0 chunks of 1 documents)"
    assert rows(pickle.loads(pickle.dumps(chunks))) == rows(chunks)
    assert rows(pickle.loads(pickle.dumps(CHUNKER(pa.array(TEXTS))))) == rows(CHUNKER(TEXTS))


def test_lone_surrogates():
    text = "Good \ud800 text. More \udfff here."
    chunks = rc.RecursiveChunker(10, tokenizer="chars")(text)
    assert "".join(row.text for row in chunks).replace(" ", "") == text.replace(" ", "")
    for row in chunks:
        assert text[row.start : row.end] == row.text


def test_progress_and_pages():
    seen = []
    CHUNKER(TEXTS, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(4, 4)]
    chunks = CHUNKER("One.\fTwo begins\fand ends. Three.").with_pages()
    assert chunks.extra["page_start"].tolist() == [1] and chunks.extra["page_end"].tolist() == [3]
    with pytest.raises(ValueError, match="separator"):
        chunks.with_pages("")


def test_sentence_spans_of_one_and_many():
    text = "Später. Noch mehr!"
    assert [text[a:b] for a, b in rc.sentence_spans(text)] == ["Später.", "Noch mehr!"]
    spans, offsets = rc.sentence_spans([text, "", "One."])
    assert offsets.tolist() == [0, 2, 2, 3] and spans.shape == (3, 2)
    assert rc.sentence_spans("").shape == (0, 2)
    with pytest.raises(ValueError, match="language"):
        rc.sentence_spans(text, "xx-nowhere")
    with pytest.raises(ValueError, match="texts"):
        rc.sentence_spans(None)


def test_token_vectors_are_pooled():
    """Late chunking: means over the tokens of each chunk, over several documents, against plain NumPy."""
    texts = ["one two three four five", "", "six seven"]
    places = [np.array([m.span() for m in re.finditer(r"\S+", text)], np.int64).reshape(-1, 2) for text in texts]
    rng = np.random.default_rng(0)
    vectors = [rng.standard_normal((len(spans), 5)).astype(np.float32) for spans in places]
    chunks = rc.TokenChunker(2, 0, "words")(texts).pool_tokens(vectors, places)
    for row in chunks:
        inside = [i for i, (a, _) in enumerate(places[row.document]) if row.start <= a < row.end]
        want = vectors[row.document][inside].mean(0)
        assert np.allclose(row.vector, want / np.linalg.norm(want), atol=1e-6)
    with pytest.raises(ValueError, match="count"):
        chunks.pool_tokens([vectors[0][1:], *vectors[1:]], places)
    with pytest.raises(ValueError, match="vectors"):
        chunks.pool_tokens(vectors[:2], places)
    with pytest.raises(ValueError, match="document 2"):
        chunks.pool_tokens([*vectors[:2], vectors[2][:0]], [*places[:2], places[2][:0]])
