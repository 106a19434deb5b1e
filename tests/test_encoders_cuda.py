"""The CUDA path of OnnxEncoder without a GPU: NumPy stands in for CuPy, ONNX Runtime's CPU provider for CUDA's."""

from __future__ import annotations

import functools
import logging
import pickle
import subprocess
import sys
import threading
import types
from importlib import metadata
from pathlib import Path

import numpy as np
import numpy_cupy
import packed_session
import pytest
import rapidchunk.kernels
import tiny_encoders as tiny
from rapidchunk import SemanticChunker
from rapidchunk.encoders import OnnxEncoder, batches, cuda, export
from rapidchunk.encoders.workspace import Workspace, pointer
from test_encoders_onnx import foreign, texts_of

ort = pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("onnx")


@pytest.fixture(autouse=True)
def stand_in(tmp_path_factory, monkeypatch):
    """CUDA looks present; packed graphs run in NumPy, others in ONNX Runtime."""
    numpy_cupy.install(functools.partial(monkeypatch.setattr, raising=False))
    monkeypatch.setenv("RAPIDCHUNK_CACHE", str(tmp_path_factory.getbasetemp() / "cuda-cache"))
    monkeypatch.setattr(numpy_cupy, "memory_limit", None)
    numpy_cupy.calls.clear()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny.write_model(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def texts():
    return ["", *texts_of([5, 1, 90, 2, 7, 33, 8, 400, 7, 3]), "  ", *texts_of([200, 4])]


@pytest.fixture
def wanted(folder, texts):
    return OnnxEncoder(folder, device="cpu", max_length=40).encode(texts)


def on_cuda(folder, **options):
    return OnnxEncoder(folder, device="cuda", **{"max_length": 40} | options)


# Graphs.


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
@pytest.mark.parametrize("precision, tolerance", [("fp32", 2e-5), ("fp16", 3e-2)])
def test_packed_graph_gives_the_token_vectors_of_transformers(family, precision, tolerance):
    data = np.load(tiny.Path(__file__).parent / "data" / "tiny_encoders.npz")
    model = export.build(
        tiny.config_of(family), tiny.weights_of(family), pooling="mean", precision=precision, packed=True
    )
    run = cuda_run(packed_session.PackedSession(model))
    ids = np.concatenate([row[:length] for row, length in zip(tiny.IDS, tiny.LENGTHS)])
    ends = np.cumsum(tiny.LENGTHS).astype(np.int64)
    batch = run._packed(ids, ends - tiny.LENGTHS, ends, tiny.LENGTHS, 0)
    with run.stream:
        hidden = run.run({name: numpy_cupy.asarray(array) for name, array in batch.inputs.items()}, batch.shape).get()
    want = np.concatenate([data[family][row, :length] for row, length in enumerate(tiny.LENGTHS)])
    assert hidden.dtype == (np.float32 if precision == "fp32" else np.float16)
    np.testing.assert_allclose(hidden.astype(np.float32), want, atol=tolerance)


def cuda_run(session, **options):
    class Tokens:
        prefix = suffix = np.empty(0, np.int32)
        pad = 0

    usual = dict(
        pooling="mean", by_tokens=False, normalize=True, max_length=150, max_batch_tokens=None, batch_size=None
    )
    stream = numpy_cupy.cuda.Stream(non_blocking=True)
    return cuda.CudaRun(numpy_cupy.device(), session, stream, Tokens(), **usual | options)


@pytest.mark.parametrize("family", tiny.FAMILIES)
@pytest.mark.parametrize("precision", export.PRECISIONS)
def test_onnx_runtime_knows_everything_but_the_cuda_operator(family, precision):
    """ONNX Runtime checks names, types and shapes of a graph before it looks for kernels."""
    config, weights = tiny.config_of(family), tiny.weights_of(family)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    if not export.packs(config):
        with pytest.raises(ValueError, match="packed"):
            export.build(config, weights, pooling="mean", precision=precision, packed=True)
        return
    model = export.build(config, weights, pooling="mean", precision=precision, packed=True)
    onnx.checker.check_model(model)
    (out,) = onnx.shape_inference.infer_shapes(model, data_prop=True).graph.output
    assert [d.dim_param or d.dim_value for d in out.type.tensor_type.shape.dim] == ["tokens", tiny.HIDDEN]
    with pytest.raises(Exception, match=r"PackedMultiHeadAttention.*") as caught:
        ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    assert "NOT_IMPLEMENTED" in str(caught.value)


def test_fp16_refuses_weights_that_it_cannot_hold():
    weights = tiny.weights_of("bert")
    weights["encoder.layer.0.output.dense.weight"] = np.full((tiny.HIDDEN, tiny.INNER), 1e6, np.float32)
    with pytest.raises(ValueError, match=r"fp16.*0\.down"):
        export.build(tiny.config_of("bert"), weights, pooling="mean", precision="fp16", packed=True)


# The same vectors as on the CPU.


@pytest.mark.parametrize("precision, tolerance", [("fp32", 1e-5), ("int8", 1e-5), (None, 1e-2)])
@pytest.mark.parametrize("options", [{}, {"max_batch_tokens": 50}, {"batch_size": 2}])
def test_packed_equals_the_cpu(folder, texts, precision, tolerance, options):
    wanted = OnnxEncoder(folder, device="cpu", max_length=40, precision=precision).encode(texts)
    report: dict = {}
    encoder = on_cuda(folder, precision=precision, **options)
    vectors = encoder.encode(texts, report=report)
    assert isinstance(vectors, np.ndarray) and vectors.dtype == np.float32 and encoder.dimension == tiny.HIDDEN
    np.testing.assert_allclose(vectors, wanted, atol=tolerance)
    assert not vectors[[0, 11]].any() and report["split"] == [3, 8, 12]
    assert encoder._run.signature.packed and encoder._run.signature.dtype == (np.float32 if precision else np.float16)


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
@pytest.mark.parametrize("normalize", [True, False])
def test_pooling(folder, texts, pooling, normalize):
    options = {"max_length": 40, "pooling": pooling, "normalize": normalize}
    want = OnnxEncoder(folder, device="cpu", **options).encode(texts)
    got = OnnxEncoder(folder, device="cuda", precision="fp32", **options).encode(texts)
    np.testing.assert_allclose(got, want, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("dtype", [onnx.TensorProto.INT64, onnx.TensorProto.INT32])
@pytest.mark.parametrize("outputs", [["last_hidden_state"], ["sentence_embedding"]])
def test_other_peoples_graphs_run_padded(folder, tmp_path, texts, outputs, fixed, dtype):
    path = foreign(folder, tmp_path, outputs, dtype=dtype, fixed=fixed)
    encoder = on_cuda(path, max_batch_tokens=150)
    want = OnnxEncoder(path, device="cpu", max_length=40).encode(texts)
    np.testing.assert_allclose(encoder.encode(texts), want, atol=1e-5)
    assert not encoder._run.signature.packed


def test_mpnet_runs_padded(tmp_path, texts):
    folder = tiny.write_model(tmp_path / "mpnet", "mpnet")
    want = OnnxEncoder(folder, device="cpu", max_length=40).encode(texts)
    np.testing.assert_allclose(on_cuda(folder, precision="fp32").encode(texts), want, atol=1e-5)


def test_parts_threads_pickle_and_progress(folder, texts, wanted, monkeypatch):
    monkeypatch.setattr("rapidchunk.encoders.onnx._PART_CHARACTERS", 100)
    encoder, calls, report = on_cuda(folder, precision="fp32"), [], {}
    np.testing.assert_allclose(
        encoder.encode(texts, progress=lambda done, total: calls.append((done, total)), report=report),
        wanted,
        atol=1e-5,
    )
    assert len(calls) > 3 and calls[-1] == (len(texts), len(texts)) and report["split"] == [3, 8, 12]
    results = [None] * 4

    def work(slot):
        results[slot] = encoder.encode(texts[slot:])

    threads = [threading.Thread(target=work, args=(slot,)) for slot in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    for slot, result in enumerate(results):
        np.testing.assert_allclose(result, wanted[slot:], atol=1e-5)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(encoder)).encode(texts), wanted, atol=1e-5)
    assert encoder.encode([]).shape == (0, tiny.HIDDEN) and not encoder.encode(["", " "]).any()


def test_nothing_comes_to_the_host_before_the_end(folder, texts, wanted, monkeypatch):
    """One wait in the end and one byte a text; two parts may be under way before the host waits for memory to copy from."""
    encoder = on_cuda(folder, precision="fp32", max_batch_tokens=64)
    encoder.encode(texts)
    numpy_cupy.calls.clear()
    vectors = encoder.encode_on_device(texts)
    assert numpy_cupy.calls == ["stream.synchronize", "get"]
    assert isinstance(vectors, numpy_cupy.ndarray)
    np.testing.assert_allclose(np.from_dlpack(vectors), wanted, atol=1e-5)
    monkeypatch.setattr("rapidchunk.encoders.onnx._PART_CHARACTERS", 1)
    numpy_cupy.calls.clear()
    encoder.encode_on_device(texts)
    assert numpy_cupy.calls[:-2] == ["event.synchronize"] * (len(numpy_cupy.calls) - 2)


def test_onnx_runtime_writes_where_we_say(folder, tmp_path, texts, monkeypatch):
    """The addresses are those of our arrays, inputs and output, and the workspace is the same from call to call."""
    encoder = on_cuda(foreign(folder, tmp_path, ["last_hidden_state"]))
    encoder.encode(texts)
    run, seen = encoder._run, []

    class Spy:
        def __init__(self, binding):
            self.binding = binding

        def bind_input(self, *arguments):
            seen.append(arguments)
            self.binding.bind_input(*arguments)

        def bind_output(self, *arguments):
            seen.append(arguments)
            self.binding.bind_output(*arguments)

    class Session:
        io_binding = staticmethod(lambda session=run.session: Spy(session.io_binding()))

        @staticmethod
        def run_with_iobinding(spy, options, session=run.session):
            session.run_with_iobinding(spy.binding, options)
            assert [value.data_ptr() for value in spy.binding.get_outputs()] == [seen[-1][5]]

    monkeypatch.setattr(run, "session", Session)
    memory = {name: (buffer.data.ptr, buffer.nbytes) for name, buffer in run._workspace._buffers.items()}
    encoder.encode(texts)
    assert memory == {name: (buffer.data.ptr, buffer.nbytes) for name, buffer in run._workspace._buffers.items()}
    assert {name for name, *_ in seen} == {*run.signature.inputs, run.signature.output}
    for name, where, index, dtype, shape, address in seen:
        begin, size = memory["result" if name == run.signature.output else "upload"]
        assert where == "cpu" and index == 0
        assert begin <= address and address + np.prod(shape) * np.dtype(dtype).itemsize <= begin + size


def test_workspace_checks_what_is_bound():
    stream = numpy_cupy.cuda.Stream(non_blocking=True)
    with stream:
        workspace = Workspace(numpy_cupy, stream)
        array = workspace.array("a", (3, 4), np.float16)
        assert pointer(array, "x", np.float16, (3, 4)) == array.data.ptr
        for dtype, shape in [(np.float32, (3, 4)), (np.float16, (4, 3))]:
            with pytest.raises(RuntimeError, match="x must be"):
                pointer(array, "x", dtype, shape)
        with pytest.raises(RuntimeError, match="contiguous"):
            pointer(array[:, :2], "x", np.float16, (3, 2))
        array._memory.size = 20
        with pytest.raises(RuntimeError, match="beyond its memory"):
            pointer(array, "x", np.float16, (3, 4))
        host = [
            np.arange(n, dtype=dtype).reshape(-1, 1) for n, dtype in ((3, np.int64), (0, np.int8), (500, np.float32))
        ]
        for _ in range(3):
            for sent, array in zip(workspace.upload(host), host):
                assert sent.data.ptr % 256 == 0 or not array.size
                np.testing.assert_array_equal(sent.get(), array)
    assert numpy_cupy.calls.count("event.synchronize") == 1


@pytest.mark.parametrize("kept", [None, "directional_cuts"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"vectors": "mean"},
        {"percentile": 80},
        {"depth": 0.5, "block": 2},
        {"method": "greedy", "sentence_vectors": True},
    ],
)
def test_semantic_chunker_leaves_the_vectors_on_the_device(folder, options, kept, monkeypatch):
    if kept:  # a kernel that CUDA does not have
        kernels = {name: kernel for name, kernel in vars(numpy_cupy.kernels).items() if name != kept}
        monkeypatch.setattr(rapidchunk.kernels, "cuda", types.SimpleNamespace(**kernels))
    text = " ".join(f"w{n * 7 % 60 + n // 40 * 60} a w{n} the text." for n in range(120))
    chunkers = [
        SemanticChunker(OnnxEncoder(folder, precision="fp32", device=device), max_tokens=60, **options)
        for device in ("cpu", "cuda")
    ]
    want, got = (chunker([text, "", "One.", text[:300]]) for chunker in chunkers)
    assert (
        len(want) > 5 and got.vectors is None
        if want.vectors is None
        else np.allclose(got.vectors, want.vectors, atol=1e-5)
    )
    np.testing.assert_array_equal(got.byte_start, want.byte_start)
    np.testing.assert_array_equal(got.byte_end, want.byte_end)
    want, got = (chunker.explain(text) for chunker in chunkers)
    np.testing.assert_array_equal(got.cuts, want.cuts)
    np.testing.assert_allclose(got.similarities, want.similarities, atol=1e-5)
    numpy_cupy.calls.clear()
    chunkers[1]([text])
    # One byte a sentence for the check that vectors are finite, and the cuts; the vectors only where somebody wants them.
    if not kept:
        assert numpy_cupy.calls.count("get") == 2 + bool({"vectors", "sentence_vectors"} & set(options))


