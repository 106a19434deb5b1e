"""The CUDA kernels without a GPU: the .cu files run in an emulator, `kernels.cuda` over NumPy in the place of CuPy."""

from __future__ import annotations

import dataclasses
import itertools
import sys

import numpy as np
import numpy_cupy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidchunk.kernels import cpu, cuda

METHODS = {"threshold": 0.3, "percentile": 80.5, "std": 0.7, "interquartile": 1.2, "gradient": 90.0, "depth": 0.5}


@pytest.fixture(autouse=True, scope="module")
def stand_in():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cupy", numpy_cupy)
        cuda._module.cache_clear()
        cuda._function.cache_clear()
        yield
    cuda._module.cache_clear()
    cuda._function.cache_clear()


def same(name, first, *arguments, **options):
    """The kernel equals the CPU's, bit for bit; arguments are on the device and on the host by turns."""
    want = getattr(cpu, name)(first, *arguments, **options)
    places = itertools.cycle([numpy_cupy.asarray, lambda value: value])
    moved = [next(places)(value) if isinstance(value, np.ndarray) else value for value in arguments]
    got = getattr(cuda, name)(numpy_cupy.asarray(first), *moved, **options).get()
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(got.view(np.uint8), want.view(np.uint8))
    return want


def same_tuples(name, first, *arguments, **options):
    wanted = getattr(cpu, name)(first, *arguments, **options)
    found = getattr(cuda, name)(numpy_cupy.asarray(first), *arguments, **options)
    for got, want in zip(found, wanted, strict=True):
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_array_equal(got.get(), want)


def ragged(random, count, most):
    lengths = random.integers(0, most + 1, count)
    lengths[: min(3, count)] = [0, 1, most][: min(3, count)]
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


@pytest.mark.parametrize(
    ("width", "dtype", "scale"),
    [
        *((width, dtype, 1.0) for width in (1, 33, 64, 100, 384) for dtype in (np.float32, np.float16)),
        (100, np.float32, 1e-20),
        (100, np.float32, 1e18),
        (100, np.float16, 1e-6),
    ],
)
def test_pooling_and_similarity(width, dtype, scale):
    random = np.random.default_rng(width)
    offsets = ragged(random, 5, 6)
    rows = (random.standard_normal((int(offsets[-1]), width)) * scale).astype(dtype)
    same("pool_spans", rows, offsets[:-1], offsets[1:])
    same("pool_spans", rows, offsets[:-1], offsets[1:], np.array([0, 0, 3, 5]), normalize=False)
    rows[:2] = 0
    for block in (1, 3):
        found = same("adjacent_similarity", rows, offsets, block)
    assert len(set(found.tolist())) > 3 or width == 1


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 40))
def test_candidates_and_cuts(seed, documents, most):
    random = np.random.default_rng(seed)
    offsets = ragged(random, documents, most)
    n = int(offsets[-1])
    similarity = random.integers(-(2**20), 2**20, n).astype(np.int32)
    similarity[random.random(n) < 0.3] = 2**19  # equal ones
    similarity[offsets[1:][np.diff(offsets) > 0] - 1] = 2**31 - 1
    last = np.cumsum(random.integers(0, 50, n)).astype(np.int64)
    first = np.concatenate([[0], last[:-1]])[:n].astype(np.int64)
    low = int(random.integers(0, 60))
    high = low + int(random.integers(1, 200))
    for method, value in METHODS.items():
        candidates = same("boundary_candidates", similarity, offsets, method, value)
    same("greedy_cuts", similarity, candidates, first, last, offsets, low, high)
    same("optimal_cuts", similarity, first, last, offsets, low, high, int(random.integers(-(2**21), 2**21)))


