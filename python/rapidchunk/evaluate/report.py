"""A sweep as a table (Markdown, CSV), as a page that says what to do, and as a plot."""

from __future__ import annotations

import csv
import io
import math
import os
from typing import Any

import numpy as np

from rapidchunk.evaluate.tuning import MEASURES, Sweep, Trial
from rapidchunk.view import _digest, _escape

__all__ = ["advice", "columns", "csv_table", "markdown_table", "page", "plot"]

HARD = 15  # questions that a page shows
#: Measures that are shares, shown in percent.
SHARES = ("recall", "precision", "iou", "hit", "reciprocal_rank", "ndcg")
TITLES = {
    "recall": "recall", "precision": "precision", "iou": "IoU", "hit": "hit", "reciprocal_rank": "MRR", "ndcg": "nDCG",
    "tokens": "tokens retrieved",
}  # fmt: skip


def columns(sweep: Sweep) -> list[dict[str, Any]]:
    """A row for each trial, best recall first: its settings, each measure's mean and 95 % interval (of shares in percent), sizes
    of its chunks, whether chance alone may explain that it is not the best, and whether it is on the Pareto front."""
    front = {id(trial) for trial in sweep.pareto()}
    rows = []
    for trial in sorted(sweep.trials, key=lambda trial: -trial.measure("recall").mean()):
        row: dict[str, Any] = {
            "strategy": trial.candidate.strategy,
            "options": " ".join(f"{name}={value}" for name, value in trial.candidate.options),
            "encoder": trial.candidate.encoder,
        }
        for name in MEASURES:
            scale = 100 if name in SHARES else 1
            interval = sweep.interval(trial, name, scale)
            row |= {name: interval.mean, f"{name}_low": interval.low, f"{name}_high": interval.high}
        row |= {
            "chunks": trial.chunks,
            "chunk_tokens": trial.tokens,
            "below_32_tokens": 100 * trial.small,
            "repeated": 100 * trial.repeated,
            "as_good_as_best": sweep.as_good(trial),
            "pareto": id(trial) in front,
        }
        rows.append(row)
    return rows


def csv_table(sweep: Sweep) -> str:
    """`columns` as CSV."""
    rows = columns(sweep)
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: f"{value:.4f}" if isinstance(value, float) else value for name, value in row.items()})
    return out.getvalue()


HEAD = ("strategy", "options", "encoder", "recall %", "95 %", "precision %", "IoU %", "MRR %", "nDCG %", "tokens retrieved",
        "chunks", "tokens a chunk", "")  # fmt: skip


def _cells(row: dict[str, Any]) -> list[str]:
    marks = " ".join(
        mark for mark, there in (("best or as good", row["as_good_as_best"]), ("Pareto", row["pareto"])) if there
    )
    return [
        row["strategy"], row["options"], row["encoder"], f"{row['recall']:.1f}",
        f"{row['recall_low']:.1f} to {row['recall_high']:.1f}",
        *(f"{row[name]:.1f}" for name in ("precision", "iou", "reciprocal_rank", "ndcg")),
        f"{row['tokens']:,.0f}", f"{row['chunks']:,}", f"{row['chunk_tokens']:.0f}", marks,
    ]  # fmt: skip


def markdown_table(sweep: Sweep) -> str:
    """The table for a terminal and for Markdown: columns lined up."""
    cells = [list(HEAD), *(_cells(row) for row in columns(sweep))]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEAD))]
    right = range(3, len(HEAD) - 1)

    def line(row: list[str]) -> str:
        placed = (
            text.rjust(width) if i in right else text.ljust(width) for i, (text, width) in enumerate(zip(row, widths))
        )
        return "| " + " | ".join(placed) + " |"

    rule = ["-" * (width - 1) + ":" if i in right else "-" * width for i, width in enumerate(widths)]
    return "\n".join([line(cells[0]), line(rule), *map(line, cells[1:])]) + "\n"