# Batches.


def test_packs_cover_everything_within_their_limits():
    random = np.random.RandomState(1)
    for trial in range(200):
        lengths = np.sort(random.randint(1, 2 + random.randint(1, 400), random.randint(0, 300)))[::-1].astype(np.int64)
        tokens, size = [(512, None), (1000, 5), (300, 11)][trial % 3]
        ranges = batches.packs(lengths, tokens, size)
        assert [a for a, _ in ranges] + [len(lengths)] == [0] + [b for _, b in ranges]
        for a, b in ranges:
            assert b > a and (size is None or b - a <= size)
            assert b - a == 1 or (lengths[a:b].sum() <= tokens and (b - a) * lengths[a] <= 2 * tokens)


def test_buckets_cover_everything_in_few_shapes():
    random = np.random.RandomState(1)
    shapes = set()
    for _ in range(200):
        lengths = np.sort(random.randint(1, 257, random.randint(0, 900)))[::-1].astype(np.int64)
        found = batches.buckets(lengths, 2048, limit=256)
        assert [a for a, *_ in found] + [len(lengths)] == [0] + [b for _, b, *_ in found]
        for a, b, rows, columns in found:
            assert 0 < b - a <= rows and lengths[a] <= columns <= 256 and rows * columns <= 2048
            assert columns - lengths[b - 1] < 64 and rows < 2 * (b - a)
        shapes |= {found[2:] for found in found}
    assert len({columns for _, columns in shapes}) == 8 and len(shapes) < 60
    assert batches.buckets(np.array([300]), 64, limit=290) == [(0, 1, 1, 300)]


