"""What several commands share: options of strategies, encoders, errors of usage."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from rapidchunk import documents, strategies
from rapidchunk.chunkers.base import Chunker
from rapidchunk.chunkers.chat import ChatChunker
from rapidchunk.cli.progress import Bar
from rapidchunk.presets import sized

__all__ = [
    "UsageError",
    "add_file_options",
    "add_strategy_options",
    "as_encoder",
    "fetch",
    "one_file",
    "read",
    "strategy_options",
    "tokenizer_name",
    "whole",
]


class UsageError(Exception):
    """The command line asks for something that cannot be; exit code 2."""


def whole(least: int) -> Any:
    """An argparse type: whole numbers from `least`."""

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be a whole number, not {text!r}") from None
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, not {value}")
        return value

    return number


def add_file_options(parser: argparse.ArgumentParser) -> None:
    """What `one_file` reads."""
    parser.add_argument("file", metavar="FILE", help="a file, or - for the standard input")
    parser.add_argument(
        "--encoder",
        default="static",
        metavar="NAME",
        help="for strategies that need one: static (the default), minilm, or a path",
    )
    parser.add_argument(
        "--stdin-format", choices=["text", "markdown", "jsonl"], default="text", help="what - is (text by default)"
    )


def one_file(given: argparse.Namespace) -> tuple[documents.Source, Chunker]:
    """The file of a command line and the chunker for it.

    Raises:
        UsageError: not one file, or options that the strategy does not take.
    """
    options = strategy_options(given)
    sources = documents.find([given.file], given.stdin_format)
    if len(sources) != 1 or os.path.isdir(given.file):
        raise UsageError(f"{given.file} is not one file")
    name: str = given.strategy
    fitting: dict[str, Any] = {}
    if name == "auto":
        name = sources[0].strategy
        first = next(documents.read(sources[0], loose=True), None) if sources[0].stamp else None
        if first is not None and sources[0].format == "jsonl":
            name = first.strategy or name
        elif first is not None:
            try:
                name, fitting = strategies.choose(sources[0].name, first.text)
            except ValueError as error:
                raise documents.InputError(f"{sources[0].name}: {error}") from None
    known = strategies.parameters(name)
    encoder = as_encoder(encoder_name(given.encoder)) if "encoder" in known else None
    if given.strategy == "auto":
        options = sized(name, {option: value for option, value in options.items() if option in known}) | fitting
    try:
        return sources[0], strategies.make(name, options, shared={"tokenizer": given.tokenizer, "encoder": encoder})
    except ValueError as error:
        raise UsageError(str(error)) from error


def read(source: documents.Source, chunker: Chunker, strategy: str) -> Iterator[tuple[documents.Document, Any]]:
    """The documents of a source, each with what the chunker takes."""
    for document in documents.read(source, loose=strategy == "auto"):
        conversation = document.messages is not None and isinstance(chunker, ChatChunker)
        yield document, document.messages if conversation else document.text


def add_strategy_options(parser: argparse.ArgumentParser) -> None:
    names = list(strategies.names())
    group = parser.add_argument_group("how to cut")
    group.add_argument(
        "--strategy",
        choices=["auto", *names],
        default="auto",
        metavar="NAME",
        help=f"auto (by the file's suffix or content; the default), {', '.join(names)}",
    )
    group.add_argument("--max-tokens", type=whole(1), metavar="N", help="the most tokens in a chunk")
    group.add_argument("--min-tokens", type=whole(0), metavar="N", help="the least tokens, where the maximum allows")
    group.add_argument("--overlap", type=whole(0), metavar="N", help="the most tokens that a chunk repeats of the last")
    group.add_argument(
        "--tokenizer",
        default="bert",
        metavar="NAME",
        help="bert (the default), words, chars, bytes, or the path of a tokenizer.json or vocab.txt",
    )
    group.add_argument("--language", metavar="CODE", help="language of the text, for the sentence rules; of code")
    group.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="OPTION=VALUE",
        help="any other option of the strategy, the value as JSON or plain text: --set percentile=95 --set method=greedy",
    )


def strategy_options(given: argparse.Namespace) -> dict[str, Any]:
    """The options of the strategy out of a command line.

    Raises:
        UsageError: an option that the strategy does not have.
    """
    options: dict[str, Any] = {}
    for name in ("max_tokens", "min_tokens", "overlap", "language"):
        if getattr(given, name) is not None:
            options[name] = getattr(given, name)
    for entry in given.set:
        name, equals, text = entry.partition("=")
        name = name.replace("-", "_")
        if not equals or not name:
            raise UsageError(f"--set must be OPTION=VALUE, not {entry!r}")
        if name in ("encoder", "tokenizer"):
            raise UsageError(f"--set {name}: use --{name}")
        try:
            options[name] = json.loads(text)
        except ValueError:
            options[name] = text
    if given.strategy != "auto":
        _require_known(options, {given.strategy: strategies.parameters(given.strategy)})
    else:
        _require_known(options, {name: strategies.parameters(name) for name in strategies.names()})
    return options


def _require_known(options: Mapping[str, Any], known: Mapping[str, list[str]]) -> None:
    for name in options:
        if not any(name in parameters for parameters in known.values()):
            which = f"the strategy {next(iter(known))} has" if len(known) == 1 else "the strategies have"
            raise UsageError(f"{which} no option {name}")


def tokenizer_name(name: str) -> str:
    """The tokenizer's name, or its absolute path."""
    return name if name in ("bert", "words", "chars", "bytes") else os.path.abspath(name)


def encoder_name(name: str) -> str:
    """An encoder as it is recorded in an index: paths absolute, names as they are."""
    return os.path.abspath(name) if os.path.exists(name) else name


def as_encoder(name: str, **options: Any) -> Any:
    """The encoder of a name or path, fetched first (with a progress bar) when it is a known model."""
    from rapidchunk import encoders, models

    if models.known(name) and not os.path.exists(name):
        fetch(name)
    return encoders.as_encoder(name, **options)


def fetch(name: str) -> os.PathLike[str]:
    """The folder of a model; a progress bar while it is fetched."""
    from rapidchunk import models

    with Bar(f"fetching {name}") as bar:
        return models.get(name, progress=bar.update)
