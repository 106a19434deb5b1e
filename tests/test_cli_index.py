"""The indexing pipeline: what is in the file, and what is left when a run stops half way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402
from rapidchunk import documents, search  # noqa: E402
from rapidchunk.index import SCHEMA_KEY, Indexer, RunError, Settings  # noqa: E402


class LetterEncoder:
    """A vector of letter counts, normalised: words that share letters are near each other."""

    dimension = 26

    def __init__(self, fail_after: int | None = None) -> None:
        self.calls = 0
        self.fail_after = fail_after

    def encode(self, texts: Any, *, progress: Any = None, report: Any = None) -> np.ndarray:
        self.calls += 1
        if self.fail_after is not None and self.calls > self.fail_after:
            raise RuntimeError("the service went away")
        counts = np.array([[text.lower().count(chr(97 + i)) for i in range(26)] for text in texts], np.float32)
        if progress is not None:
            progress(len(texts), len(texts))
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)


def settings(**changes: Any) -> Settings:
    return Settings(**{"strategy": "sentence", "options": {"max_tokens": 20}, "tokenizer": "words", **changes})


def write_jsonl(path: Path, records: list[Any]) -> Path:
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records), encoding="utf-8")
    return path


def indexer(paths: list[Path], output: Path, *, encoder: Any = None, resume: bool = False, **changes: Any) -> Indexer:
    given = settings(encoder=None if encoder is None else "letters", **changes)
    return Indexer(
        documents.find([str(path) for path in paths]), output, given, encoder=encoder, resume=resume, batch_bytes=300
    )


def many_records(n: int = 60) -> list[dict[str, Any]]:
    return [{"id": f"d{i}", "text": f"Sentence {i} of many. " * 4 + f"The last is {i}.", "n": i} for i in range(n)]


def test_columns_spans_and_lines(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / ".hidden").mkdir(parents=True)
    (folder / ".hidden" / "no.txt").write_text("Not this one.")
    (folder / "a.txt").write_text(
        "Grüße aus Köln.\n\nZweiter Absatz hier.\r\nUnd noch einer. " * 5, encoding="utf-8", newline=""
    )
    (folder / "b.md").write_text("# Title\n\nBody text.\n\n## Sub\n\nMore text here.\n", encoding="utf-8")
    write_jsonl(
        folder / "c.jsonl", [{"text": "One record.", "id": 7, "tag": "x"}, {"text": "Another one.", "score": 1}]
    )
    (folder / "d.bin").write_bytes(b"\xff")  # of no suffix that is known
    output = tmp_path / "out.parquet"
    report = Indexer(documents.find([str(folder)]), output, settings(strategy="auto", options={"max_tokens": 8})).run()
    table = pq.read_table(output)
    assert (report.files, report.documents, report.chunks) == (3, 4, table.num_rows)
    assert "vector" not in table.column_names
    rows = table.to_pylist()
    assert {row["document"] for row in rows} == {"a.txt", "b.md", "7", "c.jsonl:2"}
    texts = {str(folder / name): (folder / name).read_bytes().decode() for name in ("a.txt", "b.md")}
    for row in rows:
        assert row["tokens"] <= 8
        if row["file"] in texts:
            text = texts[row["file"]]
            assert row["file"] == str(folder / row["document"])
            assert text[row["start"] : row["end"]] == row["text"]
            assert row["line"] == 1 + text[: row["start"]].count("\n")
            assert text.encode()[row["byte_start"] : row["byte_end"]].decode() == row["text"]
    assert [tuple(row["headings"]) for row in rows if row["file"].endswith("b.md")][-1] == ("Title", "Sub")
    records = [row for row in rows if row["file"].endswith("c.jsonl")]
    assert [(row["document"], row["line"], row["tag"], row["score"]) for row in records] == [
        ("7", 1, "x", None),
        ("c.jsonl:2", 2, None, 1),
    ]


def test_metadata_types_and_names(tmp_path: Path) -> None:
    records = [
        {"text": "a b", "int": 1, "mixed": 1, "float": 1, "flag": True, "big": 2**70, "deep": {"k": [1]}, "start": "s"},
        {"text": "c d", "int": 2, "mixed": "one", "float": 1.5, "flag": False, "none": None, "lone": "\ud800"},
    ]
    output = tmp_path / "out.parquet"
    indexer([write_jsonl(tmp_path / "in.jsonl", records)], output).run()
    table = pq.read_table(output)
    columns = table.to_pydict()
    assert columns["int"] == [1, 2] and columns["float"] == [1.0, 1.5] and columns["flag"] == [True, False]
    assert columns["mixed"] == ["1", "one"] and columns["big"] == [str(2**70), None] and columns["none"] == [None, None]
    assert json.loads(columns["deep"][0]) == {"k": [1]} and columns["meta_start"] == ["s", None]
    assert columns["lone"] == [None, "\ufffd"] and columns["start"] == [0, 0]


def test_types_that_change_between_parts(tmp_path: Path) -> None:
    records = [{"text": "word " * 70, "value": 3}, {"text": "word " * 70, "value": "three"}, {"text": "x", "late": 1.5}]
    output = tmp_path / "out.parquet"
    indexer([write_jsonl(tmp_path / "in.jsonl", records)], output).run()
    table = pq.read_table(output)
    assert set(table["value"].to_pylist()) == {"3", "three", None} and table["late"].to_pylist()[-1] == 1.5


def test_same_rows_whatever_the_batches(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", many_records())
    tables = []
    for size in (1, 300, 1 << 20):
        output = tmp_path / f"{size}.parquet"
        Indexer(
            documents.find([str(source)]),
            output,
            settings(encoder="letters"),
            encoder=LetterEncoder(),
            batch_bytes=size,
        ).run()
        tables.append(pq.read_table(output).to_pylist())
    assert tables[0] == tables[1] == tables[2]


@pytest.mark.parametrize("parts", [1, 3])
def test_resume_goes_on_where_it_stopped(tmp_path: Path, parts: int) -> None:
    a = write_jsonl(tmp_path / "a.jsonl", many_records())
    b = tmp_path / "b.txt"
    b.write_text("A text file comes last. " * 20)
    whole, output = tmp_path / "whole.parquet", tmp_path / "out.parquet"
    complete = LetterEncoder()
    indexer([a, b], whole, encoder=complete).run()
    with pytest.raises(RuntimeError, match="went away"):
        indexer([a, b], output, encoder=LetterEncoder(fail_after=parts)).run()
    assert not output.exists()
    rest = LetterEncoder()
    report = indexer([a, b], output, encoder=rest, resume=True).run()
    assert rest.calls == complete.calls - parts and 0 < report.resumed < report.documents
    assert pq.read_table(output).equals(pq.read_table(whole))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "b.txt", "out.parquet", "whole.parquet"]


def test_resume_refuses_other_settings_and_inputs(tmp_path: Path) -> None:
    a = write_jsonl(tmp_path / "a.jsonl", many_records())
    output = tmp_path / "out.parquet"
    with pytest.raises(RuntimeError, match="went away"):
        indexer([a], output, encoder=LetterEncoder(fail_after=2)).run()
    with pytest.raises(RunError, match="max_tokens was 20 and is 30"):
        indexer([a], output, encoder=LetterEncoder(), resume=True, options={"max_tokens": 30}).run()
    with a.open("a") as file:
        file.write('{"text": "More."}\n')
    with pytest.raises(RunError, match=r"the inputs changed \(.*a\.jsonl\)"):
        indexer([a], output, encoder=LetterEncoder(), resume=True).run()
    report = indexer([a], output, encoder=LetterEncoder()).run()  # from the beginning
    assert report.resumed == 0 and report.documents == 61


def test_an_old_output_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    a = write_jsonl(tmp_path / "a.jsonl", many_records())
    output = tmp_path / "out.parquet"
    indexer([a], output, encoder=LetterEncoder()).run()
    before = output.read_bytes()
    with pytest.raises(RuntimeError, match="went away"):
        indexer([a], output, encoder=LetterEncoder(fail_after=1)).run()
    assert output.read_bytes() == before


def test_skipped_records_are_counted_once_over_a_resume(tmp_path: Path) -> None:
    records: list[Any] = list(many_records(30))
    for place in (0, 10, 20, 29):
        records.insert(place, "{broken")
    a = write_jsonl(tmp_path / "a.jsonl", records)
    output = tmp_path / "out.parquet"
    with pytest.raises(RuntimeError, match="went away"):
        indexer([a], output, encoder=LetterEncoder(fail_after=3), skip_errors=True).run()
    report = indexer([a], output, encoder=LetterEncoder(), resume=True, skip_errors=True).run()
    assert (report.documents, report.skipped) == (30, 4)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{broken", r"in\.jsonl:2: not JSON: "),
        ("[1]", r"in\.jsonl:2: a record must be an object"),
        ('{"id": 1}', r'in\.jsonl:2: a record must have a string "text"'),
        ('{"text": 5}', r'in\.jsonl:2: a record must have a string "text", not a number'),
        ('{"text": "x", "id": [1]}', r'in\.jsonl:2: "id" must be a string or a whole number, not a list'),
        ("[" * 100_000, r"in\.jsonl:2: not JSON: too deep"),
        ('{"text": "x", "n": ' + "1" * 5000 + "}", r"in\.jsonl:2: not JSON: "),
    ],
)
def test_bad_records_are_named(tmp_path: Path, line: str, message: str) -> None:
    a = write_jsonl(tmp_path / "in.jsonl", [{"text": "Good."}, line, {"text": "Good too."}])
    output = tmp_path / "out.parquet"
    with pytest.raises(documents.InputError, match=message):
        indexer([a], output).run()
    assert not output.exists()
    warnings: list[str] = []
    given = Indexer(documents.find([str(a)]), output, settings(skip_errors=True), warn=warnings.append)
    assert given.run().skipped == 1 and len(warnings) == 1 and "in.jsonl:2" in warnings[0]
    assert pq.read_table(output)["text"].to_pylist() == ["Good.", "Good too."]


def test_html_is_read_in_the_encoding_it_declares(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(b"<meta charset=latin1><p>caf\xe9")
    (tmp_path / "b.htm").write_bytes(b"<p>caf\xe9")
    (tmp_path / "c.html").write_bytes("\ufeff<p>café".encode("utf-16-le"))
    errors: list[documents.InputError] = []
    sources = documents.find([str(tmp_path)])
    found = [d.text for source in sources for d in documents.read(source, on_error=errors.append)]
    assert found == ["<meta charset=latin1><p>café", "<p>café"]
    assert len(errors) == 1 and "b.htm: not UTF-8" in str(errors[0])


def test_not_utf8_is_named(tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"abc\xff")
    with pytest.raises(documents.InputError, match=r"bad\.txt: not UTF-8: .* byte 3"):
        indexer([bad], tmp_path / "out.parquet").run()
    assert [path.name for path in tmp_path.iterdir()] == ["bad.txt"]  # no work folder: there is nothing to go on from


def test_nothing_to_chunk(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    output = tmp_path / "out.parquet"
    report = indexer([tmp_path / "empty.txt"], output, encoder=LetterEncoder()).run()
    assert (report.documents, report.chunks) == (1, 0) and pq.read_table(output).num_rows == 0
    assert search.Index(output).search(np.ones(26, np.float32)) == []


def test_find(tmp_path: Path) -> None:
    for name in ("b.txt", "a.md", "sub/c.jsonl", "sub/d.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")

    def found(*paths: str) -> list[str]:
        return [os.path.relpath(source.name, tmp_path) for source in documents.find([str(tmp_path / p) for p in paths])]

    assert found(".") == ["a.md", "b.txt", "sub/c.jsonl", "sub/d.py"]
    assert found("*.txt", "**/*", ".") == ["b.txt", "a.md", "sub/c.jsonl", "sub/d.py"]
    assert found("sub/d.py") == ["sub/d.py"]
    for missing, message in (("gone.txt", "no such file"), ("*.pdf", "no file matches"), ("none", "no such")):
        with pytest.raises(documents.InputError, match=message):
            found(missing)


def test_documents_are_named_below_the_folder_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one/a.md", "one/sub/b.md", "two/a.md", "two/c.md", "deep/two/a.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    monkeypatch.chdir(tmp_path)

    def names(*paths: str) -> list[str]:
        return [source.document for source in documents.find(paths)]

    one = ["a.md", "sub/b.md"]
    assert names("one") == names("./one/") == names(str(tmp_path / "one")) == names("one/**/*.md") == one
    monkeypatch.chdir(tmp_path / "one")
    assert names(".") == one and names("sub/b.md") == ["b.md"]
    monkeypatch.chdir(tmp_path)
    assert names("one", "two") == ["one/a.md", "sub/b.md", "two/a.md", "c.md"]
    assert names("two", "deep/two") == ["two/a.md", "c.md", "deep/two/a.md"]
    assert names("two", "two/c.md", "-") == ["a.md", "c.md", "<stdin>"]


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    a = write_jsonl(tmp_path / "a.jsonl", many_records())
    output = tmp_path / "out.parquet"

    class Other(LetterEncoder):
        def encode(self, texts: Any, **options: Any) -> np.ndarray:
            with pytest.raises(RunError, match="another run"):
                indexer([a], output, encoder=LetterEncoder()).run()
            return super().encode(texts, **options)

    indexer([a], output, encoder=Other()).run()


def test_search_finds_the_nearest(tmp_path: Path) -> None:
    texts = ["aaaa bbbb.", "zzzz yyyy.", "mmmm nnnn.", "zzzz zzzz."]
    a = write_jsonl(tmp_path / "a.jsonl", [{"text": text, "id": text[:4] + str(i)} for i, text in enumerate(texts)])
    output = tmp_path / "out.parquet"
    indexer([a], output, encoder=LetterEncoder()).run()
    question = LetterEncoder().encode(["zzzz"])[0]
    index = search.Index(output)
    hits = index.search(question, 2)
    assert [hit.columns["text"] for hit in hits] == ["zzzz zzzz.", "zzzz yyyy."]
    assert hits[0].score == pytest.approx(1) and hits[1].score == pytest.approx(2**-0.5)
    assert [hit.columns["line"] for hit in hits] == [4, 2] and "vector" not in hits[0].columns
    assert len(index.search(question, 99)) == 4
    for wrong, k in ((question[:3], 5), (question, 0)):
        with pytest.raises(ValueError):
            index.search(wrong, k)


def test_search_equals_brute_force_over_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rapidchunk.index.indexer.ROW_GROUP_BYTES", 2000)
    monkeypatch.setattr("rapidchunk.search.BATCH_ROWS", 7)
    a = write_jsonl(tmp_path / "a.jsonl", many_records(100))
    output = tmp_path / "out.parquet"
    indexer([a], output, encoder=LetterEncoder()).run()
    assert pq.ParquetFile(output).num_row_groups > 3
    table = pq.read_table(output)
    vectors = np.stack(table["vector"].to_numpy())
    question = LetterEncoder().encode(["the last sentence"])[0]
    hits = search.Index(output).search(question, 10)
    best = np.sort(vectors @ question)[::-1][:10]
    np.testing.assert_allclose([hit.score for hit in hits], best, rtol=1e-6)
    assert [hit.columns["text"] for hit in hits] == [table["text"][hit.row].as_py() for hit in hits]


def test_search_refuses_other_files(tmp_path: Path) -> None:
    plain, junk, bare = tmp_path / "plain.parquet", tmp_path / "junk.parquet", tmp_path / "bare.parquet"
    pq.write_table(pa.table({"x": [1]}), plain)
    junk.write_text("junk")
    indexer([write_jsonl(tmp_path / "a.jsonl", [{"text": "x"}])], bare).run()
    for path, message in ((plain, "not written by"), (junk, "not a Parquet file")):
        with pytest.raises(search.NotAnIndex, match=message):
            search.Index(path)
    with pytest.raises(search.NotAnIndex, match="no vectors"):
        search.Index(bare).search(np.ones(3, np.float32))
    with pytest.raises(FileNotFoundError):
        search.Index(tmp_path / "gone.parquet")


def test_lines_of_every_level(tmp_path: Path) -> None:
    text = "\n".join(f"Sentence {i} has some words." for i in range(40))
    (tmp_path / "a.txt").write_text(text)
    output = tmp_path / "out.parquet"
    indexer([tmp_path / "a.txt"], output, strategy="hierarchical", options={"levels": [60, 15]}).run()
    rows = pq.read_table(output).to_pylist()
    assert {row["level"] for row in rows} == {0, 1}
    assert all(row["line"] == 1 + text.count("\n", 0, row["start"]) for row in rows)


def test_settings_are_recorded(tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    indexer([write_jsonl(tmp_path / "a.jsonl", [{"text": "x"}])], output, encoder=LetterEncoder()).run()
    about = json.loads(pq.read_schema(output).metadata[SCHEMA_KEY])
    assert about["encoder"] == "letters" and about["dimension"] == 26 and about["options"] == {"max_tokens": 20}


def test_killed_run_leaves_no_half_file_and_resumes(tmp_path: Path) -> None:
    a = write_jsonl(tmp_path / "a.jsonl", many_records(3000))
    output = tmp_path / "out.parquet"
    command = [sys.executable, "-m", "rapidchunk", "index", str(a), "-o", str(output), "--encoder", "none", "-q"]
    command += ["--tokenizer", "words", "--max-tokens", "20"]
    # Small batches, so that the run is long enough to be killed in the middle.
    slow = "import rapidchunk.index.indexer as i, sys; i.BATCH_BYTES = {False: 400, True: 400}\n"
    slow += "from rapidchunk.cli import main; sys.exit(main(sys.argv[1:]))"
    run = subprocess.Popen([sys.executable, "-c", slow, *command[3:]])
    folder = tmp_path / ".out.parquet.rapidchunk"
    until = time.monotonic() + 60
    while len(list(folder.glob("part-*.parquet"))) < 5 and time.monotonic() < until:
        time.sleep(0.01)
    run.send_signal(signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL
    assert not output.exists()
    done = json.loads((folder / "manifest.json").read_text())["documents"]
    assert 0 < done < 3000
    subprocess.run([*command, "--resume"], check=True)
    table = pq.read_table(output)
    assert len(set(table["document"].to_pylist())) == 3000 and not folder.exists()
    subprocess.run([*command[:-1], "20"], check=True)
    assert pq.read_table(output).equals(table)
