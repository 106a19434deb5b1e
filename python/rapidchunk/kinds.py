"""The kind of a document: by its file's suffix, else by what is in it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from rapidchunk._words import words
from rapidchunk.chunkers.book import counted
from rapidchunk.chunkers.grammars import language_of
from rapidchunk.chunkers.turns import transcript_turns

__all__ = ["guess", "is_html"]

_MARKUP = frozenset({".md", ".markdown", ".html", ".htm", ".xhtml"})
_HEAD = 200_000  # characters that are looked at

_HTML = re.compile(r"(?i)\s*(?:<!doctype html|<html\b|<head\b|<body\b)")
# A heading has no other line with # beside it, as comments in configuration files have.
_HEADING = re.compile(r"(?:\A|\n[ \t]*\n)#{1,6} \S[^\n]*(?=\n(?!#)|\Z)")
_FENCE = re.compile(r"(?m)^(?:```|~~~)")
_CLAUSE = re.compile(r"(?m)^\s{0,8}(?:Article \d|§ ?\d|Section \d|\d{1,2}\.\d{1,2}\.? \S|\([a-z]\) )")
_LEGAL_WORDS = re.compile(r"(?i)\b(?:shall|hereby|herein|thereof|pursuant|whereas|indemnif\w+|liabilit\w+)\b")
_PAPER = re.compile(
    r"(?im)^\s*(?:\d\.?\s+)?(abstract|introduction|related work|methods?|results|conclusions?|references)\W*$"
)
_CHAPTER = re.compile(
    r"(?m)^\s*(?:CHAPTER|Chapter|PART|Part|BOOK|Book|KAPITEL|Kapitel|CHAPITRE|Chapitre) [\dIVXLC]+\b.{0,60}$"
)
# Keys of records, which are written as speakers are.
_KEYS = words(
    """
    files copyright license format source package version section priority maintainer depends architecture
    description homepage name title type id key value status from to cc subject date author url received return-path
    message-id mime-version content-type content-transfer-encoding
    """
)
_ROLES = words("user assistant system human bot ai gpt agent customer interviewer")


def is_html(text: Any) -> bool:
    """Whether a str or bytes begins as an HTML page does."""
    if isinstance(text, bytes):
        text = text[:2000].decode("latin-1")
    return isinstance(text, str) and _HTML.match(text[:2000].lstrip("\ufeff")) is not None


def guess(text: Any, suffix: str) -> tuple[str, str]:
    """The kind of a document (a key of `rapidchunk.presets.KINDS`), and why.

    Args:
        text: the document, None if only the suffix is known.
        suffix: in lower case, with its dot; empty if there is none.
    """
    if language_of(suffix):
        return "code", f"suffix {suffix}"
    if suffix in _MARKUP:
        return "docs", f"suffix {suffix}"
    if isinstance(text, list):
        return "chat", "a list of messages"
    if is_html(text):
        return "docs", "begins as HTML does"
    if not isinstance(text, str):
        return "general", f"nothing known about suffix {suffix}" if suffix else "no text to look at"
    head = text[:_HEAD]
    start = head.lstrip("\ufeff \t\r\n")
    if start[:1] in "{[" and start:
        found = _json(text)
        if found:
            return found
    if re.match(r"(?:openapi|swagger): *['\"]?\d", start):
        return "api", "begins with openapi or swagger"
    headings, fences = len(_HEADING.findall(head)), len(_FENCE.findall(head)) // 2
    if headings + fences >= 2:
        return "docs", f"{headings} Markdown headings and {fences} fenced blocks"
    for kind, look in (("chat", _conversation), ("paper", _paper), ("book", _book), ("legal", _legal)):
        why = look(head)
        if why:
            return kind, why
    return "general", "nothing special in the text"


def _json(text: str) -> tuple[str, str] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        try:
            value = [json.loads(line) for line in text.splitlines()[:3] if line.strip()]
        except (ValueError, RecursionError):
            return None
    if isinstance(value, Mapping):
        if "openapi" in value or "swagger" in value:
            return "api", "an object with openapi or swagger"
        value = value.get("messages", value.get("conversations"))
    if (
        isinstance(value, list)
        and value
        and all(isinstance(m, Mapping) and ("role" in m or "from" in m) for m in value)
    ):
        return "chat", "messages with roles"
    return None


def _conversation(head: str) -> str:
    """Several speakers, who come back, and few other lines."""
    lines = sum(1 for line in head.splitlines() if line.strip())
    turns = Counter(
        turn.speaker.casefold()
        for _, _, turn in transcript_turns(head)
        if turn.speaker and (turn.time or not turn.speaker[0].islower() or turn.speaker in _ROLES)
    )
    count, often = sum(turns.values()), turns.most_common(3)
    if count < 3 or count < 0.25 * lines or len(turns) < 2 or any(name in _KEYS for name, _ in often):
        return ""
    back = sum(number for number in turns.values() if number > 1)
    if back < 0.6 * count or often[0][1] > 0.8 * count:
        return ""
    return f"{count} turns of {len(turns)} speakers in {lines} lines"


def _paper(head: str) -> str:
    names = {name.lower().rstrip("s") for name in _PAPER.findall(head)}
    begins, ends = {"abstract", "introduction"} & names, {"reference", "conclusion"} & names
    return "has the sections of a paper" if len(names) >= 3 and begins and ends else ""


def _book(head: str) -> str:
    chapters = len(_CHAPTER.findall(head)) or len(counted(head))
    return f"{chapters} chapter headings" if chapters >= 2 else ""


def _legal(head: str) -> str:
    clauses, terms = len(_CLAUSE.findall(head)), len(_LEGAL_WORDS.findall(head))
    if clauses < 3 or terms < max(3, len(head) / 2000):
        return ""
    return f"{clauses} numbered clauses and {terms} words of contracts and laws"
