"""MarkdownChunker: the promises over generated documents; tables, code, headings and small sections."""

from __future__ import annotations

import pickle
import re
from itertools import pairwise
from typing import Any

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_pieces import BREAKS, EXTENSIONS, PIECES
from rapidchunk import Chunks, RecursiveChunker
from rapidchunk.chunkers.markdown import MarkdownChunker


def special_counter(text: str) -> int:
    """Words, and a start and an end mark."""
    return len(text.split()) + 2


def odd_counter(text: str) -> int:
    """Not additive: a cut text has other tokens than its parts."""
    return len(re.findall(r"\s?\w{1,3}|[^\w\s]|\s", text))


def byte_level_bpe() -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(["alpha beta gamma delta | --- # text code heading \n\n"] * 20, trainer)
    return tokenizer


TOKENIZERS: list[Any] = [None, "words", "chars", "bytes", special_counter, odd_counter, byte_level_bpe()]
WORDS = [
    "alpha beta gamma. ",
    "Delta! ",
    "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n",
    "x" * 40,
    "漢字。",
    "e\u0301",
]
documents = st.lists(st.sampled_from(PIECES + EXTENSIONS + WORDS * 4 + BREAKS * 3), max_size=30).map("".join)
settings_of = st.fixed_dictionaries(
    {"max_tokens": st.integers(6, 60), "tokenizer": st.sampled_from(TOKENIZERS)},
    optional={
        "overlap": st.integers(0, 3),
        "min_tokens": st.integers(0, 6),
        "keep_headings": st.booleans(),
        "prepend_headings": st.booleans(),
        "heading_levels": st.sets(st.integers(1, 6)),
    },
)


def rows(chunks: Chunks) -> list[dict[str, Any]]:
    found = []
    for c in chunks:
        row = {"text": c.text, "start": c.start, "end": c.end, "tokens": c.tokens, "context": c.context}
        found.append({**row, "headings": list(c.metadata["headings"])})
    assert [row["context"] for row in found] == chunks.contexts()
    return found


def check_promises(text: str, chunker: MarkdownChunker) -> list[dict[str, Any]]:
    found = rows(chunker(text))
    covered = bytearray(len(text))
    largest_character = max([0, *chunker.tokenizer.count(list(set(text)) or [""]).tolist()])
    limit = max(chunker.max_tokens, largest_character)
    for c in found:
        assert text[c["start"] : c["end"]] == c["text"]
        assert c["text"].strip()
        own, context = chunker.tokenizer.count([c["text"], c["context"]]).tolist()
        assert own == c["tokens"] <= limit
        assert context <= limit
        assert c["text"] in c["context"]
        covered[c["start"] : c["end"]] = b"\1" * (c["end"] - c["start"])
    assert all(a["start"] <= b["start"] for a, b in pairwise(found))
    left = "".join(char for char, seen in zip(text, covered) if not seen and not char.isspace())
    if chunker.keep_headings:
        assert not left
    return found


@settings(max_examples=600, deadline=None)
@given(documents, settings_of)
def test_promises(text: str, options: dict[str, Any]) -> None:
    check_promises(text, MarkdownChunker(**options))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=120), settings_of)
def test_promises_on_any_text(text: str, options: dict[str, Any]) -> None:
    check_promises(text, MarkdownChunker(**options))


@settings(max_examples=200, deadline=None)
@given(documents, st.integers(2, 12))
def test_small_chunks_could_not_be_merged(text: str, least: int) -> None:
    chunker = MarkdownChunker(24, tokenizer="words", min_tokens=least)
    found = rows(chunker(text))
    plain = [c["context"] == c["text"] for c in found]
    for i, (a, b) in enumerate(pairwise(found)):
        if min(a["tokens"], b["tokens"]) < least and plain[i] and plain[i + 1]:
            assert len(text[a["start"] : b["end"]].split()) > 24


@settings(max_examples=150, deadline=None)
@given(st.lists(documents, max_size=5))
def test_batch_equals_one_by_one(texts: list[str]) -> None:
    chunker = pickle.loads(pickle.dumps(MarkdownChunker(20, 2, "words", prepend_headings=True)))
    together = chunker(texts)
    assert [rows(together.of_document(i)) for i in range(len(texts))] == [rows(chunker(text)) for text in texts]


@settings(max_examples=200, deadline=None)
@given(documents, st.booleans())
def test_within(text: str, prepend: bool) -> None:
    within = RecursiveChunker(12, 2, "words")
    check_promises(text, MarkdownChunker(16, 2, "words", within=within, prepend_headings=prepend))


