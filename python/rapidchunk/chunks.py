"""Chunks: the columns that every chunker returns, and their rows."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from rapidchunk import _core
from rapidchunk import vectors as chunk_vectors
from rapidchunk.columns import joined
from rapidchunk.vectors import SentenceVectors

if TYPE_CHECKING:
    import pandas
    import pyarrow

__all__ = ["Chunk", "ChunkStream", "Chunks"]

#: Keys of the schema metadata of `Chunks.to_arrow`: the settings, and whether documents have ids of the caller's.
SETTINGS_KEY, IDS_KEY = "rapidchunk.settings", "rapidchunk.ids"
COLUMNS = ("document", "start", "end", "byte_start", "byte_end", "tokens")


class Chunk:
    """One row of `Chunks`; nothing is copied before it is asked for."""

    __slots__ = ("_chunks", "_row")

    def __init__(self, chunks: Chunks, row: int) -> None:
        self._chunks = chunks
        self._row = row

    @property
    def text(self) -> str:
        """The chunk's own text: ``document_text[start:end]``."""
        return self._chunks._text(self._row)

    @property
    def context(self) -> str:
        """The text to embed: the chunk's text with what its strategy puts around it (heading path, table header)."""
        given = self._chunks.extra.get("context")
        return self.text if given is None or given[self._row] is None else str(given[self._row])

    @property
    def start(self) -> int:
        """First character (code point) in the document."""
        return int(self._chunks.start[self._row])

    @property
    def end(self) -> int:
        """One past the last character (code point) in the document."""
        return int(self._chunks.end[self._row])

    @property
    def tokens(self) -> int:
        """Tokens of the chunk's text alone, special tokens included."""
        return int(self._chunks.tokens[self._row])

    @property
    def document(self) -> Any:
        """The id that the caller gave the document, else its number in the batch."""
        return self._chunks.document_id(int(self._chunks.document[self._row]))

    @property
    def index(self) -> int:
        """The chunk's number in its document, from 0."""
        return int(self._chunks.index[self._row])

    @property
    def vector(self) -> np.ndarray | None:
        vectors = self._chunks.vectors
        return None if vectors is None else vectors[self._row]

    @property
    def metadata(self) -> dict[str, Any]:
        """What the caller gave for the document, and the further columns of this row (heading path, page, ... as the strategy
        gives them; numbers as Python's), which win where names are the same."""
        given = self._chunks.document_metadata(int(self._chunks.document[self._row]))
        own = {name: column[self._row] for name, column in self._chunks.extra.items()}
        return {**given, **{name: v.item() if isinstance(v, np.generic) else v for name, v in own.items()}}

    def __repr__(self) -> str:
        text = self.text
        shown = text if len(text) <= 60 else text[:57] + "..."
        return f"Chunk({self.document!r}, {self.start}:{self.end}, {self.tokens} tokens, {shown!r})"


