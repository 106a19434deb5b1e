"""as_encoder around other people's encoders: what they are sent, and what is made of their answers."""

from __future__ import annotations

import asyncio
import pickle
import re
import threading
import time

import numpy as np
import pytest
from rapidchunk.encoders import WrappedEncoder, as_encoder


def by_words(texts):
    """Vectors that tell the texts apart: words and characters."""
    assert type(texts) is list and all(type(text) is str for text in texts)
    return [[len(text.split()), len(text)] for text in texts]


def unit(vectors):
    vectors = np.asarray(vectors, np.float64)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class Service:
    def encode(self, texts, batch_size=5, show_progress_bar=None):
        assert show_progress_bar is False
        return np.array(by_words(texts), np.float64)


class AsyncService:
    """A client that only works on the loop that it first saw, as those with open connections do."""

    loop = None

    async def encode(self, texts):
        here = asyncio.get_running_loop()
        self.loop = self.loop or here
        assert self.loop is here
        await asyncio.sleep(0)
        return by_words(texts)


async def coroutine(texts):
    await asyncio.sleep(0)
    return by_words(texts)


TEXTS = ["a b c", "a", "a b c d e", "", "a b", "  ", "abcdefg hi"]


@pytest.mark.parametrize("encoder", [by_words, Service(), AsyncService(), coroutine, lambda texts: coroutine(texts)])
@pytest.mark.parametrize("options", [{}, {"batch_size": 2}, {"max_batch_tokens": 4}])
def test_anything_that_encodes(encoder, options):
    wrapped = as_encoder(encoder, **options)
    assert wrapped.dimension is None and as_encoder(wrapped) is wrapped
    filled = [index for index, text in enumerate(TEXTS) if text.strip()]

    def check():
        vectors = wrapped.encode(TEXTS)
        assert vectors.dtype == np.float32 and vectors.shape == (7, 2)
        np.testing.assert_allclose(vectors[filled], unit(by_words([TEXTS[i] for i in filled])), atol=1e-6)
        assert not vectors[[3, 5]].any()

    async def inside_a_loop():
        check()

    check()
    asyncio.run(inside_a_loop())
    assert wrapped.dimension == 2


def test_what_is_sent():
    calls = []
    wrapped = as_encoder(lambda texts: calls.append(list(texts)) or by_words(texts), batch_size=3, max_batch_tokens=12)
    random = np.random.RandomState(0)
    wrapped.encode([" ".join("w" * n) for n in random.randint(0, 20, 100)])
    assert sum(map(len, calls)) > 80
    for call in calls:
        words = [len(text.split()) for text in call]
        assert min(words) > 0 and len(call) <= 3
        assert len(call) == 1 or max(words) * len(call) <= 12


