"""ChatChunker: turns, speakers, times, messages."""

from __future__ import annotations

import json

import pytest
import rapidchunk as rc
from rapidchunk.chunkers.turn_sections import TurnSections
from rapidchunk.chunkers.turns import Turn, transcript_turns


def turns(text):
    """(speaker, time, first line) of every turn."""
    return [
        (turn.speaker, turn.time, text[start:end].strip().split("\n")[0]) for start, end, turn in transcript_turns(text)
    ]


@pytest.mark.parametrize(
    ("line", "speaker", "time"),
    [
        ("Ada: hi", "Ada", None),
        ("[10:00] Ada: hi", "Ada", "10:00"),
        ("10:00:05 Ada Lovelace: hi", "Ada Lovelace", "10:00:05"),
        ("Ada (10:00 PM): hi", "Ada", "10:00 PM"),
        ("12/03/2024, 10:15 - Ada: hi", "Ada", "12/03/2024, 10:15"),
        ("[2024-03-12T10:15:00Z] ada: hi", "ada", "2024-03-12T10:15:00Z"),
        ("[10:00] <ada> hi", "ada", "10:00"),
        ("Dr. van Dyke: hi", "Dr. van Dyke", None),
        ("[12.03.24, 10:16:01] ~ Bob: hi", "Bob", "12.03.24, 10:16:01"),
        ("**Ada:** hi", "Ada", None),
        ("**Ada**: hi", "Ada", None),
        ("花子：こんにちは", "花子", None),
    ],
)
def test_lines_that_begin_a_turn(line, speaker, time):
    (row,) = rc.ChatChunker(tokenizer="words")(line)
    assert (row.metadata["speaker"], row.metadata["time_start"]) == (speaker, time)


@pytest.mark.parametrize("line", ["Note: hi", "see http://a.org: x", "we said this: no", "10:30: x", "The end. Ada: x"])
def test_colons_that_begin_no_turn(line):
    (row,) = rc.ChatChunker(tokenizer="words")(line)
    assert row.metadata["speaker"] is None


def test_a_colon_inside_a_turn_is_text():  # B297: x_speakers
    text = "Ann: the rule is simple. Note: never run it twice. Time: 10:30.\nBen: ok\n"
    (row,) = rc.ChatChunker(50, tokenizer="words")(text)
    assert row.metadata["speakers"] == ["Ann", "Ben"]
    assert row.metadata["speaker"] is None


def test_names_on_a_line_of_their_own():
    slack = "Ada Lovelace  10:15 AM\nCan you look?\nUpdate: it works\n\nBob  10:17 AM\nSure.\n"
    assert turns(slack) == [
        ("Ada Lovelace", "10:15 AM", "Ada Lovelace  10:15 AM"),
        ("Bob", "10:17 AM", "Bob  10:17 AM"),
    ]
    discord = "Ada — Today at 10:15\nHello\nBob — 03/12/2024 10:17\nHi\n"
    assert [turn[:2] for turn in turns(discord)] == [("Ada", "10:15"), ("Bob", "03/12/2024 10:17")]
    # One such line among names with colons is text.
    assert [turn[0] for turn in turns("Ada: the plan:\nLunch   12:30\nBob: ok\n")] == ["Ada", "Bob"]


def test_events_are_nobodys_turn():
    irc = "[10:15] <ada> hello\n[10:16] * carol joins\n[10:17] <ada> hi\n"
    assert [turn[:2] for turn in turns(irc)] == [("ada", "10:15"), (None, "10:16"), ("ada", "10:17")]
    whatsapp = "12/03/24, 18:00 - Ada: late\n12/03/24, 18:01 - Bob left\n"
    assert [turn[:2] for turn in turns(whatsapp)] == [("Ada", "12/03/24, 18:00"), (None, "12/03/24, 18:01")]
    assert [turn[0] for turn in turns("Ada: see\n[10:16] a line of the log\n")] == ["Ada"]


def test_subtitles():
    vtt = "WEBVTT\n\n1\n00:00:01.000 --> 00:00:04.000\nAda: Welcome.\n\n00:00:05.000 --> 00:00:09.000\n<v Bob>Thanks.</v>\n"
    assert turns(vtt) == [
        (None, None, "WEBVTT"),
        ("Ada", "00:00:01.000", "1"),
        ("Bob", "00:00:05.000", "00:00:05.000 --> 00:00:09.000"),
    ]
    srt = "1\n00:00:01,000 --> 00:00:02,000\nno name\n\n2\n00:00:03,000 --> 00:00:04,000\nmore\n"
    assert [turn[:2] for turn in turns(srt)] == [(None, "00:00:01,000"), (None, "00:00:03,000")]


def test_turns_are_whole_and_pieces_of_long_ones_know_their_speaker():
    text = "Ada: one two three\nBo: four five\nmore of it\nAda: " + "word " * 40
    rows = list(rc.ChatChunker(12, tokenizer="words")(text))
    assert rows[0].text == "Ada: one two three\nBo: four five\nmore of it"
    assert all(row.metadata["speaker"] == "Ada" for row in rows[1:])
    assert rows[2].context.startswith("Ada: word")
    assert all(len(row.context.split()) <= 12 for row in rows)


