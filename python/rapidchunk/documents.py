"""Documents out of files: text of any kind and JSON lines, from folders, patterns and standard input, one at a time."""

from __future__ import annotations

import glob
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from rapidchunk import strategies
from rapidchunk._html_encoding import html_encoding
from rapidchunk._surrogates import without_surrogates

__all__ = ["STDIN", "Document", "InputError", "Source", "find", "read"]

STDIN = "-"
JSONL = frozenset({".jsonl", ".ndjson"})
TEXT = frozenset({".txt", ".text", ".md", ".markdown", ".rst"})
#: The name that documents from standard input have.
STDIN_NAME = "<stdin>"


class InputError(ValueError):
    """An input cannot be read as what it should be; the message names the file and, in it, the line (0: no line)."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Source:
    """One input file.

    Attributes:
        name: as the user sees it: the path as given, or found below the folder given.
        format: "text" (Markdown too) or "jsonl".
        size: bytes; 0 for standard input.
        stamp: time of the last change in ns; 0 for standard input.
        strategy: what "auto" takes for it, as far as the name tells.
    """

    name: str
    format: str
    size: int
    stamp: int
    strategy: str


@dataclass(frozen=True)
class Document:
    """A document of a source.

    Attributes:
        id: what the input says, else the source's name, with the line for JSON lines.
        line: line of the record in a JSON lines file, else None.
        read: bytes of the source that were read so far.
    """

    id: str
    text: str
    source: Source
    read: int
    line: int | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


def find(paths: Sequence[str], stdin_format: str = "text") -> list[Source]:
    """The files of paths, in the order of the paths, sorted within a folder or a pattern; each file once.

    Args:
        paths: files (taken as JSON lines by the suffixes .jsonl and .ndjson, else as text), folders (searched for files of known
            suffixes; names that begin with a dot are left out), patterns like ``docs/**/*.md``, and "-".
        stdin_format: "text", "markdown" or "jsonl", for "-".

    Raises:
        InputError: a path is not there, a pattern matches nothing, a folder has no file of a known suffix.
    """
    found: dict[str, Source] = {}
    for path in paths:
        if path == STDIN:
            suffix = {"markdown": ".md", "jsonl": ".jsonl"}.get(stdin_format, ".txt")
            format = "jsonl" if stdin_format == "jsonl" else "text"
            found.setdefault(path, Source(STDIN_NAME, format, 0, 0, strategies.strategy_of(suffix)))
            continue
        if os.path.isdir(path):
            files = list(_below(path))
            if not files:
                raise InputError(
                    f"{path}: no file with a suffix of {', '.join(sorted(_known_suffixes()))} in this folder"
                )
        elif os.path.exists(path):
            files = [path]
        elif glob.has_magic(path):
            files = [file for file in sorted(glob.glob(path, recursive=True)) if os.path.isfile(file)]
            if not files:
                raise InputError(f"{path}: no file matches this pattern")
        else:
            raise InputError(f"{path}: no such file or folder")
        for file in files:
            found.setdefault(os.path.realpath(file), _source(file))
    return list(found.values())


def read(
    source: Source, stdin: IO[bytes] | None = None, on_error: Callable[[InputError], object] | None = None
) -> Iterator[Document]:
    """The documents of a source, one at a time: the whole of a text file, the lines of JSON lines.

    A record is an object with a string "text"; "id" names the document, all further keys are its metadata.

    Args:
        source: from `find`.
        stdin: in place of the standard input.
        on_error: called with what is wrong with a file or a record, which is then left out; else the error is raised.

    Raises:
        InputError: the source cannot be read, is not UTF-8 (or, of HTML, what it declares), or a record is not as it should be.
    """
    fail = on_error or _raise
    try:
        file = (stdin or sys.stdin.buffer) if source.name == STDIN_NAME else open(source.name, "rb")  # noqa: SIM115
    except OSError as error:
        fail(InputError(f"{source.name}: {error.strerror or error}"))
        return
    try:
        if source.format == "jsonl":
            yield from _records(source, file, fail)
        else:
            data = file.read()
            yield Document(source.name, _text(data, source), source, len(data))
    except OSError as error:
        fail(InputError(f"{source.name}: {error.strerror or error}"))
    except InputError as error:
        fail(error)
    finally:
        if source.name != STDIN_NAME:
            file.close()


def _records(source: Source, file: IO[bytes], fail: Callable[[InputError], object]) -> Iterator[Document]:
    done = 0
    for number, data in enumerate(file, 1):
        done += len(data)
        if not data.strip():
            continue
        try:
            yield _record(source, data, number, done)
        except InputError as error:
            error.line = number
            fail(error)


def _record(source: Source, data: bytes, number: int, done: int) -> Document:
    place = f"{source.name}:{number}"
    try:
        record = json.loads(_decode(data, place))
    except (json.JSONDecodeError, RecursionError) as error:
        reason = f"{error.msg} at character {error.pos}" if isinstance(error, json.JSONDecodeError) else "too deep"
        raise InputError(f"{place}: not JSON: {reason}") from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{place}: not JSON: {error}") from None  # a number of too many digits
    if not isinstance(record, dict):
        raise InputError(f'{place}: a record must be an object with a "text", not {_kind(record)}')
    text = record.pop("text", None)
    if not isinstance(text, str):
        raise InputError(
            f'{place}: a record must have a string "text"' + ("" if text is None else f", not {_kind(text)}")
        )
    id = record.pop("id", None)
    if id is not None and (isinstance(id, bool) or not isinstance(id, (str, int))):
        raise InputError(f'{place}: "id" must be a string or a whole number, not {_kind(id)}')
    name = place if id is None else without_surrogates(str(id))
    return Document(name, without_surrogates(text), source, done, number, record)


def _text(data: bytes, source: Source) -> str:
    """The text of a file; HTML may say what it is encoded in."""
    codec, mark = html_encoding(data) if source.strategy == "html" else (None, 0)
    return _decode(data, source.name) if codec in (None, "utf-8") else data[mark:].decode(codec, "replace")


def _decode(data: bytes, place: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{place}: not UTF-8: {error.reason} at byte {error.start}") from None


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    return {bool: "true or false", int: "a number", float: "a number", str: "a string", list: "a list"}.get(
        type(value), "an object"
    )


def _raise(error: InputError) -> None:
    raise error


def _known_suffixes() -> set[str]:
    known = strategies.names()
    return {*JSONL, *TEXT, *strategies.BY_CONTENT} | {
        suffix for suffix, name in strategies.SUFFIXES.items() if name in known
    }


def _below(folder: str) -> Iterator[str]:
    suffixes = _known_suffixes()
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if not name.startswith(".") and Path(name).suffix.lower() in suffixes:
                yield os.path.join(place, name)


def _source(file: str) -> Source:
    try:
        stat = os.stat(file)
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from None
    format = "jsonl" if Path(file).suffix.lower() in JSONL else "text"
    # Of a pipe or device nothing is known before it is read.
    regular = os.path.isfile(file)
    return Source(
        file, format, stat.st_size if regular else 0, stat.st_mtime_ns if regular else 0, strategies.strategy_of(file)
    )
