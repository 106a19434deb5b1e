"""Records of JSON lines: a text, or messages, with an id and metadata."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from rapidchunk._surrogates import without_surrogates
from rapidchunk.chunkers.turns import message_turns

__all__ = ["InputError", "Record", "as_object", "conversation", "decode", "read"]

TEXTS = ("text", "content", "page_content", "body")
CONVERSATIONS = ("messages", "conversations")


class InputError(ValueError):
    """An input cannot be read as what it should be; the message names the file and, in it, the line (0: no line)."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Record:
    """A record, read.

    Attributes:
        text: the value of "text", else of "content", "page_content" or "body"; of a conversation, its messages as lines.
        id: None where the record has none.
        metadata: all further keys.
        messages: those of a conversation ("messages" or "conversations").
        strategy: what suits it, if it is no plain text.
        message: the record itself, if it may be one message of a conversation.
    """

    text: str
    id: str | None
    metadata: dict[str, Any]
    messages: list[dict[str, Any]] | None = None
    strategy: str | None = None
    message: dict[str, Any] | None = None

    @property
    def is_message(self) -> bool:
        return self.message is not None


def read(line: str, place: str, loose: bool = False) -> Record:
    """A line's record.

    Args:
        line: the JSON.
        place: file and line, for messages.
        loose: a record that has neither text nor messages is its own JSON, as text.

    Raises:
        InputError: the line is not JSON, no object, or has nothing that is to be cut.
    """
    record = as_object(line, place)
    message = dict(record) if "role" in record and "content" in record and "text" not in record else None
    id = record.pop("id", None)
    if id is not None and (isinstance(id, bool) or not isinstance(id, (str, int))):
        raise InputError(f'{place}: "id" must be a string or a whole number, not {_kind(id)}')
    name = None if id is None else without_surrogates(str(id))
    key = next((key for key in CONVERSATIONS if isinstance(record.get(key), list) and "text" not in record), None)
    if key is not None:
        messages, text = conversation(record.pop(key), place)
        return Record(text, name, record, messages, "chat")
    key = next((key for key in TEXTS if isinstance(record.get(key), str)), None)
    if key is not None and (key == "text" or "text" not in record):
        return Record(without_surrogates(record.pop(key)), name, record, message=message)
    if message is not None:  # its content is a list of parts, or null
        messages, text = conversation([message], place)
        return Record(text, name, record, messages, "chat", message)
    if loose and "text" not in record:
        return Record(without_surrogates(line.strip()), name, {}, strategy="recursive")
    if record.get("text") is not None:
        raise InputError(f'{place}: a record must have a string "text", not {_kind(record["text"])}')
    keys = ", ".join(f'"{key}"' for key in list(record)[:5]) or "nothing"
    raise InputError(f'{place}: a record must have a string "text" (or "messages"); it has {keys}')


def conversation(messages: list[Any], place: str) -> tuple[list[dict[str, Any]], str]:
    """Messages and their text.

    Raises:
        InputError: one is no message.
    """
    try:
        text, _ = message_turns(messages)
    except ValueError as error:
        raise InputError(f"{place}: {error}") from None
    return messages, without_surrogates(text)


def as_object(line: str, place: str) -> dict[str, Any]:
    """The object in a line.

    Raises:
        InputError: the line is not JSON, or no object.
    """
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        reason = f"{error.msg} at character {error.pos}" if isinstance(error, json.JSONDecodeError) else "too deep"
        raise InputError(f"{place}: not JSON: {reason}") from None
    except ValueError as error:
        raise InputError(f"{place}: not JSON: {error}") from None  # a number of too many digits
    if not isinstance(record, dict):
        raise InputError(f'{place}: a record must be an object with a "text", not {_kind(record)}')
    return record


def decode(data: bytes, place: str) -> str:
    """UTF-8, with or without a byte order mark.

    Raises:
        InputError: it is not UTF-8.
    """
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
