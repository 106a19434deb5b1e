"""A Haystack component: ``pip install rapidchunk[haystack]``."""

from __future__ import annotations

from typing import Any

from rapidchunk.chunkers.base import Chunker
from rapidchunk.integrations import as_chunker, metadata_of

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ImportError as error:
    raise ImportError("the Haystack component needs haystack-ai: pip install rapidchunk[haystack]") from error

__all__ = ["RapidchunkSplitter"]


@component
class RapidchunkSplitter:
    """Any chunker as a Haystack component: documents in, documents out, all of a call in one batch.

    The meta of a document go with each of its chunks, and further ``source_id``, ``split_id`` (the chunk's number in its
    document), ``split_idx_start`` and ``split_idx_end`` (characters, half open), ``tokens`` and what the strategy adds.
    """

    def __init__(self, chunker: Chunker | str = "sentence", options: dict[str, Any] | None = None) -> None:
        """
        Args:
            chunker: the name of a strategy, or a chunker (such a component cannot be written to YAML).
            options: of the strategy, such as ``{"max_tokens": 250}``.

        Raises:
            ValueError: see `rapidchunk.strategies.make`.
        """
        self._given, self._options = chunker, dict(options or {})
        self._chunker = as_chunker(chunker, self._options)

    def to_dict(self) -> dict[str, Any]:
        """
        Raises:
            ValueError: the component was made with a ready chunker.
        """
        if not isinstance(self._given, str):
            raise ValueError("chunker must be the name of a strategy where the component is to be written")
        found: dict[str, Any] = default_to_dict(self, chunker=self._given, options=self._options)
        return found

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RapidchunkSplitter:
        made: RapidchunkSplitter = default_from_dict(cls, data)
        return made

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, Any]:
        """The chunks of all documents, in order.

        Raises:
            ValueError: a document without content.
        """
        for document in documents:
            if document.content is None:
                raise ValueError(f"documents must have content; {document.id} has none")
        chunks = self._chunker([one.content for one in documents], metadata=[one.meta for one in documents])
        found = []
        for row, number in zip(chunks, chunks.document.tolist()):
            place = {"source_id": documents[number].id, "split_id": row.index, "tokens": row.tokens}
            place |= {"split_idx_start": row.start, "split_idx_end": row.end}
            found.append(Document(content=row.text, meta={**metadata_of(row), **place}))
        return {"documents": found}