@pytest.mark.parametrize(
    ("width", "dtype", "scale"),
    [(1, np.float32, 1), (70, np.float16, 1), (256, np.float32, 1e-20), (384, np.float16, 1), (768, np.float32, 1)],
)
def test_directional_cuts(width, dtype, scale):
    random = np.random.default_rng(width)
    offsets = ragged(random, 6, 40)
    n = int(offsets[-1])
    topics = np.repeat(random.standard_normal((n // 5 + 1, width)), 5, axis=0)[:n]
    vectors = ((topics + random.standard_normal((n, width))) * scale).astype(dtype)
    vectors[3] = 0
    # Each document's ranks begin anew.
    sizes = random.integers(0, 60, n)
    last = np.concatenate([np.cumsum(sizes[a:b]) for a, b in itertools.pairwise(offsets)]).astype(np.int64)
    first = last - sizes
    prior = random.integers(0, 4, n).astype(np.uint8)
    for low, high in ((0, 1), (32, 250), (200, 100_000)):
        cuts = same("directional_cuts", vectors, first, last, prior, offsets, low, high)
    assert cuts.sum() >= 5
    same("directional_cuts", vectors, first, last, prior, offsets, 32, 250, 4.0)


def test_directional_cuts_of_a_document_longer_than_the_window_of_its_mean():
    random = np.random.default_rng(9)
    n = 1300
    vectors = np.repeat(random.standard_normal((n // 10, 66)), 10, axis=0) + random.standard_normal((n, 66))
    last = np.cumsum(random.integers(1, 3, n))
    first = np.append(0, last[:-1])
    arguments = (first, last, np.zeros(n, np.uint8), np.array([0, n], np.int64))
    # At most 400 sentences in a chunk, whatever the maximum.
    cuts = same("directional_cuts", vectors.astype(np.float32), *arguments, 0, 100_000)
    assert 10 < cuts.sum() < n // 2
    vectors[700, 3] = np.nan
    found = cuda.directional_cuts(numpy_cupy.asarray(vectors.astype(np.float32)), *arguments, 0, 1000).get()
    assert np.flatnonzero(found).tolist() == [n - 1]


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32])
@pytest.mark.parametrize("width", [1, 70, 256])
def test_static_vectors(dtype, width):
    random = np.random.default_rng(width)
    table = (random.standard_normal((50, width)) * 40).astype(dtype)
    scale = random.random(50).astype(np.float32)
    offsets = ragged(random, 20, 30)
    ids = random.integers(0, 50, offsets[-1]).astype(np.int32)
    same("gather_mean", table, scale, ids, offsets, 7)
    same("gather_mean", table, None, ids, offsets, normalize=False)


def test_windows():
    random = np.random.default_rng(3)
    ids = random.integers(0, 1000, 500).astype(np.int32)
    start = np.sort(random.integers(0, 400, 30)).astype(np.int64)
    end = start + random.integers(0, 90, 30)
    for prefix, suffix in ((np.array([101], np.int32), np.array([102, 103], np.int32)), (ids[:0], ids[:0])):
        same_tuples("gather_windows", ids, start, end, prefix, suffix, 5)
        same_tuples("gather_windows", ids, start, end, prefix, suffix, length=128)
        same_tuples("pack_windows", ids, start, end, prefix, suffix)
        same_tuples("pack_windows", ids, start[:0], end[:0], prefix, suffix)
        same_tuples("gather_windows", ids, start[:0], end[:0], prefix, suffix)


def test_many_sentences_and_none():
    random = np.random.default_rng(1)
    vectors = random.standard_normal((300, 5), np.float32)
    same("adjacent_similarity", vectors, np.array([0, 300], np.int64))
    same("adjacent_similarity", vectors[:0], np.array([0, 0], np.int64))
    same("pool_spans", vectors, np.zeros(0, np.int64), np.zeros(0, np.int64))
    similarity = random.integers(-(2**20), 2**20, 100_000).astype(np.int32)
    last = np.cumsum(random.integers(1, 50, 100_000))
    offsets = np.array([0, 100_000], np.int64)
    candidates = same("boundary_candidates", similarity, offsets, "percentile", 90.0)
    same("greedy_cuts", similarity, candidates, np.append(0, last[:-1]), last, offsets, 64, 256)


def test_what_is_not_finite_stays_so():
    vectors = np.ones((4, 40), np.float32)
    vectors[1, 39] = np.nan
    vectors[2, 0] = np.inf
    pooled = cuda.pool_spans(numpy_cupy.asarray(vectors), np.arange(4), np.arange(1, 5)).get()
    assert np.isfinite(pooled).all(axis=1).tolist() == [True, False, False, True]


@pytest.mark.parametrize(
    ("name", "arguments", "word"),
    [
        ("pool_spans", [np.ones((2, 3)), [0], [1]], "vectors"),
        ("pool_spans", [np.ones((2, 3), np.float32), [0, 1], [1]], "end"),
        ("adjacent_similarity", [np.ones((2, 3), np.float32), [0, 2], 0], "block"),
        ("adjacent_similarity", [np.ones(3, np.float32), [0, 2]], "vectors"),
        ("boundary_candidates", [np.ones(2, np.int32), [0, 2], "percentile", 101.0], "value"),
        ("boundary_candidates", [np.ones(2, np.int32), [0, 2], "no", 1.0], "method"),
        ("boundary_candidates", [np.ones(2, np.int64), [0, 2], "std", 1.0], "similarity"),
        ("greedy_cuts", [np.ones(2, np.int32), np.ones(2, np.uint8), [0, 1], [1], [0, 2], 1, 2], "last"),
        (
            "directional_cuts",
            [np.ones((2, 3), np.float32), [0, 1], [1, 2], np.ones(1, np.uint8), [0, 2], 0, 5],
            "prior",
        ),
        ("gather_mean", [np.ones((2, 3)), None, np.ones(1, np.int32), [0, 1]], "table"),
        ("gather_mean", [np.ones((2, 3), np.int8), np.ones(1, np.float32), np.ones(1, np.int32), [0, 1]], "scale"),
        ("pack_windows", [np.ones(2, np.int32), [0], [3], np.ones(0, np.int32), np.ones(0, np.int32)], "end"),
        (
            "gather_windows",
            [np.ones(2, np.int32), [0], [2], np.ones(0, np.int32), np.ones(0, np.int32), 0, 1],
            "length",
        ),
        ("optimal_cuts", [np.ones(2, np.int32), [0, 1], [1, 2], [0, 2], 3, 2, 0], "min_tokens"),
        ("optimal_cuts", [np.ones(2, np.int32), [0, 1], [1, 2], [0, 2], 0, 0, 0], "max_tokens"),
    ],
)
def test_bad_arguments_are_named(name, arguments, word):
    arguments = [np.array(value, np.int64) if isinstance(value, list) else value for value in arguments]
    with pytest.raises(ValueError, match=f"^{word} "):
        getattr(cuda, name)(numpy_cupy.asarray(arguments[0]), *arguments[1:])


def test_the_encoder_on_these_kernels(tmp_path, monkeypatch):
    """Batches, pooling, split texts and order, from strings to vectors."""
    pytest.importorskip("onnx")
    import tiny_encoders as tiny
    from rapidchunk.encoders import OnnxEncoder
    from rapidchunk.encoders import cuda as encoder

    monkeypatch.setenv("RAPIDCHUNK_CACHE", str(tmp_path))
    numpy_cupy.install(lambda *what: monkeypatch.setattr(*what, raising=False))
    monkeypatch.setattr(encoder, "open_device", lambda index: dataclasses.replace(numpy_cupy.device(), kernels=cuda))
    folder = tiny.write_model(tmp_path / "model")
    texts = ["w1 w2", "", "the short text " * 9, "a w3", "w4 " * 50]
    want = OnnxEncoder(folder, device="cpu", max_length=20).encode(texts)
    got = OnnxEncoder(folder, device="cuda", max_length=20, precision="fp32", max_batch_tokens=40).encode(texts)
    np.testing.assert_allclose(got, want, atol=1e-5)
