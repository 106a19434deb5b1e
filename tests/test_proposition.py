"""Propositions, with models that answer well, badly and not at all."""

from __future__ import annotations

import asyncio
import json
import pickle

import pytest
import rapidchunk as rc
from local_service import Server
from rapidchunk.chunkers.proposition import PropositionChunker, read_reply

TEXT = "Rain fell on Monday. The creek rose. A bridge was closed."
GOOD = ["Rain fell on Monday.", "The creek rose after rain.", "A bridge over the creek was closed."]


def chunker(llm=None, **options):
    return PropositionChunker(llm, tokenizer="words", **{"backoff": 0, **options})


def check_fallback(chunks, text=TEXT):
    assert [t.strip() for t in chunks.texts()] == ["Rain fell on Monday.", "The creek rose.", "A bridge was closed."]
    assert chunks.contexts() == chunks.texts()
    assert chunks.report["fallback_passages"] == 1


def test_statements_have_the_span_of_their_sentence():
    chunks = chunker(lambda prompt: json.dumps(GOOD))([TEXT, ""])
    assert chunks.contexts() == GOOD and chunks.extra["proposition"] == GOOD
    assert [t.strip() for t in chunks.texts()] == ["Rain fell on Monday.", "The creek rose.", "A bridge was closed."]
    assert all(TEXT[row.start : row.end] == row.text for row in chunks)
    assert chunks.report["requests"] == 1 and chunks.report["uncovered_sentences"] == 0
    assert chunks.extra["passage_end"].tolist() == [len(TEXT)] * 3


def test_what_a_reply_leaves_out_is_counted_and_what_it_invents_has_the_passage():
    chunks = chunker(lambda prompt: '["The creek rose.", "Xyzzy."]')(TEXT)
    assert chunks.report["uncovered_sentences"] == 2
    assert chunks[chunks.contexts().index("Xyzzy.")].text == TEXT


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('["a b.", "c."]', ["a b.", "c."]),
        ('Sure! Here is the list [1]:\n```json\n["a b.", "c."]\n```\nAnything else?', ["a b.", "c."]),
        ('{"propositions": ["a."]}', ["a."]),
        ('[{"proposition": "a."}, {"proposition": "b."}]', ["a.", "b."]),
        ('<think>["no"]</think>["a."]', ["a."]),
        ('["a [1].", "b\nc."]', ["a [1].", "b\nc."]),
        ("Here they are:\n- a.\n* b.\n3. c.", ["a.", "b.", "c."]),
        ("a.\nb.\n", ["a.", "b."]),
        ('["a.", "b', []),
        ('["a.", x "b."]', []),
        ('["he said "no" twice."]', []),
        ('[["a."], ["b."], ', []),
        ('{"propositions": ["a."], ', []),
        ('```json\n["a.",\n "b', []),
        ("[]", []),
        ("", []),
        ("[" * 100000, []),
        ("[1, 2]", []),
        ("null", ["null"]),
    ],
)
def test_replies(reply, expected):
    assert read_reply(reply) == expected


@pytest.mark.parametrize("reply", ['["Rain fell on Monday.", x "The creek rose."]', "[]", "", '["Rain', "w " * 600])
def test_a_reply_that_fails_falls_back_to_the_sentences(reply):
    chunks = chunker(lambda prompt: reply)(TEXT)
    check_fallback(chunks)
    assert chunks.report["unreadable_replies"] == 1


def test_one_bad_reply_leaves_the_other_documents():
    """Case B310."""
    replies = {"One": '["ok one."]', "He s": '["he said "no" twice."]', "Thre": '["ok three."]'}
    texts = ["One text.", 'He said "no" twice.', "Three text."]
    chunks = chunker(lambda prompt: next(r for start, r in replies.items() if f"\n{start}" in prompt))(texts)
    assert chunks.contexts() == ["ok one.", texts[1], "ok three."]


def test_async_callable_bounded_and_inside_a_running_loop():
    running, most = 0, 0

    async def llm(prompt):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return json.dumps(GOOD)

    async def main():
        return chunker(llm, concurrency=3)([TEXT] * 12), await chunker(llm, concurrency=3).acall([TEXT])

    chunks, more = asyncio.run(main())
    assert chunks.contexts() == GOOD * 12 and more.contexts() == GOOD
    assert 1 < most <= 3


def test_callables_that_raise():
    calls = []

    def flaky(prompt):
        calls.append(prompt)
        if len(calls) < 3:
            raise TimeoutError
        return json.dumps(GOOD)

    chunks = chunker(flaky)(TEXT)
    assert chunks.contexts() == GOOD and chunks.report["retries"] == 2 and chunks.report["requests"] == 3

    def never(prompt):
        raise ConnectionError

    failed = chunker(never, retries=1)(TEXT)
    check_fallback(failed)
    assert failed.report["failed_requests"] == 1 and failed.report["requests"] == 2

    def wrong(prompt):
        raise KeyError("mistake")

    with pytest.raises(KeyError):
        chunker(wrong)(TEXT)
    with pytest.raises(ValueError, match="llm"):
        chunker(lambda prompt: 3)(TEXT)


