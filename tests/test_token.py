"""TokenChunker: windows, tails, words."""

from __future__ import annotations

import pytest
import rapidchunk as rc

TEXT = " ".join(f"w{i}" for i in range(25))


def words(chunks):
    return [row.text.split() for row in chunks]


def test_windows_and_stride():
    assert [(len(w), w[0]) for w in words(rc.TokenChunker(10, 4, "words")(TEXT))] == [
        (10, "w0"),
        (10, "w6"),
        (10, "w12"),
        (7, "w18"),
    ]


@pytest.mark.parametrize(("tail", "sizes"), [("keep", [10, 10, 5]), ("drop", [10, 10]), ("join", [10, 8, 7])])
def test_a_last_window_below_the_minimum(tail, sizes):
    chunker = rc.TokenChunker(10, 0, "words", min_tokens=7, tail=tail)
    assert [len(w) for w in words(chunker(TEXT))] == sizes
    assert [len(w) for w in words(chunker([TEXT, "one two", ""]))] == sizes + ([] if tail == "drop" else [2])


def test_words_are_not_cut():
    text = "internationalisation of the unbelievably antidisestablishmentarian neighbourhood " * 30
    for row in rc.TokenChunker(16, 4)(text):
        assert row.start == 0 or text[row.start - 1] == " "
        assert row.end == len(text) or text[row.end] == " "
    snapped = rc.TokenChunker(30, 0, "chars", snap_to_words=True)(text)
    assert all(text[row.end : row.end + 1] in ("", " ") for row in snapped)


def test_bad_tail_is_named():
    with pytest.raises(ValueError, match="tail"):
        rc.TokenChunker(tail="cut")
