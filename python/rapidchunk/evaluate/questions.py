"""Questions with the passages that answer them, from JSON lines, located exactly in the documents."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Problem", "Question", "locate", "read_questions"]


@dataclass(frozen=True)
class Question:
    """A question and where its answer is.

    Attributes:
        text: the question.
        document: number of the document that holds the answer.
        spans: (start, end) of every passage of the answer, code points, half open, in order.
        id: what the file says, else "line N".
    """

    text: str
    document: int
    spans: tuple[tuple[int, int], ...]
    id: str


@dataclass(frozen=True)
class Problem:
    """A record that cannot be used: its line in the file and what is wrong with it."""

    line: int
    reason: str


class _Unusable(Exception):
    pass


def read_questions(
    path: str | os.PathLike[str], documents: Mapping[str, str] | Sequence[str]
) -> tuple[list[Question], list[Problem]]:
    """The questions of a JSON lines file. See `locate` for what a line holds.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not UTF-8.
    """

    def records() -> Iterable[tuple[int, Any]]:
        with open(path, encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    try:
                        yield number, json.loads(line)
                    except (ValueError, RecursionError) as error:
                        yield number, _Unusable(f"not JSON: {error}")

    return _locate_all(records(), documents)


def locate(
    records: Iterable[Any], documents: Mapping[str, str] | Sequence[str]
) -> tuple[list[Question], list[Problem]]:
    """Finds the answers of questions in the documents.

    Args:
        records: mappings with
            "question": str;
            "document": the document's id (a key of `documents`, or its number where `documents` is a list); may be left out
                where the answers are in one document only;
            "answers": a str, an object {"text", "start"}, or a list of these: passages that the answer consists of. A text is
                looked for as it stands, character by character; with "start" (code points) it must be right there;
            or "spans": a list of [start, end] in the document, code points, half open;
            "id": optional.
        documents: texts by id, or a list of texts.

    Returns:
        The questions, and the records that cannot be used: an answer that is nowhere, or in more than one place (give
        "start" or "spans" then), or a malformed record. Line numbers count the records from 1.
    """
    return _locate_all(enumerate(records, 1), documents)


def _locate_all(
    records: Iterable[tuple[int, Any]], documents: Mapping[str, str] | Sequence[str]
) -> tuple[list[Question], list[Problem]]:
    named = documents if isinstance(documents, Mapping) else dict(zip(map(str, range(len(documents))), documents))
    number_of = {name: number for number, name in enumerate(named)}
    questions: list[Question] = []
    problems: list[Problem] = []
    for line, record in records:
        try:
            questions.append(_question(line, record, named, number_of))
        except _Unusable as error:
            problems.append(Problem(line, str(error)))
    return questions, problems


def _question(line: int, record: Any, documents: Mapping[str, str], number_of: Mapping[str, int]) -> Question:
    if isinstance(record, _Unusable):
        raise record
    if not isinstance(record, Mapping):
        raise _Unusable(f'a record must be an object with a "question", not {type(record).__name__}')
    text = record.get("question")
    if not isinstance(text, str) or not text.strip():
        raise _Unusable('"question" must be a str that is not blank')
    document = record.get("document")
    if document is not None and str(document) not in documents:
        raise _Unusable(f"there is no document {document!r}")
    among = documents if document is None else {str(document): documents[str(document)]}
    if ("spans" in record) == ("answers" in record):
        raise _Unusable('a record must have "answers" or "spans", and not both')
    if "spans" in record:
        if document is None:
            raise _Unusable('"spans" need a "document"')
        name, spans = str(document), [_span(span, len(documents[str(document)])) for span in _many(record["spans"])]
    else:
        name, spans = _find(_many(record["answers"]), among)
    if not spans:
        raise _Unusable("the answer has no passage")
    return Question(text, number_of[name], tuple(sorted(spans)), str(record.get("id", f"line {line}")))


def _many(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _span(span: Any, length: int) -> tuple[int, int]:
    whole = isinstance(span, (list, tuple)) and len(span) == 2 and all(type(edge) is int for edge in span)
    if not whole or not 0 <= span[0] < span[1] <= length:
        raise _Unusable(f"a span must be [start, end] within the document's {length} characters, not {span!r}")
    return span[0], span[1]


def _find(answers: list[Any], documents: Mapping[str, str]) -> tuple[str, list[tuple[int, int]]]:
    """The document that holds all the answers, and their spans."""
    wanted = [_answer(answer) for answer in answers]
    if not wanted:
        raise _Unusable("the answer has no passage")
    holding = [name for name, text in documents.items() if all(there(text) for _, there in wanted)]
    if not holding:
        missing = next(
            (answer for answer, there in wanted if not any(there(text) for text in documents.values())), wanted[0][0]
        )
        where = f"document {next(iter(documents))!r}" if len(documents) == 1 else "any document"
        raise _Unusable(f"the answer {_short(missing)} is not in {where}, word for word")
    if len(holding) > 1:
        raise _Unusable(f"the answer is in {len(holding)} documents, {holding[0]!r} and {holding[1]!r}: say which")
    spans = []
    for answer, there in wanted:
        places = there(documents[holding[0]])
        if len(places) > 1:
            shown = ", ".join(map(str, places[:3])) + (", ..." if len(places) > 3 else "")
            raise _Unusable(
                f'the answer {_short(answer)} is in {holding[0]!r} more than once (at {shown}): give its "start"'
            )
        spans.append((places[0], places[0] + len(answer)))
    return holding[0], spans


def _answer(answer: Any) -> tuple[str, Callable[[str], list[int]]]:
    """An answer's text, and what finds its places in a document: at most four, enough to say that there are many."""
    text, start = (answer.get("text"), answer.get("start")) if isinstance(answer, Mapping) else (answer, None)
    if not isinstance(text, str) or not text:
        raise _Unusable(f'an answer must be a str or an object with a "text", not {answer!r}')
    if start is None:
        return text, lambda document: _places(document, text)
    if type(start) is not int or start < 0:
        raise _Unusable(f'"start" must be a number of characters, not {start!r}')
    return text, lambda document: [start] if document.startswith(text, start) else []


def _places(document: str, text: str) -> list[int]:
    found: list[int] = []
    at = document.find(text)
    while at >= 0 and len(found) < 4:
        found.append(at)
        at = document.find(text, at + 1)
    return found


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