def advice(sweep: Sweep) -> list[str]:
    """What the figures say to do, in sentences."""
    best, chosen = sweep.best, sweep.recommended
    tokens = chosen.measure("tokens").mean()
    good = sum(sweep.as_good(trial) for trial in sweep.trials)
    said = [
        f"Take {chosen.candidate.name}: recall {_percent(sweep, chosen)} with {tokens:,.0f} tokens retrieved for a question."
    ]
    if chosen is not best:
        said.append(
            f"The highest recall, {_percent(sweep, best)}, has {best.candidate.name}, with "
            f"{best.measure('tokens').mean():,.0f} tokens; the difference is within chance."
        )
    if good > 1:
        said.append(f"{good} of {len(sweep.trials)} settings cannot be told from the best with these questions.")
        if good > len(sweep.trials) / 2:
            said.append(f"{len(sweep.questions)} questions are few for so many settings: more of them would tell more.")
    missed = sum(trial_hits == 0 for trial_hits in _hits(sweep).tolist())
    if missed:
        said.append(
            f"{missed} of {len(sweep.questions)} questions are found by no setting: look at them, and at the encoder, first."
        )
    return said


def _percent(sweep: Sweep, trial: Trial) -> str:
    interval = sweep.interval(trial, "recall", 100)
    return f"{interval.mean:.1f} % ({interval.low:.1f} to {interval.high:.1f})"


def _hits(sweep: Sweep) -> np.ndarray:
    """int64 [questions], how many of the settings find each question's answer."""
    counted: np.ndarray = np.sum([trial.measure("hit") > 0 for trial in sweep.trials], axis=0)
    return counted


STYLE = """
:root { color-scheme: light dark; --page: #fff; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --mark: #b42318;
  --chart: #2563a8; --good: #e3f3e6; }
@media (prefers-color-scheme: dark) { :root { --page: #14171b; --ink: #e8eaed; --soft: #a3acb6; --line: #3a424b;
  --mark: #ff9b8f; --chart: #7db7f5; --good: #173a20; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 16px 20px 40px; max-width: 1280px; background: var(--page); color: var(--ink);
  font: 15px/1.55 system-ui, sans-serif; }
h1 { margin: 0 0 4px; font-size: 21px; } h2 { margin: 28px 0 8px; font-size: 16px; } p { margin: 0 0 8px; }
.soft { color: var(--soft); } .advice { padding: 10px 14px; border-left: 4px solid var(--chart); background: var(--good); }
.advice p:last-child { margin: 0; } .advice p:first-child { font-weight: 600; }
svg { display: block; width: 100%; height: auto; max-width: 960px; font: 12px system-ui, sans-serif; }
svg text { fill: var(--soft); } .axis { stroke: var(--line); } .front { fill: none; stroke: var(--mark); stroke-width: 1.5; }
.bar { stroke: var(--chart); opacity: .45; } .dot { fill: var(--chart); } .dot.best { fill: var(--mark); }
.dot.good { stroke: var(--ink); stroke-width: 1.5; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: 4px 10px; border-bottom: 1px solid var(--line); text-align: right; }
th.l, td.l { text-align: left; } tr.good td { background: var(--good); }
th button { all: unset; cursor: pointer; font-weight: 600; } th button:focus-visible { outline: 2px solid var(--chart); }
th[aria-sort=ascending] button::after { content: " \\2191"; } th[aria-sort=descending] button::after { content: " \\2193"; }
code { font: 13px ui-monospace, monospace; overflow-wrap: anywhere; } .answer { color: var(--soft); white-space: normal; }
td.wrap { white-space: normal; min-width: 280px; }
"""

SCRIPT = """
const table = document.getElementById('trials'), body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
heads.forEach((head, column) => head.firstElementChild.addEventListener('click', () => {
  const down = head.getAttribute('aria-sort') !== 'descending';
  for (const other of heads) other.removeAttribute('aria-sort');
  head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  const value = row => row.cells[column].dataset.v ?? row.cells[column].textContent;
  const rows = [...body.rows].sort((a, b) => {
    const x = value(a), y = value(b), order = isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y;
    return down ? -order : order;
  });
  body.append(...rows);
}));
"""


