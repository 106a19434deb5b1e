"""The results page, and the README's table: Markdown from the JSON of compare.py.

python benchmarks/report.py run.json [more.json ...] > benchmarks/results/cpu.md
python benchmarks/report.py run.json --readme      # the table of the README's section on speed
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from corpus import SIZES
from reasons import REASONS
from rows import ROWS

Table = dict[str, Any]
Line = dict[str, Any]
GOALS = {
    "token-bert": 100.0, "sentences": 500.0, "sentence-groups": 60.0, "recursive-chars": 1000.0,
    "recursive-tokens": 60.0, "markdown": 600.0, "html": 60.0, "semantic-static": 300_000.0, "threads": 1.9,
}  # fmt: skip
CEILINGS = {"chars": 30.0, "delimiters": 30.0, "semantic-tail": 0.2}
TIMES = {"semantic-minilm": 4.0, "semantic-bf16": 14.0}
"""Goals that are so many times the best rival."""
MEMORY = ("memory-100mb", "memory-100mb-unicode")
MEMORY_GOAL = 1.5
KINDS = {"ours": "**rapidchunk**", "baseline": "baseline", "rival": "rival", "limit": "its parts alone"}


# ---- what a table says -----------------------------------------------------------------------------------------------


def ours_of(t: Table) -> Line | None:
    return next((line for line in t["cases"] if line["kind"] == "ours" and "skipped" not in line), None)


def all_ours(t: Table) -> list[Line]:
    return [line for line in t["cases"] if line["kind"] == "ours"]


def best(t: Table, kind: str) -> Line | None:
    """The case of a kind that comes nearest to ours (or is furthest ahead)."""
    lines = [line for line in t["cases"] if line["kind"] == kind and "ours_over_it" in line]
    return min(lines, key=lambda line: line["ours_over_it"], default=None)


def verdict(t: Table) -> str:
    """Goal met, or by how much it is missed."""
    row, mine = t["row"], ours_of(t)
    if t["checked"].startswith("WRONG"):
        return f"missed: {t['checked']}"
    if row in MEMORY:
        return memory_verdict(t)
    if mine is None:
        return "missed: " + next((line["skipped"] for line in all_ours(t) if "skipped" in line), "no case of ours")
    if row == "threads":
        low = [line for line in all_ours(t) if line.get("figure", 0) < GOALS[row]]
        named = [
            f"{short(line['name'])} {line['figure']:.2f}" if "figure" in line else short(line["name"]) for line in low
        ]
        return f"missed: {', '.join(named)}" if low else "met"
    if row == "token-cl100k":
        alone = next((line for line in t["cases"] if line["name"].startswith("tiktoken") and "figure" in line), None)
        if alone is None:
            return "not known: tiktoken did not run"
        share = mine["figure"] / alone["figure"]
        return f"{'met' if share >= 0.95 else 'missed'}: {share:.0%} of tiktoken"
    if row in TIMES:
        rival = best(t, "rival")
        if rival is None:
            return "not known: no rival ran"
        return f"{'met' if rival['ours_over_it'] >= TIMES[row] else 'missed'}: {rival['ours_over_it']:.1f} x"
    if row == "chars-unicode":
        return "no goal"
    if row in CEILINGS:
        times = mine["figure"] / CEILINGS[row]
        return "met" if times <= 1 else f"missed by a factor of {times:.1f}"
    share = mine["figure"] / GOALS[row]
    return "met" if share >= 1 else f"missed: {share:.0%} of it"


def memory_verdict(t: Table) -> str:
    over = [line for line in all_ours(t) if line.get("over_input", 0) > MEMORY_GOAL]
    failed = [line for line in all_ours(t) if "skipped" in line]
    parts = (
        [f"over {MEMORY_GOAL} x: " + ", ".join(f"{short(x['name'])} {x['over_input']:.2f}" for x in over)]
        if over
        else []
    )
    parts += [f"not finished: {', '.join(short(line['name']) for line in failed)}"] if failed else []
    return f"missed: {'; '.join(parts)}" if parts else "met"


def short(name: str) -> str:
    """A case's name without what all of ours have in common."""
    return name.replace("rapidchunk, columns", "").replace("rapidchunk ", "").replace("rapidchunk.", "").rstrip(": ")


