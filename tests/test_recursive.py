"""RecursiveChunker: separators, regular expressions, what is kept."""

from __future__ import annotations

import re

import pytest
import rapidchunk as rc


def texts(chunks):
    return [row.text for row in chunks]


def test_the_best_separator_wins():
    text = "One is here. Two is there.\nThree is far.\n\nFour is near."
    assert texts(rc.RecursiveChunker(45, tokenizer="chars")(text)) == [
        "One is here. Two is there.\nThree is far.",
        "Four is near.",
    ]
    assert texts(rc.RecursiveChunker(30, tokenizer="chars")(text))[0] == "One is here. Two is there."


@pytest.mark.parametrize(
    ("keep", "want"),
    [(True, ["a-", "b-", "c"]), ("end", ["a-", "b-", "c"]), ("start", ["a", "-b", "-c"]), (False, list("abc"))],
)
def test_keep_separator(keep, want):
    for separators, regex in ((["-"], False), ([re.compile("-")], False), (["[-]"], True)):
        chunker = rc.RecursiveChunker(2, tokenizer="chars", separators=separators, keep_separator=keep, is_regex=regex)
        assert texts(chunker("a-b-c")) == want


def test_regular_expressions_and_groups():
    text = "Art. 1 First thing. Art. 2 Second thing. § 3 Third thing."
    chunker = rc.RecursiveChunker(
        8, tokenizer="words", separators=[(re.compile(r"(?=Art\. \d)"), re.compile(r"(?=§ \d)")), " "]
    )
    assert texts(chunker(text)) == ["Art. 1 First thing. Art. 2 Second thing.", "§ 3 Third thing."]


@pytest.mark.parametrize(
    "bad",
    [{"separators": "\n"}, {"separators": [3]}, {"separators": ["("], "is_regex": True}, {"keep_separator": "middle"}],
)
def test_bad_parameters_are_named(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        rc.RecursiveChunker(**bad)


def test_no_chunk_has_the_overlap_and_white_space_alone():
    # A callable that counts a piece higher than its share of the document; found by fuzzing the packing stage.
    chunks = rc.RecursiveChunker(2, overlap=1, tokenizer=lambda text: 1 + len(text) // 3 if text else 0)
    for text in ("b \na b    b", ". ab  \n."):
        ends = chunks(text).end.tolist()
        assert ends == sorted(set(ends))


def test_no_chunk_is_the_white_space_of_a_cluster_that_is_cut():
    text = "a \u0733b"  # a combining mark on a space
    assert rc.RecursiveChunker(1, tokenizer="chars")(text).texts() == ["a", "\u0733", "b"]
    assert rc.TokenChunker(1, overlap=0, tokenizer="chars")(text).texts() == ["a", "\u0733", "b"]
