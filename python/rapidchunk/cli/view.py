"""``rapidchunk view``: a page that shows how one file is cut."""

from __future__ import annotations

import argparse
import sys
from itertools import islice
from pathlib import Path
from typing import Any

from rapidchunk.chunkers import SemanticChunker
from rapidchunk.cli.common import UsageError, add_file_options, add_strategy_options, one_file, read, whole

__all__ = ["add_parser"]


def add_parser(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "view",
        help="write a page that shows the chunks of a file",
        description="Writes a self-contained HTML page: the document with its chunks coloured, their figures and, for the "
        "semantic strategy, the similarity of neighbouring sentences.",
    )
    add_file_options(parser)
    parser.add_argument(
        "-o", "--output", required=True, metavar="PAGE", help="the page to write, - for standard output"
    )
    parser.add_argument(
        "--document", type=whole(0), default=0, metavar="N", help="which record of JSON lines, from 0 (the default)"
    )
    add_strategy_options(parser)
    parser.set_defaults(run=view)


def view(given: argparse.Namespace) -> int:
    from rapidchunk.view import page

    source, chunker = one_file(given)
    found = next(islice(read(source, chunker, given.strategy), given.document, None), None)
    if found is None:
        raise UsageError(f"{given.file} has no document {given.document}")
    document, text = found
    explanation = None
    if isinstance(chunker, SemanticChunker):
        chunks, explanation = chunker.chunk_and_explain(text)
    else:
        chunks = chunker(text)
    html = page(
        chunks,
        title=document.id,
        similarity=explanation and explanation.similarities,
        cuts=explanation and explanation.cuts,
    )
    if given.output == "-":
        sys.stdout.write(html)
    else:
        Path(given.output).write_text(html, encoding="utf-8", newline="\n")
    return 0
