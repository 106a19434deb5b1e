"""Our rows against the pure-Python baselines and every installed rival.

    python benchmarks/compare.py                       # all rows, 20 KB documents
    python benchmarks/compare.py token-bert sentences --size 2KB,20KB,1MB --rounds 7 --memory --scaling
    python benchmarks/compare.py memory-100mb threads --json out.json

One row runs in one process, its cases interleaved (see harness.py). The rows memory-100mb and threads start a process a
case. Figures are per CPU second on one thread, except threads, which is by the clock. Only ratios inside one run count.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from resources import Setup, environment, versions

environment()

import baseline  # noqa: E402, F401  (registers its cases; after the environment is set)
import corpus as corpora  # noqa: E402
import ours  # noqa: E402
import rivals  # noqa: E402, F401
from harness import OURS, REGISTRY, Case, NotAvailable, Result, added_memory, measure, reason, scaling  # noqa: E402
from rows import MEMORY_ROWS, OWN_SIZES, ROWS, advantage, figure, growing, inputs  # noqa: E402

HERE = Path(__file__).resolve().parent
Table = dict[str, Any]


def run_row(row: str, size: str, options: argparse.Namespace, corpus: corpora.Corpus) -> Table:
    s = Setup(corpus)
    documents, work = inputs(row, s, size)
    cases = [c for c in REGISTRY if c.row == row and wanted(c.name, options)]
    if not any(c.row == row and c.kind == OURS for c in REGISTRY):
        cases.insert(0, Case(row, OURS, "rapidchunk", _missing))
    checked = _verify(row, s, documents)
    slow = any(c.slow for c in cases)
    rounds = min(options.rounds, 3) if slow else options.rounds
    measured = measure(cases, s, documents, work, rounds=rounds, target=options.target)
    for result, run in measured:
        if run and not result.skipped and not slow:
            if options.memory:
                result.added_mib = added_memory(run, documents[: result.documents])
            if options.scaling:
                result.scaling = scaling(run, *growing(row, documents))
    shown = "own" if row in OWN_SIZES else size
    return table(row, shown, lines_of(row, [result for result, _ in measured]), len(documents), checked)


def wanted(name: str, options: argparse.Namespace) -> bool:
    return not options.only or any(part in name for part in options.only)


def _missing(s: Setup) -> Any:
    raise NotAvailable("not available in this version")


def _verify(row: str, s: Setup, documents: Sequence[Any]) -> str:
    try:
        return ours.verify(row, s, list(documents[:20]))
    except (NotAvailable, ImportError):
        return ""
    except AssertionError as error:
        return f"WRONG: {error}"
    except Exception as error:
        return f"WRONG: {reason(error)}"


def lines_of(row: str, results: list[Result]) -> list[dict[str, Any]]:
    """Results as lines; ratios are taken to the first of our cases that ran."""
    first = next((r for r in results if r.kind == OURS and not r.skipped), None)
    lines = []
    for result in results:
        line = result.as_dict()
        if not result.skipped:
            line["figure"] = figure(row, result)
            if first and result.kind != OURS:
                line["ours_over_it"] = advantage(row, first, result)
        lines.append(line)
    return lines


def table(row: str, size: str, lines: list[dict[str, Any]], documents: int, checked: str = "") -> Table:
    about = ROWS[row]
    head = {"row": row, "title": about.title, "unit": about.unit, "goal": about.goal}
    return {**head, "size": size, "documents": documents, "checked": checked, "cases": lines}


# ---- rows with a process a case --------------------------------------------------------------------------------------


def child(mode: str, index: int, value: float, timeout: float) -> dict[str, Any]:
    command = [sys.executable, str(HERE / "one_case.py"), mode, str(index), str(value)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"skipped": f"not done in {timeout:.0f} s by the clock"}
    if done.returncode == -signal.SIGXCPU:
        return {"skipped": f"not done in {value * 1.5:.0f} CPU seconds"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return {"skipped": f"failed ({done.returncode}): {last[:150]}"}
    return json.loads(lines[-1])  # type: ignore[no-any-return]


def run_memory(options: argparse.Namespace) -> Table:
    """Every case of the rows that take text, on one document of 100 MB: the peak above what was there before it."""
    corpora.hundred_megabytes()
    lines = []
    for index, entry in enumerate(REGISTRY):
        name = f"{entry.row}: {entry.name}"
        if entry.row in MEMORY_ROWS and "every text" not in name and wanted(name, options):
            lines.append(
                {"name": name, "kind": entry.kind, **child("memory", index, options.limit, options.limit * 8 + 60)}
            )
    return table("memory-100mb", "100MB", lines, 1)


def run_threads(options: argparse.Namespace) -> Table:
    lines = []
    for index, entry in enumerate(REGISTRY):
        if entry.row == "threads" and wanted(entry.name, options):
            lines.append({"name": entry.name, "kind": entry.kind, **_speed_up(index)})
    return table("threads", "20KB", lines, 0)


def _speed_up(index: int) -> dict[str, Any]:
    """One and two threads in turn, so that a neighbour's load hits both alike; the best of each counts."""
    answers: dict[int, list[dict[str, Any]]] = {1: [], 2: []}
    for _ in range(2):
        for count in (1, 2):
            answers[count].append(child("threads", index, count, 120))
            if "skipped" in answers[count][-1]:
                return answers[count][-1]
    one, two = (min(answers[count], key=lambda a: a["wall"]) for count in (1, 2))
    extra = {"wall_1": one["wall"], "wall_2": two["wall"], "cpu_over_wall_2": two["cpu_over_wall"]}
    return {"figure": one["wall"] / two["wall"], "chunks": two["chunks"], "extra": extra}


