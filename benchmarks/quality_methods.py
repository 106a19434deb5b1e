"""The ways of cutting that the quality suite compares, ours and the rivals', all over one encoder."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import rapidchunk as rc
from quality_data import Segmented
from rapidchunk import evaluate

Columns = tuple[np.ndarray, np.ndarray, np.ndarray]
"""document, start, end of chunks, in characters."""

CHROMA_SEPARATORS = ["\n\n", "\n", ".", "?", "!", " ", ""]


# ---- segmentation: sentences are given, boundaries wanted ------------------------------------------------------------


def ours_given(encoder: Any, documents: Sequence[Segmented], **options: Any) -> list[np.ndarray]:
    """SemanticChunker without limits of size."""
    spans: dict[str, np.ndarray] = {}
    for document in documents:
        ends = np.cumsum([len(sentence) + 1 for sentence in document.sentences]) - 1
        starts = np.append(0, ends[:-1] + 1)
        spans[" ".join(document.sentences)] = np.stack([starts, ends], axis=1)
    chunker = rc.SemanticChunker(encoder, 1 << 30, min_tokens=0, splitter=lambda text: spans[text].tolist(), **options)
    texts = [" ".join(document.sentences) for document in documents]
    chunks = chunker(texts)
    found = []
    for number, text in enumerate(texts):
        starts = np.searchsorted(spans[text][:, 0], chunks.start[chunks.document == number])
        found.append(evaluate.boundaries(starts, len(spans[text])))
    return found


def rival_given(split: Callable[[str], list[str]], documents: Sequence[Segmented]) -> list[np.ndarray]:
    """What `split` makes of the sentences, one a line, told by the characters that are not white space."""
    found = []
    for document in documents:
        begins = np.append(0, np.cumsum([solid(sentence) for sentence in document.sentences]))
        pieces = np.cumsum([solid(piece) for piece in split("\n".join(document.sentences))])
        starts = np.searchsorted(begins, pieces[:-1])
        if not (begins[starts] == pieces[:-1]).all():
            raise RuntimeError(f"a cut inside a sentence of {document.name}")
        found.append(evaluate.boundaries(starts, len(document.sentences)))
    return found


def solid(text: str) -> int:
    return sum(map(len, text.split()))


# ---- whole documents: chunks wanted ----------------------------------------------------------------------------------


def located(texts: Sequence[str], split: Callable[[str], list[str]]) -> Columns:
    """Columns of the pieces of a splitter that loses and adds only white space."""
    rows = []
    for number, text in enumerate(texts):
        places = [at for at, character in enumerate(text) if not character.isspace()]
        at = 0
        for piece in split(text):
            size = solid(piece)
            if size:
                start, end = places[at], places[at + size - 1] + 1
                if "".join(text[start:end].split()) != "".join(piece.split()):
                    raise RuntimeError(f"a piece is not in document {number} where it should be: {piece[:60]!r}")
                rows.append((number, start, end))
                at += size
        if at != len(places):
            raise RuntimeError(f"pieces end before document {number}")
    document, start, end = np.array(rows, np.int64).reshape(-1, 3).T
    return document, start, end


def token_windows(texts: Sequence[str], size: int, overlap: int) -> Columns:
    """Windows of cl100k tokens, wherever they end."""
    encoding = cl100k()
    rows = []
    for number, text in enumerate(texts):
        ids = encoding.encode(text, disallowed_special=())
        starts = [*encoding.decode_with_offsets(ids)[1], len(text)]
        for begin in range(0, len(ids), size - overlap):
            end = min(begin + size, len(ids))
            rows.append((number, starts[begin], starts[end]))
            if end == len(ids):
                break
    document, start, end = np.array(rows, np.int64).T
    return document, start, end


def recursive_splitter(size: int) -> Callable[[str], list[str]]:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(
        separators=CHROMA_SEPARATORS,
        chunk_size=size,
        chunk_overlap=0,
        keep_separator=True,
        length_function=cl100k_length,
    )
    return splitter.split_text  # type: ignore[no-any-return]


def cluster_splitter(encoder: Any, size: int, unit: int = 50) -> Callable[[str], list[str]]:
    """The cluster chunker of Smith and Troynikov (2024), from its description: pieces of at most `unit` tokens, cut
    recursively; every pair of pieces in a chunk earns their similarity less the mean of all pairs; of all ways to put at
    most `size // unit` neighbours together, the one that earns most."""
    recursive, most = recursive_splitter(unit), size // unit

    def split(text: str) -> list[str]:
        pieces = recursive(text)
        count = len(pieces)
        vectors = encoder.encode(pieces).astype(np.float64)
        total = vectors.sum(axis=0)
        mean = (total @ total - count) / max(count * (count - 1), 1)
        best, origin = np.zeros(count + 1), np.arange(-1, count)
        for end in range(1, count + 1):
            earned = 0.0
            for start in range(end - 2, max(end - most, 0) - 1, -1):
                earned += 2 * float((vectors[start] @ vectors[start + 1 : end].T - mean).sum())
                if best[start] + earned > best[end]:
                    best[end], origin[end] = best[start] + earned, start
            if best[end] <= best[end - 1]:
                best[end], origin[end] = best[end - 1], end - 1
        cuts = [count]
        while cuts[-1] > 0:
            cuts.append(int(origin[cuts[-1]]))
        return [" ".join(pieces[low:high]) for high, low in itertools.pairwise(cuts)][::-1]

    return split


def langchain_splitter(
    encoder: Any, percentile: float = 95, sentences: str | None = None
) -> Callable[[str], list[str]]:
    """LangChain's SemanticChunker, its default rule; `sentences` is the expression that separates sentences."""
    from langchain_experimental.text_splitter import SemanticChunker

    class Embeddings:
        def embed_documents(self, texts: list[str]) -> Any:
            return encoder.encode(texts)

    options = {} if sentences is None else {"sentence_split_regex": sentences}
    splitter = SemanticChunker(Embeddings(), breakpoint_threshold_amount=percentile, **options)
    return splitter.split_text  # type: ignore[no-any-return]


def chonkie_splitter(encoder: Any, size: int, given: bool = False) -> Callable[[str], list[str]]:
    """chonkie's SemanticChunker with its defaults; `given`: every line is a sentence."""
    from chonkie import SemanticChunker
    from rivals import chonkie_embedding

    tokenizer = functools.partial(_bert_length, rc.as_tokenizer(None))
    options: dict[str, Any] = {"delim": "\n", "min_characters_per_sentence": 1} if given else {}
    embeddings = chonkie_embedding(encoder.encode, encoder.dimension, tokenizer)
    chunker = SemanticChunker(embeddings, chunk_size=size, **options)
    return lambda text: [chunk.text for chunk in chunker.chunk(text)]


def _bert_length(tokenizer: Any, text: str) -> int:
    return int(tokenizer.count([text])[0])


@functools.cache
def cl100k() -> Any:
    import tiktoken

    return tiktoken.get_encoding("cl100k_base")


def cl100k_length(text: str) -> int:
    return len(cl100k().encode(text, disallowed_special=()))
