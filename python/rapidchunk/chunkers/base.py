"""What all chunkers share: the call, the checks of parameters, batches and streams."""

from __future__ import annotations

import asyncio
import bisect
import itertools
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np

from rapidchunk import _core
from rapidchunk.chunks import COLUMNS, Chunks, ChunkStream, join_columns
from rapidchunk.tokenizers import Tokenizer, as_tokenizer

__all__ = ["Chunker"]

# Documents are worked on in batches of about this much text: enough to keep all threads busy, little enough that what is
# kept for a batch (token positions, UTF-8 copies) stays small beside the documents.
BATCH_BYTES = 8 << 20

# The texts of chunks are made so many characters at a time: enough for several threads, little beside a large document.
RUN = 1 << 20

Progress = Callable[[int, "int | None"], object]


class Chunker(ABC):
    """A strategy. Immutable, thread-safe and picklable; call it with a text or with many.

    Args:
        max_tokens: the most tokens that a chunk's own text may have, special tokens counted.
        min_tokens: chunks smaller than this are avoided as long as none gets larger than `max_tokens`.
        overlap: the most tokens that a chunk may repeat of the one before, in whole units.
        tokenizer: see `rapidchunk.tokenizers.as_tokenizer`. Default: BERT's uncased WordPiece.
    """

    def __init__(self, max_tokens: int, min_tokens: int, overlap: int, tokenizer: Any) -> None:
        self.tokenizer: Tokenizer = as_tokenizer(tokenizer)
        special = self.tokenizer.special_tokens
        self.max_tokens = whole_number("max_tokens", max_tokens, 1)
        if self.max_tokens <= special:
            raise ValueError(f"max_tokens must be more than the tokenizer's {special} special tokens, not {max_tokens}")
        if self.tokenizer.name == "bytes" and self.max_tokens < 4:
            raise ValueError(
                f"max_tokens must be at least 4 bytes, the size of the largest character, not {max_tokens}"
            )
        self.min_tokens = whole_number("min_tokens", min_tokens, 0)
        if self.min_tokens > self.max_tokens:
            raise ValueError(f"min_tokens must be at most max_tokens ({max_tokens}), not {min_tokens}")
        self.overlap = whole_number("overlap", overlap, 0)
        if self.overlap >= self.max_tokens - special:
            room = f"max_tokens ({max_tokens})" + (f" less {special} special tokens" if special else "")
            raise ValueError(f"overlap must be less than {room}, not {overlap}")

    @overload
    def __call__(
        self, texts: Iterator[str], *, ids: Any = None, metadata: Any = None, progress: Progress | None = None
    ) -> ChunkStream: ...
    @overload
    def __call__(
        self, texts: Any, *, ids: Any = None, metadata: Any = None, progress: Progress | None = None
    ) -> Chunks: ...
    def __call__(
        self, texts: Any, *, ids: Any = None, metadata: Any = None, progress: Progress | None = None
    ) -> Chunks | ChunkStream:
        """Chunks a text or many.

        Args:
            texts: a str; a list, tuple, NumPy array or pandas Series of str; a pyarrow string array, chunked array or anything
                with the Arrow PyCapsule interface (not copied); or an iterator of str.
            ids: an id for the text, or one for each text; every chunk carries its document's id.
            metadata: a dict for the text, or one (or None) for each text; `Chunk.metadata` and tables have it on every row.
            progress: called with (documents done, documents in all or None) after each batch.

        Returns:
            `Chunks`; for an iterator a `ChunkStream`, which reads documents as chunks are asked for, in bounded memory.

        Raises:
            ValueError: a text is not a str, or `ids` or `metadata` has another length.
        """
        if self._is_document(texts):
            about = None if metadata is None else [metadata]
            return self._chunk_all(_Batch([texts]), None if ids is None else [ids], progress, about)
        if hasattr(texts, "__arrow_c_array__") or hasattr(texts, "__arrow_c_stream__"):
            return self._chunk_all(_Batch(_core.Texts.from_arrow(texts)), _as_ids(ids), progress, metadata)
        if isinstance(texts, (bytes, bytearray, memoryview, Mapping)) or not isinstance(texts, Iterable):
            raise ValueError(f"texts must be a str or many of them, not {type(texts).__name__}")
        if isinstance(texts, Iterator):
            return ChunkStream(self._stream(texts, ids, progress, metadata))
        if hasattr(texts, "tolist"):  # NumPy array, pandas Series
            texts = texts.tolist()
        return self._chunk_all(_Batch(list(texts)), _as_ids(ids), progress, metadata)

    async def acall(self, texts: Any, **options: Any) -> Any:
        """The call in a worker thread, so that an event loop goes on meanwhile (kernels and encoders release the GIL)."""
        return await asyncio.to_thread(lambda: self(texts, **options))

    @abstractmethod
    def _chunk(self, texts: _core.Texts) -> Chunks:
        """Chunks one batch, documents numbered from 0."""

    def _plan(self, batch: _Batch) -> tuple[list[str] | _core.Texts, Callable[[int, int], Chunks]]:
        """The texts that spans refer to, and what chunks the documents [begin, end); called for all, in order."""
        return batch.source, lambda begin, end: self._chunk(batch.texts(begin, end))

    def _is_document(self, text: Any) -> bool:
        """Whether this is what the strategy takes as one document."""
        return isinstance(text, str)

    def _check_document(self, text: Any, number: int) -> None:
        if not self._is_document(text):
            raise ValueError(f"texts must be str; document {number} is {type(text).__name__}")

    def _chunk_all(
        self, batch: _Batch, ids: list[Any] | None, progress: Progress | None, metadata: Any = None
    ) -> Chunks:
        about = None if metadata is None else _as_metadata(metadata, len(batch))
        if ids is not None and len(ids) != len(batch):
            raise ValueError(f"ids has {len(ids)} entries for {len(batch)} texts")
        # A str is a document to every strategy.
        if isinstance(batch.source, list) and set(map(type, batch.source)) - {str}:
            for number, text in enumerate(batch.source):
                self._check_document(text, number)
        source, chunk = self._plan(batch)
        parts: list[Chunks] = []
        bases: list[int] = []
        for begin, end in batch.parts():
            part = chunk(begin, end)
            parts.append(part)
            bases.append(begin)
            if progress is not None:
                progress(end, len(batch))
        chunks = join_columns(parts, bases, source, ids)
        chunks.settings, chunks.metadata = self._settings(), about
        return chunks

    def _settings(self) -> str:
        """The strategy and its parameters as text that is the same in every run (no addresses of objects)."""
        return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(self))

    @property
    def reason(self) -> str:
        """Why `rapidchunk.for_document` chose this strategy and these sizes; empty for a chunker made directly."""
        return str(vars(self).get("_reason", ""))

    def _stream(
        self, texts: Iterator[str], ids: Any, progress: Progress | None, metadata: Any = None
    ) -> Iterator[Chunks]:
        names = None if ids is None else iter(ids)
        abouts = None if metadata is None else iter(metadata)
        done = 0
        pending: list[str] = []
        size = 0

        def flush() -> Chunks:
            nonlocal done, pending, size
            some = list(range(done, done + len(pending)))
            if names is not None:
                some = [name for _, name in zip(pending, names)]
                if len(some) < len(pending):
                    raise ValueError(f"ids has {done + len(some)} entries for at least {done + len(pending)} texts")
            about = None if abouts is None else [given for _, given in zip(pending, abouts)]
            chunks = self._chunk_all(_Batch(pending), some, None, about)
            done += len(pending)
            pending, size = [], 0
            if progress is not None:
                progress(done, None)
            return chunks

        for text in texts:
            self._check_document(text, done + len(pending))
            pending.append(text)
            size += len(text)
            if size >= BATCH_BYTES:
                yield flush()
        if pending:
            yield flush()

    def _pack(
        self, texts: _core.Texts, levels: list[Any], *, min_tokens: int | None = None, keep: str = "end"
    ) -> Chunks:
        """Runs the packing stage on a batch. The limits are the user's; the special tokens are taken off here."""
        special = self.tokenizer.special_tokens
        least = self.min_tokens if min_tokens is None else min_tokens
        columns = _core.pack(
            texts,
            self.tokenizer.measure(texts, threads()),
            levels,
            keep=keep,
            max_tokens=self.max_tokens - special,
            min_tokens=max(least - special, 0),
            overlap=self.overlap,
            special_tokens=special,
            threads=threads(),
        )
        return Chunks(texts, dict(zip(COLUMNS, columns)))

    def _cut(
        self,
        texts: _core.Texts,
        spans: np.ndarray,
        offsets: np.ndarray,
        levels: Sequence[Any] = (),
        measure: Any = None,
    ) -> Chunks:
        """A chunk for each byte span, or several where its text alone has too many tokens: cut at the levels' boundaries, else
        between words, else characters. `measure` is the tokenizer's, where it is there already."""
        special = self.tokenizer.special_tokens
        cut, bounds, tokens = _core.split_spans(
            texts,
            self.tokenizer.measure(texts, threads()) if measure is None else measure,
            np.ascontiguousarray(spans),
            offsets,
            [*levels, "words"],
            max_tokens=self.max_tokens - special,
            threads=threads(),
        )
        document = np.repeat(np.arange(len(texts)), np.diff(bounds))
        start, end = (np.ascontiguousarray(cut[:, i]) for i in (0, 1))
        columns = {
            "document": document,
            "byte_start": start,
            "byte_end": end,
            "start": _core.code_point_offsets(texts, document, start),
            "end": _core.code_point_offsets(texts, document, end),
            "tokens": tokens + special,
        }
        return Chunks(texts, columns)

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if not name.startswith("_"))
        return f"{type(self).__name__}({settings})"


