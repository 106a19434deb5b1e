"""Many ways of chunking measured on the same documents and questions, each sentence encoded once for all of them."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rapidchunk import strategies
from rapidchunk._version import __version__
from rapidchunk.chunkers.base import choice, whole_number
from rapidchunk.chunks import Chunks, _digest
from rapidchunk.evaluate import ranking
from rapidchunk.evaluate.bootstrap import Interval, mean_interval, paired_difference
from rapidchunk.evaluate.questions import Question
from rapidchunk.evaluate.sizes import size_report
from rapidchunk.evaluate.spans import relevant_chunks, span_scores

__all__ = ["SCORINGS", "Candidate", "Sweep", "Trial", "expand_grid", "sweep"]

#: How a chunk is scored for a question.
SCORINGS = ("sentences", "mean", "reencode")
#: What is measured for every question; a column each of `Trial.questions`.
MEASURES = ("recall", "precision", "iou", "hit", "reciprocal_rank", "ndcg", "tokens")
GROUPS = 10  # documents from which on the intervals are drawn over documents, not single questions
SMALL = 32  # tokens; how many chunks are smaller is reported
PART = 1024  # texts encoded between two writes


@dataclass(frozen=True)
class Candidate:
    """One way of chunking: a strategy, its options, and the encoder of chunks and questions."""

    strategy: str
    options: tuple[tuple[str, Any], ...] = ()
    encoder: str = "static"

    @property
    def name(self) -> str:
        """Such as "semantic max_tokens=256 overlap=0 static"."""
        return " ".join([self.strategy, *(f"{name}={value}" for name, value in self.options), self.encoder])


@dataclass(frozen=True)
class Trial:
    """What a candidate achieved.

    Attributes:
        candidate: what was tried.
        questions: float64 [questions, len(MEASURES)], the measures of every question.
        chunks: how many chunks the documents make.
        tokens: mean tokens of a chunk.
        small: share of the chunks below 32 tokens.
        repeated: characters that are in a chunk again, by the characters that are in chunks.
    """

    candidate: Candidate
    questions: np.ndarray
    chunks: int
    tokens: float
    small: float
    repeated: float

    def measure(self, name: str) -> np.ndarray:
        """float64 [questions], one measure (of `MEASURES`) of every question."""
        column: np.ndarray = self.questions[:, MEASURES.index(name)]
        return column


@dataclass(frozen=True)
class Sweep:
    """All trials, in the order of the grid, and what they were made with."""

    trials: list[Trial]
    questions: list[Question]
    documents: int
    k: int | None
    budget: int | None
    scoring: str

    @property
    def best(self) -> Trial:
        """The highest mean recall; among equals the fewest tokens."""
        return min(self.trials, key=lambda trial: (-trial.measure("recall").mean(), trial.measure("tokens").mean()))

    def as_good(self, trial: Trial) -> bool:
        """Whether the 95 % interval of the paired difference in recall to the best one reaches 0: whether chance alone may
        make the difference."""
        best = self.best
        if trial is best:
            return True
        return paired_difference(trial.measure("recall"), best.measure("recall"), groups=self._groups).high >= 0

    def interval(self, trial: Trial, name: str, scale: float = 1.0) -> Interval:
        """A measure's mean over the questions, times `scale`, with its 95 % interval."""
        return mean_interval(trial.measure(name) * scale, groups=self._groups)

    @property
    def _groups(self) -> list[int] | None:
        """Questions on one document go together, where there are documents enough to draw from."""
        documents = [question.document for question in self.questions]
        return documents if len(set(documents)) >= GROUPS else None

    def pareto(self) -> list[Trial]:
        """The trials that no other beats in recall with as few or fewer retrieved tokens, by tokens."""
        front: list[Trial] = []
        ordered = sorted(
            self.trials, key=lambda trial: (trial.measure("tokens").mean(), -trial.measure("recall").mean())
        )
        for trial in ordered:
            if not front or trial.measure("recall").mean() > front[-1].measure("recall").mean():
                front.append(trial)
        return front

    @property
    def recommended(self) -> Trial:
        """Of those as good as the best, the one that retrieves the fewest tokens."""
        good = [trial for trial in self.trials if self.as_good(trial)]
        return min(good, key=lambda trial: float(trial.measure("tokens").mean()))


