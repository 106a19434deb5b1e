"""Scores of chunks for a query: the kernel, and `Chunks.score` over sentence vectors and chunk vectors."""

from __future__ import annotations

import numpy as np
import pytest
import rapidchunk as rc
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidchunk.kernels import cpu, reference
from strategies import HashEncoder
from test_pooling import WIDTHS, random_vectors, same_bits


def ranges(r, rows, n):
    ends = np.sort(r.integers(0, rows + 1, (n, 2)), 1).astype(np.int64)
    return np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1])


def test_maximum_and_half_the_mean(backend):
    vectors = np.array([[1, 0], [0, 2], [-3, 0], [1, 1], [0, 0]], np.float32)
    start, end = np.array([0, 2, 3, 4, 1], np.int64), np.array([3, 3, 4, 5, 1], np.int64)
    scores = backend.chunk_scores(vectors, np.array([5, 0], np.float32), start, end)
    np.testing.assert_allclose(scores, [1, -1.5, 1.5 * 0.5**0.5, 0, np.nan], atol=1e-6)
    single = backend.chunk_scores(vectors, np.array([0, 1], np.float32), start, end, 0.0)
    np.testing.assert_allclose(single, [1, 0, 0.5**0.5, 0, np.nan], atol=1e-6)


@settings(deadline=None, max_examples=80)
@given(
    seed=st.integers(0, 2**32 - 1),
    width=st.sampled_from(WIDTHS),
    dtype=st.sampled_from([np.float32, np.float16]),
    share=st.sampled_from([0.5, 0.0, 1.0]),
    size=st.sampled_from([1.0, 1e-30, 1e25]),
    threads=st.sampled_from([None, 1, 3]),
)
def test_equal_to_the_reference_bit_for_bit(seed, width, dtype, share, size, threads):
    r = np.random.default_rng(seed)
    rows = int(r.integers(0, 600))
    vectors = random_vectors(seed, rows, width, dtype, spread=3 if dtype == np.float16 else 30)
    query = (r.standard_normal(width) * size).astype(np.float32)
    arguments = (vectors, query, *ranges(r, rows, int(r.integers(0, 50))), share)
    same_bits(cpu.chunk_scores(*arguments, threads=threads), reference.chunk_scores(*arguments))


def test_close_to_float64(backend):
    r = np.random.default_rng(1)
    vectors, query = r.standard_normal((300, 384)).astype(np.float32), r.standard_normal(384).astype(np.float32)
    start, end = ranges(r, 300, 40)
    cosine = (vectors / np.linalg.norm(vectors.astype(np.float64), axis=1)[:, None]) @ query.astype(np.float64)
    cosine /= np.linalg.norm(query.astype(np.float64))
    some = start < end
    expected = [cosine[a:b].max() + cosine[a:b].mean() / 2 for a, b in zip(start[some], end[some])]
    np.testing.assert_allclose(backend.chunk_scores(vectors, query, start, end)[some], expected, atol=1e-5)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_not_finite_is_an_error_that_names_the_row(backend, wrong):
    vectors, query = np.ones((700, 70), np.float32), np.ones(70, np.float32)
    start = np.zeros(1, np.int64)
    vectors[[600, 300], 69] = wrong
    with pytest.raises(ValueError, match=r"^vectors .*row 300 "):
        backend.chunk_scores(vectors, query, start, start)
    query[3] = wrong
    with pytest.raises(ValueError, match=r"^query "):
        backend.chunk_scores(vectors, query, start, start)


def test_errors_name_the_argument(backend):
    x, q = np.ones((3, 4), np.float32), np.ones(4, np.float32)
    a, b = np.array([0, 1], np.int64), np.array([1, 3], np.int64)
    for name, arguments in [
        ("vectors", (x.astype(np.float64), q, a, b)),
        ("vectors", (x[0], q, a, b)),
        ("query", (x, q[:3], a, b)),
        ("query", (x, q.astype(np.float64), a, b)),
        ("start", (x, q, b, a)),
        ("start", (x, q, a - 1, b)),
        ("end", (x, q, a, b + 1)),
        ("end", (x, q, a, b[:1])),
    ]:
        with pytest.raises(ValueError, match=f"^{name} "):
            backend.chunk_scores(*arguments)
    with pytest.raises(ValueError, match=r"^threads "):
        backend.chunk_scores(x, q, a, b, threads=0)
    assert backend.chunk_scores(x, q, a[:0], b[:0]).shape == (0,)


PROGRAM = """
import hashlib, sys
sys.path.insert(0, "tests")
import numpy as np
from test_pooling import WIDTHS, random_vectors
from rapidchunk.kernels import cpu
digest = hashlib.sha256()
start = np.arange(0, 290, 3)
for width in WIDTHS:
    for dtype in (np.float32, np.float16):
        x = random_vectors(width, 300, width, dtype)
        q = random_vectors(width + 1, 9, width, np.float32)[-1]
        digest.update(cpu.chunk_scores(x, q, start, start + 7).tobytes())
print(digest.hexdigest())
"""


def test_same_bits_at_every_simd_level(at_every_simd_level):
    assert len(set(at_every_simd_level(PROGRAM).values())) == 1


TEXTS = ["The cat sat. A dog ran off. The bird sang all day long.", "", "Nothing here. Rain fell on the cat."]


def test_the_chunk_with_the_best_sentence_comes_first():
    chunks = rc.SentenceChunker(6, tokenizer="words")(TEXTS).encode(HashEncoder(), sentence_vectors=True)
    query = HashEncoder().encode(["A dog ran off."])[0]
    assert "dog" in chunks[int(np.argmax(chunks.score(query)))].text


def test_without_sentence_vectors_the_score_is_the_cosine():
    chunks = rc.SentenceChunker(6, tokenizer="words")(TEXTS).encode(HashEncoder())
    query = HashEncoder().encode(["A dog ran off."])[0]
    unit = chunks.vectors / np.linalg.norm(chunks.vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(chunks.score(query), unit @ query / np.linalg.norm(query), atol=1e-6)


def test_a_chunk_without_sentences_counts_as_one():
    from rapidchunk.vectors import SentenceVectors

    query = HashEncoder().encode(["The bird sang."])[0]
    chunks = rc.SentenceChunker(6, tokenizer="words")(TEXTS).encode(HashEncoder(), sentence_vectors=True)
    cosine = chunks.encode(HashEncoder()).score(query)
    kept = chunks.sentence_vectors
    start, end = kept.start.copy(), kept.end.copy()
    end[1] = start[1]
    some = chunks.replace(sentence_vectors=SentenceVectors(kept.vectors, start, end))
    scores, before = some.score(query), chunks.score(query)
    assert cosine[1] > 0.1
    np.testing.assert_allclose(scores[1], 1.5 * cosine[1], atol=1e-6)
    np.testing.assert_array_equal(np.delete(scores, 1), np.delete(before, 1))
    some.vectors = None
    with pytest.raises(ValueError, match="chunk 1 has neither"):
        some.score(query)


def test_score_errors():
    chunks = rc.SentenceChunker(6, tokenizer="words")(TEXTS)
    with pytest.raises(ValueError, match="needs chunks with vectors"):
        chunks.score(np.ones(16, np.float32))
    chunks = chunks.encode(HashEncoder(), sentence_vectors=True)
    with pytest.raises(ValueError, match="query has shape"):
        chunks.score(np.ones(15, np.float32))
    with pytest.raises(ValueError, match="query has shape"):
        chunks.score(np.ones((1, 16), np.float32))