# ---- output ----------------------------------------------------------------------------------------------------------


COLUMNS = {
    "ours_over_it": ("ours is", "{:.1f}x"), "ns_per_chunk": ("ns/chunk", "{:,.0f}"), "chunks": ("chunks", "{}"),
    "added_mib": ("MiB", "{:.1f}"), "over_input": ("x input", "{:.2f}"), "seconds": ("s", "{:.3f}"),
    "scaling": ("2n/n", "{:.2f}"),
}  # fmt: skip


def show(t: Table) -> None:
    print(f"\n## {t['row']}: {t['title']} ({t['size']}). Goal {t['goal']}")
    if t["checked"]:
        print(f"   {t['checked']}")
    columns = {key: look for key, look in COLUMNS.items() if any(key in line for line in t["cases"])}
    print(f"{'':68s}{t['unit']:>12s}" + "".join(f"{title:>11s}" for title, _ in columns.values()))
    for line in t["cases"]:
        name = f"{line['kind']:9s}{line['name']}"
        if "skipped" in line:
            print(f"{name:68s}{'-':>12s}   {line['skipped']}")
            continue
        cells = (look.format(line[key]) if key in line else "" for key, (_, look) in columns.items())
        print(f"{name:68s}{line['figure']:12,.2f}" + "".join(f"{cell:>11s}" for cell in cells))
    sys.stdout.flush()


def machine() -> dict[str, str]:
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    models = [line.split(":")[1].strip() for line in info.splitlines() if line.startswith("model name")]
    simd = [name for name in ("avx2", "avx512bw", "amx_bf16") if f" {name}" in info]
    processor = f"{os.cpu_count()} x {models[0] if models else platform.machine()} ({' '.join(simd)})"
    return {"processor": processor, "system": f"{platform.system()} {platform.machine()}", "date": str(date.today())}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"{', '.join(ROWS)} (default: all)")
    parser.add_argument("--size", default="20KB", help="comma-separated: 2KB, 20KB, 1MB")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--target", type=float, default=0.2, help="CPU seconds of one run of one case")
    parser.add_argument("--only", action="append", help="only cases whose name contains this (may be repeated)")
    parser.add_argument("--memory", action="store_true", help="also the peak memory of every case")
    parser.add_argument("--scaling", action="store_true", help="also time(2n)/time(n) for one document")
    parser.add_argument("--limit", type=float, default=30, help="memory-100mb: CPU seconds a case may take")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    if unknown := [r for r in options.rows if r not in ROWS]:
        parser.error(f"unknown row {unknown[0]}; rows: {', '.join(ROWS)}")
    if unknown := [s for s in options.size.split(",") if s not in corpora.SIZES]:
        parser.error(f"unknown size {unknown[0]}; sizes: {', '.join(corpora.SIZES)}")
    return options


def one_process_a_row(rows: list[str]) -> list[Table]:
    """A crash, or the memory of one row's libraries, does not reach the next row."""
    passed = [a for a in sys.argv[1:] if a not in ROWS]
    if "--json" in passed:
        del passed[passed.index("--json") : passed.index("--json") + 2]
    tables: list[Table] = []
    for row in rows:
        with tempfile.NamedTemporaryFile(suffix=".json") as answer:
            command = [sys.executable, __file__, row, *passed, "--json", answer.name]
            if subprocess.run(command).returncode == 0:
                tables += json.loads(Path(answer.name).read_text())["tables"]
    return tables


def main() -> None:
    options = arguments()
    rows = options.rows or list(ROWS)
    tables: list[Table] = []
    if len(rows) > 1:
        tables = one_process_a_row(rows)
    else:
        for size in ["20KB"] if rows[0] in OWN_SIZES else options.size.split(","):
            if rows == ["memory-100mb"]:
                tables.append(run_memory(options))
            elif rows == ["threads"]:
                tables.append(run_threads(options))
            else:
                tables.append(run_row(rows[0], size, options, corpora.load()))
            show(tables[-1])
    if options.json:
        answer = {"machine": machine(), "versions": versions(), "corpus": corpora.source(), "tables": tables}
        options.json.write_text(json.dumps(answer, indent=1) + "\n")


if __name__ == "__main__":
    main()
