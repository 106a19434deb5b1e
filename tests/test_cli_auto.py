"""``rapidchunk index`` on a mixed folder: the right strategy for each file, and --update."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("yaml")
pytest.importorskip("selectolax")
for grammar in ("python", "cpp", "go"):
    pytest.importorskip(f"tree_sitter_{grammar}")
import pyarrow.parquet as pq  # noqa: E402
from rapidchunk import documents, strategies  # noqa: E402
from rapidchunk.cli import main  # noqa: E402
from rapidchunk.index import Indexer, Report, RunError, Settings  # noqa: E402

API = {
    "openapi": "3.0.3",
    "info": {"title": "Pets", "version": "1"},
    "paths": {"/pets": {"get": {"summary": "All pets", "responses": {"200": {"description": "a list"}}}}},
}
API_YAML = """# The pets
openapi: "3.0.3"
info: {title: Pets, version: "1"}
paths:
  /pets/{id}:
    delete:
      summary: Remove a pet
      responses: {"204": {description: gone}}
"""
CHAT = {"messages": [{"role": "user", "content": "Is it open?"}, {"role": "assistant", "content": "Until six."}]}
LEGAL = """1. Term
1.1 The tenant shall pay the rent hereby agreed.
1.2 The tenant shall not sublet pursuant to this lease.
1.3 The landlord shall repair, and liability is limited.
"""
FILES = {
    "guide.md": "# Guide\n\n## Install\n\nRun make.\n",
    "page.html": "<!doctype html><h1>Shop</h1><p>We sell &amp; buy.</p>",
    "tool.py": "import os\n\n\ndef walk(path):\n    return os.listdir(path)\n",
    "fast.cpp": "#include <cmath>\n\nint twice(int x) {\n  return 2 * x;\n}\n",
    "main.go": "package main\n\nfunc run() int {\n\treturn 1\n}\n",
    "chat.json": json.dumps(CHAT),
    "api.json": json.dumps(API, indent=1),
    "api.yaml": API_YAML,
    "values.yml": "name: test\nsize: 3\n",
    "data.json": '{"name": "no chat", "messages": 3}',
    "story.txt": "CHAPTER I\n\nIt rained.\n\nCHAPTER II\n\nIt stopped.\n",
    "lease.txt": LEGAL,
    "note.txt": "Just a few words. Nothing more.",
    "rows.jsonl": '{"text": "One record.", "tag": "x", "strategy": "mine"}\n',
}
STRATEGY = {
    "guide.md": "markdown",
    "page.html": "html",
    "tool.py": "code",
    "fast.cpp": "code",
    "main.go": "code",
    "chat.json": "chat",
    "api.json": "api",
    "api.yaml": "api",
    "values.yml": "recursive",
    "data.json": "recursive",
    "story.txt": "book",
    "lease.txt": "legal",
    "note.txt": "sentence",
    "rows.jsonl": "sentence",
}


class CountingEncoder:
    """Letter counts as vectors; keeps the texts that it was given."""

    def __init__(self, dimension: int = 26) -> None:
        self.dimension = dimension
        self.texts: list[str] = []

    def encode(self, texts: Any, *, progress: Any = None, report: Any = None) -> np.ndarray:
        self.texts.extend(texts)
        counts = [[1 + text.lower().count(chr(97 + i)) for i in range(self.dimension)] for text in texts]
        vectors = np.array(counts, np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "in"
    place.mkdir()
    for name, text in FILES.items():
        (place / name).write_text(text, encoding="utf-8", newline="")
    return place


def rows_of(output: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in pq.read_table(output).to_pylist():
        found.setdefault(os.path.basename(row["file"]), []).append(row)
    return found


def test_each_file_by_its_strategy(folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    assert main(["index", str(folder), "-o", str(output), "--encoder", "none", "--strategy", "auto", "-q"]) == 0
    rows = rows_of(output)
    assert {name: {row["strategy"] for row in found} for name, found in rows.items()} == {
        name: {strategy} for name, strategy in STRATEGY.items()
    }
    ids = [row["id"] for found in rows.values() for row in found]
    assert len(set(ids)) == len(ids) and all(len(id) == 32 for id in ids)
    assert rows["guide.md"][-1]["headings"] == ["Guide", "Install"]
    assert rows["page.html"][-1]["headings"] == ["Shop"] and "We sell & buy." in rows["page.html"][-1]["text"]
    for name, function in (("tool.py", "walk"), ("fast.cpp", "twice"), ("main.go", "run")):
        last = rows[name][-1]
        assert (last["name"], last["kind"], last["start_line"]) == (function, "function", last["line"])
        assert FILES[name].split("\n")[last["line"] - 1] == last["text"].split("\n")[0]
    assert rows["chat.json"][0]["speakers"] == ["user", "assistant"] and rows["chat.json"][0]["line"] is None
    operation = [row for row in rows["api.yaml"] if row["method"]]
    assert [(row["method"], row["path"], row["summary"]) for row in operation] == [
        ("DELETE", "/pets/{id}", "Remove a pet")
    ]
    assert any(row["method"] == "GET" and row["path"] == "/pets" for row in rows["api.json"])
    assert [row["headings"] for row in rows["story.txt"]] == [["CHAPTER I"], ["CHAPTER II"]]
    note = rows["note.txt"][0]
    assert note["speakers"] is None and note["method"] is None and note["page_start"] is None
    assert (note["start_line"], note["count"], note["level"], note["headings"], note["section"]) == (1, 1, 0, [], None)
    record = rows["rows.jsonl"][0]
    assert (record["tag"], record["strategy"], record["meta_strategy"]) == ("x", "sentence", "mine")


def test_sizes_are_those_of_the_presets_unless_given(folder: Path, tmp_path: Path) -> None:
    (folder / "note.txt").write_text("Some words of a long note. " * 200)
    (folder / "lease.txt").write_text(LEGAL + "1.4 The tenant shall pay. " * 400)

    def sizes(**options: Any) -> dict[str, list[int]]:
        output = tmp_path / "out.parquet"
        Indexer(documents.find([str(folder)]), output, Settings(options=options)).run()
        return {name: [row["tokens"] for row in found] for name, found in rows_of(output).items()}

    found = sizes()
    assert 440 < max(found["note.txt"]) <= 512 < max(found["lease.txt"]) <= 1024
    note = rows_of(tmp_path / "out.parquet")["note.txt"]
    assert all(b["start"] < a["end"] for a, b in pairwise(note))  # overlap
    assert max(max(tokens) for tokens in sizes(max_tokens=40).values()) <= 40
    sizes(overlap=0)
    note = rows_of(tmp_path / "out.parquet")["note.txt"]
    assert all(a["end"] <= b["start"] for a, b in pairwise(note))


def test_same_rows_whatever_the_batches(folder: Path, tmp_path: Path) -> None:
    tables = []
    for size in (1, 200, 1 << 20):
        output = tmp_path / f"{size}.parquet"
        Indexer(documents.find([str(folder)]), output, Settings(), batch_bytes=size).run()
        tables.append(pq.read_table(output).to_pylist())
    order = sorted(tables[0][0])
    assert [[[row[name] for name in order] for row in table] for table in tables[1:]] == [
        [[row[name] for name in order] for row in tables[0]]
    ] * 2


@pytest.mark.parametrize(
    ("name", "text"),
    [("bad.json", '{"messages": ['), ("bad.yaml", "openapi: 3.0.0\n x: [\n"), ("bad.json", '{"openapi": "3.0.0", }')],
)
def test_a_bad_file_is_named_or_left_out(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    (folder / name).write_text(text)
    output = tmp_path / "out.parquet"
    command = ["index", str(folder), "-o", str(output), "--encoder", "none"]
    assert main(command) == 1
    assert str(folder / name) in capsys.readouterr().err and not output.exists()
    assert main([*command, "--skip-errors"]) == 0
    message = capsys.readouterr().err
    assert f"left out: {folder / name}: " in message and ", 1 left out" in message
    assert set(rows_of(output)) == set(FILES)


def test_a_grammar_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert strategies.choose("a/b.GO", "x") == ("code", {"language": "go"})
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "tree_sitter_go" else object())
    assert strategies.choose("a/b.go", "x") == ("recursive", {})


CONVERSATION = [{"role": "user", "content": "Is it open?"}, {"role": "assistant", "content": "Note: yes."}]
RECORDS = [
    {"messages": CONVERSATION, "id": "talk", "topic": "hours"},
    {"page_content": "Some words.", "n": 1},
    {"question": "When?", "answer": "At nine."},
    {"role": "user", "content": "Not the first line: a text."},
]


def test_records_of_json_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, output = tmp_path / "in", tmp_path / "out.parquet"
    folder.mkdir()
    (folder / "records.jsonl").write_text("\n".join(map(json.dumps, RECORDS)))
    (folder / "talk.jsonl").write_text("\n".join(map(json.dumps, CONVERSATION)))
    command = ["index", str(folder), "-o", str(output), "--encoder", "none", "-q"]
    assert main(command) == 0
    table = pq.read_table(output).to_pylist()
    spoken = "user: Is it open?\nassistant: Note: yes."
    assert [(row["document"], row["line"], row["strategy"], row["text"]) for row in table] == [
        ("talk", 1, "chat", spoken),
        ("records.jsonl:2", 2, "sentence", "Some words."),
        ("records.jsonl:3", 3, "recursive", json.dumps(RECORDS[2])),
        ("records.jsonl:4", 4, "sentence", "Not the first line: a text."),
        ("talk.jsonl", None, "chat", spoken),
    ]
    assert table[0]["speakers"] == ["user", "assistant"] and table[0]["topic"] == "hours" and table[1]["n"] == 1
    assert main(["chunk", str(folder / "talk.jsonl"), "--format", "jsonl"]) == 0
    assert json.loads(capsys.readouterr().out)["speakers"] == ["user", "assistant"]
    assert main([*command, "--strategy", "sentence"]) == 1
    error = capsys.readouterr().err
    assert 'records.jsonl:3: a record must have a string "text" (or "messages"); it has "question", "answer"' in error
    (folder / "records.jsonl").write_text(json.dumps({"messages": [{"role": "user"}]}))
    assert main(command) == 1 and "records.jsonl:1: message 0 must have a text" in capsys.readouterr().err


def test_search_shows_where_a_chunk_is_and_what_it_is(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    (folder / "records.jsonl").write_text('{"text": "Zebras zigzag.", "id": "z1"}')
    output = str(tmp_path / "out.parquet")
    assert main(["index", folder.name, "-o", output, "--encoder", "static", "-q"]) == 0
    for question, lines in (
        (
            "DELETE pets: remove a pet",
            ["api.yaml:", "   paths > /pets/{id} > DELETE", "   DELETE /pets/{id}: Remove a pet"],
        ),
        ("zebras zigzag", ["records.jsonl:1  z1  characters 0-14", "   Zebras zigzag."]),
    ):
        capsys.readouterr()
        assert main(["search", output, question, "-k", "1"]) == 0
        shown = capsys.readouterr().out.split("\n")
        assert shown[0].startswith(f"1. {folder.name}/{lines[0]}") and shown[1 : len(lines)] == lines[1:]
        assert "api.yaml  api.yaml" not in shown[0]


def test_chunk_command_chooses_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chunk", str(folder / "tool.py"), "--format", "jsonl"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["name"] == "walk"
    assert main(["chunk", str(folder / "chat.json"), "--format", "jsonl"]) == 0
    assert json.loads(capsys.readouterr().out)["speakers"] == ["user", "assistant"]


def run(folder: Path, output: Path, stub: CountingEncoder, update: bool = True, **changes: Any) -> Report:
    settings = Settings(**{"encoder": "letters", **changes})
    return Indexer(documents.find([str(folder)]), output, settings, encoder=stub, update=update).run()


def test_update_embeds_what_changed(folder: Path, tmp_path: Path) -> None:
    output, whole = tmp_path / "out.parquet", tmp_path / "whole.parquet"
    first = CountingEncoder()
    report = run(folder, output, first)  # nothing there yet
    assert (report.embedded, report.reused) == (report.chunks, 0) and len(first.texts) == report.chunks
    again = CountingEncoder()
    report = run(folder, output, again)
    assert (report.embedded, report.reused, again.texts) == (0, report.chunks, [])

    (folder / "note.txt").unlink()
    (folder / "story.txt").write_text(FILES["story.txt"].replace("It stopped.", "It snowed."))
    (folder / "new.md").write_text("# New\n\nFresh words.\n")
    (folder / "tool.py").write_text("# moved down\n" + FILES["tool.py"])
    third = CountingEncoder()
    report = run(folder, output, third)
    assert (report.embedded, report.reused) == (len(third.texts), report.chunks - len(third.texts))
    assert any("snowed" in text for text in third.texts) and any("Fresh" in text for text in third.texts)
    assert not any("rained" in text or "def walk" in text for text in third.texts) and len(third.texts) == 3
    assert "note.txt" not in rows_of(output)
    run(folder, whole, CountingEncoder(), update=False)
    assert pq.read_table(output).equals(pq.read_table(whole))  # as if made anew, lines and positions too


def test_update_on_the_command_line(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stub = CountingEncoder()
    monkeypatch.setattr("rapidchunk.cli.index.as_encoder", lambda name, **options: stub)
    command = ["index", str(folder), "-o", str(tmp_path / "out.parquet"), "--encoder", "letters", "--update"]
    command.append("--no-sentence-vectors")
    assert main(command) == 0
    first = len(stub.texts)
    assert f", {first} embedded, 0 reused" in capsys.readouterr().err
    (folder / "note.txt").write_text("Other words.")
    assert main(command) == 0
    assert f", 1 embedded, {first - 1} reused" in capsys.readouterr().err and stub.texts[first:] == ["Other words."]


def test_update_after_other_settings(folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    run(folder, output, CountingEncoder())
    other = CountingEncoder()
    report = run(folder, output, other, encoder="other letters")
    assert report.reused == 0 and len(other.texts) == report.chunks
    shorter = CountingEncoder()
    before = set(pq.read_table(output)["text"].to_pylist())
    report = run(folder, output, shorter, encoder="other letters", options={"max_tokens": 40})
    assert 0 < len(shorter.texts) == report.embedded == report.chunks - report.reused
    assert not before & set(shorter.texts)  # what is cut as before has its vector
    assert run(folder, output, CountingEncoder(), update=False, encoder="other letters").reused == 0


def test_update_of_a_folder_that_moved(folder: Path, tmp_path: Path) -> None:
    output, moved = tmp_path / "out.parquet", tmp_path / "elsewhere"
    run(folder, output, CountingEncoder())
    ids = pq.read_table(output)["id"].to_pylist()
    folder.rename(moved)
    (moved / "story.txt").rename(moved / "tale.txt")  # another document, with the same text
    again = CountingEncoder()
    report = run(moved, output, again)
    assert (report.embedded, again.texts) == (0, [])
    now = pq.read_table(output)
    tales = [name == "tale.txt" for name in now["document"].to_pylist()]
    assert [id in ids for id in now["id"].to_pylist()] == [not tale for tale in tales] and any(tales)


def test_update_when_the_files_of_the_encoder_changed(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "weights").write_bytes(b"1")
    output = tmp_path / "out.parquet"
    run(folder, output, CountingEncoder(), encoder=str(model))
    assert run(folder, output, CountingEncoder(), encoder=str(model)).embedded == 0
    (model / "weights").write_bytes(b"22")
    assert run(folder, output, CountingEncoder(), encoder=str(model)).reused == 0


def test_update_of_something_else(folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    output.write_bytes(b"not Parquet")
    with pytest.raises(RunError, match="nothing to update"):
        run(folder, output, CountingEncoder())
    assert output.read_bytes() == b"not Parquet"
    output.unlink()
    run(folder, output, CountingEncoder())
    before = output.read_bytes()
    (folder / "new.txt").write_text("New.")
    with pytest.raises(RunError, match="26 values, the encoder gives 9"):
        run(folder, output, CountingEncoder(9))
    assert output.read_bytes() == before
