"""Tokenizers: what a token is, for sizes and limits.

`as_tokenizer` accepts a `tokenizers.Tokenizer`, a path to a tokenizer.json, a transformers fast tokenizer, a tiktoken
encoding, the names ``"bert" | "words" | "chars" | "bytes"`` and any callable ``str -> int``. A document is tokenised once;
sizes of its pieces are read off the token positions, and only where a cut may change the tokens around it is a piece
counted again, so that a limit holds for the chunk's own text.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from rapidchunk import _core
from rapidchunk._in_order import in_order
from rapidchunk._surrogates import without_surrogates
from rapidchunk._wordpiece import default_wordpiece, load_wordpiece, shared_wordpiece

__all__ = ["Tokenizer", "as_tokenizer"]

Measure = Any  # "chars", "bytes" or _core.TokenIndexes


@runtime_checkable
class Tokenizer(Protocol):
    """What a chunker needs of a tokenizer. Implementations are immutable, thread-safe and picklable."""

    name: str
    special_tokens: int
    """Special tokens that the tokenizer adds to every text (2 for BERT); they count towards `max_tokens`."""

    def measure(self, texts: _core.Texts, threads: int) -> Measure:
        """Token positions of a batch of documents, for the packing stage."""

    def count(self, texts: Sequence[str]) -> np.ndarray:
        """Tokens of each text alone, special tokens included: int64 [len(texts)]."""


class UnitTokenizer:
    """Characters (code points), UTF-8 bytes or white-space separated words."""

    special_tokens = 0

    def __init__(self, unit: str) -> None:
        self.name = unit

    def measure(self, texts: _core.Texts, threads: int) -> Measure:
        return _core.word_indexes(texts, threads) if self.name == "words" else self.name

    def count(self, texts: Sequence[str]) -> np.ndarray:
        size: dict[str, Callable[[str], int]] = {
            "words": lambda text: len(text.split()),
            "chars": len,
            "bytes": lambda text: len(text.encode("utf-8", "surrogatepass")),
        }
        return np.fromiter(map(size[self.name], texts), np.int64, len(texts))

    def __repr__(self) -> str:
        return f"{self.name!r}"


class WordPieceTokenizer:
    """Native WordPiece (BERT): ids and spans equal those of Hugging Face `tokenizers`."""

    def __init__(self, wordpiece: _core.WordPiece, special_tokens: int, name: str) -> None:
        self.wordpiece = wordpiece
        self.special_tokens = special_tokens
        self.name = name

    def __reduce__(self) -> Any:
        return _wordpiece_tokenizer, (self.wordpiece, self.special_tokens, self.name)

    def measure(self, texts: _core.Texts, threads: int, ids: bool = False) -> Measure:
        """See `Tokenizer.measure`. With `ids` the result knows the tokens' ids, too: for a `StaticEncoder` whose `wordpiece`
        is this one's."""
        return _core.wordpiece_indexes(texts, self.wordpiece, threads, ids)

    def count(self, texts: Sequence[str]) -> np.ndarray:
        utf8 = [without_surrogates(text).encode() for text in texts]
        return np.asarray(self.wordpiece.count(utf8, 1)) + self.special_tokens

    def __repr__(self) -> str:
        return f"<WordPiece {self.name}, {self.wordpiece.vocab_size} tokens>"


def _wordpiece_tokenizer(wordpiece: _core.WordPiece, special_tokens: int, name: str) -> WordPieceTokenizer:
    return WordPieceTokenizer(shared_wordpiece(wordpiece), special_tokens, name)


