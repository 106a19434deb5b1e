"""Encoders behind services, over local servers that speak the wire format and misbehave as they are told."""

from __future__ import annotations

import base64
import pickle
import sys

import numpy as np
import pytest
from local_service import Server
from rapidchunk.encoders import OpenAIEncoder, SIEEncoder, as_encoder

TEXTS = ["a b c", "a", "a b c d e", "", "a b", "  ", "abcdefg hi"]
FILLED = [0, 1, 2, 4, 6]


def vector_of(text: str) -> list[float]:
    return [float(len(text.split())), float(len(text)), 1.0]


def unit(texts):
    vectors = np.array([vector_of(text) for text in texts])
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def embeddings(body, what):
    """An answer of /embeddings, its vectors in reverse order."""
    rows = []
    for index, text in enumerate(body["input"]):
        values = vector_of(text)[: body.get("dimensions")]
        if body.get("encoding_format") == "base64":
            values = base64.b64encode(np.array(values, "<f4").tobytes()).decode()
        rows.append({"object": "embedding", "index": index, "embedding": values})
    rows = {"few": rows[:-1], "many": [*rows, rows[-1]], "twice": [rows[0], *rows[:-1]]}.get(what, rows)
    if what in ("no index", "bad base64"):
        for row in rows:
            del row["index"]
            row["embedding"] = "@@" if what == "bad base64" else row["embedding"]
        return {"data": rows}
    return {"object": "list", "data": rows[::-1], "model": body["model"], "usage": {"prompt_tokens": 1}}


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    running = Server(embeddings)
    yield running
    running.stop()


def of_server(server, **options):
    return OpenAIEncoder("small", base_url=server.url, **{"backoff": 0, "timeout": 5, **options})


@pytest.mark.parametrize("encoding_format", ["base64", "float", None])
@pytest.mark.parametrize("options", [{}, {"batch_size": 2}, {"concurrency": 1, "max_batch_tokens": 8}])
def test_vectors_in_the_order_of_the_texts(server, encoding_format, options):
    encoder = of_server(server, encoding_format=encoding_format, **options)
    calls: list = []
    vectors = encoder.encode(TEXTS, progress=lambda done, total: calls.append((done, total)))
    assert vectors.dtype == np.float32 and vectors.shape == (7, 3) and encoder.dimension == 3
    np.testing.assert_allclose(vectors[FILLED], unit([TEXTS[at] for at in FILLED]), atol=1e-6)
    assert not vectors[[3, 5]].any() and calls == sorted(calls) and calls[-1] == (7, 7)
    for _, path, _, body in server.seen:
        assert path == "/v1/embeddings" and body["model"] == "small" and all(text.strip() for text in body["input"])
        assert body.get("encoding_format") == encoding_format and "dimensions" not in body
        assert len(body["input"]) <= options.get("batch_size", 32)
        size = len(body["input"]) * max(map(len, body["input"]))  # in bytes, the tokens of this encoder
        assert len(body["input"]) == 1 or size <= options.get("max_batch_tokens", 999)


def test_what_a_request_carries(server, monkeypatch):
    encoder = of_server(
        server, api_key="secret", dimensions=2, options={"user": "x"}, query_options={"kind": "q"},
        prefix="passage: ", query_prefix="query: ",
    )  # fmt: skip
    assert encoder.encode(["one"]).shape == (1, 2) and encoder.encode_query(["two"]).shape == (1, 2)
    (_, _, headers, first), (_, _, _, second) = server.seen
    assert headers["Authorization"] == "Bearer secret" and headers["Content-Type"] == "application/json"
    assert first["input"] == ["passage: one"] and first["user"] == "x" and first["dimensions"] == 2
    assert second["input"] == ["query: two"] and second["kind"] == "q" and "user" not in second
    assert "secret" not in repr(encoder) and b"secret" not in pickle.dumps(encoder)
    again = pickle.loads(pickle.dumps(encoder))
    monkeypatch.setenv("OPENAI_API_KEY", "other")
    np.testing.assert_array_equal(again.encode(["one"]), encoder.encode(["one"]))
    assert server.seen[2][2]["Authorization"] == "Bearer other"


