"""OnnxEncoder, on tiny random models, and MiniLM against its official vectors."""

from __future__ import annotations

import json
import logging
import os
import pickle
import resource
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import tiny_encoders as tiny
from rapidchunk import models
from rapidchunk.encoders import OnnxEncoder, as_encoder, batches, export
from rapidchunk.encoders.tokens import ModelTokenizer

ort = pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("onnx")
CACHE = models.cache_folder()


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """Graphs of tiny models go to a cache of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAPIDCHUNK_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny.write_model(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def encoder(folder):
    return OnnxEncoder(folder, device="cpu")


def texts_of(lengths, seed=0):
    random = np.random.RandomState(seed)
    return [" ".join(f"w{n}" for n in random.randint(0, 190, length)) for length in lengths]


def reference(folder, text, pooling="mean", window=10**9):
    """The vector of one text by the plain route: its tokens alone in a batch, whole or in given windows."""
    model = export.build(
        json.loads((folder / "config.json").read_text()),
        export.read_safetensors(folder / "model.safetensors"),
        pooling=pooling,
    )
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    made = tiny.tokenizer()
    made.no_truncation()
    made.no_padding()
    ids = made.encode(text, add_special_tokens=False).ids
    pieces = -(-len(ids) // window) or 1
    cuts = [len(ids) * n // pieces for n in range(pieces + 1)]
    total = np.zeros(tiny.HIDDEN)
    for a, b in pairwise(cuts):
        row = np.array([[2, *ids[a:b], 3]], np.int32)
        pooled = session.run(["pooled"], {"input_ids": row, "lengths": np.array([row.size], np.int32)})[0][0]
        total += pooled * max(b - a, 1)
    return total / np.linalg.norm(total)


def test_one_vector_per_text_in_order(encoder, folder):
    texts = texts_of([5, 1, 90, 2, 7, 33, 8, 7, 7])
    vectors = encoder.encode(texts)
    assert vectors.dtype == np.float32 and vectors.shape == (9, tiny.HIDDEN) and encoder.dimension == tiny.HIDDEN
    for text, vector in zip(texts, vectors):
        np.testing.assert_allclose(vector, reference(folder, text), atol=1e-5)


def test_blank_empty_and_odd_texts(encoder):
    report: dict = {}
    vectors = encoder.encode(["", "w1", " \n\t", "a\ud800b", "\0", "[SEP] [CLS]"], report=report)
    norms = np.linalg.norm(vectors, axis=1)
    np.testing.assert_allclose(norms, [0, 1, 0, 1, 1, 1], atol=1e-6)
    assert report == {"split": []}
    assert encoder.encode([]).shape == (0, tiny.HIDDEN)
    assert encoder.encode(["  "]).shape == (1, tiny.HIDDEN)
    with pytest.raises(TypeError, match="texts"):
        encoder.encode("one text")
    with pytest.raises(TypeError, match="index 1"):
        encoder.encode(["a", None])


def test_special_tokens_in_a_text_are_text(encoder):
    ids, _ = encoder._tokenizer.ids_of(["[SEP] a"])
    assert 3 not in ids and len(ids) > 2


@pytest.mark.parametrize("lower", [True, False])
def test_ids_of_the_native_wordpiece_are_those_of_tokenizers(lower):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "the", "har", "##bour", "##s", ".", "caf", "##e", "中"]
    own = Tokenizer(models.WordPiece({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
    own.normalizer, own.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    own.add_special_tokens(words[:5])
    native, plain = ModelTokenizer(own, lower=lower), ModelTokenizer(own, lower=lower)
    assert native.wordpiece is not None
    plain.wordpiece = None
    texts = [
        "",
        "A harbour.",
        " Harbours the\n",
        "a\ud800b",
        "[SEP] [CLS]",
        "\0",
        "Café caf\u0301e 中a",
        "x" * 300,
        "##bour",
    ]
    for got, want in zip(native.ids_of(texts), plain.ids_of(texts)):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
def test_long_texts_are_split_averaged_and_reported(folder, pooling):
    encoder = OnnxEncoder(folder, device="cpu", pooling=pooling, max_length=22)
    texts = texts_of([5, 200, 20, 21, 41])
    report: dict = {}
    vectors = encoder.encode(texts, report=report)
    assert report["split"] == [1, 3, 4]
    for text, vector in zip(texts, vectors):
        np.testing.assert_allclose(vector, reference(folder, text, pooling, window=20), atol=1e-5)


@pytest.mark.parametrize(
    "options", [{"batch_size": 1}, {"batch_size": 8}, {"max_batch_tokens": 64}, {"threads": 1}, {"io_binding": False}]
)
def test_results_do_not_depend_on_batches(encoder, folder, options):
    texts = texts_of([3, 60, 5, 40, 2, 80, 1, 33, 150, 3, 3] * 3)
    other = OnnxEncoder(folder, device="cpu", **options).encode(texts)
    np.testing.assert_allclose(other, encoder.encode(texts), atol=1e-5)


def test_batches_keep_their_limits(folder, monkeypatch):
    encoder = OnnxEncoder(folder, device="cpu", max_batch_tokens=100, batch_size=7)
    seen = []
    run = encoder._running()
    real = run.bound
    monkeypatch.setattr(run, "bound", lambda arrays, out: seen.append(arrays["input_ids"].shape) or real(arrays, out))
    encoder.encode(texts_of([1 + n * n % 90 for n in range(200)]))
    assert len(seen) > 1 and all(rows <= 7 and (rows * length <= 100 or rows == 1) for rows, length in seen)


def test_arrays_reach_onnx_runtime_without_a_copy(encoder, monkeypatch):
    """ONNX Runtime's values lie at the addresses of our arrays, and its result in ours."""
    run = encoder._running()
    given, values, real = {}, [], ort.OrtValue.ortvalue_from_numpy
    bound = run.bound

    def spy(arrays, out):
        given.update(arrays, out=out)
        out.fill(np.nan)
        answer = bound(arrays, out)
        assert answer is out and np.isfinite(out).all()
        return answer

    monkeypatch.setattr(run, "bound", spy)
    monkeypatch.setattr(ort.OrtValue, "ortvalue_from_numpy", lambda array: values.append(real(array)) or values[-1])
    encoder.encode(texts_of([4, 4, 9]))
    addresses = {array.ctypes.data for array in given.values()}
    assert len(given) == 3 and {value.data_ptr() for value in values} >= addresses


