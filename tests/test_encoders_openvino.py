"""OnnxEncoder in OpenVINO: the same graphs, the same vectors."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time

import numpy as np
import pytest
import tiny_encoders as tiny
from rapidchunk.encoders import OnnxEncoder, openvino
from test_encoders_onnx import foreign, texts_of

pytest.importorskip("openvino")
pytest.importorskip("onnxruntime")
TEXTS = ["", *texts_of([5, 1, 90, 2, 7, 33, 8, 7, 7, 1]), " ", "a\ud800b"]


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAPIDCHUNK_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny.write_model(tmp_path_factory.mktemp("bert"))


@pytest.mark.parametrize("family", tiny.FAMILIES)
@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_vectors_are_those_of_onnx_runtime_alone_and_in_batches(tmp_path, family, precision):
    folder = tiny.write_model(tmp_path / "m", family)
    want = OnnxEncoder(folder, device="cpu", precision=precision).encode(TEXTS)
    encoder = OnnxEncoder(folder, runtime="openvino", precision=precision, threads=1)
    assert (encoder.runtime, encoder.precision) == ("openvino", precision)
    np.testing.assert_allclose(encoder.encode(TEXTS), want, atol=2e-5)
    np.testing.assert_allclose(np.concatenate([encoder.encode([text]) for text in TEXTS]), want, atol=2e-5)


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
def test_pooling_and_long_texts(folder, pooling):
    options = {"pooling": pooling, "max_length": 22}
    texts, report = texts_of([5, 200, 20, 21, 41]), {}
    want = OnnxEncoder(folder, device="cpu", **options).encode(texts)
    vectors = OnnxEncoder(folder, runtime="openvino", **options).encode(texts, report=report)
    np.testing.assert_allclose(vectors, want, atol=2e-5)
    assert report["split"] == [1, 3, 4]


@pytest.mark.parametrize("output", ["last_hidden_state", "sentence_embedding"])
def test_other_peoples_graphs(folder, tmp_path, output):
    path = foreign(folder, tmp_path, [output], fixed=False)
    want = OnnxEncoder(folder, device="cpu").encode(TEXTS)
    np.testing.assert_allclose(OnnxEncoder(path, runtime="openvino", batch_size=3).encode(TEXTS), want, atol=2e-5)
    with pytest.raises(ValueError, match="int8"):
        OnnxEncoder(path, runtime="openvino", precision="int8")


def test_threads_and_pickle(folder):
    shared = OnnxEncoder(folder, runtime="openvino", threads=1)
    want = pickle.loads(pickle.dumps(shared)).encode(TEXTS)
    results = [None] * 4

    def work(slot):
        results[slot] = shared.encode(TEXTS * (slot + 1))

    threads = [threading.Thread(target=work, args=(slot,)) for slot in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    for slot, result in enumerate(results):
        np.testing.assert_allclose(result, np.tile(want, (slot + 1, 1)), atol=2e-5)


def test_fork(folder):
    encoder = OnnxEncoder(folder, runtime="openvino", threads=2)
    want = encoder.encode(TEXTS)
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if np.allclose(encoder.encode(TEXTS), want, atol=2e-5) else 1)
        finally:
            os._exit(2)
    deadline = time.monotonic() + 60
    while (done := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.05)
    if done == (0, 0):
        os.kill(child, 9)
        os.waitpid(child, 0)
        pytest.fail("the child hangs")
    assert os.waitstatus_to_exitcode(done[1]) == 0


@pytest.mark.parametrize(
    ("options", "there", "bfloat16", "chosen"),
    [
        ({}, True, True, ("onnxruntime", "fp32")),
        ({"precision": "fast"}, True, True, ("openvino", "bf16")),
        ({"precision": "fast"}, True, False, ("openvino", "fp32")),
        ({"precision": "fast"}, False, False, ("onnxruntime", "fp32")),
        ({"precision": "fast", "device": "cuda"}, True, True, ("onnxruntime", "fp16")),
        ({"precision": None, "device": "cuda"}, True, True, ("onnxruntime", "fp16")),
        ({"precision": None, "device": "auto"}, True, True, ("onnxruntime", "fp32")),
        ({"precision": "fast", "runtime": "onnxruntime"}, True, True, ("onnxruntime", "fp32")),
        ({"precision": "bf16"}, True, True, ("openvino", "bf16")),
        ({"runtime": "openvino"}, True, True, ("openvino", "fp32")),
    ],
)
def test_choice(monkeypatch, options, there, bfloat16, chosen):
    monkeypatch.setattr(openvino, "_installed", lambda package: there)
    monkeypatch.setattr(openvino, "_has_bfloat16", lambda: bfloat16)
    asked = {"runtime": None, "precision": "fp32", "device": "cpu", **options}
    assert openvino.choose(**asked) == chosen


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"runtime": "torch"}, ValueError, "runtime"),
        ({"precision": "fp8"}, ValueError, "precision"),
        ({"precision": "bf16", "runtime": "onnxruntime"}, ValueError, "bf16"),
        ({"runtime": "openvino", "device": "cuda"}, ValueError, "cuda"),
        ({"precision": "fp16", "runtime": "openvino"}, ValueError, "fp16"),
        ({"precision": "bf16"}, RuntimeError, "bfloat16"),
    ],
)
def test_what_cannot_be_had(folder, monkeypatch, options, error, words):
    monkeypatch.setattr(openvino, "_has_bfloat16", lambda: False)
    with pytest.raises(error, match=words):
        OnnxEncoder(folder, **options)


def test_fast_encodes(folder):
    encoder = OnnxEncoder(folder, device="cpu", precision="fast")
    want = OnnxEncoder(folder, device="cpu").encode(TEXTS)
    filled = want.any(axis=1)
    assert ((encoder.encode(TEXTS) * want).sum(1)[filled] > 0.999).all() and encoder.runtime == "openvino"


def test_missing_openvino_names_the_extra(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(ImportError, match=r"rapidchunk\[openvino\]"):
        OnnxEncoder(folder, runtime="openvino")
