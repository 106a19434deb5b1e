"""Vectors that come part by part give what all of them at once give."""

from __future__ import annotations

import numpy as np
import pytest
import rapidchunk as rc
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidchunk.chunkers.vector_strips import SimilarityStream, reduce_vectors
from rapidchunk.kernels import cpu, reference
from test_boundaries import sizes
from test_directional import topics


def parts(r, n, most):
    """Where the parts of n rows begin and end; some are empty."""
    ends = np.minimum(np.cumsum(r.integers(0, most, 4 * n // most + 9)), n)
    ends = np.append(ends[ends < n], n)
    return zip(np.append(0, ends[:-1]), ends)


def case(seed, n, dtype=np.float32):
    r = np.random.default_rng(seed)
    vectors = topics(r, r.integers(1, 40, n // 15 + 2), 80, r.choice([0.5, 3]), dtype)[:n]
    vectors[r.random(len(vectors)) < 0.02] = 0
    first, last = sizes(r.integers(0, 60, len(vectors)))
    return r, vectors, first, last, r.choice(4, len(vectors), p=[0.7, 0.1, 0.1, 0.1]).astype(np.uint8)


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.sampled_from([1, 2, 100, 257, 258, 700, 1024, 1025, 3000]),
    most=st.sampled_from([2, 50, 300, 2000]),
    dtype=st.sampled_from([np.float32, np.float16]),
    limits=st.sampled_from([(0, 100), (32, 250), (0, 2**31 - 1)]),
    length=st.sampled_from([0, -1, 7]),
)
def test_directional_cuts_part_by_part(seed, n, most, dtype, limits, length):
    r, vectors, first, last, prior = case(seed, n, dtype)
    wanted = cpu.directional_cuts(vectors, first, last, prior, np.array([0, len(vectors)]), *limits, length)
    stream = cpu.DirectionalStream(first, last, prior, *limits, length)
    for begin, end in parts(r, len(vectors), most):
        stream.add(vectors[begin:end])
    np.testing.assert_array_equal(stream.result(), wanted)


def test_a_long_document_equals_the_reference():
    """Longer than the rows that are kept, and with chunks of hundreds of sentences."""
    r, vectors, first, last, prior = case(5, 1500)
    for limits in ((32, 250), (0, 2**31 - 1)):
        streams = [backend.DirectionalStream(first, last, prior, *limits) for backend in (cpu, reference)]
        for begin, end in parts(r, len(vectors), 400):
            for stream in streams:
                stream.add(vectors[begin:end])
        ours, wanted = (stream.result() for stream in streams)
        np.testing.assert_array_equal(ours, wanted)
        whole = cpu.directional_cuts(vectors, first, last, prior, np.array([0, len(vectors)]), *limits)
        np.testing.assert_array_equal(ours, whole)


def test_one_sentence_that_outweighs_all():
    """Products of vectors stay int32 however many tokens a sentence has."""
    n = 1400
    tokens = np.ones(n, np.int64)
    tokens[n // 2] = 2**40
    first, last = sizes(tokens)
    vectors = np.random.default_rng(1).standard_normal((n, 4)).astype(np.float32)
    arguments = (vectors, first, last, np.zeros(n, np.uint8), np.array([0, n]), 0, 2**31 - 1)
    np.testing.assert_array_equal(cpu.directional_cuts(*arguments), reference.directional_cuts(*arguments))


@pytest.mark.parametrize("backend", [cpu, reference], ids=["cpu", "reference"])
def test_wrong_parts_are_named(backend):
    first, last = sizes(np.full(5, 10))
    prior = np.zeros(5, np.uint8)
    rows = np.ones((3, 8), np.float32)
    with pytest.raises(ValueError, match="prior"):
        backend.DirectionalStream(first, last, prior + 9, 0, 50)
    with pytest.raises(ValueError, match=r"max_tokens|min_tokens"):
        backend.DirectionalStream(first, last, prior, 60, 50)
    stream = backend.DirectionalStream(first, last, prior, 0, 50)
    stream.add(rows)
    with pytest.raises(ValueError, match="vectors must not be more"):
        stream.add(rows)
    with pytest.raises(ValueError, match="vectors must be as many"):
        stream.result()
    stream = backend.DirectionalStream(first, last, prior, 0, 50)
    stream.add(rows)
    with pytest.raises(ValueError, match=r"vectors must be finite; row 4 is not"):
        stream.add(np.array([[1] * 8, [np.nan] * 8], np.float32))


@pytest.mark.parametrize("other", [np.ones((2, 9), np.float32), np.ones((2, 8), np.float16)])
def test_parts_are_of_one_type_and_width(other):
    first, last = sizes(np.full(5, 10))
    stream = cpu.DirectionalStream(first, last, np.zeros(5, np.uint8), 0, 50)
    stream.add(np.ones((3, 8), np.float32))
    with pytest.raises(ValueError, match="vectors must have the same type and width"):
        stream.add(other)


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 200),
    most=st.sampled_from([2, 7, 60, 300]),
    block=st.sampled_from([1, 2, 3, 10, 250]),
)
def test_similarities_part_by_part(seed, n, most, block):
    r, vectors, *_ = case(seed, n)
    stream = SimilarityStream(len(vectors), block)
    for begin, end in parts(r, len(vectors), most):
        stream.add(vectors[begin:end])
    wanted = cpu.adjacent_similarity(vectors, np.array([0, len(vectors)]), block)
    np.testing.assert_array_equal(stream.result(), wanted)


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr("rapidchunk.chunkers.vector_strips.PART", 4)


def test_no_more_vectors_are_asked_for_than_wanted(small_parts):
    asked = []

    def encode(begin, end):
        asked.append((begin, end))
        return np.arange(begin, end)[:, None].astype(np.float32)

    class Stream:
        def __init__(self, at):
            self.found = []

        def add(self, vectors):
            self.found.extend(vectors[:, 0] * 10)

        def result(self):
            return np.array(self.found)

    offsets = np.array([0, 3, 3, 5, 12, 13, 13])
    found = reduce_vectors(offsets, encode, lambda vectors, own, at: vectors[:, 0] * 10, Stream, 4)
    assert found.tolist() == [10 * i for i in range(13)]
    assert asked == [(0, 3), (3, 5), (5, 9), (9, 12), (12, 13)]
    assert len(reduce_vectors(np.array([0]), encode, lambda vectors, own, at: vectors[:, 0], Stream)) == 0


WORDS = ["mill", "barn", "light", "log"] * 40
TEXT = " ".join(f"The {word} of number {i} is long. Ist das so? 是的。" for i, word in enumerate(WORDS))


class Lengths:
    """A vector of a text's letters; counts the texts of a call."""

    dimension = 26

    def __init__(self):
        self.calls = []

    def encode(self, texts, *, progress=None, report=None):
        self.calls.append(len(texts))
        if report is not None:
            report["split"] = [0]
        return np.array([[text.count(chr(97 + k)) + 0.1 for k in range(26)] for text in texts], np.float32)


@pytest.mark.parametrize(
    "options",
    [{}, {"percentile": 80}, {"threshold": 0.5, "block": 3}, {"depth": 0.5, "method": "greedy"}, {"segment_length": "auto"},
     {"segment_length": 4}, {"vectors": "mean"}, {"overlap": 10}],
    ids=str,
)  # fmt: skip
def test_chunks_of_strips_are_those_of_all_sentences_at_once(options, small_parts, monkeypatch):
    texts = [TEXT, "", "One. Two. Three.", TEXT[:700], "  ", TEXT[100:5000]]
    chunker = rc.SemanticChunker(max_tokens=60, **options)
    columns = ("document", "start", "end", "tokens")
    wanted = chunker(texts)
    monkeypatch.setattr("rapidchunk.chunkers.semantic.STRIP", 16)
    found = chunker(texts)
    for name in columns:
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    if wanted.vectors is not None:
        np.testing.assert_array_equal(found.vectors, wanted.vectors)


def test_an_encoder_is_called_strip_by_strip(small_parts, monkeypatch):
    monkeypatch.setattr("rapidchunk.chunkers.semantic.STRIP", 100)
    encoder = Lengths()
    chunks = rc.SemanticChunker(encoder, max_tokens=60)([TEXT, "One. Two."])
    assert max(encoder.calls) <= 4 and sum(encoder.calls) == len(rc.sentence_spans(TEXT)) + 2
    assert chunks.report == {"split_sentences": len(encoder.calls)}


def test_a_large_text_is_tokenised_again_for_its_vectors(monkeypatch):
    wanted = rc.SemanticChunker(max_tokens=60)(TEXT)
    monkeypatch.setattr("rapidchunk.chunkers.semantic.BATCH_BYTES", 1000)
    np.testing.assert_array_equal(rc.SemanticChunker(max_tokens=60)(TEXT).start, wanted.start)