def test_cache(tmp_path):
    calls = []

    def llm(prompt):
        calls.append(prompt)
        return json.dumps(GOOD)

    make = lambda: chunker(llm, cache=tmp_path / "replies")  # noqa: E731
    first, second = make()(TEXT), make()(TEXT)
    assert len(calls) == 1 and second.report["cached"] == 1 and second.report["requests"] == 0
    assert first.contexts() == second.contexts() and first.chunk_ids() == second.chunk_ids()
    (file,) = (tmp_path / "replies").iterdir()
    file.write_text('["bro')
    assert make()(TEXT).contexts() == GOOD and len(calls) == 2
    chunker(llm, cache=tmp_path / "replies", prompt="Other: {passage}")(TEXT)
    assert len(calls) == 3


def test_within_keeps_its_columns():
    within = rc.MarkdownChunker(50, tokenizer="words")
    chunks = chunker(lambda prompt: "[]", within=within)("# Head\n\nOne here. Two there.\n")
    assert set(chunks.extra["headings"]) == {("Head",)}
    assert "Two there." in "".join(chunks.contexts())


def test_passages_may_come_from_messages():
    messages = [{"role": "user", "content": "Müller asks. Is it so?"}, {"role": "assistant", "content": "It is."}]
    within = rc.ChatChunker(6, tokenizer="words")
    chunks = chunker(lambda prompt: "Müller asks.\nIt is.\nQuux.", within=within)([messages])
    text = chunks.document_text(0)
    assert len(chunks) == 3 * chunks.report["passages"]
    for row in chunks:
        utf8 = text.encode()[chunks.byte_start[row.index] : chunks.byte_end[row.index]]
        assert text[row.start : row.end] == row.text == utf8.decode()


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "llm"),
        ({"llm": 3}, "llm"),
        ({"llm": str, "base_url": "http://x"}, "llm"),
        ({"base_url": "ftp://x", "model": "m"}, "base_url"),
        ({"base_url": "http://x"}, "model"),
        ({"llm": str, "prompt": "no place"}, "prompt"),
        ({"llm": str, "concurrency": 0}, "concurrency"),
        ({"llm": str, "retries": -1}, "retries"),
        ({"llm": str, "timeout": 0}, "timeout"),
        ({"llm": str, "backoff": float("nan")}, "backoff"),
        ({"llm": str, "within": rc.TokenChunker(1000)}, "within"),
    ],
)
def test_parameters(options, name):
    with pytest.raises(ValueError, match=name):
        PropositionChunker(**options)


def answer(body, what):
    content = {"prose": f"Of course!\n{json.dumps(GOOD)}\nBye.", "empty": "", "cut": '["Rain fell'}
    return {
        "choices": [{"message": {"content": content.get(what, json.dumps(GOOD))}}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7},
    }


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    running = Server(answer)
    yield running
    running.stop()


def of_server(server, **options):
    return chunker(base_url=server.url, model="small", **{"timeout": 5, **options})


def test_service_request(server):
    chunks = of_server(server, api_key="secret", options={"temperature": 0})(TEXT)
    assert chunks.contexts() == GOOD
    _, path, headers, body = server.seen[0]
    assert path == "/v1/chat/completions" and headers["Authorization"] == "Bearer secret"
    assert body["model"] == "small" and body["temperature"] == 0 and TEXT in body["messages"][0]["content"]
    assert chunks.report["prompt_tokens"] == 11 and chunks.report["completion_tokens"] == 7
    mine = of_server(server, api_key="secret")
    assert "secret" not in repr(mine) and b"secret" not in pickle.dumps(mine) and "secret" not in chunks.settings


@pytest.mark.parametrize("trouble", [500, 503, ("after", 0.2), "drop", "truncated", "short", "hang"])
def test_trouble_that_passes_is_tried_again(server, trouble):
    server.script = [trouble, trouble, "good"]
    chunks = of_server(server, timeout=0.3 if trouble == "hang" else 5)(TEXT)
    assert chunks.contexts() == GOOD
    assert chunks.report["retries"] == 2 and chunks.report["fallback_passages"] == 0
    if isinstance(trouble, tuple):  # Retry-After is a lower bound
        assert server.seen[1][0] - server.seen[0][0] >= 0.2


@pytest.mark.parametrize("trouble", [500, 429, "drop", "truncated", "empty", "cut"])
def test_trouble_that_stays_falls_back(server, trouble):
    server.script = [trouble]
    chunks = of_server(server, retries=1)(TEXT)
    check_fallback(chunks)
    assert chunks.report["failed_requests"] + chunks.report["unreadable_replies"] == 1


def test_prose_around_json(server):
    server.script = ["prose"]
    assert of_server(server)(TEXT).contexts() == GOOD


def test_refusal_is_an_error(server):
    server.script = [401]
    with pytest.raises(RuntimeError, match="401: oops"):
        of_server(server)([TEXT] * 50)
    assert len(server.seen) < 50
