"""The vectors of the index that is to be updated."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rapidchunk.chunks import text_hash
from rapidchunk.index.columns import SCHEMA_KEY, VECTORS
from rapidchunk.index.settings import RunError
from rapidchunk.vectors import SentenceVectors, joined, of_table

__all__ = ["OldVectors", "fingerprint", "old_vectors"]


class OldVectors:
    """The vectors of an index, by what was embedded, wherever it was then; read a row group at a time, the last one kept.

    Attributes:
        rows: hash of the text (as `Chunks.text_hashes`) -> row group and row in it.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        names = file.schema_arrow.names
        self._columns = [name for name in VECTORS if name in names]
        self.rows: dict[str, tuple[int, int]] = {}
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=[name for name in ("text", "context") if name in names])
            texts = table["text"].to_pylist()
            contexts = table["context"].to_pylist() if "context" in names else [None] * len(texts)
            embedded = (text if context is None else context for text, context in zip(texts, contexts))
            self.rows.update((text_hash(text), (group, row)) for row, text in enumerate(embedded))
        self._at = -1
        self._group: tuple[np.ndarray | None, SentenceVectors | None] = (None, None)

    def take(self, hashes: Sequence[str]) -> tuple[np.ndarray, SentenceVectors | None]:
        """The vectors of texts that are all in `rows`, in the order of their hashes."""
        places = np.array([self.rows[digest] for digest in hashes], np.int64)
        order = np.argsort(places[:, 0], kind="stable")
        found: list[np.ndarray] = []
        kept: list[SentenceVectors | None] = []
        for group in np.unique(places[:, 0]).tolist():
            if group != self._at:
                self._at, self._group = group, of_table(self._file.read_row_group(group, columns=self._columns))
            rows = places[places[:, 0] == group, 1]
            single, sentences = self._group
            assert single is not None
            found.append(single[rows])
            kept.append(None if sentences is None else sentences[rows])
        back = np.argsort(order)
        together = joined(kept, [len(part) for part in found])
        return np.concatenate(found)[back], None if together is None else together[back]


def old_vectors(path: Path, settings: Mapping[str, Any]) -> OldVectors | None:
    """The vectors of an index; None where the encoder or the kind of vectors was another."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise RunError(f"{path} is not a Parquet file, so there is nothing to update: {error}") from None
    about = (file.schema_arrow.metadata or {}).get(SCHEMA_KEY)
    if about is None:
        raise RunError(f"{path} was not written by rapidchunk index, so there is nothing to update")
    before = json.loads(about)
    decisive = ("encoder", "encoder_files", "vectors", "sentence_vectors")
    same = all(before.get(name) == settings.get(name) for name in decisive)
    if not same or not {"text", "vector"} <= set(file.schema_arrow.names):
        return None
    return OldVectors(file)


def fingerprint(path: Path) -> str:
    """Of the names, sizes and times of change of an encoder's files; empty for one that has only a name."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path] if path.exists() else []
    stats = [(os.fspath(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files if file.is_file()]
    return hashlib.blake2b(repr(stats).encode(), digest_size=16).hexdigest() if stats else ""
