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
