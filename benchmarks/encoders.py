"""Runtimes and precisions of `OnnxEncoder`, one thread, interleaved in one process: speed, nearness to fp32, and whether a text's
vector depends on its batch, and whether `SemanticChunker` cuts otherwise.

    python benchmarks/encoders.py [--model minilm] [--sentences 300] [--rounds 5] > benchmarks/results/encoders.md

The texts are sentences of examples/documents. Speed is the median over rounds of
sentences per CPU second (the process has one thread at work). A precision that this CPU does not have is named and left out.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import platform
import statistics
import time
from pathlib import Path

import numpy as np
from rapidchunk import SemanticChunker, sentence_spans
from rapidchunk.encoders import OnnxEncoder

EXCERPT = 30
NOTE = """Without bfloat16 the runtimes are about equal: on an AMD EPYC with AVX2 (2026-12-01, the same command) ONNX
Runtime made 108 sentences a second in fp32 and OpenVINO 106. In bfloat16 the texts whose bits differ alone and in a
batch do so by a rounding of bfloat16. Dynamic int8 of ONNX Runtime made 377 where its fp32 made 133 (another machine,
earlier), but there a text's vector depends on its batch."""
ROWS: list[tuple[str, dict[str, str]]] = [
    ("ONNX Runtime, fp32", {"runtime": "onnxruntime", "precision": "fp32"}),
    ("ONNX Runtime, weights as int8", {"runtime": "onnxruntime", "precision": "int8"}),
    ("OpenVINO, fp32", {"runtime": "openvino", "precision": "fp32"}),
    ("OpenVINO, weights as int8", {"runtime": "openvino", "precision": "int8"}),
    ("OpenVINO, bf16", {"runtime": "openvino", "precision": "bf16"}),
]


def excerpt(most: int) -> tuple[list[str], list[str]]:
    """Excerpts of `EXCERPT` sentences from all over the documents, about `most` sentences in all; and their sentences."""
    found: list[str] = []
    for path in sorted((Path(__file__).parents[1] / "examples/documents").rglob("*.*")):
        if path.suffix in (".md", ".txt") and path.name != "SOURCE.txt":
            text = path.read_text("utf-8")
            spans = sentence_spans(text).tolist()
            for first in range(0, len(spans) - EXCERPT, EXCERPT):
                found.append(text[spans[first][0] : spans[first + EXCERPT - 1][1]])
    documents = found[:: max(1, len(found) * EXCERPT // most)]
    return documents, [text[start:end] for text in documents for start, end in sentence_spans(text).tolist()]


def cuts(documents: list[str], encoder: OnnxEncoder) -> set[tuple[int, int, int]]:
    chunks = SemanticChunker(encoder)(documents)
    return set(zip(chunks.document.tolist(), chunks.start.tolist(), chunks.end.tolist()))


def cpu_model() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
    flags = next((line.split() for line in lines if line.startswith("flags")), [])
    sets = [flag for flag in ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8") if flag in flags]
    return f"{name} ({', '.join(sets) or 'no AVX2'})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    documents, texts = excerpt(given.sentences)
    encoders: dict[str, OnnxEncoder] = {}
    missing: dict[str, str] = {}
    for name, options in ROWS:
        try:
            encoders[name] = OnnxEncoder(given.model, device="cpu", threads=1, **options)
            encoders[name].encode(texts[:40])  # makes the graph and the session
        except (ImportError, RuntimeError) as error:
            missing[name] = str(error)
    times: dict[str, list[float]] = {name: [] for name in encoders}
    vectors: dict[str, np.ndarray] = {}
    for _ in range(given.rounds):
        for name, encoder in encoders.items():
            begun = time.process_time()
            vectors[name] = encoder.encode(texts)
            times[name].append(time.process_time() - begun)
    exact = vectors[ROWS[0][0]]
    chunks = {name: cuts(documents, encoder) for name, encoder in encoders.items()}
    same = chunks[ROWS[0][0]]
    fast = OnnxEncoder(given.model, device="cpu", precision="fast")
    rows = []
    for name, encoder in encoders.items():
        alone = np.concatenate([encoder.encode([text]) for text in texts[:100]])
        differ = np.abs(alone - vectors[name][:100]).max(axis=1)
        cosine = (vectors[name].astype(np.float64) * exact).sum(axis=1)
        speed = [len(texts) / seconds for seconds in times[name]]
        chosen = " (`fast` here)" if (fast.runtime, fast.precision) == (encoder.runtime, encoder.precision) else ""
        rows.append(
            f"| {name}{chosen} | {statistics.median(speed):.0f} | {min(speed):.0f}–{max(speed):.0f} | {1 - cosine.min():.1e} "
            f"| {max(0, 1 - cosine.mean()):.1e} | {differ.max():.1e} | {(differ == 0).mean():.0%} "
            f"| {len(chunks[name] & same)} of {len(same)} |"
        )
    tokens = np.diff(next(iter(encoders.values()))._tokenizer.ids_of(texts)[1])
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("onnxruntime", "openvino") if _there(name)]
    lengths = f"tokens: median {np.median(tokens):.0f}, mean {tokens.mean():.1f}, most {tokens.max()}"
    print("# Encoders: runtimes and precisions\n")
    print(
        f"`python benchmarks/encoders.py --sentences {given.sentences} --rounds {given.rounds}`, {datetime.date.today()}: "
        f"{given.model}, {len(texts)} sentences in {len(documents)} excerpts of examples/documents ({lengths}), one thread, "
        f"{given.rounds} rounds interleaved in one process. {cpu_model()}; {', '.join(versions)}.\n"
    )
    print(
        "| | sentences a CPU second, median | range | 1 − cosine to fp32, worst | mean | alone or in a batch: most that a "
        "value differs | texts with the same bits | chunks of SemanticChunker as with fp32 |"
    )
    print("| --- " * 8 + "|")
    print("\n".join(rows))
    for name, cause in missing.items():
        print(f"\n{name}: not measured. {cause}.")
    print(f"\n{NOTE}")


def _there(package: str) -> bool:
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


if __name__ == "__main__":
    main()
