"""``rapidchunk tune``: ways of chunking compared on one's own documents and questions."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from rapidchunk import documents
from rapidchunk.cli.common import UsageError, as_encoder, encoder_name, whole
from rapidchunk.cli.progress import Bar

__all__ = ["add_parser"]

GRID = ("strategy=recursive,sentence,semantic", "max_tokens=128,256,512", "overlap=0,10%")
SHOWN = 10  # records that cannot be used, in full


def add_parser(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "tune",
        help="compare strategies and sizes on your documents and questions",
        description="Chunks the documents in every way of a grid, retrieves for every question, and reports recall, precision "
        "and cost with confidence intervals: a table, and in the output folder report.html, table.md and table.csv. What is "
        "finished is kept there; the same command goes on after an interruption.",
        epilog='A line of the questions: {"question": "...", "document": "id or path", "answers": ["exact words", ...]}. '
        'Instead of a text, an answer may be {"text": ..., "start": ...}, or there may be "spans": [[start, end], ...].',
    )
    parser.add_argument("paths", nargs="+", metavar="DOCS", help="files, folders, patterns, JSON lines, as for index")
    parser.add_argument(
        "--questions", required=True, metavar="FILE", help="JSON lines; written, if it is not there, by --synthesize"
    )
    parser.add_argument(
        "--grid",
        action="append",
        metavar="NAME=A,B,...",
        help="values to try, of strategy, encoder or any option of the strategies; again for further names "
        f"(default: {' '.join(GRID)} encoder=static)".replace("%", "%%"),
    )
    parser.add_argument("-o", "--output", default="tune", metavar="FOLDER", help="for reports and state (tune)")
    cost = parser.add_mutually_exclusive_group()
    cost.add_argument("-k", type=whole(1), metavar="N", help="chunks to retrieve for a question (5)")
    cost.add_argument("--budget", type=whole(1), metavar="TOKENS", help="retrieve chunks up to so many tokens instead")
    parser.add_argument(
        "--scoring",
        choices=["sentences", "mean", "reencode"],
        default="sentences",
        help="a chunk's score: its best sentence plus half its mean (the default, as in search), its mean, or the chunk encoded",
    )
    parser.add_argument("--tokenizer", default="bert", metavar="NAME", help="as for index (bert)")
    parser.add_argument("--plot", metavar="FILE", help="also draw recall against tokens (.svg, .png; needs matplotlib)")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress bar, no table")
    llm = parser.add_argument_group("questions from a language model")
    llm.add_argument("--synthesize", type=whole(1), metavar="N", help="have N questions written to --questions first")
    llm.add_argument("--base-url", metavar="URL", help="of an OpenAI-compatible service; the key is in OPENAI_API_KEY")
    llm.add_argument("--model", metavar="NAME", help="the model that writes them")
    parser.set_defaults(run=tune)


def tune(given: argparse.Namespace) -> int:
    from rapidchunk.evaluate import expand_grid, read_questions, report, sweep
    from rapidchunk.evaluate.report_page import page

    grid = _grid(given.grid or GRID)
    candidates, left_out = expand_grid(grid)
    texts = _texts(given.paths)
    if given.synthesize is not None:
        _synthesize(given, texts)
    questions, problems = read_questions(given.questions, texts)
    for line in left_out:
        _warn(f"left out: {line}")
    for problem in problems[:SHOWN]:
        _warn(f"{given.questions}:{problem.line}: {problem.reason}")
    if len(problems) > SHOWN:
        _warn(f"{given.questions}: {len(problems) - SHOWN} more records cannot be used")
    if not questions:
        raise ValueError(f"{given.questions}: no question that can be used")
    k = 5 if given.k is None and given.budget is None else given.k
    folder = Path(given.output)
    with Bar("tuning") as bar:
        result = sweep(
            list(texts.values()),
            questions,
            candidates,
            k=k,
            budget=given.budget,
            scoring=given.scoring,
            tokenizer=given.tokenizer,
            encoder=lambda name: as_encoder(encoder_name(name)),
            folder=folder / "state",
            progress=None if given.quiet else bar.update,
        )
    table = report.markdown_table(result)
    advice = report.advice(result)
    (folder / "table.md").write_text(table, encoding="utf-8")
    (folder / "table.csv").write_text(report.csv_table(result), encoding="utf-8")
    (folder / "report.html").write_text(page(result, texts), encoding="utf-8")
    if given.plot is not None:
        report.plot(result, given.plot)
    if not given.quiet:
        print(table)
    print("\n".join(advice))
    used = f"{len(questions)} questions" + (f" ({len(problems)} left out)" if problems else "")
    print(f"{folder / 'report.html'}: {used}, {len(result.trials)} settings", file=sys.stderr)
    return 0


def _grid(entries: Any) -> dict[str, list[Any]]:
    grid: dict[str, list[Any]] = {}
    for entry in entries:
        name, equals, values = entry.partition("=")
        if not equals or not name or not values:
            raise UsageError(f"--grid must be NAME=A,B,..., not {entry!r}")
        grid[name.replace("-", "_")] = [_value(value) for value in values.split(",")]
    return grid


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _texts(paths: list[str]) -> dict[str, str]:
    """The documents by the ids that the input gives, else by path."""
    texts: dict[str, str] = {}
    for source in documents.find(paths):
        for document in documents.read(source):
            name = document.id if document.named else document.place
            if name in texts:
                raise ValueError(f"{name}: two documents have this id")
            texts[name] = document.text
    return texts


def _synthesize(given: argparse.Namespace, texts: dict[str, str]) -> None:
    from rapidchunk._services import Service
    from rapidchunk.evaluate import synthesize

    if os.path.exists(given.questions):
        raise UsageError(f"{given.questions} is there already; --synthesize would write over it")
    if not given.base_url or not given.model:
        raise UsageError("--synthesize needs --base-url and --model")
    with Bar("asking") as bar:
        progress = None if given.quiet else bar.update
        service = Service(given.base_url)
        made = synthesize(
            list(texts.values()), lambda prompt: service.chat(given.model, prompt), given.synthesize, progress=progress
        )
    names = list(texts)
    with open(given.questions, "w", encoding="utf-8") as file:
        for record in made.records:
            file.write(json.dumps({**record, "document": names[record["document"]]}, ensure_ascii=False) + "\n")
    _warn(
        f"{given.questions}: {len(made.records)} questions on {made.passages} passages; left out: {made.not_found} whose answer "
        f"is not in its passage word for word, {made.unreadable} replies that cannot be read, {made.failed} failed requests"
    )


def _warn(line: str) -> None:
    print(f"rapidchunk tune: {line}", file=sys.stderr)
