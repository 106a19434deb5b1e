"""Encoders behind a service: OpenAI's embeddings protocol, and SIE's client."""

from __future__ import annotations

import base64
import functools
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rapidchunk._services import Service, awaited
from rapidchunk.encoders.wrapped import WrappedEncoder

__all__ = ["OpenAIEncoder", "SIEEncoder"]


class OpenAIEncoder(WrappedEncoder):
    """A model behind OpenAI's ``/embeddings``: OpenAI, Mistral, vLLM, Ollama, llama.cpp, TEI, LiteLLM and others.

    Texts go out sorted by length, `concurrency` requests at a time; what fails of a cause that may pass (time-outs, lost
    connections, damaged answers, rate limits, 5xx) is tried again. Vectors come back by their ``index``. May be shared by
    threads, pickled (without the key) and used on both sides of a fork.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
        encoding_format: str | None = "base64",
        options: Mapping[str, Any] | None = None,
        query_options: Mapping[str, Any] | None = None,
        batch_size: int | None = None,
        max_batch_tokens: int | None = None,
        max_length: int | None = None,
        tokenizer: Any = None,
        prefix: str = "",
        query_prefix: str = "",
        normalize: bool = True,
        concurrency: int = 4,
        retries: int = 4,
        backoff: float = 0.5,
        timeout: float = 60.0,
    ) -> None:
        """
        Args:
            model: the model's name at the service.
            base_url: what comes before ``/embeddings``; default the environment's ``OPENAI_BASE_URL``, else OpenAI's.
            api_key: default the environment's ``OPENAI_API_KEY``, if set. It is in no repr and no pickle.
            dimensions: of the vectors, for models that can shorten them.
            encoding_format: "base64", "float", or None to leave the choice to the service; either is understood.
            options, query_options: further entries of the requests of `encode` and of `encode_query` (default: the same),
                such as ``{"input_type": "passage"}``.
            batch_size: texts in a request, default 32.
            max_batch_tokens: texts in a request times the longest of them; default no limit.
            max_length: tokens of the model's window: a longer text is split, encoded in parts and averaged. Default 8191
                for OpenAI's own models, else no limit: then the service refuses what is too long, or cuts it.
            tokenizer: counts tokens for these limits, see `rapidchunk.as_tokenizer` (a tiktoken encoding counts exactly).
                Default "bytes", which never counts too few for a byte-level tokenizer such as OpenAI's.
            prefix, query_prefix: put before every text by `encode` and `encode_query`.
            normalize: False leaves the vectors as long as the service gives them.
            concurrency: requests at a time.
            retries, backoff, timeout: see `rapidchunk.PropositionChunker`.

        Raises:
            ValueError: a bad argument, named by the message; while encoding: an answer as `WrappedEncoder` says, or one whose
                indexes are not those of the texts.
            RuntimeError: while encoding: the service refuses the request, or every try failed.
        """
        if not isinstance(model, str) or not model:
            raise ValueError(f"model must be a name, got {model!r}")
        if dimensions is not None and (
            isinstance(dimensions, bool) or not isinstance(dimensions, int) or dimensions < 1
        ):
            raise ValueError(f"dimensions must be a positive int, got {dimensions!r}")
        if encoding_format not in ("base64", "float", None):
            raise ValueError(f"encoding_format must be 'base64', 'float' or None, got {encoding_format!r}")
        base_url = base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        self._service = Service(base_url, api_key, retries=retries, backoff=backoff, timeout=timeout)
        fixed = {"model": model, "dimensions": dimensions, "encoding_format": encoding_format}
        self._body = {key: value for key, value in fixed.items() if value is not None}
        self.base_url = self._service.base_url
        if max_length is None and model.startswith("text-embedding-"):
            max_length = 8191
        super().__init__(
            functools.partial(self._embed, dict(options or {})),
            batch_size=batch_size,
            max_batch_tokens=max_batch_tokens,
            max_length=max_length,
            tokenizer="bytes" if tokenizer is None else tokenizer,
            prefix=prefix,
            query_prefix=query_prefix,
            normalize=normalize,
            concurrency=concurrency,
            name=f"{model} at {self.base_url}",
        )
        if query_options is not None:
            self._query_call = functools.partial(self._embed, dict(query_options))

    def _embed(self, options: Mapping[str, Any], texts: list[str]) -> list[NDArray[np.float32]]:
        rows = self._service.post("/embeddings", {**self._body, **options, "input": texts}, _read)
        places = [place for place, _ in rows]
        if len(rows) == len(texts) and sorted(places) != list(range(len(texts))):
            raise ValueError(
                f"encoder {self.name} gave vectors with the indexes {places[:8]}... for {len(texts)} texts"
            )
        return [vector for _, vector in sorted(rows, key=lambda row: row[0])]


def _read(answer: Any) -> list[tuple[int, NDArray[np.float32]]]:
    """(index, vector) of everything in an answer; services that give no index keep the order."""
    return [(int(row.get("index", at)), _vector(row["embedding"])) for at, row in enumerate(answer["data"])]


def _vector(embedding: Any) -> NDArray[np.float32]:
    if isinstance(embedding, str):  # little-endian float32
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
    return np.array(embedding, np.float32)


class SIEEncoder(WrappedEncoder):
    """Dense vectors of a model behind SIE (Superlinked's inference engine), through its own client.

    The client tries again what may pass and waits while the server loads the model.
    """

    def __init__(
        self,
        model: str,
        client: Any = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        options: Mapping[str, Any] | None = None,
        query_options: Mapping[str, Any] | None = None,
        batch_size: int | None = None,
        max_batch_tokens: int | None = None,
        max_length: int | None = None,
        tokenizer: Any = None,
        normalize: bool = True,
        concurrency: int = 4,
    ) -> None:
        """
        Args:
            model: the model's name at the server, such as "BAAI/bge-m3".
            client: a ``sie_sdk.SIEClient`` or ``SIEAsyncClient``, or anything with such an ``encode(model, items)``. None:
                one is made from `base_url` and `api_key` in each process; `pip install rapidchunk[sie]`.
            base_url, api_key: of the server; default the environment's ``SIE_BASE_URL`` and ``SIE_API_KEY``.
            options, query_options: further arguments of the client's ``encode``, such as ``{"gpu": "l4"}``; those of
                questions are by default the same with ``is_query=True``, which lets the server add the model's prompt.
            batch_size, max_batch_tokens, max_length, tokenizer, normalize: see `WrappedEncoder`.
            concurrency: requests at a time.

        Raises:
            ValueError: a bad argument, named by the message; while encoding: an answer as `WrappedEncoder` says.
            ImportError: while encoding without `client`: sie-sdk is missing.
            Exception: while encoding: what the client raises.
        """
        if not isinstance(model, str) or not model:
            raise ValueError(f"model must be a name, got {model!r}")
        if client is not None and not callable(getattr(client, "encode", None)):
            raise ValueError(f"client must have a method encode(model, items), got {type(client).__name__}")
        if client is not None and (base_url or api_key):
            raise ValueError("base_url and api_key are the client's own where a client is given")
        self._sie = client
        self._place = (base_url, api_key)
        self._made: tuple[int, Any] | None = None
        self._model = model
        plain = dict(options or {})
        asked = {**plain, "is_query": True} if query_options is None else dict(query_options)
        super().__init__(
            functools.partial(self._embed, plain),
            batch_size=batch_size,
            max_batch_tokens=max_batch_tokens,
            max_length=max_length,
            tokenizer=tokenizer,
            normalize=normalize,
            concurrency=concurrency,
            name=f"{model} at SIE",
        )
        self._query_call = functools.partial(self._embed, asked)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_place": (self._place[0], None), "_made": None}

    def _embed(self, options: Mapping[str, Any], texts: list[str]) -> list[Any]:
        answer = awaited(self._client().encode(self._model, [{"text": text} for text in texts], **options))
        for row in answer:
            if "dense" not in row:
                raise ValueError(f"encoder {self.name} gave no dense vector, only {', '.join(row) or 'nothing'}")
        return [row["dense"] for row in answer]

    def _client(self) -> Any:
        if self._sie is not None:
            return self._sie
        made = self._made
        if made is None or made[0] != os.getpid():  # connections do not survive a fork
            try:
                from sie_sdk import SIEClient
            except ImportError as error:
                raise ImportError("SIEEncoder needs sie-sdk: pip install rapidchunk[sie]") from error
            made = self._made = (os.getpid(), SIEClient(self._place[0], api_key=self._place[1]))
        return made[1]
