"""Exact search in an index: the chunks whose sentences, or vectors, point most nearly where the question's vector does."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from rapidchunk.index import SCHEMA_KEY, VECTORS
from rapidchunk.vectors import of_table, scores

__all__ = ["Hit", "Index", "NotAnIndex"]

#: Chunks scored at a time.
BATCH_ROWS = 4096


class NotAnIndex(RuntimeError):
    """The file was not written by `rapidchunk index`, or without vectors."""


@dataclass(frozen=True)
class Hit:
    """A chunk found: its score (see `Chunks.score`), its row in the file, and its columns but the vectors."""

    score: float
    row: int
    columns: dict[str, Any]


class Index:
    """A Parquet file of `rapidchunk index`.

    Attributes:
        about: the settings that the index was made with.

    Raises:
        OSError: the file cannot be read.
        NotAnIndex: it is something else.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.path = os.fspath(path)
        with open(self.path, "rb"):  # a plain OSError where there is no such file
            pass
        try:
            self._file = pq.ParquetFile(self.path)
        except pa.ArrowInvalid as error:
            raise NotAnIndex(f"{self.path} is not a Parquet file: {error}") from None
        found = (self._file.schema_arrow.metadata or {}).get(SCHEMA_KEY)
        if found is None:
            raise NotAnIndex(f"{self.path} was not written by rapidchunk index")
        self.about: dict[str, Any] = json.loads(found)

    def require_vectors(self) -> None:
        """
        Raises:
            NotAnIndex: the index has no vectors.
        """
        if self.about.get("encoder") is None:
            raise NotAnIndex(f"{self.path} has no vectors: it was written with --encoder none")

    def search(self, question: np.ndarray, k: int = 5) -> list[Hit]:
        """The best chunks by `Chunks.score`, best first; among equals the earlier first. Memory stays at one batch of rows.

        Args:
            question: float32 [dimension].
            k: chunks to give at most.

        Raises:
            NotAnIndex: the index has no vectors.
            ValueError: `question` has another dimension than the index, or `k` is below 1.
        """
        import pyarrow as pa

        self.require_vectors()
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        if "vector" not in self._file.schema_arrow.names:  # not a single chunk
            return []
        dimension = self._file.schema_arrow.field("vector").type.list_size
        if question.shape != (dimension,):
            raise ValueError(f"question has shape {question.shape}, the vectors of {self.path} have {dimension} values")
        best_scores = np.empty(0, np.float32)
        rows = np.empty(0, np.int64)
        begin = 0
        stored = [name for name in VECTORS if name in self._file.schema_arrow.names]
        for batch in self._file.iter_batches(BATCH_ROWS, columns=stored):
            found = scores(*of_table(pa.Table.from_batches([batch])), question)
            best_scores = np.concatenate([best_scores, found])
            rows = np.concatenate([rows, np.arange(begin, begin + len(found))])
            begin += len(found)
            best = np.argsort(-best_scores, kind="stable")[:k]
            best_scores, rows = best_scores[best], rows[best]
        columns = self._rows(rows)
        return [Hit(float(score), int(row), columns[int(row)]) for score, row in zip(best_scores, rows)]

    def _rows(self, rows: np.ndarray) -> dict[int, dict[str, Any]]:
        """The columns of some rows, out of the row groups that hold them."""
        names = [name for name in self._file.schema_arrow.names if name not in VECTORS]
        found: dict[int, dict[str, Any]] = {}
        begin = 0
        for group in range(self._file.num_row_groups):
            end = begin + self._file.metadata.row_group(group).num_rows
            inside = np.sort(rows[(rows >= begin) & (rows < end)])
            if len(inside):
                table = self._file.read_row_group(group, columns=names).take(inside - begin)
                found |= dict(zip(inside.tolist(), table.to_pylist()))
            begin = end
        return found