def test_by_name_from_the_environment(server, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/")
    monkeypatch.setenv("OPENAI_API_KEY", "from the environment")
    encoder = as_encoder("openai:small", batch_size=3)
    assert encoder.encode(TEXTS).shape == (7, 3) and len(server.seen) == 2
    assert server.seen[0][2]["Authorization"] == "Bearer from the environment"
    assert as_encoder(encoder) is encoder


def test_on_the_command_line(server, monkeypatch, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    from rapidchunk.cli import main

    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    (tmp_path / "a.txt").write_text("One boat lay at the pier. Nobody was on board of it.\n\nThe light burns.\n")
    output = str(tmp_path / "a.parquet")
    options = ["--encoder", "openai:small", "--strategy", "sentence", "--max-tokens", "12"]
    assert main(["index", str(tmp_path / "a.txt"), "-o", output, *options]) == 0
    assert main(["search", output, "light", "-k", "1"]) == 0
    assert len(server.seen) == 2 and server.seen[1][3]["input"] == ["light"]
    assert "vectors of 3 values" in capsys.readouterr().err


@pytest.mark.parametrize("concurrency", [1, 3])
def test_requests_at_a_time_are_bounded(server, concurrency):
    server.pause = 0.02
    texts = [f"text {n}" for n in range(24)]
    vectors = of_server(server, batch_size=2, concurrency=concurrency).encode(texts)
    np.testing.assert_allclose(vectors, unit(texts), atol=1e-6)
    assert server.most == concurrency and len(server.seen) == 12


@pytest.mark.parametrize(
    "trouble",
    [500, 503, 429, 408, ("after", 0.2), ("after", "date"), "drop", "truncated", "short", "hang", "bad base64"],
)
def test_trouble_that_passes_is_tried_again(server, trouble):
    server.script = [trouble, "good"]
    encoder = of_server(server, timeout=0.3 if trouble == "hang" else 5)
    np.testing.assert_allclose(encoder.encode(["a b"]), unit(["a b"]), atol=1e-6)
    assert len(server.seen) == 2
    if isinstance(trouble, tuple):  # Retry-After is a lower bound; dates have whole seconds
        assert server.seen[1][0] - server.seen[0][0] >= (0.9 if trouble[1] == "date" else 0.2)


def test_a_rate_limit_holds_back_all_requests(server):
    """One request is told to wait: those that have not been sent yet wait with it."""
    server.script = [("after", 0.4), "good"]
    server.pause = 0.02
    of_server(server, batch_size=1, concurrency=2).encode([f"text {n}" for n in range(8)])
    begun = server.seen[0][0]
    early = [at for at, *_ in server.seen if at - begun < 0.4]
    assert len(early) <= 4 and len(server.seen) == 9


def test_trouble_that_stays_is_an_error(server):
    server.script = [503]
    with pytest.raises(RuntimeError, match=r"/v1/embeddings failed 3 times.*503: oops"):
        of_server(server, retries=2).encode(["a"])
    assert len(server.seen) == 3


@pytest.mark.parametrize(("status", "words"), [(401, "401: oops"), (400, "400"), ("redirect", "302")])
def test_a_refusal_is_an_error_at_once(server, status, words):
    server.script = [status]
    server.pause = 0.01
    with pytest.raises(RuntimeError, match=words):
        of_server(server, batch_size=1).encode([f"text {n}" for n in range(40)])
    assert len(server.seen) < 40 and all(path == "/v1/embeddings" for _, path, _, _ in server.seen)


@pytest.mark.parametrize(
    ("answer", "words"),
    [("few", ["small at", "2 vectors", "3 texts"]), ("many", ["4 vectors"]), ("twice", ["small at", "indexes"])],
)
def test_answers_with_other_vectors_are_refused(server, answer, words):
    server.script = [answer]
    with pytest.raises(ValueError) as error:
        of_server(server).encode(["a", "b", "c"])
    assert all(word in str(error.value) for word in words) and len(server.seen) == 1


def test_services_without_index_keep_the_order(server):
    server.script = ["no index"]
    np.testing.assert_allclose(of_server(server).encode(TEXTS)[FILLED], unit([TEXTS[at] for at in FILLED]), atol=1e-6)


def test_long_texts_are_split_and_averaged(server):
    report: dict = {}
    vectors = of_server(server, max_length=3, tokenizer="words").encode(["x", "a b c d e f"], report=report)
    sent = [text.strip() for _, _, _, body in server.seen for text in body["input"]]
    assert report["split"] == [1] and sorted(sent) == ["a b", "c d", "e f", "x"]
    mean = 2 * unit(["a b "])[0] + unit(["e f"])[0]  # parts weigh alike, each with length 1
    np.testing.assert_allclose(vectors[1], mean / np.linalg.norm(mean), atol=1e-6)
    assert OpenAIEncoder("text-embedding-3-small").max_length == 8191


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"model": ""}, "model"),
        ({"base_url": "ftp://x"}, "base_url"),
        ({"dimensions": 0}, "dimensions"),
        ({"encoding_format": "hex"}, "encoding_format"),
        ({"batch_size": 0}, "batch_size"),
        ({"concurrency": 0}, "concurrency"),
        ({"retries": -1}, "retries"),
        ({"backoff": float("inf")}, "backoff"),
        ({"timeout": 0}, "timeout"),
        ({"max_length": True}, "max_length"),
        ({"tokenizer": "letters"}, "tokenizer"),
    ],
)
def test_bad_arguments_are_named(options, name):
    with pytest.raises(ValueError, match=name):
        OpenAIEncoder(**{"model": "m", "base_url": "http://x", **options})


