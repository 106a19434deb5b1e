"""Searches small chunks and returns the large ones around them, with LanceDB as the store.

    python examples/parent_retriever.py "when does the light burn"

Children are what a query is compared with, because a vector of one thought says more than that of a page; parents are what a
reader, or a language model, gets.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from typing import Any

import lancedb
import numpy as np
import rapidchunk as rc
from rapidchunk.encoders import as_encoder


class ParentRetriever:
    """An index of the smallest level of a hierarchy in a LanceDB folder.

    Args:
        folder: of the database.
        encoder: see `rapidchunk.encoders.as_encoder`.
        chunker: a `HierarchicalChunker`.
    """

    def __init__(self, folder: str, encoder: Any, chunker: rc.HierarchicalChunker) -> None:
        self.database = lancedb.connect(folder)
        self.encoder = as_encoder(encoder)
        self.chunker = chunker

    def index(self, texts: Sequence[str], ids: Sequence[Any]) -> int:
        """Chunks and stores documents. Children whose content-addressed id is stored already are not encoded again.

        Returns:
            The number of children that were encoded.
        """
        self.chunks = self.chunker(list(texts), ids=list(ids))
        names = self.chunks.chunk_ids()
        self.row_of = {name: row for row, name in enumerate(names)}
        children = np.flatnonzero(self.chunks.extra["level"] == len(self.chunker.levels) - 1)
        stored: set[str] = set()
        if "children" in self.database.list_tables().tables:
            self.table = self.database.open_table("children")
            stored = set(self.table.to_arrow()["id"].to_pylist())
            gone = sorted(stored - set(names))
            if gone:
                self.table.delete(f"id IN ({', '.join(repr(name) for name in gone)})")
        new = np.array([row for row in children.tolist() if names[row] not in stored], np.int64)
        if len(new):
            vectors = self.encoder.encode(self.chunks[new].contexts())
            rows = [{"id": names[row], "vector": vector} for row, vector in zip(new.tolist(), vectors)]
            if stored:
                self.table.add(rows)
            else:
                self.table = self.database.create_table("children", rows, mode="overwrite")
        return len(new)

    def search(self, query: str, k: int = 3, level: int = 0, children: int = 20) -> rc.Chunks:
        """The `k` best parents of a level: those that hold the nearest of `children` children, best first."""
        found = self.table.search(self.encoder.encode([query])[0]).limit(children).to_list()
        return self.chunks.expand([self.row_of[hit["id"]] for hit in found], level)[:k]


DOCUMENTS = {
    "lighthouse": "The lighthouse stands on the northern rock. Its light burns from dusk to dawn.\n\n"
    "The keeper climbs ninety steps each evening. He cleans the lens and winds the clock.",
    "bakery": "The bakery opens at six. Bread comes out of the oven soon after.\n\n"
    "On Sundays there are rolls with poppy seeds. They are gone by nine.",
}


def main(query: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        retriever = ParentRetriever(folder, "minilm", rc.HierarchicalChunker((64, 24)))
        retriever.index(list(DOCUMENTS.values()), list(DOCUMENTS))
        for parent in retriever.search(query, 2):
            print(f"{parent.document}:\n{parent.text}\n")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "when does the light burn")
