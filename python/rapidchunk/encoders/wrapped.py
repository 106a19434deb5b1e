"""Encoders that are somebody else's: anything that answers a list of texts with an array, sync or async."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rapidchunk._services import awaited, concurrently
from rapidchunk._surrogates import without_surrogates
from rapidchunk.encoders.batches import merge
from rapidchunk.encoders.protocol import Progress, Vectors, finish, text_list
from rapidchunk.tokenizers import as_tokenizer

__all__ = ["WrappedEncoder"]

#: Texts in one call when the caller does not say: what common services accept.
BATCH_SIZE = 32

#: How objects of well-known libraries encode documents, and questions.
_METHODS = (
    ("embed_documents", "embed_query"),  # langchain_core.embeddings.Embeddings
    ("get_text_embedding_batch", "get_query_embedding"),  # llama_index.core.embeddings.BaseEmbedding
    ("encode_document", "encode_query"),  # sentence-transformers 5 and later: these apply the model's prompts
    ("encode", "encode_query"),
)
#: Of these, the methods that take one text.
_ONE_BY_ONE = ("embed_query", "get_query_embedding")


class WrappedEncoder:
    """An encoder around a callable ``list[str] -> array [n, dimension]``, sync or async, or an object of another library.

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
        prefix: str = "",
        query_prefix: str = "",
        concurrency: int = 1,
        name: str | None = None,
    ) -> None:
        """
        Args:
            encoder: the callable; an object with a method ``encode`` (and ``encode_query``, where it treats questions
                otherwise), such as one of sentence-transformers; LangChain's ``Embeddings``; LlamaIndex's ``BaseEmbedding``.
            batch_size: texts in one call, default 32.
            max_batch_tokens: texts times the longest of them, in tokens, in one call.
            max_length: tokens of the longest text that the encoder takes whole; default from a sentence-transformers
                object, else no limit.
            tokenizer: counts tokens for the two limits, see `rapidchunk.as_tokenizer`; default from a
                sentence-transformers object, else "words".
            normalize: False leaves the vectors as long as the encoder gives them.
            prefix, query_prefix: put before every text by `encode` and `encode_query`, such as "passage: " and "query: "
                for e5. A text that is split has it in its first part.
            concurrency: calls at a time, in threads.
            name: the encoder's name in error messages.
        """
        method, query = next((pair for pair in _METHODS if callable(getattr(encoder, pair[0], None))), ("", ""))
        self._call = getattr(encoder, method) if method else encoder
        if not callable(self._call):
            raise ValueError(f"encoder must be callable or have a method encode, got {type(encoder).__name__}")
        asks = getattr(encoder, query, self._call) if query else self._call
        self._query_call: Callable[..., Any] = functools.partial(_one_by_one, asks) if query in _ONE_BY_ONE else asks
        for key, value in (
            ("batch_size", batch_size),
            ("max_batch_tokens", max_batch_tokens),
            ("max_length", max_length),
            ("concurrency", concurrency),
        ):
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise ValueError(f"{key} must be a positive int, got {value!r}")
        self.name = name or getattr(encoder, "__name__", None) or type(encoder).__name__
        self.batch_size = batch_size or BATCH_SIZE
        self.max_batch_tokens = max_batch_tokens
        self.concurrency = concurrency
        self._prefix, self._query_prefix = prefix, query_prefix
        self._normalize = normalize
        if max_length is None and tokenizer is None and callable(getattr(encoder, "tokenizer", None)):
            window = getattr(encoder, "max_seq_length", None)  # sentence-transformers cuts longer texts silently
            if isinstance(window, int):
                max_length, tokenizer = window, _SentenceTransformersCounter(encoder.tokenizer)
        self.max_length = max_length
        self._tokenizer = as_tokenizer("words" if tokenizer is None else tokenizer)
        self._dimension: int | None = None

    @property
    def dimension(self) -> int | None:
        """Length of a vector; None before the first answer."""
        return self._dimension

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def encode(
        self, texts: Sequence[str], *, progress: Progress | None = None, report: dict[str, Any] | None = None
    ) -> Vectors:
        """See `Encoder.encode`.

        Raises:
            TypeError: `texts` is not a sequence of str.
            ValueError: an answer with the wrong number of vectors, not two-dimensional, not numeric, of another
                dimension than before, or not finite; the message names the encoder.
            Exception: whatever the wrapped object raises.
        """
        return self._encode(texts, self._call, self._prefix, progress, report)

    def encode_query(
        self, texts: Sequence[str], *, progress: Progress | None = None, report: dict[str, Any] | None = None
    ) -> Vectors:
        """As `encode`, for questions: with `query_prefix` and by what the wrapped object has for them."""
        return self._encode(texts, self._query_call, self._query_prefix, progress, report)

    def _encode(
        self,
        texts: Sequence[str],
        call: Callable[..., Any],
        prefix: str,
        progress: Progress | None,
        report: dict[str, Any] | None,
    ) -> Vectors:
        texts = text_list(texts)
        owners: list[int] = []
        pieces: list[str] = []
        for index, text in enumerate(texts):
            if not text.strip():
                continue
            parts = [without_surrogates(prefix + text)]
            if self.max_length is not None:
                parts = _split(parts[0], self.max_length, self._count)
            owners += [index] * len(parts)
            pieces += parts
        owner = np.array(owners, np.int64)
        split = np.flatnonzero(np.bincount(owner, minlength=len(texts)) > 1)
        if report is not None:
            report["split"] = split.tolist()
        if self.max_batch_tokens is not None or len(split):
            lengths = self._tokenizer.count(pieces)
        else:
            lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
        order = np.argsort(-lengths, kind="stable")
        left = np.bincount(owner, minlength=len(texts))
        done = int((left == 0).sum())
        batches = [order[start:end] for start, end in self._batches(lengths[order])]
        quiet = {"show_progress_bar": False} if _accepts(call, "show_progress_bar") else {}

        def answer_of(rows: NDArray[np.int64]) -> NDArray[np.float32]:
            answer = awaited(call([pieces[row] for row in rows], **quiet))
            return self._checked(answer, owner[rows])

        vectors: NDArray[np.float32] | None = None
        for at, answer in concurrently(answer_of, batches, self.concurrency):
            rows = batches[at]
            if self._dimension is None:
                self._dimension = answer.shape[1]
            elif answer.shape[1] != self._dimension:
                raise ValueError(
                    f"encoder {self.name} gave vectors of {answer.shape[1]} after {self._dimension} values"
                )
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

    def _count(self, text: str) -> int:
        return int(self._tokenizer.count([text])[0])

    def _batches(self, lengths: NDArray[np.int64]) -> list[tuple[int, int]]:
        """As few calls as the limits allow: a call costs more than padding here, and what the encoder does with lengths is its
        own affair."""
        out, start = [], 0
        while start < len(lengths):
            size = self.batch_size
            if self.max_batch_tokens is not None:
                size = min(size, max(1, self.max_batch_tokens // max(int(lengths[start]), 1)))
            out.append((start, min(start + size, len(lengths))))
            start += size
        return out

    def _checked(self, answer: Any, index: NDArray[np.int64]) -> NDArray[np.float32]:
        """The answer to the texts at `index` as an array [n, dimension]."""
        if hasattr(answer, "detach"):  # a torch tensor, perhaps on a device
            answer = answer.detach().cpu().float().numpy()
        try:
            array = np.asarray(answer)
            if array.dtype.kind not in "fiu":
                array = np.asarray(answer, np.float32) if array.dtype == object else array.astype(np.float32)
        except (TypeError, ValueError) as error:
            raise ValueError(f"encoder {self.name} must give a numeric array of vectors: {error}") from error
        if array.ndim < 1 or len(array) != len(index):
            given = len(array) if array.ndim else "no"
            raise ValueError(f"encoder {self.name} gave {given} vectors for {len(index)} texts")
        if array.ndim != 2:
            raise ValueError(f"encoder {self.name} must give a two-dimensional array, got shape {array.shape}")
        with np.errstate(over="ignore"):
            array = array.astype(np.float32, copy=False)
        bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
        if len(bad):
            raise ValueError(
                f"encoder {self.name} gave a vector that is not finite for the text at index {index[bad].min()}"
            )
        return array


def _one_by_one(function: Callable[[str], Any], texts: list[str]) -> list[Any]:
    return [awaited(function(text)) for text in texts]


class _SentenceTransformersCounter:
    """Counts tokens, special tokens included, with the tokenizer of a sentence-transformers object."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def __call__(self, text: str) -> int:
        return len(self.tokenizer(text, truncation=False, verbose=False)["input_ids"])


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
