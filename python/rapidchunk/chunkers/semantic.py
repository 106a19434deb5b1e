"""Semantic chunking: cut where the meaning changes from one sentence to the next."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rapidchunk import _core
from rapidchunk.chunkers.base import Chunker, choice, threads, whole_number
from rapidchunk.chunkers.sentence import sentence_level
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


class _Found(NamedTuple):
    """The sentences of a batch (long ones in pieces) and what is known of them."""

    measure: Any  # the tokens of the texts
    spans: np.ndarray  # int64 [n, 2], bytes
    offsets: np.ndarray  # int64 [documents + 1]
    vectors: np.ndarray  # float32 [n, dim]
    first: np.ndarray  # int64 [n], rank of the first token
    last: np.ndarray  # int64 [n], rank of the token after the last
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
        return self._chunks(texts, self._find(texts))

    def _chunks(self, texts: _core.Texts, found: _Found) -> Chunks:
        document = np.repeat(np.arange(len(texts)), np.diff(found.offsets))
        ends = np.flatnonzero(found.cuts)
        starts = np.append(0, ends[:-1] + 1) if len(ends) else ends
        starts = self._with_overlap(starts, ends, found.first, found.last, document)
        spans = np.stack([found.spans[starts, 0], found.spans[ends, 1]], axis=1) if len(ends) else found.spans[:0]
        # Where the tokenizer counts a chunk alone higher than inside its document, the chunk may have to be cut once more.
        bounds = np.searchsorted(document[ends], np.arange(len(texts) + 1))
        chunks = self._cut(texts, spans, bounds, [sentence_level(found.spans, found.offsets)], found.measure)
        chunks.report = {"split_sentences": found.split} if found.split else {}
        if self.vectors in ("reencode", "late"):
            chunks = chunks.encode(self.encoder, vectors=self.vectors)
        if self.vectors != "mean" and not self.sentence_vectors:
            return chunks
        # The sentences that overlap each chunk: positions of all documents on one rising scale.
        step = int(found.spans.max(initial=0)) + 1
        own, base = document * step, chunks.document * step
        low = np.searchsorted(found.spans[:, 1] + own, chunks.byte_start + base, side="right")
        high = np.searchsorted(found.spans[:, 0] + own, chunks.byte_end + base)
        sentences = SentenceVectors(to_host(found.vectors), low, high)
        return chunks.replace(
            vectors=mean(sentences, found.last - found.first) if self.vectors == "mean" else None,
            sentence_vectors=sentences if self.sentence_vectors else None,
        )

    def explain(self, text: str) -> Explanation:
        """Why a document is cut where it is: its sentences, how alike neighbours are, and the cuts (without the overlap).

        Encodes the sentences anew.
        """
        texts = _core.Texts([text])
        return self._explain(texts, self._find(texts))

    def chunk_and_explain(self, text: str) -> tuple[Chunks, Explanation]:
        """The chunks of a document and what `explain` says of them; its sentences are encoded once."""
        texts = _core.Texts([text])
        found = self._find(texts)
        chunks = self._chunks(texts, found)
        chunks.settings = self._settings()
        return chunks, self._explain(texts, found)

    def _explain(self, texts: _core.Texts, found: _Found) -> Explanation:
        similarities = (
            to_host(run("adjacent_similarity", found.vectors, found.offsets, self.block))[:-1] / SIMILARITY_ONE
        )
        cuts = np.flatnonzero(found.cuts)[:-1]
        return Explanation(code_points(texts, found.spans, found.offsets), similarities, cuts)

    def _find(self, texts: _core.Texts) -> _Found:
        """Sentences that fit max_tokens (longer ones in pieces), their vectors, and the cuts between them."""
        whole, whole_offsets = byte_spans(texts, self.splitter, self.language, self.newline_is_boundary)
        measure = self.tokenizer.measure(texts, threads(), **self._measure_options)
        room = self.max_tokens - self.tokenizer.special_tokens
        spans, offsets, _ = _core.split_spans(
            texts, measure, whole, whole_offsets, ["words"], max_tokens=room, threads=threads()
        )
        report: dict[str, Any] = {}
        vectors = self._encode(texts, spans, offsets, measure, report)
        first, last = _core.span_ranks(texts, measure, spans, offsets, threads())
        cuts = self._cuts(texts, spans, vectors, first, last, offsets)
        split = len(report.get("split", ())) + len(spans) - len(whole)
        return _Found(measure, spans, offsets, vectors, first, last, cuts, split)

    def _encode(
        self,
        texts: _core.Texts,
        spans: np.ndarray,
        offsets: np.ndarray,
        measure: Any,
        report: dict[str, Any],
    ) -> np.ndarray:
        document = np.repeat(np.arange(len(texts)), np.diff(offsets))
        if hasattr(self.encoder, "encode_spans"):  # without strings in between
            vectors: np.ndarray = self.encoder.encode_spans(texts, document, spans, measure)
            return vectors
        columns = [*code_points(texts, spans, offsets).T, *spans.T]
        sentences = texts.slices(document, *map(np.ascontiguousarray, columns))
        if not sentences:
            return np.empty((0, 1), np.float32)
        # Where the encoder runs on a device, the vectors stay there for the kernels.
        encode = getattr(self.encoder, "encode_on_device", self.encoder.encode)
        return encode(sentences, report=report)

    def _cuts(
        self,
        texts: _core.Texts,
        spans: np.ndarray,
        vectors: np.ndarray,
        first: np.ndarray,
        last: np.ndarray,
        offsets: np.ndarray,
    ) -> np.ndarray:
        special = self.tokenizer.special_tokens
        low, high = max(self.min_tokens - special, 0), self.max_tokens - special
        if self.rule is None:
            prior = _core.breaks_before(texts, spans, offsets)
            length = -1.0 if self.segment_length == "auto" else self.segment_length
            given = [] if length is None else [length]
            return to_host(run("directional_cuts", vectors, first, last, prior, offsets, low, high, *given))
        similarity = run("adjacent_similarity", vectors, offsets, self.block)
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