def page(sweep: Sweep, documents: list[str], title: str = "Chunking compared") -> str:
    """A self-contained HTML page: what to do, recall against tokens, the table (sortable), and the questions that few settings
    answer, with their answers. Texts are escaped, and the page's content security policy allows nothing but its own style and
    script.

    Args:
        documents: the texts that the sweep was made with.
    """
    policy = f"default-src 'none'; style-src '{_digest(STYLE)}'; script-src '{_digest(SCRIPT)}'; base-uri 'none'"
    retrieved = (
        f"the best {sweep.k} chunks" if sweep.k is not None else f"the best chunks up to {sweep.budget:,} tokens"
    )
    facts = (
        f"{len(sweep.questions):,} questions, {sweep.documents:,} documents, {len(sweep.trials)} settings; for each question "
        f"{retrieved} are retrieved from all documents (scored by {sweep.scoring}). Intervals: 95 %, over the questions."
    )
    rows = columns(sweep)
    return "".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
            '<meta name="viewport" content="width=device-width">\n',
            f"<title>{_escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n",
            f'<h1>{_escape(title)}</h1>\n<p class="soft">{_escape(facts)}</p>\n<div class="advice">',
            *(f"<p>{_escape(line)}</p>" for line in advice(sweep)),
            "</div>\n<h2>Recall against tokens retrieved</h2>\n",
            _scatter(sweep, rows),
            '<p class="soft">A dot is a setting, its line the 95 % interval; the red line joins those that no other beats at the '
            "same cost; ringed dots cannot be told from the best.</p>\n",
            "<h2>All settings</h2>\n",
            _html_table(rows),
            *_hard(sweep, documents),
            f"<script>{SCRIPT}</script>\n</body>\n</html>\n",
        ]
    )


