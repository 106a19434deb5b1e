"""Everything about rapidchunk that only a GPU can show, in one run of under 8 minutes on one card.

    pip install --no-build-isolation --no-deps .      # from a checkout; with CuPy, onnxruntime-gpu, onnx and tokenizers there
    python benchmarks/gpu_check.py [--model FOLDER] [--minutes 8]
    python benchmarks/gpu_check.py --dry-run          # the same code without a GPU, tiny, on stand-ins: figures mean nothing

Sections: bits of every CUDA kernel against the CPU; the card's own ceilings (copy, matrix product) and the kernels against
them; addresses (that nothing is copied) and the order of the stream; encoder graphs by length, in tokens a second and as a share
of the matrix ceiling; documents a second from Python strings, with the shares of host and device; sentence-transformers and a
pure-Python loop on the same card. A section that fails is printed and the next one goes on. Prints a table last; writes JSON to
$OUT, else benchmarks/results/gpu.json (a dry run: nowhere unless $OUT is set). Exit code 1 if a section failed.

Needs no network: without --model the encoders have the sizes of all-MiniLM-L6-v2 and BERT base, with random weights.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
METHODS = [
    ("threshold", 0.3),
    ("percentile", 90.0),
    ("std", 1.0),
    ("interquartile", 1.5),
    ("gradient", 90.0),
    ("depth", 0.5),
]


class Card:
    """The device, its modules and the clock."""

    def __init__(self, dry: bool, minutes: float) -> None:
        self.dry = dry
        self.end = time.monotonic() + 60 * minutes
        self.random = np.random.default_rng()
        self.ceilings: dict[str, float] = {}
        if dry:
            sys.path.insert(0, str(ROOT / "tests"))
            import numpy_cupy

            numpy_cupy.install()
            self.device = numpy_cupy.device()
        else:
            import cupy
            from rapidchunk.encoders.cuda import Device
            from rapidchunk.kernels import cuda

            self.device = Device(0, cupy, cuda)  # without asking ONNX Runtime, whose lack ends its own sections only
        self.cupy, self.kernels = self.device.cupy, self.device.kernels
        self.stream = self.cupy.cuda.Stream(non_blocking=True)

    def size(self, real: int, dry: int) -> int:
        return dry if self.dry else real

    def run(self, name: str, *arguments: Any, **options: Any) -> Any:
        """A kernel on copies of NumPy arrays; NumPy arrays come back."""
        with self.stream:
            given = [self.cupy.asarray(value) if isinstance(value, np.ndarray) else value for value in arguments]
            result = getattr(self.kernels, name)(*given, **options)
            self.stream.synchronize()
            return tuple(map(self.cupy.asnumpy, result)) if isinstance(result, tuple) else self.cupy.asnumpy(result)

    def seconds(self, work: Callable[[], object], repeat: int = 15) -> float:
        """Median time of `work`, queued on the stream, by the device's own clock."""
        with self.stream:
            for _ in range(3):
                work()
            times = []
            for _ in range(self.size(repeat, 1)):
                if self.dry:
                    begin = time.perf_counter()
                    work()
                    times.append(time.perf_counter() - begin)
                    continue
                events = self.cupy.cuda.Event(), self.cupy.cuda.Event()
                events[0].record(self.stream)
                work()
                events[1].record(self.stream)
                events[1].synchronize()
                times.append(self.cupy.cuda.get_elapsed_time(*events) / 1000)
        return statistics.median(times)


Row = dict[str, Any]
SECTIONS: list[tuple[str, Callable[..., Iterator[Row]]]] = []


def section(name: str) -> Callable[[Callable[..., Iterator[Row]]], Callable[..., Iterator[Row]]]:
    def register(run: Callable[..., Iterator[Row]]) -> Callable[..., Iterator[Row]]:
        SECTIONS.append((name, run))
        return run

    return register


def documents(random: np.random.Generator, count: int, sentences: int) -> np.ndarray:
    """Ragged offsets: `count` documents of about `sentences` sentences, some empty, some of one."""
    lengths = random.poisson(sentences, count)
    lengths[: min(4, count)] = [0, 1, 2, 0][: min(4, count)]
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


# What the kernels compute.


