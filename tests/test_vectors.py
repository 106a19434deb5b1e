"""Vectors of chunks: means of sentences, late vectors, sentence vectors through slices, joins, pickles, Arrow and Parquet."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pyarrow.parquet as pq
import pytest
import rapidchunk as rc
import tiny_encoders as tiny
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidchunk.chunks import Chunks, concatenate
from rapidchunk.encoders import OnnxEncoder, as_encoder, batches
from rapidchunk.encoders.tokens import ModelTokenizer
from rapidchunk.vectors import SentenceVectors, joined
from strategies import TEXTS, HashEncoder

DOCUMENTS = st.lists(TEXTS, max_size=4)
HASH = as_encoder(HashEncoder())  # unit vectors


def same(a, b):
    """Sentence vectors of two tables are the same, chunk by chunk."""
    assert len(a) == len(b)
    for row in range(len(a)):
        np.testing.assert_array_equal(a.of(row), b.of(row))


def semantic(**options):
    return rc.SemanticChunker(HashEncoder(), **{"max_tokens": 12, "min_tokens": 3, "tokenizer": "words", **options})


# ---- from one pass over the sentences


@settings(deadline=None, max_examples=60)
@given(texts=DOCUMENTS, overlap=st.sampled_from([0, 4]))
def test_sentence_vectors_of_semantic_chunks_are_those_of_its_sentences(texts, overlap):
    chunks = semantic(overlap=overlap, vectors="mean", sentence_vectors=True)(texts)
    plain = semantic(overlap=overlap)(texts)
    assert plain.sentence_vectors is None and plain.texts() == chunks.texts()
    if not len(chunks):
        return
    kept = chunks.sentence_vectors
    assert len(kept) == len(chunks) and (kept.counts > 0).all()
    for row, chunk in enumerate(chunks):
        mean = kept.of(row).sum(0)
        assert kept.counts[row] > 1 or np.allclose(chunk.vector, mean / max(np.linalg.norm(mean), 1e-9), atol=1e-5)


def test_sentences_are_encoded_once_for_cuts_vectors_and_the_explanation():
    seen = []

    def encoder(texts):
        seen.extend(texts)
        return HASH.encode(texts)

    text = "One two three four. Five six seven. Eight nine ten eleven twelve. Thirteen fourteen."
    chunker = rc.SemanticChunker(encoder, 12, tokenizer="words", vectors="mean", sentence_vectors=True)
    chunks, explanation = chunker.chunk_and_explain(text)
    assert len(seen) == len(explanation.spans) == 4
    assert chunks.texts() == chunker(text).texts() and chunks.settings == chunker(text).settings
    np.testing.assert_array_equal(chunks.vectors, chunker(text).vectors)


@settings(deadline=None, max_examples=60)
@given(texts=DOCUMENTS, overlap=st.sampled_from([0, 3]))
def test_encode_keeps_the_sentences_of_every_chunk(texts, overlap):
    chunks = rc.SentenceChunker(8, overlap, "words")(texts)
    made = chunks.encode(HASH, vectors="mean", sentence_vectors=True)
    again = chunks.encode(HASH, sentence_vectors=True)
    np.testing.assert_array_equal(again.vectors, chunks.encode(HASH).vectors)
    same(made.sentence_vectors, again.sentence_vectors)
    for row, text in enumerate(chunks.texts()):
        spans = rc.sentence_spans(text)
        sentences = HASH.encode([text[a:b] for a, b in spans])
        np.testing.assert_array_equal(made.sentence_vectors.of(row), sentences)
        weights = [len(text[a:b].encode("utf-8", "surrogatepass")) for a, b in spans]
        mean = (sentences * np.array(weights)[:, None]).sum(0)
        np.testing.assert_allclose(made.vectors[row], mean / max(np.linalg.norm(mean), 1e-9), atol=1e-5)


def test_each_distinct_sentence_is_encoded_once():
    seen = []

    def encoder(texts):
        seen.extend(texts)
        return HASH.encode(texts)

    text = "The same words. Other words here. The same words. And more of them."
    rc.SentenceChunker(7, 4, "words")([text, text]).encode(encoder, vectors="mean", sentence_vectors=True)
    assert len(seen) == len(set(seen)) == 3


def test_headings_are_sentences_of_their_chunks():
    chunks = rc.MarkdownChunker(40, tokenizer="words")("# Power failure\n\nSwitch it on again.\n")
    chunks = chunks.encode(HASH, sentence_vectors=True)
    expected = [HASH.encode([text[a:b] for a, b in rc.sentence_spans(text)]) for text in chunks.contexts()]
    for row, vectors in enumerate(expected):
        np.testing.assert_array_equal(chunks.sentence_vectors.of(row), vectors)


def test_other_vectors_take_the_sentences_of_another_encoder_away():
    chunks = rc.SentenceChunker(6, tokenizer="words")("One two. Three four.").encode(HASH, sentence_vectors=True)
    assert chunks.encode(lambda texts: np.ones((len(texts), 3))).sentence_vectors is None


@pytest.mark.parametrize("vectors", ["max", None, 3])
def test_a_wrong_choice_of_vectors_is_named(vectors):
    with pytest.raises(ValueError, match="vectors must be one of"):
        rc.SentenceChunker(6, tokenizer="words")("One two.").encode(HASH, vectors=vectors)
    if vectors:
        with pytest.raises(ValueError, match="vectors must be one of"):
            semantic(vectors=vectors)


def test_segment_length_is_checked():
    for wrong in (0, 0.5, -1, "long", True, float("nan")):
        with pytest.raises(ValueError, match="segment_length"):
            semantic(segment_length=wrong)
    with pytest.raises(ValueError, match="without a rule"):
        semantic(segment_length=5, percentile=90)
    with pytest.raises(ValueError, match="without a rule"):
        semantic(segment_length="auto", method="greedy")


def test_segment_length_changes_the_number_of_chunks():
    text = " ".join(f"Word{n % 7} is here{n % 11} now." for n in range(200))
    few, many = (semantic(max_tokens=400, segment_length=n)(text) for n in (40, 4))
    assert 4 <= len(few) <= 7 and 40 <= len(many) <= 60
    assert semantic(max_tokens=400)(text).texts() == semantic(max_tokens=400, segment_length=None)(text).texts()


# ---- slices, joins, pickles, tables


@st.composite
def tables(draw):
    chunks = rc.SentenceChunker(7, draw(st.sampled_from([0, 3])), "words")(draw(DOCUMENTS), ids=None)
    if draw(st.booleans()):
        ids = [f"d{n}" for n in range(chunks.documents)]
        chunks = Chunks(chunks._source, chunks._columns, ids=ids, settings=chunks.settings)
    return chunks.encode(HASH, sentence_vectors=True).replace(number=np.arange(len(chunks)))


def arrow_can_hold(chunks):
    return "\ud800" not in "".join(chunks.texts())


@settings(deadline=None, max_examples=60)
@given(chunks=tables(), data=st.data())
def test_rows_keep_their_sentences(chunks, data):
    kept = chunks.sentence_vectors
    rows = np.array(
        data.draw(st.lists(st.integers(0, max(len(chunks) - 1, 0)), max_size=5 if len(chunks) else 0)), np.int64
    )
    low, high = sorted(data.draw(st.tuples(*[st.integers(0, len(chunks))] * 2)))
    step = data.draw(st.sampled_from([1, 2, -1]))
    picks = [rows, slice(low, high), slice(None, None, step), np.arange(len(chunks)) % 2 == 0]
    for pick in picks:
        some = chunks[pick]
        numbers = np.arange(len(chunks))[pick].tolist()
        assert len(some.sentence_vectors) == len(numbers)
        for row, number in enumerate(numbers):
            np.testing.assert_array_equal(some.sentence_vectors.of(row), kept.of(number))
    distinct = sum(kept.counts[number] for number in set(rows.tolist()))
    assert len(chunks[rows].sentence_vectors.vectors) <= distinct  # nothing else is carried along


@settings(deadline=None, max_examples=40)
@given(chunks=tables().filter(arrow_can_hold), other=tables())
def test_joins_pickles_and_tables_keep_sentences(chunks, other):
    query = HASH.encode(["the cat and the dog"])[0]
    copy = pickle.loads(pickle.dumps(chunks))
    same(copy.sentence_vectors, chunks.sentence_vectors)
    np.testing.assert_array_equal(copy.score(query), chunks.score(query))
    both = concatenate([chunks, other])
    if len(both):
        for row in range(len(both)):
            part, own = (chunks, row) if row < len(chunks) else (other, row - len(chunks))
            np.testing.assert_array_equal(both.sentence_vectors.of(row), part.sentence_vectors.of(own))
    frame = chunks.to_pandas()
    for row in range(len(chunks)):
        np.testing.assert_array_equal(frame["sentence_vectors"][row], chunks.sentence_vectors.of(row))
    mixed = joined([None, chunks.sentence_vectors, None], [2, len(chunks), 1])
    if len(chunks):
        assert mixed.counts.tolist() == [0, 0, *chunks.sentence_vectors.counts.tolist(), 0]
        same(mixed[2:-1], chunks.sentence_vectors)


def through_parquet(chunks):
    file = io.BytesIO()
    pq.write_table(chunks.to_arrow(), file, row_group_size=3)
    return Chunks.from_arrow(pq.read_table(file))


@settings(deadline=None, max_examples=40)
@given(chunks=tables().filter(arrow_can_hold), data=st.data())
def test_arrow_and_parquet_give_everything_back(chunks, data):
    low, high = sorted(data.draw(st.tuples(*[st.integers(0, len(chunks))] * 2)))
    query = HASH.encode(["the cat and the dog"])[0]
    for some in (chunks, chunks[low:high]):
        for back in (Chunks.from_arrow(some.to_arrow()), through_parquet(some)):
            assert back.texts() == some.texts()
            assert back.settings == some.settings
            assert [row.document for row in back] == [row.document for row in some]
            if len(some):
                assert back.to_arrow().equals(some.to_arrow())
                np.testing.assert_array_equal(back.vectors, some.vectors)
                same(back.sentence_vectors, some.sentence_vectors)
                np.testing.assert_array_equal(back.score(query), some.score(query))
                assert back.chunk_ids() == some.chunk_ids()
    part = Chunks.from_arrow(chunks.to_arrow().slice(low, high - low))
    assert part.texts() == chunks[low:high].texts()
    if len(part):
        same(part.sentence_vectors, chunks[low:high].sentence_vectors)


def test_from_arrow_over_the_documents_themselves():
    texts = ["One two. Three four.", "Five six."]
    chunks = rc.SentenceChunker(3, tokenizer="words")(texts, ids=["a", "b"])
    back = Chunks.from_arrow(chunks.to_arrow(), texts)
    assert [back.document_text(n) for n in range(2)] == texts
    with pytest.raises(ValueError, match="texts has 1 entries for 2 documents"):
        Chunks.from_arrow(chunks.to_arrow(), texts[:1])
    with pytest.raises(ValueError, match="no column tokens"):
        Chunks.from_arrow(chunks.to_arrow().drop_columns(["tokens"]))


def test_levels_of_a_hierarchy_keep_vectors():
    inner = [semantic(max_tokens=size, vectors="mean", sentence_vectors=True) for size in (30, 12)]
    text = " ".join(f"Word{n} is here{n % 5} now." for n in range(30))
    chunks = rc.HierarchicalChunker(inner)(text)
    for row, chunk in enumerate(chunks):
        spans = rc.sentence_spans(chunk.text)
        sentences = HASH.encode([chunk.text[a:b] for a, b in spans])
        length = np.maximum(np.linalg.norm(sentences, axis=1, keepdims=True), 1e-9)
        found = chunks.sentence_vectors.of(row)
        np.testing.assert_allclose(found / np.linalg.norm(found, axis=1, keepdims=True), sentences / length, atol=1e-5)
    assert chunks.vectors.shape == (len(chunks), 16)


def test_ranges_are_checked():
    with pytest.raises(ValueError, match="ranges of the 2 rows"):
        SentenceVectors(np.ones((2, 3)), np.array([0]), np.array([3]))
    with pytest.raises(ValueError, match="as many entries"):
        SentenceVectors(np.ones((2, 3)), np.array([0]), np.array([1, 2]))


# ---- late


@settings(deadline=None, max_examples=200)
@given(count=st.integers(0, 400), limit=st.integers(1, 60), quarter=st.booleans())
def test_overlapping_windows_cover_every_token_once(count, limit, quarter):
    overlap = limit // 4 if quarter else 0
    start, end, bounds = batches.overlapping(count, limit, overlap)
    assert ((end - start) <= limit).all() and start[0] == 0 and end[-1] == count
    assert ((end[:-1] - start[1:]) >= overlap).all()
    assert (bounds[:-1] >= start).all() and (bounds[1:] <= end).all()
    assert bounds[0] == 0 and bounds[-1] == count and (np.diff(bounds) >= 0).all()
    assert ((bounds[1:-1] - start[1:]) >= overlap // 2).all() and ((end[:-1] - bounds[1:-1]) >= overlap // 2).all()
    assert len(start) <= 1 + -(-count // max(limit - overlap, 1))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    pytest.importorskip("onnxruntime")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAPIDCHUNK_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield OnnxEncoder(
            tiny.write_model(tmp_path_factory.mktemp("bert"), pooling="mean", max_length=42), device="cpu"
        )


def words(count, seed=0):
    return " ".join(f"w{n}" for n in np.random.RandomState(seed).randint(0, 190, count))


def test_token_vectors_are_those_of_the_model_without_special_tokens(encoder):
    text = words(20)
    vectors, spans = encoder.encode_tokens(text)
    assert [text[a:b] for a, b in spans] == text.split()
    ids = encoder._tokenizer.ids_of([text])[0]
    table = np.concatenate([encoder._tokenizer.prefix, ids, encoder._tokenizer.suffix])[None]
    session = encoder._running().session
    hidden = session.run(["last_hidden_state"], {"input_ids": table, "lengths": np.array([table.size], np.int32)})[0]
    np.testing.assert_allclose(vectors, hidden[0, 1:-1], atol=1e-5)


def test_long_documents_are_read_in_overlapping_windows(encoder):
    text = words(205)
    vectors, spans = encoder.encode_tokens(text)
    assert len(vectors) == len(spans) == 205
    room = encoder.max_length - 2
    start, end, bounds = batches.overlapping(205, room, room // 4)
    assert len(start) == 7
    for a, b, low, high in zip(start, end, bounds[:-1], bounds[1:]):
        own = encoder.encode_tokens(text[spans[a, 0] : spans[b - 1, 1]])[0]
        np.testing.assert_allclose(vectors[low:high], own[low - a : high - a], atol=1e-5)


@pytest.mark.parametrize("count", [1, 30, 205])
def test_every_chunk_gets_the_mean_of_its_tokens(encoder, count):
    texts = [words(count), "", " \n", words(7, 1)]
    chunks = rc.TokenChunker(9, 2, "words")(texts).encode(encoder, vectors="late")
    assert chunks.vectors.shape == (len(chunks), tiny.HIDDEN)
    for chunk in chunks:
        vectors, spans = encoder.encode_tokens(texts[chunk.document])
        inside = (spans[:, 0] >= chunk.start) & (spans[:, 0] < chunk.end)
        mean = vectors[inside].mean(0)
        np.testing.assert_allclose(chunk.vector, mean / np.linalg.norm(mean), atol=1e-5)


def test_a_whole_short_document_is_close_to_its_own_encoding(encoder):
    text = words(30)
    late = rc.TokenChunker(99, tokenizer="words")(text).encode(encoder, vectors="late").vectors[0]
    assert late @ encoder.encode([text])[0] > 0.98


def test_semantic_chunks_take_late_vectors(encoder):
    text = ". ".join(words(6, n) for n in range(12)) + "."
    chunker = rc.SemanticChunker(encoder, 20, min_tokens=5, tokenizer="words", vectors="late", sentence_vectors=True)
    chunks = chunker([text, "", text[:40]])
    plain = rc.SemanticChunker(encoder, 20, min_tokens=5, tokenizer="words")([text, "", text[:40]])
    assert plain.texts() == chunks.texts()
    np.testing.assert_array_equal(chunks.vectors, plain.encode(encoder, vectors="late").vectors)
    assert (chunks.sentence_vectors.counts > 0).all()


def test_prefixes_are_read_but_not_pooled(encoder, tmp_path):
    folder = tiny.write_model(tmp_path / "bert", pooling="mean")
    with_prefix = OnnxEncoder(folder, device="cpu", prefix="the query: ")
    text = words(10)
    vectors, spans = with_prefix.encode_tokens(text)
    assert [text[a:b] for a, b in spans] == text.split()
    whole = OnnxEncoder(folder, device="cpu", prefix="").encode_tokens("the query: " + text)[0]
    np.testing.assert_allclose(vectors, whole[3:], atol=1e-5)


class TokenEncoder(HashEncoder):
    """Token vectors of words; `lost` of the last ones are missing."""

    lost = 0

    def encode(self, texts, *, progress=None, report=None):
        return super().encode(texts)

    def encode_tokens(self, text):
        spans, at = [], 0
        for word in text.split():
            at = text.index(word, at)
            spans.append((at, at + len(word)))
            at += len(word)
        vectors = super().encode(text.split())
        return vectors[: len(vectors) - self.lost], np.array(spans, np.int64).reshape(-1, 2)


@settings(deadline=None, max_examples=60)
@given(texts=DOCUMENTS)
def test_any_encoder_with_token_vectors_serves(texts):
    chunks = rc.SentenceChunker(5, tokenizer="words")(texts).encode(TokenEncoder(), vectors="late")
    if len(chunks):
        assert chunks.vectors.shape == (len(chunks), 16) and np.isfinite(chunks.vectors).all()


def test_another_number_of_vectors_is_an_error_that_names_the_document():
    encoder = TokenEncoder()
    encoder.lost = 1
    chunks = rc.SentenceChunker(5, tokenizer="words")(["", "One two three."], ids=["a", "b"])
    with pytest.raises(ValueError, match="document 'b' has 2 token vectors for a count of 3 tokens"):
        chunks.encode(encoder, vectors="late")


def test_encoders_without_token_vectors_or_mean_are_refused(tmp_path, encoder):
    with pytest.raises(ValueError, match="needs an encoder with encode_tokens"):
        semantic(vectors="late")
    first = OnnxEncoder(tiny.write_model(tmp_path / "cls", pooling="cls"), device="cpu")
    with pytest.raises(ValueError, match="the mean of its tokens, not 'cls'"):
        rc.SentenceChunker(5, tokenizer="words")("One two three.").encode(first, vectors="late")


def test_lowered_text_has_the_places_of_its_own_characters():
    tokenizer = ModelTokenizer(tiny.tokenizer(), lower=True)
    text = "İİ w1 İx W2"
    ids, spans = tokenizer.tokens_of(text)
    assert [text[a:b] for a, b in spans if text[a:b].lower() in ("w1", "w2")] == ["w1", "W2"]
    assert spans.max() <= len(text)
    np.testing.assert_array_equal(ids, tokenizer.ids_of([text])[0])
