"""Windows of a fixed number of tokens."""

from __future__ import annotations

from typing import Any

import numpy as np

from rapidchunk import _core
from rapidchunk.chunkers.base import Chunker, choice
from rapidchunk.chunks import Chunks

__all__ = ["TokenChunker"]


class TokenChunker(Chunker):
    """Windows of at most `max_tokens` tokens, each repeating at most `overlap` of the one before.

    Windows are cut where words begin, because a word that is cut in two has other tokens on both sides; only a word that is
    longer than a window is cut inside. Windows of characters or bytes are cut anywhere between two characters, unless
    `snap_to_words` is set.

    Args:
        max_tokens, min_tokens, overlap, tokenizer: see `Chunker`.
        tail: what happens to a last window of fewer than `min_tokens` tokens: "keep" it, "drop" it, or "join" it to the window
            before (the two share their text so that the last has `min_tokens` and none exceeds `max_tokens`).
        snap_to_words: cut windows of characters or bytes at word starts too.
    """

    def __init__(
        self,
        max_tokens: int = 512,
        overlap: int = 64,
        tokenizer: Any = None,
        *,
        min_tokens: int = 0,
        tail: str = "join",
        snap_to_words: bool = False,
    ) -> None:
        super().__init__(max_tokens, min_tokens, overlap, tokenizer)
        self.tail = choice("tail", tail, ("keep", "drop", "join"))
        self.snap_to_words = bool(snap_to_words)

    def _chunk(self, texts: _core.Texts) -> Chunks:
        anywhere = self.tokenizer.name in ("chars", "bytes") and not self.snap_to_words
        chunks = self._pack(
            texts, [] if anywhere else ["words"], min_tokens=self.min_tokens if self.tail == "join" else 0
        )
        if self.tail == "drop" and self.min_tokens and len(chunks):
            last = np.append(chunks.document[1:] != chunks.document[:-1], True)
            chunks = chunks[~(last & (chunks.tokens < self.min_tokens))]
        return chunks