def headline(t: Table) -> tuple[str, str, str]:
    """Ours, the best rival and the best baseline, as figures with names: what the README quotes."""
    row = t["row"]
    if row in MEMORY:
        done = [line for line in t["cases"] if "figure" in line]
        cells = []
        for kind in ("ours", "rival", "baseline"):
            lines = [line for line in done if line["kind"] == kind]
            failed = sum(line["kind"] == kind and "skipped" in line for line in t["cases"])
            span = (
                f"{number(min(x['figure'] for x in lines))}–{number(max(x['figure'] for x in lines))}" if lines else "-"
            )
            cells.append(span + (f" ({failed} of {failed + len(lines)} not done)" if failed else ""))
        return cells[0], cells[1], cells[2]
    if row == "threads":
        cells = []
        for kind in ("ours", "rival"):
            lines = [line for line in t["cases"] if line["kind"] == kind and "figure" in line]
            cells.append(
                f"{min(x['figure'] for x in lines):.2f}–{max(x['figure'] for x in lines):.2f}" if lines else "-"
            )
        return cells[0], cells[1], ""
    mine = ours_of(t)
    others = []
    for kind in ("rival", "baseline"):
        other = best(t, kind)
        others.append(f"{number(other['figure'])} ({other['name']})" if other else "-")
    return number(mine["figure"]) if mine else "-", others[0], others[1]


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def signs(text: str) -> str:
    return text.replace(">=", "≥").replace("<=", "≤")


# ---- the parts of the page -------------------------------------------------------------------------------------------


def at_goal_size(tables: list[Table]) -> list[Table]:
    return [t for t in tables if t["size"] == ROWS[t["row"]].size]