class _Batch:
    """The documents of a call: a list of str, or views of an Arrow array."""

    def __init__(self, source: list[str] | _core.Texts) -> None:
        self.source = source

    def __len__(self) -> int:
        return len(self.source)

    def parts(self) -> Iterator[tuple[int, int]]:
        """Runs of documents of about BATCH_BYTES."""
        sizes = map(len, self.source) if isinstance(self.source, list) else self.source.sizes().tolist()
        return runs(sizes, BATCH_BYTES)

    def texts(self, begin: int, end: int) -> _core.Texts:
        if isinstance(self.source, _core.Texts):
            return self.source.part(begin, end)
        return _core.Texts(self.source if end - begin == len(self.source) else self.source[begin:end])


def runs(sizes: Iterable[int], about: int) -> Iterator[tuple[int, int]]:
    """Runs [begin, end) of texts of these sizes, of about so much each."""
    ends = list(itertools.accumulate(sizes))
    begin = 0
    while begin < len(ends):
        least = (ends[begin - 1] if begin else 0) + about
        end = min(bisect.bisect_left(ends, least) + 1, len(ends))
        yield begin, end
        begin = end


def _as_ids(ids: Any) -> list[Any] | None:
    if ids is None:
        return None
    if isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable):
        raise ValueError(f"ids must hold an id for each text, not {ids!r}")
    return ids.tolist() if hasattr(ids, "tolist") else list(ids)


