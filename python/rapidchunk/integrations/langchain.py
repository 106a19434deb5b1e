"""A LangChain text splitter: ``pip install rapidchunk[langchain]``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rapidchunk.chunkers.base import Chunker
from rapidchunk.integrations import as_chunker, metadata_of

try:
    from langchain_core.documents import Document
    from langchain_text_splitters import TextSplitter
except ImportError as error:
    raise ImportError(
        "the LangChain splitter needs langchain-text-splitters: pip install rapidchunk[langchain]"
    ) from error

__all__ = ["RapidchunkTextSplitter"]


class RapidchunkTextSplitter(TextSplitter):
    """Any chunker as a LangChain ``TextSplitter``, all documents of a call in one batch.

    The metadata of a document go with each of its chunks, and further ``start_index`` and ``end_index`` (characters, half
    open), ``tokens`` and what the strategy adds, such as ``headings``.
    """

    def __init__(self, chunker: Chunker | str = "sentence", **options: Any) -> None:
        """
        Args:
            chunker: a chunker, or the name of a strategy.
            options: of the strategy, such as ``max_tokens``.

        Raises:
            ValueError: see `rapidchunk.strategies.make`.
        """
        super().__init__(add_start_index=True)
        self.chunker = as_chunker(chunker, options)

    def split_text(self, text: str) -> list[str]:
        return self.chunker(text).texts()

    def create_documents(self, texts: list[str], metadatas: Sequence[dict[Any, Any]] | None = None) -> list[Document]:
        """The chunks of all texts as documents, in order."""
        found = []
        for chunk in self.chunker(texts, metadata=metadatas):
            place = {"start_index": chunk.start, "end_index": chunk.end, "tokens": chunk.tokens}
            found.append(Document(page_content=chunk.text, metadata={**metadata_of(chunk), **place}))
        return found

    def split_documents(self, documents: Iterable[Document]) -> list[Document]:
        """The chunks of all documents, in order."""
        given = list(documents)
        return self.create_documents([one.page_content for one in given], [one.metadata for one in given])