# What goes wrong.


def raiser(message):
    def fail(*_):
        raise RuntimeError(message)

    return fail


def test_out_of_memory_halves_the_batches_and_says_so_once(folder, tmp_path, texts, wanted, monkeypatch, caplog):
    encoder = on_cuda(foreign(folder, tmp_path, ["last_hidden_state"]), max_batch_tokens=1000)
    monkeypatch.setattr(numpy_cupy, "memory_limit", numpy_cupy._memory_used + 60_000)
    with caplog.at_level(logging.WARNING, "rapidchunk"):
        np.testing.assert_allclose(encoder.encode(texts), wanted, atol=1e-5)
        np.testing.assert_allclose(encoder.encode(texts), wanted, atol=1e-5)
    assert encoder._run.max_batch_tokens < 500
    assert len(caplog.records) == 1 and "max_batch_tokens" in caplog.text and "cuda:0" in caplog.text


def test_out_of_memory_in_onnx_runtime(folder, texts, wanted, monkeypatch):
    encoder = on_cuda(folder, precision="fp32", max_batch_tokens=1000)
    encoder.encode(["w1"])
    real, limits = encoder._run.session.run_with_iobinding, []

    def small(binding, options):
        limits.append(len(binding.inputs["input_ids"]))
        if limits[-1] > 100:
            raise RuntimeError(
                "Non-zero status code returned while running Gemm node. Status Message: bfc_arena.cc: Failed to "
                "allocate memory for requested buffer of size 1"
            )
        real(binding, options)

    monkeypatch.setattr(encoder._run.session, "run_with_iobinding", small)
    np.testing.assert_allclose(encoder.encode(texts), wanted, atol=1e-5)
    assert max(limits) > 100 and encoder._run.max_batch_tokens <= 100
    monkeypatch.setattr(encoder._run.session, "run_with_iobinding", raiser("CUDA failure 2: out of memory"))
    with pytest.raises(RuntimeError, match=r"cuda:0.*one text of 39 tokens"):
        encoder.encode(texts)


