"""Vectors of sentences, a strip at a time: what is kept of them is a number a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from rapidchunk.kernels import run

__all__ = ["STRIP", "SimilarityStream", "reduce_vectors"]

STRIP = 1 << 14
"""Sentences of whole documents: so many that all threads have work, and the vectors take little beside 8 MB of text."""
PART = 1 << 11
"""Of a longer document: so many that an encoder's batches are full, few enough that the vectors stay in a cache."""


class VectorStream(Protocol):
    """One document's sentences, whose vectors come part by part."""

    def add(self, vectors: np.ndarray) -> None: ...
    def result(self) -> np.ndarray: ...


def reduce_vectors(
    offsets: np.ndarray,
    encode: Callable[[int, int], Any],
    whole: Callable[[Any, np.ndarray, slice], Any],
    stream: Callable[[slice], VectorStream],
    most: int = STRIP,
) -> Any:
    """What is made of the vectors of each sentence, without ever holding more than `most` vectors (and some that a stream keeps).

    Args:
        offsets: int64 [D + 1], the sentences of each document.
        encode: begin, end -> the vectors of these sentences.
        whole: the vectors of some documents, their own offsets from 0, their sentences -> a value for each.
        stream: the sentences of a document that has more than `most` -> what takes their vectors.

    Returns:
        The values, one a sentence; where the vectors are, if `most` lets them be asked for at once.
    """
    found: list[Any] = []
    documents = len(offsets) - 1
    begin = 0
    while not found or begin < documents:
        fit = int(np.searchsorted(offsets, offsets[begin] + most, side="right")) - 1
        end = min(max(begin + 1, fit), documents)
        inside = slice(int(offsets[begin]), int(offsets[end]))
        if inside.stop - inside.start <= most:
            vectors = encode(inside.start, inside.stop)
            found.append(whole(vectors, offsets[begin : end + 1] - inside.start, inside))
        else:
            document = stream(inside)
            for at in range(inside.start, inside.stop, PART):
                document.add(encode(at, min(at + PART, inside.stop)))
            found.append(document.result())
        begin = end
    return found[0] if len(found) == 1 else np.concatenate(found)


class SimilarityStream:
    """`adjacent_similarity` of the `n` sentences of a document. Keeps the vectors that blocks may still need."""

    def __init__(self, n: int, block: int) -> None:
        self._block = block
        self._found = np.empty(n, np.int32)
        self._begin = self._done = 0  # the first sentence whose vector is kept; similarities found
        self._rows: np.ndarray | None = None

    def add(self, vectors: np.ndarray) -> None:
        rows = vectors if self._rows is None else np.concatenate([self._rows, vectors])
        known = self._begin + len(rows)
        # The last ones are not final before the vectors of the next block are there.
        done = known if known == len(self._found) else max(known - self._block, self._done)
        similarity = run("adjacent_similarity", rows, np.array([0, len(rows)]), self._block)
        self._found[self._done : done] = similarity[self._done - self._begin : done - self._begin]
        begin = max(done - self._block + 1, self._begin)
        self._rows, self._begin, self._done = rows[begin - self._begin :], begin, done

    def result(self) -> np.ndarray:
        return self._found
