"""The data of the quality suite, read from a folder, and vectors of texts kept on disk. What the folder's SOURCE.txt marks as
research-only is read where it is and never copied; the cache holds vectors and hashes, no text."""

from __future__ import annotations

import csv
import fcntl
import gzip
import hashlib
import json
import os
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

CHROMA = ("chatlogs", "finance", "pubmed", "state_of_the_union", "wikitexts")
CHOI = ("3-5", "6-8", "9-11", "3-11")


@dataclass(frozen=True)
class Segmented:
    """A document as sentences, and the sentences (but the first) that begin a segment."""

    name: str
    sentences: list[str]
    starts: np.ndarray

    def boundaries(self) -> np.ndarray:
        """bool [sentences - 1]."""
        found = np.zeros(len(self.sentences) - 1, bool)
        found[self.starts - 1] = True
        return found


@dataclass(frozen=True)
class Asked:
    """A question, the document it is about, and the spans (characters) that answer it."""

    question: str
    document: int
    references: list[tuple[int, int]]


@dataclass(frozen=True)
class Retrieval:
    names: list[str]
    texts: list[str]
    questions: list[Asked]


def segmented(name: str, segments: Sequence[Sequence[str]]) -> Segmented:
    filled = [segment for segment in segments if segment]
    starts = np.cumsum([len(segment) for segment in filled])[:-1].astype(np.int64)
    return Segmented(name, [sentence for segment in filled for sentence in segment], starts)


def choi(folder: Path, parts: Sequence[str] = ("1", "2")) -> dict[str, list[Segmented]]:
    """Choi (2000), by length of the segments: documents of the given parts."""
    found: dict[str, list[Segmented]] = {name: [] for name in CHOI}
    with tarfile.open(folder / "choi2000" / "choi.tar.gz") as archive:
        for member in sorted(archive.getmembers(), key=lambda member: member.name):
            place = Path(member.name).parts
            if not member.name.endswith(".ref") or place[-3] not in parts:
                continue
            text = archive.extractfile(member).read().decode("utf-8", "replace")  # type: ignore[union-attr]
            segments = [part.split("\n") for part in text.split("==========")]
            cleaned = [[line.strip() for line in segment if line.strip()] for segment in segments]
            found[place[-2]].append(segmented("/".join(place[-3:]), cleaned))
    return found


def wiki50(folder: Path) -> list[Segmented]:
    """Wiki-50 (Koshorek et al., 2018): a segment is a section of any level."""
    found = []
    for path in sorted((folder / "wiki50").iterdir()):
        if path.suffix:
            continue
        segments: list[list[str]] = []
        for line in path.read_text("utf-8").split("\n"):
            if line.startswith("========"):
                segments.append([])
            elif line.strip() and segments:
                segments[-1].append(line.strip())
        found.append(segmented(path.name, segments))
    return found


def chroma(folder: Path) -> Retrieval:
    """The evaluation of Smith and Troynikov (2024): 472 questions on five corpora."""
    base = folder / "chroma"
    texts = [(base / "corpora" / f"{name}.md").read_bytes().decode("utf-8") for name in CHROMA]
    questions = []
    with open(base / "questions_df.csv", encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            spans = [(part["start_index"], part["end_index"]) for part in json.loads(row["references"])]
            questions.append(Asked(row["question"], CHROMA.index(row["corpus_id"]), spans))
    return Retrieval(list(CHROMA), texts, questions)


def squad(folder: Path) -> Retrieval:
    """Whole Wikipedia articles with the questions of SQuAD 1.1 on them."""
    base = folder / "squad_articles"
    with gzip.open(base / "documents.jsonl.gz", "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    number = {document["id"]: index for index, document in enumerate(documents)}
    questions = []
    with gzip.open(base / "questions.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row: dict[str, Any] = json.loads(line)
            spans = [(answer["start"], answer["start"] + len(answer["text"])) for answer in row["answers"]]
            questions.append(Asked(row["question"], number[row["doc"]], spans))
    return Retrieval(
        [document["id"] for document in documents], [document["text"] for document in documents], questions
    )


class NotCached(RuntimeError):
    """A text has no vector in a cache that must not be added to."""


class CachedEncoder:
    """An encoder that encodes each text once, ever: vectors by the hash of their text, in two files that only grow.

    Any number of processes may read; one at a time may add. With `frozen`, none does: `NotCached` is raised instead.
    """

    def __init__(self, encoder: Any, name: str, folder: Path, frozen: bool = False) -> None:
        self._frozen = frozen
        self._encoder = encoder
        self._dimension: int = encoder.dimension
        folder.mkdir(parents=True, exist_ok=True)
        self._files = {folder / f"{name}.keys": 16, folder / f"{name}.f32": 4 * self._dimension}
        self._writing: IO[bytes] | None = None
        self._rows: dict[bytes, int] = {}
        self._vectors = np.empty((0, self._dimension), np.float32)
        self._read()
        self.encoded = 0

    def _read(self) -> None:
        keys_file, vectors_file = self._files
        keys = keys_file.read_bytes() if keys_file.exists() else b""
        vectors = vectors_file.read_bytes() if vectors_file.exists() else b""
        # A run that was stopped may have left half a row, or vectors without keys.
        count = min(len(keys) // 16, len(vectors) // (4 * self._dimension))
        self._rows = {keys[16 * row : 16 * row + 16]: row for row in range(count)}
        self._vectors = np.frombuffer(vectors, np.float32, count * self._dimension).reshape(count, self._dimension)

    def _open(self) -> None:
        if self._writing is not None:
            return
        keys_file = next(iter(self._files))
        self._writing = open(keys_file, "ab")  # noqa: SIM115 (held, with its lock, as long as the process lives)
        try:
            fcntl.flock(self._writing, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._writing = None
            raise RuntimeError(f"another process is adding to {keys_file}") from None
        self._read()
        for path, width in self._files.items():
            if path.exists():
                os.truncate(path, len(self._rows) * width)

    @property
    def dimension(self) -> int:
        return self._dimension

    def missing(self, texts: Sequence[str]) -> dict[bytes, str]:
        return {key: text for key, text in zip(map(_key, texts), texts) if key not in self._rows}

    def encode(self, texts: Sequence[str], *, progress: Any = None, report: dict[str, Any] | None = None) -> np.ndarray:
        """As the encoder's, but that `report` stays empty."""
        if missing := self.missing(texts):
            if self._frozen:
                raise NotCached(f"{len(missing)} texts are not encoded")
            self._open()
        new = list(self.missing(texts).items())
        parts = [self._vectors]
        for begin in range(0, len(new), 1024):
            part = new[begin : begin + 1024]
            vectors = np.ascontiguousarray(self._encoder.encode([text for _, text in part]), np.float32)
            rows = (b"".join(key for key, _ in part), vectors.tobytes())
            for path, data in reversed(list(zip(self._files, rows))):  # vectors first: a key has its vector
                with open(path, "ab") as file:
                    file.write(data)
            for key, _ in part:
                self._rows[key] = len(self._rows)
            parts.append(vectors)
            self.encoded += len(part)
            if progress is not None:
                progress(begin + len(part), len(new))
        if new:
            self._vectors = np.concatenate(parts)
        return self._vectors[[self._rows[_key(text)] for text in texts]]


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
