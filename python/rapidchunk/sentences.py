"""The sentence stage on its own, and sentence splitters given by the user."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, overload

import numpy as np

from rapidchunk import _core

__all__ = ["byte_spans", "sentence_spans", "splitter_spans"]

Splitter = Callable[[str], Iterable[Any]]


@overload
def sentence_spans(texts: str, language: str | None = None, *, newline_is_boundary: bool = False) -> np.ndarray: ...
@overload
def sentence_spans(
    texts: Any, language: str | None = None, *, newline_is_boundary: bool = False
) -> tuple[np.ndarray, np.ndarray]: ...
def sentence_spans(
    texts: Any, language: str | None = None, *, newline_is_boundary: bool = False
) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
    """Finds sentences.

    Args:
        texts: a str, a sequence of str, or an Arrow string array.
        language: ISO 639-1 code ("en", "de", ...) for the abbreviations and habits of one language; None takes the union.
        newline_is_boundary: every line break ends a sentence. Otherwise only blank lines do, and line breaks beside list items,
            headings and table rows.

    Returns:
        For a str: spans int64 [n, 2], code points, half open, without the white space between. For many: the spans of all
        and document offsets int64 [D + 1].

    Raises:
        ValueError: a text is not a str, or the language is not known.
    """
    one = isinstance(texts, str)
    if isinstance(texts, (bytes, bytearray)) or not (
        one or hasattr(texts, "__len__") or hasattr(texts, "__arrow_c_stream__")
    ):
        raise ValueError(f"texts must be a str or a sequence of str, not {type(texts).__name__}")
    if hasattr(texts, "__arrow_c_array__") or hasattr(texts, "__arrow_c_stream__"):
        batch = _core.Texts.from_arrow(texts)
    else:
        batch = _core.Texts([texts] if one else list(texts))
    points, offsets = _core.sentence_spans(batch, language, newline_is_boundary, characters=True)
    return points if one else (points, offsets)


def code_points(texts: _core.Texts, spans: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Byte spans int64 [n, 2] that do not overlap, as code point spans."""
    document = np.repeat(np.arange(len(texts)), 2 * np.diff(offsets))
    return _core.code_point_offsets(texts, document, spans.reshape(-1)).reshape(-1, 2)


def sentence_rules(
    language: str | None, newline_is_boundary: bool, splitter: Splitter | None
) -> tuple[str | None, bool, Splitter | None]:
    """The settings of `byte_spans` that chunkers take, refused now rather than with the first document.

    Raises:
        ValueError: the language is not known, or the splitter cannot be called.
    """
    if splitter is not None and not callable(splitter):
        raise ValueError(f"splitter must be callable, not {splitter!r}")
    _core.sentence_spans(_core.Texts([]), language, False)
    return language, bool(newline_is_boundary), splitter


def byte_spans(
    texts: _core.Texts, splitter: Splitter | None, language: str | None, newline_is_boundary: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Sentences of a batch as byte spans int64 [n, 2] and document offsets int64 [D + 1], by our rules or by `splitter`."""
    if splitter is None:
        return _core.sentence_spans(texts, language, newline_is_boundary)
    return splitter_spans(texts, splitter)


def splitter_spans(texts: _core.Texts, splitter: Splitter) -> tuple[np.ndarray, np.ndarray]:
    """The sentences that a user's splitter gives, as byte spans int64 [n, 2] and document offsets int64 [D + 1].

    The splitter may give strings (nltk's sent_tokenize, pysbd), (start, end) pairs (nltk's span_tokenize), or objects with
    start_char and end_char (spaCy: ``lambda text: nlp(text).sents``).

    Raises:
        ValueError: a sentence does not occur in the text after the one before, or a span is not inside the text or not
            in order; names the document's number.
    """
    rows: list[tuple[int, int]] = []
    offsets = np.zeros(len(texts) + 1, np.int64)
    for document in range(len(texts)):
        text, at = texts[document], 0
        for sentence in splitter(text):
            start, end = _span(sentence, text, at, document)
            start, end = _trimmed(text, start, end)
            if start < at or end > len(text):
                raise ValueError(
                    f"splitter gives the span ({start}, {end}) out of order or outside document {document}"
                )
            if start < end:
                # What the splitter leaves out between two sentences goes to the one before.
                if text[at:start].strip() and len(rows) > offsets[document]:
                    rows[-1] = (rows[-1][0], _trimmed(text, at, start)[1])
                elif text[at:start].strip():
                    start = _trimmed(text, at, start)[0]
                rows.append((start, end))
                at = end
        if text[at:].strip():
            tail = _trimmed(text, at, len(text))
            if len(rows) > offsets[document]:
                rows[-1] = (rows[-1][0], tail[1])
            else:
                rows.append(tail)
        offsets[document + 1] = len(rows)
    found = np.array(rows, np.int64).reshape(-1, 2)
    return _core.byte_offsets(texts, offsets, found), offsets


def _span(sentence: Any, text: str, at: int, document: int) -> tuple[int, int]:
    if isinstance(sentence, str):
        wanted = sentence.strip()
        start = text.find(wanted, at)
        if start < 0:
            raise ValueError(f"splitter gives a sentence that is not in document {document}: {wanted[:60]!r}")
        return start, start + len(wanted)
    if hasattr(sentence, "start_char"):
        return sentence.start_char, sentence.end_char
    start, end = sentence
    return int(start), int(end)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), end - (len(piece) - len(piece.rstrip()))
