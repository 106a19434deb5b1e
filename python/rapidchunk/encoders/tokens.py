"""Token ids for a model: one flat array for all texts, without special tokens, truncation or padding.

BERT's tokenizers run in the native WordPiece (measured with MiniLM's on one core: 6.1 million tokens a second against
0.13 million), all others in `tokenizers`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rapidchunk import _core
from rapidchunk._surrogates import without_surrogates
from rapidchunk._wordpiece import load_wordpiece

__all__ = ["ModelTokenizer"]

#: Texts given to the tokenizer at once; its encodings hold far more than the ids, so not all texts at the same time.
_SLICE = 1024


class ModelTokenizer:
    """A tokenizer as a model needs it.

    Attributes:
        prefix, suffix: ids of the special tokens before and after every text (int32).
        pad: id of the padding token.
        size: tokens of the vocabulary, added ones included.
        unknown: id of the token for unknown words, or None.
        wordpiece: the native tokenizer, where it gives the same ids.
    """

    def __init__(self, tokenizer: Any, *, lower: bool = False, pad: int | None = None) -> None:
        """`tokenizer`: a tokenizers.Tokenizer, a transformers fast tokenizer, or a path (tokenizer.json or its folder).

        `lower` lowers the text first; `pad` is used where the tokenizer names no padding token.
        """
        from tokenizers import Tokenizer

        if isinstance(tokenizer, (str, os.PathLike)):
            path = Path(tokenizer)
            path = path / "tokenizer.json" if path.is_dir() else path
            if not path.is_file():
                raise ValueError(f"tokenizer: there is no file {path}")
            own = Tokenizer.from_file(str(path))
        else:
            inner = getattr(tokenizer, "backend_tokenizer", tokenizer)
            if not isinstance(inner, Tokenizer):
                raise ValueError(
                    "tokenizer must be a tokenizers.Tokenizer, a transformers fast tokenizer or a path, "
                    f"got {type(tokenizer).__name__}"
                )
            own = Tokenizer.from_str(inner.to_str())  # the caller's object is left as it is
        padding = own.padding
        own.no_truncation()
        own.no_padding()
        # Special tokens in a user's text are text.
        own.encode_special_tokens = True
        self._tokenizer = own
        self.wordpiece = load_wordpiece(own.to_str())
        self.size: int = own.get_vocab_size()
        word = getattr(own.model, "unk_token", None)
        self.unknown: int | None = None if word is None else own.token_to_id(word)
        self._lower = lower
        whole = own.encode("a", add_special_tokens=True)
        inside = [i for i, special in enumerate(whole.special_tokens_mask) if not special] or [len(whole.ids)]
        self.prefix = np.array(whole.ids[: inside[0]], np.int32)
        self.suffix = np.array(whole.ids[inside[-1] + 1 :], np.int32)
        named = [own.token_to_id(token) for token in ("[PAD]", "<pad>")]
        found = [padding["pad_id"] if padding else None, pad, *named]
        self.pad: int = next((value for value in found if value is not None), 0)

    def ids_of(self, texts: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Ids of all texts in one array (int32) and the offsets of the texts in it (int64, n + 1)."""
        texts = [without_surrogates(text) for text in texts]
        if self._lower:
            texts = [text.lower() for text in texts]
        if self.wordpiece is not None:
            all_ids, _, _, _, ends = self.wordpiece.encode([text.encode() for text in texts], _core.default_threads())
            return all_ids, ends
        parts: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
        offsets = np.zeros(len(texts) + 1, np.int64)
        for at in range(0, len(texts), _SLICE):
            piece = texts[at : at + _SLICE]
            encodings = self._tokenizer.encode_batch_fast(piece, add_special_tokens=False)
            ids = [encoding.ids for encoding in encodings]
            counts = [len(row) for row in ids]
            offsets[at + 1 : at + 1 + len(piece)] = counts
            parts.append(np.fromiter(chain.from_iterable(ids), np.int32, sum(counts)))
        return np.concatenate(parts), np.cumsum(offsets)

    def tokens_of(self, text: str) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Ids of one text (int32 [t]) and the characters that each token stands for (int64 [t, 2], code points)."""
        own = without_surrogates(text)
        lowered = own.lower() if self._lower else own
        encoding = self._tokenizer.encode(lowered, add_special_tokens=False)
        spans = np.array(encoding.offsets, np.int64).reshape(-1, 2)
        if len(lowered) != len(own) and len(spans):  # one character may become several
            origin = np.repeat(np.arange(len(own)), [len(character.lower()) for character in own])
            spans = np.stack([origin[spans[:, 0]], origin[np.maximum(spans[:, 1] - 1, spans[:, 0])] + 1], axis=1)
        return np.array(encoding.ids, np.int32), spans
