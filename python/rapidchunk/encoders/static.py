"""Static vectors: a table has a vector for each token, and a text's vector is the mean of its tokens' vectors."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rapidchunk import _core
from rapidchunk._wordpiece import default_wordpiece
from rapidchunk.encoders.export import read_safetensors
from rapidchunk.encoders.protocol import Progress, Vectors, text_list
from rapidchunk.encoders.tokens import ModelTokenizer
from rapidchunk.kernels import cpu as kernels

__all__ = ["EMBEDDED", "StaticEncoder"]

#: The name of the table in the package.
EMBEDDED = "static"
#: What the table is called in the files of model2vec, sentence-transformers' StaticEmbedding, and wordllama.
TABLES = ("embeddings", "embedding.weight")
PART = 1 << 14  # texts between two calls of `progress`


class StaticEncoder:
    """Turns texts into the means of their tokens' vectors: no model runs, so a sentence takes about a microsecond.

    The embedded table has 256 dimensions (int8, a scale a row) and BERT's uncased vocabulary. Its rows were fitted so that
    the means come near to the vectors of all-MiniLM-L6-v2 (tools/make_static_encoder.py says from what and how), in the manner
    of Model2Vec (Tulkens and van Dongen, 2024). Results do not depend on the batch, and are the same bits on every machine.

    Args:
        model: "static", the table in the package; or a folder in model2vec's format (``model.safetensors`` and
            ``tokenizer.json``: potion and the like), as sentence-transformers saves a StaticEmbedding, or a safetensors file with
            one table, such as wordllama's, with `tokenizer`.
        tokenizer: a tokenizers.Tokenizer, a transformers fast tokenizer, or the path of a tokenizer.json; by default the
            folder's.
        normalize: vectors of length 1; False: the means themselves.

    Attributes:
        dimension: values of a vector.
        name: what `model` was.
        wordpiece: the native tokenizer, or None where the table needs another.

    Raises:
        ValueError: the folder has no table or no tokenizer, or they do not fit each other.
        OSError: a file cannot be read.
    """

    def __init__(
        self, model: str | os.PathLike[str] = EMBEDDED, *, tokenizer: Any = None, normalize: bool = True
    ) -> None:
        self.name = os.fspath(model)
        self._arguments = (self.name, tokenizer, bool(normalize))
        self._normalize = bool(normalize)
        self._tokenizer: ModelTokenizer | None = None
        self._skip = -1
        if self.name == EMBEDDED and tokenizer is None and not os.path.exists(self.name):
            self.wordpiece: _core.WordPiece | None = default_wordpiece()
            tensors = read_safetensors(str(files("rapidchunk").joinpath("data/static.safetensors")))
            self._table: NDArray[Any] = tensors["embeddings"]
            self._scale: NDArray[np.float32] | None = tensors["weights"]
        else:
            self._load(Path(self.name), tokenizer)
        if not len(self._table) or not self._table.shape[1]:
            raise ValueError(f"{self.name}: the table is empty")
        self.dimension: int = int(self._table.shape[1])

    @staticmethod
    def is_static(model: str | os.PathLike[str]) -> bool:
        """Whether this names the embedded table, or a folder or file that holds a table and no other tensors of a model."""
        if os.fspath(model) == EMBEDDED and not os.path.exists(model):
            return True
        path = _weights(Path(model))
        try:
            return path is not None and any(name in read_safetensors(path) for name in TABLES)
        except ValueError:
            return False

    def _load(self, path: Path, tokenizer: Any) -> None:
        weights = _weights(path)
        if weights is None:
            raise ValueError(f"{path}: there is no safetensors file with a table")
        tensors = read_safetensors(weights)
        name = next((name for name in TABLES if name in tensors), None)
        if name is None:
            raise ValueError(f"{weights}: no tensor is called {' or '.join(TABLES)}; it has {', '.join(tensors)}")
        table = tensors[name]
        if table.ndim != 2 or table.dtype not in (np.int8, np.float16, np.float32, np.float64):
            raise ValueError(f"{weights}: {name} must be numbers [tokens, dimensions]")
        if "mapping" in tensors:  # several tokens share a row
            table = table[tensors["mapping"]]
        self._table = np.ascontiguousarray(table, np.float32 if table.dtype == np.float64 else table.dtype)
        self._scale = None
        if "weights" in tensors:
            self._scale = np.ascontiguousarray(tensors["weights"].reshape(-1), np.float32)
            if len(self._scale) != len(table):
                raise ValueError(f"{weights}: weights has {len(self._scale)} entries for {len(table)} tokens")
        if tokenizer is None:
            tokenizer = weights.parent / "tokenizer.json"
            if not tokenizer.is_file():
                raise ValueError(f"{weights.parent}: there is no tokenizer.json; give tokenizer")
        own = ModelTokenizer(tokenizer)
        if own.size > len(self._table):
            raise ValueError(f"{path}: the tokenizer has {own.size} tokens, the table {len(self._table)} rows")
        self._tokenizer, self.wordpiece = own, own.wordpiece
        config = weights.parent / "config.json"
        if config.is_file() and json.loads(config.read_text("utf-8")).get("model_type") == "model2vec":
            # As model2vec does: unknown tokens are left out.
            self._skip = -1 if own.unknown is None else own.unknown

    def __repr__(self) -> str:
        return f"StaticEncoder({self.name!r}{'' if self._normalize else ', normalize=False'})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, self._arguments

    def encode(
        self, texts: Sequence[str], *, progress: Progress | None = None, report: dict[str, Any] | None = None
    ) -> Vectors:
        """See `Encoder.encode`. No text is too long."""
        given = text_list(texts)
        parts = []
        for begin in range(0, len(given), PART):
            part = given[begin : begin + PART]
            batch = _core.Texts(part)
            spans = np.stack([np.zeros(len(part), np.int64), batch.sizes()], axis=1)
            parts.append(self.encode_spans(batch, np.arange(len(part)), spans))
            if progress:
                progress(begin + len(part), len(given))
        return np.concatenate(parts) if parts else np.empty((0, self.dimension), np.float32)

    def encode_spans(
        self, texts: _core.Texts, document: NDArray[np.int64], spans: NDArray[np.int64], tokens: Any = None
    ) -> Vectors:
        """Vectors of pieces of texts, without making strings of them.

        Args:
            document: int64 [n], numbers of the texts.
            spans: int64 [n, 2], bytes, half open.
            tokens: what a tokenizer's `measure` found in the texts. Where it has the ids of this encoder's own tokenizer,
                nothing is tokenised twice; the vectors are the same.

        Returns:
            float32 [n, dimension].
        """
        if self.wordpiece is not None:
            known = tokens if isinstance(tokens, _core.TokenIndexes) else None
            return _core.static_vectors(
                texts,
                document,
                spans,
                self.wordpiece,
                self._table,
                self._scale,
                self._skip,
                self._normalize,
                tokens=known,
            )
        assert self._tokenizer is not None
        starts = _core.code_point_offsets(texts, document, np.ascontiguousarray(spans[:, 0]))
        ends = _core.code_point_offsets(texts, document, np.ascontiguousarray(spans[:, 1]))
        pieces = texts.slices(document, starts, ends, *map(np.ascontiguousarray, spans.T))
        ids, offsets = self._tokenizer.ids_of(pieces)
        return kernels.gather_mean(self._table, self._scale, ids, offsets, self._skip, self._normalize)


def _weights(path: Path) -> Path | None:
    """The safetensors file that a path means, if it is there."""
    if path.is_file():
        return path if path.suffix == ".safetensors" else None
    places = (path / "model.safetensors", path / "0_StaticEmbedding" / "model.safetensors")
    return next((place for place in places if place.is_file()), None)


def _rebuild(name: str, tokenizer: Any, normalize: bool) -> StaticEncoder:
    return StaticEncoder(name, tokenizer=tokenizer, normalize=normalize)