def expand_grid(grid: Mapping[str, Sequence[Any]]) -> tuple[list[Candidate], list[str]]:
    """Every combination of a grid, each once.

    Args:
        grid: values to try, by name: "strategy" (names of strategies), "encoder" (names or paths) and any options of the
            strategies. A strategy is tried without the options that it does not have. "overlap" may be a share of the maximum,
            as "10%".

    Returns:
        The candidates, and a line for each combination that cannot be (an overlap as large as the maximum).

    Raises:
        ValueError: an unknown strategy, an option that none of the strategies has, or a name without values.
    """
    for name, values in grid.items():
        if isinstance(values, str) or not len(values):
            raise ValueError(f"grid: {name} must have a list of values, not {values!r}")
    wanted = {"strategy": ["recursive", "sentence", "semantic"], "encoder": ["static"], **grid}
    known = {name: strategies.parameters(name) for name in wanted["strategy"]}
    options = [name for name in wanted if name not in ("strategy", "encoder")]
    for name in options:
        if not any(name in parameters for parameters in known.values()):
            raise ValueError(f"grid: no strategy of {', '.join(known)} has the option {name}")
    found: dict[Candidate, None] = {}
    left_out: dict[str, None] = {}
    for encoder, strategy in itertools.product(wanted["encoder"], known):
        own = [name for name in options if name in known[strategy]]
        for values in itertools.product(*(wanted[name] for name in own)):
            chosen = dict(zip(own, values))
            try:
                chosen = _with_share(chosen)
                strategies.make(strategy, chosen, shared={"encoder": _no_encoder})  # is it possible at all?
            except ValueError as error:
                left_out[f"{Candidate(strategy, tuple(chosen.items()), encoder).name}: {error}"] = None
                continue
            found[Candidate(strategy, tuple(chosen.items()), encoder)] = None
    return list(found), list(left_out)


def _no_encoder(texts: list[str]) -> np.ndarray:
    raise AssertionError("only parameters are checked")


def _with_share(options: dict[str, Any]) -> dict[str, Any]:
    overlap = options.get("overlap")
    if isinstance(overlap, str) and overlap.endswith("%"):
        if "max_tokens" not in options:
            raise ValueError("an overlap in % needs max_tokens in the grid")
        try:
            share = float(overlap[:-1])
        except ValueError:
            raise ValueError(f"overlap must be a number or a percentage, not {overlap!r}") from None
        options = {**options, "overlap": round(options["max_tokens"] * share / 100)}
    return options