class Chunks:
    """Chunks of one or more documents, as columns.

    Attributes:
        document: int64 [n], the number of the document in the batch.
        start, end: int64 [n], code points, half open: ``text[start:end]`` is the chunk.
        byte_start, byte_end: int64 [n], the same span in the document's UTF-8.
        tokens: int64 [n], tokens of the chunk's text alone, special tokens included.
        index: int64 [n], the chunk's number in its document.
        vectors: float32 [n, dim] or None.
        sentence_vectors: the vectors of the chunks' sentences (`rapidchunk.vectors.SentenceVectors`) or None.
        extra: further columns by name, each of length n.
        report: counts of what was noteworthy (``split_sentences``: sentences longer than the maximum or the encoder's
            window, cut into parts).
        settings: the chunker that made these, as text; part of `chunk_ids`.
        metadata: what the caller gave for each document, or None.
    """

    def __init__(
        self,
        source: Sequence[str] | _core.Texts,
        columns: Mapping[str, np.ndarray],
        *,
        ids: Sequence[Any] | None = None,
        vectors: np.ndarray | None = None,
        extra: Mapping[str, Any] | None = None,
        report: Mapping[str, int] | None = None,
        settings: str = "",
        metadata: Sequence[Mapping[str, Any]] | None = None,
        sentence_vectors: SentenceVectors | None = None,
    ) -> None:
        self._source = source
        self._columns = {name: np.ascontiguousarray(columns[name], np.int64) for name in COLUMNS}
        self._index: np.ndarray | None = columns.get("index")
        self.ids = ids
        self.vectors = vectors
        self.extra: dict[str, Any] = dict(extra or {})
        self.report: dict[str, int] = dict(report or {})
        self.settings = settings
        self.metadata = metadata
        self.sentence_vectors = sentence_vectors

    document = property(lambda self: self._columns["document"])
    start = property(lambda self: self._columns["start"])
    end = property(lambda self: self._columns["end"])
    byte_start = property(lambda self: self._columns["byte_start"])
    byte_end = property(lambda self: self._columns["byte_end"])
    tokens = property(lambda self: self._columns["tokens"])

    @property
    def index(self) -> np.ndarray:
        if self._index is None:
            document = self.document
            first = np.searchsorted(document, document)
            self._index = np.arange(len(document)) - first
        return self._index

    @property
    def characters(self) -> np.ndarray:
        """int64 [n], code points of every chunk."""
        return np.asarray(self.end - self.start)

    @property
    def count(self) -> np.ndarray:
        """int64 [n], how many of these chunks are of the same document."""
        return np.asarray(np.bincount(self.document, minlength=self.documents)[self.document])

    @property
    def strategy(self) -> str:
        """The name of the strategy ("semantic"); empty where these do not come from a chunker."""
        name = self.settings.partition("(")[0].removesuffix("Chunker")
        return "-".join(re.findall(r"[A-Z][a-z0-9]*", name)).lower()

    @property
    def settings_hash(self) -> str:
        """32 hexadecimal digits, of the strategy and its parameters."""
        return _digest(self.settings)

    def text_hashes(self) -> list[str]:
        """For every chunk 32 hexadecimal digits, of what is embedded (`contexts`) and nothing else."""
        return [text_hash(text) for text in self.contexts()]

    def chunk_ids(self) -> list[str]:
        """A stable id of 32 hexadecimal digits for every chunk (BLAKE2b of its text, its context, the settings, the document's
        id if the caller gave one, and the level in a hierarchy below the first).

        The same text cut by the same settings has the same id in every run, wherever it is in the document, so that a new
        index embeds only what changed. Of chunks that are alike in all of that, the second and further ones are numbered: ids
        are unique among all chunks of a call. (Of an iterator without ids, the numbers of the documents count as ids.)
        """
        levels = self.extra.get("level")
        seen: dict[str, int] = {}
        found = []
        numbers = self.document.tolist()
        for row, (text, context) in enumerate(zip(self.texts(), self.contexts())):
            name = "" if self.ids is None else repr(self.ids[numbers[row]])
            level = str(levels[row]) if levels is not None and levels[row] else ""
            key = _digest(self.settings, name, level, text, context)
            again = seen.get(key, 0)
            seen[key] = again + 1
            found.append(_digest(key, str(again)) if again else key)
        return found

    def document_metadata(self, document: int) -> Mapping[str, Any]:
        """What the caller gave for a document; empty if nothing."""
        return {} if self.metadata is None else self.metadata[document] or {}

    def expand(self, hits: Any, level: int = 0) -> Chunks:
        """The chunks of a level (0: the largest) that hold the hits, each once, in the order of the hits (best first).

        Args:
            hits: row numbers, or rows (`Chunk`), of this table.
            level: hits that are of this or a larger level stand for themselves.

        Raises:
            ValueError: these chunks have no levels (see `HierarchicalChunker`), or a parent is missing.
        """
        if "parent" not in self.extra or "level" not in self.extra:
            raise ValueError("expand needs chunks of several levels; these have no columns level and parent")
        levels, parents = self.extra["level"], self.extra["parent"]
        places = zip(self.document.tolist(), self.index.tolist())
        at = {place: row for row, place in enumerate(places)}
        rows: dict[int, None] = {}
        for hit in hits:
            row = hit._row if isinstance(hit, Chunk) else int(hit)
            if not 0 <= row < len(self):
                raise ValueError(f"hits must be rows from 0 to {len(self) - 1}, not {row}")
            while levels[row] > level:
                try:
                    row = at[int(self.document[row]), int(parents[row])]
                except KeyError:
                    raise ValueError(f"hits: the parent of row {row} is not among these chunks") from None
            rows[row] = None
        return self[np.array(list(rows), np.int64)]

    @property
    def documents(self) -> int:
        """The number of documents in the batch, those without chunks included."""
        return len(self._source)

    def document_id(self, document: int) -> Any:
        return document if self.ids is None else self.ids[document]

    def document_text(self, document: int) -> str:
        """The text that the spans of a document refer to."""
        return self._source[document]

    def texts(self) -> list[str]:
        """The text of every chunk."""
        if isinstance(self._source, _core.Texts):
            return self._source.slices(self.document, self.start, self.end, self.byte_start, self.byte_end)
        source = self._source
        rows = zip(self.document.tolist(), self.start.tolist(), self.end.tolist())
        return [source[document][start:end] for document, start, end in rows]

    def contexts(self) -> list[str]:
        """The text to embed of every chunk: its context, where the strategy gives one (column `context`), else its text."""
        given = self.extra.get("context")
        if given is None:
            return self.texts()
        return [text if context is None else context for text, context in zip(self.texts(), given)]

    def _text(self, row: int) -> str:
        document, start, end = int(self.document[row]), int(self.start[row]), int(self.end[row])
        if isinstance(self._source, _core.Texts):
            return self._source.slice(document, start, end, int(self.byte_start[row]), int(self.byte_end[row]))
        return self._source[document][start:end]

    def of_document(self, document: Any) -> Chunks:
        """The chunks of one document, given by its id or, where the batch has no ids, by its number.

        Raises:
            KeyError: no such document.
        """
        if self.ids is not None:
            try:
                number = list(self.ids).index(document)
            except ValueError:
                raise KeyError(document) from None
        else:
            number = int(document)
            if not 0 <= number < self.documents:
                raise KeyError(document)
        low, high = np.searchsorted(self.document, [number, number + 1])
        return self[int(low) : int(high)]

    def __len__(self) -> int:
        return len(self.document)

    def __iter__(self) -> Iterator[Chunk]:
        return (Chunk(self, row) for row in range(len(self)))

    @overload
    def __getitem__(self, item: int) -> Chunk: ...
    @overload
    def __getitem__(self, item: slice | np.ndarray) -> Chunks: ...
    def __getitem__(self, item: Any) -> Chunk | Chunks:
        if isinstance(item, (int, np.integer)):
            row = int(item) + (len(self) if item < 0 else 0)
            if not 0 <= row < len(self):
                raise IndexError(f"chunk {item} of {len(self)}")
            return Chunk(self, row)
        columns = {name: column[item] for name, column in self._columns.items()}
        columns["index"] = self.index[item]
        rows = range(len(self))[item] if isinstance(item, slice) else np.arange(len(self))[item].tolist()
        return Chunks(
            self._source,
            columns,
            ids=self.ids,
            vectors=None if self.vectors is None else self.vectors[item],
            extra={
                name: column[item] if isinstance(column, np.ndarray) else [column[row] for row in rows]
                for name, column in self.extra.items()
            },
            report=self.report,
            settings=self.settings,
            metadata=self.metadata,
            sentence_vectors=None if self.sentence_vectors is None else self.sentence_vectors[item],
        )

    def replace(
        self,
        *,
        vectors: np.ndarray | None = None,
        sentence_vectors: SentenceVectors | None = None,
        **extra: Sequence[Any] | np.ndarray,
    ) -> Chunks:
        """The same chunks with other vectors or further columns.

        Raises:
            ValueError: a column's length is not the number of chunks.
        """
        given: dict[str, Any] = {**extra}
        given |= {} if vectors is None else {"vectors": vectors}
        given |= {} if sentence_vectors is None else {"sentence_vectors": sentence_vectors}
        for name, column in given.items():
            if len(column) != len(self):
                raise ValueError(f"{name} has {len(column)} rows for {len(self)} chunks")
        return Chunks(
            self._source,
            {**self._columns, "index": self.index},
            ids=self.ids,
            vectors=self.vectors if vectors is None else vectors,
            extra={**self.extra, **extra},
            report=self.report,
            settings=self.settings,
            metadata=self.metadata,
            sentence_vectors=self.sentence_vectors if sentence_vectors is None else sentence_vectors,
        )

    def encode(
        self,
        encoder: Any,
        *,
        vectors: str = "reencode",
        sentence_vectors: bool = False,
        language: str | None = None,
        **options: Any,
    ) -> Chunks:
        """The same chunks with a vector for each.

        Args:
            encoder: see `rapidchunk.encoders.as_encoder`.
            vectors: "reencode": encode each chunk's context or text; "mean": the mean of the vectors of its sentences, weighted
                by their lengths; "late": the mean of the token vectors within its span, by an encoder that has read the
                document (`encode_tokens`, as `OnnxEncoder` has; overlapping windows where the document is longer than the
                model's window).
            sentence_vectors: keep the vectors of the sentences too, for `score`. With "mean" they cost nothing more.
            language: of the sentence rules; see `rapidchunk.sentence_spans`.
            options: `progress` and `report` of `Encoder.encode`.

        Raises:
            ValueError: `vectors` is none of these, or the encoder cannot do "late".
        """
        from rapidchunk.encoders import as_encoder

        if vectors not in chunk_vectors.METHODS:
            raise ValueError(f"vectors must be one of {', '.join(map(repr, chunk_vectors.METHODS))}, not {vectors!r}")
        encoder = as_encoder(encoder)
        kept = None
        if vectors == "late":
            found = chunk_vectors.late(self, encoder)
        elif vectors == "reencode":
            found = encoder.encode(self.contexts(), **options)
        if vectors == "mean" or sentence_vectors:
            kept, lengths = chunk_vectors.of_sentences(self.contexts(), encoder, language, **options)
            found = chunk_vectors.mean(kept, lengths) if vectors == "mean" else found
        encoded = self.replace(vectors=found)
        encoded.sentence_vectors = kept if sentence_vectors else None  # never those of another encoder
        return encoded

    def score(self, query: Any) -> np.ndarray:
        """How well each chunk answers a query: the largest cosine of its sentences with the query plus half their mean.

        Where there are no sentence vectors at all, the cosine of the chunk's vector. A chunk that lacks them among others that
        have them counts as one sentence with the chunk's vector.

        Args:
            query: float32 [dim]: ``encoder.encode([question])[0]``, or `encode_query` where the encoder has it.

        Returns:
            float32 [n]. ``chunks[np.argsort(-chunks.score(query), kind="stable")[:5]]`` are the five best.

        Raises:
            ValueError: there are no vectors, or those of another dimension; one is not finite.
        """
        return chunk_vectors.scores(self.vectors, self.sentence_vectors, query)

    def pool_tokens(
        self, vectors: Sequence[np.ndarray], spans: Sequence[np.ndarray], *, normalize: bool = True
    ) -> Chunks:
        """Late chunking (Günther et al., 2024): a chunk's vector is the mean of the token vectors within its span, made by a
        model that has read the document as a whole.

        Args:
            vectors: for each document of the batch, float32 or float16 [tokens, dim], special tokens left out.
            spans: for each document, int64 [tokens, 2]: the characters (code points) of each token, in order.
            normalize: L2-normalise the means.

        Returns:
            The same chunks with `vectors` float32 [n, dim]. A chunk in which no token begins takes the token that it lies in.

        Raises:
            ValueError: the numbers of documents, or of a document's vectors and tokens, differ, or a document with chunks
                has no tokens.
        """
        for name, given in (("vectors", vectors), ("spans", spans)):
            if len(given) != self.documents:
                raise ValueError(f"{name} has {len(given)} entries for {self.documents} documents")
        parts = []
        for document, (rows, places) in enumerate(zip(vectors, spans)):
            low, high = np.searchsorted(self.document, [document, document + 1])
            name = self.document_id(document)
            if high > low and not len(rows) and not len(places):
                raise ValueError(f"vectors: document {name!r} has chunks but no token vectors")
            start, end = self.start[low:high], self.end[low:high]
            parts.append(chunk_vectors.pooled(np.asarray(rows), places, start, end, name, normalize))
        filled = [part for part in parts if len(part)] or [np.empty((0, 1), np.float32)]
        return self.replace(vectors=np.concatenate(filled))

    def with_pages(self, separator: str = "\f") -> Chunks:
        """Adds the columns page_start and page_end (from 1), counting the separators in the document's text.

        Raises:
            ValueError: `separator` is empty.
        """
        if not separator:
            raise ValueError("separator must not be empty")
        first, last = np.ones(len(self), np.int64), np.ones(len(self), np.int64)
        for document, rows in self._by_document():
            breaks, text = [], self.document_text(document)
            at = text.find(separator)
            while at >= 0:
                breaks.append(at + len(separator))
                at = text.find(separator, at + len(separator))
            first[rows] = 1 + np.searchsorted(breaks, self.start[rows], side="right")
            last[rows] = 1 + np.searchsorted(breaks, self.end[rows] - 1, side="right")
        return self.replace(page_start=first, page_end=last)

    def with_lines(self) -> Chunks:
        """Adds the columns start_line and end_line (from 1; a line ends with a line feed) of the document's text."""
        first, last = np.ones(len(self), np.int64), np.ones(len(self), np.int64)
        for document, rows in self._by_document():
            data = self.document_text(document).encode("utf-8", "surrogatepass")
            breaks = np.flatnonzero(np.frombuffer(data, np.uint8) == 10)
            first[rows] += np.searchsorted(breaks, self.byte_start[rows])
            last[rows] += np.searchsorted(breaks, np.maximum(self.byte_end[rows] - 1, self.byte_start[rows]))
        return self.replace(start_line=first, end_line=last)

    def with_metadata(self) -> Chunks:
        """Adds, where the strategy has not, the columns that every table of chunks should have, whatever made it:

        id: str, as `chunk_ids`; strategy: str; count: int64, chunks of the same document; characters: int64.
        headings: tuple of str, the heading path; section: str, the innermost heading, or None.
        start_line, end_line: int64, from 1, in the text that the spans refer to.
        page_start, page_end: int64, from 1; None where the document has no form feeds.
        level, parent: int64; 0 and -1 for chunks without levels (`HierarchicalChunker`).
        """
        n = len(self)
        full = self.with_lines()
        own: dict[str, Any] = {
            "id": self.chunk_ids(),
            "strategy": [self.strategy] * n,
            "count": self.count,
            "characters": self.characters,
            "headings": [()] * n,
            "level": np.zeros(n, np.int64),
            "parent": np.full(n, -1),
        }
        if "page_start" not in self.extra:
            paged = np.array(["\f" in self.document_text(document) for document in range(self.documents)], bool)
            pages = self.with_pages().extra if paged.any() else {}
            for name in ("page_start", "page_end"):
                known = zip(pages.get(name, [None] * n), paged[self.document].tolist())
                own[name] = [int(page) if there else None for page, there in known]
        own = {name: column for name, column in own.items() if name not in self.extra}
        headings = own.get("headings", self.extra.get("headings"))
        section = [path[-1] if path else None for path in headings or ()]
        return full.replace(**own, section=section)

    def _by_document(self) -> Iterator[tuple[int, np.ndarray]]:
        """The documents that have chunks, with the rows of each."""
        order = np.argsort(self.document, kind="stable")
        found, begins = np.unique(self.document[order], return_index=True)
        return zip(found.tolist(), np.split(order, begins[1:]))

    def _metadata_columns(self, taken: Any) -> dict[str, list[Any]]:
        """What the caller gave for the documents, as columns; "metadata.name" where the name is taken."""
        if self.metadata is None:
            return {}
        names = dict.fromkeys(name for given in self.metadata for name in given or {})
        numbers = self.document.tolist()
        return {
            f"metadata.{name}" if name in taken else name: [self.document_metadata(d).get(name) for d in numbers]
            for name in names
        }

    def to_arrow(self) -> pyarrow.Table:
        """A table of document (id or number), index, start, end, byte_start, byte_end, tokens, text, the further columns, the
        documents' metadata, vector (a fixed-size list of float32) and sentence_vectors (a list of such lists), if there are
        vectors. `from_arrow` reads it."""
        pa = _pyarrow()
        numbers = self.document
        columns: dict[str, Any] = {
            "document": pa.array(numbers if self.ids is None else [self.ids[d] for d in numbers.tolist()]),
            "index": self.index,
            **{name: self._columns[name] for name in COLUMNS[1:]},
            "text": pa.array(self.texts(), pa.large_string()),
        }
        types = {
            "headings": pa.list_(pa.string()),
            "section": pa.string(),
            "page_start": pa.int64(),
            "page_end": pa.int64(),
        }
        for name, column in self.extra.items():
            columns[name] = pa.array(column if isinstance(column, np.ndarray) else list(column), types.get(name))
        for name, values in self._metadata_columns({*columns, "vector", "sentence_vectors"}).items():
            columns[name] = pa.array(values)

        def lists(rows: np.ndarray) -> Any:
            return pa.FixedSizeListArray.from_arrays(
                pa.array(np.ascontiguousarray(rows, np.float32).ravel()), rows.shape[1]
            )

        # An encoder that has not seen a text yet may not know its dimension.
        if self.vectors is not None and self.vectors.shape[1]:
            columns["vector"] = lists(self.vectors)
        if self.sentence_vectors is not None and self.sentence_vectors.dimension:
            flat, offsets = self.sentence_vectors.flat()
            columns["sentence_vectors"] = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), lists(flat))
        table = pa.table(columns)
        return table.replace_schema_metadata({SETTINGS_KEY: self.settings, IDS_KEY: str(self.ids is not None)})

    @classmethod
    def from_arrow(cls, table: Any, texts: Sequence[str] | None = None) -> Chunks:
        """Chunks from a table of `to_arrow`, wherever it has been meanwhile (Parquet, another process), or of
        ``rapidchunk index``.

        Args:
            table: a pyarrow.Table, or anything with the Arrow PyCapsule interface.
            texts: the documents' texts, in the order of their ids' first rows (or of their numbers). By default documents are
                put together from their chunks, with spaces where no chunk is.

        Raises:
            ValueError: a column of `to_arrow`, or a row's vector, is missing, or `texts` are not as many as the documents.
        """
        pa = _pyarrow()
        table = table if isinstance(table, pa.Table) else pa.table(table)
        for name in (*COLUMNS, "text"):
            if name not in table.column_names:
                raise ValueError(f"table has no column {name}")
        about = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        given = table["document"].to_pylist()
        if about.get(IDS_KEY) == "False":
            ids, numbers = None, np.array(given, np.int64)
            documents = int(numbers.max(initial=-1)) + 1
        else:
            first = {name: number for number, name in enumerate(dict.fromkeys(given))}
            ids, numbers = list(first), np.array([first[name] for name in given], np.int64)
            documents = len(ids)
        if texts is not None and len(texts) < documents:
            raise ValueError(f"texts has {len(texts)} entries for {documents} documents")
        columns = {"document": numbers, **{name: table[name].to_numpy() for name in COLUMNS[1:]}}
        if "index" in table.column_names:
            columns["index"] = table["index"].to_numpy()
        own = {*columns, "text", "vector", "sentence_vectors"}
        extra: dict[str, Any] = {}
        for name in table.column_names:
            if name not in own:
                plain = pa.types.is_integer(table[name].type) or pa.types.is_floating(table[name].type)
                column = table[name]
                extra[name] = column.to_numpy() if plain and not column.null_count else column.to_pylist()

        vectors, sentences = chunk_vectors.of_table(table)
        source = _rebuilt(numbers, columns["start"], table["text"].to_pylist(), documents) if texts is None else texts
        return cls(
            source, columns, ids=ids, vectors=vectors, extra=extra, settings=about.get(SETTINGS_KEY, ""),
            sentence_vectors=sentences,
        )  # fmt: skip

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pandas.DataFrame:
        """The columns of `to_arrow` as a pandas DataFrame (pandas must be installed)."""
        import pandas as pd

        numbers = self.document
        frame = pd.DataFrame(
            {
                "document": numbers if self.ids is None else [self.ids[d] for d in numbers.tolist()],
                "index": self.index,
                **{name: self._columns[name] for name in COLUMNS[1:]},
                "text": self.texts(),
                **{name: list(column) for name, column in self.extra.items()},
            }
        )
        for name, values in self._metadata_columns({*frame.columns, "vector", "sentence_vectors"}).items():
            frame[name] = values
        if self.vectors is not None:
            frame["vector"] = list(self.vectors)
        if self.sentence_vectors is not None:
            frame["sentence_vectors"] = [self.sentence_vectors.of(row) for row in range(len(self))]
        return frame

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        if isinstance(self._source, _core.Texts):
            state["_source"] = [self._source[i] for i in range(len(self._source))]
        return state

    def __repr__(self) -> str:
        if not len(self):
            return f"Chunks(0 chunks of {self.documents} documents)"
        sizes = self.tokens
        plural = "document" if self.documents == 1 else "documents"
        lines = [
            f"Chunks({len(self)} chunks of {self.documents} {plural}, tokens {sizes.min()}-{sizes.max()}, "
            f"mean {sizes.mean():.1f}{'' if self.vectors is None else f', vectors {self.vectors.shape[1]}-d'}"
            f"{'' if self.sentence_vectors is None else f', {len(self.sentence_vectors.vectors)} sentence vectors'})"
        ]
        shown = range(len(self)) if len(self) <= 6 else [0, 1, 2, -1]
        for row in shown:
            if row == -1:
                lines.append("  ...")
            lines.append(f"  {self[row]!r}")
        return "\n".join(lines)