class SIEClient:
    """Shaped as sie_sdk.SIEClient: items and results are dicts, "dense" an array."""

    def __init__(self):
        self.calls = []

    def encode(self, model, items, *, is_query=None, gpu=None):
        self.calls.append((model, items, is_query, gpu))
        return [{"dense": np.array(vector_of(item["text"]), np.float16), "id": "x"} for item in items]


class AsyncSIEClient(SIEClient):
    async def encode(self, model, items, **options):
        return super().encode(model, items, **options)


@pytest.mark.parametrize("client", [SIEClient, AsyncSIEClient])
def test_sie(client):
    client = client()
    encoder = SIEEncoder("org/model", client, batch_size=2, options={"gpu": "l4"})
    np.testing.assert_allclose(encoder.encode(TEXTS)[FILLED], unit([TEXTS[at] for at in FILLED]), atol=1e-3)
    assert len(client.calls) == 3
    assert all(model == "org/model" and gpu == "l4" and asks is None for model, _, asks, gpu in client.calls)
    assert all(set(item) == {"text"} for _, items, _, _ in client.calls for item in items)
    assert encoder.encode_query(["a"]).shape == (1, 3) and client.calls[-1][2] is True


def test_sie_without_dense_vectors_and_without_the_package(monkeypatch):
    class Sparse:
        def encode(self, model, items):
            return [{"sparse": 1}] * len(items)

    with pytest.raises(ValueError, match=r"org/model.*dense.*sparse"):
        SIEEncoder("org/model", Sparse()).encode(["a"])
    with pytest.raises(ValueError, match="client"):
        SIEEncoder("m", 3)
    with pytest.raises(ValueError, match="base_url"):
        SIEEncoder("m", SIEClient(), base_url="http://x")
    monkeypatch.setitem(sys.modules, "sie_sdk", None)
    with pytest.raises(ImportError, match=r"rapidchunk\[sie\]"):
        as_encoder("sie:m").encode(["a"])
