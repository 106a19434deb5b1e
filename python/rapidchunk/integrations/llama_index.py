"""A LlamaIndex node parser: ``pip install rapidchunk[llama-index]``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rapidchunk.chunkers.base import Chunker
from rapidchunk.integrations import as_chunker, metadata_of

try:
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.node_parser import NodeParser
    from llama_index.core.node_parser.node_utils import build_nodes_from_splits
    from llama_index.core.schema import BaseNode, Document, MetadataMode
except ImportError as error:
    raise ImportError("the LlamaIndex parser needs llama-index-core: pip install rapidchunk[llama-index]") from error

__all__ = ["RapidchunkNodeParser"]


class RapidchunkNodeParser(NodeParser):
    """Any chunker as a LlamaIndex ``NodeParser``, all documents of a call in one batch.

    Nodes have exact ``start_char_idx`` and ``end_char_idx``, the metadata of their document, and what the strategy adds, such
    as ``headings``; relationships to source, previous and next as LlamaIndex makes them.
    """

    _chunker: Chunker = PrivateAttr()

    def __init__(
        self, chunker: Chunker | str = "sentence", *, parser: dict[str, Any] | None = None, **options: Any
    ) -> None:
        """
        Args:
            chunker: a chunker, or the name of a strategy.
            parser: arguments of ``NodeParser`` itself, such as ``include_prev_next_rel``.
            options: of the strategy, such as ``max_tokens``.

        Raises:
            ValueError: see `rapidchunk.strategies.make`.
        """
        super().__init__(**(parser or {}))
        self._chunker = as_chunker(chunker, options)

    @classmethod
    def class_name(cls) -> str:
        return "RapidchunkNodeParser"

    def _parse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any) -> list[BaseNode]:
        chunks = self._chunker([node.get_content(metadata_mode=MetadataMode.NONE) for node in nodes])
        found: list[BaseNode] = []
        for number, node in enumerate(nodes):
            rows = list(chunks.of_document(number))
            made = build_nodes_from_splits([row.text for row in rows], node, id_func=self.id_func)
            for row, one in zip(rows, made):
                one.metadata = metadata_of(row)
                one.start_char_idx, one.end_char_idx = row.start, row.end
            found += made
        return found

    def _postprocess_parsed_nodes(self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]) -> list[BaseNode]:
        # The base class looks for the text in the document, which finds the wrong place where the text is there twice.
        places = [(node.start_char_idx, node.end_char_idx) for node in nodes]
        done = super()._postprocess_parsed_nodes(nodes, parent_doc_map)
        for node, (start, end) in zip(done, places):
            node.start_char_idx, node.end_char_idx = start, end
        return list(done)
