"""The command line as scripts see it: exit codes, streams, one line for an error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rapidchunk import __version__, strategies
from rapidchunk.cli import main

TEXT = "The first sentence is here. The second one follows it. A third closes the text.\n"


def run(*arguments: str, stdin: bytes | None = None, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "rapidchunk", *arguments],
        input=stdin,
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
    )


@pytest.fixture
def text_file(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"rapidchunk {__version__}\n"


@pytest.mark.parametrize("command", ["", "index", "search", "chunk", "view", "tune", "models"])
def test_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: rapidchunk {command}".rstrip())


def test_chunk_as_jsonl(text_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--format", "jsonl", "--tokenizer", "words", "--max-tokens", "6", "--strategy", "sentence"]
    assert main(["chunk", str(text_file), *options]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == 3 and [row["index"] for row in rows] == [0, 1, 2]
    for row in rows:
        assert row["document"] == text_file.name and row["tokens"] <= 6
        assert TEXT[row["start"] : row["end"]] == row["text"]


def test_chunk_as_text_and_colour(text_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chunk", str(text_file), "--tokenizer", "words", "--max-tokens", "6"]) == 0
    plain = capsys.readouterr().out
    assert "\x1b" not in plain and plain.count("--- ") == 3 and "The second one follows it." in plain
    text_file.write_text("An \x1b[31mescape code. And another.\n")
    assert main(["chunk", str(text_file), "--tokenizer", "words", "--format", "color"]) == 0
    colored = capsys.readouterr().out
    assert "\x1b[31m" not in colored and "\ufffd[31mescape" in colored and "\x1b[0m" in colored


# Semantic and proposition need a model, api its own kind of file.
@pytest.mark.parametrize("name", sorted(set(strategies.names()) - {"semantic", "api", "proposition"}))
def test_every_strategy_of_the_package_is_there(name: str, text_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if "encoder" in strategies.parameters(name):
        pytest.skip("needs an encoder")
    options = ["--language", "python"] if name == "code" else []
    assert main(["chunk", str(text_file), "--strategy", name, "--format", "jsonl", *options]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert "second one follows" in "".join(row["text"] for row in rows)


def test_markdown_is_chosen_by_the_suffix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n\nText one.\n\n## Sub\n\nText two.\n")
    assert main(["chunk", str(page), "--format", "jsonl", "--max-tokens", "8", "--tokenizer", "words"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows[-1]["headings"] == ["Title", "Sub"]


def test_chunk_reads_standard_input() -> None:
    done = run("chunk", "-", "--format", "jsonl", "--tokenizer", "words", "--max-tokens", "6", stdin=TEXT.encode())
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 3
    records = b'{"text": "One.", "id": "a"}\n{"text": "Two."}\n'
    done = run("chunk", "-", "--format", "jsonl", "--stdin-format", "jsonl", stdin=records)
    assert [json.loads(line)["document"] for line in done.stdout.splitlines()] == ["a", "<stdin>:2"]


def test_index_reads_standard_input(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    output = tmp_path / "out.parquet"
    done = run("index", "-", "-o", str(output), "--encoder", "none", stdin=TEXT.encode())
    assert (done.returncode, done.stdout) == (0, b"") and b"1 chunks of 1 documents" in done.stderr
    assert pq.read_table(output)["text"].to_pylist() == [TEXT.strip()]
    done = run("index", "-", "-o", str(output), "--encoder", "none", "--resume", stdin=b"")
    assert done.returncode == 2 and b"--resume" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "COMMAND"),
        (["chunk"], 2, "FILE"),
        (["chunk", "{file}", "--strategy", "nonsense"], 2, "nonsense"),
        (["chunk", "{file}", "--max-tokens", "0"], 2, "at least 1"),
        (["chunk", "{file}", "--max-tokens", "2"], 2, "max_tokens must be more than"),
        (["chunk", "{file}", "--strategy", "sentence", "--set", "percentile=3"], 2, "no option percentile"),
        (["chunk", "{file}", "--set", "nonsense=3"], 2, "no option nonsense"),
        (["chunk", "{file}", "--set", "nonsense"], 2, "OPTION=VALUE"),
        (["chunk", "{file}", "--tokenizer", "nonsense"], 2, "tokenizer"),
        (["chunk", "{file}.gone"], 1, "no such file"),
        (["index", "{file}", "-o", "{file}.parquet", "--encoder", "none", "--overlap", "9999"], 2, "overlap"),
        (["index", "{file}", "-o", "{file}.parquet", "--encoder", "none", "--strategy", "semantic"], 2, "encoder"),
        (["index", "{file}.gone", "-o", "{file}.parquet", "--encoder", "none"], 1, "no such file"),
        (["index", "{file}", "-o", "/nowhere/at/all.parquet", "--encoder", "none"], 1, "no such folder"),
        (["index", "{file}", "-o", "{folder}", "--encoder", "none"], 1, "is a folder"),
        (["index", "{file}", "-o", "{file}.parquet", "--encoder", "nonsense"], 1, "nonsense"),
        (["search", "{file}", "question"], 1, "not a Parquet file"),
        (["search", "{file}.gone", "question"], 1, "No such file"),
        (["models", "get", "nonsense"], 1, "nonsense"),
    ],
)
def test_errors_are_one_line_and_a_code(
    text_file: Path, arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    given = [a.format(file=text_file, folder=text_file.parent) for a in arguments]
    assert main(given) == code
    printed = capsys.readouterr()
    assert message in printed.err and "Traceback" not in printed.err and printed.out == ""
    if "usage:" not in printed.err:
        assert len(printed.err.splitlines()) == 1 and printed.err.startswith("rapidchunk ")
    assert [path.name for path in text_file.parent.iterdir()] == ["text.txt"]


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    long = tmp_path / "long.txt"
    long.write_text("A sentence of some words. " * 50_000)
    command = f"{sys.executable} -m rapidchunk chunk {long} --tokenizer words --max-tokens 8 | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stderr == "" and done.stdout.splitlines()[1:] == ["141"]


def test_interrupt(monkeypatch: pytest.MonkeyPatch, text_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rapidchunk.documents.find", interrupted)
    assert main(["chunk", str(text_file)]) == 130
    assert capsys.readouterr().err == "rapidchunk: interrupted\n"


def test_search_prints_place_and_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")

    class Lengths:
        """Texts of even and odd numbers of words on two axes."""

        dimension = 2

        def encode(self, texts: list[str], *, progress: Any = None, report: Any = None) -> np.ndarray:
            return np.array([[len(t.split()) % 2, 1 - len(t.split()) % 2] for t in texts], np.float32)

    for module in ("index", "search"):
        monkeypatch.setattr(f"rapidchunk.cli.{module}.as_encoder", lambda name, **options: Lengths())
    source = tmp_path / "notes.txt"
    source.write_text("One two three. \n\nFour five.\n")
    output = str(tmp_path / "out.parquet")
    options = ["--tokenizer", "words", "--max-tokens", "3", "--encoder", "stub", "-q"]
    assert main(["index", str(source), "-o", output, *options]) == 0
    assert capsys.readouterr().err == ""
    assert main(["search", output, "two words", "-k", "1"]) == 0
    shown = capsys.readouterr().out
    assert (
        f"1. {source}:3" in shown and "score 1.500" in shown and "Four five." in shown and "characters 17-27" in shown
    )
    assert main(["search", output, "two words", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["text"].strip(), row["score"]) for row in rows] == [("Four five.", 1.5), ("One two three.", 0.0)]
    assert main(["search", output, "  "]) == 1


def test_progress_bar_only_on_a_terminal() -> None:
    from io import StringIO

    from rapidchunk.cli.progress import Bar

    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    terminal, pipe = Terminal(), StringIO()
    for stream in (terminal, pipe):
        with Bar("indexing", stream) as bar:
            bar.update(50, 200, "7 chunks")
    assert "indexing  25% [" in terminal.getvalue() and "7 chunks" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K") and pipe.getvalue() == ""
