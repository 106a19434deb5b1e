"""The quality of cuts and of retrieval does not fall: Wiki-50 and four articles of SQuAD with MiniLM vectors of their sentences
(tests/data/quality). The floors are what was measured, less a margin that a change of a few cuts stays within;
benchmarks/quality.py measures on more data."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from rapidchunk import SemanticChunker, evaluate

DATA = Path(__file__).parent / "data" / "quality"


@pytest.fixture(scope="module")
def slices():
    return json.loads(gzip.decompress((DATA / "texts.json.gz").read_bytes()))


@pytest.fixture(scope="module")
def encode(slices):
    with np.load(DATA / "vectors.npz") as stored:
        rows = stored["rows"].astype(np.float32)
    vectors = dict(zip(slices["texts"], rows / np.linalg.norm(rows, axis=1, keepdims=True)))
    return lambda texts: np.stack([vectors[text] for text in texts])


def mean_pk(slices, encode, **options):
    """In %, over Wiki-50; sentences given, no limits of size."""
    found = []
    for document in slices["wiki50"]:
        sentences = document["sentences"]
        ends = np.cumsum([len(sentence) + 1 for sentence in sentences]) - 1
        starts = np.append(0, ends[:-1] + 1)
        spans = np.stack([starts, ends], axis=1).tolist()
        chunker = SemanticChunker(encode, 1 << 30, min_tokens=0, splitter=lambda _, spans=spans: spans, **options)
        cuts = evaluate.boundaries(np.searchsorted(starts, chunker(" ".join(sentences)).start), len(sentences))
        found.append(evaluate.pk(evaluate.boundaries(document["starts"], len(sentences)), cuts))
    assert len(found) == 25
    return 100 * float(np.mean(found))


def test_segmentation_of_wiki50(slices, encode):
    default = mean_pk(slices, encode)
    assert default <= 37.5  # 36.9
    assert default < mean_pk(slices, encode, percentile=85, block=3) - 2  # 40.8
    assert default < mean_pk(slices, encode, depth=-0.5, block=5) - 2  # 41.3


def retrieved(slices, chunks, scores):
    questions = [question for article in slices["squad"] for question in article["questions"]]
    documents = [number for number, article in enumerate(slices["squad"]) for _ in article["questions"]]
    references = [question["references"] for question in questions]
    top = evaluate.top_rows(scores, 10)
    relevant = evaluate.relevant_chunks(chunks, references, documents)
    return {name: 100 * float(found.mean()) for name, found in evaluate.rank_scores(top, relevant, (1, 5, 10)).items()}


def test_retrieval_on_squad(slices, encode):
    articles = slices["squad"]
    spans = {article["text"]: article["sentences"] for article in articles}
    chunker = SemanticChunker(encode, 256, vectors="mean", sentence_vectors=True, splitter=lambda text: spans[text])
    chunks = chunker([article["text"] for article in articles])
    questions = encode([question["question"] for article in articles for question in article["questions"]])
    assert len(questions) == 110
    mean = retrieved(slices, chunks, questions @ chunks.vectors.T)
    best = retrieved(slices, chunks, np.stack([chunks.score(question) for question in questions]))
    assert mean["recall@5"] >= 86 and mean["ndcg@10"] >= 79  # 89.1, 82.0
    assert best["recall@5"] >= 93 and best["ndcg@10"] >= 83.5  # 96.4, 86.0
    sizes = evaluate.size_report(chunks, 32, 256)
    assert sizes.below_minimum == sizes.above_maximum == sizes.duplication == 0
    assert sizes.mean <= 210  # 190: more would be found in larger chunks
