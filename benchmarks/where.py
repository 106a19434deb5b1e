"""Where the time of each row goes: instructions and memory traffic a byte by callgrind, the functions that take most, the limit.

    cmake -S . -B build/tree -DCMAKE_STRIP= ...        # an extension that keeps the names of its functions; see CONTRIBUTING.md
    python benchmarks/where.py > benchmarks/results/cpu_where.md
    python benchmarks/where.py token-bert html         # some rows only

Needs valgrind and the package, nothing else; a row whose own dependency is missing is named. Each row's first case of
`ours.py` runs on about 1 MB of the corpus, once under callgrind with its cache simulation and often without. Valgrind has
no AVX-512, so both are at RAPIDCHUNK_SIMD=avx2; the speed at the level of this machine is in a column of its own.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from resources import BLOCK, Setup, environment

environment()

import corpus as corpora  # noqa: E402
import ours  # noqa: E402, F401  (registers its cases)
from harness import OURS, REGISTRY, Run, number, skipped  # noqa: E402
from machine import machine  # noqa: E402
from rows import ROWS, inputs  # noqa: E402

INPUT = 1_000_000
BLOCKS = 8
ENCODERS = ("semantic-minilm", "semantic-bf16")
MEASURED = [row for row in ROWS if not row.startswith(("memory", "threads")) and row not in ENCODERS]
LINE = 64
"""Bytes of a cache line."""


# ---- the measured process: one row, on inputs that its parent has put into a folder ----------------------------------


def run_of(row: str, folder: Path) -> tuple[Run, Sequence[Any]]:
    import numpy as np

    given = json.loads((folder / "documents.json").read_text())
    s = Setup(corpora.Corpus(given["prose"], [], [], ""))
    if ROWS[row].documents == "blocks":
        vars(s).update(vectors=np.load(folder / "vectors.npy"), sentences=given["sentences"])
        documents: Sequence[Any] = range(BLOCKS)
    else:
        documents = given["documents"]
    return next(c for c in REGISTRY if c.row == row and c.kind == OURS).make(s), documents


def under_callgrind(work: Callable[[], object]) -> None:
    """Calls work() by way of libffi: callgrind collects inside of ffi_call only (--toggle-collect), so imports do not count."""
    call = ctypes.pythonapi.PyObject_CallNoArgs
    call.argtypes, call.restype = [ctypes.py_object], ctypes.py_object
    call(work)


def child(row: str, folder: Path, mode: str) -> dict[str, Any]:
    run, documents = run_of(row, folder)
    run(documents)
    run(documents)
    if mode == "callgrind":
        under_callgrind(lambda: run(documents))
        return {}
    times = []
    end = time.perf_counter() + 1
    while len(times) < 5 or time.perf_counter() < end:
        start = time.process_time()
        chunks = number(run(documents))
        times.append(time.process_time() - start)
    return {"seconds": statistics.median(times), "chunks": chunks}


# ---- the parent ------------------------------------------------------------------------------------------------------


@dataclass
class Profile:
    """Self cost by (object, function): instructions, data accesses, lines from beyond L1, lines from beyond the last level."""

    functions: dict[tuple[str, str], list[int]] = field(default_factory=lambda: defaultdict(lambda: [0] * 4))

    def total(self, event: int) -> int:
        return sum(cost[event] for cost in self.functions.values())


def read_callgrind(text: str) -> Profile:
    """The format is that of valgrind's manual ("Callgrind Format Specification"); inclusive costs of calls are left out."""
    names: dict[str, dict[str, str]] = {"ob": {}, "fn": {}}
    current = {"ob": "", "fn": ""}
    profile = Profile()
    events: list[str] = []
    call = False
    for line in text.splitlines():
        if line.startswith("events:"):
            events = line.split()[1:]
        elif match := re.match(r"(c?)(ob|fn)=\((\d+)\)(?: (.*))?$", line):
            called, kind, number, name = match.groups()
            if name is not None:
                names[kind][number] = name
            if not called:
                current[kind] = names[kind][number]
        elif line.startswith("calls="):
            call = True
        elif line[:1].isdigit() or line[:1] in "+-*":
            if call:
                call = False
                continue
            cost = dict(zip(events, map(int, line.split()[1:])))
            own = profile.functions[current["ob"], current["fn"]]
            for index, parts in enumerate((("Ir",), ("Dr", "Dw"), ("D1mr", "D1mw"), ("DLmr", "DLmw"))):
                own[index] += sum(cost.get(part, 0) for part in parts)
    return profile


