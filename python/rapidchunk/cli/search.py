"""``rapidchunk search``: the best chunks of an index for a question."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import textwrap
from typing import Any

from rapidchunk.cli.common import as_encoder, whole

__all__ = ["add_parser"]


def add_parser(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "search",
        help="find the chunks of an index that answer a question",
        description="Embeds the question with the encoder that the index was made with and prints the nearest chunks.",
    )
    parser.add_argument("index", metavar="FILE", help="a Parquet file of rapidchunk index")
    parser.add_argument("question", metavar="QUESTION", help="in words, as one argument")
    parser.add_argument("-k", type=whole(1), default=5, metavar="N", help="how many chunks (5)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line, with all columns")
    parser.set_defaults(run=search)


def search(given: argparse.Namespace) -> int:
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError("rapidchunk search needs pyarrow: pip install rapidchunk[cli]") from error
    from rapidchunk.search import Index

    index = Index(given.index)
    index.require_vectors()
    if not given.question.strip():
        raise ValueError("the question is blank")
    encoder = as_encoder(index.about["encoder"])
    # Some models want other words before a question than before a text.
    encode = getattr(encoder, "encode_query", encoder.encode)
    for rank, hit in enumerate(index.search(encode([given.question])[0], given.k), 1):
        if given.json:
            print(json.dumps({"score": round(hit.score, 6), **hit.columns}, ensure_ascii=False, default=str))
        else:
            _show(rank, hit.score, hit.columns)
    return 0


def _show(rank: int, score: float, columns: dict[str, Any]) -> None:
    color = sys.stdout.isatty()
    place = columns["file"] if columns["line"] is None else f"{columns['file']}:{columns['line']}"
    # Ids of the input's own are shown; others are the end of the path.
    name = columns["document"]
    own = not any(given == name or given.endswith(f"/{name}") for given in (columns["file"], place))
    document = f"  {name}" if own else ""
    characters = f"characters {columns['start']}-{columns['end']}"
    path = " > ".join(columns["headings"]) if columns.get("headings") else ""
    head = f"{rank}. {place}{document}  {characters}  score {score:.3f}"
    print(f"\x1b[1m{head}\x1b[0m" if color else head)
    if path:
        print(f"   {_printable(path)}")
    before = (columns.get("context") or columns["text"]).removesuffix(columns["text"]).strip().split("\n")[0]
    if before and before != path:
        print(f"   {_printable(before)}")
    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    text = " ".join(columns["text"].split())
    lines = textwrap.wrap(_printable(text), width - 3, max_lines=6, placeholder=" ...")
    print("\n".join(f"   {line}" for line in lines), end="\n\n")


def _printable(text: str) -> str:
    """The text without control characters, which a terminal would obey."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)
