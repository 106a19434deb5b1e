"""On a real CUDA device: skipped where there is none, unless RAPIDCHUNK_REQUIRE_GPU=1 says that there must be one."""

from __future__ import annotations

import os

import numpy as np
import pytest
import tiny_encoders as tiny
from rapidchunk.encoders import OnnxEncoder
from rapidchunk.encoders import cuda as encoder
from rapidchunk.kernels import cpu, cuda

pytestmark = pytest.mark.gpu


def missing(error):
    if os.environ.get("RAPIDCHUNK_REQUIRE_GPU") == "1":
        pytest.fail(f"RAPIDCHUNK_REQUIRE_GPU=1, and there is no GPU: {error}")
    pytest.skip(f"no GPU: {error}")


@pytest.fixture(scope="module")
def cupy():
    try:
        import cupy

        cupy.cuda.Device(0).compute_capability  # noqa: B018
    except Exception as error:  # no CuPy, or whatever CuPy raises without a driver
        missing(error)
    return cupy


@pytest.fixture(scope="module")
def runtime(cupy):
    """ONNX Runtime can use the device too."""
    try:
        encoder.open_device(0)
    except (ImportError, RuntimeError) as error:
        missing(error)


@pytest.mark.parametrize("width", [33, 384, 1024])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_kernels_give_the_bits_of_the_cpu(cupy, width, dtype):
    random = np.random.default_rng()
    lengths = random.integers(0, 40, 500)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    rows = random.standard_normal((int(offsets[-1]), width)).astype(dtype)

    def same(name, first, *arguments):
        want = getattr(cpu, name)(first, *arguments)
        got = cupy.asnumpy(getattr(cuda, name)(cupy.asarray(first), *arguments))
        np.testing.assert_array_equal(got.view(np.uint8), want.view(np.uint8))
        return want

    same("pool_spans", rows, offsets[:-1], offsets[1:])
    similarity = same("adjacent_similarity", rows, offsets, 2)
    candidates = same("boundary_candidates", similarity, offsets, "percentile", 80.0)
    last = np.cumsum(random.integers(1, 50, len(rows)))
    first = np.append(0, last[:-1])
    same("greedy_cuts", similarity, candidates, first, last, offsets, 50, 200)
    same("optimal_cuts", similarity, first, last, offsets, 50, 200, 1 << 18)
    same("directional_cuts", rows, first, last, np.zeros(len(rows), np.uint8), offsets, 50, 200)
    ids = random.integers(0, len(rows), len(rows)).astype(np.int32)
    same("gather_mean", rows, None, ids, offsets)


@pytest.mark.parametrize(
    ("family", "precision", "tolerance"), [("bert", "fp32", 1e-3), ("bert", "fp16", 2e-2), ("mpnet", "fp16", 2e-2)]
)
def test_encoder(runtime, tmp_path, monkeypatch, family, precision, tolerance):
    monkeypatch.setenv("RAPIDCHUNK_CACHE", str(tmp_path))
    folder = tiny.write_model(tmp_path / family, family)
    texts = ["w1 w2", "", "the short text " * 90, *(f"w{n} a w{n * 7 % 90}" for n in range(50))]
    want = OnnxEncoder(folder, device="cpu").encode(texts)
    found = OnnxEncoder(folder, device="cuda", precision=precision, max_batch_tokens=500).encode(texts)
    np.testing.assert_allclose(found, want, atol=tolerance)