class ByteLevelTokenizer:
    """Byte-level BPE (GPT-2, cl100k, o200k, Llama 3, Qwen): every id stands for a known number of bytes, so that the spans
    are a running sum over the ids. `encode` gives the ids of one text as an integer array, special tokens taken as text."""

    def __init__(self, name: str, source: Any, lengths: np.ndarray, special_tokens: int) -> None:
        self.name = name
        self.special_tokens = special_tokens
        self._source = source
        self._lengths = lengths
        # The ends of a piece, mostly a word, are counted again. Counts are kept from call to call, since words come again.
        self._count = functools.lru_cache(maxsize=1 << 14)(source.count)

    def __reduce__(self) -> Any:
        return ByteLevelTokenizer, (self.name, self._source, self._lengths, self.special_tokens)

    def _encode(self, text: str) -> np.ndarray:
        ids: np.ndarray = self._source.ids(text)
        return ids

    def _encode_run(self, run: list[tuple[int, str]]) -> list[tuple[int, np.ndarray]]:
        return [(document, self._encode(piece)) for document, piece in run]

    def measure(self, texts: _core.Texts, threads: int) -> Measure:
        try:
            index = _core.ByteLevelIndexes(texts, self._lengths)
            for run in in_order(self._encode_run, _runs(texts), threads):
                for document, ids in run:
                    index.add(document, ids)
            return index.finish(self._count, threads)
        except ValueError:
            # The tokenizer alters the text (say, it composes characters first): the bytes of its ids are not the text's.
            return self._source.fallback(self._count).measure(texts, threads)

    def count(self, texts: Sequence[str]) -> np.ndarray:
        lengths = (len(self._encode(without_surrogates(text))) for text in texts)
        return np.fromiter(lengths, np.int64, len(texts)) + self.special_tokens

    def __repr__(self) -> str:
        return f"<byte-level BPE {self.name}>"


RUN = 1 << 16
PIECE = 1 << 18
# Where every byte-level BPE pre-tokeniser in use begins a word whatever surrounds it (`is_space_cut` in token_index.cpp).
_SPACE_CUT = re.compile("(?<=[!-~]) (?=[A-Za-z])")


def _runs(texts: _core.Texts) -> Iterator[list[tuple[int, str]]]:
    """(document, piece of it) in order, in lists of about RUN characters: enough for a task of a thread, and little enough
    that the ids are in the cache still when they are looked at."""
    run: list[tuple[int, str]] = []
    size = 0
    for document in range(len(texts)):
        for piece in _pieces(without_surrogates(texts[document])):
            run.append((document, piece))
            size += len(piece)
            if size >= RUN:
                yield run
                run, size = [], 0
    yield run


def _pieces(text: str) -> Iterator[str]:
    """The text, cut about every PIECE characters where that changes no token."""
    at = 0
    while len(text) - at > PIECE and (cut := _SPACE_CUT.search(text, at + PIECE)):
        yield text[at : cut.start()]
        at = cut.start()
    yield text[at:]


class _Tiktoken:
    """Ids of a tiktoken encoding."""

    def __init__(self, encoding: Any) -> None:
        self.encoding = encoding

    def ids(self, text: str) -> np.ndarray:
        # encode_to_numpy knows special tokens; with none allowed and none forbidden, they are text.
        return np.asarray(self.encoding.encode_to_numpy(text, disallowed_special=()), np.uint32).view(np.int32)

    def count(self, text: str) -> int:
        # For a word a quarter of the time of `ids`, which is faster for long texts.
        return len(self.encoding.encode_ordinary(text))

    def fallback(self, counter: Callable[[str], int]) -> CountingTokenizer:
        return CountingTokenizer(counter, "tiktoken", 0)

    def lengths(self) -> np.ndarray:
        table = np.zeros(self.encoding.n_vocab, np.int32)
        for token in range(self.encoding.n_vocab):
            try:
                table[token] = len(self.encoding.decode_single_token_bytes(token))
            except KeyError:
                continue  # a hole in the ids
        return table


