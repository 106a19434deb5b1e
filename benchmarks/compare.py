"""Our rows against the pure-Python baselines and every installed rival.

    python benchmarks/compare.py                       # all rows, 20 KB documents
    python benchmarks/compare.py token-bert sentences --size 2KB,20KB,1MB --rounds 7 --memory --scaling
    python benchmarks/compare.py memory-100mb threads --json out.json
    python benchmarks/compare.py --all --json run.json # everything, in 25 minutes

One row runs in one process, its cases interleaved (see harness.py). The rows memory-100mb and threads start a process a
case. Figures are per CPU second on one thread, except threads, which is by the clock. Only ratios inside one run count.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from resources import Setup, environment, versions

environment()

import baseline  # noqa: E402, F401  (registers its cases; after the environment is set)
import corpus as corpora  # noqa: E402
import large  # noqa: E402
import ours  # noqa: E402
import rivals  # noqa: E402, F401
from harness import OURS, REGISTRY, Case, NotAvailable, Result, added_memory, measure, reason, scaling, skipped  # noqa: E402
from machine import machine  # noqa: E402
from rows import MEMORY_ROWS, ROWS, advantage, figure, growing, inputs  # noqa: E402

HERE = Path(__file__).resolve().parent
Table = dict[str, Any]
SIZE_NAMES = (*corpora.SIZES, "own")
ALL = (
    "--size", "2KB,20KB,1MB,own", "--memory", "--scaling", "--rounds", "3", "--target", "0.1", "--budget", "6", "--limit", "10",
)  # fmt: skip
"""What --all stands for; options that follow it override these."""


def run_row(row: str, size: str, options: argparse.Namespace, corpus: corpora.Corpus) -> Table:
    s = Setup(corpus)
    documents, work = inputs(row, s, size)
    cases = [c for c in REGISTRY if c.row == row and wanted(c, options)]
    if not any(c.row == row and c.kind == OURS for c in REGISTRY):
        cases.insert(0, Case(row, OURS, "rapidchunk", _missing))
    checked = _verify(row, s, documents)
    # Encoders fill their batches from several documents.
    times = 10 if any(c.slow for c in cases) else 1
    target, budget = options.target * times, options.budget * min(times, 2)
    measured = measure(cases, s, documents, work, rounds=options.rounds, target=target, budget=budget)
    for entry, (result, run) in zip(cases, measured, strict=True):
        if run and options.memory and not entry.slow:
            result.added_mib = added_memory(run, documents[:1])
        if run and options.scaling and size == ROWS[row].size:
            result.scaling = scaling(
                run, *growing(row, documents, 2_000 if entry.slow else 20_000), fork=not entry.slow
            )
    return table(row, size, lines_of(row, [result for result, _ in measured]), len(documents), checked)


def wanted(entry: Case, options: argparse.Namespace) -> bool:
    name = f"{entry.row}: {entry.kind} {entry.name}"
    return not options.only or any(part in name for part in options.only)


def _missing(s: Setup) -> Any:
    raise NotAvailable("not available in this version")


def _verify(row: str, s: Setup, documents: Sequence[Any]) -> str:
    """What was checked, on up to 20 documents and about 400 KB, or what is wrong."""
    if ROWS[row].documents == "blocks":
        return ""
    try:
        return ours.verify(row, s, list(documents[: max(1, min(20, 400_000 // len(documents[0])))]))
    except (NotAvailable, ImportError) as error:
        return f"not checked: {skipped(error)}"
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


def died(status: int) -> str:
    return f"crashed ({signal.Signals(-status).name})" if status < 0 else f"failed (exit code {status})"


# ---- rows with a process a case --------------------------------------------------------------------------------------


def child(mode: str, index: int, value: float, timeout: float, *more: str) -> dict[str, Any]:
    command = [sys.executable, str(HERE / "one_case.py"), mode, str(index), str(value), *more]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"skipped": f"not done in {timeout:.0f} s by the clock"}
    if done.returncode == -signal.SIGXCPU:
        return {"skipped": f"not done in {value:.0f} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return {"skipped": f"{died(done.returncode)}: {last[:150]}"}
    return json.loads(lines[-1])  # type: ignore[no-any-return]


def run_memory(row: str, options: argparse.Namespace) -> Table:
    """Every case of the rows that take text, on one document of 100 MB: the peak above what was there before it.

    Two run at a time, since memory is what counts here. Our own cases get more time: they have to finish.
    """
    foreign = row == "memory-100mb-unicode"
    plan = []
    for index, entry in enumerate(REGISTRY):
        part = any(words in entry.name for words in ("every text", "alone", "kernel"))
        if entry.row not in MEMORY_ROWS or part or not wanted(entry, options):
            continue
        text = entry.row if entry.row in ("markdown", "html") else entry.text
        if foreign and text != "prose":
            continue
        limit = options.limit * (4 if entry.kind == OURS else 1)
        plan.append((entry, index, limit, "unicode" if foreign else text))
    for text in {text for *_, text in plan}:
        _make_large(text)

    def one(entry: Case, index: int, limit: float, text: str) -> dict[str, Any]:
        name = entry.name if entry.row == "memory-100mb" else f"{entry.row}: {entry.name}"
        return {"name": name, "kind": entry.kind, **child("memory", index, limit, limit * 3 + 60, text)}

    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        lines = list(pool.map(lambda given: one(*given), plan))
    return table(row, "own", lines, 1)


def _make_large(text: str) -> None:
    """A failure shows in the cases that need the document."""
    with contextlib.suppress(Exception):
        large.document(text)


def run_threads(options: argparse.Namespace) -> Table:
    lines = []
    for index, entry in enumerate(REGISTRY):
        if entry.row == "threads" and wanted(entry, options):
            lines.append({"name": entry.name, "kind": entry.kind, **_speed_up(index)})
    differ = [line["name"] for line in lines if line.get("identical") is False]
    same = sum(line.get("identical") is True for line in lines)
    checked = f"WRONG: other results with two threads: {', '.join(differ)}" if differ else ""
    if same and not differ:
        checked = f"the columns of {same} cases are identical with one thread and two"
    return table("threads", "own", lines, 0, checked)


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
    line = {"figure": one["wall"] / two["wall"], "chunks": two["chunks"], "extra": extra}
    if "fingerprint" in one:
        line["identical"] = one["fingerprint"] == two["fingerprint"]
    return line


# ---- output ----------------------------------------------------------------------------------------------------------


COLUMNS = {
    "ours_over_it": ("ours is", "{:.1f}x"), "ns_per_chunk": ("ns/chunk", "{:,.0f}"), "chunks": ("chunks", "{}"),
    "added_mib": ("MiB", "{:.1f}"), "returned_mib": ("returned", "{:.1f}"), "over_input": ("x input", "{:.2f}"),
    "seconds": ("s", "{:.3f}"), "rounds": ("rounds", "{}"), "scaling": ("2n/n", "{:.2f}"),
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


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"{', '.join(ROWS)} (default: all)")
    parser.add_argument(
        "--size", default="20KB,own", help=f"comma-separated: {', '.join(SIZE_NAMES)} (the corpus' own files)"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--target", type=float, default=0.2, help="CPU seconds of one run of one case")
    parser.add_argument("--budget", type=float, default=20, help="CPU seconds of a case; one document may take as many")
    parser.add_argument("--only", action="append", help="only cases whose name contains this (may be repeated)")
    parser.add_argument("--memory", action="store_true", help="also the peak memory of every case")
    parser.add_argument("--scaling", action="store_true", help="also time(2n)/time(n) for one document")
    parser.add_argument("--limit", type=float, default=30, help="memory-100mb: CPU seconds a rival may take; ours 4 x")
    parser.add_argument("--all", action="store_true", help=f"the whole proof: {' '.join(ALL)}")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = sys.argv[1:]
    options = parser.parse_args([*ALL, *given] if "--all" in given else given)
    if unknown := [r for r in options.rows if r not in ROWS]:
        parser.error(f"unknown row {unknown[0]}; rows: {', '.join(ROWS)}")
    if unknown := [s for s in options.size.split(",") if s not in SIZE_NAMES]:
        parser.error(f"unknown size {unknown[0]}; sizes: {', '.join(SIZE_NAMES)}")
    return options


def one_process_a_row(rows: list[str], options: argparse.Namespace) -> list[Table]:
    """A crash, or the memory of one row's libraries, does not reach the next row."""
    passed = [a for a in sys.argv[1:] if a not in ROWS]
    if "--json" in passed:
        del passed[passed.index("--json") : passed.index("--json") + 2]
    tables: list[Table] = []
    for row in rows:
        with tempfile.NamedTemporaryFile(suffix=".json") as answer:
            command = [sys.executable, __file__, row, *passed, "--json", answer.name]
            start = time.perf_counter()
            status = subprocess.run(command).returncode
            print(f"\n   {row} took {time.perf_counter() - start:.0f} s", flush=True)
            text = Path(answer.name).read_text()
            done = json.loads(text)["tables"] if text else []
            tables += done
            if status:
                line = {"name": "rapidchunk", "kind": OURS, "skipped": f"the row {died(status)}"}
                tables += [table(row, size, [line], 0) for size in sizes(row, options)[len(done) :]]
            if options.json:  # after every row: what is there remains when the run is broken off
                write(options.json, tables)
    return tables


def sizes(row: str, options: argparse.Namespace) -> list[str]:
    return [size for size in options.size.split(",") if size in ROWS[row].sizes]


def write(path: Path, tables: list[Table]) -> None:
    command = " ".join(["benchmarks/compare.py", *sys.argv[1:]])
    about = {"machine": machine(), "command": command, "versions": versions(), "corpus": corpora.source()}
    answer = {**about, "tables": tables}
    path.write_text(json.dumps(rounded(answer), indent=1) + "\n")


def rounded(value: Any) -> Any:
    """Floats with five digits: there is no more in them."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def main() -> None:
    options = arguments()
    rows = options.rows or list(ROWS)
    tables: list[Table] = []
    if len(rows) > 1:
        tables = one_process_a_row(rows, options)
    else:
        for size in sizes(rows[0], options):
            if rows[0] in ("memory-100mb", "memory-100mb-unicode"):
                tables.append(run_memory(rows[0], options))
            elif rows == ["threads"]:
                tables.append(run_threads(options))
            else:
                tables.append(run_row(rows[0], size, options, corpora.load()))
            show(tables[-1])
            if options.json:  # after every size: what is there remains when the next one brings the process down
                write(options.json, tables)


if __name__ == "__main__":
    main()
