"""Encoders: texts to vectors. One protocol; a static table, ONNX Runtime, services, and anything that answers a list of texts
with an array."""

from __future__ import annotations

import inspect
from typing import Any

from rapidchunk.encoders.onnx import OnnxEncoder
from rapidchunk.encoders.protocol import Encoder
from rapidchunk.encoders.services import OpenAIEncoder, SIEEncoder
from rapidchunk.encoders.static import EMBEDDED, StaticEncoder
from rapidchunk.encoders.wrapped import WrappedEncoder

__all__ = [
    "EMBEDDED",
    "Encoder",
    "OnnxEncoder",
    "OpenAIEncoder",
    "SIEEncoder",
    "StaticEncoder",
    "WrappedEncoder",
    "as_encoder",
]

#: Names of encoders behind services: what comes before the colon.
_SERVICES = {"openai": OpenAIEncoder, "sie": SIEEncoder}


def as_encoder(
    encoder: Any,
    *,
    batch_size: int | None = None,
    max_batch_tokens: int | None = None,
    max_length: int | None = None,
    tokenizer: Any = None,
    normalize: bool = True,
    **further: Any,
) -> Encoder:
    """An `Encoder` from whatever can encode.

    Args:
        encoder: an Encoder (returned as it is); a str or path: "static" (`StaticEncoder`, in the package), a known model
            ("minilm"), a local folder or file, or a pinned Hub id "org/name@commit#sha256-of-weights"; "openai:MODEL" and
            "sie:MODEL" (`OpenAIEncoder`, `SIEEncoder`,
            with the address and the key of the environment); an object of sentence-transformers, LangChain's ``Embeddings``,
            LlamaIndex's ``BaseEmbedding``, or any other with ``encode(list[str]) -> array``; a callable
            ``list[str] -> array``, sync or async.
        batch_size: texts in one call at most.
        max_batch_tokens: texts times the longest of them, in tokens, in one call at most.
        max_length: tokens of the longest text that is encoded whole.
        tokenizer: for a model, its tokenizer; for anything else, what counts the tokens of the two limits above (see
            `rapidchunk.as_tokenizer`).
        normalize: vectors of length 1; False leaves their length to the encoder.
        further: what the class takes besides: `OnnxEncoder`, `OpenAIEncoder`, `SIEEncoder`, else `WrappedEncoder` (such as
            `prefix`, `query_prefix`, `concurrency`).

    Raises:
        ValueError: not an encoder, an unknown name, a bad option, or options for a ready Encoder.
    """
    import os

    options = {
        "batch_size": batch_size,
        "max_batch_tokens": max_batch_tokens,
        "max_length": max_length,
        "tokenizer": tokenizer,
        "normalize": None if normalize else False,
        **further,
    }
    options = {key: value for key, value in options.items() if value is not None}
    if (
        isinstance(encoder, str)
        and (service := _SERVICES.get(encoder.partition(":")[0]))
        and not os.path.exists(encoder)
    ):
        made: Encoder = service(encoder.partition(":")[2], **options)
        return made
    if isinstance(encoder, (str, os.PathLike)) and StaticEncoder.is_static(encoder):
        # Nothing is run in batches, so their sizes do not matter.
        options = {key: value for key, value in options.items() if key not in ("batch_size", "max_batch_tokens")}
        for key in options:
            if key not in ("tokenizer", "normalize"):
                raise ValueError(f"{key} is no option of static vectors")
        return StaticEncoder(encoder, **options)
    if isinstance(encoder, (str, os.PathLike)):
        return OnnxEncoder(encoder, **options)
    if _is_encoder(encoder):
        if options:
            raise ValueError(f"{next(iter(options))} must be given to {encoder!r} itself, which is a ready Encoder")
        ready: Encoder = encoder
        return ready
    return WrappedEncoder(encoder, **options)


def _is_encoder(value: Any) -> bool:
    if isinstance(value, (OnnxEncoder, StaticEncoder, WrappedEncoder)):
        return True
    if isinstance(value, type) or not hasattr(value, "dimension") or not callable(getattr(value, "encode", None)):
        return False
    parameters = inspect.signature(value.encode).parameters
    return "progress" in parameters and "report" in parameters