class _HuggingFace:
    """Ids and offsets of a `tokenizers.Tokenizer`, as a copy that truncates, pads and recognises nothing special."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = type(tokenizer).from_str(tokenizer.to_str())
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.tokenizer.encode_special_tokens = True

    def __reduce__(self) -> Any:
        return _hugging_face, (self.tokenizer.to_str(),)

    def ids(self, text: str) -> np.ndarray:
        return np.array(self.tokenizer.encode(text, add_special_tokens=False).ids, np.int32)

    def count(self, text: str) -> int:
        return len(self.tokenizer.encode(text, add_special_tokens=False))

    def fallback(self, counter: Callable[[str], int]) -> OffsetTokenizer:
        return OffsetTokenizer("tokenizer.json", self, 0)

    def lengths(self) -> np.ndarray:
        table = np.zeros(self.tokenizer.get_vocab_size(with_added_tokens=True) + 1, np.int32)
        vocabulary = self.tokenizer.get_vocab(with_added_tokens=False)
        for token, index in self.tokenizer.get_vocab(with_added_tokens=True).items():
            if index >= len(table):
                table = np.resize(table, index + 1)
            # In the vocabulary of byte-level BPE every character stands for one byte.
            table[index] = len(token) if token in vocabulary else len(token.encode())
        return table


def _hugging_face(definition: str) -> _HuggingFace:
    import tokenizers

    return _HuggingFace(tokenizers.Tokenizer.from_str(definition))


class OffsetTokenizer:
    """Any other `tokenizers.Tokenizer` (SentencePiece-like, custom): positions from its offsets; every chunk's own text is
    counted again, because cutting may change its tokens."""

    def __init__(self, name: str, source: _HuggingFace, special_tokens: int) -> None:
        self.name = name
        self.special_tokens = special_tokens
        self._source = source

    def measure(self, texts: _core.Texts, threads: int) -> Measure:
        starts: list[np.ndarray] = []
        offsets = np.zeros(len(texts) + 1, np.int64)
        for i in range(len(texts)):
            text = without_surrogates(texts[i])
            spans = self._source.tokenizer.encode(text, add_special_tokens=False).offsets
            first = np.fromiter((start for start, _ in spans), np.int64, len(spans))
            first = np.maximum.accumulate(first) if len(first) else first
            starts.append(_byte_positions(text, np.minimum(first, max(len(text) - 1, 0))))
            offsets[i + 1] = offsets[i] + len(first)
        flat = np.concatenate(starts) if starts else np.empty(0, np.int64)
        return _core.span_indexes(texts, flat, None, offsets, self._source.count)

    def count(self, texts: Sequence[str]) -> np.ndarray:
        return (
            np.fromiter((self._source.count(without_surrogates(text)) for text in texts), np.int64, len(texts))
            + self.special_tokens
        )

    def __repr__(self) -> str:
        return f"<tokenizer {self.name}>"


class CountingTokenizer:
    """A callable ``str -> int``. Called on pieces of about 200 characters to estimate where tokens lie (each character
    once), then on the chunks to make sure of their size."""

    PIECE = 200

    def __init__(self, counter: Callable[[str], int], name: str, special_tokens: int) -> None:
        self.name = name
        self.special_tokens = special_tokens
        self._counter = counter

    def _count(self, text: str) -> int:
        n = self._counter(text)
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
            raise ValueError(f"tokenizer must return a number of tokens, not {n!r}")
        return max(int(n) - self.special_tokens, 0)

    def measure(self, texts: _core.Texts, threads: int) -> Measure:
        starts: list[np.ndarray] = []
        offsets = np.zeros(len(texts) + 1, np.int64)
        for i in range(len(texts)):
            text = without_surrogates(texts[i])
            ends = self._piece_ends(text)
            begins = [0, *ends[:-1]]
            counts = np.fromiter((self._count(text[a:b]) for a, b in zip(begins, ends)), np.int64, len(ends))
            at = _byte_positions(text, np.array([*begins, len(text)], np.int64))
            # The tokens of a piece are taken to be spread evenly over it.
            piece = np.repeat(np.arange(len(ends)), counts)
            number = np.arange(len(piece)) - np.repeat(np.cumsum(counts) - counts, counts)
            length = at[1:] - at[:-1]
            starts.append(at[:-1][piece] + number * length[piece] // np.maximum(counts[piece], 1))
            offsets[i + 1] = offsets[i] + len(piece)
        flat = np.concatenate(starts) if starts else np.empty(0, np.int64)
        return _core.span_indexes(texts, flat, None, offsets, self._count)

    def _piece_ends(self, text: str) -> list[int]:
        ends, at = [], 0
        while at < len(text):
            end = min(at + self.PIECE, len(text))
            if end < len(text):
                space = text.rfind(" ", at + 1, end)
                end = space if space > at else end
            ends.append(end)
            at = end
        return ends

    def count(self, texts: Sequence[str]) -> np.ndarray:
        return np.fromiter((self._counter(text) for text in texts), np.int64, len(texts))

    def __repr__(self) -> str:
        return f"<tokenizer {self.name}>"


def _byte_positions(text: str, positions: np.ndarray) -> np.ndarray:
    """Code point positions as positions in the text's UTF-8."""
    if text.isascii() or not len(positions):
        return positions
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    sizes = 1 + (points >= 0x80).astype(np.int64) + (points >= 0x800) + (points >= 0x10000)
    at = np.zeros(len(points) + 1, np.int64)
    np.cumsum(sizes, out=at[1:])
    found: np.ndarray = at[positions]
    return found


@functools.cache
def _default_wordpiece() -> WordPieceTokenizer:
    return WordPieceTokenizer(default_wordpiece(), 2, "bert")


