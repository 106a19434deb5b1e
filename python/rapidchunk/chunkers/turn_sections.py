"""Turns of a conversation -> sections."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

from rapidchunk.chunkers.sections import Section
from rapidchunk.chunkers.turns import Turn
from rapidchunk.columns import Column

__all__ = ["TurnSections"]


class TurnSections(Column):
    """A `Section` a turn, made when it is asked for (a conversation may have millions). Its values are the turn.

    Args:
        turns: (start, end, turn) in order.
        max_gap: seconds from which on two turns are apart, or None.
    """

    def __init__(self, turns: Iterable[tuple[int, int, Turn]], max_gap: float | None) -> None:
        self._start, self._end, self._number, self._apart = array("q"), array("q"), array("q"), bytearray()
        self._speaker: list[str | None] = []
        self._time: list[str | None] = []
        self._seconds: list[float | None] = []
        self._context: dict[str | None, tuple[str, ...]] = {}
        before: float | None = None
        for start, end, turn in turns:
            self._start.append(start)
            self._end.append(end)
            self._number.append(turn.number)
            self._apart.append(max_gap is not None and _gap(before, turn.seconds) >= max_gap)
            before = before if turn.seconds is None else turn.seconds
            self._speaker.append(turn.speaker)
            self._time.append(turn.time)
            self._seconds.append(turn.seconds)
            if turn.speaker not in self._context:
                self._context[turn.speaker] = (f"{turn.speaker}: ",) if turn.speaker else ()

    def __len__(self) -> int:
        return len(self._start)

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, slice):
            return [self[row] for row in range(*item.indices(len(self)))]
        speaker = self._speaker[item]
        turn = Turn(speaker, self._time[item], self._seconds[item], self._number[item])
        context = self._context[speaker]
        return Section(self._start[item], self._end[item], (), turn, context, bool(self._apart[item]))


def _gap(before: float | None, after: float | None) -> float:
    """Seconds between two turns; less than any gap where a time is not known."""
    if before is None or after is None:
        return -1.0
    gap = after - before
    return gap + 86400 if -86400 < gap < 0 else gap  # times of day begin again at midnight