def sweep(
    documents: Sequence[str],
    questions: Sequence[Question],
    candidates: Sequence[Candidate],
    *,
    k: int | None = 5,
    budget: int | None = None,
    scoring: str = "sentences",
    tokenizer: Any = None,
    encoder: Callable[[str], Any] | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int, str], object] | None = None,
) -> Sweep:
    """Chunks the documents in every way, retrieves for every question from all documents, and measures what came back.

    Args:
        documents: texts that the spans of the questions refer to.
        questions: see `rapidchunk.evaluate.read_questions`.
        candidates: see `expand_grid`.
        k: chunks that are retrieved for a question.
        budget: instead of `k`, tokens: the best chunks as long as they fit, at least one. Compares large and small chunks at
            equal cost.
        scoring: "sentences": a chunk's score is that of its best sentence plus half that of its mean, which needs no further
            encoding and is what `rapidchunk search` does; "mean": of the mean alone; "reencode": every chunk is encoded.
        tokenizer: see `Chunker`; counts the sizes of all candidates.
        encoder: from an encoder's name to the encoder; `rapidchunk.encoders.as_encoder` by default.
        folder: keeps vectors and finished trials there, so that a later call with the same documents and questions goes on
            where one was interrupted; made if missing.
        progress: called with trials done, trials in all, and what is being done.

    Returns:
        A `Sweep`. Recall, precision and IoU are of characters (Smith and Troynikov, Evaluating Chunking Strategies for
        Retrieval, 2024); a hit is a chunk that holds any character of the answer, for reciprocal rank and nDCG too.

    Raises:
        ValueError: no documents, questions or candidates; a parameter out of range; or a strategy whose spans do not refer
            to the documents as given (HTML: evaluate its extracted text).
    """
    from rapidchunk.encoders import as_encoder

    for name, given in (("documents", documents), ("questions", questions), ("candidates", candidates)):
        if not len(given):
            raise ValueError(f"{name} must not be empty")
    scoring = choice("scoring", scoring, SCORINGS)
    if (k is None) == (budget is None):
        raise ValueError("k or budget must be given, and not both (k is 5 unless it is None)")
    k = None if k is None else whole_number("k", k, 1)
    budget = None if budget is None else whole_number("budget", budget, 1)
    texts = list(documents)
    store = _Store(
        folder, texts, questions, {"k": k, "budget": budget, "scoring": scoring, "tokenizer": repr(tokenizer)}
    )
    trials: dict[Candidate, Trial] = {}
    for name in dict.fromkeys(candidate.encoder for candidate in candidates):
        wanted = [candidate for candidate in candidates if candidate.encoder == name]
        kept = {candidate: store.trial(candidate) for candidate in wanted}
        trials |= {candidate: trial for candidate, trial in kept.items() if trial is not None}
        missing = [candidate for candidate in wanted if candidate not in trials]
        if not missing:
            continue

        tell = _teller(progress, trials, len(candidates), name)
        once = _OnceEncoder((encoder or as_encoder)(name), store.file(f"vectors-{_digest(name)}"), tell)
        asked = once.encode_query([question.text for question in questions])
        for candidate in missing:
            tell(candidate.name)
            chunker = strategies.make(
                candidate.strategy, dict(candidate.options), shared={"tokenizer": tokenizer, "encoder": once}
            )
            chunks = chunker(texts)
            _require_same_text(chunks, texts, candidate)
            sentences = scoring == "sentences"
            chunks = chunks.encode(once, vectors="mean" if sentences else scoring, sentence_vectors=sentences)
            trials[candidate] = _trial(candidate, chunks, asked, questions, k, budget)
            store.keep(trials[candidate])
    if progress is not None:
        progress(len(trials), len(candidates), "done")
    return Sweep([trials[candidate] for candidate in candidates], list(questions), len(texts), k, budget, scoring)


def _teller(
    progress: Callable[[int, int, str], object] | None, done: Mapping[Candidate, Trial], total: int, encoder: str
) -> Callable[[str], None]:
    def tell(what: str) -> None:
        if progress is not None:
            progress(len(done), total, f"{encoder}: {what}")

    return tell


def _require_same_text(chunks: Chunks, texts: list[str], candidate: Candidate) -> None:
    if any(chunks.document_text(number) != text for number, text in enumerate(texts)):
        raise ValueError(
            f"{candidate.strategy} makes a text of its own out of the documents; evaluate it on that text, not on the source"
        )


class _OnceEncoder:
    """An encoder that encodes each text once, in this run and, where it has a file, in any: what all trials share."""

    def __init__(self, encoder: Any, file: Path | None, tell: Callable[[str], object]) -> None:
        self._encoder = encoder
        self._file = file
        self._tell = tell
        self._rows: dict[bytes, int] = {}
        self._vectors = np.empty((0, 0), np.float32)
        self._read()

    def __repr__(self) -> str:
        return repr(self._encoder)

    @property
    def dimension(self) -> int | None:
        dimension: int | None = self._encoder.dimension
        return dimension

    def encode(self, texts: Sequence[str], *, progress: Any = None, report: dict[str, Any] | None = None) -> np.ndarray:
        return self._once(texts, "", self._encoder.encode)

    def encode_query(self, texts: Sequence[str]) -> np.ndarray:
        asks = getattr(self._encoder, "encode_query", None)
        return self.encode(texts) if asks is None else self._once(texts, "?", asks)

    def _once(self, texts: Sequence[str], kind: str, encode: Callable[[list[str]], Any]) -> np.ndarray:
        keys = [
            hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=kind.encode()).digest()
            for text in texts
        ]
        new = {key: text for key, text in zip(keys, texts) if key not in self._rows}
        # In parts, each kept at once, so that an interrupted run loses little.
        pairs = list(new.items())
        parts = []
        for begin in range(0, len(pairs), PART):
            part = pairs[begin : begin + PART]
            self._tell(f"encoding, {begin:,} of {len(pairs):,} texts")
            vectors = np.ascontiguousarray(encode([text for _, text in part]), np.float32)
            if self._file is not None:
                with open(self._file, "ab") as file:
                    file.writelines(key + vector.tobytes() for (key, _), vector in zip(part, vectors))
            parts.append(vectors)
        if parts:
            self._take(list(new), np.concatenate(parts))
        return self._vectors[[self._rows[key] for key in keys]]

    def _take(self, keys: list[bytes], vectors: np.ndarray) -> None:
        base = len(self._vectors)
        self._vectors = np.concatenate([self._vectors, vectors]) if base else vectors
        self._rows |= {key: base + row for row, key in enumerate(keys)}

    def _read(self) -> None:
        """What an earlier run encoded; a last record that was cut off is encoded again."""
        if self._file is None or not self._file.exists():
            return
        size = 16 + 4 * len(self._encoder.encode(["size"])[0])
        whole = self._file.stat().st_size // size * size
        os.truncate(self._file, whole)
        data = np.fromfile(self._file, np.uint8).reshape(-1, size)
        if len(data):
            keys = [row.tobytes() for row in data[:, :16]]
            self._take(keys, np.ascontiguousarray(data[:, 16:]).view(np.float32))