def test_other_errors_are_not_taken_for_memory(folder, texts, monkeypatch):
    encoder = on_cuda(folder)
    encoder.encode(["w1"])
    monkeypatch.setattr(encoder._run.session, "run_with_iobinding", raiser("illegal address"))
    with pytest.raises(RuntimeError, match="illegal address"):
        encoder.encode(texts)


def test_vectors_that_are_not_finite_name_the_text(tmp_path):
    folder = tiny.write_model(tmp_path / "m")
    weights = tiny.weights_of("bert")
    weights["embeddings.word_embeddings.weight"][10] = np.nan  # "w0"
    tiny.write_safetensors(folder / "model.safetensors", weights)
    with pytest.raises(ValueError, match=r"not finite.* 2$"):
        on_cuda(folder).encode(["w1", "w2", "w3 w0", "w0"])


@pytest.mark.parametrize("device", ["tpu", "cuda:", "cuda:x", "cpu:0", "cuda:-1", 0])
def test_bad_devices_are_named(folder, device):
    with pytest.raises(ValueError, match="device must be"):
        OnnxEncoder(folder, device=device)


def test_fp16_is_for_cuda(folder, monkeypatch):
    with pytest.raises(ValueError, match="fp16"):
        OnnxEncoder(folder, device="cpu", precision="fp16")
    monkeypatch.setattr(cuda, "open_device", raiser("no device"))
    with pytest.raises(ValueError, match=r"fp16.*no device"):
        OnnxEncoder(folder, device="auto", precision="fp16").encode(["a"])


