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


def test_chapters_with_their_title_below_and_books_of_one_name():
    text = "CHAPTER I\n\nLoomings\n\nCall me Ishmael.\n\nCHAPTER II.\nThe Carpet-Bag\n\nI stuffed a shirt.\n\n"
    text += "CHAPTER III\n\nHe sat.\n"
    assert paths(rc.BookChunker(20, tokenizer="words"), text) == [
        ("Call me Ishmael.", ("CHAPTER I: Loomings",)),
        ("I stuffed a shirt.", ("CHAPTER II: The Carpet-Bag",)),
        ("He sat.", ("CHAPTER III",)),
    ]
    text = "1 Kings 1\n\nNow he was old.\n\nFigure 7\n\n1 Kings 2\n\nThe days drew nigh.\n"
    assert [path for _, path in paths(rc.BookChunker(12, tokenizer="words"), text)] == [("1 Kings 1",), ("1 Kings 2",)]


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
        ("2.1 Price. It is 3.5 times.", ("2. Terms", "2.1 Price")),
        ("and 2. is no clause", ("ARTICLE IV Law",)),
        ("(h) eight", ("ARTICLE IV Law", "(h)")),
        ("(i) nine", ("ARTICLE IV Law", "(i)")),
    ]


def test_titles_of_clauses():
    text = (
        "0. Definitions.\n\nText.\n\n1. Grant of License. The licensor grants what is\nsaid here.\n\n"
        "2. You may copy verbatim copies of the work, in any medium, and\n   give them away.\n\n"
        "(a) You must retain, in the source form of any\n    work, all notices.\n\nb) Notices\n\nmore\n"
    )
    titles = [path[-1] for _, path in paths(rc.LegalChunker(40, tokenizer="words", min_tokens=0), text)]
    assert titles == ["0. Definitions", "1. Grant of License", "2", "(a)", "b) Notices"]


def test_numbers_within_sentences_begin_no_clause():
    text = (
        "1. Scope\n\nNo covered work is a measure under the article that is\n11 of the treaty, or under any part of section\n"
        "7. This requirement modifies the requirements of the clauses in\nSection 4.2, and of those that are named in\n"
        "(c) above. Write to the Foundation:\n51 Franklin Street\n\n2. Terms\n\nIt is so under the following conditions, as they "
        "stand and\n2.1 Apply here.\n"
    )
    found = paths(rc.LegalChunker(100, tokenizer="words", min_tokens=0), text)
    assert [path[-1] for _, path in found] == ["1. Scope", "2. Terms", "2.1"]


def test_articles_and_sections():
    text = "ARTICLE I\nTerms\nSection 1.1 Price.\nIt is so.\nSection 1.2 Time.\nNow.\nARTICLE II\nLaw\n"
    found = paths(rc.LegalChunker(8, tokenizer="words", min_tokens=0), text)
    assert found[1][1] == ("ARTICLE I", "Section 1.1 Price")
    assert found[-1][1] == ("ARTICLE II",)
    text = "Section 1\nGeneral rules\nArticle 1\nA word.\nArticle 2\nMore.\nSection 2\nOther rules\n"
    found = paths(rc.LegalChunker(8, tokenizer="words", min_tokens=0), text)
    assert [path for _, path in found] == [
        ("Section 1",),
        ("Section 1", "Article 1"),
        ("Section 1", "Article 2"),
        ("Section 2",),
    ]


def test_a_table_of_contents_is_text():
    text = "Format\n\n  1. Preface\n     1.1. Notices ..... 3\n  2. Blocks\n\n1. Preface\n\nTo read.\n\n1.1. Notices\n\nNone.\n\n"
    text += "2. Blocks\n\nThey are.\n"
    found = paths(rc.PaperChunker(20, tokenizer="words", min_tokens=0), text)
    assert found == [
        ("  2. Blocks", ()),
        ("To read.", ("1. Preface",)),
        ("None.", ("1. Preface", "1.1. Notices")),
        ("They are.", ("2. Blocks",)),
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
