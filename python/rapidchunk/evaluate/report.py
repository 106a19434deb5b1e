"""A sweep as a table (Markdown, CSV), as advice, and as a plot; report_page.py makes the page of them."""

from __future__ import annotations

import csv
import io
import os
from typing import Any

import numpy as np

from rapidchunk.evaluate.tuning import MEASURES, Sweep, Trial

__all__ = ["advice", "columns", "csv_table", "markdown_table", "plot"]

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


def row_cells(row: dict[str, Any]) -> list[str]:
    marks = " ".join(
        mark for mark, there in (("best or as good", row["as_good_as_best"]), ("Pareto", row["pareto"])) if there
    )
    return [
        row["strategy"], row["options"], row["encoder"], f"{row['recall']:.1f}",
        f"{row['recall_low']:.1f} to {row['recall_high']:.1f}",
        *(f"{row[name]:.2f}" for name in ("precision", "iou")),
        *(f"{row[name]:.1f}" for name in ("reciprocal_rank", "ndcg")),
        f"{row['tokens']:,.0f}", f"{row['chunks']:,}", f"{row['chunk_tokens']:.0f}", marks,
    ]  # fmt: skip


def markdown_table(sweep: Sweep) -> str:
    """The table for a terminal and for Markdown: columns lined up."""
    cells = [list(HEAD), *(row_cells(row) for row in columns(sweep))]
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
    missed = sum(trial_hits == 0 for trial_hits in hits(sweep).tolist())
    if missed:
        said.append(
            f"{missed} of {len(sweep.questions)} questions are found by no setting: look at them, and at the encoder, first."
        )
    return said


def _percent(sweep: Sweep, trial: Trial) -> str:
    interval = sweep.interval(trial, "recall", 100)
    return f"{interval.mean:.1f} % ({interval.low:.1f} to {interval.high:.1f})"


def hits(sweep: Sweep) -> np.ndarray:
    """int64 [questions], how many of the settings find each question's answer."""
    counted: np.ndarray = np.sum([trial.measure("hit") > 0 for trial in sweep.trials], axis=0)
    return counted


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
