"""Sentences or paragraphs, grouped up to a number of tokens."""

from __future__ import annotations

from typing import Any

import numpy as np

from rapidchunk import _core
from rapidchunk.chunkers.base import Chunker, choice
from rapidchunk.chunkers.recursive import DEFAULT_SEPARATORS
from rapidchunk.chunks import Chunks
from rapidchunk.sentences import Splitter, byte_spans, sentence_rules

__all__ = ["SentenceChunker"]


class SentenceChunker(Chunker):
    """Whole sentences (or paragraphs), as many as `max_tokens` allows. A sentence that is too long by itself is cut between
    words; a paragraph that is too long, between sentences.

    Args:
        max_tokens, min_tokens, overlap, tokenizer: see `Chunker`. `overlap` repeats whole sentences, else words.
        unit: "sentence" or "paragraph".
        language: for the sentence rules; see `rapidchunk.sentence_spans`.
        newline_is_boundary: every line break ends a sentence.
        splitter: a callable that takes a text and gives its sentences as strings, (start, end) pairs or spaCy spans, in place
            of our rules: ``nltk.sent_tokenize``, ``lambda text: nlp(text).sents``.
    """

    def __init__(
        self,
        max_tokens: int = 512,
        overlap: int = 0,
        tokenizer: Any = None,
        *,
        min_tokens: int = 0,
        unit: str = "sentence",
        language: str | None = None,
        newline_is_boundary: bool = False,
        splitter: Splitter | None = None,
    ) -> None:
        super().__init__(max_tokens, min_tokens, overlap, tokenizer)
        self.unit = choice("unit", unit, ("sentence", "paragraph"))
        self.language, self.newline_is_boundary, self.splitter = sentence_rules(language, newline_is_boundary, splitter)

    def _chunk(self, texts: _core.Texts) -> Chunks:
        spans, offsets = byte_spans(texts, self.splitter, self.language, self.newline_is_boundary)
        levels: list[Any] = [sentence_level(spans, offsets), "words"]
        if self.unit == "paragraph":
            levels.insert(0, list(DEFAULT_SEPARATORS[0]))
        return self._pack(texts, levels)


def sentence_level(spans: np.ndarray, offsets: np.ndarray) -> tuple[str, np.ndarray, np.ndarray]:
    """Sentences as a level of boundaries: one where each begins."""
    return "starts", np.ascontiguousarray(spans), offsets