@pytest.mark.parametrize(
    ("tokenizer", "count"), [("words", lambda t: len(t.split())), ("chars", len), ("bytes", lambda t: len(t.encode()))]
)
@pytest.mark.parametrize("unit_of_text", ["word ", "ä", "日本語テキスト", "longwordwithoutspaces" * 5 + " "])
def test_long_texts_are_split_whole_and_reported(tokenizer, count, unit_of_text):
    calls = []

    def encode(texts):
        calls.extend(texts)
        return [[1.0, count(text)] for text in texts]

    text = unit_of_text * 200
    report: dict = {}
    vectors = as_encoder(encode, max_length=64, tokenizer=tokenizer).encode(["ab", text, "x"], report=report)
    long = [call for call in calls if call not in ("ab", "x")]
    assert all(count(call) <= 64 for call in long)
    assert report["split"] == ([1] if count(text) > 64 else [])
    assert sorted(re.sub(r"\s", "", "".join(long))) == sorted(re.sub(r"\s", "", text))
    assert len(long) <= 2 * -(-count(text) // 64) + 1
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_parts_weigh_by_their_tokens():
    parts = []

    def encode(texts):
        parts.extend(texts)
        return [[9.0, 0.0] if text.startswith("a") else [0.0, 1.0] for text in texts]

    vector = as_encoder(encode, max_length=3).encode(["aaaaaaaaaaaa aaaaaaaaaaaa b b b"])[0]
    words = [sum(len(part.split()) for part in parts if part.startswith(letter)) for letter in "ab"]
    assert sum(words) == 5 and words[0] != words[1] and min(words) > 0
    np.testing.assert_allclose(vector, unit([words])[0], atol=1e-6)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda n: np.ones((n - 1, 4)), ["named", "3 texts", "2 vectors"]),
        (lambda n: np.ones((n + 1, 4)), ["named", "3 texts", "4 vectors"]),
        (lambda n: np.ones(n), ["named", "two-dimensional"]),
        (lambda n: np.ones((n, 2, 2)), ["named", "two-dimensional"]),
        (lambda n: [[1.0]] * (n - 1) + [[1.0, 2.0]], ["named", "numeric"]),
        (lambda n: [[1.0]] * (n - 1) + [None], ["named", "numeric"]),
        (lambda n: None, ["named"]),
        (lambda n: [["x"]] * n, ["named", "numeric"]),
        (lambda n: [[1.0], [np.nan], [1.0]], ["named", "finite", "index 1"]),
        (lambda n: [[1.0], [1.0], [np.inf]], ["named", "finite", "index 2"]),
        (lambda n: np.array([[1.0], [1.0], [1e300]]), ["named", "finite", "index 2"]),
    ],
)
def test_bad_answers_are_one_clear_error(answer, words):
    def named(texts):
        return answer(len(texts))

    with pytest.raises(ValueError) as error:
        as_encoder(named).encode(["ccc", "bb", "a"])
    assert all(word in str(error.value) for word in words)


def test_a_dimension_that_changes_is_an_error():
    wrapped = as_encoder(lambda texts: np.ones((len(texts), len(texts[0]))), batch_size=1)
    with pytest.raises(ValueError, match="encoder"):
        wrapped.encode(["a", "bb"])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.uint8])
def test_zero_and_extreme_vectors(dtype):
    big = float(np.finfo(np.float32).max) if np.dtype(dtype).itemsize == 4 and np.dtype(dtype).kind == "f" else 100
    rows = np.array([[0, 0], [big, big], [1, 0]], dtype)
    vectors = as_encoder(lambda texts: rows[[int(text) for text in texts]]).encode(["0", "1", "2"])
    np.testing.assert_allclose(vectors, [[0, 0], [0.5**0.5, 0.5**0.5], [1, 0]], atol=1e-6)


def test_without_normalising():
    wrapped = as_encoder(by_words, normalize=False, batch_size=2)
    np.testing.assert_array_equal(
        wrapped.encode(TEXTS), [by_words([text])[0] if text.strip() else [0, 0] for text in TEXTS]
    )


def test_the_answer_is_not_changed():
    kept = np.full((2, 3), 7, np.float32)
    as_encoder(lambda texts: kept).encode(["a", "b"])
    assert (kept == 7).all()