class ChunkStream:
    """The chunks of an iterator of documents, made as they are asked for: iterate for rows, `batches()` for `Chunks` of some
    megabytes of text each, `collect()` for all in one `Chunks`. Documents are read once, in bounded memory."""

    def __init__(self, batches: Iterator[Chunks]) -> None:
        self._batches = batches

    def batches(self) -> Iterator[Chunks]:
        return self._batches

    def __iter__(self) -> Iterator[Chunk]:
        for batch in self._batches:
            yield from batch

    def collect(self) -> Chunks:
        return concatenate(list(self._batches))


def concatenate(parts: Sequence[Chunks]) -> Chunks:
    """Batches of documents one after the other, as one."""
    if len(parts) == 1:
        return parts[0]
    source: list[str] = []
    ids: list[Any] = []
    bases = []
    for part in parts:
        bases.append(len(source))
        source.extend(part.document_text(i) for i in range(part.documents))
        ids.extend(part.document_id(i) if part.ids is not None else bases[-1] + i for i in range(part.documents))
    chunks = join_columns(parts, bases, source, ids if any(part.ids is not None for part in parts) else None)
    if any(part.metadata is not None for part in parts):
        chunks.metadata = [part.document_metadata(i) for part in parts for i in range(part.documents)]
    return chunks


