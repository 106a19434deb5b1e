"""Builds the native WordPiece from a `tokenizer.json` or a `vocab.txt`, or says that it cannot do exactly that.

The native tokenizer gives the ids and offsets of Hugging Face `tokenizers`, but only for BERT's components. Whatever
else a file names (another normalizer, an option unknown here, ids with gaps, ...) gives None, and the caller uses
`tokenizers`.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from importlib.resources import files
from typing import Any
from weakref import WeakValueDictionary

from rapidchunk import _core

_NORMALIZER = {"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"}
_MODEL = {"type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"}
_ADDED = {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_SHARED: WeakValueDictionary[bytes, _core.WordPiece] = WeakValueDictionary()


@functools.cache
def default_wordpiece() -> _core.WordPiece:
    """BERT's uncased vocabulary (30,522 tokens), shipped with the package."""
    text = files("rapidchunk").joinpath("data/bert-base-uncased-vocab.txt").read_text(encoding="utf-8")
    tokenizer = load_wordpiece(text)
    assert tokenizer is not None
    return tokenizer


def load_wordpiece(
    source: str | bytes | dict[str, Any] | os.PathLike[str], *, lowercase: bool = True, encode_special: bool = False
) -> _core.WordPiece | None:
    """The native tokenizer for `source`, or None where it would not give exactly what `tokenizers` gives.

    source: the text of a tokenizer.json (or the object it holds) or of a vocab.txt (a token a line), or a path.
    lowercase: for a vocab.txt, which does not say it: True for uncased models; accents are stripped exactly then.
    encode_special: False: special tokens in the text are text (`encode_special_tokens = True` in `tokenizers`).

    Truncation, padding and the post-processor are not read: the result's tokens are those of the text alone.
    Raises OSError if the path cannot be read and json.JSONDecodeError for broken JSON.
    """
    if isinstance(source, os.PathLike):
        with open(source, "rb") as file:
            source = file.read()
    if isinstance(source, bytes):
        source = source.decode("utf-8")
    if isinstance(source, str):
        if not source.lstrip().startswith("{"):
            return _from_vocabulary(source, lowercase, encode_special)
        source = json.loads(source)
    return _from_json(source, encode_special) if isinstance(source, dict) else None


def shared_wordpiece(wordpiece: _core.WordPiece) -> _core.WordPiece:
    """The first of all equal tokenizers in this process. A chunker and its encoder, which may each have read a file, see by
    it that one tokenisation serves both."""
    key = hashlib.sha256(json.dumps([wordpiece.vocab, wordpiece.options]).encode()).digest()
    return _SHARED.setdefault(key, wordpiece)


def _build(vocab: list[str], options: dict[str, Any]) -> _core.WordPiece | None:
    try:
        return shared_wordpiece(_core.WordPiece(vocab, **options))
    except (ValueError, UnicodeEncodeError):  # a repeated token, no unknown token, a lone surrogate, ...
        return None


def _from_vocabulary(text: str, lowercase: bool, encode_special: bool) -> _core.WordPiece | None:
    lines = text.split("\n")
    if lines[-1] == "":
        del lines[-1]
    vocab = [line.rstrip() for line in lines]
    ids = {token: i for i, token in enumerate(vocab)}
    added = [(token, ids[token], False, False, False, False, True) for token in _SPECIAL if token in ids]
    options = {"lowercase": lowercase, "strip_accents": lowercase, "added": added, "encode_special": encode_special}
    return _build(vocab, options)


def _from_json(source: dict[str, Any], encode_special: bool) -> _core.WordPiece | None:
    normalizer, splitter, model = (source.get(name) for name in ("normalizer", "pre_tokenizer", "model"))
    if not isinstance(normalizer, dict) or not isinstance(splitter, dict) or not isinstance(model, dict):
        return None
    if normalizer.get("type") != "BertNormalizer" or set(normalizer) != _NORMALIZER:
        return None
    if splitter != {"type": "BertPreTokenizer"} or model.get("type") != "WordPiece" or set(model) != _MODEL:
        return None
    vocab = sorted(model["vocab"], key=model["vocab"].__getitem__)
    if [model["vocab"][token] for token in vocab] != list(range(len(vocab))):
        return None
    added = _added_tokens(source.get("added_tokens") or [], model["vocab"])
    if added is None:
        return None
    strip_accents = normalizer["strip_accents"]
    return _build(
        vocab,
        {
            "clean_text": normalizer["clean_text"],
            "handle_chinese_chars": normalizer["handle_chinese_chars"],
            "strip_accents": normalizer["lowercase"] if strip_accents is None else strip_accents,
            "lowercase": normalizer["lowercase"],
            "unk": model["unk_token"],
            "prefix": model["continuing_subword_prefix"],
            "max_input_chars_per_word": model["max_input_chars_per_word"],
            "encode_special": encode_special,
            "added": added,
        },
    )


def _added_tokens(tokens: list[dict[str, Any]], vocab: dict[str, int]) -> list[tuple[Any, ...]] | None:
    """The added tokens as tuples, or None where `tokenizers` would give one another id than the file says."""
    next_id = len(vocab)
    result = []
    for token in tokens:
        if set(token) != _ADDED:
            return None
        content = token["content"]
        if content in vocab:
            expected = vocab[content]
        else:
            expected = next_id
            next_id += 1
        if token["id"] != expected:
            return None
        flags = (token[name] for name in ("normalized", "lstrip", "rstrip", "single_word", "special"))
        result.append((content, expected, *flags))
    return result
