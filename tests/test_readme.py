"""The examples in README.md and CONTRIBUTING.md run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from rapidchunk import Chunks, strategies

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def examples(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


EXAMPLES = examples(README)


def test_ten_lines(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    names: dict[str, object] = {}
    exec(EXAMPLES[0], names)
    chunks = names["chunks"]
    assert isinstance(chunks, Chunks) and len(chunks) > 2 and chunks.ids == ["harbour", "other"]
    assert "Chunks(" in capsys.readouterr().out
    assert len([line for line in EXAMPLES[0].splitlines() if line]) <= 10


def test_splitters() -> None:
    pytest.importorskip("nltk")
    pytest.importorskip("spacy")
    exec(EXAMPLES[1], {"SentenceChunker": __import__("rapidchunk").SentenceChunker})


def test_presets_ids_and_levels(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    exec(EXAMPLES[2], names)
    assert len(names["chunks"]) == 1 and len(names["tree"]) > 2
    printed = capsys.readouterr().out
    assert printed.startswith("docs (2 Markdown headings") and "harbour.md" in printed


def test_vectors_and_scores(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    names: dict[str, Any] = {}
    exec(EXAMPLES[3], names)
    assert "Bread is baked at five." in capsys.readouterr().out and len(names["chunks"]) > 1
    assert (names["again"].score(names["encoder"].encode(["bread"])[0]) > 0).all()


def test_the_table_has_every_strategy() -> None:
    rows = dict(re.findall(r"^\| ([\w-]+) \| `(\w+)` \|", README, re.MULTILINE))
    assert rows == {name: cls.__name__ for name, cls in strategies.names().items()}


def test_a_strategy_of_ones_own() -> None:
    setup = "from typing import Any\nfrom rapidchunk import Chunker, Chunks, _core\n"
    names: dict[str, Any] = {}
    exec(setup + examples((ROOT / "CONTRIBUTING.md").read_text())[0], names)
    text = "one two\nthree four\nfive six seven eight nine\n"
    chunks = names["LineChunker"](max_tokens=4, tokenizer="words")(text)
    assert [chunk.text.split() for chunk in chunks] == [
        ["one", "two", "three", "four"],
        ["five", "six", "seven", "eight"],
        ["nine"],
    ]