def total_report(parts: Sequence[Chunks]) -> dict[str, int]:
    """The counts of all parts, added up."""
    report: dict[str, int] = {}
    for part in parts:
        for name, count in part.report.items():
            report[name] = report.get(name, 0) + count
    return report


def join_columns(
    parts: Sequence[Chunks],
    bases: Sequence[int],
    source: Sequence[str] | _core.Texts,
    ids: Sequence[Any] | None,
) -> Chunks:
    """Columns of parts whose documents are numbered from `bases`, over one source; reports are added up."""

    def join(name: str) -> np.ndarray:
        columns = [
            part._columns[name] + base if name == "document" and base else part._columns[name]
            for part, base in zip(parts, bases)
        ]
        if len(columns) == 1:
            return columns[0]
        return np.concatenate(columns) if columns else np.empty(0, np.int64)

    names = parts[0].extra if parts else {}
    vectors = [part.vectors for part in parts if part.vectors is not None and len(part)]
    return Chunks(
        source,
        {name: join(name) for name in COLUMNS},
        ids=ids,
        vectors=np.concatenate(vectors) if vectors else None,
        extra={name: joined([part.extra[name] for part in parts]) for name in names},
        report=total_report(parts),
        settings=parts[0].settings if parts else "",
        sentence_vectors=chunk_vectors.joined([part.sentence_vectors for part in parts], [len(part) for part in parts]),
    )


def _rebuilt(document: np.ndarray, start: np.ndarray, texts: Sequence[str], documents: int) -> list[str]:
    """Texts in which every chunk is at its place, with spaces where no chunk is."""
    parts: list[list[str]] = [[] for _ in range(documents)]
    ends = [0] * documents
    for number, at, text in sorted(zip(document.tolist(), start.tolist(), texts)):
        end = ends[number]
        if at + len(text) > end:
            parts[number].append(" " * (at - end) + text[max(end - at, 0) :])
            ends[number] = at + len(text)
    return ["".join(part) for part in parts]


def text_hash(text: str) -> str:
    """32 hexadecimal digits, of a text that is embedded."""
    return _digest(text)


def _digest(*parts: str) -> str:
    hashed = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        hashed.update(len(data).to_bytes(8, "little") + data)
    return hashed.hexdigest()


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("Arrow export needs pyarrow: pip install rapidchunk[arrow]") from error
    return pyarrow
