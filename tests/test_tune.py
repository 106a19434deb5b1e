"""Sweeps over ways of chunking: right figures, one encoding for all, resumption, reports, the command line."""

from __future__ import annotations

import csv
import io
import json
import re
import threading
import zlib
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest
from rapidchunk.cli import main
from rapidchunk.evaluate import Candidate, expand_grid, locate, paired_difference, report, report_page, sweep

TOPICS = ["mill", "bridge", "harbour", "library", "orchard", "quarry", "lighthouse", "tannery", "chapel", "brewery"]
DOCUMENTS = [
    " ".join(
        f"The {topic} number {d} was opened in {1700 + 10 * d + i}. Its {topic} walls are of stone and brick and lime. "
        f"Nobody remembers who paid for the {topic}."
        for i, topic in enumerate(TOPICS)
    )
    for d in range(12)
]


def words(texts: list[str]) -> np.ndarray:
    """Counts of hashed words: enough to find a sentence again."""
    words.calls.append(len(texts))
    out = np.zeros((len(texts), 256), np.float32)
    for row, text in enumerate(texts):
        for word in re.findall(r"\w+", text.lower()):
            out[row, zlib.crc32(word.encode()) % 256] += 1
    return out + 1e-3


words.calls = []


def as_encoder(name: str):
    from rapidchunk.encoders import as_encoder

    assert name == "words"
    return as_encoder(words)


@pytest.fixture(scope="module")
def questions():
    records = [
        {
            "question": f"The {topic} number {d} was opened in what year?",
            "document": d,
            "answers": [f"opened in {1700 + 10 * d + i}"],
        }
        for d in range(12)
        for i, topic in enumerate(TOPICS)
    ]
    found, problems = locate(records, DOCUMENTS)
    assert not problems
    return found


GRID = {"strategy": ["sentence", "token"], "max_tokens": [32, 120], "overlap": [0, "25%"], "encoder": ["words"]}


@pytest.fixture(scope="module")
def result(questions):
    candidates, _ = expand_grid(GRID)
    return sweep(DOCUMENTS, questions, candidates, k=3, encoder=as_encoder)


def test_a_grid_has_every_combination_that_can_be_once():
    candidates, left_out = expand_grid(GRID)
    assert len(candidates) == 8 and not left_out
    assert candidates[1] == Candidate("sentence", (("max_tokens", 32), ("overlap", 8)), "words")
    candidates, left_out = expand_grid({"max_tokens": [16], "overlap": [0, 16], "strategy": ["token"]})
    assert len(candidates) == 1 and "overlap must be less" in left_out[0]
    # An option that only some strategies have does not multiply the others.
    candidates, _ = expand_grid({"strategy": ["token", "semantic"], "percentile": [90, 95], "encoder": ["a", "b"]})
    assert [c.strategy for c in candidates] == ["token", "semantic", "semantic"] * 2
    for grid, said in (
        ({"strategy": ["nope"]}, "nope"),
        ({"colour": [1]}, "no strategy of .* has the option colour"),
        ({"max_tokens": []}, "max_tokens must have a list"),
        ({"max_tokens": "128"}, "max_tokens must have a list"),
    ):
        with pytest.raises(ValueError, match=said):
            expand_grid(grid)


def test_figures_are_those_of_the_chunks_that_are_retrieved(result, questions):
    import rapidchunk as rc
    from rapidchunk.encoders import as_encoder

    assert len(result.trials) == 8
    trial = result.trials[0]
    chunks = rc.SentenceChunker(32)(DOCUMENTS).encode(as_encoder(words), vectors="mean", sentence_vectors=True)
    asked = as_encoder(words).encode([question.text for question in questions])
    for number in (0, 57, 119):
        question = questions[number]
        best = np.argsort(-chunks.score(asked[number]), kind="stable")[:3]
        (start, end), held = question.spans[0], 0
        for row in best.tolist():
            if chunks.document[row] == question.document:
                held += max(0, min(end, chunks.end[row]) - max(start, chunks.start[row]))
        assert trial.measure("recall")[number] == pytest.approx(held / (end - start))
        assert trial.measure("tokens")[number] == chunks.tokens[best].sum()
    assert trial.chunks == len(chunks) and trial.tokens == pytest.approx(chunks.tokens.mean())
    assert trial.measure("recall").mean() > 0.8  # the words of the question are in the sentence
    assert ((trial.measure("reciprocal_rank") > 0) == (trial.measure("hit") > 0)).all()
    assert result.trials[1].repeated > 0 == result.trials[0].repeated


