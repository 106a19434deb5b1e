"""``rapidchunk index``: files to a Parquet file of chunks, metadata and vectors."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from rapidchunk.cli.common import (
    UsageError,
    add_strategy_options,
    as_encoder,
    encoder_name,
    strategy_options,
    tokenizer_name,
    whole,
)
from rapidchunk.cli.progress import Bar
from rapidchunk.vectors import METHODS

__all__ = ["add_parser"]


def add_parser(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "index",
        help="cut files into chunks, embed them, write a Parquet file",
        description="Cuts text, Markdown, HTML, code, JSON (chats, OpenAPI) and JSON lines files into chunks and writes "
        'them, with metadata and vectors, to a Parquet file. A record of JSON lines has a "text" or "messages", an "id" if it '
        "likes, and any further keys as metadata.",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, folders, patterns; - is the standard input")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the Parquet file to write")
    parser.add_argument(
        "--encoder",
        default="minilm",
        metavar="NAME",
        help="minilm (the default), static, a model's path, openai:MODEL, sie:MODEL, or none (no vectors)",
    )
    parser.add_argument(
        "--vectors",
        choices=list(METHODS),
        help="the vector of a chunk: the mean of its sentences' (one pass; the default), reencode (another pass over each "
        "chunk; the default without sentence vectors), or late (token vectors of the whole document)",
    )
    parser.add_argument(
        "--no-sentence-vectors",
        dest="sentence_vectors",
        action="store_false",
        help="keep one vector a chunk only: a smaller file, but search finds less",
    )
    add_strategy_options(parser)
    run = parser.add_argument_group("how to run")
    run.add_argument("--resume", action="store_true", help="go on after the last saved part of an interrupted run")
    run.add_argument(
        "--update",
        action="store_true",
        help="take the vectors of texts that are in the output already from there; embed only what changed",
    )
    run.add_argument("--skip-errors", action="store_true", help="leave out inputs that cannot be read, with a warning")
    run.add_argument(
        "--batch",
        type=whole(1),
        metavar="MB",
        help="megabytes of text to work on, and save for --resume, at a time (1 with vectors, else 8)",
    )
    run.add_argument("--batch-size", type=whole(1), metavar="N", help="the most texts that the encoder takes at a time")
    run.add_argument(
        "--stdin-format", choices=["text", "markdown", "jsonl"], default="text", help="what - is (text by default)"
    )
    run.add_argument("-q", "--quiet", action="store_true", help="no progress bar, no summary")
    parser.set_defaults(run=index)


def index(given: argparse.Namespace) -> int:
    from rapidchunk import documents
    from rapidchunk.index import Indexer, Settings

    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError("rapidchunk index needs pyarrow: pip install rapidchunk[cli]") from error
    if given.resume and documents.STDIN in given.paths:
        raise UsageError("--resume cannot go on from the standard input")
    options = strategy_options(given)
    sources = documents.find(given.paths, given.stdin_format)
    named = None if given.encoder == "none" else encoder_name(given.encoder)
    if named is None and given.strategy != "auto":
        _require_no_encoder(given.strategy)
    batch = {} if given.batch_size is None else {"batch_size": given.batch_size}
    encoder = None if named is None else as_encoder(named, **batch)
    settings = Settings(
        given.strategy,
        options,
        named,
        tokenizer_name(given.tokenizer),
        given.skip_errors,
        vectors=given.vectors or ("mean" if given.sentence_vectors else "reencode"),
        sentence_vectors=given.sentence_vectors,
    )
    begun = time.monotonic()
    with Bar("indexing") as bar:

        def warn(line: str) -> None:
            bar.clear()
            print(f"rapidchunk index: {line}", file=sys.stderr)

        try:
            indexer = Indexer(
                sources,
                given.output,
                settings,
                encoder=encoder,
                resume=given.resume,
                update=given.update,
                batch_bytes=None if given.batch is None else given.batch << 20,
                warn=warn,
            )
        except ValueError as error:
            raise UsageError(str(error)) from error
        progress = None if given.quiet else lambda done, total, chunks: bar.update(done, total, f"{chunks:,} chunks")
        try:
            report = indexer.run(progress)
        except KeyboardInterrupt:
            if (indexer.folder / "manifest.json").exists():
                warn("what is done is kept; the same command with --resume goes on")
            raise
    if not given.quiet:
        vectors = f", vectors of {report.dimension} values" if report.dimension else ""
        if given.update:
            vectors += f", {report.embedded:,} embedded, {report.reused:,} reused"
        left_out = f", {report.skipped} left out" if report.skipped else ""
        before = f" ({report.resumed:,} of them by an earlier run)" if report.resumed else ""
        print(
            f"{given.output}: {report.chunks:,} chunks of {report.documents:,} documents{before} in {report.files:,} "
            f"file{'' if report.files == 1 else 's'}{vectors}{left_out}, {time.monotonic() - begun:.1f} s",
            file=sys.stderr,
        )
    return 0


def _require_no_encoder(strategy: str) -> None:
    """Refuses --encoder none for strategies that cannot do without one."""
    from rapidchunk import strategies

    if "encoder" in strategies.parameters(strategy):
        raise UsageError(f"the strategy {strategy} needs an encoder")
