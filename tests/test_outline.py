"""Books, contracts and papers in plain text, and pages."""

from __future__ import annotations

import pytest
import rapidchunk as rc


def paths(chunker, text):
    return [(row.text.split("\n")[-1], row.metadata["headings"]) for row in chunker(text)]


def test_a_book():
    text = (
        "The Book\n\nPART ONE\n\nCHAPTER I\n\nIt was so.\n\nCHAPTER II. The Whale\n\nChapter and verse.\nPart of it.\n\n"
        "Part Two: Sea\n\nChapter 3\n\nlast\n\nEpilogue\n\nend\n\n第三章 海\n\n水"
    )
    assert paths(rc.BookChunker(20, tokenizer="words"), text) == [
        ("The Book", ()),
        ("It was so.", ("PART ONE", "CHAPTER I")),
        ("Part of it.", ("PART ONE", "CHAPTER II. The Whale")),
        ("last", ("Part Two: Sea", "Chapter 3")),
        ("end", ("Part Two: Sea", "Epilogue")),
        ("水", ("Part Two: Sea", "第三章 海")),
    ]


def test_patterns_of_ones_own():
    chunker = rc.BookChunker(20, tokenizer="words", patterns=[(1, r"== .* =="), (2, r"= .* =")])
    assert paths(chunker, "== A ==\n\n= b =\n\nx\n\nCHAPTER I\n\ny") == [("y", ("== A ==", "= b ="))]
    for patterns in ([(0, "x")], [(1, "(")], [3]):
        with pytest.raises(ValueError, match="patterns"):
            rc.BookChunker(patterns=patterns)


def test_headings_go_with_their_text_and_into_the_context():
    text = "PART ONE\n\nCHAPTER I\n\n" + "word " * 40
    rows = list(rc.BookChunker(14, tokenizer="words")(text))
    assert rows[0].text.startswith("PART ONE\n\nCHAPTER I\n\nword")
    assert rows[1].context.startswith("PART ONE > CHAPTER I\n\nword")
    assert all(len(row.context.split()) <= 14 for row in rows)
    assert set(rc.BookChunker(14, tokenizer="words", prepend_headings=False)(text).extra["context"]) == {None}


def test_clauses():
    text = (
        "AGREEMENT\n\n1. Scope\nThis applies.\n1.1 The supplier delivers:\n(a) goods;\n(b) services, of\n  (i) one kind\n"
        "  (ii) other\n(c) more\n2. Terms\n2.1 Price. It is 3.5 times.\nARTICLE IV Law\nand 2. is no clause\n"
        "(h) eight\n(i) nine\n"
    )
    assert paths(rc.LegalChunker(20, tokenizer="words", min_tokens=0), text) == [
        ("AGREEMENT", ()),
        ("This applies.", ("1. Scope",)),
        ("1.1 The supplier delivers:", ("1. Scope", "1.1")),
        ("(a) goods;", ("1. Scope", "1.1", "(a)")),
        ("(b) services, of", ("1. Scope", "1.1", "(b)")),
        ("(i) one kind", ("1. Scope", "1.1", "(b)", "(i)")),
        ("(ii) other", ("1. Scope", "1.1", "(b)", "(ii)")),
        ("(c) more", ("1. Scope", "1.1", "(c)")),
        ("2.1 Price. It is 3.5 times.", ("2. Terms", "2.1")),
        ("and 2. is no clause", ("ARTICLE IV Law",)),
        ("(h) eight", ("ARTICLE IV Law", "(h)")),
        ("(i) nine", ("ARTICLE IV Law", "(i)")),
    ]


def test_small_clauses_join_their_siblings():
    text = "1. Scope\n1.1 one\n1.2 two\n1.3 three\n2. Terms\n2.1 " + "word " * 8
    rows = list(rc.LegalChunker(12, tokenizer="words", min_tokens=6)(text))
    assert [row.text.split("\n")[0] for row in rows] == ["1. Scope", "2. Terms"]


def test_a_paper():
    text = (
        "Title\n\nAbstract\nWe do.\n\n1 Introduction\nText.\n2 Method\n2.1 Data\nWe use\n3 sets of ten.\nII. RESULTS\nok\n"
        "A. First\nx\nReferences\n[1] y"
    )
    assert paths(rc.PaperChunker(20, tokenizer="words", min_tokens=0), text) == [
        ("Title", ()),
        ("We do.", ("Abstract",)),
        ("Text.", ("1 Introduction",)),
        ("3 sets of ten.", ("2 Method", "2.1 Data")),
        ("ok", ("II. RESULTS",)),
        ("x", ("II. RESULTS", "A. First")),
        ("[1] y", ("References",)),
    ]


@pytest.mark.parametrize("chunker", [rc.BookChunker, rc.LegalChunker, rc.PaperChunker])
def test_long_lines_in_linear_time(chunker):
    for text in (
        "1." * 200_000,
        "\n\n" * 200_000,
        "I" * 400_000,
        "\n\nCHAPTER " + "x " * 200_000,
        " " * 400_000,
        "(a" * 200_000,
    ):
        chunker(100)(text)


def test_pages():
    text = "One sentence here. The next runs\fover the break. Third one is here.\fFourth."
    rows = list(rc.PageChunker(8, tokenizer="words")(text))
    assert [(row.text, row.metadata["page_start"], row.metadata["page_end"]) for row in rows] == [
        ("One sentence here.", 1, 1),
        ("The next runs\fover the break.", 1, 2),
        ("Third one is here.\fFourth.", 2, 3),
    ]
    rows = list(rc.PageChunker(within=rc.RecursiveChunker(2, tokenizer="words"), separator="--")("a b -- c d"))
    assert [row.metadata["page_end"] for row in rows] == [1, 2, 2]
    with pytest.raises(ValueError, match="separator"):
        rc.PageChunker(separator="")
    with pytest.raises(ValueError, match="within"):
        rc.PageChunker(within="sentence")
