"""Presets: the sizes that are recommended, and what "auto" makes of a document."""

from __future__ import annotations

import json

import pytest
import rapidchunk as rc

SPEC = json.dumps(
    {"openapi": "3.0.0", "info": {"title": "T", "version": "1"}, "paths": {"/a": {"get": {"summary": "A"}}}}
)
MESSAGES = json.dumps([{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}])
LAW = "Article 1 Scope\nThe parties shall agree.\n\n1.1 The seller shall deliver.\n1.2 Liability is limited pursuant to this.\n"
TEXTS = {
    "docs": "# One\n\nText one.\n\n## Two\n\nText two.\n",
    "legal": LAW,
    "paper": "Abstract\nWe show it.\n\n1. Introduction\nIt is.\n\n2 Methods\nWe did.\n\nReferences\n[1] A.\n",
    "chat": "Ada: Hello there.\nBob: Hi.\nAda: How is it going?\nBob: Fine.\n",
    "book": "CHAPTER I\n\nIt began.\n\nCHAPTER II\n\nIt ended.\n",
    "api": SPEC,
    "general": "Just a text. It has two sentences.",
}


@pytest.mark.parametrize(
    ("kind", "strategy", "max_tokens", "overlap"),
    [
        ("product", rc.SentenceChunker, (128, 256), (0, 32)),
        ("news", rc.SentenceChunker, (256, 512), (32, 64)),
        ("docs", rc.MarkdownChunker, (512, 512), (64, 128)),
        ("legal", rc.LegalChunker, (512, 1024), (128, 256)),
        ("paper", rc.PaperChunker, (256, 512), (32, 64)),
        ("chat", rc.ChatChunker, (256, 256), (0, 0)),
        ("book", rc.BookChunker, (512, 512), (64, 64)),
        ("api", rc.ApiChunker, (512, 512), (0, 0)),
    ],
)
def test_sizes(kind, strategy, max_tokens, overlap):
    chunker = rc.for_document(kind)
    assert isinstance(getattr(chunker, "within", None) or chunker, strategy)
    assert max_tokens[0] <= chunker.max_tokens <= max_tokens[1]
    assert overlap[0] <= chunker.overlap <= overlap[1]
    assert chunker.reason.startswith(kind)


@pytest.mark.parametrize("kind", TEXTS)
def test_auto_by_content(kind):
    chunker = rc.for_document("auto", TEXTS[kind])
    assert chunker.reason.startswith(f"{kind} (")
    chunks = chunker(TEXTS[kind])
    assert len(chunks) and chunks.tokens.max() <= chunker.max_tokens


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("chat", "12/03/24, 10:15 - Ada: Hi\n12/03/24, 10:16 - Bob: Yes?\n12/03/24, 10:20 - Ada: Nothing.\n"),
        ("chat", "[10:15] <ada> hi\n[10:16] <bob> yes?\n[10:17] <ada> nothing\n"),
        ("chat", "Ada  10:15 AM\nHi\n\nBob  10:16 AM\nYes?\n\nAda  10:17 AM\nNothing.\n"),
        ("chat", "user: hi\nassistant: yes?\nuser: nothing\n"),
        ("chat", json.dumps({"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "yes"}]})),
        ("book", "Jonah 1\n\nNow the word came.\n\nJonah 2\n\nThen he prayed.\n"),
        # Records, logs, style sheets and changes are no conversations.
        ("general", "Files: *\nCopyright: A\nLicense: B\n\nFiles: debian\nCopyright: C\nLicense: D\n"),
        ("general", "".join(f"Passed: test_{i}\n" for i in range(20)) + "Failed: a\nFailed: b\n"),
        ("general", "a {\n  color: red;\n  margin: 0;\n}\nb {\n  color: blue;\n  margin: 1;\n}\n"),
        ("general", "fix: a crash\nperf: faster\nfix: another\nperf: more\n"),
        ("general", "Received: a\nFrom: b\nReceived: c\nContent-Type: d\n\nmessage 1\n\nHi\n\nmessage 2\n\nHi\n"),
        # Comments are no headings.
        ("general", "# Older entries were removed.\n# They are elsewhere.\nport = 1\n\n# second\n# part\nname = 2\n"),
        # One shall makes no law of a manual.
        ("general", "1.1 Use\n\n1.2 Names\n\n1.3 More\n\n" + "It shall work. " * 3 + "It does. " * 900),
    ],
)
def test_auto_knows_what_looks_alike(kind, text):
    assert rc.for_document("auto", text).reason.split(" ")[0].rstrip(":") == kind


def test_headers_of_c_and_cpp():
    assert rc.for_document("auto", "namespace a {\nint f();\n}\n", file="a.h").language == "cpp"
    assert rc.for_document("auto", "#include <x.h>\nstruct s { int a; };\n", file="a.h").language == "c"
    assert rc.for_document("code", file="a.h").language == "c"


def test_auto_by_suffix_and_kind_of_value():
    assert rc.for_document(file="notes.md").reason.startswith("docs (suffix .md)")
    code = rc.for_document(file="src/a.py")
    assert isinstance(code, rc.CodeChunker) and code.language == "python"
    assert isinstance(rc.for_document("auto", MESSAGES), rc.ChatChunker)
    assert isinstance(rc.for_document("auto", json.loads(MESSAGES)), rc.ChatChunker)
    assert isinstance(rc.for_document("auto", "<!DOCTYPE html><p>Text.").within, rc.HtmlChunker)
    assert isinstance(rc.for_document(file="page.html").within, rc.HtmlChunker)
    assert rc.for_document(file="data.xyz").reason.startswith("general")
    assert rc.for_document("auto", "").reason.startswith("general")


@pytest.mark.parametrize("kind", ["docs", "legal", "paper", "book"])
def test_a_document_that_fits_stays_whole_and_a_larger_one_does_not(kind):
    text = TEXTS[kind]
    whole = rc.for_document(kind, tokenizer="words")([text, "", text])
    assert len(whole) == 2 and whole.texts()[0].strip() == text.strip()
    assert all(text[row.start : row.end] == row.text and row.tokens == len(text.split()) for row in whole)
    chunker = rc.for_document(kind, tokenizer="words", max_tokens=len(text.split()) - 1)
    assert len(chunker(text)) > 1 and chunker(text).tokens.max() < len(text.split())


def test_columns_of_a_whole_document():
    text = "# Head\n\n## One\n\nText one.\n\n## Two\n\nText two.\n"
    chunks = rc.for_document("docs", tokenizer="words", prepend_headings=True)(text)
    assert chunks.extra["headings"] == [("Head",)] and chunks.contexts() == chunks.texts()
    assert chunks.strategy == "markdown"


def test_overrides_and_reasons_are_not_in_ids():
    chunker = rc.for_document("news", max_tokens=100, tokenizer="words")
    assert (chunker.max_tokens, chunker.overlap) == (100, 12)
    assert rc.for_document("news", max_tokens=100, overlap=0).overlap == 0
    direct = rc.SentenceChunker(100, 12, tokenizer="words")
    assert direct.reason == "" and direct("A b.").chunk_ids() == chunker("A b.").chunk_ids()


def test_errors():
    with pytest.raises(ValueError, match="kind"):
        rc.for_document("poem")
    with pytest.raises(ValueError, match="auto"):
        rc.for_document()
    with pytest.raises(ValueError, match="language"):
        rc.for_document("code")
    with pytest.raises(TypeError):
        rc.for_document("news", nonsense=1)
