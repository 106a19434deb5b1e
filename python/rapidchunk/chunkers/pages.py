"""Text in pages: every chunk knows the pages that it is on."""

from __future__ import annotations

from typing import Any

from rapidchunk import _core
from rapidchunk.chunkers.base import Chunker
from rapidchunk.chunkers.sentence import SentenceChunker
from rapidchunk.chunks import Chunks

__all__ = ["PageChunker"]


class PageChunker(Chunker):
    """Cuts a text that has page separators, by sentences, which may run over a page break, or as `within` does.

    Further columns of the result: page_start, page_end: int64, from 1 (see `Chunks.with_pages`).

    Args:
        max_tokens, min_tokens, overlap, tokenizer: see `Chunker`.
        separator: what stands between two pages (a form feed, as of pdftotext).
        within: the chunker that cuts, in place of `SentenceChunker` with these limits.

    Raises:
        ValueError: a parameter is out of range, or `separator` is empty.
    """

    def __init__(
        self,
        max_tokens: int = 512,
        overlap: int = 0,
        tokenizer: Any = None,
        *,
        min_tokens: int = 0,
        separator: str = "\f",
        within: Chunker | None = None,
    ) -> None:
        super().__init__(max_tokens, min_tokens, overlap, tokenizer)
        if not isinstance(separator, str) or not separator:
            raise ValueError(f"separator must be a str that is not empty, not {separator!r}")
        if within is not None and not isinstance(within, Chunker):
            raise ValueError(f"within must be a chunker, not {within!r}")
        self.separator = separator
        self.within = within or SentenceChunker(max_tokens, overlap, self.tokenizer, min_tokens=min_tokens)

    def _chunk(self, texts: _core.Texts) -> Chunks:
        return self.within._chunk(texts).with_pages(self.separator)
