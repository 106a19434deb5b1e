"""Makes the static table of the package: python/rapidchunk/data/static.safetensors.

A row for each token of BERT's uncased vocabulary, such that the sum of a sentence's rows points where all-MiniLM-L6-v2
puts the sentence (Model2Vec, Tulkens and van Dongen, 2024, distils single tokens; here the rows are fitted to sentences,
as "tokenlearn" does). Steps, each kept in the work folder and not done again:

    text     sentences of packages with free licences (tools/static_text.py names them and their licences)
    vectors  of the official weights, float32, one sentence at a time in length-sorted batches
    space    the 256 directions that hold most of the vectors' scalar products (eigenvectors of V'V)
    start    row = the token's own vector in that space, less for frequent tokens (Arora et al., 2017: a / (a + p))
    fit      Adam on the rows, 1 - cosine between a sentence's sum and its vector, sentences of six words and more; the last
             2,000 are held out
    store    int8 rows with one float32 scale each

Deterministic: the same vectors give the same file. Needs scipy, the [cpu] extra and, for the text, lxml, apt-get, pip and
npm. Takes about an hour on two cores, most of it for the vectors.

    python tools/make_static_encoder.py WORK_FOLDER [--sentences N]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import struct
from pathlib import Path

import numpy as np
import static_text
from rapidchunk._wordpiece import default_wordpiece
from rapidchunk.encoders import OnnxEncoder
from scipy import sparse

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "python/rapidchunk/data/static.safetensors"
DIMENSION, HELD_OUT, SEED = 256, 2000, 7
# Chosen by the cosine to MiniLM's vectors on text of other sources (sentences of SQuAD's and Chroma's documents: 0.818 and
# 0.768; with shorter phrases and a rate of 0.25: 0.816 and 0.768).
LEAST_WORDS, FREQUENT = 6, 1e-4
PART = 4096


def text(work: Path, words: list[str]) -> list[str]:
    """The training sentences, in an order that does not change."""
    file = work / "sentences.json"
    if not file.exists():
        found = static_text.sentences(work / "packages", words)
        file.write_text(json.dumps(found), "utf-8")
    loaded: list[str] = json.loads(file.read_text("utf-8"))
    return loaded


def vectors(work: Path, name: str, texts: list[str]) -> np.ndarray:
    """float32 [n, 384], kept as float16 in parts."""
    encoder = None
    parts = []
    for number, begin in enumerate(range(0, len(texts), PART)):
        file = work / f"{name}{number:04d}.npy"
        if not file.exists():
            encoder = encoder or OnnxEncoder("minilm")
            found = encoder.encode(texts[begin : begin + PART]).astype(np.float16)
            np.save(file.with_suffix(".tmp.npy"), found)
            os.replace(file.with_suffix(".tmp.npy"), file)
            print(f"{name}: {begin + len(found):,} of {len(texts):,}", flush=True)
        parts.append(np.load(file))
    return np.concatenate(parts).astype(np.float32)


def counts(texts: list[str], size: int) -> sparse.csr_matrix:
    """How often each token is in each text: float32 [texts, tokens]."""
    ids, _, _, _, offsets = default_wordpiece().encode([one.encode() for one in texts], os.cpu_count() or 1)
    matrix = sparse.csr_matrix((np.ones(len(ids), np.float32), ids, offsets), shape=(len(texts), size))
    matrix.sum_duplicates()
    return matrix


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9)


def fit(bags: sparse.csr_matrix, wanted: np.ndarray, rows: np.ndarray, epochs: int, rate: float) -> np.ndarray:
    """Rows whose sums over the bags point where `wanted` (unit rows) does."""
    rows = rows.astype(np.float32).copy()
    step = rate * float(np.abs(rows).mean())
    first, second = np.zeros_like(rows), np.zeros_like(rows)
    random = np.random.default_rng(SEED)
    train = bags.shape[0] - HELD_OUT
    size, done = 512, 0
    batches = train // size
    for epoch in range(epochs):
        order = random.permutation(train)
        total = 0.0
        for batch in range(batches):
            chosen = order[batch * size : (batch + 1) * size]
            bag, target = bags[chosen], wanted[chosen]
            used = np.unique(bag.indices)
            bag = bag[:, used]
            sums = bag @ rows[used]
            length = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
            direction = sums / length
            cosine = (direction * target).sum(1, keepdims=True)
            total += float(cosine.mean())
            gradient = bag.T @ ((cosine * direction - target) / length)
            done += 1
            first[used] = 0.9 * first[used] + 0.1 * gradient
            second[used] = 0.99 * second[used] + 0.01 * gradient * gradient
            left = 1 - done / (epochs * batches + 1)
            rows[used] -= step * left * first[used] / (np.sqrt(second[used]) + 1e-6)
        held = (unit(bags[train:] @ rows) * wanted[train:]).sum(1).mean()
        print(f"epoch {epoch}: cosine {total / batches:.4f}, of sentences held out {held:.4f}", flush=True)
    return rows


def quantised(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scale = np.maximum(np.abs(rows).max(axis=1), 1e-12) / 127
    return np.rint(rows / scale[:, None]).astype(np.int8), scale.astype(np.float32)


def write(path: Path, tensors: dict[str, np.ndarray], about: dict[str, str]) -> str:
    """A safetensors file; its SHA-256."""
    header: dict[str, object] = {"__metadata__": about}
    at = 0
    names = {np.dtype(np.int8): "I8", np.dtype(np.float32): "F32"}
    for name, tensor in tensors.items():
        place = [at, at + tensor.nbytes]
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape), "data_offsets": place}
        at += tensor.nbytes
    head = json.dumps(header, sort_keys=True).encode()
    head += b" " * (-len(head) % 8)
    data = struct.pack("<Q", len(head)) + head + b"".join(tensor.tobytes() for tensor in tensors.values())
    path.write_bytes(data)
    return hashlib.sha256(data).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=Path, help="for packages, text and vectors")
    parser.add_argument("--sentences", type=int, default=None, help="use so many, not all")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    vocabulary = default_wordpiece().vocab
    words = [word for word in vocabulary if word.isalpha() and len(word) > 1]
    sentences = text(given.work, words)[: given.sentences]
    full = vectors(given.work, "part", sentences)
    own = vectors(given.work, "token", [word.removeprefix("##") for word in vocabulary])

    moment = full.T.astype(np.float64) @ full
    space = np.linalg.eigh(moment)[1][:, ::-1][:, :DIMENSION].astype(np.float32)
    prose = np.array([len(sentence.split()) >= LEAST_WORDS for sentence in sentences])
    bags = counts([sentence for sentence, chosen in zip(sentences, prose) if chosen], len(vocabulary))
    frequency = np.asarray(bags.sum(axis=0)).ravel() + 1
    share = frequency / frequency.sum()
    start = unit(own @ space) * (FREQUENT / (FREQUENT + share))[:, None]
    rows = fit(bags, unit(full[prose] @ space), start, given.epochs, given.rate)
    special = [number for number, word in enumerate(vocabulary) if word.startswith("[") and word.endswith("]")]
    rows[special] = 0  # [UNK], [CLS], ...: nothing is known of them
    table, weights = quantised(rows)
    about = {
        "model": "all-MiniLM-L6-v2, distilled into a static table",
        "sentences": str(bags.shape[0]),
        "made by": "tools/make_static_encoder.py",
    }
    print(write(given.output, {"embeddings": table, "weights": weights}, about), given.output)


if __name__ == "__main__":
    main()
