"""The page of a document's chunks: the text comes back whole, nothing of it acts, every chunk is marked."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidchunk import (
    ChatChunker,
    CodeChunker,
    HierarchicalChunker,
    MarkdownChunker,
    PageChunker,
    SemanticChunker,
    TokenChunker,
)
from rapidchunk.cli import common, main
from rapidchunk.view import page

HOSTILE = (
    "<script>document.title = 'ran'</script> <img src=x onerror=\"document.title='ran'\"> ]]> --> </style></script>"
    '</div></nav><svg onload="document.title=\'ran\'"> "\' onpointerover=alert(1) x=" &lt;b&gt; <a href=javascript:alert(1)>'
    "<iframe src=https://example.org></iframe><!-- <textarea> <title> <meta http-equiv=refresh content=0>"
)


class Parsed(HTMLParser):
    """The text of the document's element, its runs, and all tags and attributes."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self.runs, self.titles = "", [], []
        self.tags, self.names, self.values = set(), set(), []
        self._depth = 0
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.add(tag)
        self.names.update(given)
        self.values += [given[name] for name in ("src", "href") if name in given]
        if self._depth and tag == "span":
            self.runs.append([given["class"], [int(n) for n in given["data-c"].split()], len(self.text)])
            self.titles.append(given["title"])
        if given.get("id") == "text" or self._depth:
            self._depth += 1

    def handle_endtag(self, tag):
        self._depth -= bool(self._depth)

    def handle_data(self, data):
        self.text += data if self._depth else ""


def covered(parsed: Parsed, text: str) -> list[set[int]]:
    """For every character the chunks that the page gives it to."""
    cover: list[set[int]] = [set() for _ in text]
    for _, numbers, at in parsed.runs:
        following = [begin for _, _, begin in parsed.runs if begin > at]
        for place in range(at, min(following, default=len(text))):
            cover[place].update(numbers)
    return cover


@given(st.text(max_size=120), st.integers(1, 9), st.integers(0, 8))
def test_text_comes_back_and_every_chunk_is_marked(text: str, most: int, overlap: int) -> None:
    chunks = TokenChunker(max_tokens=most, overlap=min(overlap, most - 1), tokenizer="chars")(text)
    parsed = Parsed(page(chunks))
    assert parsed.text == text.replace("\0", "\ufffd")
    cover = covered(parsed, text)
    for number, chunk in enumerate(chunks):
        assert all(number in cover[place] for place in range(chunk.start, chunk.end))


def test_overlaps_are_marked() -> None:
    chunks = TokenChunker(max_tokens=6, overlap=2, tokenizer="words")(
        "one two three four five six seven eight nine ten"
    )
    parsed = Parsed(page(chunks))
    double = [run for run in parsed.runs if len(run[1]) > 1]
    assert len(double) == len(chunks) - 1 > 0
    assert all(" o p" in kind for kind, _, _ in double)
    assert not any(" o" in kind for kind, numbers, _ in parsed.runs if len(numbers) == 1)


def test_a_hostile_document_is_inert() -> None:
    source = page(TokenChunker(max_tokens=9, overlap=3)(HOSTILE), title=HOSTILE)
    parsed = Parsed(source)
    assert parsed.text == HOSTILE
    assert not parsed.tags & {"img", "iframe", "textarea", "link", "object", "embed", "base"}
    assert not {name for name in parsed.names if name.startswith("on") or name == "style"}
    assert all(value.startswith("#c") for value in parsed.values)
    assert source.count("<script>") == source.count("</script>") == 1
    assert source.count("<style>") == source.count("</style>") == 1
    assert "default-src 'none'" in source and "unsafe-inline" not in source


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium")
def test_a_hostile_document_is_inert_in_a_browser(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page(TokenChunker(max_tokens=9, overlap=3)(HOSTILE), title="plain"), "utf-8")
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-logging=stderr",
         f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=2000", "--dump-dom", file.as_uri() + "#c1"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert "<title>plain: chunks</title>" in done.stdout
    assert "CONSOLE" not in done.stderr  # no refused script or style either: the page's own match its policy
    assert Parsed(done.stdout).text == HOSTILE


