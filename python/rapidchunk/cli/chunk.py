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

from rapidchunk import strategies
from rapidchunk.chunks import Chunk
from rapidchunk.cli.common import UsageError, add_strategy_options, as_encoder, encoder_name, strategy_options

__all__ = ["add_parser"]

# Background colours that take turns, readable with a light and a dark theme's own text colour set.
COLORS = ("\x1b[30;48;5;153m", "\x1b[30;48;5;194m", "\x1b[30;48;5;223m", "\x1b[30;48;5;189m")
DIM, RESET = "\x1b[2m", "\x1b[0m"


def add_parser(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "chunk",
        help="print the chunks of a file",
        description="Prints the chunks of a text, Markdown or JSON lines file.",
    )
    parser.add_argument("file", metavar="FILE", help="a file, or - for the standard input")
    parser.add_argument(
        "--format",
        choices=["text", "jsonl", "color"],
        help="text, jsonl, or color (the default on a terminal): chunks in turns of colour",
    )
    parser.add_argument(
        "--encoder",
        default="minilm",
        metavar="NAME",
        help="for strategies that need one: minilm (the default) or a path",
    )
    parser.add_argument(
        "--stdin-format", choices=["text", "markdown", "jsonl"], default="text", help="what - is (text by default)"
    )
    add_strategy_options(parser)
    parser.set_defaults(run=chunk)


def chunk(given: argparse.Namespace) -> int:
    from rapidchunk import documents

    options = strategy_options(given)
    sources = documents.find([given.file], given.stdin_format)
    if len(sources) != 1 or os.path.isdir(given.file):
        raise UsageError(f"{given.file} is not one file")
    name = sources[0].strategy if given.strategy == "auto" else given.strategy
    known = strategies.parameters(name)
    encoder = as_encoder(encoder_name(given.encoder)) if "encoder" in known else None
    if given.strategy == "auto":
        options = {option: value for option, value in options.items() if option in known}
    try:
        chunker = strategies.make(name, options, shared={"tokenizer": given.tokenizer, "encoder": encoder})
    except ValueError as error:
        raise UsageError(str(error)) from error

    ids: list[str] = []  # filled while the chunker reads, always ahead of it

    def texts() -> Iterator[str]:
        for document in documents.read(sources[0]):
            ids.append(document.id)
            yield document.text

    rows: Iterator[Chunk] = iter(chunker(texts()))
    plain = not sys.stdout.isatty() or "NO_COLOR" in os.environ
    write = {"text": _text, "jsonl": _jsonl, "color": _color}[given.format or ("text" if plain else "color")]
    for number, group in groupby(rows, key=lambda row: row.document):
        write(ids[number], group)
    return 0


def _text(document: str, rows: Iterator[Chunk]) -> None:
    for row in rows:
        print(f"--- {document} [{row.index}] {row.start}:{row.end}, {row.tokens} tokens\n{row.text}")


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
        print(f"{DIM}{document} [{row.index}] {row.start}:{row.end}, {row.tokens} tokens{RESET}")
        color = COLORS[row.index % len(COLORS)]
        for line in row.text.split("\n"):
            # A document's own escape codes must not reach the terminal.
            print(color + "".join(c if c.isprintable() or c == "\t" else "\ufffd" for c in line.rstrip("\r")) + RESET)