def _ticks(low: float, high: float) -> list[float]:
    """Four to nine round numbers from low to high."""
    step = 10 ** math.floor(math.log10(max(high - low, 1e-9)))
    step = next(step * share for share in (0.1, 0.2, 0.25, 0.5, 1) if (high - low) / (step * share) <= 9)
    first = math.ceil(low / step - 1e-9)
    return [step * number for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _range(values: list[float], least: float = 0.0) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = max(0.06 * (high - low), 0.01 * abs(high), 0.5)
    return max(low - room, least), high + room


def _scatter(sweep: Sweep, rows: list[dict[str, Any]]) -> str:
    left, right, top, bottom = 52, 948, 10, 360
    x_low, x_high = _range([row["tokens"] for row in rows])
    y_low, y_high = _range([row[name] for row in rows for name in ("recall_low", "recall_high")])
    y_high = min(y_high, 100.0)

    def x(value: float) -> float:
        return left + (right - left) * (value - x_low) / (x_high - x_low)

    def y(value: float) -> float:
        return bottom - (bottom - top) * (value - y_low) / (y_high - y_low)

    drawn = [f'<line class="axis" x1="{left}" x2="{right}" y1="{bottom}" y2="{bottom}"/>']
    for tick in _ticks(x_low, x_high):
        drawn.append(f'<text x="{x(tick):.1f}" y="{bottom + 18}" text-anchor="middle">{tick:,.0f}</text>')
    for tick in _ticks(y_low, y_high):
        drawn.append(f'<line class="axis" x1="{left}" x2="{right}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')
        drawn.append(f'<text x="{left - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g} %</text>')
    front = sorted((row for row in rows if row["pareto"]), key=lambda row: float(row["tokens"]))
    points = " ".join(f"{x(row['tokens']):.1f},{y(row['recall']):.1f}" for row in front)
    drawn.append(f'<polyline class="front" points="{points}"/>')
    chosen = sweep.recommended.candidate
    for row in rows:
        name = " ".join(part for part in (row["strategy"], row["options"], row["encoder"]) if part)
        kind = "dot" + (" good" if row["as_good_as_best"] else "") + (" best" if name == chosen.name else "")
        at = f"{x(row['tokens']):.1f}"
        drawn.append(
            f'<line class="bar" x1="{at}" x2="{at}" y1="{y(row["recall_low"]):.1f}" y2="{y(row["recall_high"]):.1f}"/>'
        )
        drawn.append(
            f'<circle class="{kind}" cx="{at}" cy="{y(row["recall"]):.1f}" r="5"><title>{_escape(name)}: recall '
            f"{row['recall']:.1f} %, {row['tokens']:,.0f} tokens</title></circle>"
        )
    label = (
        f'<text x="{(left + right) / 2}" y="{bottom + 38}" text-anchor="middle">tokens retrieved for a question</text>'
    )
    return (
        f'<svg viewBox="0 0 960 {bottom + 46}" role="img" aria-label="Recall against tokens retrieved">'
        f"{''.join(drawn)}{label}</svg>\n"
    )


def _html_table(rows: list[dict[str, Any]]) -> str:
    head = "".join(
        f"<th{' class=l' if number < 3 or not name else ''}><button>{name or 'remarks'}</button></th>"
        for number, name in enumerate(HEAD)
    )
    body = []
    for row in rows:
        cells = _cells(row)
        shown = "".join(
            f"<td{' class=l' if number < 3 or number == len(cells) - 1 else ''}"
            f"{_value(text) if 3 <= number < len(cells) - 1 else ''}>{_escape(text)}</td>"
            for number, text in enumerate(cells)
        )
        body.append(f"<tr{' class=good' if row['as_good_as_best'] else ''}>{shown}</tr>")
    return f'<div class="scroll"><table id="trials"><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>\n'


def _value(text: str) -> str:
    """What a cell is sorted by."""
    return f' data-v="{text.split(" ")[0].replace(",", "")}"'


def _hard(sweep: Sweep, documents: list[str]) -> list[str]:
    hits = _hits(sweep)
    order = [number for number in np.argsort(hits, kind="stable").tolist() if hits[number] < len(sweep.trials)][:HARD]
    if not order:
        return []
    shown = []
    for number in order:
        question = sweep.questions[number]
        text = documents[question.document]
        answer = " ... ".join(" ".join(text[start:end].split()) for start, end in question.spans)
        place = f"document {question.document}, character {question.spans[0][0]:,}"
        shown.append(
            f'<tr><td>{hits[number]} of {len(sweep.trials)}</td><td class="l wrap">{_escape(question.text)}</td>'
            f'<td class="l wrap answer">{_escape(answer[:300])}</td><td class="l">{_escape(question.id)}<br>{place}</td></tr>'
        )
    return [
        "<h2>Questions that the fewest settings answer</h2>\n",
        '<div class="scroll"><table><thead><tr><th>found by</th><th class=l>question</th><th class=l>answer</th>'
        f"<th class=l>place</th></tr></thead><tbody>{''.join(shown)}</tbody></table></div>\n",
    ]


def plot(sweep: Sweep, path: str | os.PathLike[str]) -> None:
    """Recall against retrieved tokens as a picture, in the format of the path's suffix (.svg, .png, .pdf).

    Raises:
        ImportError: matplotlib is not installed (``pip install rapidchunk[plot]``).
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install rapidchunk[plot]") from error
    rows = columns(sweep)
    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.add_subplot()
    for encoder in dict.fromkeys(row["encoder"] for row in rows):
        for strategy in dict.fromkeys(row["strategy"] for row in rows):
            some = [row for row in rows if row["encoder"] == encoder and row["strategy"] == strategy]
            if some:
                recall = np.array([row["recall"] for row in some])
                reach = np.abs(np.array([[row["recall_low"], row["recall_high"]] for row in some]).T - recall)
                axes.errorbar(
                    [row["tokens"] for row in some], recall, reach, fmt="o", capsize=2, label=f"{strategy}, {encoder}"
                )
    front = sorted((row for row in rows if row["pareto"]), key=lambda row: float(row["tokens"]))
    axes.plot(
        [row["tokens"] for row in front], [row["recall"] for row in front], color="0.4", zorder=0, label="Pareto front"
    )
    axes.set_xlabel("tokens retrieved for a question")
    axes.set_ylabel("recall, % (95 % interval)")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=160)