def test_overlap_repeats_whole_turns():
    text = "\n".join(f"{'AB'[i % 2]}: turn {i} is here" for i in range(9))
    for options in ({"overlap_turns": 1}, {"overlap": 5}):
        chunks = rc.ChatChunker(15, tokenizer="words", **options)(text)
        spans = [(row.metadata["turn_start"], row.metadata["turn_end"]) for row in chunks]
        assert spans == [(0, 2), (2, 4), (4, 6), (6, 8)]


def test_a_gap_in_time_is_a_boundary():
    messages = [{"role": "user", "content": str(i), "timestamp": t} for i, t in enumerate([0, 60, 4000, 4010])]
    assert [c.text for c in rc.ChatChunker(max_gap=3600)([messages])] == ["user: 0\nuser: 1", "user: 2\nuser: 3"]
    text = "[23:59] A: x\n[00:01] B: y\n[02:00] A: z"  # midnight is no gap of a day
    assert [row.metadata["turn_end"] for row in rc.ChatChunker(max_gap=3600)(text)] == [1, 2]


@pytest.mark.parametrize(
    ("times", "ends"),
    [
        (("12/03/24, 23:00", "13/03/24, 00:10", "15/03/24, 00:20"), [1, 2]),
        (("3/12/24, 11:00 PM", "3/13/24, 12:10 AM", "3/15/24, 12:20 AM"), [1, 2]),
        (("2024-03-12 23:00", "2024-03-13 00:10", "2024-03-15 00:20"), [1, 2]),
        (("12.03.24, 10:00:00", "12.03.24, 10:00:09", "12.04.24, 10:00:10"), [1, 2]),
        (("99/99/24, 10:00", "99/99/24, 10:01", "99/99/24, 12:30"), [1, 2]),
    ],
)
def test_a_gap_of_days_is_a_boundary(times, ends):
    text = "\n".join(f"{time} - {name}: x" for time, name in zip(times, "ABC"))
    assert [row.metadata["turn_end"] for row in rc.ChatChunker(max_gap=2 * 3600)(text)] == ends


def test_messages_in_the_openai_shape():
    messages = [
        {"role": "system", "content": "Be kind."},
        {
            "role": "user",
            "name": "Ada",
            "content": [{"type": "text", "text": "Hi"}, {"type": "image_url", "image_url": {}}],
        },
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]},
    ]
    want = "system: Be kind.\nAda: Hi\nassistant: f({})"
    lines = "\n".join(map(json.dumps, messages))
    for given in (messages, [messages], json.dumps(messages), json.dumps({"messages": messages}), lines):
        chunks = rc.ChatChunker()(given)
        assert [row.text for row in chunks] == [want]
        assert chunks.document_text(0) == want
        assert chunks.extra["speakers"] == [["system", "Ada", "assistant"]]
    two = rc.ChatChunker()([messages, messages[:1]], ids=["a", "b"])
    assert [row.document for row in two] == ["a", "b"]


def test_messages_of_other_programs():
    def text(value):
        (row,) = rc.ChatChunker()(json.dumps(value))
        return row.text

    assert text({"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "yes"}]}) == (
        "human: hi\ngpt: yes"
    )
    parts = [
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "So."}, {"type": "text", "text": "Wait."}]},
        {"role": "assistant", "content": [{"type": "tool_use", "name": "f", "input": {"a": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "ok"}]}]},
        {"role": "assistant", "content": None, "refusal": "No."},
        {"role": "assistant", "content": None, "function_call": {"name": "g", "arguments": "{}"}},
    ]
    assert text(parts) == ('assistant: So.\nWait.\nassistant: f({"a": 1})\nuser: ok\nassistant: No.\nassistant: g({})')


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="document 1: message 0 must have a text"):
        rc.ChatChunker()([[{"content": "x"}], [{"role": "user"}]])
    with pytest.raises(ValueError, match="document 0: messages must be JSON"):
        rc.ChatChunker(format="messages")("Ada: hi")
    with pytest.raises(ValueError, match="max_gap"):
        rc.ChatChunker(max_gap=-1)
    with pytest.raises(ValueError, match="overlap_turns"):
        rc.ChatChunker(overlap=3, overlap_turns=1)
    assert [rc.ChatChunker()(nothing).documents for nothing in ("", "[]", [[]], [])] == [1, 1, 1, 0]


def test_sections_of_turns_are_made_when_asked_for():
    text = "Ada: one.\nBen: two.\n[10:16] * carol joins\nAda: three."
    turns = list(transcript_turns(text))
    sections = TurnSections(turns, None)
    assert [(s.start, s.end, s.values) for s in sections] == turns and sections[-1].context == ("Ada: ",)
    assert [s.values for s in sections[1:3]] == [turn for *_, turn in turns[1:3]]
    assert not any(s.apart for s in sections)


@pytest.mark.parametrize(("max_gap", "apart"), [(60, [0, 0, 1, 0, 1]), (0, [0, 1, 1, 0, 1]), (4000, [0, 0, 0, 0, 1])])
def test_gaps_between_turns(max_gap, apart):
    times = [0.0, 30.0, 3600.0, None, 3600.0 - 60]  # the last is of the next day
    turns = [(i, i + 1, Turn("Ada", None, seconds, i)) for i, seconds in enumerate(times)]
    assert [s.apart for s in TurnSections(turns, max_gap)] == [bool(x) for x in apart]