class Cupy:
    """A CuPy whose driver does as it is told."""

    def __init__(self, answer):
        def count():
            if isinstance(answer, Exception):
                raise answer
            return answer

        self.cuda = type("cuda", (), {"runtime": type("runtime", (), {"getDeviceCount": staticmethod(count)})})


@pytest.fixture
def undone(monkeypatch):
    """The real checks, on a machine that has everything but what a test takes away."""
    monkeypatch.undo()
    monkeypatch.setattr(ort, "get_available_providers", lambda: ["CUDAExecutionProvider", "CPUExecutionProvider"])
    monkeypatch.setitem(sys.modules, "cupy", Cupy(2))
    monkeypatch.setattr(cuda.ctypes, "CDLL", lambda name: None)
    return monkeypatch


def installed(*names):
    def distribution(name):
        if name not in names:
            raise metadata.PackageNotFoundError(name)

    return distribution


def causes():
    def no_provider(patch):
        patch.setattr(ort, "get_available_providers", lambda: ["AzureExecutionProvider", "CPUExecutionProvider"])
        patch.setattr(metadata, "distribution", installed("onnxruntime"))

    def both(patch):
        no_provider(patch)
        patch.setattr(metadata, "distribution", installed("onnxruntime", "onnxruntime-gpu"))

    def no_driver(patch):
        def load(name):
            raise OSError(f"{name}: cannot open shared object file")

        patch.setattr(cuda.ctypes, "CDLL", load)

    yield no_provider, RuntimeError, r"has no CUDA .*AzureExecutionProvider.*rapidchunk\[gpu\]"
    yield both, RuntimeError, "both installed.*pip uninstall"
    yield no_driver, RuntimeError, r"no NVIDIA driver \(libcuda.so.1"
    yield lambda patch: patch.setitem(sys.modules, "cupy", None), ImportError, r"CuPy.*rapidchunk\[gpu\]"


