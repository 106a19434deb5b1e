from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidchunk.kernels import cpu, reference

WIDTHS = [1, 7, 63, 64, 65, 100, 128, 384]


def random_vectors(seed, rows, width, dtype, spread=3):
    """Values of very different size, with zero rows among them."""
    r = np.random.default_rng(seed)
    x = r.standard_normal((rows, width)) * 10.0 ** r.integers(-spread, spread + 1, (rows, 1))
    x[r.random(rows) < 0.1] = 0
    return x.astype(dtype)


def same_bits(a, b):
    assert a.dtype == b.dtype == np.float32 and a.shape == b.shape
    np.testing.assert_array_equal(a.view(np.uint32), b.view(np.uint32))


def test_mean_and_length(backend):
    vectors = np.array([[3, 0], [0, 4], [6, 8]], np.float32)
    start, end = np.array([0, 2, 1], np.int64), np.array([2, 3, 1], np.int64)
    np.testing.assert_array_equal(
        backend.pool_spans(vectors, start, end, normalize=False), np.array([[1.5, 2], [6, 8], [0, 0]], np.float32)
    )
    np.testing.assert_allclose(backend.pool_spans(vectors, start, end), [[0.6, 0.8], [0.6, 0.8], [0, 0]], rtol=1e-6)


def test_several_ranges_for_one_output(backend):
    vectors = np.arange(12, dtype=np.float32).reshape(6, 2)
    start, end = np.array([0, 4, 2], np.int64), np.array([1, 6, 3], np.int64)
    pooled = backend.pool_spans(vectors, start, end, np.array([0, 2, 2, 3], np.int64), normalize=False)
    np.testing.assert_allclose(pooled, [vectors[[0, 4, 5]].mean(0), [0, 0], vectors[2]], rtol=1e-6)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    width=st.sampled_from(WIDTHS),
    dtype=st.sampled_from([np.float32, np.float16]),
    normalize=st.booleans(),
    grouped=st.booleans(),
    threads=st.sampled_from([None, 1, 3]),
)
def test_equal_to_the_reference_bit_for_bit(seed, width, dtype, normalize, grouped, threads):
    r = np.random.default_rng(seed)
    rows = int(r.integers(0, 40))
    vectors = random_vectors(seed, rows, width, dtype)
    ends = np.sort(r.integers(0, rows + 1, (int(r.integers(0, 90)), 2)), 1)
    start, end = ends[:, 0].astype(np.int64), ends[:, 1].astype(np.int64)
    offsets = np.sort(np.r_[0, len(start), r.integers(0, len(start) + 1, 5)]).astype(np.int64) if grouped else None
    arguments = (vectors, start, end, offsets, normalize)
    same_bits(cpu.pool_spans(*arguments, threads=threads), reference.pool_spans(*arguments))


@pytest.mark.parametrize("size", [1e-45, 1e-38, 1e-20, 1e20, 3e38])
def test_extreme_sizes_have_length_one(backend, size):
    vectors = np.full((1, 70), size, np.float32)
    pooled = backend.pool_spans(vectors, np.array([0], np.int64), np.array([1], np.int64))
    np.testing.assert_allclose(pooled, 70**-0.5, rtol=1e-5)


def test_every_half_is_widened_exactly(backend):
    vectors = np.arange(65536, dtype=np.uint16).view(np.float16).reshape(-1, 64)
    vectors = vectors[np.isfinite(vectors).all(1)]
    n = len(vectors)
    start = np.arange(n, dtype=np.int64)
    pooled = backend.pool_spans(vectors, start, start + 1, normalize=False)
    np.testing.assert_array_equal(pooled, vectors.astype(np.float32))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_not_finite_is_an_error_that_names_the_span(backend, wrong, dtype):
    vectors = np.ones((10, 70), dtype)
    vectors[6, 69] = wrong
    start = np.arange(10, dtype=np.int64)
    with pytest.raises(ValueError, match=r"^vectors .*span 6"):
        backend.pool_spans(vectors, start, start + 1)


def test_errors_name_the_argument(backend):
    vectors = np.ones((4, 3), np.float32)

    def call(start, end, offsets=None, vectors=vectors, **more):
        offsets = None if offsets is None else np.array(offsets, np.int64)
        return backend.pool_spans(vectors, np.array(start, np.int64), np.array(end, np.int64), offsets, **more)

    for name, arguments in [
        ("start", ([-1], [2])),
        ("start", ([2], [1])),
        ("end", ([0], [5])),
        ("end", ([0], [])),
        ("offsets", ([0], [1], [0, 2])),
        ("vectors", ([0], [1], None, vectors.astype(np.float64))),
        ("vectors", ([0], [1], None, vectors[0])),
    ]:
        with pytest.raises(ValueError, match=f"^{name} "):
            call(*arguments)
    with pytest.raises(ValueError, match=r"^threads "):
        call([0], [1], threads=0)
    assert call([], []).shape == (0, 3)


PROGRAM = """
import hashlib, sys
sys.path.insert(0, "tests")
import numpy as np
from test_pooling import WIDTHS, random_vectors
from rapidchunk.kernels import cpu
digest = hashlib.sha256()
for width in WIDTHS:
    for dtype in (np.float32, np.float16):
        x = random_vectors(width, 200, width, dtype)
        start = np.arange(190, dtype=np.int64)
        for normalize in (False, True):
            digest.update(cpu.pool_spans(x, start, start + 10, None, normalize).tobytes())
print(digest.hexdigest())
"""


def test_same_bits_at_every_simd_level(at_every_simd_level):
    assert len(set(at_every_simd_level(PROGRAM).values())) == 1
