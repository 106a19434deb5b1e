"""The promises of the design, as property tests over every strategy and many kinds of tokenizer."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest
import rapidchunk as rc
import regex
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import TEXTS, HashEncoder, byte_level, quarter, tiktoken_encoding, unigram

TOKENIZERS = {
    "words": lambda: "words",
    "chars": lambda: "chars",
    "bytes": lambda: "bytes",
    "bert": lambda: "bert",
    "byte-level": byte_level,
    "tiktoken": tiktoken_encoding,
    "unigram": unigram,
    "callable": lambda: quarter,
}


def semantic(**options):
    return rc.SemanticChunker(HashEncoder(), **options)


def semantic_greedy(**options):
    return rc.SemanticChunker(HashEncoder(), method="greedy", percentile=50, **options)


def paragraphs(**options):
    return rc.SentenceChunker(unit="paragraph", **options)


STRATEGIES = [rc.TokenChunker, rc.SentenceChunker, paragraphs, rc.RecursiveChunker, semantic, semantic_greedy]


def check_promises(chunks, texts, tokenizer, max_tokens):
    count = rc.as_tokenizer(tokenizer).count
    for number, text in enumerate(texts):
        own = chunks.of_document(number)
        covered = np.zeros(len(text), bool)
        clusters = {0, *(match.end() for match in regex.finditer(r"\X", text))}
        last = -1
        utf8 = text.encode("utf-8", "surrogatepass")
        for row in own:
            assert 0 <= row.start < row.end <= len(text)
            assert text[row.start : row.end] == row.text
            assert row.text.strip() and row.start >= last
            last = row.start
            covered[row.start : row.end] = True
            assert row.tokens == count([row.text])[0]
            # A single character may be larger than the maximum; nothing else may.
            assert row.tokens <= max_tokens or len(row.text.strip()) == 1, (row.text, row.tokens)
            for at in (row.start, row.end):
                # Only a cluster that does not fit is cut inside.
                assert at in clusters or _cluster_tokens(text, at, count) > max_tokens
        for start, end, byte_start, byte_end in zip(own.start, own.end, own.byte_start, own.byte_end):
            assert utf8[byte_start:byte_end] == text[start:end].encode("utf-8", "surrogatepass")
        lost = [i for i, c in enumerate(text) if not covered[i] and not c.isspace()]
        assert not lost, (lost[:5], text[lost[0] - 5 : lost[0] + 5])


def _cluster_tokens(text, at, count):
    """Tokens of the run that no cut may split around `at` (joiners hold on to whatever follows)."""
    start, end = at, at
    while start > 0 and not _may_cut(text, start):
        start -= 1
    while end < len(text) and (end == at or not _may_cut(text, end)):
        end += 1
    return count([text[start:end]])[0]


def _may_cut(text, at):
    from rapidchunk.kernels.reference.graphemes import is_cluster_boundary

    return is_cluster_boundary(text, at)


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.__name__)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(TEXTS, max_size=3), size=st.integers(0, 60), overlap=st.integers(0, 20), least=st.integers(0, 20))
def test_promises(strategy, name, texts, size, overlap, least):
    tokenizer = TOKENIZERS[name]()
    max_tokens = size + 8
    options = dict(
        max_tokens=max_tokens,
        overlap=min(overlap, max_tokens - 3),
        min_tokens=min(least, max_tokens),
        tokenizer=tokenizer,
    )
    chunks = strategy(**options)(texts)
    check_promises(chunks, texts, tokenizer, max_tokens)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.__name__)
@settings(max_examples=60, deadline=None)
@given(text=TEXTS, size=st.integers(8, 60), least=st.integers(1, 30))
def test_min_tokens_is_real(strategy, text, size, least):
    """Where a chunk is smaller than the minimum, joining it with a neighbour would break the maximum."""
    chunks = strategy(max_tokens=size, min_tokens=min(least, size), overlap=0, tokenizer="words")(text)
    for a, b in zip(chunks, chunks[1:] if len(chunks) else []):
        if min(a.tokens, b.tokens) < min(least, size):
            assert len(text[a.start : b.end].split()) > size


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.__name__)
@settings(max_examples=50, deadline=None)
@given(text=TEXTS, size=st.integers(8, 40), overlap=st.integers(1, 20))
def test_overlap_is_at_most_what_was_asked(strategy, text, size, overlap):
    overlap = min(overlap, size - 1)
    chunks = strategy(max_tokens=size, min_tokens=0, overlap=overlap, tokenizer="words")(text)
    for a, b in zip(chunks, chunks[1:] if len(chunks) else []):
        assert b.end > a.end
        if b.start < a.end:
            assert len(text[b.start : a.end].split()) <= overlap
            assert b.start > a.start


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.__name__)
def test_threads_pickle_and_batches_do_not_matter(strategy, monkeypatch):
    texts = ["Cats purr at night. Dogs bark loudly! " * n + "\n\nNew paragraph é文字。" for n in range(40)]
    chunker = strategy(max_tokens=30, min_tokens=5, overlap=6, tokenizer="bert")

    def columns(chunks):
        return [
            getattr(chunks, name).tolist() for name in ("document", "start", "end", "byte_start", "byte_end", "tokens")
        ]

    want = columns(chunker(texts))
    for count in ("1", "2", "7"):
        monkeypatch.setenv("RAPIDCHUNK_THREADS", count)
        assert columns(chunker(texts)) == want
    assert columns(pickle.loads(pickle.dumps(chunker))(texts)) == want
    monkeypatch.setattr("rapidchunk.chunkers.base.BATCH_BYTES", 500)
    assert columns(chunker(texts)) == want
    assert columns(chunker(iter(texts)).collect()) == want
    single = [row for text in texts for row in zip(*columns(chunker(text))[1:])]
    assert single == list(zip(*want[1:]))


def test_one_chunker_in_many_threads():
    chunker = rc.RecursiveChunker(20, tokenizer="bert")
    text = "Some words here. And others there!\n\n" * 200
    want = chunker(text).start.tolist()
    results: list[list[int]] = []

    def work():
        for _ in range(5):
            results.append(chunker(text).start.tolist())

    workers = [threading.Thread(target=work) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert results == [want] * 30