@section("bits of the kernels")
def bits(card: Card) -> Iterator[Row]:
    from rapidchunk.kernels import cpu

    random = card.random

    def same(name: str, note: str, *arguments: Any, **options: Any) -> Row:
        want = getattr(cpu, name)(*arguments, **options)
        begin = time.perf_counter()
        got = card.run(name, *arguments, **options)
        row: Row = {"what": name, "case": note, "first call": f"{1e3 * (time.perf_counter() - begin):.0f} ms"}
        pairs = list(zip(want, got)) if isinstance(want, tuple) else [(want, got)]
        different = sum(
            int((a.view(np.uint8) != b.view(np.uint8)).sum()) if a.shape == b.shape else -1 for a, b in pairs
        )
        row["equal"] = all(a.dtype == b.dtype and a.shape == b.shape for a, b in pairs) and different == 0
        if not row["equal"]:
            row["failed"] = f"{different} bytes differ"
        return row

    offsets = documents(random, card.size(400, 20), 40)
    n = int(offsets[-1])
    for H in (256, 384, 768, 1024, 100):
        for dtype in (np.float16, np.float32):
            lengths = random.integers(0, 60, card.size(2000, 40))
            ends = np.cumsum(lengths).astype(np.int64)
            rows = random.standard_normal((int(ends[-1]), H), np.float32).astype(dtype)
            for normalize in (True, False):
                note = f"{H} {np.dtype(dtype)} normalize={normalize}"
                yield same("pool_spans", note, rows, ends - lengths, ends, normalize=normalize)
            groups = np.arange(0, len(lengths) + 1, 4)
            yield same("pool_spans", f"{H} {np.dtype(dtype)} grouped", rows, ends - lengths, ends, groups)
        vectors = random.standard_normal((n, H), np.float32)
        for block in (1, 3):
            yield same("adjacent_similarity", f"{H} block {block}", vectors, offsets, block)
    similarity = cpu.adjacent_similarity(vectors, offsets)
    sizes = random.integers(1, 80, n).astype(np.int64)
    last = np.cumsum(sizes)
    first = last - sizes
    for method, value in METHODS:
        yield same("boundary_candidates", method, similarity, offsets, method, value)
    candidates = cpu.boundary_candidates(similarity, offsets, "percentile", 90.0)
    yield same("greedy_cuts", "64 to 256", similarity, candidates, first, last, offsets, 64, 256)
    yield same("optimal_cuts", "64 to 256", similarity, first, last, offsets, 64, 256, 1 << 18)
    if hasattr(card.kernels, "directional_cuts"):
        prior = random.integers(0, 3, n).astype(np.uint8)
        yield same("directional_cuts", "64 to 256", vectors, first, last, prior, offsets, 64, 256)
    ids = random.integers(0, 30000, n * 20).astype(np.int32)
    start = np.sort(random.integers(0, len(ids) - 300, 500)).astype(np.int64)
    end = start + random.integers(0, 300, 500)
    specials = np.array([101], np.int32), np.array([102], np.int32)
    for name in ("gather_windows", "pack_windows"):
        if hasattr(card.kernels, name):
            yield same(name, "500 windows", ids, start, end, *specials)


@section("ceilings of the card")
def ceilings(card: Card) -> Iterator[Row]:
    cupy, size = card.cupy, card.size(1 << 30, 1 << 12)
    with card.stream:
        pair = [cupy.zeros(size, np.float32), cupy.empty(size, np.float32)]
    moved = 2 * pair[0].nbytes
    seconds = card.seconds(lambda: cupy.copyto(pair[1], pair[0]))
    pair.clear()
    card.ceilings["bytes"] = moved / seconds
    yield {"what": "copy", "TB/s": round(moved / seconds / 1e12, 3)}
    n = card.size(8192, 64)
    with card.stream:  # not zeros, on which the product is faster
        a = cupy.asarray(card.random.standard_normal((n, n), np.float32).astype(np.float16))
        out = cupy.empty((n, n), np.float16)
    seconds = card.seconds(lambda: cupy.matmul(a, a, out=out))
    card.ceilings["flops"] = 2 * n**3 / seconds
    yield {"what": f"float16 product {n}", "TFLOP/s": round(2 * n**3 / seconds / 1e12, 1)}


