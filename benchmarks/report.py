"""The results table: Markdown from the JSON of compare.py.

python benchmarks/report.py run.json [more.json ...] > benchmarks/results/cpu.md
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rows import ROWS

Table = dict[str, Any]
GOALS = {
    "token-bert": 100.0, "sentences": 500.0, "sentence-groups": 60.0, "recursive-chars": 1000.0,
    "recursive-tokens": 60.0, "markdown": 600.0, "html": 60.0, "semantic-static": 300_000.0, "threads": 1.9,
}  # fmt: skip
CEILINGS = {"chars": 30.0, "delimiters": 30.0, "semantic-tail": 0.2}
KINDS = {"ours": "**rapidchunk**", "baseline": "baseline", "rival": "rival", "limit": "its parts alone"}


def ours_of(t: Table) -> dict[str, Any] | None:
    return next((line for line in t["cases"] if line["kind"] == "ours" and "skipped" not in line), None)


def best(t: Table, kind: str) -> dict[str, Any] | None:
    """The case of a kind that comes nearest to ours (or is furthest ahead)."""
    lines = [line for line in t["cases"] if line["kind"] == kind and "ours_over_it" in line]
    return min(lines, key=lambda line: line["ours_over_it"], default=None)


def verdict(t: Table) -> str:
    """Goal met, or by how much it is missed."""
    row, mine = t["row"], ours_of(t)
    if row == "memory-100mb":
        lines = [line for line in t["cases"] if line["kind"] == "ours"]
        over = [line["name"].split(":")[0] for line in lines if line.get("over_input", 0) > 1.5]
        failed = [line["name"].split(":")[0] for line in lines if "skipped" in line]
        parts = [f"over 1.5 x: {', '.join(over)}"] if over else []
        parts += [f"not finished: {', '.join(failed)}"] if failed else []
        return "; ".join(parts) or "met"
    if mine is None:
        return "not available in this version"
    if row == "threads":
        low = [line for line in t["cases"] if line["kind"] == "ours" and line.get("figure", 9) < GOALS[row]]
        return "; ".join(f"missed by {line['name'].split(' ', 1)[1]}: {line['figure']:.2f}" for line in low) or "met"
    if row == "token-cl100k":
        alone = next(line for line in t["cases"] if line["name"].startswith("tiktoken"))
        share = mine["figure"] / alone["figure"]
        return f"met ({share:.0%} of tiktoken)" if share >= 0.95 else f"missed: {share:.0%} of tiktoken"
    if row == "semantic-minilm":
        times = best(t, "rival")
        if times is None:
            return "no rival ran"
        return f"{'met' if times['ours_over_it'] >= 4 else 'missed'}: {times['ours_over_it']:.1f} x"
    if row == "chars-unicode":
        return "no goal"
    if row in CEILINGS:
        times = mine["figure"] / CEILINGS[row]
        return "met" if times <= 1 else f"missed by a factor of {times:.1f}"
    share = mine["figure"] / GOALS[row]
    return "met" if share >= 1 else f"missed: {share:.0%} of it"


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def summary(tables: list[Table]) -> list[str]:
    lines = ["| row | size | ours | unit | best baseline | best rival | goal | |", "|---|---|---:|---|---|---|---|---|"]
    for t in tables:
        mine = ours_of(t)
        cells = [ROWS[t["row"]].title, t["size"], number(mine["figure"]) if mine else "-", t["unit"]]
        for kind in ("baseline", "rival"):
            other = best(t, kind)
            cells.append(f"{other['ours_over_it']:.1f} x {other['name']}" if other else "-")
        lines.append("| " + " | ".join([*cells, t["goal"].replace(">=", "≥").replace("<=", "≤"), verdict(t)]) + " |")
    return lines


def details(t: Table) -> list[str]:
    lines = ["", f"### {t['row']}, {t['size']}: {t['title']}", ""]
    if t["checked"]:
        lines += [t["checked"] + ".", ""]
    columns = {
        "figure": (t["unit"], number), "ours_over_it": ("ours is", lambda v: f"{v:.1f} x"),
        "ns_per_chunk": ("ns a chunk", number), "chunks": ("chunks", str), "added_mib": ("MiB added", number),
        "over_input": ("x the input", lambda v: f"{v:.2f}"), "seconds": ("CPU s", lambda v: f"{v:.3f}"),
        "scaling": ("time 2n / n", lambda v: f"{v:.2f}"),
    }  # fmt: skip
    present = {key: look for key, look in columns.items() if any(key in line for line in t["cases"])}
    lines.append("| | | " + " | ".join(title for title, _ in present.values()) + " |")
    lines.append("|---|---|" + "---:|" * len(present))
    for line in t["cases"]:
        if "skipped" in line:
            cells = [line["skipped"]] + [""] * (len(present) - 1)
        else:
            cells = [look(line[key]) if key in line else "" for key, (_, look) in present.items()]
        lines.append(f"| {KINDS[line['kind']]} | {line['name']} | " + " | ".join(cells) + " |")
    return lines


ABOUT = """\
Medians of interleaved rounds, per CPU second on one thread (threads: by the clock). The machine is shared: only ratios
inside one table count. "3.0 x NAME" says that ours does three times the work of NAME a second. Sizes are those of one
document; "own" means the corpus' own files.
"""


def main() -> None:
    runs = [json.loads(Path(path).read_text()) for path in sys.argv[1:]]
    tables = [t for run in runs for t in run["tables"]]
    order, sizes = list(ROWS), ["2KB", "20KB", "1MB", "100MB", "own"]
    tables.sort(key=lambda t: (order.index(t["row"]), sizes.index(t["size"])))
    machine = runs[0]["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in runs[0]["versions"].items())
    print("# CPU results\n")
    print(f"{machine['date']}, {machine['processor']}, {machine['system']}. Corpus: {runs[0]['corpus']}.\n")
    print(f"Versions: {packages}.\n")
    print(ABOUT)
    print("\n".join(summary(tables)))
    for t in tables:
        print("\n".join(details(t)))


if __name__ == "__main__":
    main()
