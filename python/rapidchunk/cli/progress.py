"""A progress bar on standard error, only where that is a terminal."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TextIO

__all__ = ["Bar"]


class Bar:
    """One line that is drawn over: ``label  42% [######      ] note``. Use as a context; the line is wiped at the end.

    Args:
        label: what is going on.
        stream: where to draw, standard error by default; nothing is drawn unless it is a terminal.
    """

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self.label = label
        self.stream = sys.stderr if stream is None else stream
        self.shown = self.stream.isatty()
        self.begun = time.monotonic()
        self.drawn = 0.0

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *exc: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Wipes the line, so that something else can be printed."""
        if self.shown and self.drawn:
            self.stream.write("\r\x1b[K")
            self.stream.flush()

    def update(self, done: int, total: int, note: str = "") -> None:
        """Draws, at most ten times a second. `total` 0: not known."""
        now = time.monotonic()
        if not self.shown or now - self.drawn < 0.1:
            return
        self.drawn = now
        if total:
            share = min(done / total, 1.0)
            width = max(10, min(30, shutil.get_terminal_size().columns - 60))
            full = int(share * width)
            left = (now - self.begun) * (1 - share) / share if share > 0.01 else None
            line = f"{self.label} {share:4.0%} [{'#' * full}{' ' * (width - full)}] {note}"
            line += f"  {_clock(left)} left" if left is not None else ""
        else:
            line = f"{self.label} {done / 1e6:.1f} MB {note}"
        self.stream.write("\r" + line[: shutil.get_terminal_size().columns - 1] + "\x1b[K")
        self.stream.flush()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