def test_progress_ends_at_the_total():
    calls = []
    as_encoder(by_words, batch_size=2).encode(TEXTS, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (7, 7) and calls == sorted(calls)


def test_a_sentence_transformers_object_is_never_sent_too_much():
    class Model:
        max_seq_length = 10

        def __init__(self):
            self.sent = []

        def tokenizer(self, text, truncation, verbose):
            return {"input_ids": [0, *text.split(), 0]}

        def encode(self, texts, show_progress_bar):
            self.sent += texts
            return by_words(texts)

    model, report = Model(), {}
    as_encoder(model).encode(["a b", "w " * 50], report=report)
    assert report["split"] == [1] and max(len(text.split()) for text in model.sent) == 8


class LangChain:
    """Methods of langchain_core.embeddings.Embeddings."""

    def embed_documents(self, texts):
        return by_words(texts)

    def embed_query(self, text):
        assert isinstance(text, str)
        return [-1.0, float(len(text))]


class LlamaIndex:
    """Methods of llama_index.core.embeddings.BaseEmbedding, which is callable too: with nodes."""

    def __call__(self, nodes, **options):
        raise AssertionError

    def get_text_embedding_batch(self, texts, show_progress=False):
        return by_words(texts)

    def get_query_embedding(self, query):
        assert isinstance(query, str)
        return [-1.0, float(len(query))]


class Prompting:
    """sentence-transformers 5: `encode` alone knows nothing of documents and questions."""

    def encode(self, texts):
        raise AssertionError

    def encode_document(self, texts, show_progress_bar=None):
        assert show_progress_bar is False
        return by_words(texts)

    def encode_query(self, texts, show_progress_bar=None):
        assert show_progress_bar is False and isinstance(texts, list)
        return [[-1.0, len(text)] for text in texts]


@pytest.mark.parametrize("encoder", [LangChain, LlamaIndex, Prompting])
def test_objects_of_other_libraries(encoder):
    wrapped = pickle.loads(pickle.dumps(as_encoder(encoder(), batch_size=2)))
    filled = [index for index, text in enumerate(TEXTS) if text.strip()]
    vectors = wrapped.encode(TEXTS)
    np.testing.assert_allclose(vectors[filled], unit(by_words([TEXTS[i] for i in filled])), atol=1e-6)
    np.testing.assert_allclose(wrapped.encode_query(["abc", "", "d"])[[0, 2]], unit([[-1, 3], [-1, 1]]), atol=1e-6)


def test_prefixes():
    sent = []
    wrapped = as_encoder(
        lambda texts: sent.extend(texts) or by_words(texts), prefix="passage: ", query_prefix="query: ", max_length=3
    )
    wrapped.encode(["a b c d", " "])
    assert max(len(part.split()) for part in sent) <= 3 and len(sent) > 1
    assert sorted(" ".join(sent).split()) == ["a", "b", "c", "d", "passage:"]
    assert any(part.startswith("passage: ") for part in sent)
    wrapped.encode_query(["a"])
    assert sent[-1] == "query: a"


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_calls_at_a_time_are_bounded(kind):
    running = most = 0
    lock = threading.Lock()

    def step(by):
        nonlocal running, most
        with lock:
            running += by
            most = max(most, running)

    def plain(texts):
        step(1)
        time.sleep(0.01)
        step(-1)
        return by_words(texts)

    async def later(texts):
        step(1)
        await asyncio.sleep(0.01)
        step(-1)
        return by_words(texts)

    texts = ["w " * (1 + n % 7) for n in range(40)]
    wrapped = as_encoder(plain if kind == "sync" else later, batch_size=2, concurrency=3)
    np.testing.assert_allclose(wrapped.encode(texts), unit(by_words(texts)), atol=1e-6)
    assert 1 < most <= 3


def test_the_first_error_ends_concurrent_calls():
    calls = []

    def encode(texts):
        calls.append(texts)
        time.sleep(0.005)
        raise KeyError("quota")

    with pytest.raises(KeyError, match="quota"):
        as_encoder(encode, batch_size=1, concurrency=2).encode([f"t{n}" for n in range(50)])
    assert len(calls) < 10


@pytest.mark.parametrize("option", ["concurrency", "batch_size", "max_batch_tokens", "max_length"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "3"])
def test_bad_options_are_named(option, value):
    with pytest.raises(ValueError, match=option):
        as_encoder(by_words, **{option: value})


def test_what_cannot_encode():
    with pytest.raises(ValueError, match="encoder"):
        as_encoder(3)
    with pytest.raises(ValueError, match="tokenizer"):
        as_encoder(by_words, tokenizer="letters")
    with pytest.raises(ValueError, match="batch_size"):
        as_encoder(WrappedEncoder(by_words), batch_size=3)
    with pytest.raises(ValueError, match="minilm"):
        as_encoder("no such thing")


def test_errors_of_the_encoder_come_through():
    async def broken(texts):
        raise KeyError("quota")

    with pytest.raises(KeyError, match="quota"):
        as_encoder(broken).encode(["a"])


def test_surrogates_and_pickle():
    wrapped = pickle.loads(pickle.dumps(as_encoder(by_words)))
    np.testing.assert_allclose(wrapped.encode(["a\ud800b"]), unit([[1, 3]]), atol=1e-6)


def test_one_huge_text_takes_linear_work():
    seen = 0

    def count(text):
        nonlocal seen
        seen += len(text)
        return len(text)

    text = "x" * 1_000_000
    as_encoder(lambda texts: np.ones((len(texts), 2)), max_length=100, tokenizer=count).encode([text])
    assert seen < 5 * len(text)
