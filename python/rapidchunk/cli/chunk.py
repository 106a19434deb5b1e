"""``rapidchunk chunk``: the chunks of one file, to look at or to pipe on."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np

from rapidchunk.chunks import Chunk
from rapidchunk.cli.common import add_file_options, add_strategy_options, one_file, read

__all__ = ["add_parser"]

# Background colours that take turns, readable with a light and a dark theme's own text colour set.
COLORS = ("\x1b[30;48;5;153m", "\x1b[30;48;5;194m", "\x1b[30;48;5;223m", "\x1b[30;48;5;189m")
DIM, RESET = "\x1b[2m", "\x1b[0m"


def add_parser(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "chunk",
        help="print the chunks of a file",
        description="Prints the chunks of a file of any kind that index reads.",
    )
    add_file_options(parser)
    parser.add_argument(
        "--format",
        choices=["text", "jsonl", "color"],
        help="text, jsonl, or color (the default on a terminal): chunks in turns of colour",
    )
    add_strategy_options(parser)
    parser.set_defaults(run=chunk)


def chunk(given: argparse.Namespace) -> int:
    source, chunker = one_file(given)
    ids: list[str] = []  # filled while the chunker reads, always ahead of it

    def texts() -> Iterator[Any]:
        for document, text in read(source, chunker, given.strategy):
            ids.append(document.id)
            yield text

    rows: Iterator[Chunk] = iter(chunker(texts()))
    plain = not sys.stdout.isatty() or "NO_COLOR" in os.environ
    write = {"text": _text, "jsonl": _jsonl, "color": _color}[given.format or ("text" if plain else "color")]
    for number, group in groupby(rows, key=lambda row: row.document):
        write(ids[number], group)
    return 0


def _text(document: str, rows: Iterator[Chunk]) -> None:
    for row in rows:
        print(f"--- {_about(document, row)}\n{row.text}")


def _jsonl(document: str, rows: Iterator[Chunk]) -> None:
    for row in rows:
        record = {
            "document": document,
            "index": row.index,
            "start": row.start,
            "end": row.end,
            "tokens": row.tokens,
            "text": row.text,
            **{name: value for name, value in row.metadata.items() if value is not None},
        }
        if row.vector is not None:
            record["vector"] = row.vector
        print(json.dumps(record, ensure_ascii=False, default=_plain))


def _plain(value: Any) -> Any:
    """NumPy values as JSON has them."""
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else str(value)


def _color(document: str, rows: Iterator[Chunk]) -> None:
    for row in rows:
        print(f"{DIM}{_about(document, row)}{RESET}")
        color = COLORS[row.index % len(COLORS)]
        for line in row.text.split("\n"):
            print(color + _printable(line.rstrip("\r")) + RESET)


def _about(document: str, row: Chunk) -> str:
    """Where a chunk is, and its heading path."""
    path = " > ".join(row.metadata.get("headings") or ())
    about = f"{document} [{row.index}] {row.start}:{row.end}, {row.tokens} tokens{f', {path}' if path else ''}"
    return _printable(about)


def _printable(line: str) -> str:
    """The line without a document's own escape codes, which must not reach the terminal."""
    return "".join(c if c.isprintable() or c == "\t" else "\ufffd" for c in line)
