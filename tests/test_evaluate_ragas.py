"""The form of ragas's samples, by its documented names; and ragas itself, where it is installed, over a stand-in for a language
model (ragas comes with some 800 MB, so CI is without it)."""

import json
import re
import sys

import numpy as np
import pytest
from local_service import Server
from rapidchunk import SentenceChunker
from rapidchunk.evaluate import ragas as adapter

# The fields of ragas.SingleTurnSample (0.4.3) and their types.
FIELDS = {
    "user_input": str,
    "retrieved_contexts": list,
    "reference_contexts": list,
    "retrieved_context_ids": list,
    "response": str,
    "reference": str,
}
TEXTS = ["The harbour is deep. The keeper has a dog.", "The light is red. It burns all night."]
QUESTIONS = ["Which colour has the light?", "How deep is the harbour?"]


def rows(**options):
    chunks = SentenceChunker(8)(TEXTS)
    assert len(chunks) == 4
    return chunks, adapter.samples(chunks, QUESTIONS, [[2, 1], [1]], **options)


def test_samples_have_the_names_of_ragas():
    chunks, got = rows(
        responses=["Red.", "A dog."],
        references=["red", "deep"],
        reference_spans=[[(0, 17)], [(0, 20), (21, 42)]],
        documents=[1, 0],
    )
    for sample in got:
        assert {name: type(value) for name, value in sample.items()} == FIELDS
        assert len(sample["retrieved_contexts"]) == len(sample["retrieved_context_ids"])
    assert got[0]["retrieved_contexts"] == ["The light is red.", "The keeper has a dog."]
    assert got[0]["retrieved_context_ids"] == [chunks.chunk_ids()[2], chunks.chunk_ids()[1]]
    assert got[0]["reference_contexts"] == ["The light is red."]
    assert got[1]["reference_contexts"] == ["The harbour is deep.", "The keeper has a dog."]
    assert json.loads(json.dumps(got)) == got
    assert set(rows()[1][0]) == {"user_input", "retrieved_contexts", "retrieved_context_ids"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"responses": ["a"]}, "responses has 1 entries for 2 questions"),
        ({"reference_spans": [[], []]}, "reference_spans and documents must be given together"),
        ({"reference_spans": [[], []], "documents": [0, 2]}, "documents: question 1 is about document 2 of 2"),
        ({"reference_spans": [[(3, 2)], []], "documents": [0, 1]}, "reference_spans of question 0: span 0"),
    ],
)
def test_wrong_samples_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        rows(**options)
    with pytest.raises(ValueError, match="retrieved: question 0 has a row outside the 4 chunks"):
        adapter.samples(SentenceChunker(8)(TEXTS), ["?"], [[4]])


def test_what_evaluate_refuses(monkeypatch):
    with pytest.raises(ValueError, match="rows must not be empty"):
        adapter.evaluate([], None)
    with pytest.raises(ValueError, match="neither references nor responses"):
        adapter.evaluate(rows()[1], None)
    with pytest.raises(ValueError, match="faithfulness needs responses; row 0 has no response"):
        adapter.evaluate(rows()[1], None, ["faithfulness"])
    with pytest.raises(ValueError, match="'beauty' is not one of context_precision"):
        adapter.evaluate(rows()[1], None, ["beauty"])
    monkeypatch.setitem(sys.modules, "ragas", None)
    with pytest.raises(ImportError, match=re.escape("rapidchunk[ragas]")):
        adapter.dataset(rows()[1])


def judge(body, entry):
    """A model that finds useful or true what shares the words "red" or "deep"."""
    prompt = body["messages"][-1]["content"]
    asked = json.loads(prompt[prompt.rindex("\ninput: ") + 8 : prompt.rindex("}") + 1])
    key = re.compile("red|deep", re.I)

    def shared(one, other):
        return int(bool(set(key.findall(one.lower())) & set(key.findall(other.lower()))))

    if "statements" in asked:  # faithfulness: is each statement in the context?
        context = asked["context"]
        made = {
            "statements": [{"statement": s, "reason": "-", "verdict": shared(s, context)} for s in asked["statements"]]
        }
    elif "context" in asked and "classifications" in prompt:
        fits = shared(asked["answer"], asked["context"])
        made = {"classifications": [{"statement": asked["answer"], "reason": "-", "attributed": fits}]}
    elif "context" in asked:
        made = {"reason": "-", "verdict": shared(asked["answer"], asked["context"])}
    else:
        made = {"statements": [asked["answer"]]}
    message = {"role": "assistant", "content": json.dumps(made)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {
        "id": "1", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice], "usage": usage
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_ragas_judges_by_the_callers_model(monkeypatch):
    ragas = pytest.importorskip("ragas")
    from langchain_openai import ChatOpenAI

    monkeypatch.setenv("RAGAS_DO_NOT_TRACK", "true")
    _, given = rows(responses=["It is red.", "It is deep."], references=["It is red.", "It is deep."])
    assert isinstance(adapter.dataset(given), ragas.EvaluationDataset)
    assert adapter.dataset(given).to_list() == given  # nothing lost on the way
    server = Server(judge)
    try:
        llm = ChatOpenAI(model="stand-in", base_url=server.url, api_key="none", max_retries=0)
        got = adapter.evaluate(given, llm, show_progress=False, raise_exceptions=True)
    finally:
        server.stop()
    # The first question has the light among its contexts, first of two; the second has only the dog.
    for name in adapter.METRICS:
        assert np.allclose(got[name], [1, 0], atol=1e-6), (name, got[name])
    assert {path for _, path, _, _ in server.seen} == {"/v1/chat/completions"}