LIBRARIES = {"_core": "rapidchunk", "python": "Python", "libc": "libc", "numpy": "NumPy", "_multiarray": "NumPy"}


def library(path: str) -> str:
    name = Path(path).name
    return next((shown for part, shown in LIBRARIES.items() if part in name), name.split(".")[0])


def plain(function: str) -> str:
    """A C++ name without parameters, template arguments, return type and what the compiler adds."""
    function = function.replace("(anonymous namespace)::", "").replace("operator()", "call")
    function = re.sub(r"\{lambda\(.*?\)#\d+\}", "lambda", function)
    function = re.sub(r"\[.*?\]|'\d+$|\.(constprop|isra|part|cold)\S*", "", function)
    while (shorter := re.sub(r"<[^<>]*>|\([^()]*\)", "", function)) != function:
        function = shorter
    return function.removesuffix(" const").strip().split(" ")[-1] or function


def prepare(row: str, folder: Path, corpus: corpora.Corpus) -> float:
    """Writes the row's input; returns its size in the row's measure of work, bytes or sentences."""
    import numpy as np

    s = Setup(corpus)
    documents, _ = inputs(row, s, ROWS[row].size)
    if ROWS[row].documents == "blocks":
        np.save(folder / "vectors.npy", s.vectors[: BLOCKS * BLOCK])
        given = {"prose": "", "sentences": s.sentences[: BLOCKS * BLOCK]}
        size = float(BLOCKS * BLOCK * s.vectors.shape[1] * 4)
    else:
        chosen: list[str] = []
        for document in documents:
            if sum(map(len, chosen)) < INPUT:
                chosen.append(document)
        given = {"prose": corpus.prose[:100_000], "documents": chosen}
        size = float(sum(len(d.encode()) for d in chosen))
    (folder / "documents.json").write_text(json.dumps(given))
    return size


