"""Documents out of files: text of any kind and JSON lines, from folders, patterns and standard input, one at a time."""

from __future__ import annotations

import glob
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from rapidchunk import records, strategies
from rapidchunk._html_encoding import html_encoding
from rapidchunk.records import InputError, decode

__all__ = ["STDIN", "Document", "InputError", "Source", "find", "read"]

STDIN = "-"
JSONL = frozenset({".jsonl", ".ndjson"})
TEXT = frozenset({".txt", ".text", ".md", ".markdown", ".rst"})
#: The name that documents from standard input have.
STDIN_NAME = "<stdin>"


@dataclass(frozen=True)
class Source:
    """One input file.

    Attributes:
        name: as the user sees it: the path as given, or found below the folder given.
        format: "text" (Markdown too) or "jsonl".
        size: bytes; 0 for standard input.
        stamp: time of the last change in ns; 0 for standard input.
        strategy: what "auto" takes for it, as far as the name tells.
        document: the name of its document: the path below the folder given, so that the folder may lie anywhere.
    """

    name: str
    format: str
    size: int
    stamp: int
    strategy: str
    document: str


@dataclass(frozen=True)
class Document:
    """A document of a source.

    Attributes:
        id: what the input says, else the name of the source's document, with the line for JSON lines.
        line: line of the record in a JSON lines file, else None.
        named: the input says the id.
        read: bytes of the source that were read so far.
    """

    id: str
    text: str
    source: Source
    read: int
    line: int | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    named: bool = False
    strategy: str | None = None
    messages: list[dict[str, Any]] | None = None

    @property
    def place(self) -> str:
        """The file, as the user sees it, and the line of a record."""
        return self.source.name if self.line is None else f"{self.source.name}:{self.line}"


def find(paths: Sequence[str], stdin_format: str = "text") -> list[Source]:
    """The files of paths, in the order of the paths, sorted within a folder or a pattern; each file once.

    A document is named by its path below the folder given, or below the part of a pattern without wildcards; a single file by
    its name. Where two would have one name, the name of the folder given goes before it, else the whole path.

    Args:
        paths: files (taken as JSON lines by the suffixes .jsonl and .ndjson, else as text), folders (searched for files of known
            suffixes; names that begin with a dot are left out), patterns like ``docs/**/*.md``, and "-".
        stdin_format: "text", "markdown" or "jsonl", for "-".

    Raises:
        InputError: a path is not there, a pattern matches nothing, a folder has no file of a known suffix.
    """
    found: dict[str, tuple[str, str]] = {}  # by real path: the file, and the folder that it is named below
    for path in paths:
        if path == STDIN:
            found.setdefault(path, (path, ""))
            continue
        below = path
        if os.path.isdir(path):
            files = list(_below(path))
            if not files:
                raise InputError(
                    f"{path}: no file with a suffix of {', '.join(sorted(_known_suffixes()))} in this folder"
                )
        elif os.path.exists(path):
            files, below = [path], os.path.dirname(path)
        elif glob.has_magic(path):
            files = [file for file in sorted(glob.glob(path, recursive=True)) if os.path.isfile(file)]
            while glob.has_magic(below):
                below = os.path.dirname(below)
            if not files:
                raise InputError(f"{path}: no file matches this pattern")
        else:
            raise InputError(f"{path}: no such file or folder")
        for file in files:
            found.setdefault(os.path.realpath(file), (file, below))
    names = _names(list(found.values()))
    return [
        _stdin(stdin_format) if file == STDIN else _source(file, name) for (file, _), name in zip(found.values(), names)
    ]


def _names(files: list[tuple[str, str]]) -> list[str]:
    """The names of the documents of files, each given with the folder that it is named below."""
    short = [os.path.relpath(file, below or ".") if file != STDIN else STDIN for file, below in files]
    longer = [
        os.path.join(os.path.basename(os.path.abspath(below or ".")), name) for (_, below), name in zip(files, short)
    ]
    once, once_longer = Counter(short), Counter(longer)
    names = [
        name if once[name] == 1 else long if once_longer[long] == 1 and not once[long] else file
        for name, long, (file, _) in zip(short, longer, files)
    ]
    return [name.replace(os.sep, "/") for name in names]


def _stdin(format: str) -> Source:
    suffix = {"markdown": ".md", "jsonl": ".jsonl"}.get(format, ".txt")
    kind = "jsonl" if format == "jsonl" else "text"
    return Source(STDIN_NAME, kind, 0, 0, strategies.strategy_of(suffix), STDIN_NAME)


def read(
    source: Source,
    stdin: IO[bytes] | None = None,
    on_error: Callable[[InputError], object] | None = None,
    *,
    loose: bool = False,
) -> Iterator[Document]:
    """The documents of a source, one at a time: the whole of a text file, the lines of JSON lines (see `rapidchunk.records`). A
    JSON lines file whose first line is a message of a conversation is one document.

    Args:
        source: from `find`.
        stdin: in place of the standard input.
        on_error: called with what is wrong with a file or a record, which is then left out; else the error is raised.
        loose: a record that has no text is a document too, its own JSON.

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
            yield from _records(source, file, fail, loose)
        else:
            data = file.read()
            yield Document(source.document, _text(data, source), source, len(data))
    except OSError as error:
        fail(InputError(f"{source.name}: {error.strerror or error}"))
    except InputError as error:
        fail(error)
    finally:
        if source.name != STDIN_NAME:
            file.close()


def _records(source: Source, file: IO[bytes], fail: Callable[[InputError], object], loose: bool) -> Iterator[Document]:
    done = 0
    for number, data in enumerate(file, 1):
        done += len(data)
        if not data.strip():
            continue
        place = f"{source.name}:{number}"
        try:
            found = records.read(decode(data, place), place, loose)
            if found.is_message and not done - len(data):  # the file is one conversation
                yield _conversation(source, found, file)
                return
            name = f"{source.document}:{number}" if found.id is None else found.id
            named = found.id is not None
            yield Document(
                name, found.text, source, done, number, found.metadata, named, found.strategy, found.messages
            )
        except InputError as error:
            error.line = number
            fail(error)


def _conversation(source: Source, first: records.Record, file: IO[bytes]) -> Document:
    """A file with a message in every line."""
    data = file.read()
    lines = enumerate(data.splitlines(), 2)
    places = ((f"{source.name}:{number}", line) for number, line in lines if line.strip())
    more = [records.as_object(decode(line, place), place) for place, line in places]
    messages, text = records.conversation([first.message, *more], source.name)
    return Document(source.document, text, source, source.size, messages=messages, strategy="chat")


def _text(data: bytes, source: Source) -> str:
    """The text of a file; HTML may say what it is encoded in."""
    codec, mark = html_encoding(data) if source.strategy == "html" else (None, 0)
    return decode(data, source.name) if codec in (None, "utf-8") else data[mark:].decode(codec, "replace")


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


def _source(file: str, document: str) -> Source:
    try:
        stat = os.stat(file)
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from None
    format = "jsonl" if Path(file).suffix.lower() in JSONL else "text"
    # Of a pipe or device nothing is known before it is read.
    regular = os.path.isfile(file)
    return Source(
        file,
        format,
        stat.st_size if regular else 0,
        stat.st_mtime_ns if regular else 0,
        strategies.strategy_of(file),
        document,
    )
