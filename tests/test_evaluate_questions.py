"""Questions located in documents, and questions made by a model."""

from __future__ import annotations

import json

import pytest
from rapidchunk.evaluate.questions import locate, read_questions
from rapidchunk.evaluate.synthesis import synthesize

DOCUMENTS = {"a": "Rain fell. The creek rose. Rain fell.", "b": "The sun shone. The creek rose."}


def located(record):
    questions, problems = locate([{"question": "What?", **record}], DOCUMENTS)
    assert not problems
    (question,) = questions
    text = list(DOCUMENTS.values())[question.document]
    return list(DOCUMENTS)[question.document], [text[start:end] for start, end in question.spans]


def refused(record):
    questions, problems = locate([{"question": "What?", **record} if isinstance(record, dict) else record], DOCUMENTS)
    assert not questions and [problem.line for problem in problems] == [1]
    return problems[0].reason


def test_answers_are_found_where_they_stand():
    assert located({"answers": "The sun shone."}) == ("b", ["The sun shone."])
    assert located({"document": "a", "answers": ["The creek"]}) == ("a", ["The creek"])
    # Only document b holds both.
    assert located({"answers": ["The creek rose.", "sun"]}) == ("b", ["sun", "The creek rose."])
    assert located({"document": "a", "answers": {"text": "Rain fell.", "start": 27}}) == ("a", ["Rain fell."])
    questions, _ = locate([{"question": "?x", "document": "a", "spans": [[27, 37], [0, 4]], "id": 7}], DOCUMENTS)
    assert questions[0].spans == ((0, 4), (27, 37)) and questions[0].id == "7"
    questions, _ = locate([{"question": "?x", "document": 1, "answers": "sun"}], list(DOCUMENTS.values()))
    assert questions[0].document == 1 and questions[0].spans == ((4, 7),)


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"document": "a", "answers": "Rain fell."}, "more than once (at 0, 27)"),
        ({"answers": "The creek rose."}, "in 2 documents, 'a' and 'b'"),
        ({"answers": "Snow fell."}, "not in any document"),
        ({"document": "a", "answers": "the creek"}, "not in document 'a'"),
        ({"document": "a", "answers": {"text": "Rain fell.", "start": 1}}, "not in document 'a'"),
        ({"document": "c", "answers": "Rain"}, "no document 'c'"),
        ({"document": "a"}, '"answers" or "spans"'),
        ({"document": "a", "answers": "creek", "spans": [[0, 1]]}, '"answers" or "spans"'),
        ({"document": "a", "spans": [[0, 38]]}, "within the document's 37 characters"),
        ({"document": "a", "spans": [[4, 4]]}, "within the document's 37 characters"),
        ({"document": "a", "spans": []}, "no passage"),
        ({"document": "a", "answers": []}, "no passage"),
        ({"spans": [[0, 1]]}, 'need a "document"'),
        ({"document": "a", "answers": 3}, "must be a str or an object"),
        ({"document": "a", "answers": {"text": "Rain", "start": "0"}}, "number of characters"),
        ({"question": " ", "answers": "sun"}, '"question" must be'),
        ("sun", "must be an object"),
    ],
)
def test_what_cannot_be_used_is_reported(record, said):
    assert said in refused(record)


def test_a_file_of_questions(tmp_path):
    path = tmp_path / "q.jsonl"
    lines = ["\ufeff" + json.dumps({"question": "What shone?", "answers": ["sun"]}), "", "{oops", "[]"]
    path.write_text("\n".join(lines), encoding="utf-8")
    questions, problems = read_questions(path, DOCUMENTS)
    assert [(question.text, question.id) for question in questions] == [("What shone?", "line 1")]
    assert [problem.line for problem in problems] == [3, 4] and problems[0].reason.startswith("not JSON")


PASSAGE = "The mill was built in 1802.\nIt burnt down\nin 1850. Nobody was hurt. " + "A second mill stood until 1901."


def test_synthesis_takes_what_is_word_for_word_there_and_counts_the_rest():
    replies = {
        "good": [
            {"question": "When was the mill built?", "answer": "The mill was built in 1802."},
            {"question": "When did it burn?", "answer": '"It burnt down in 1850."'},
        ],
        "wrong": [{"question": "Who was hurt?", "answer": "The miller was hurt."}],
    }
    made = synthesize([PASSAGE], lambda prompt: "Sure:\n```json\n" + json.dumps(replies["good"]) + "\n```", 2)
    assert [record["question"] for record in made.records] == ["When was the mill built?", "When did it burn?"]
    spans = [PASSAGE[slice(*record["spans"][0])] for record in made.records]
    assert spans == ["The mill was built in 1802.", "It burnt down\nin 1850."]
    questions, problems = locate(made.records, [PASSAGE])
    assert len(questions) == 2 and not problems

    made = synthesize([PASSAGE], lambda prompt: json.dumps(replies["wrong"]), 2)
    assert (made.records, made.not_found, made.unreadable) == ([], 1, 0)
    made = synthesize([PASSAGE], lambda prompt: "I cannot do that.", 2)
    assert (made.records, made.not_found, made.unreadable) == ([], 0, 1)


def test_synthesis_asks_about_as_many_passages_as_it_needs_and_survives_failures():
    text = "\n\n".join(
        f"Paragraph {number} says that mill {number} was built in {1700 + number}." for number in range(60)
    )
    asked = []

    def llm(prompt: str) -> str:
        passage = prompt.split("Passage:\n")[1]
        asked.append(passage)
        if len(asked) == 1:
            raise TimeoutError("slow")
        return json.dumps([{"question": f"What of {passage[:12]}?", "answer": passage.strip().splitlines()[0]}])

    made = synthesize([text, "", text[: len(text) // 2]], llm, 6, per_passage=1, passage_tokens=40, concurrency=1)
    assert len(asked) == 6 == made.passages and made.failed == 1 and len(made.records) == 5
    assert {record["document"] for record in made.records} <= {0, 2}
    first = list(asked)
    asked.clear()
    synthesize([text, "", text[: len(text) // 2]], llm, 6, per_passage=1, passage_tokens=40, concurrency=1)
    assert asked == first
    with pytest.raises(RuntimeError, match=r"none of 3 requests.*slow"):
        synthesize([text], _slow, 3, per_passage=1, passage_tokens=40)
    with pytest.raises(ValueError, match="no text"):
        synthesize([" "], llm)


def _slow(prompt: str) -> str:
    raise TimeoutError("slow")