def start(row: str, folder: Path, mode: str, level: str, *before: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PYTHONHASHSEED": "0", "RAPIDCHUNK_SIMD": level}
    if not level:
        del variables["RAPIDCHUNK_SIMD"]
    command = [*before, sys.executable, __file__, "--child", row, str(folder), mode]
    return subprocess.run(command, env=variables, capture_output=True, text=True)


def timed(row: str, folder: Path, corpus: corpora.Corpus) -> dict[str, Any]:
    found: dict[str, Any] = {"row": row, "bytes": prepare(row, folder, corpus)}
    for key, level in (("here", ""), ("avx2", "avx2")):
        done = start(row, folder, "time", level)
        answer = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {"skipped": done.stderr[-200:]}
        if "skipped" in answer:
            return {**found, **answer}
        found[key], found["chunks"] = answer["seconds"], answer["chunks"]
    return found


def profiled(row: str, folder: Path) -> dict[str, Any]:
    valgrind = (
        "valgrind", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=ffi_call", "--cache-sim=yes",
        "--dump-line=no", f"--callgrind-out-file={folder}/out",
    )  # fmt: skip
    done = start(row, folder, "callgrind", "avx2", *valgrind)
    if done.returncode or not (folder / "out").exists():
        return {"skipped": f"callgrind failed: {done.stderr.strip()[-200:]}"}
    return {"profile": read_callgrind((folder / "out").read_text())}


def measure(rows: Sequence[str], corpus: corpora.Corpus) -> list[dict[str, Any]]:
    """Times one after the other, then the profiles, two at a time: they count and do not time."""
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        folders = [Path(name) / row for row in rows]
        found = []
        for row, folder in zip(rows, folders):
            folder.mkdir()
            found.append(timed(row, folder, corpus))
        profiles = pool.map(lambda f, folder: {} if "skipped" in f else profiled(f["row"], folder), found, folders)
        return [{**f, **profile} for f, profile in zip(found, profiles)]


def bandwidth() -> dict[str, float]:
    """GB a CPU second of one thread over 400 MB: reading (the maximum of int64), copying (memcpy; bytes read, not written)."""
    import numpy as np

    data = np.ones(50_000_000, np.int64)
    target = np.ones_like(data)
    best = {"read": 0.0, "copy": 0.0}
    for _ in range(5):
        begun = time.process_time()
        data.max()
        read = time.process_time()
        np.copyto(target, data)
        best["read"] = max(best["read"], data.nbytes / (read - begun) / 1e9)
        best["copy"] = max(best["copy"], data.nbytes / (time.process_time() - read) / 1e9)
    return best


# ---- the page --------------------------------------------------------------------------------------------------------

ABOUT = """\
Per byte of the row's input (semantic-tail: per byte of the vectors that are given). Instructions and memory traffic are those
of one run over about 1 MB (documents of 20 KB, warm) that callgrind and its cache simulation saw at RAPIDCHUNK_SIMD=avx2,
because valgrind has no AVX-512; times are medians without valgrind, of the same run. "Accesses" are loads and stores of
data, of any width; "into L1" are bytes (64 a miss of the first-level cache) and "from memory" bytes (64 a miss of the
last level, where the input itself stays after the first run). "Written" are the columns: 48 bytes a chunk (sentences: 16).

The limit is one pass: the input read once and the columns written once, at the memory bandwidth measured here. A row cannot
be faster than that on text that is not in a cache; what it does beyond is looking at the bytes.
"""


def overview(found: list[dict[str, Any]], rates: dict[str, float]) -> list[str]:
    lines = [
        "| row | MB/s | at avx2 | ns a byte, avx2 | instructions a byte | instructions a ns | accesses a byte | into L1 | "
    ]
    lines[0] += "from memory | written | limit, MB/s | of the limit |"
    lines.append("|---|" + "---:|" * 11)
    for f in found:
        if "profile" not in f:
            lines.append(f"| {f['row']} | {f['skipped']} |" + " |" * 10)
            continue
        size, profile = f["bytes"], f["profile"]
        written = f["chunks"] * (16 if f["row"] == "sentences" else 48) / size
        limit = 1e3 / (1 / rates["read"] + written / rates["copy"])
        cells = [
            f"{size / f['here'] / 1e6:,.0f}", f"{size / f['avx2'] / 1e6:,.0f}", f"{f['avx2'] / size * 1e9:.2f}",
            f"{profile.total(0) / size:.1f}", f"{profile.total(0) / f['avx2'] / 1e9:.1f}", f"{profile.total(1) / size:.2f}",
            f"{profile.total(2) * LINE / size:.2f}", f"{profile.total(3) * LINE / size:.2f}", f"{written:.2f}",
            f"{limit:,.0f}", f"{size / f['here'] / 1e4 / limit:.1f} %",
        ]  # fmt: skip
        lines.append(f"| {f['row']} | " + " | ".join(cells) + " |")
    return lines


def functions(f: dict[str, Any], most: int = 10) -> list[str]:
    """Shares by library, then the functions that execute most instructions themselves."""
    profile, size = f["profile"], f["bytes"]
    total = profile.total(0)
    libraries: dict[str, int] = defaultdict(int)
    merged: dict[tuple[str, str], int] = defaultdict(int)
    for (path, name), cost in profile.functions.items():
        libraries[library(path)] += cost[0]
        merged[library(path), plain(name)] += cost[0]
    shares = sorted(libraries.items(), key=lambda item: -item[1])
    lines = ["", f"### {f['row']}: {ROWS[f['row']].title}", ""]
    lines += [", ".join(f"{name} {n / total:.0%}" for name, n in shares if n / total > 0.005) + ".", ""]
    lines += ["| function | instructions | a byte |", "|---|---:|---:|"]
    for (where, name), n in sorted(merged.items(), key=lambda item: -item[1])[:most]:
        if n / total >= 0.01:
            lines.append(f"| `{name}` ({where}) | {n / total:.0%} | {n / size:.2f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help=f"of {', '.join(MEASURED)} (default: all)")
    parser.add_argument("--child", nargs=3, metavar=("ROW", "FOLDER", "MODE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        row, folder, mode = options.child
        try:
            print(json.dumps(child(row, Path(folder), mode)))
        except Exception as error:
            print(json.dumps({"skipped": skipped(error)}))
        return
    if unknown := [row for row in options.rows if row not in MEASURED]:
        parser.error(f"unknown row {unknown[0]}; rows: {', '.join(MEASURED)}")
    corpus = corpora.load()
    rates = bandwidth()
    found = measure(options.rows or MEASURED, corpus)
    about = machine()
    print("# Where the time goes, row by row\n")
    print(f"`python benchmarks/where.py`, {about['date']}, {about['processor']}. Corpus: {corpus.source}.")
    print(f"Memory bandwidth of one thread: {rates['read']:.1f} GB/s read, {rates['copy']:.1f} GB/s copied.\n")
    print(ABOUT)
    print("\n".join(overview(found, rates)))
    for f in found:
        if "profile" in f:
            print("\n".join(functions(f)))


if __name__ == "__main__":
    main()