def test_best_front_and_recommendation_are_consistent(result):
    recalls = [trial.measure("recall").mean() for trial in result.trials]
    assert result.best.measure("recall").mean() == max(recalls) and result.as_good(result.best)
    front = result.pareto()
    tokens = [trial.measure("tokens").mean() for trial in front]
    assert tokens == sorted(tokens) and front[-1].measure("recall").mean() == max(recalls)
    for trial in result.trials:
        if trial not in front:
            assert any(
                other.measure("tokens").mean() <= trial.measure("tokens").mean()
                and other.measure("recall").mean() >= trial.measure("recall").mean()
                for other in front
            )
        clear = paired_difference(
            trial.measure("recall"), result.best.measure("recall"), groups=[q.document for q in result.questions]
        )
        assert result.as_good(trial) == (trial is result.best or clear.high >= 0)
    assert result.as_good(result.recommended)


def test_every_text_is_encoded_once_and_a_second_run_goes_on(tmp_path, questions):
    candidates, _ = expand_grid(GRID)
    words.calls.clear()
    told = []

    def stop(done: int, total: int, what: str) -> None:
        told.append((done, total, what))
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(DOCUMENTS, questions, candidates, k=3, encoder=as_encoder, folder=tmp_path, progress=stop)
    assert told[0][:2] == (0, 8) and len(list(tmp_path.glob("trial-*.npz"))) == 3
    first = sum(words.calls)
    words.calls.clear()
    resumed = sweep(DOCUMENTS, questions, candidates, k=3, encoder=as_encoder, folder=tmp_path)
    words.calls.clear()
    whole = sweep(DOCUMENTS, questions, candidates, k=3, encoder=as_encoder)
    once = sum(words.calls)
    for a, b in zip(resumed.trials, whole.trials):
        assert (a.questions == b.questions).all() and (a.chunks, a.tokens, a.small) == (b.chunks, b.tokens, b.small)
    # Sentences are shared by the chunkers: much less is encoded than all the chunks' sentences.
    assert first < once < 3 * sum(len(re.findall(r"\. |\.$", text)) for text in DOCUMENTS) + len(questions)
    words.calls.clear()
    sweep(DOCUMENTS, questions, candidates, k=3, encoder=as_encoder, folder=tmp_path)
    assert not words.calls
    # Other questions are another experiment; the vectors of the documents are used again.
    sweep(DOCUMENTS, questions[:50], candidates[:1], k=3, encoder=as_encoder, folder=tmp_path)
    assert sum(words.calls) <= 1


def test_a_file_of_vectors_that_was_cut_off_is_mended(tmp_path, questions):
    candidates = [Candidate("token", (("max_tokens", 64), ("overlap", 0)), "words")]
    expected = sweep(DOCUMENTS, questions, candidates, encoder=as_encoder, folder=tmp_path)
    (vectors,) = tmp_path.glob("vectors-*")
    with open(vectors, "r+b") as file:
        file.truncate(vectors.stat().st_size - 100)
    next(iter(tmp_path.glob("trial-*"))).unlink()
    words.calls.clear()
    again = sweep(DOCUMENTS, questions, candidates, encoder=as_encoder, folder=tmp_path)
    assert sum(words.calls) == 2  # one to learn the size, one that was cut off
    assert (again.trials[0].questions == expected.trials[0].questions).all()


def test_a_budget_retrieves_as_much_of_every_size(questions):
    candidates, _ = expand_grid({"strategy": ["sentence"], "max_tokens": [32, 120], "encoder": ["words"]})
    result = sweep(DOCUMENTS, questions, candidates, k=None, budget=150, encoder=as_encoder)
    for trial in result.trials:
        assert (trial.measure("tokens") <= 150).all() and trial.measure("tokens").mean() > 30
    tiny = sweep(DOCUMENTS, questions[:3], candidates[:1], k=None, budget=1, encoder=as_encoder)
    assert (tiny.trials[0].measure("tokens") > 1).all()  # one chunk at least


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"documents": []}, "documents must not be empty"),
        ({"questions": []}, "questions must not be empty"),
        ({"candidates": []}, "candidates must not be empty"),
        ({"scoring": "best"}, "scoring must be one of"),
        ({"k": 0}, "k must be at least 1"),
        ({"budget": 5}, "k or budget"),
    ],
)
def test_bad_parameters_are_named(change, said, questions):
    given = {"documents": DOCUMENTS, "questions": questions, "candidates": [Candidate("token", (), "words")], **change}
    with pytest.raises(ValueError, match=said):
        sweep(**given, encoder=as_encoder)


def test_html_is_refused_because_its_spans_are_of_another_text():
    pytest.importorskip("selectolax")
    page = "<p>Opened in 1700.</p>"
    asked, _ = locate([{"question": "When?", "answers": "1700", "document": 0}], [page])
    with pytest.raises(ValueError, match="html makes a text of its own"):
        sweep([page], asked, [Candidate("html", (), "words")], encoder=as_encoder)