TABLE = "| code | qty |\n|------|-----|\n" + "".join(f"| r{i} | {i} |\n" for i in range(12))
CODE = "```py title\n" + "".join(f"    line {i}\n" for i in range(12)) + "```\n"


def test_table_rows_stay_whole_and_have_their_header() -> None:
    found = rows(MarkdownChunker(30, tokenizer="words")("# Stock\n\n" + TABLE + "\nend\n"))
    assert found[0]["text"].startswith(
        "# Stock\n\n| code | qty |\n|------|-----|\n| r0 | 0 |\n"
    )  # heading, header, rows
    assert len(found) > 3
    for c in found[:-1]:
        assert c["context"].count("| code | qty |\n|------|-----|\n") == 1
        assert all(re.fullmatch(r"\| .* \||\|[-|]+\||# Stock|", line) for line in c["text"].split("\n"))
    assert found[-1]["text"] == "end"


def test_table_that_fits_is_whole() -> None:
    lead = "word " * 20
    found = rows(MarkdownChunker(80, tokenizer="words")(f"# A\n\n{lead}\n\n{TABLE}"))
    assert [c["text"] for c in found] == [f"# A\n\n{lead.strip()}", TABLE.strip()]


def test_code_is_cut_at_lines_and_fenced_again() -> None:
    found = rows(MarkdownChunker(14, tokenizer="words")("# A\n\nText.\n\n" + CODE + "\nend\n"))
    pieces = [c for c in found if "line" in c["text"]]
    assert len(pieces) > 2
    for c in pieces:
        assert c["context"].startswith("```py title\n") and c["context"].endswith("\n```")
        assert c["context"].count("```") == 2
    assert "".join(c["text"] + "\n" for c in pieces) == CODE  # indentation is kept
    whole = rows(MarkdownChunker(60, tokenizer="words")("x\n\n" + CODE))
    assert whole[0]["context"] == whole[0]["text"]


def test_row_longer_than_the_maximum() -> None:
    text = "| a | b |\n|---|---|\n| " + "w " * 50 + "| 1 |\n| 2 | 3 |\n"
    found = check_promises(text, MarkdownChunker(12, tokenizer="words"))
    assert any("| 2 | 3 |" in c["text"] for c in found)


def test_header_is_repeated_though_its_first_row_is_too_long() -> None:
    text = "| a | b |\n|---|---|\n| " + "w " * 12 + "| 1 |\n| 2 | 3 |\n"
    found = check_promises(text, MarkdownChunker(16, tokenizer="words"))
    assert [c["context"].count("| a | b |\n|---|---|") for c in found] == [1] * len(found)


def test_wide_delimiter_row_is_short_in_contexts() -> None:
    # Every dash is a token to BERT: the header as it is would take more than half of a chunk.
    text = f"| code | qty |\n|{'-' * 60}|{'-' * 20}:|\n" + "".join(f"| r{i} | {i} |\n" for i in range(40))
    found = check_promises(text, MarkdownChunker(128))
    assert len(found) > 2
    for c in found[1:]:
        assert c["context"] == "| code | qty |\n|---|---:|\n" + c["text"]


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("```py", "```"),
        ("- ~~~~", "  ~~~~"),
        ("> 1. ```py", ">    ```"),
        ("``` ~~~", "```"),
        ("~~~ ```", "~~~"),
    ],
)
def test_code_in_containers_is_fenced_again(opening: str, closing: str) -> None:
    indent = closing.rstrip("`~")
    text = f"{opening}\n" + "".join(f"{indent}line = {i}\n" for i in range(20)) + f"{closing}\n"
    found = check_promises(text, MarkdownChunker(64, tokenizer="chars"))
    assert len(found) > 3
    for c in found:
        lines = c["context"].split("\n")
        assert (lines[0], lines[-1]) == (opening, closing)


def test_line_breaks_around_fences_are_counted() -> None:
    text = "```python\nprint('one')\nprint('two')\nprint('three')\n```"
    for most in range(30, 56):
        found = check_promises(text, MarkdownChunker(most, tokenizer="chars"))
        assert all(c["context"].startswith("```python\n") and c["context"].endswith("\n```") for c in found), most


@pytest.mark.parametrize("gap", ["", "\n", " \r\n\r\n"])
def test_byte_order_mark_is_no_chunk_before_the_first_heading(gap: str) -> None:
    found = check_promises(f"\ufeff{gap}# A\n\na\n", MarkdownChunker(50, tokenizer="words"))
    assert [(c["text"], c["headings"]) for c in found] == [(f"\ufeff{gap}# A\n\na", ["A"])]