def _trial(
    candidate: Candidate,
    chunks: Chunks,
    asked: np.ndarray,
    questions: Sequence[Question],
    k: int | None,
    budget: int | None,
) -> Trial:
    retrieved = [_retrieve(chunks.score(vector), chunks.tokens, k, budget) for vector in asked]
    spans = [question.spans for question in questions]
    documents = [question.document for question in questions]
    characters = span_scores(chunks, retrieved, spans, documents)
    relevant = relevant_chunks(chunks, spans, documents)
    first = ranking.reciprocal_rank(retrieved, relevant)
    measured = {
        "recall": characters.recall,
        "precision": characters.precision,
        "iou": characters.iou,
        "hit": first > 0,
        "reciprocal_rank": first,
        "ndcg": ranking.ndcg(retrieved, relevant, k),
        "tokens": np.array([chunks.tokens[rows].sum() for rows in retrieved]),
    }
    sizes = size_report(chunks, minimum=SMALL)
    return Trial(
        candidate,
        np.stack([np.asarray(measured[name], np.float64) for name in MEASURES], axis=1),
        len(chunks),
        sizes.mean,
        sizes.below_minimum,
        sizes.duplication,
    )


def _retrieve(scores: np.ndarray, tokens: np.ndarray, k: int | None, budget: int | None) -> np.ndarray:
    """Rows of the chunks that are retrieved, best first; of equals the earlier first."""
    if k is not None:
        best: np.ndarray = ranking.top_rows(scores[None, :], k)[0]
        return best
    ranked = np.argsort(-scores, kind="stable")
    fitting = np.cumsum(tokens[ranked]) <= budget
    return ranked[: max(int(fitting.sum()), 1)]


class _Store:
    """A folder of finished trials and of vectors; nothing where there is no folder."""

    def __init__(
        self, folder: Any, documents: list[str], questions: Sequence[Question], settings: Mapping[str, Any]
    ) -> None:
        self._folder = None if folder is None else Path(folder)
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        asked = [[question.text, question.document, question.spans] for question in questions]
        self._key = _digest(__version__, *documents, json.dumps([asked, settings], sort_keys=True))

    def file(self, name: str) -> Path | None:
        return None if self._folder is None else self._folder / name

    def _trial_file(self, candidate: Candidate) -> Path | None:
        key = "" if self._folder is None else _digest(self._key, repr(candidate))
        return self.file(f"trial-{key}.npz")

    def trial(self, candidate: Candidate) -> Trial | None:
        file = self._trial_file(candidate)
        if file is None or not file.exists():
            return None
        with np.load(file) as data:
            figures = data["figures"]
            return Trial(candidate, data["questions"], int(figures[0]), *map(float, figures[1:]))

    def keep(self, trial: Trial) -> None:
        file = self._trial_file(trial.candidate)
        if file is not None:
            part = file.with_suffix(f".{os.getpid()}.npz")
            np.savez(part, questions=trial.questions, figures=[trial.chunks, trial.tokens, trial.small, trial.repeated])
            os.replace(part, file)
