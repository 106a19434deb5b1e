"""Conversations -> turns: transcripts as people paste and programs export them, and lists of messages."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rapidchunk._words import words

__all__ = ["Turn", "as_messages", "message_turns", "transcript_turns"]

_DATE = r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4},?[ T]"
_CLOCK = r"\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,6})?(?:[ \u202f]?[AaPp][Mm]|Z|[+-]\d\d:?\d\d)?"
_TIME = rf"(?:{_DATE})?{_CLOCK}"
_WORD = r"[@#]?\w[\w'’.&/-]{0,30}"
_NAME = rf"{_WORD}(?:[ \t]{_WORD}){{0,4}}"
_BOLD = r"(?:\*\*|__)"
_S = r"[ \t]{0,8}"  # never without a bound, so that a line of blanks takes linear time
_CUE = rf"(?:\d{{1,6}}{_S}\r?\n)?{_S}(?P<cue>{_CLOCK}){_S}-->{_S}{_CLOCK}[^\n]{{0,80}}\n{_S}"
_TURN = re.compile(
    # Subtitles: perhaps a number, then a line with the time, then the speaker if any.
    rf"^[ \t]{{0,200}}(?:{_CUE})?"
    # "Ada: ...", "**Ada:** ...", "[10:00] Ada: ...", "Ada (10:00): ...", "12/03/24, 10:15 - Ada: ...", "<ada> ..."
    rf"(?:(?:[\[(]?(?P<time>{_TIME})[\])]?{_S}[-–—,]?{_S})?"
    rf"(?:<(?P<nick>{_WORD})>|<v[ .](?P<voice>[^>\n]{{1,60}})>"
    rf"|(?:~[ \u202f])?{_BOLD}?(?P<name>{_NAME})(?:[ \t]?[\[(](?P<later>{_TIME})[\])])?"
    rf"(?:{_BOLD}?:{_BOLD}?(?=\s|\Z)|：))"
    # "Ada Lovelace  10:15 AM", "Ada — Today at 10:15" on a line of their own, the text below
    rf"|(?P<head>{_NAME})(?:[ \t]{{2,8}}|[ \t]{{1,3}}[—–|•·-][ \t]{{1,3}})(?:\w{{5,9}} at )?(?P<at>{_TIME}){_S}\r?$"
    # What happened at a time ("[10:16] * carol joins") is nobody's turn.
    rf"|(?P<event>\[{_TIME}\]|{_DATE}{_CLOCK}{_S}[-–—])[ \t]{{1,8}}(?=\S)|(?(cue)|(?!)))",
    re.MULTILINE,
)
# What begins a line before a colon and is nobody's name.
_NO_NAMES = words(
    """
    note notes nb time date warning error http https ps todo example re subject fwd cc bcc tip info hint
    caution important update edit summary agenda topic attachment link url source see default usage step
    result
    """
)
_PARTICLES = words(
    """
    de da di do del der den van von la le bin ibn al el y of the und
    """
)
_NAMES = ("name", "speaker", "author", "user", "from", "sender", "role")
_TEXTS = ("content", "text", "message", "body", "value")
_TIMES = ("time", "timestamp", "created_at", "create_time", "created", "date", "ts")
_LISTS = ("messages", "conversations", "conversation")  # where an object has them


class Turn(NamedTuple):
    speaker: str | None
    time: str | None
    seconds: float | None
    number: int


def transcript_turns(text: str) -> Iterator[tuple[int, int, Turn]]:
    """(start, end, turn) in order; together they are the text. What is before the first speaker is a turn of nobody."""
    known: dict[str | None, str | None] = {}  # one str for each speaker and time
    found = [_mark(match, known) for match in _TURN.finditer(text) if _speaks(match)]
    heads = sum(way == "head" for *_, way in found)
    if heads:  # one of the two ways to write names; the other is chance
        other = "name" if heads >= sum(way == "name" for *_, way in found) else "head"
        found = [mark for mark in found if mark[-1] != other]
    start, speaker, time, number = 0, None, None, 0
    for at, name, when, way in found:
        if way == "event" and time is None:
            continue
        if at > start and not text[start:at].isspace():
            yield start, at, Turn(speaker, time, _seconds(time), number)
            number += 1
        start, speaker, time = at, name, when
    if start < len(text):
        yield start, len(text), Turn(speaker, time, _seconds(time), number)


def _mark(match: re.Match[str], known: dict[str | None, str | None]) -> tuple[int, str | None, str | None, str]:
    """Where a turn begins, its speaker and time, and how it is marked: "event"; by a "name" or "head" without a time before it;
    or in some way that is never chance. A tuple of these is a tenth of a match."""
    event = match["event"]
    speaker = match["nick"] or match["voice"] or match["name"] or match["head"]
    time = match["time"] or match["later"] or match["at"] or match["cue"] or (event and event.strip("[] \t-–—"))
    timed = match["time"] is not None
    way = "event" if event else "head" if match["head"] else "name" if match["name"] and not timed else "sure"
    return match.start(), known.setdefault(speaker, speaker), known.setdefault(time, time), way


def _speaks(match: re.Match[str]) -> bool:
    name = match["name"] or match["head"]
    return name is None or _is_name(name)


def _is_name(name: str) -> bool:
    words = name.split()
    if len(words) == 1:
        return name.casefold() not in _NO_NAMES and not name.isdigit()
    return all(not word[0].islower() or word in _PARTICLES for word in words)


def as_messages(text: str) -> Any:
    """What JSON holds as messages: a list, the list in an object, or an object a line.

    Raises:
        ValueError: the text is not JSON.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        try:
            found = [json.loads(line) for line in text.splitlines() if line.strip()]
        except (ValueError, RecursionError):
            raise ValueError(f"messages must be JSON: {error}") from error
    if isinstance(found, dict):
        found = next((found[key] for key in _LISTS if isinstance(found.get(key), list)), [found])
    return found


