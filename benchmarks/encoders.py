"""Runtimes and precisions of `OnnxEncoder`, one thread, interleaved in one process: speed, nearness to fp32, and whether a text's
vector depends on its batch.

    python benchmarks/encoders.py [--model minilm] [--sentences 300] [--rounds 5] > benchmarks/results/encoders.md

The texts are sentences of examples/documents, in the order in which a document gives them. Speed is the median over rounds of
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
from rapidchunk import sentence_spans
from rapidchunk.encoders import OnnxEncoder

ROWS: list[tuple[str, dict[str, str]]] = [
    ("ONNX Runtime, fp32", {"runtime": "onnxruntime", "precision": "fp32"}),
    ("ONNX Runtime, weights as int8", {"runtime": "onnxruntime", "precision": "int8"}),
    ("OpenVINO, fp32", {"runtime": "openvino", "precision": "fp32"}),
    ("OpenVINO, weights as int8", {"runtime": "openvino", "precision": "int8"}),
    ("OpenVINO, bf16", {"runtime": "openvino", "precision": "bf16"}),
]


def sentences(most: int) -> list[str]:
    """Every n-th run of ten sentences of the documents, `most` in all."""
    found: list[str] = []
    for path in sorted((Path(__file__).parents[1] / "examples/documents").rglob("*.*")):
        if path.suffix in (".md", ".txt") and path.name != "SOURCE.txt":
            text = path.read_text("utf-8")
            found += [text[start:end] for start, end in sentence_spans(text).tolist()]
    step = max(1, len(found) // most)
    return [found[at] for first in range(0, len(found), 10 * step) for at in range(first, min(first + 10, len(found)))]


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
    texts = sentences(given.sentences)[: given.sentences]
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
            f"| {1 - cosine.mean():.1e} | {differ.max():.1e} | {(differ == 0).mean():.0%} |"
        )
    tokens = np.diff(next(iter(encoders.values()))._tokenizer.ids_of(texts)[1])
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("onnxruntime", "openvino") if _there(name)]
    print("# Encoders: runtimes and precisions\n")
    print(f"`python benchmarks/encoders.py --sentences {given.sentences} --rounds {given.rounds}`, ", end="")
    print(
        f"{datetime.date.today()}: {given.model}, {len(texts)} sentences of examples/documents (tokens: median ", end=""
    )
    print(
        f"{np.median(tokens):.0f}, mean {tokens.mean():.1f}, most {tokens.max()}), one thread, {given.rounds} rounds ",
        end="",
    )
    print(f"interleaved in one process. {cpu_model()}; {', '.join(versions)}.\n")
    print(
        "| | sentences a CPU second, median | range | 1 − cosine to fp32, worst | mean | alone or in a batch: most that a value ",
        end="",
    )
    print("differs | texts with the same bits |\n| --- | --- | --- | --- | --- | --- | --- |")
    print("\n".join(rows))
    for name, cause in missing.items():
        print(f"\n{name}: not measured. {cause}.")


def _there(package: str) -> bool:
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


if __name__ == "__main__":
    main()