def test_tables_and_page_say_what_was_measured(result):
    table = report.markdown_table(result)
    lines = table.splitlines()
    assert len(lines) == 2 + 8 and len({len(line) for line in lines}) == 1
    rows = list(csv.DictReader(io.StringIO(report.csv_table(result))))
    recalls = sorted((100 * trial.measure("recall").mean() for trial in result.trials), reverse=True)
    assert [float(row["recall"]) for row in rows] == pytest.approx(recalls, abs=1e-3)
    for row in rows:
        assert float(row["recall_low"]) <= float(row["recall"]) <= float(row["recall_high"])
    advice = report.advice(result)
    assert result.recommended.candidate.name in advice[0]
    documents = {f"<b>{number}": text for number, text in enumerate(DOCUMENTS)}
    page = report_page.page(result, documents, title="<script>alert(1)</script>")
    assert "<b>" not in page
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page
    assert page.count("<title>") == 1 + 8 and page.count("<tr") > 8
    assert re.search(r"default-src 'none'", page)


def test_a_plot(result, tmp_path):
    pytest.importorskip("matplotlib")
    report.plot(result, tmp_path / "plot.svg")
    assert "<svg" in (tmp_path / "plot.svg").read_text()


def test_without_matplotlib_the_extra_is_named(result, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"rapidchunk\[plot\]"):
        report.plot(result, tmp_path / "plot.svg")


@pytest.fixture
def folder(tmp_path, questions):
    """Documents in a folder, questions beside them, one of them without its answer."""
    (tmp_path / "docs").mkdir()
    for number, text in enumerate(DOCUMENTS[:3]):
        (tmp_path / "docs" / f"{number}.txt").write_text(text)
    records = [
        {"question": question.text, "answers": [DOCUMENTS[question.document][slice(*question.spans[0])]]}
        for question in questions[:30]
    ]
    records.append({"question": "Where is the moon?", "answers": ["up there"]})
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return tmp_path


def tune(folder, *more: str) -> int:
    arguments = ["tune", str(folder / "docs"), "--questions", str(folder / "q.jsonl"), "-o", str(folder / "out")]
    return main([*arguments, "--grid", "encoder=minilm", "--grid", "strategy=sentence,token", *more])


def test_the_command(folder, capsys):
    assert tune(folder, "--grid", "max_tokens=32,64", "--grid", "overlap=0", "-k", "2") == 0
    out, err = capsys.readouterr()
    assert "Take " in out and "| strategy" in out
    assert "q.jsonl:31: the answer 'up there' is not in any document" in err
    assert "30 questions (1 left out), 4 settings" in err
    assert {file.name for file in (folder / "out").iterdir()} == {"report.html", "table.csv", "table.md", "state"}
    assert (folder / "out" / "table.md").read_text() in out


def test_wrong_usage_is_told_before_anything_is_done(folder, capsys):
    for more, code, said in (
        (["--grid", "max_tokens"], 2, "NAME=A,B"),
        (["--grid", "colour=red"], 1, "colour"),
        (["--synthesize", "5"], 2, "is there already"),
    ):
        assert tune(folder, *more) == code
        assert said in capsys.readouterr().err
    (folder / "q.jsonl").write_text(json.dumps({"question": "?x", "answers": "nowhere"}))
    assert tune(folder) == 1
    assert "no question that can be used" in capsys.readouterr().err
    (folder / "q.jsonl").unlink()
    assert tune(folder, "--synthesize", "5") == 2
    assert "--base-url and --model" in capsys.readouterr().err


class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        passage = body["messages"][0]["content"].split("Passage:\n")[1]
        answer = re.search(r"[^.]*opened in \d+\.", passage).group().strip()
        reply = json.dumps([{"question": f"About {body['model']}: {answer.split(' was')[0]}?", "answer": answer}])
        data = json.dumps({"choices": [{"message": {"content": reply}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


def test_questions_from_a_service(folder, capsys):
    server = HTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (folder / "q.jsonl").unlink()
    try:
        url = f"http://127.0.0.1:{server.server_port}/v1"
        given = [
            "--synthesize",
            "4",
            "--base-url",
            url,
            "--model",
            "tiny",
            "--grid",
            "max_tokens=64",
            "--grid",
            "overlap=0",
        ]
        assert tune(folder, *given) == 0
    finally:
        server.shutdown()
        server.server_close()
    records = [json.loads(line) for line in (folder / "q.jsonl").read_text().splitlines()]
    assert records
    for record in records:
        text = (folder / "docs" / record["document"].rsplit("/", 1)[1]).read_text()
        assert "opened in" in text[slice(*record["spans"][0])] and record["question"].startswith("About tiny: ")
    assert f"{len(records)} questions, 2 settings" in capsys.readouterr().err