@section("kernels against the floor")
def bandwidth(card: Card) -> Iterator[Row]:
    cupy, kernels, random = card.cupy, card.kernels, card.random
    tokens, H, k = card.size(1 << 20, 2000), 384, 20
    n = tokens // k
    with card.stream:
        hidden = cupy.asarray(random.standard_normal((1 << 10, H), np.float32).astype(np.float16))
        hidden = cupy.concatenate([hidden] * -(-tokens // len(hidden)))[:tokens]
        start = cupy.asarray(np.arange(n, dtype=np.int64) * k)
        end = cupy.asarray(np.arange(1, n + 1, dtype=np.int64) * k)
        vectors = kernels.pool_spans(hidden, start, end)

    def row(what: str, case: str, moved: int, *arguments: Any) -> Row:
        seconds = card.seconds(lambda: getattr(kernels, what)(*arguments))
        share = moved / seconds / card.ceilings["bytes"] if "bytes" in card.ceilings else float("nan")
        return {
            "what": what,
            "case": case,
            "us": round(1e6 * seconds),
            "TB/s": round(moved / seconds / 1e12, 3),
            "of the copy": f"{100 * share:.0f} %",
        }

    yield row("pool_spans", f"{tokens} tokens", hidden.nbytes + vectors.nbytes + 16 * n, hidden, start, end)
    for size in (n, 1000, 60):
        edges = np.append(np.arange(0, n, size, dtype=np.int64), n)
        ends = np.cumsum(np.full(n, k, np.int64))
        with card.stream:
            offsets, first, last = map(cupy.asarray, (edges, ends - k, ends))
            similarity = kernels.adjacent_similarity(vectors, offsets)
            candidates = kernels.boundary_candidates(similarity, offsets, "percentile", 90.0)
        case = f"{len(edges) - 1} documents of {size}"
        yield row("adjacent_similarity", case, vectors.nbytes + 4 * n, vectors, offsets)
        yield row("boundary_candidates", case, 5 * n, similarity, offsets, "percentile", 90.0)
        yield row("greedy_cuts", case, 22 * n, similarity, candidates, first, last, offsets, 64, 256)
        yield row("optimal_cuts", case, 21 * n, similarity, first, last, offsets, 64, 256, 1 << 18)


# The encoder.

MINI = {"hidden_size": 384, "intermediate_size": 1536, "num_hidden_layers": 6, "num_attention_heads": 12}
BASE = {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12}
TINY = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}


def random_model(folder: Path, sizes: dict[str, int]) -> Path:
    """A BERT of these sizes with random weights, as sentence-transformers writes one, and BERT's tokenizer."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    words = (ROOT / "python/rapidchunk/data/bert-base-uncased-vocab.txt").read_text("utf-8").split("\n")
    words = words[:-1] if not words[-1] else words
    tokenizer = Tokenizer(models.WordPiece({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.add_special_tokens(specials)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(name, words.index(name)) for name in ("[CLS]", "[SEP]")]
    )
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = sizes | {
        "model_type": "bert",
        "vocab_size": len(words),
        "max_position_embeddings": 512,
        "type_vocab_size": 2,
    }
    config |= {"hidden_act": "gelu", "layer_norm_eps": 1e-12, "pad_token_id": 0}
    (folder / "config.json").write_text(json.dumps(config))
    random = np.random.default_rng(0)
    H, F = sizes["hidden_size"], sizes["intermediate_size"]
    weights: dict[str, np.ndarray] = {}

    def draw(name: str, *shape: int) -> None:
        weights[name] = (random.standard_normal(shape, np.float32) * 0.04).astype(np.float32)

    def norm(name: str) -> None:
        weights[f"{name}.weight"], weights[f"{name}.bias"] = np.ones(H, np.float32), np.zeros(H, np.float32)

    for name, rows in (("word", len(words)), ("position", 512), ("token_type", 2)):
        draw(f"embeddings.{name}_embeddings.weight", rows, H)
    norm("embeddings.LayerNorm")
    for layer in range(sizes["num_hidden_layers"]):
        at = f"encoder.layer.{layer}."
        linear = [(f"attention.self.{part}", H, H) for part in ("query", "key", "value")]
        linear += [("attention.output.dense", H, H), ("intermediate.dense", F, H), ("output.dense", H, F)]
        for name, rows, columns in linear:
            draw(f"{at}{name}.weight", rows, columns)
            draw(f"{at}{name}.bias", rows)
        norm(f"{at}attention.output.LayerNorm")
        norm(f"{at}output.LayerNorm")
    header, at_byte = {}, 0
    for name, value in weights.items():
        entry = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [at_byte, at_byte + value.nbytes]}
        header[name], at_byte = entry, at_byte + value.nbytes
    text = json.dumps(header).encode()
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for value in weights.values():
            file.write(value.tobytes())
    return folder


def flops(config: dict[str, int], lengths: np.ndarray) -> float:
    """Floating-point operations of the matrix products over texts of these lengths."""
    H, F, L = config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]
    n = lengths.astype(np.float64)
    return float(2 * L * (4 * H * H + 2 * H * F) * n.sum() + 4 * L * H * (n * n).sum())


def sentences_of(random: np.random.Generator, count: int) -> list[str]:
    """Sentences of words from the vocabulary, about as long as English ones."""
    words = (ROOT / "python/rapidchunk/data/bert-base-uncased-vocab.txt").read_text("utf-8").split("\n")
    plain = np.array([word for word in words if word.isascii() and word.isalpha() and len(word) > 2])
    # Some words are much more frequent than others, as in a language.
    frequency = 1 / (np.arange(len(plain)) + 10.0)
    lengths = np.clip(np.exp(random.normal(2.9, 0.5, count)).astype(int), 3, 120)
    drawn = plain[random.choice(len(plain), int(lengths.sum()), p=frequency / frequency.sum())]
    ends = np.cumsum(lengths)
    return [" ".join(drawn[a:b]).capitalize() + "." for a, b in zip(ends - lengths, ends)]


def windows_of(card: Card, encoder: Any, lengths: np.ndarray) -> Any:
    """Random tokens in windows whose lengths, special tokens included, are these."""
    from rapidchunk.encoders.batches import Windows

    inner = (lengths - encoder._special).astype(np.int64)
    ends = np.cumsum(inner)
    ids = card.random.integers(1000, 30000, int(ends[-1])).astype(np.int32)
    return Windows(ids, np.arange(len(lengths)), ends - inner, ends, lengths.astype(np.int64), len(lengths))


@section("addresses, and the order of the stream")
def addresses(card: Card, folder: Path) -> Iterator[Row]:
    from rapidchunk.encoders import OnnxEncoder

    texts = sentences_of(card.random, card.size(2000, 40))
    want = OnnxEncoder(folder, device="cpu").encode(texts[:200])
    n = card.size(8192, 32)
    busy, product = card.cupy.zeros((n, n), np.float16), card.cupy.empty((n, n), np.float16)
    for precision in ("fp16", "fp32"):
        encoder = OnnxEncoder(folder, device="cuda", precision=precision)
        got = encoder.encode(texts[:200])
        error = float(np.linalg.norm(got - want) / np.linalg.norm(want))
        row: Row = {"what": f"packed {precision}", "against the CPU": f"{error:.1e}"}
        if not error < (2e-2 if precision == "fp16" else 1e-3):
            row["failed"] = "vectors differ from the CPU's"
        yield row
        run, seen = encoder._run, []
        real = run.session.run_with_iobinding

        def spy(binding: Any, options: Any, real: Any = real, run: Any = run, seen: list[bool] = seen) -> None:
            result = run._workspace._buffers["result"]
            result.fill(0xFF)  # NaN: what the model does not write is found in the vectors
            real(binding, options)
            outputs = getattr(binding, "get_outputs", lambda: [])()
            seen.append(all(value.data_ptr() == result.data.ptr for value in outputs))

        run.session.run_with_iobinding = spy
        with run.stream:  # something that takes long, so that the host is ahead when it queues the rest
            for _ in range(20):
                card.cupy.matmul(busy, busy, out=product)
        late = encoder.encode(texts)
        run.session.run_with_iobinding = real
        row = {"what": f"packed {precision}", "results at our address": f"{sum(seen)} of {len(seen)} runs"}
        if not all(seen) or not seen:
            row["failed"] = "ONNX Runtime wrote elsewhere"
        yield row
        wrong = sum(int((encoder.encode(texts) != late).any(axis=1).sum()) for _ in range(card.size(10, 2)))
        row = {"what": f"packed {precision}", "vectors that change from run to run": wrong}
        if wrong:
            row["failed"] = "a race, or a product that is summed in no fixed order"
        yield row


@section("encoder by length")
def by_length(card: Card, folder: Path) -> Iterator[Row]:
    from rapidchunk.encoders import OnnxEncoder, export

    total = card.size(1 << 19, 1 << 8)
    fixed = (16, 32) if card.dry else (32, 128, 512)
    shapes = [(f"{length}", np.full(max(total // length, 1), length)) for length in fixed]
    ragged = np.clip(np.round(np.exp(card.random.normal(3.1, 0.6, max(total // 26, 4)))), 4, 250).astype(np.int64)
    shapes.append(("ragged", ragged))
    models = [("MiniLM-L6", folder)]
    if not card.dry:
        models.append(("BERT base", random_model(folder.parent / "base", BASE)))
    for name, path in models:
        config = json.loads((path / "config.json").read_text())
        for kind in ("packed fp16", "padded fp16", "packed fp32"):
            precision = kind.split()[1]
            if kind.startswith("padded"):
                graph = export.export(path, pooling="mean", precision=precision)
                encoder = OnnxEncoder(graph, tokenizer=path, pooling="mean", device="cuda", max_length=512)
            else:
                encoder = OnnxEncoder(path, device="cuda", precision=precision, max_length=512)
            run = encoder._running()
            for label, lengths in shapes:
                for budget in (16384, 65536, 262144) if label == "ragged" and kind == "packed fp16" else (65536,):
                    run.max_batch_tokens = card.size(budget, 128)
                    windows = windows_of(card, encoder, lengths)
                    with card.cupy.cuda.Device(0), run.stream:
                        out = card.cupy.empty((len(lengths), run.dimension), np.float32)
                    best = float("inf")
                    for _ in range(card.size(4, 1)):
                        begin = time.perf_counter()
                        with run._lock, run.stream:
                            run._queue(windows, out)
                        queued = time.perf_counter() - begin
                        run.stream.synchronize()
                        best = min(best, time.perf_counter() - begin)
                    rate, work = lengths.sum() / best, flops(config, lengths) / best
                    row: Row = {
                        "what": f"{name}, {kind}",
                        "case": f"length {label}, batches of {run.max_batch_tokens}",
                        "Mtok/s": round(rate / 1e6, 3),
                        "TFLOP/s": round(work / 1e12, 1),
                        "host": f"{100 * queued / best:.0f} %",
                    }
                    if "flops" in card.ceilings:
                        row["of the product"] = f"{100 * work / card.ceilings['flops']:.0f} %"
                    yield row


@section("documents a second, from Python strings")
def end_to_end(card: Card, folder: Path) -> Iterator[Row]:
    from rapidchunk import SemanticChunker
    from rapidchunk.encoders import OnnxEncoder

    sentences = sentences_of(card.random, card.size(200_000, 300))
    step = 100
    texts = [" ".join(sentences[at : at + step]) for at in range(0, len(sentences), step)]
    encoder = OnnxEncoder(folder, device="cuda")
    chunkers = {
        "no rule": SemanticChunker(encoder, max_tokens=256),  # cuts on the CPU
        "percentile": SemanticChunker(encoder, max_tokens=256, percentile=90),  # cuts on the card
    }
    for chunker in chunkers.values():
        chunker(texts[: card.size(200, 1)])  # kernels compiled, memory there
    run = encoder._run
    spent: dict[str, float] = {}
    stream, workspace = run.stream, run._workspace

    def timed(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            begin = time.perf_counter()
            result = work(*arguments)
            spent[name] = spent.get(name, 0) + time.perf_counter() - begin
            return result

        return call

    class Stream:
        """The stream, which counts how long the host waits for it."""

        synchronize = staticmethod(timed("waiting", stream.synchronize))
        __enter__ = staticmethod(stream.__enter__)
        __exit__ = staticmethod(stream.__exit__)

    run.stream, run.encode = Stream(), timed("encoding", run.encode)
    workspace._free_staging = timed("waiting", workspace._free_staging)
    encoder._tokenizer.ids_of = timed("tokenising", encoder._tokenizer.ids_of)
    size, tokens = sum(map(len, texts)), len(encoder._tokenizer.ids_of(texts)[0])
    for name, chunker in chunkers.items():
        spent.clear()
        begin = time.perf_counter()
        chunks = chunker(texts)
        total = time.perf_counter() - begin
        card.ceilings["documents"] = max(len(texts) / total, card.ceilings.get("documents", 0))
        yield {
            "what": f"SemanticChunker, {name}",
            "case": f"{len(texts)} documents of {step} sentences, {len(chunks)} chunks",
            "documents/s": round(len(texts) / total, 1),
            "MB/s": round(size / total / 1e6, 2),
            "Mtok/s": round(tokens / total / 1e6, 3),
            # tokenising and waiting (for the device) are parts of encoding
            **{share: f"{100 * seconds / total:.0f} %" for share, seconds in spent.items()},
        }


@section("sentence-transformers on the same card")
def sentence_transformers(card: Card, folder: Path) -> Iterator[Row]:
    if importlib.util.find_spec("sentence_transformers") is None or (
        card.dry and not os.environ.get("GPU_CHECK_TORCH")
    ):
        yield {"what": "sentence-transformers", "case": "not installed" if not card.dry else "left out"}
        return
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules

    sys.path.insert(0, str(ROOT / "benchmarks"))
    from baseline import semantic_chunks

    words = modules.Transformer(str(folder), max_seq_length=256)
    pooling = modules.Pooling(words.get_embedding_dimension(), pooling_mode="mean")
    model = SentenceTransformer(modules=[words, pooling], device="cuda" if torch.cuda.is_available() else "cpu")
    if torch.cuda.is_available():
        model = model.half()
    sentences = sentences_of(card.random, card.size(20_000, 60))
    encode = lambda part: model.encode(part, batch_size=512, show_progress_bar=False)  # noqa: E731
    encode(sentences[:1000])
    begin = time.perf_counter()
    encode(sentences)
    rate = len(sentences) / (time.perf_counter() - begin)
    yield {"what": "encode", "case": "float16, batches of 512, sorted by length", "sentences/s": round(rate, 1)}
    texts = [" ".join(sentences[at : at + 100]) for at in range(0, len(sentences), 100)][: card.size(100, 2)]
    begin = time.perf_counter()
    for text in texts:
        semantic_chunks(text, encode)
    rate = len(texts) / (time.perf_counter() - begin)
    row: Row = {"what": "pure-Python loop over it", "documents/s": round(rate, 2)}
    if "documents" in card.ceilings:
        row["rapidchunk over it"] = f"{card.ceilings['documents'] / rate:.1f}"
    yield row


def versions(card: Card) -> dict[str, Any]:
    import onnxruntime
    import rapidchunk

    found: dict[str, Any] = {"rapidchunk": rapidchunk.__version__, "onnxruntime": onnxruntime.__version__}
    found["providers"] = onnxruntime.get_available_providers()
    if not card.dry:
        runtime = card.cupy.cuda.runtime
        found |= {"cupy": card.cupy.__version__, "device": runtime.getDeviceProperties(0)["name"].decode()}
        found |= {"driver": runtime.driverGetVersion(), "runtime": runtime.runtimeGetVersion()}
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--model", type=Path, help="folder of a BERT-family model; default random weights of MiniLM's size"
    )
    parser.add_argument("--minutes", type=float, default=8, help="sections that would begin later are skipped")
    parser.add_argument("--dry-run", action="store_true", help="without a GPU, tiny")
    given = parser.parse_args()
    begin = time.monotonic()
    card = Card(given.dry_run, given.minutes - 1)
    report: dict[str, Any] = {"dry_run": given.dry_run, "versions": versions(card), "rows": []}
    print(report["versions"], flush=True)
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["RAPIDCHUNK_CACHE"] = scratch
        folder = given.model or random_model(Path(scratch) / "mini", TINY if given.dry_run else MINI)
        for name, run in SECTIONS:
            rows = report["rows"]
            if time.monotonic() > card.end:
                rows.append({"section": name, "what": "skipped", "case": "no time left"})
                continue
            print(f"== {name} ({time.monotonic() - begin:.0f} s)", flush=True)
            try:
                for row in run(card, folder) if run.__code__.co_argcount > 1 else run(card):
                    rows.append({"section": name, **row})
                    print("  ", *(f"{key}: {value};" for key, value in row.items()), flush=True)
            except Exception as error:
                traceback.print_exc()
                rows.append(
                    {"section": name, "what": "failed", "failed": f"{type(error).__name__}: {str(error)[:300]}"}
                )
    report["seconds"] = round(time.monotonic() - begin, 1)
    failed = sum("failed" in row for row in report["rows"])
    target = os.environ.get("OUT")
    if target or not given.dry_run:
        folder = Path(target) if target else ROOT / "benchmarks" / "results"
        (folder / "gpu.json").write_text(json.dumps(report, indent=1, default=str) + "\n")
    print(f"\n{'dry run, figures mean nothing; ' if given.dry_run else ''}{report['seconds']} s, {failed} failures")
    for row in report["rows"]:
        values = [f"{key} {value}" for key, value in row.items() if key not in ("section", "what", "case")]
        print(" | ".join([row["section"], row["what"], str(row.get("case", "")), *values]))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
