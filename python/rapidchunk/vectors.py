"""Vectors of chunks: from one pass over their sentences, from the chunks themselves, or from whole documents; and scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rapidchunk import _core
from rapidchunk.kernels import cpu as kernels

if TYPE_CHECKING:
    import pyarrow

    from rapidchunk.chunks import Chunks

__all__ = ["METHODS", "SentenceVectors", "joined", "late", "mean", "of_sentences", "of_table", "scores"]

#: How a chunk can get its one vector.
METHODS = ("mean", "reencode", "late")


class SentenceVectors:
    """The vectors of the sentences of n chunks.

    Attributes:
        vectors: float32 [m, dim].
        start, end: int64 [n], the rows of each chunk, half open. Chunks may share rows (overlap, parents and children), and a
            chunk may have none.
    """

    def __init__(self, vectors: np.ndarray, start: np.ndarray, end: np.ndarray) -> None:
        self.vectors = np.ascontiguousarray(vectors, np.float32)
        self.start = np.ascontiguousarray(start, np.int64)
        self.end = np.ascontiguousarray(end, np.int64)
        if self.vectors.ndim != 2:
            raise ValueError(f"vectors must have 2 dimensions, not {self.vectors.ndim}")
        if len(self.start) != len(self.end):
            raise ValueError("end must have as many entries as start")
        if len(start) and not (self.start.min() >= 0 and (start <= end).all() and self.end.max() <= len(vectors)):
            raise ValueError(f"start and end must be ranges of the {len(vectors)} rows of vectors")

    @property
    def counts(self) -> np.ndarray:
        """int64 [n], how many sentences each chunk has."""
        return np.asarray(self.end - self.start)

    @property
    def dimension(self) -> int:
        return int(self.vectors.shape[1])

    def __len__(self) -> int:
        return len(self.start)

    def of(self, row: int) -> np.ndarray:
        """float32 [sentences, dim], a view: the sentences of one chunk."""
        return np.asarray(self.vectors[self.start[row] : self.end[row]])

    def __getitem__(self, item: slice | np.ndarray) -> SentenceVectors:
        """Those of some chunks, with no more rows than they need (up to gaps, for a slice)."""
        start, end = self.start[item], self.end[item]
        if isinstance(item, slice):
            low = int(start.min(initial=len(self.vectors)))
            high = max(int(end.max(initial=0)), low)
            return SentenceVectors(self.vectors[low:high], start - low, end - low)
        used = np.zeros(len(self.vectors) + 1, np.int64)
        np.add.at(used, start, 1)
        np.add.at(used, end, -1)
        kept = np.cumsum(used)[:-1] > 0
        new = np.concatenate([[0], np.cumsum(kept)])
        return SentenceVectors(self.vectors[kept], new[start], new[end])

    def flat(self) -> tuple[np.ndarray, np.ndarray]:
        """Vectors in the order of the chunks (those that chunks share, several times), and offsets int64 [n + 1]."""
        offsets = np.concatenate([[0], np.cumsum(self.counts)])
        if np.array_equal(self.start, offsets[:-1]) and offsets[-1] == len(self.vectors):
            return self.vectors, offsets
        rows = np.arange(offsets[-1]) + np.repeat(self.start - offsets[:-1], self.counts)
        return self.vectors[rows], offsets

    def __repr__(self) -> str:
        return f"SentenceVectors({len(self.vectors)} sentences of {len(self)} chunks, {self.dimension}-d)"


def joined(parts: Sequence[SentenceVectors | None], sizes: Sequence[int]) -> SentenceVectors | None:
    """Those of tables of chunks one after the other; a table without them has `sizes` chunks without sentences."""
    given = [part for part in parts if part is not None and len(part)]
    if not given:
        return None
    starts, ends, base = [], [], 0
    for part, size in zip(parts, sizes):
        starts.append(np.full(size, base) if part is None else part.start + base)
        ends.append(np.full(size, base) if part is None else part.end + base)
        base += 0 if part is None or not len(part) else len(part.vectors)
    return SentenceVectors(
        np.concatenate([part.vectors for part in given]), np.concatenate(starts), np.concatenate(ends)
    )


def of_sentences(
    texts: Sequence[str], encoder: Any, language: str | None = None, **options: Any
) -> tuple[SentenceVectors, np.ndarray]:
    """The vectors of the sentences of every text, each distinct sentence encoded once; and the sentences' lengths in bytes,
    int64 [m]."""
    batch = _core.Texts(list(texts))
    spans, offsets = _core.sentence_spans(batch, language, False)
    document = np.repeat(np.arange(len(batch)), np.diff(offsets))
    start, end = (np.ascontiguousarray(spans[:, side]) for side in (0, 1))
    first, last = (_core.code_point_offsets(batch, document, side) for side in (start, end))
    rows: dict[str, int] = {}
    of = [rows.setdefault(text, len(rows)) for text in batch.slices(document, first, last, start, end)]
    vectors = encoder.encode(list(rows), **options)
    return SentenceVectors(vectors[np.array(of, np.int64)], offsets[:-1], offsets[1:]), end - start


def mean(sentences: SentenceVectors, weights: np.ndarray) -> np.ndarray:
    """The weighted mean of the sentence vectors of each chunk, L2-normalised: float32 [n, dim]; zeros without sentences."""
    weighted = sentences.vectors * np.maximum(weights, 1)[:, None].astype(np.float32)
    return kernels.pool_spans(np.ascontiguousarray(weighted), sentences.start, sentences.end)


def late(chunks: Chunks, encoder: Any) -> np.ndarray:
    """The mean of the token vectors within each chunk, from a model that has read the document (Günther et al., 2024):
    float32 [n, dim].

    Documents longer than the model's window are read in windows that overlap; see `OnnxEncoder.encode_tokens`. Zeros for the
    chunks of a document that has no tokens for the model.

    Raises:
        ValueError: the encoder gives no token vectors or does not pool their mean, or gives a document other numbers of
            vectors and spans.
    """
    require_tokens(encoder)
    parts = []
    for document in np.unique(chunks.document):
        low, high = np.searchsorted(chunks.document, [document, document + 1])
        vectors, spans = encoder.encode_tokens(chunks.document_text(int(document)))
        parts.append(pooled(vectors, spans, chunks.start[low:high], chunks.end[low:high], chunks.document_id(document)))
    return np.concatenate(parts) if parts else np.empty((0, encoder.dimension or 1), np.float32)


def require_tokens(encoder: Any) -> None:
    """Raises ValueError unless the encoder can do `late`."""
    if not callable(getattr(encoder, "encode_tokens", None)):
        raise ValueError(f"vectors 'late' needs an encoder with encode_tokens, such as OnnxEncoder, not {encoder!r}")
    if getattr(encoder, "pooling", "mean") != "mean":
        raise ValueError(f"vectors 'late' needs an encoder that takes the mean of its tokens, not {encoder.pooling!r}")


def pooled(
    vectors: np.ndarray, spans: np.ndarray, start: np.ndarray, end: np.ndarray, document: Any, normalize: bool = True
) -> np.ndarray:
    """The mean of the token vectors of one document that begin in each span; a span in which none begins takes the token that
    it lies in.

    Raises:
        ValueError: there are not as many vectors as tokens; it names the document.
    """
    if len(vectors) != len(spans):
        raise ValueError(
            f"vectors: document {document!r} has {len(vectors)} token vectors for a count of {len(spans)} tokens"
        )
    if not len(vectors):
        return np.zeros((len(start), vectors.shape[1] if vectors.ndim == 2 else 1), np.float32)
    starts = np.asarray(spans, np.int64).reshape(-1, 2)[:, 0]
    first, last = np.searchsorted(starts, start), np.searchsorted(starts, end)
    first = np.where(first == last, np.maximum(first - 1, 0), first)
    flat = np.ascontiguousarray(vectors, vectors.dtype if vectors.dtype == np.float16 else np.float32)
    return kernels.pool_spans(flat, first, np.maximum(last, first + 1), None, normalize)


def of_table(table: pyarrow.Table) -> tuple[np.ndarray | None, SentenceVectors | None]:
    """The columns vector and sentence_vectors of a table of `Chunks.to_arrow` or an index, where they are there.

    Raises:
        ValueError: the vector of a row is missing.
    """
    import pyarrow as pa

    def whole(name: str) -> Any:
        column = table[name].combine_chunks()
        return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column

    def rows(column: Any) -> np.ndarray:
        if column.null_count:
            raise ValueError("a row has no vector")
        return np.asarray(column.flatten().to_numpy(zero_copy_only=False)).reshape(-1, column.type.list_size)

    vectors = sentences = None
    if "vector" in table.column_names and len(table):
        vectors = rows(whole("vector"))
    if "sentence_vectors" in table.column_names and len(table):
        lists = whole("sentence_vectors")
        offsets = lists.offsets.to_numpy()
        sentences = SentenceVectors(rows(lists.values), offsets[:-1], offsets[1:])
    return vectors, sentences


def scores(vectors: np.ndarray | None, sentences: SentenceVectors | None, query: Any) -> np.ndarray:
    """`Chunks.score` of chunks with these vectors."""
    wanted = np.ascontiguousarray(query, np.float32)
    given = sentences.vectors if sentences is not None else vectors
    if given is None:
        raise ValueError("score needs chunks with vectors or sentence vectors; see Chunks.encode")
    if wanted.shape != (given.shape[1],):
        raise ValueError(f"query has shape {wanted.shape}, the vectors have {given.shape[1]} values")

    def single(rows: np.ndarray, share: float) -> np.ndarray:
        at = np.arange(len(rows))
        return kernels.chunk_scores(np.ascontiguousarray(rows, np.float32), wanted, at, at + 1, share)

    if sentences is None:
        assert vectors is not None
        return single(vectors, 0.0)
    found = kernels.chunk_scores(sentences.vectors, wanted, sentences.start, sentences.end)
    lacking = np.flatnonzero(sentences.start == sentences.end)
    if len(lacking):
        if vectors is None:
            raise ValueError(f"score: chunk {lacking[0]} has neither sentence vectors nor a vector")
        found[lacking] = single(vectors[lacking], 0.5)
    return found
