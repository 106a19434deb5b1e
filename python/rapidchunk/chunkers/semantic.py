"""Semantic chunking: cut where the meaning changes from one sentence to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rapidchunk import _core
from rapidchunk.chunkers.base import BATCH_BYTES, Chunker, choice, threads, whole_number
from rapidchunk.chunkers.sentence import sentence_level
from rapidchunk.chunkers.vector_strips import STRIP, SimilarityStream, reduce_vectors
from rapidchunk.chunks import Chunks
from rapidchunk.kernels import run, to_host
from rapidchunk.sentences import Splitter, byte_spans, code_points, sentence_rules
from rapidchunk.tokenizers import WordPieceTokenizer
from rapidchunk.vectors import METHODS, SentenceVectors, mean, require_tokens

__all__ = ["Explanation", "SemanticChunker"]

RULES = ("threshold", "percentile", "std", "interquartile", "gradient", "depth")


SIMILARITY_ONE = 1 << 20  # a cosine of 1 in the fixed point of `kernels.adjacent_similarity`


class Explanation(NamedTuple):
    """What `SemanticChunker.explain` finds in a document of n sentences."""

    spans: np.ndarray  #: int64 [n, 2], code points
    similarities: np.ndarray  #: float64 [n - 1], the cosine of neighbouring sentences (or blocks of them)
    cuts: np.ndarray  #: int64 [chunks - 1], i for a cut between sentences i and i + 1


class _Sentences(NamedTuple):
    """The sentences of a batch, long ones in pieces."""

    texts: _core.Texts
    measure: Any  # the tokens of the texts
    spans: np.ndarray  # int64 [n, 2], bytes
    offsets: np.ndarray  # int64 [documents + 1]
    first: np.ndarray  # int64 [n], rank of the first token
    last: np.ndarray  # int64 [n], rank of the token after the last

    def documents(self, begin: int, end: int) -> np.ndarray:
        """int64 [end - begin], the documents of some sentences."""
        return np.asarray(np.searchsorted(self.offsets, np.arange(begin, end), side="right") - 1)


class _Found(NamedTuple):
    """What is known of the sentences of a batch."""

    sentences: _Sentences
    vectors: np.ndarray | None  # float32 [n, dim], where they are kept
    cuts: np.ndarray  # uint8 [n], 1 where a chunk ends
    split: int  # sentences that were cut up


class SemanticChunker(Chunker):
    """Sentences, encoded once each, grouped so that chunks hold one topic within `min_tokens` and `max_tokens`.

    Args:
        encoder: see `rapidchunk.encoders.as_encoder`. Default: "static", the table in the package.
        max_tokens, min_tokens, overlap, tokenizer: see `Chunker`. By default `min_tokens` is 32, or `max_tokens` if that is
            less.
        threshold: boundary where the cosine of neighbouring sentences is below this (-1 to 1).
        percentile: where the distance is above this percentile (0 to 100) of the document's distances (LangChain's rule).
        std: where the distance is this many standard deviations above the document's mean.
        interquartile: where the distance is this many interquartile ranges above the mean.
        gradient: where the change of distance is above this percentile (0 to 100).
        depth: where the depth score (Hearst, TextTiling, 1997) exceeds the mean less this many standard deviations
            (Hearst: 0.5 for many boundaries, 1 for more; a negative value for fewer).
            At most one of these rules may be given.
        method: "optimal": the best of all segmentations within the limits, by dynamic programming. Without a rule it maximises
            how well the sentences of a chunk point in one direction (`rapidchunk.kernels.reference.directional_cuts`); with a
            rule, boundaries are cut wherever the limits allow and forced cuts go to the weakest similarity.
            "greedy": one pass, cutting at the rule's boundaries (default: percentile 90) as soon as `min_tokens` is reached.
        segment_length: sentences of a chunk, on average and roughly, as far as the limits allow; or "auto": longer chunks in
            documents of 80 sentences and more whose similarities reach further than the default's. For long uniform texts
            (book chapters, lectures), with a large `max_tokens`: the default expects about 7 sentences a topic. Not together
            with a rule.
        block: compare blocks of this many sentences (rules only).
        vectors: None; "mean": the token-weighted mean of the sentence vectors, free; "reencode": encode each chunk; "late": the
            mean of the token vectors within each chunk, by a model that has read the document (see `Chunks.encode`).
        sentence_vectors: keep the sentence vectors, for `Chunks.score`: free, and the best way to find chunks.
        language, newline_is_boundary, splitter: see `SentenceChunker`.
        batch_size: most texts in a call of a wrapped encoder or service.

    Raises:
        ValueError: a parameter is out of range; while chunking: the encoder gives too few, too many or not finite vectors.
    """

    def __init__(
        self,
        encoder: Any = None,
        max_tokens: int = 250,
        *,
        min_tokens: int | None = None,
        overlap: int = 0,
        tokenizer: Any = None,
        threshold: float | None = None,
        percentile: float | None = None,
        std: float | None = None,
        interquartile: float | None = None,
        gradient: float | None = None,
        depth: float | None = None,
        method: str = "optimal",
        segment_length: float | str | None = None,
        block: int = 1,
        vectors: str | None = None,
        sentence_vectors: bool = False,
        language: str | None = None,
        newline_is_boundary: bool = False,
        splitter: Splitter | None = None,
        batch_size: int | None = None,
    ) -> None:
        from rapidchunk.encoders import EMBEDDED, as_encoder

        super().__init__(max_tokens, 0 if min_tokens is None else min_tokens, overlap, tokenizer)
        if min_tokens is None:
            self.min_tokens = min(32, self.max_tokens)
        given = dict(zip(RULES, (threshold, percentile, std, interquartile, gradient, depth)))
        rules = {name: value for name, value in given.items() if value is not None}
        if len(rules) > 1:
            raise ValueError(f"{' and '.join(rules)} are both given; at most one rule may be")
        for name, value in rules.items():
            low, high = {"threshold": (-1, 1), "percentile": (0, 100), "gradient": (0, 100)}.get(name, (-1e6, 1e6))
            if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not low <= value <= high:
                raise ValueError(
                    f"{name} (a boundary threshold) must be a number from {low:g} to {high:g}, not {value!r}"
                )
        self.method = choice("method", method, ("optimal", "greedy"))
        self.segment_length = _segment_length(segment_length)
        if self.segment_length is not None and (rules or self.method != "optimal"):
            raise ValueError("segment_length is for the default method, without a rule")
        self.block = whole_number("block", block, 1)
        if self.method == "greedy" and not rules:
            rules = {"percentile": 90.0}
        self.rule: tuple[str, float] | None = next(iter(rules.items()), None)
        self.vectors = vectors if vectors is None else choice("vectors", vectors, METHODS)
        self.sentence_vectors = bool(sentence_vectors)
        self.language, self.newline_is_boundary, self.splitter = sentence_rules(language, newline_is_boundary, splitter)
        options: dict[str, Any] = (
            {} if batch_size is None else {"batch_size": whole_number("batch_size", batch_size, 1)}
        )
        self.encoder = as_encoder(EMBEDDED if encoder is None else encoder, **options)
        if self.vectors == "late":
            require_tokens(self.encoder)
        # One tokenisation serves sizes and vectors where the tokenizer is the encoder's own.
        same = isinstance(self.tokenizer, WordPieceTokenizer) and (
            getattr(self.encoder, "wordpiece", None) is self.tokenizer.wordpiece
        )
        self._measure_options = {"ids": True} if same else {}

    def _chunk(self, texts: _core.Texts) -> Chunks:
        return self._chunks(self._find(texts, self.vectors == "mean" or self.sentence_vectors))

    def _chunks(self, found: _Found) -> Chunks:
        sentences = found.sentences
        texts, spans, offsets = sentences.texts, sentences.spans, sentences.offsets
        document = sentences.documents(0, len(spans))
        ends = np.flatnonzero(found.cuts)
        starts = np.append(0, ends[:-1] + 1) if len(ends) else ends
        starts = self._with_overlap(starts, ends, sentences.first, sentences.last, document)
        joined = np.stack([spans[starts, 0], spans[ends, 1]], axis=1) if len(ends) else spans[:0]
        # Where the tokenizer counts a chunk alone higher than inside its document, the chunk may have to be cut once more.
        bounds = np.searchsorted(document[ends], np.arange(len(texts) + 1))
        chunks = self._cut(texts, joined, bounds, [sentence_level(spans, offsets)], sentences.measure)
        chunks.report = {"split_sentences": found.split} if found.split else {}
        if self.vectors in ("reencode", "late"):
            chunks = chunks.encode(self.encoder, vectors=self.vectors)
        if found.vectors is None or (self.vectors != "mean" and not self.sentence_vectors):
            return chunks
        # The sentences that overlap each chunk: positions of all documents on one rising scale.
        step = int(spans.max(initial=0)) + 1
        own, base = document * step, chunks.document * step
        low = np.searchsorted(spans[:, 1] + own, chunks.byte_start + base, side="right")
        high = np.searchsorted(spans[:, 0] + own, chunks.byte_end + base)
        vectors = SentenceVectors(to_host(found.vectors), low, high)
        return chunks.replace(
            vectors=mean(vectors, sentences.last - sentences.first) if self.vectors == "mean" else None,
            sentence_vectors=vectors if self.sentence_vectors else None,
        )

    def explain(self, text: str) -> Explanation:
        """Why a document is cut where it is: its sentences, how alike neighbours are, and the cuts (without the overlap).

        Encodes the sentences anew.
        """
        return self._explain(self._find(_core.Texts([text]), keep_vectors=True))

    def chunk_and_explain(self, text: str) -> tuple[Chunks, Explanation]:
        """The chunks of a document and what `explain` says of them; its sentences are encoded once."""
        found = self._find(_core.Texts([text]), keep_vectors=True)
        chunks = self._chunks(found)
        chunks.settings = self._settings()
        return chunks, self._explain(found)

    def _explain(self, found: _Found) -> Explanation:
        texts, _, spans, offsets, *_ = found.sentences
        similarities = to_host(run("adjacent_similarity", found.vectors, offsets, self.block))[:-1] / SIMILARITY_ONE
        return Explanation(code_points(texts, spans, offsets), similarities, np.flatnonzero(found.cuts)[:-1])

    def _find(self, texts: _core.Texts, keep_vectors: bool) -> _Found:
        """Sentences that fit max_tokens (longer ones in pieces), the cuts between them, and perhaps their vectors."""
        whole, whole_offsets = byte_spans(texts, self.splitter, self.language, self.newline_is_boundary)
        # Four bytes a token are much beside a large text; without its ids the encoder tokenises strip by strip.
        options = self._measure_options if texts.bytes <= 2 * BATCH_BYTES else {}
        measure = self.tokenizer.measure(texts, threads(), **options)
        room = self.max_tokens - self.tokenizer.special_tokens
        spans, offsets, _ = _core.split_spans(
            texts, measure, whole, whole_offsets, ["words"], max_tokens=room, threads=threads()
        )
        split = len(spans) - len(whole)
        del whole
        sentences = _Sentences(
            texts, measure, spans, offsets, *_core.span_ranks(texts, measure, spans, offsets, threads())
        )

        def encode(begin: int, end: int) -> Any:
            nonlocal split
            report: dict[str, Any] = {}
            vectors = self._encode(sentences, begin, end, report)
            split += len(report.get("split", ()))
            return vectors

        kept, most = None, STRIP
        if keep_vectors or hasattr(self.encoder, "encode_on_device"):
            kept, most = encode(0, len(spans)), len(spans)
        cuts = self._cuts(sentences, encode if kept is None else lambda begin, end: kept[begin:end], most)
        return _Found(sentences, kept, cuts, split)

    def _encode(self, sentences: _Sentences, begin: int, end: int, report: dict[str, Any]) -> Any:
        document, spans = sentences.documents(begin, end), np.ascontiguousarray(sentences.spans[begin:end])
        if hasattr(self.encoder, "encode_spans"):  # without strings in between
            return self.encoder.encode_spans(sentences.texts, document, spans, sentences.measure)
        if not len(spans):
            return np.empty((0, 1), np.float32)
        columns = [np.ascontiguousarray(column) for column in spans.T]
        points = [_core.code_point_offsets(sentences.texts, document, column) for column in columns]
        # Where the encoder runs on a device, the vectors stay there for the kernels.
        encode = getattr(self.encoder, "encode_on_device", self.encoder.encode)
        return encode(sentences.texts.slices(document, *points, *columns), report=report)

    def _cuts(self, sentences: _Sentences, encode: Callable[[int, int], Any], most: int) -> np.ndarray:
        """uint8 [n], 1 where a chunk ends; `encode` gives the vectors of a range of sentences, asked for `most` at a time."""
        texts, _, spans, offsets, first, last = sentences
        special = self.tokenizer.special_tokens
        low, high = max(self.min_tokens - special, 0), self.max_tokens - special
        if self.rule is None:
            prior = _core.breaks_before(texts, spans, offsets)
            length = -1.0 if self.segment_length == "auto" else float(self.segment_length or 0)
            rules = (low, high, length)
            return to_host(
                reduce_vectors(
                    offsets,
                    encode,
                    lambda vectors, own, at: run(
                        "directional_cuts", vectors, first[at], last[at], prior[at], own, *rules
                    ),
                    lambda at: _core.DirectionalStream(first[at], last[at], prior[at], *rules),
                    most,
                )
            )
        similarity = reduce_vectors(
            offsets,
            encode,
            lambda vectors, own, _: run("adjacent_similarity", vectors, own, self.block),
            lambda at: SimilarityStream(at.stop - at.start, self.block),
            most,
        )
        candidates = run("boundary_candidates", similarity, offsets, *self.rule)
        if self.method == "greedy":
            cuts = run("greedy_cuts", similarity, candidates, first, last, offsets, low, high)
            return to_host(cuts)
        # A cut at a boundary is worth more than any similarity can cost; any other cut costs, and is made only if it must be.
        ends = similarity == np.iinfo(np.int32).max
        preferred = np.where(ends, similarity, similarity - (candidates.astype(np.int32) << 22))
        return to_host(run("optimal_cuts", preferred.astype(np.int32), first, last, offsets, low, high, 1 << 20))

    def _with_overlap(
        self, starts: np.ndarray, ends: np.ndarray, first: np.ndarray, last: np.ndarray, document: np.ndarray
    ) -> np.ndarray:
        """Moves the start of each chunk back over whole sentences of the one before, as far as both limits allow."""
        if not self.overlap or len(starts) < 2:
            return starts
        room = self.max_tokens - self.tokenizer.special_tokens
        # Ranks of all documents on one rising scale, so that one search serves all chunks.
        base = document * (int(last.max()) + room + self.overlap + 1)
        least = np.maximum(last[ends] + base[ends] - room, last[starts - 1] + base[starts - 1] - self.overlap)
        earlier = np.searchsorted(first + base, least)
        same = np.append(False, document[starts[1:]] == document[ends[:-1]])
        earlier = np.maximum(earlier, np.append(0, starts[:-1] + 1))
        return np.where(same, np.minimum(earlier, starts), starts)


def _segment_length(value: Any) -> float | str | None:
    if value is None or value == "auto":
        return value  # type: ignore[no-any-return]
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 1 <= value <= 1e9:
        raise ValueError(f"segment_length must be a number of sentences from 1, or 'auto', not {value!r}")
    return float(value)
