"""The README's examples run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rapidchunk import Chunks, strategies

README = Path(__file__).parents[1].joinpath("README.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


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


def test_the_table_has_every_strategy() -> None:
    rows = dict(re.findall(r"^\| ([\w-]+) \| `(\w+)` \|", README, re.MULTILINE))
    assert rows == {name: cls.__name__ for name, cls in strategies.names().items()}