def summary(tables: list[Table]) -> list[str]:
    lines = [
        "| row | documents | unit | ours | best rival | best baseline | goal | |",
        "|---|---|---|---:|---|---|---|---|",
    ]
    for t in at_goal_size(tables):
        mine, rival, baseline = headline(t)
        if t["row"] not in (*MEMORY, "threads"):
            rival, baseline = (with_ratio(t, kind) for kind in ("rival", "baseline"))
        cells = [ROWS[t["row"]].title, t["size"], t["unit"], mine, rival, baseline, signs(t["goal"]), verdict(t)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def with_ratio(t: Table, kind: str) -> str:
    other = best(t, kind)
    return f"{number(other['figure'])} {other['name']}: ours is {other['ours_over_it']:.1f} x" if other else "-"


def missed(tables: list[Table]) -> list[str]:
    """One entry a row that misses its goal: by how much, and why."""
    lines = []
    for t in at_goal_size(tables):
        said = verdict(t)
        if said.startswith("missed"):
            why = REASONS.get(t["row"], "The reason has not been looked into.")
            lines.append(f"- **{ROWS[t['row']].title}** (goal {signs(t['goal'])}; {said}). {why}")
    return ["", "## Goals that are missed, and why", "", *(lines or ["None."])]


def behind(tables: list[Table]) -> list[str]:
    """Every rival or baseline, at any size, that is ahead of ours."""
    lines = []
    for t in tables:
        for line in t["cases"]:
            if line.get("ours_over_it", 1) < 1 and line["kind"] in ("rival", "baseline"):
                figures = f"{number(line['figure'])} {t['unit']} against {number((ours_of(t) or line)['figure'])}"
                lines.append(f"- {ROWS[t['row']].title}, {t['size']}: {line['name']}, {figures}")
    return ["", "## Where another is faster", "", *(lines or ["Nowhere."])]


def by_size(tables: list[Table]) -> list[str]:
    """Ours at every size of document, and how many times the best rival's figure that is."""
    sizes = [*SIZES, "own"]
    found = {(t["row"], t["size"]): t for t in tables}
    lines = [
        "",
        "## By size of document",
        "",
        "In brackets: times the best rival; MiB: the peak of one document, added.",
        "",
    ]
    lines += ["| row | unit | " + " | ".join(sizes) + " | MiB, 1MB |", "|---|---|" + "---:|" * (len(sizes) + 1)]
    for row in ROWS:
        if sum((row, size) in found for size in sizes) < 2:
            continue
        cells = []
        for size in sizes:
            t = found.get((row, size))
            mine, rival = (ours_of(t), best(t, "rival")) if t else (None, None)
            ratio = f" ({rival['ours_over_it']:.1f} x)" if rival else ""
            cells.append(f"{number(mine['figure'])}{ratio}" if mine else "")
        large = found.get((row, "1MB"))
        added = (ours_of(large) or {}).get("added_mib") if large else None
        cells.append("" if added is None else number(added))
        lines.append(f"| {ROWS[row].title} | {ROWS[row].unit} | " + " | ".join(cells) + " |")
    return lines


def details(t: Table) -> list[str]:
    lines = ["", f"### {t['row']}, {t['size']}: {t['title']}", ""]
    if t["checked"]:
        lines += [t["checked"] + ".", ""]
    columns = {
        "figure": (t["unit"], number), "ours_over_it": ("ours is", lambda v: f"{v:.1f} x"),
        "ns_per_chunk": ("ns a chunk", number), "chunks": ("chunks", str), "added_mib": ("MiB, one document", number),
        "returned_mib": ("of it returned", number), "over_input": ("x the input", lambda v: f"{v:.2f}"),
        "seconds": ("CPU s", lambda v: f"{v:.3f}"), "rounds": ("rounds", str),
        "scaling": ("time 2n / n", lambda v: f"{v:.2f}"),
    }  # fmt: skip
    present = {key: look for key, look in columns.items() if any(key in line for line in t["cases"])}
    if not present:
        present = {"figure": columns["figure"]}
    lines.append("| | | " + " | ".join(title for title, _ in present.values()) + " |")
    lines.append("|---|---|" + "---:|" * len(present))
    for line in t["cases"]:
        if "skipped" in line:
            cells = [line["skipped"].replace("|", "/")] + [""] * (len(present) - 1)
        else:
            cells = [look(line[key]) if key in line else "" for key, (_, look) in present.items()]
        lines.append(f"| {KINDS[line['kind']]} | {line['name']} | " + " | ".join(cells) + " |")
    return lines


ABOUT = """\
Medians of interleaved rounds, per CPU second on one thread (threads: by the clock). The machine is shared: only ratios
inside one table count. Sizes are those of one document; "own" means the corpus' own files, or an input that has no size.
Ours is the first of our lines in a table: a batch of documents, all columns, no strings; the line below it makes every
text too, as most rivals do. What a case could not do within its time, or failed at, is in its line.

"MiB, one document" is the growth of the resident set at its peak while one document is chunked, in a forked child (a run
of ours that finds no buffers in its process makes them: some 3 MiB); "time 2n / n" is 2 where time is linear. Of the
documents of 100 MB "MiB added" is that growth, "of it returned" what the columns take that ours returns (columns that are
made when they are asked for take nothing), and "x the input" the rest; what others return counts, since it is not known.
`benchmarks/README.md` says how a figure is made.
"""


def page(runs: list[dict[str, Any]]) -> list[str]:
    tables = in_order(runs)
    machine = runs[0]["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in runs[0]["versions"].items())
    lines = ["# CPU results", ""]
    lines += [f"{machine['date']}, {machine['processor']}, {machine['system']}. Corpus: {runs[0]['corpus']}."]
    if command := runs[0].get("command"):
        lines[-1] += f" `{command}`"
    lines += [
        "",
        f"Versions: {packages}.",
        "",
        ABOUT,
        *summary(tables),
        *missed(tables),
        *behind(tables),
        *by_size(tables),
    ]
    lines += ["", "## Every case"]
    for t in tables:
        lines += details(t)
    return lines


def in_order(runs: list[dict[str, Any]]) -> list[Table]:
    order, sizes = list(ROWS), [*SIZES, "own"]
    tables = [t for run in runs for t in run["tables"]]
    return sorted(tables, key=lambda t: (order.index(t["row"]), sizes.index(t["size"])))


def readme(runs: list[dict[str, Any]]) -> list[str]:
    """Every row at the size of its goal, those that miss it too; what takes two figures (memory) is on the page."""
    lines = ["| | unit | rapidchunk | best rival | plain Python | goal |", "| --- | --- | --- | --- | --- | --- |"]
    for t in at_goal_size(in_order(runs)):
        if t["row"] in MEMORY:
            continue
        ours, rival, baseline = headline(t)
        goal = "-" if verdict(t) == "no goal" else verdict(t).partition(":")[0].partition(" by")[0]
        cells = (ROWS[t["row"]].title, t["unit"], ours, rival, baseline.partition(" (")[0], goal)
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="JSON of compare.py")
    parser.add_argument("--readme", action="store_true", help="only the table for the README")
    options = parser.parse_args()
    runs = [json.loads(path.read_text()) for path in options.runs]
    print("\n".join(readme(runs) if options.readme else page(runs)))


if __name__ == "__main__":
    main()
