"""Encoders that are somebody else's: anything that answers a list of texts with an array, sync or async."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rapidchunk._surrogates import without_surrogates
from rapidchunk.encoders.batches import merge, plan
from rapidchunk.encoders.protocol import Progress, Vectors, finish, text_list

__all__ = ["WrappedEncoder", "token_counter"]

#: Texts in one call when the caller does not say: what common services accept.
BATCH_SIZE = 32


class WrappedEncoder:
    """An encoder around a callable ``list[str] -> array [n, dimension]``, sync or async.

    Texts go out sorted by length, never blank, in batches of at most `batch_size` texts and `max_batch_tokens` padded
    tokens; the vectors come back in input order, checked and normalised. With `max_length`, texts of more tokens are
    split at white space, encoded in parts and averaged. As thread-safe, picklable and fork-safe as the wrapped object.
    """

    def __init__(
        self,
        encoder: Any,
        *,
        batch_size: int | None = None,
        max_batch_tokens: int | None = None,
        max_length: int | None = None,
        tokenizer: Any = None,
        normalize: bool = True,
        name: str | None = None,
    ) -> None:
        """
        Args:
            encoder: the callable, or an object with a method ``encode``.
            batch_size: texts in one call, default 32.
            max_batch_tokens: texts times the longest of them, in tokens, in one call.
            max_length: tokens of the longest text that the encoder takes whole; default from a sentence-transformers
                object, else no limit.
            tokenizer: counts tokens for the two limits: "words", "chars", "bytes", a tokenizers.Tokenizer or a callable
                ``str -> int``; default from a sentence-transformers object, else "words".
            normalize: False leaves the vectors as long as the encoder gives them.
            name: the encoder's name in error messages.
        """
        self._call = getattr(encoder, "encode", encoder)
        if not callable(self._call):
            raise ValueError(f"encoder must be callable or have a method encode, got {type(encoder).__name__}")
        for key, value in (
            ("batch_size", batch_size),
            ("max_batch_tokens", max_batch_tokens),
            ("max_length", max_length),
        ):
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise ValueError(f"{key} must be a positive int, got {value!r}")
        self.name = name or getattr(encoder, "__name__", None) or type(encoder).__name__
        self.batch_size = batch_size or BATCH_SIZE
        self.max_batch_tokens = max_batch_tokens
        self._normalize = normalize
        if max_length is None and tokenizer is None and callable(getattr(encoder, "tokenizer", None)):
            window = getattr(encoder, "max_seq_length", None)  # sentence-transformers cuts longer texts silently
            if isinstance(window, int):
                max_length, tokenizer = window, _SentenceTransformersCounter(encoder.tokenizer)
        self.max_length = max_length
        self._count = token_counter("words" if tokenizer is None else tokenizer)
        self._dimension: int | None = None
        self._quiet = {"show_progress_bar": False} if _accepts(self._call, "show_progress_bar") else {}

    @property
    def dimension(self) -> int | None:
        """Length of a vector; None before the first answer."""
        return self._dimension

    def __repr__(self) -> str:
        return f"WrappedEncoder({self.name})"

    def encode(
        self, texts: Sequence[str], *, progress: Progress | None = None, report: dict[str, Any] | None = None
    ) -> Vectors:
        """See `Encoder.encode`.

        Raises:
            TypeError: `texts` is not a sequence of str.
            ValueError: an answer with the wrong number of vectors, not two-dimensional, not numeric, of another
                dimension than before, or not finite; the message names the encoder.
        """
        texts = text_list(texts)
        owners: list[int] = []
        pieces: list[str] = []
        for index, text in enumerate(texts):
            if not text.strip():
                continue
            parts = [without_surrogates(text)]
            if self.max_length is not None:
                parts = _split(parts[0], self.max_length, self._count)
            owners += [index] * len(parts)
            pieces += parts
        owner = np.array(owners, np.int64)
        split = np.flatnonzero(np.bincount(owner, minlength=len(texts)) > 1)
        if report is not None:
            report["split"] = split.tolist()
        counted = self.max_batch_tokens is not None or len(split) > 0
        lengths = np.array([self._count(piece) if counted else len(piece) for piece in pieces], np.int64)
        order = np.argsort(-lengths, kind="stable")
        left = np.bincount(owner, minlength=len(texts))
        done = int((left == 0).sum())
        vectors: NDArray[np.float32] | None = None
        for start, end in self._batches(lengths[order]):
            rows = order[start:end]
            answer = self._answer([pieces[row] for row in rows], owner[rows])
            if vectors is None:
                vectors = np.zeros((len(pieces), answer.shape[1]), np.float32)
            vectors[rows] = answer
            np.subtract.at(left, owner[rows], 1)
            done += int((left[np.unique(owner[rows])] == 0).sum())
            if progress:
                progress(done, len(texts))
        if vectors is None:  # nothing but blank texts
            return np.zeros((len(texts), self._dimension or 0), np.float32)
        if len(split) and self._normalize:
            # Parts weigh by tokens, not by the length a service happens to give its vectors.
            vectors = finish(vectors, self.name)
        return finish(merge(vectors, owner, lengths, len(texts)), self.name, self._normalize)

    def _batches(self, lengths: NDArray[np.int64]) -> list[tuple[int, int]]:
        if self.max_batch_tokens is not None:
            return plan(lengths, self.max_batch_tokens, self.batch_size)
        # A call costs more than padding here, and what the encoder does with lengths is its own affair.
        size, n = self.batch_size, len(lengths)
        return [(start, min(start + size, n)) for start in range(0, n, size)]

    def _answer(self, batch: list[str], index: NDArray[np.int64]) -> NDArray[np.float32]:
        answer = self._call(batch, **self._quiet)
        if inspect.isawaitable(answer):
            answer = _wait(answer)
        if hasattr(answer, "detach"):  # a torch tensor, perhaps on a device
            answer = answer.detach().cpu().float().numpy()
        try:
            array = np.asarray(answer)
            if array.dtype.kind not in "fiu":
                array = np.asarray(answer, np.float32) if array.dtype == object else array.astype(np.float32)
        except (TypeError, ValueError) as error:
            raise ValueError(f"encoder {self.name} must give a numeric array of vectors: {error}") from error
        if array.ndim < 1 or len(array) != len(batch):
            given = len(array) if array.ndim else "no"
            raise ValueError(f"encoder {self.name} gave {given} vectors for {len(batch)} texts")
        if array.ndim != 2:
            raise ValueError(f"encoder {self.name} must give a two-dimensional array, got shape {array.shape}")
        if self._dimension is None:
            self._dimension = array.shape[1]
        elif array.shape[1] != self._dimension:
            raise ValueError(f"encoder {self.name} gave vectors of {array.shape[1]} after {self._dimension} values")
        with np.errstate(over="ignore"):
            array = array.astype(np.float32, copy=False)
        bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
        if len(bad):
            raise ValueError(
                f"encoder {self.name} gave a vector that is not finite for the text at index {index[bad].min()}"
            )
        return array


class _SentenceTransformersCounter:
    """Counts tokens, special tokens included, with the tokenizer of a sentence-transformers object."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def __call__(self, text: str) -> int:
        return len(self.tokenizer(text, truncation=False, verbose=False)["input_ids"])