def test_what_else_is_known_of_a_chunk() -> None:
    code = page(CodeChunker("python", 20)("import os\n\n\ndef f():\n    return 1\n"))
    assert (
        any("\nf\ncharacters 12 to 33, lines 4 to 5" in title for title in Parsed(code).titles)
        and 'id="text" class=mono' in code
    )
    chat = page(ChatChunker()("Ada: hi\nBob: yes\n"))
    assert any("Ada, Bob" in title for title in Parsed(chat).titles) and "class=mono" not in chat


def test_headings_pages_and_figures() -> None:
    markdown = MarkdownChunker(max_tokens=40)(
        "# Harbour <1>\n\nBoats lay there.\n\n## Pier & quay\n\nNobody was on board.\n" * 3
    )
    titles = Parsed(page(markdown)).titles
    assert any("Harbour <1> > Pier & quay" in title for title in titles)
    assert titles[0].split("\n")[0] == f"Chunk 0: {markdown.tokens[0]} tokens"
    assert f"characters {markdown.start[0]} to {markdown.end[0]}" in titles[0]
    pages = Parsed(
        page(PageChunker(max_tokens=12)("First page here.\fSecond page here. And more of it, to be cut."))
    ).titles
    assert "page" in pages[0]
    assert "<dt>strategy</dt><dd>markdown</dd>" in page(markdown)


def test_levels_show_the_finest_chunks() -> None:
    chunks = HierarchicalChunker((60, 20))("The harbour was quiet. Two boats lay at the pier. " * 12)
    finest = np.flatnonzero(chunks.extra["level"] == chunks.extra["level"].max())
    assert page(chunks).count("<li>") == len(finest) < len(chunks)


def two_topics(texts: list[str]) -> np.ndarray:
    return np.array([[1.0, 0.1] if "boat" in text else [0.1, 1.0] for text in texts], np.float32)


TOPICS = "A boat came in. The boat was red. Bread was baked. Bread was sold. "


def test_explain_agrees_with_the_chunks() -> None:
    chunker = SemanticChunker(two_topics, max_tokens=40, min_tokens=0, threshold=0.5)
    spans, similarities, cuts = chunker.explain(TOPICS)
    assert [TOPICS[a:b].strip() for a, b in spans] == [s + "." for s in TOPICS.strip(" .").split(". ")]
    assert cuts.tolist() == [1]
    np.testing.assert_allclose(similarities, [1, 0.2 / 1.01, 1], atol=1e-5)
    chunks = chunker(TOPICS)
    assert chunks.start[1:].tolist() == spans[cuts + 1, 0].tolist()
    source = page(chunks, similarity=similarities, cuts=cuts)
    assert source.count('class="cut"') == 1 and "cut after sentence 2, similarity 0.198" in source


@pytest.mark.parametrize("text", ["", "One sentence.", " \n"])
def test_explain_of_little(text: str) -> None:
    chunker = SemanticChunker(two_topics)
    spans, similarities, cuts = chunker.explain(text)
    assert len(similarities) == max(len(spans) - 1, 0) and len(cuts) == 0
    assert Parsed(page(chunker(text), similarity=similarities, cuts=cuts)).text == text


def test_arguments() -> None:
    chunks = TokenChunker()("text")
    with pytest.raises(ValueError, match="document must be"):
        page(chunks, 1)
    with pytest.raises(ValueError, match="cuts must be"):
        page(chunks, similarity=[0.5], cuts=[1])


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "topics.txt", tmp_path / "page.html"
    file.write_text(TOPICS)
    assert main(["view", str(file), "-o", str(out), "--max-tokens", "12"]) == 0
    assert Parsed(out.read_text("utf-8")).text == TOPICS
    monkeypatch.setattr(common, "as_encoder", lambda name: two_topics)
    options = ["--strategy", "semantic", "--set", "threshold=0.5", "--min-tokens", "0"]
    assert main(["view", str(file), "-o", "-", *options]) == 0
    assert len(re.findall('class="cut"', capsys.readouterr().out)) == 1
    assert main(["view", str(file), "-o", str(out), "--document", "3"]) == 2
    assert "has no document 3" in capsys.readouterr().err