def _from_hugging_face(tokenizer: Any, name: str) -> Tokenizer:
    definition = json.loads(tokenizer.to_str())
    special = tokenizer.num_special_tokens_to_add(False)
    kind = (definition.get("model") or {}).get("type")
    if kind == "WordPiece":
        wordpiece = load_wordpiece(definition)
        if wordpiece is not None:
            return WordPieceTokenizer(wordpiece, special, name)
    source = _HuggingFace(tokenizer)
    if kind == "BPE" and _is_byte_level(definition):
        return ByteLevelTokenizer(name, source, source.lengths(), special)
    return OffsetTokenizer(name, source, special)


def _is_byte_level(definition: dict[str, Any]) -> bool:
    """Whether ids stand for the text's own bytes: byte-level pre-tokeniser, no prefix space, text not altered before."""
    stage = definition.get("pre_tokenizer") or {}
    steps = stage.get("pretokenizers", [stage])
    byte_level = [step for step in steps if step.get("type") == "ByteLevel"]
    if not byte_level or any(step.get("add_prefix_space") for step in byte_level):
        return False
    # Without an expression that splits words, tokens may lie across them.
    if not any(step.get("type") == "Split" or step.get("use_regex", True) for step in steps):
        return False
    # NFC leaves text that is composed already as it is; where it does not, the lengths disagree and offsets are used.
    normalizer = definition.get("normalizer")
    return normalizer is None or normalizer.get("type") == "NFC"


def as_tokenizer(tokenizer: Any) -> Tokenizer:
    """Adapts a tokenizer.

    Args:
        tokenizer: ``None`` or ``"bert"`` (BERT's uncased WordPiece, in the package), ``"words"``, ``"chars"``, ``"bytes"``, a
            path to a tokenizer.json or vocab.txt, a `tokenizers.Tokenizer`, a transformers fast tokenizer, a
            `tiktoken.Encoding`, a callable ``str -> int``, or the result of an earlier call.

    Raises:
        ValueError: `tokenizer` is none of these, or the file cannot be read.
    """
    if tokenizer is None or tokenizer == "bert":
        return _default_wordpiece()
    if isinstance(tokenizer, str) and tokenizer in ("words", "chars", "bytes"):
        return UnitTokenizer(tokenizer)
    if isinstance(tokenizer, (str, os.PathLike)):
        return _from_file(Path(tokenizer))
    module = type(tokenizer).__module__.partition(".")[0]
    if module == "tiktoken":
        source = _Tiktoken(tokenizer)
        return ByteLevelTokenizer(tokenizer.name, source, source.lengths(), 0)
    if module == "tokenizers" and hasattr(tokenizer, "to_str"):
        return _from_hugging_face(tokenizer, "tokenizers.Tokenizer")
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None and hasattr(backend, "to_str"):
        return _from_hugging_face(backend, str(getattr(tokenizer, "name_or_path", "") or "transformers tokenizer"))
    if isinstance(tokenizer, Tokenizer):
        return tokenizer
    if callable(tokenizer):
        special = tokenizer("")
        if isinstance(special, bool) or not isinstance(special, (int, np.integer)) or special < 0:
            raise ValueError(f"tokenizer must return a number of tokens, not {special!r}")
        return CountingTokenizer(tokenizer, getattr(tokenizer, "__name__", type(tokenizer).__name__), int(special))
    raise ValueError(
        "tokenizer must be a tokenizers.Tokenizer, a path to tokenizer.json, a transformers fast tokenizer, a tiktoken "
        f'encoding, "bert", "words", "chars", "bytes" or a callable str -> int, not {tokenizer!r}'
    )


def _from_file(path: Path) -> Tokenizer:
    if path.is_dir():
        path = path / "tokenizer.json"
    if not path.is_file():
        raise ValueError(
            f'tokenizer must be "bert", "words", "chars", "bytes" or an existing file; {str(path)!r} is not'
        )
    if path.suffix == ".txt":
        wordpiece = load_wordpiece(path)
        if wordpiece is None:
            raise ValueError(f"tokenizer: {str(path)!r} is not a WordPiece vocabulary")
        return WordPieceTokenizer(wordpiece, 2, path.name)
    import tokenizers

    try:
        return _from_hugging_face(tokenizers.Tokenizer.from_file(str(path)), path.name)
    except ValueError:
        raise
    except Exception as error:  # tokenizers raises plain Exception for a bad file
        raise ValueError(f"tokenizer: {str(path)!r} cannot be read: {error}") from error