def test_memory_does_not_grow(encoder):
    texts = texts_of([5 + n * 37 % 140 for n in range(130)])
    encoder.encode(texts)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for size in range(1, 41):
        OnnxEncoder._encode(encoder, texts[: size * 3], "", None, None)
        encoder.encode(["short text"])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000  # KiB


def test_progress_counts_texts(encoder):
    calls = []
    encoder.encode(["", *texts_of([400, 3, 5, 90])], progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (5, 5) and [done for done, _ in calls] == sorted(done for done, _ in calls)


def test_configuration_of_the_model_is_used(tmp_path):
    folder = tiny.write_model(tmp_path / "m", pooling="cls", max_length=40)
    prompts = {"prompts": {"query": "query : ", "passage": "text "}, "default_prompt_name": None}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    encoder = OnnxEncoder(folder, device="cpu")
    assert (encoder.pooling, encoder.max_length) == ("cls", 40)
    np.testing.assert_allclose(encoder.encode(["w1 w2"])[0], reference(folder, "text w1 w2", "cls"), atol=1e-5)
    np.testing.assert_allclose(encoder.encode_query(["w1 w2"])[0], reference(folder, "query : w1 w2", "cls"), atol=1e-5)
    plain = OnnxEncoder(folder, device="cpu", prefix="", query_prefix="a ", pooling="last")
    np.testing.assert_allclose(plain.encode(["w1 w2"])[0], reference(folder, "w1 w2", "last"), atol=1e-5)
    np.testing.assert_allclose(plain.encode_query(["w1"])[0], reference(folder, "a w1", "last"), atol=1e-5)


def test_e5_prefixes_through_as_encoder(folder):
    encoder = as_encoder(str(folder), prefix="text : ", query_prefix="query : ")
    np.testing.assert_allclose(encoder.encode(["w1"])[0], reference(folder, "text : w1"), atol=1e-5)
    np.testing.assert_allclose(encoder.encode_query(["w1"])[0], reference(folder, "query : w1"), atol=1e-5)


def test_unsupported_configuration_is_named(tmp_path):
    folder = tiny.write_model(tmp_path / "m", pooling="max")
    with pytest.raises(ValueError, match=r"pooling.*max"):
        OnnxEncoder(folder, device="cpu")
    folder = tiny.write_model(tmp_path / "n")
    (folder / "modules.json").write_text(json.dumps([{"type": "sentence_transformers.models.Dense"}]))
    with pytest.raises(ValueError, match="Dense"):
        OnnxEncoder(folder, device="cpu")
    folder = tiny.write_model(tmp_path / "o", pooling="mean")
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode": "mean", "include_prompt": false}')
    assert OnnxEncoder(folder, device="cpu").pooling == "mean"
    with pytest.raises(ValueError, match="prompts out of the pooling"):
        OnnxEncoder(folder, device="cpu", prefix="a ")


@pytest.mark.parametrize(
    "options",
    [
        {"max_length": 2},
        {"max_length": 1000},
        {"max_batch_tokens": 0},
        {"batch_size": -1},
        {"threads": 1.5},
        {"pooling": "max"},
        {"precision": "fp8"},
        {"device": "tpu"},
        {"tokenizer": "/no/such/file"},
        {"tokenizer": 3},
    ],
)
def test_bad_arguments_are_named(folder, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        OnnxEncoder(folder, **{"device": "cpu"} | options)


def test_without_normalising(encoder, folder):
    texts = texts_of([5, 90])
    raw = OnnxEncoder(folder, device="cpu", normalize=False).encode(texts)
    lengths = np.linalg.norm(raw, axis=1, keepdims=True)
    assert np.abs(lengths - 1).min() > 1e-3
    np.testing.assert_allclose(raw / lengths, encoder.encode(texts), atol=1e-6)


def test_bad_models_are_named(tmp_path):
    with pytest.raises(ValueError, match="model"):
        OnnxEncoder(tmp_path)
    with pytest.raises(ValueError, match="model"):
        OnnxEncoder("no-such-model")
    with pytest.raises(ValueError, match="revision"):
        OnnxEncoder("some/model")


@pytest.mark.skipif("CUDAExecutionProvider" in ort.get_available_providers(), reason="this onnxruntime has CUDA")
def test_cuda_never_falls_back_and_auto_says_so(folder, caplog):
    with pytest.raises(RuntimeError, match=r"cuda.*rapidchunk\[gpu\]"):
        OnnxEncoder(folder, device="cuda")
    with caplog.at_level(logging.INFO, "rapidchunk"):
        encoder = OnnxEncoder(folder, device="auto")
        encoder.encode(["a"])
        encoder.encode(["a"])
    assert len([record for record in caplog.records if "CPU" in record.message]) == 1


def foreign(folder, tmp_path, outputs, dtype=onnx.TensorProto.INT64, fixed=True):
    """A graph as other exporters write it: attention_mask and token_type_ids in int64, around one of ours."""
    from onnx import TensorProto, helper

    graph = export.build(tiny.config_of("bert"), export.read_safetensors(folder / "model.safetensors"), pooling="mean")
    body = graph.graph
    for node in body.node:
        for at, name in enumerate(node.input):
            node.input[at] = {"input_ids": "ids32"}.get(name, name)
    front = [
        helper.make_node("Cast", ["input_ids"], ["ids32"], to=TensorProto.INT32),
        helper.make_node("Cast", ["attention_mask"], ["mask32"], to=TensorProto.INT32),
        helper.make_node("ReduceSum", ["mask32", "axis1"], ["lengths"], keepdims=0),
    ]
    names = ["input_ids", "attention_mask", "token_type_ids"]
    inputs = [helper.make_tensor_value_info(name, dtype, ["b", "s"]) for name in names]
    kept = [value for value in body.output if value.name in outputs]
    if not fixed:
        for value in kept:
            value.type.tensor_type.shape.dim[-1].dim_param = "h"
    made = helper.make_graph([*front, *body.node], "foreign", inputs, kept, body.initializer)
    model = helper.make_model(made, opset_imports=graph.opset_import, ir_version=8)
    onnx.save(model, str(tmp_path / "model.onnx"))
    tiny.tokenizer().save(str(tmp_path / "tokenizer.json"))
    return tmp_path / "model.onnx"


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize(
    "outputs", [["last_hidden_state"], ["sentence_embedding"], ["last_hidden_state", "sentence_embedding"]]
)
@pytest.mark.parametrize("io_binding", [True, False])
def test_other_peoples_graphs(encoder, folder, tmp_path, outputs, fixed, io_binding):
    path = foreign(folder, tmp_path, outputs, fixed=fixed)
    texts = texts_of([5, 1, 90, 2, 7])
    for model in (path, tmp_path):
        other = OnnxEncoder(model, device="cpu", io_binding=io_binding, batch_size=3)
        np.testing.assert_allclose(other.encode(texts), encoder.encode(texts), atol=1e-5)
        assert other.dimension == tiny.HIDDEN
    if "last_hidden_state" in outputs:
        for pooling in ("cls", "last"):
            given = OnnxEncoder(path, device="cpu", pooling=pooling, io_binding=io_binding)
            want = OnnxEncoder(folder, device="cpu", pooling=pooling)
            np.testing.assert_allclose(given.encode(texts), want.encode(texts), atol=1e-5)


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_a_modernbert_as_torch_exports_it(tmp_path, runtime):
    """tools/make_encoder_vectors.py made it; pooling and window come from the files beside the graph."""
    pytest.importorskip(runtime)
    data = Path(__file__).parent / "data" / "tiny_modernbert"
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "model.onnx").write_bytes((data / "model.onnx").read_bytes())
    (tmp_path / "config.json").write_bytes((data / "config.json").read_bytes())
    words = tiny.tokenizer()
    words.save(str(tmp_path / "tokenizer.json"))
    texts = [
        " ".join(words.id_to_token(token) for token in row[:length])
        for row, length in zip(tiny.IDS.tolist(), tiny.LENGTHS.tolist())
    ]
    want = np.load(data / "vectors.npz")["vectors"]
    encoder = OnnxEncoder(tmp_path, device="cpu", runtime=runtime)
    assert encoder.max_length == 160 and encoder.pooling == "mean"
    np.testing.assert_allclose(encoder.encode(texts), want, atol=2e-5)
    np.testing.assert_allclose(np.concatenate([encoder.encode([text]) for text in texts]), want, atol=2e-5)
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 100}')
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(
        '{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}'
    )
    report: dict = {}
    encoder = OnnxEncoder(tmp_path, device="cpu", runtime=runtime)
    vectors = encoder.encode(texts, report=report)
    assert report["split"] == [0] and encoder.pooling == "cls" and np.abs(vectors - want).max() > 0.1