def message_turns(messages: list[Any]) -> tuple[str, list[tuple[int, int, Turn]]]:
    """The messages as lines of "speaker: text", and (start, end, turn) of each.

    Raises:
        ValueError: a message is not an object with a text.
    """
    parts: list[str] = []
    turns = []
    at = 0
    for number, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise ValueError(f"message {number} must be an object, not {type(message).__name__}")
        speaker = next((str(message[key]) for key in _NAMES if message.get(key)), None)
        time = next((str(message[key]) for key in _TIMES if message.get(key) is not None), None)
        body = _body(message, number)
        line = f"{speaker}: {body}" if speaker else body
        parts.append(line)
        turns.append((at, at + len(line), Turn(speaker, time, _seconds(time), number)))
        at += len(line) + 1
    return "\n".join(parts), turns


def _body(message: Mapping[str, Any], number: int) -> str:
    """The text of a message: its content, or its parts' texts; and the calls of tools that it makes."""
    content = next((message[key] for key in _TEXTS if message.get(key) is not None), None)
    parts = content if isinstance(content, list) else [content]
    texts = [_part(part) for part in parts if part is not None]
    calls = [*(message.get("tool_calls") or ()), *([message["function_call"]] if message.get("function_call") else ())]
    for call in calls:
        function = call.get("function", call) if isinstance(call, Mapping) else {}
        texts.append(f"{function.get('name')}({function.get('arguments')})")
    if message.get("refusal"):
        texts.append(message["refusal"])
    if (content is None and not texts and "content" not in message) or not all(isinstance(t, str) for t in texts):
        raise ValueError(f"message {number} must have a text (one of the keys {', '.join(_TEXTS)})")
    return "\n".join(text for text in texts if text)


def _part(part: Any) -> Any:
    """The text of a part of a message; "" of an image and the like."""
    if not isinstance(part, Mapping):
        return part
    if part.get("type") == "tool_use":
        return f"{part.get('name')}({json.dumps(part.get('input'), ensure_ascii=False)})"
    if part.get("type") == "tool_result":
        inner = part.get("content")
        return "\n".join(map(str, map(_part, inner))) if isinstance(inner, list) else inner or ""
    return next((part[key] for key in ("text", "thinking", "refusal") if part.get(key)), "")


def _seconds(time: str | None) -> float | None:
    """A time as seconds, for differences: ISO 8601, seconds since 1970, or a time of day, with its date if there is one."""
    if time is None:
        return None
    try:
        return float(time)
    except ValueError:
        pass
    try:
        moment = datetime.datetime.fromisoformat(time.strip().replace("Z", "+00:00"))
        return moment.replace(tzinfo=moment.tzinfo or datetime.timezone.utc).timestamp()
    except ValueError:
        clock = re.search(r"(\d{1,2}):(\d\d)(?::(\d\d))?(?:[.,]\d+)?[ \u202f]?([AaPp])?", time)
    if not clock:
        return None
    hour = int(clock[1]) % 12 + 12 * (clock[4] in "Pp") if clock[4] else int(clock[1])
    return _day(time[: clock.start()]) * 86400.0 + hour * 3600 + int(clock[2]) * 60 + int(clock[3] or 0)


def _day(date: str) -> int:
    """The number of a day written in numbers: year first, or day before month where that can be; 0 without a date."""
    found = re.search(r"(\d{1,4})[-./](\d{1,2})[-./](\d{1,4})", date)
    if not found:
        return 0
    first, second, last = map(int, found.groups())
    year, month, day = (first, second, last) if len(found[1]) > 2 else (last, second, first)
    month, day = (day, month) if month > 12 else (month, day)
    try:
        return datetime.date(year + 2000 * (year < 100), month, day).toordinal()
    except ValueError:
        return 0