def _as_metadata(metadata: Any, documents: int) -> list[Mapping[str, Any]]:
    if isinstance(metadata, (str, bytes, Mapping)) or not isinstance(metadata, Iterable):
        raise ValueError(f"metadata must hold a dict for each text, not {metadata!r}")
    given = list(metadata)
    if len(given) != documents:
        raise ValueError(f"metadata has {len(given)} entries for {documents} texts")
    for number, entry in enumerate(given):
        if entry is not None and not isinstance(entry, Mapping):
            raise ValueError(f"metadata must hold dicts; entry {number} is {type(entry).__name__}")
    return [entry or {} for entry in given]


def whole_number(name: str, value: Any, least: int) -> int:
    """The value as int.

    Raises:
        ValueError: not a whole number, or below `least`.
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ValueError(f"{name} must be a whole number, not {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, not {value}")
    return int(value)


def check_within(within: Any, outer: Chunker) -> None:
    """Raises ValueError unless `within` may cut for `outer`: a chunker (or None), no larger, that counts tokens alike."""
    if within is None:
        return
    if not isinstance(within, Chunker):
        raise ValueError(f"within must be a chunker, not {within!r}")
    if within.max_tokens > outer.max_tokens:
        raise ValueError(f"within has max_tokens {within.max_tokens}, more than the {outer.max_tokens} here")
    if repr(within.tokenizer) != repr(outer.tokenizer):
        raise ValueError(f"within must count tokens with {outer.tokenizer!r}, not {within.tokenizer!r}")


def choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """The value, if it is one of the choices.

    Raises:
        ValueError: it is not.
    """
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")
    return str(value)


def threads() -> int:
    """Threads that a kernel may use: RAPIDCHUNK_THREADS, else OMP_NUM_THREADS, else one in a process of `multiprocessing`, else
    the processors at hand."""
    return _core.default_threads()
