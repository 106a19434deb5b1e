from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidchunk.kernels import cpu, reference
from test_pooling import WIDTHS, random_vectors

LAST = 2**31 - 1


def ragged(r, n, documents):
    return np.sort(np.r_[0, n, r.integers(0, n + 1, documents)]).astype(np.int64)


def test_cosines_and_document_ends(backend):
    vectors = np.array([[1, 0], [2, 0], [0, 3], [0, -5], [1, 1], [0, 0], [1, 0]], np.float32)
    similarity = backend.adjacent_similarity(vectors, np.array([0, 4, 4, 7], np.int64))
    assert similarity.dtype == np.int32
    assert similarity.tolist() == [2**20, 0, -(2**20), LAST, 0, 0, LAST]


def test_rounded_half_away_from_zero():
    # 1.5 and 2.5 of 2^-20, as float32 holds them exactly.
    cosines = np.array([1.5, -1.5, 2.5, -2.5, 0.5, 0.4999999], np.float32) / np.float32(2**20)
    assert reference.similarity.quantise_cosine(cosines).tolist() == [2, -2, 3, -3, 1, 0]
    # The same through the kernel: (1, 0) . (c, s) = c where s rounds to 1.
    for c, q in zip(cosines, [2, -2, 3, -3, 1, 0]):
        pair = np.array([[1, 0], [c, 1]], np.float32)
        assert cpu.adjacent_similarity(pair, np.array([0, 2], np.int64))[0] == q


@settings(deadline=None, max_examples=80)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 90),
    width=st.sampled_from(WIDTHS),
    dtype=st.sampled_from([np.float32, np.float16]),
    block=st.sampled_from([1, 1, 2, 3, 100]),
    threads=st.sampled_from([None, 1, 3]),
)
def test_equal_to_the_reference(seed, n, width, dtype, block, threads):
    vectors = random_vectors(seed, n, width, dtype, spread=3 if dtype == np.float16 else 30)
    offsets = ragged(np.random.default_rng(seed), n, 4)
    ours = cpu.adjacent_similarity(vectors, offsets, block, threads=threads)
    np.testing.assert_array_equal(ours, reference.adjacent_similarity(vectors, offsets, block))


@pytest.mark.parametrize("block", [1, 3])
def test_close_to_float64(backend, block):
    r = np.random.default_rng(1)
    x = r.standard_normal((40, 384)).astype(np.float32)
    similarity = backend.adjacent_similarity(x, np.array([0, 40], np.int64), block)
    unit = x.astype(np.float64) / np.linalg.norm(x.astype(np.float64), axis=1, keepdims=True)
    for i in range(39):
        a, b = unit[max(0, i + 1 - block) : i + 1].sum(0), unit[i + 1 : i + 1 + block].sum(0)
        assert abs(similarity[i] - 2**20 * (a @ b) / np.linalg.norm(a) / np.linalg.norm(b)) < 1.5


def test_length_does_not_matter(backend):
    x = np.random.default_rng(2).standard_normal((30, 96)).astype(np.float32)
    offsets = np.array([0, 30], np.int64)
    for exponent in (-120, -70, 70, 100):
        same = backend.adjacent_similarity(np.ldexp(x, exponent).astype(np.float32), offsets)
        assert np.abs(same - backend.adjacent_similarity(x, offsets)).max() <= 1


def test_blocks_that_cancel_out_give_zero(backend):
    vectors = np.array([[1, 0], [-1, 0], [0, 1], [0, 1]], np.float32)
    assert backend.adjacent_similarity(vectors, np.array([0, 4], np.int64), 2)[1] == 0


@pytest.mark.parametrize("block", [1, 2])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("rows", [(37,), (0,), (99,), (70, 71, 40)])
def test_not_finite_is_an_error_that_names_the_first_row(backend, wrong, rows, block):
    vectors = np.ones((100, 65), np.float32)
    vectors[list(rows), 64] = wrong
    with pytest.raises(ValueError, match=rf"^vectors .*row {min(rows)} "):
        backend.adjacent_similarity(vectors, np.array([0, 37, 38, 38, 100], np.int64), block)


def test_errors_name_the_argument(backend):
    x = np.ones((3, 4), np.float32)
    good = np.array([0, 3], np.int64)
    for name, arguments in [
        ("vectors", (x.astype(np.float64), good)),
        ("vectors", (x[0], good)),
        ("doc_offsets", (x, np.array([0, 2], np.int64))),
        ("doc_offsets", (x, np.array([0, 2, 1, 3], np.int64))),
        ("block", (x, good, 0)),
        ("threads", (x, good, 1, 0)),
    ]:
        with pytest.raises(ValueError, match=f"^{name} "):
            backend.adjacent_similarity(*arguments)


def test_any_thread_number_gives_the_same():
    x = np.random.default_rng(3).standard_normal((20000, 64)).astype(np.float32)
    offsets = ragged(np.random.default_rng(4), 20000, 300)
    for block in (1, 3):
        one = cpu.adjacent_similarity(x, offsets, block, threads=1)
        for threads in (2, 5):
            np.testing.assert_array_equal(one, cpu.adjacent_similarity(x, offsets, block, threads=threads))


PROGRAM = """
import hashlib, sys
sys.path.insert(0, "tests")
import numpy as np
from test_pooling import WIDTHS, random_vectors
from rapidchunk.kernels import cpu
digest = hashlib.sha256()
for width in WIDTHS:
    for dtype in (np.float32, np.float16):
        x = random_vectors(width, 300, width, dtype)
        for block in (1, 3):
            digest.update(cpu.adjacent_similarity(x, np.array([0, 100, 300], np.int64), block).tobytes())
print(digest.hexdigest())
"""


def test_same_integers_at_every_simd_level(at_every_simd_level):
    assert len(set(at_every_simd_level(PROGRAM).values())) == 1