class _TokenizersCounter:
    """Counts tokens, without special tokens, with a tokenizers.Tokenizer."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def __call__(self, text: str) -> int:
        return len(self.tokenizer.encode(text, add_special_tokens=False).ids)


def _words(text: str) -> int:
    return len(text.split())


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def token_counter(tokenizer: Any) -> Callable[[str], int]:
    """A function ``str -> int`` from "words", "chars", "bytes", a tokenizers.Tokenizer or such a function."""
    if isinstance(tokenizer, str):
        counters: dict[str, Callable[[str], int]] = {"words": _words, "chars": len, "bytes": _bytes}
        if tokenizer not in counters:
            raise ValueError(f"tokenizer must be one of {', '.join(counters)} or a callable, got {tokenizer!r}")
        return counters[tokenizer]
    if hasattr(tokenizer, "encode_batch"):
        return _TokenizersCounter(tokenizer)
    if not callable(tokenizer):
        raise ValueError(f"tokenizer must be a callable str -> int, got {type(tokenizer).__name__}")
    counter: Callable[[str], int] = tokenizer
    return counter


def _accepts(function: Any, parameter: str) -> bool:
    try:
        return parameter in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def _split(text: str, limit: int, count: Callable[[str], int]) -> list[str]:
    """Pieces of at most `limit` tokens, cut at white space where there is any nearby.

    Pieces are estimated from the tokens of the whole, so that almost every character is counted only twice; a piece
    that is still too long is cut again. A single character is never cut.
    """
    out: list[str] = []
    stack = [text]
    while stack:
        piece = stack.pop()
        tokens = count(piece)
        if tokens <= limit or len(piece) < 2:
            if piece.strip():
                out.append(piece)
            continue
        parts = min(len(piece), max(2, -(-tokens * 11 // (limit * 10))))
        size = len(piece) / parts
        cuts = [0]
        for nth in range(1, parts):
            at = round(size * nth)
            near = max(1, int(size / 2))
            reach = max(cuts[-1] + 1, at - near)
            space = max(piece.rfind(" ", reach, at), piece.rfind("\n", reach, at))
            if space < 0:
                ahead = (piece.find(" ", at, at + near), piece.find("\n", at, at + near))
                space = min((place for place in ahead if place >= 0), default=-1)
            cuts.append(space + 1 if space >= 0 else max(at, cuts[-1] + 1))
        cuts.append(len(piece))
        stack += reversed([piece[a:b] for a, b in pairwise(cuts) if a < b])
    return out


class _Loop:
    """One event loop in a thread of its own, for encoders that are coroutines.

    All calls share it, so a client that keeps connections open finds its loop again, and a caller inside a running loop
    (a notebook, a web service) is not in the way.
    """

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.process = os.getpid()
        threading.Thread(target=self.loop.run_forever, name="rapidchunk-encoders", daemon=True).start()


_loop: _Loop | None = None
_loop_lock = threading.Lock()


def _wait(answer: Any) -> Any:
    global _loop

    async def result() -> Any:
        return await answer

    with _loop_lock:
        if _loop is None or _loop.process != os.getpid():  # threads do not survive a fork
            _loop = _Loop()
        loop = _loop.loop
    return asyncio.run_coroutine_threadsafe(result(), loop).result()
