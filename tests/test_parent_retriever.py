"""The example of a retriever that searches children and returns parents, on a real LanceDB."""

from __future__ import annotations

import importlib.util
import zlib
from pathlib import Path

import numpy as np
import rapidchunk as rc

SPEC = importlib.util.spec_from_file_location(
    "parent_retriever", Path(__file__).parents[1] / "examples" / "parent_retriever.py"
)
example = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(example)


class WordVectors:
    """Every word has a direction of its own: texts are near if they share words."""

    def __init__(self):
        self.texts = []

    def encode(self, texts):
        self.texts += texts
        vectors = np.zeros((len(texts), 512), np.float32)
        for vector, text in zip(vectors, texts):
            for word in text.lower().replace(".", " ").split():
                vector[zlib.crc32(word.encode()) % 512] += 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_children_are_searched_and_parents_returned(tmp_path):
    names, texts = list(example.DOCUMENTS), list(example.DOCUMENTS.values())
    words = WordVectors()
    retriever = example.ParentRetriever(str(tmp_path), words, rc.HierarchicalChunker((20, 9), tokenizer="words"))
    children = retriever.index(texts, names)
    assert children == 8 == len(words.texts)

    found = retriever.search("rolls with poppy seeds", 3)
    assert found[0].document == "bakery" and "Sundays" in found[0].text and "gone by nine" in found[0].text
    assert set(found.extra["level"].tolist()) == {0}
    spans = [(row.document, row.start) for row in found]
    assert len(set(spans)) == len(spans) == 3
    assert (
        retriever.search("the keeper climbs steps each evening", 1, level=1).texts()[0].startswith("The keeper climbs")
    )

    words.texts.clear()
    texts[1] = texts[1].replace("Sundays", "Mondays")
    assert retriever.index(texts, names) == 1  # one sentence changed: one vector is made
    assert [text.strip() for text in words.texts] == ["On Mondays there are rolls with poppy seeds."]
    assert "Mondays" in retriever.search("rolls with poppy seeds", 1)[0].text
    assert retriever.table.count_rows() == 8

    other = example.ParentRetriever(str(tmp_path), words, retriever.chunker)
    assert other.index(texts, names) == 0  # a new process finds all that is stored
    assert other.search("the bakery opens at six", 1)[0].document == "bakery"