@pytest.mark.parametrize("take_away, kind, message", list(causes()), ids=["provider", "both", "driver", "cupy"])
def test_what_is_missing_is_named_at_once(folder, undone, take_away, kind, message, caplog):
    OnnxEncoder(folder, device="cuda")
    take_away(undone)
    with pytest.raises(kind, match=f"device 'cuda:0': .*{message}"):
        OnnxEncoder(folder, device="cuda:0")
    with caplog.at_level(logging.INFO, "rapidchunk"):
        encoder = OnnxEncoder(folder, device="auto")
        assert encoder.encode(["w1", "w2"]).shape == (2, tiny.HIDDEN)
        encoder.encode(["w1"])
    assert len(caplog.records) == 1 and "device 'auto': encoding on the CPU: " in caplog.text


@pytest.mark.parametrize(
    "answer, index, message",
    [
        (RuntimeError("cudaErrorInsufficientDriver: too old"), 0, "driver refuses: cudaErrorInsufficientDriver"),
        (RuntimeError("cudaErrorInitializationError: initialization error"), 0, "before this process was forked"),
        (2, 3, "there is no device 3, only 2"),
    ],
)
def test_what_the_driver_says_comes_with_the_first_use(folder, undone, answer, index, message):
    undone.setitem(sys.modules, "cupy", Cupy(answer))
    encoder = OnnxEncoder(folder, device=f"cuda:{index}")
    with pytest.raises(RuntimeError, match=f"device 'cuda:{index}': .*{message}"):
        encoder.encode(["w1"])


def test_both_runtimes_installed_are_warned_of_even_where_cuda_works(undone, caplog):
    undone.setattr(metadata, "distribution", installed("onnxruntime", "onnxruntime-gpu"))
    undone.setattr(rapidchunk.kernels, "cuda", numpy_cupy.kernels, raising=False)
    assert cuda.open_device(1).index == 1
    assert "both installed" in caplog.text and "pip uninstall" in caplog.text
    undone.setattr(metadata, "distribution", installed("onnxruntime-gpu"))
    caplog.clear()
    cuda.open_device(0)
    assert not caplog.text


def test_a_provider_that_onnx_runtime_leaves_out(folder, undone, tmp_path):
    path = export.export(folder, pooling="mean")
    undone.undo()
    device = cuda.Device(0, numpy_cupy, numpy_cupy.kernels)  # the CUDA provider, which this machine does not have
    undone.setattr(cuda, "_library_error", lambda ort: "libcudnn.so.9: cannot open shared object file")
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match=r"cannot use device 0: libcudnn\.so"):
        cuda.open_session(device, path, numpy_cupy.cuda.Stream(non_blocking=True), strict=False)


def test_extras_for_both_processors_are_refused():
    """tools/extras.py, which make installs from."""
    tool = Path(__file__).parents[1] / "tools" / "extras.py"

    def printed(*names):
        return subprocess.run([sys.executable, tool, *names], capture_output=True, text=True, check=False)

    assert {line.partition(">")[0] for line in printed("gpu").stdout.split()} == {
        "onnxruntime-gpu[cuda,cudnn]",
        "cupy-cuda13x[ctk]",
        "onnx",
    }
    assert printed("cli", "cpu", "gpu").returncode and "onnxruntime-gpu" in printed("cpu", "gpu").stderr
    assert printed("gpu", "test").returncode  # test takes cpu
