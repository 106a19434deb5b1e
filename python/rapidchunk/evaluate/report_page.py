"""The page of a sweep: what to do, recall against tokens, the sortable table, and the questions that stay open."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from rapidchunk.evaluate.report import HEAD, advice, columns, hits, row_cells
from rapidchunk.evaluate.tuning import Sweep
from rapidchunk.view import _digest, _escape

__all__ = ["page"]

HARD = 15  # questions that a page shows
KINDS = 6  # strategies with a colour of their own

STYLE = """
:root { color-scheme: light dark; --page: #fff; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --mark: #b42318;
  --chart: #2563a8; --good: #e3f3e6; --c0: #2563a8; --c1: #c25e00; --c2: #2e7d32; --c3: #8e3ba0; --c4: #00798c; }
@media (prefers-color-scheme: dark) { :root { --page: #14171b; --ink: #e8eaed; --soft: #a3acb6; --line: #3a424b;
  --mark: #ff9b8f; --chart: #7db7f5; --good: #173a20; --c0: #7db7f5; --c1: #ffb25c; --c2: #7fd48a; --c3: #dc9be8;
  --c4: #62d0e0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 16px 20px 40px; max-width: 1280px; background: var(--page); color: var(--ink);
  font: 15px/1.55 system-ui, sans-serif; }
h1 { margin: 0 0 4px; font-size: 21px; } h2 { margin: 28px 0 8px; font-size: 16px; } p { margin: 0 0 8px; }
.soft { color: var(--soft); } .advice { padding: 10px 14px; border-left: 4px solid var(--chart); background: var(--good); }
.advice p:last-child { margin: 0; } .advice p:first-child { font-weight: 600; }
svg { display: block; width: 100%; height: auto; max-width: 960px; font: 12px system-ui, sans-serif; }
svg text { fill: var(--soft); } .axis { stroke: var(--line); } .front { fill: none; stroke: var(--mark); stroke-width: 1.5; }
.s0 { --dot: var(--c0); } .s1 { --dot: var(--c1); } .s2 { --dot: var(--c2); } .s3 { --dot: var(--c3); } .s4 { --dot: var(--c4); }
.s5 { --dot: var(--soft); } .bar { stroke: var(--dot); opacity: .5; } .dot { fill: var(--dot); }
.dot.good { stroke: var(--ink); stroke-width: 1.5; } .best { fill: none; stroke: var(--mark); stroke-width: 2; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: 4px 8px; border-bottom: 1px solid var(--line); text-align: right; }
th, td:last-child { white-space: normal; } th { vertical-align: bottom; }
th.l, td.l { text-align: left; } tr.good td { background: var(--good); }
th button { all: unset; cursor: pointer; font-weight: 600; } th button:focus-visible { outline: 2px solid var(--chart); }
th[aria-sort=ascending] button::after { content: " \\2191"; } th[aria-sort=descending] button::after { content: " \\2193"; }
code { font: 13px ui-monospace, monospace; overflow-wrap: anywhere; } .answer { color: var(--soft); white-space: normal; }
td.wrap { white-space: normal; min-width: 240px; overflow-wrap: anywhere; }
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


def page(sweep: Sweep, documents: Mapping[str, str], title: str = "Chunking compared") -> str:
    """A self-contained HTML page: what to do, recall against tokens, the table (sortable), and the questions that few settings
    answer, with their answers. Texts are escaped, and the page's content security policy allows nothing but its own style and
    script.

    Args:
        documents: the texts that the sweep was made with, in its order, by id.
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
            "same cost; a dark rim marks those that cannot be told from the best, a red ring the one to take.</p>\n",
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


def _colors(rows: list[dict[str, Any]]) -> dict[str, str]:
    """The class of each strategy's colour; the last is shared by all further ones."""
    strategies = dict.fromkeys(row["strategy"] for row in rows)
    return {name: f"s{min(number, KINDS - 1)}" for number, name in enumerate(strategies)}


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
    colors = _colors(rows)
    for row in rows:
        name = " ".join(part for part in (row["strategy"], row["options"], row["encoder"]) if part)
        color = colors[row["strategy"]]
        kind = f"dot {color}" + (" good" if row["as_good_as_best"] else "")
        at, level = f"{x(row['tokens']):.1f}", f"{y(row['recall']):.1f}"
        drawn.append(
            f'<line class="bar {color}" x1="{at}" x2="{at}" y1="{y(row["recall_low"]):.1f}" y2="{y(row["recall_high"]):.1f}"/>'
        )
        drawn.append(
            f'<circle class="{kind}" cx="{at}" cy="{level}" r="5"><title>{_escape(name)}: recall '
            f"{row['recall']:.1f} %, {row['tokens']:,.0f} tokens</title></circle>"
        )
        if name == chosen.name:
            drawn.append(f'<circle class="best" cx="{at}" cy="{level}" r="9"/>')
    for number, (strategy, color) in enumerate(colors.items()):
        drawn.append(
            f'<circle class="dot {color}" cx="{right - 130}" cy="{bottom - 20 * number - 20}" r="5"/>'
            f'<text x="{right - 118}" y="{bottom - 20 * number - 16}">{_escape(strategy)}</text>'
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
        cells = row_cells(row)
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


def _hard(sweep: Sweep, documents: Mapping[str, str]) -> list[str]:
    found = hits(sweep)
    order = [number for number in np.argsort(found, kind="stable").tolist() if found[number] < len(sweep.trials)][:HARD]
    if not order:
        return []
    shown, names, texts = [], list(documents), list(documents.values())
    for number in order:
        question = sweep.questions[number]
        text = texts[question.document]
        answer = " ... ".join(" ".join(text[start:end].split()) for start, end in question.spans)
        place = f"{_escape(names[question.document])}, character {question.spans[0][0]:,}"
        shown.append(
            f'<tr><td>{found[number]} of {len(sweep.trials)}</td><td class="l wrap">{_escape(question.text)}</td>'
            f'<td class="l wrap answer">{_escape(answer[:300])}</td>'
            f'<td class="l wrap">{place}<br><span class="soft">{_escape(question.id)}</span></td></tr>'
        )
    return [
        "<h2>Questions that the fewest settings answer</h2>\n",
        '<div class="scroll"><table><thead><tr><th>found by</th><th class=l>question</th><th class=l>answer</th>'
        f"<th class=l>place</th></tr></thead><tbody>{''.join(shown)}</tbody></table></div>\n",
    ]
