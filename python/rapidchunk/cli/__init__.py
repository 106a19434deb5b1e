"""The command line: ``rapidchunk index | search | chunk | view | tune | models``.

Exit codes: 0 done, 1 failed (one line on standard error says why), 2 wrong usage, 130 interrupted, 141 the reader of the
output went away.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from rapidchunk._version import __version__
from rapidchunk.cli import chunk, index, models, search, tune, view
from rapidchunk.cli.common import UsageError

__all__ = ["main"]

COMMANDS = (index, search, chunk, view, tune, models)


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    whole = argparse.ArgumentParser(
        prog="rapidchunk", description="Cuts documents into chunks for retrieval, and finds them again."
    )
    whole.add_argument("--version", action="version", version=f"rapidchunk {__version__}")
    commands = whole.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_parser(commands)
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line; the exit code. ``RAPIDCHUNK_TRACEBACK=1`` shows where an error comes from."""
    try:
        given = parser().parse_args(arguments)
    except SystemExit as stop:  # --help, --version or wrong usage
        return int(stop.code or 0)
    try:
        code: int = given.run(given)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("rapidchunk: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Nobody reads on; nor shall the interpreter try to write the rest when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        if os.environ.get("RAPIDCHUNK_TRACEBACK", "0") not in ("", "0"):
            raise
        usage = isinstance(error, UsageError)
        print(f"rapidchunk {given.command}: {'' if usage else 'error: '}{_message(error)}", file=sys.stderr)
        return 2 if usage else 1


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MemoryError):
        return "not enough memory"
    text = " ".join(str(error).split("\n"))
    # The exceptions of this library speak for themselves.
    ours = isinstance(error, (ValueError, ImportError)) or type(error).__module__.startswith("rapidchunk")
    return text if ours and text else f"{type(error).__name__}: {text}"
