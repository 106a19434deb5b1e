"""The graph exporter: against the official implementations, and its own promises."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tiny_encoders as tiny
from rapidchunk.encoders import export

ort = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")
DATA = np.load(tiny.Path(__file__).parent / "data" / "tiny_encoders.npz")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RAPIDCHUNK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def run(model, ids, lengths, outputs=("pooled", "sentence_embedding", "last_hidden_state")):
    data = model.SerializeToString() if hasattr(model, "SerializeToString") else str(model)
    session = ort.InferenceSession(data, providers=["CPUExecutionProvider"])
    return session.run(list(outputs), {"input_ids": ids, "lengths": lengths})


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_token_vectors_equal_transformers(family):
    model = export.build(tiny.config_of(family), tiny.weights_of(family), pooling="mean")
    (hidden,) = run(model, tiny.IDS, tiny.LENGTHS, ["last_hidden_state"])
    for row, length in enumerate(tiny.LENGTHS):
        np.testing.assert_allclose(hidden[row, :length], DATA[family][row, :length], atol=2e-5)


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
def test_pooling(pooling):
    model = export.build(tiny.config_of("bert"), tiny.weights_of("bert"), pooling=pooling)
    pooled, embedding, hidden = run(model, tiny.IDS, tiny.LENGTHS)
    want = {
        "mean": [hidden[row, :length].mean(0) for row, length in enumerate(tiny.LENGTHS)],
        "cls": hidden[:, 0],
        "last": [hidden[row, length - 1] for row, length in enumerate(tiny.LENGTHS)],
    }[pooling]
    np.testing.assert_allclose(pooled, want, atol=1e-5)
    np.testing.assert_allclose(embedding, pooled / np.linalg.norm(pooled, axis=1, keepdims=True), atol=1e-6)


def test_int8_is_near_and_independent_of_the_batch():
    config, weights = tiny.config_of("bert"), tiny.weights_of("bert")
    exact = run(export.build(config, weights, pooling="mean"), tiny.IDS, tiny.LENGTHS)[1]
    model = export.build(config, weights, pooling="mean", precision="int8")
    together = run(model, tiny.IDS, tiny.LENGTHS)[1]
    assert (together * exact).sum(1).min() > 0.99
    for row, length in enumerate(tiny.LENGTHS):
        alone = run(model, tiny.IDS[row : row + 1, :length], tiny.LENGTHS[row : row + 1])[1]
        np.testing.assert_allclose(alone[0], together[row], atol=1e-5)
    matrices = [t for t in model.graph.initializer if len(t.dims) == 2 and min(t.dims) > 2 and t.name != "positions"]
    assert matrices and all(tensor.name.endswith(".int8") for tensor in matrices)


def test_prefixed_and_old_names_and_half_precision_read_the_same(tmp_path):
    weights = tiny.weights_of("bert")
    other = {}
    for name, value in weights.items():
        name = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        other["bert." + name] = value.astype(np.float16).astype(np.float32)
    half = {name: value.astype(np.float16) for name, value in weights.items()}
    tiny.write_safetensors(tmp_path / "half", half)
    one, two = (
        run(export.build(tiny.config_of("bert"), tensors, pooling="cls"), tiny.IDS, tiny.LENGTHS)[0]
        for tensors in (other, export.read_safetensors(tmp_path / "half"))
    )
    np.testing.assert_array_equal(one, two)


def test_bfloat16_and_broken_safetensors(tmp_path):
    import struct

    def write(header, data):
        text = json.dumps(header).encode()
        (tmp_path / "x").write_bytes(struct.pack("<Q", len(text)) + text + data)
        return tmp_path / "x"

    values = np.array([1.5, -2.0, 0.0], np.float32)
    entry = {"dtype": "BF16", "shape": [3], "data_offsets": [0, 6]}
    path = write({"a": entry}, (values.view(np.uint32) >> 16).astype("<u2").tobytes())
    np.testing.assert_array_equal(export.read_safetensors(path)["a"], values)
    for header, data in [
        ({"a": entry}, b"1234"),
        ({"a": entry | {"shape": [4]}}, b"123456"),
        ({"a": entry | {"dtype": "?"}}, b""),
    ]:
        with pytest.raises(ValueError, match="tensor a"):
            export.read_safetensors(write(header, data))
    (tmp_path / "y").write_bytes(b"\xff" * 16)
    with pytest.raises(ValueError, match="not a safetensors file"):
        export.read_safetensors(tmp_path / "y")


def test_cache_is_keyed_atomic_and_reused(tmp_path, cache):
    folder = tiny.write_model(tmp_path / "model")
    path = export.export(folder, pooling="mean")
    assert path.is_relative_to(cache) and not list((cache / "graphs").glob(".*"))
    before = path.stat().st_mtime_ns
    assert export.export(folder, pooling="mean") == path and path.stat().st_mtime_ns == before
    assert export.export(folder, pooling="cls") != path
    tiny.write_safetensors(folder / "model.safetensors", tiny.weights_of("bert", seed=4))
    assert export.export(folder, pooling="mean") != path


def test_unsupported_models_are_named(tmp_path):
    config, weights = tiny.config_of("bert"), tiny.weights_of("bert")
    for change, word in [
        ({"model_type": "llama"}, "llama"),
        ({"hidden_act": "swish"}, "swish"),
        ({"position_embedding_type": "relative_key"}, "relative_key"),
    ]:
        with pytest.raises(ValueError, match=word):
            export.build(config | change, weights, pooling="mean")
    with pytest.raises(ValueError, match="pooling"):
        export.build(config, weights, pooling="max")
    with pytest.raises(ValueError, match="precision"):
        export.build(config, weights, pooling="mean", precision="fp8")
    weights.pop("encoder.layer.1.output.dense.bias")
    with pytest.raises(ValueError, match=r"encoder\.layer\.1\.output\.dense\.bias"):
        export.build(config, weights, pooling="mean")
    with pytest.raises(ValueError, match="safetensors"):
        export.export(tmp_path, pooling="mean")