def test_heading_path_and_context() -> None:
    text = "# Book\n\nlead\n\n## Part\n\n### Deep\n\n" + " ".join(f"w{i}" for i in range(30)) + "\n\n## Other\n\nx\n"
    found = rows(MarkdownChunker(20, tokenizer="words", prepend_headings=True)(text))
    deep = [c for c in found if "w" in c["text"] and c["headings"][-1:] == ["Deep"]]
    assert [c["headings"] for c in deep] == [["Book", "Part", "Deep"]] * len(deep)
    assert deep[0]["context"].startswith("Book\n\n## Part")  # those in the text are not repeated
    assert deep[1]["context"].startswith("Book > Part > Deep\n\nw")
    assert found[-1]["context"] == "Book\n\n## Other\n\nx"
    assert max(len(c["context"].split()) for c in found) <= 20


def test_long_heading_path_is_shortened_in_the_context_only() -> None:
    text = "# " + "long " * 30 + "\n\n## Sub\n\n" + "w " * 40
    found = rows(MarkdownChunker(12, tokenizer="words", prepend_headings=True)(text))
    assert found[-1]["context"].startswith("Sub\n\n")
    assert found[-1]["headings"] == [("long " * 30).strip(), "Sub"]


def test_keep_headings() -> None:
    text = "# A\n\ntext a\n\n## B\n\ntext b\n\n## Empty\n"
    found = rows(MarkdownChunker(50, tokenizer="words", keep_headings=False, prepend_headings=True)(text))
    assert [c["text"] for c in found] == ["text a", "text b", "## Empty"]
    assert [c["context"] for c in found] == ["A\n\ntext a", "A > B\n\ntext b", "A\n\n## Empty"]


def test_heading_levels() -> None:
    text = "# A\n\na\n\n## B\n\nb\n\n### C\n\nc\n"
    found = rows(MarkdownChunker(50, tokenizer="words", heading_levels=[1, 2])(text))
    assert [(c["text"], c["headings"]) for c in found] == [("# A\n\na", ["A"]), ("## B\n\nb\n\n### C\n\nc", ["A", "B"])]


def test_small_sections_of_one_parent_are_merged() -> None:
    text = "# A\n\na a a a a\n\n# B\n\n## C\n\nc\n\n## D\n\nd d d\n\n# E\n\ne e e e e e\n"
    found = rows(MarkdownChunker(12, tokenizer="words", min_tokens=6)(text))
    assert [c["headings"] for c in found] == [["A"], ["B"], ["E"]]  # C goes with D, though A would have room
    assert found[1]["text"] == "# B\n\n## C\n\nc\n\n## D\n\nd d d"


def test_underlined_title_in_lines() -> None:
    assert rows(MarkdownChunker(50, tokenizer="words")("Two\n lines\n===\n\nx\n"))[0]["headings"] == ["Two lines"]


@pytest.mark.parametrize(
    "options",
    [
        {"heading_levels": [0]},
        {"heading_levels": 3},
        {"heading_levels": ["1"]},
        {"within": "recursive"},
        {"within": RecursiveChunker(600, tokenizer="words")},
        {"within": RecursiveChunker(100, tokenizer="chars")},
        {"max_tokens": 0},
        {"min_tokens": 600},
        {"overlap": 512},
    ],
)
def test_bad_parameters(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        MarkdownChunker(**{"max_tokens": 512, "tokenizer": "words", **options})


@pytest.mark.parametrize(
    "text",
    [
        "# a\n\n" + "word " * 200_000,
        "# a\n" * 100_000,
        "- a\n" * 100_000,
        "| a |\n|---|\n" + "| b |\n" * 100_000,
        "```\n" + "code\n" * 100_000,
        "x" * 500_000,
        ("| a |\n|---|\n" + "| b |\n" * 40 + "\n") * 2000,
        ("# t\n\n" + "p q r. " * 60 + "\n\n") * 2000,
    ],
    ids=["words", "headings", "items", "rows", "code", "run", "tables", "sections"],
)
def test_long_documents(text: str) -> None:
    chunks = MarkdownChunker(64, 8, "words", min_tokens=8, prepend_headings=True)(text)
    assert chunks.tokens.max() <= 64
    assert sum(map(len, MarkdownChunker(64, tokenizer="words")(text).texts())) >= len("".join(text.split()))
