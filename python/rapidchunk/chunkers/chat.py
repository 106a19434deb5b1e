"""Conversations: whole turns, as many as fit."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rapidchunk import _core
from rapidchunk.chunkers.base import Chunker, choice, whole_number
from rapidchunk.chunkers.section_chunker import SectionChunker
from rapidchunk.chunkers.section_cutter import SectionCutter
from rapidchunk.chunkers.sections import Section, SectionColumns
from rapidchunk.chunkers.turn_sections import TurnSections
from rapidchunk.chunkers.turns import as_messages, message_turns, transcript_turns
from rapidchunk.chunks import Chunks

__all__ = ["ChatChunker"]


class ChatChunker(SectionChunker):
    """As many whole turns as `max_tokens` allows; only a turn that is too long by itself is cut, and each of its pieces
    knows the speaker.

    A document is a transcript, or messages in the OpenAI shape: a list of dicts, or JSON of it (or of an object with
    "messages"), or one JSON object a line. In a transcript a turn begins with "Ada: …", "**Ada:** …", "[10:00] Ada: …",
    "Ada (10:00): …", "12/03/24, 10:15 - Ada: …" or "<ada> …", with a line "Ada  10:00 AM" or "Ada — 10:00" above it, or with
    the time of subtitles; other lines go on with it, and events ("[10:16] * carol joins") are nobody's. Spans refer to
    `Chunks.document_text`: a transcript as it is; messages as lines of "speaker: text".

    Further columns of the result, beside those of `SectionChunker`:
        speaker: str, who speaks in all of the chunk, else None; speakers: list of str, in order of their first turn.
        time_start, time_end: str as given, of the first and the last turn that has one.
        turn_start, turn_end: int, the numbers of the first and last turn, from 0.
        context: has the speaker in front where the chunk begins inside a turn.

    Args:
        max_tokens, min_tokens, overlap, tokenizer, within: see `SectionChunker`. `overlap` repeats whole turns.
        overlap_turns: repeat at most this many whole turns (in place of `overlap`), where the maximum allows.
        max_gap: seconds between two turns from which on they never share a chunk.
        format: "transcript", "messages", or "auto": messages where the text is JSON.

    Raises:
        ValueError: a parameter is out of range; while chunking: a message is not an object with a text.
    """

    _fills = True

    def __init__(
        self,
        max_tokens: int = 256,
        overlap: int = 0,
        tokenizer: Any = None,
        *,
        min_tokens: int = 0,
        overlap_turns: int = 0,
        max_gap: float | None = None,
        format: str = "auto",
        within: Chunker | None = None,
    ) -> None:
        super().__init__(max_tokens, min_tokens, overlap, tokenizer, within)
        self.overlap_turns = whole_number("overlap_turns", overlap_turns, 0)
        if self.overlap and self.overlap_turns:
            raise ValueError("overlap and overlap_turns are both given; at most one may be")
        if max_gap is not None and (isinstance(max_gap, bool) or not isinstance(max_gap, (int, float)) or max_gap < 0):
            raise ValueError(f"max_gap must be a number of seconds, not {max_gap!r}")
        self.max_gap = max_gap
        self.format = choice("format", format, ("auto", "transcript", "messages"))

    def _check_document(self, text: Any, number: int) -> None:
        if text != []:  # a conversation without messages, here, where it cannot be a batch without documents
            super()._check_document(text, number)

    def _is_document(self, text: Any) -> bool:
        return isinstance(text, str) or (isinstance(text, list) and bool(text) and isinstance(text[0], Mapping))

    def _read(self, document: Any) -> tuple[str, Sequence[Section]]:
        messages = self._messages(document)
        if messages is None:
            text = str(document)
            return text, TurnSections(transcript_turns(text), self.max_gap)
        text, turns = message_turns(messages)
        return text, TurnSections(turns, self.max_gap)

    def _messages(self, document: Any) -> list[Any] | None:
        if not isinstance(document, str):
            return list(document)
        if self.format == "transcript" or (self.format == "auto" and document.lstrip()[:1] not in ("[", "{")):
            return None
        try:
            found = as_messages(document)
        except ValueError:
            if self.format == "auto":
                return None
            raise
        if self.format == "auto" and not (isinstance(found, list) and all(isinstance(m, dict) for m in found)):
            return None
        return found if isinstance(found, list) else [found]

    def _prefixes(self, first: Section, main: Section, last: Section, into: int) -> Sequence[str]:
        return first.context if into else ()

    def _groups(self, texts: _core.Texts, sections: SectionColumns, cutter: SectionCutter) -> np.ndarray:
        """Fills chunks turn by turn; the next begins with the turns it repeats, if these leave room for a new one."""
        pieces = cutter.pieces
        section, tokens = (pieces[name].data for name in ("part", "tokens"))
        of = np.repeat(np.arange(len(texts)), np.diff(pieces["offsets"])).data
        is_apart = sections.columns["apart"][pieces["part_section"]].data
        most = self.max_tokens - self.tokenizer.special_tokens
        groups = array("q")
        first, size = 0, 0
        for i, own in enumerate(tokens):
            new_document = i > 0 and of[i] != of[i - 1]
            apart = i > 0 and section[i] != section[i - 1] and is_apart[section[i]]
            if i and (new_document or apart or size + own > most):
                groups.extend((first, i - 1))
                begin, size = i, own
                while not (new_document or apart) and begin - 1 > first and size + tokens[begin - 1] <= most:
                    if size - own + tokens[begin - 1] > self.overlap and i - begin >= self.overlap_turns:
                        break
                    whole = section[begin - 1] != section[begin] and section[begin - 1] != section[max(begin - 2, 0)]
                    if not whole:
                        break
                    begin -= 1
                    size += tokens[begin]
                first = begin
            else:
                size += own
        if len(tokens):
            groups.extend((first, len(tokens) - 1))
        return np.array(groups, np.int64).reshape(-1, 2)

    def _columns(
        self, chunks: Chunks, sections: Sequence[Section], first: list[int], last: list[int]
    ) -> dict[str, Any]:
        columns: dict[str, list[Any]] = {
            n: [] for n in ("speaker", "speakers", "time_start", "time_end", "turn_start", "turn_end")
        }
        for a, b in zip(first, last):
            turns = [section.values for section in sections[a : b + 1]]
            speakers = list(dict.fromkeys(turn.speaker for turn in turns if turn.speaker))
            times = [turn.time for turn in turns if turn.time] or [None]
            row = (
                speakers[0] if len(speakers) == 1 else None,
                speakers,
                times[0],
                times[-1],
                turns[0].number,
                turns[-1].number,
            )
            for column, value in zip(columns.values(), row):
                column.append(value)
        return columns