def test_pickle_threads_and_as_encoder(encoder, folder):
    texts = texts_of([5, 1, 90, 2, 7])
    want = encoder.encode(texts)
    assert as_encoder(encoder) is encoder
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(encoder)).encode(texts), want)
    np.testing.assert_array_equal(as_encoder(str(folder), batch_size=2).encode(texts).shape, want.shape)
    shared = OnnxEncoder(folder, device="cpu")
    results = [None] * 6

    def work(slot):
        results[slot] = shared.encode(texts * (slot + 1))

    threads = [threading.Thread(target=work, args=(slot,)) for slot in range(6)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    for slot, result in enumerate(results):
        np.testing.assert_allclose(result, np.tile(want, (slot + 1, 1)), atol=1e-5)


@pytest.mark.parametrize("used_in_child", [True, False])
def test_fork(folder, used_in_child):
    """A child neither uses nor waits for the threads of its parent's session."""
    encoder = OnnxEncoder(folder, device="cpu", threads=2)
    texts = texts_of([5, 1, 90, 2, 7])
    want = encoder.encode(texts)
    child = os.fork()
    if child == 0:
        try:
            good = not used_in_child or np.allclose(encoder.encode(texts), want, atol=1e-5)
            del encoder
            os._exit(0 if good else 1)
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
    np.testing.assert_array_equal(encoder.encode(texts), want)


def test_missing_onnxruntime_names_the_extra(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r"rapidchunk\[cpu\]"):
        OnnxEncoder(folder)


def test_plan_covers_everything_within_its_limits():
    random = np.random.RandomState(1)
    for trial in range(200):
        lengths = np.sort(random.randint(0, 1 + random.randint(1, 400), random.randint(0, 300)))[::-1].astype(np.int64)
        tokens, size = [(None, None), (512, None), (None, 5), (300, 11)][trial % 4]
        ranges = batches.plan(lengths, tokens, size)
        assert [a for a, _ in ranges] + [len(lengths)] == [0] + [b for _, b in ranges]
        for a, b in ranges:
            assert b > a and (size is None or b - a <= size)
            assert tokens is None or b - a == 1 or (b - a) * lengths[a] <= tokens


def test_windows_are_few_and_even():
    offsets = np.array([0, 0, 5, 15, 36], np.int64)
    text, start, end = batches.windows(offsets, 10)
    assert text.tolist() == [0, 1, 2, 3, 3, 3]
    assert list(zip(start.tolist(), end.tolist())) == [(0, 0), (0, 5), (5, 15), (15, 22), (22, 29), (29, 36)]


@pytest.fixture(scope="module")
def minilm():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAPIDCHUNK_CACHE", str(CACHE))
        try:
            models.get("minilm")
        except models.ModelError as error:
            pytest.skip(f"the weights can be fetched from nowhere: {error}")
        encoders = {
            precision: OnnxEncoder("minilm", device="cpu", precision=precision) for precision in ("fp32", "int8")
        }
        for encoder in encoders.values():
            encoder.encode(["makes the graph"])
        yield encoders


def test_minilm_equals_the_official_vectors(minilm):
    data = np.load(Path(__file__).parent / "data" / "minilm_vectors.npz")
    report: dict = {}
    vectors = minilm["fp32"].encode(data["sentences"].tolist(), report=report)
    assert minilm["fp32"].max_length == 256 and report["split"] == []
    cosines = (vectors * data["vectors"]).sum(1)
    assert cosines.min() > 0.9999
    np.testing.assert_allclose(vectors, data["vectors"], atol=1e-5)
    assert (minilm["int8"].encode(data["sentences"].tolist()) * data["vectors"]).sum(1).min() > 0.99


def test_minilm_does_not_depend_on_batches(minilm):
    data = np.load(Path(__file__).parent / "data" / "minilm_vectors.npz")
    texts = [*data["sentences"].tolist(), "word " * 1000]
    for precision, encoder in minilm.items():
        other = (
            OnnxEncoder("minilm", device="cpu", precision=precision, batch_size=1) if precision == "int8" else encoder
        )
        alone = np.concatenate([other.encode([text]) for text in texts])
        np.testing.assert_allclose(alone, encoder.encode(texts), atol=1e-5)
