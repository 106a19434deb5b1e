"""benchmarks/: our cases and the baselines run on tiny inputs, what they return is checked, and the pages come out. No times."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"
ROWS = ["chars", "delimiters", "recursive-chars", "recursive-tokens", "semantic-static"]


def run(*arguments, cache, **variables):
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "RAPIDCHUNK_BENCH_CACHE": str(cache), "PYTHONPATH": str(ROOT / "python"), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A small corpus in place of Debian's packages: nothing is downloaded."""
    folder = tmp_path_factory.mktemp("benchmarks")
    files = sorted((ROOT / "examples/documents").rglob("*.md"))
    texts = [path.read_text("utf-8") for path in files[:4]]
    page = "<html><body><h1>Harbour</h1><p>The light burns.</p><h2>Keeper</h2><p>He climbs.</p></body></html>"
    corpus = {"prose": "\n\n".join(texts)[:60_000], "markdown": texts, "html": [page * 20]}
    (folder / "corpus.json").write_text(json.dumps(corpus))
    return folder


@pytest.fixture(scope="module")
def results(cache):
    """One run of a few rows: our cases and the baselines."""
    path = cache / "run.json"
    small = ["--size", "2KB,own", "--rounds", "1", "--target", "0.001", "--memory", "--scaling"]
    run(BENCHMARKS / "compare.py", *ROWS, *small, "--only", "ours", "--only", "baseline", "--json", path, cache=cache)
    return path


def test_every_row_is_there_and_right(results):
    tables = {t["row"]: t for t in json.loads(results.read_text())["tables"]}
    assert list(tables) == ROWS
    for row, t in tables.items():
        cases = {line["name"]: line for line in t["cases"]}
        mine = next(line for line in t["cases"] if line["kind"] == "ours")
        assert "skipped" not in mine and mine["figure"] > 0 and mine["chunks"] > 0, cases
        assert not any("Error" in line.get("skipped", "") for line in cases.values()), cases
        if row != "semantic-static":  # whose check compares vectors with model2vec's
            assert "checked: spans exact, nothing lost, maximum kept" in t["checked"]
            assert mine["added_mib"] >= 0
    assert "WRONG" not in str(tables)


def test_a_case_that_fails_hangs_or_crashes_is_a_line_with_the_reason(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    harness = pytest.importorskip("harness")

    def failing(documents):
        raise KeyError("no such thing")

    def endless(documents):
        while True:
            pass

    def made(run):
        return harness.Case("row", harness.RIVAL, run.__name__, lambda setup: run)

    def crashing(documents):
        os.abort()

    def good(documents):
        return len(documents)

    def missing(setup):
        raise ImportError(name="absent")

    cases = [made(f) for f in (failing, endless, crashing, good)] + [
        harness.Case("row", harness.RIVAL, "missing", missing)
    ]
    measured = harness.measure(cases, None, ["x"], len, rounds=1, target=0.001, budget=0.5)
    reasons = {result.name: result.skipped for result, _ in measured}
    assert reasons == {
        "failing": "KeyError: 'no such thing'",
        "endless": "not done in 0.5 CPU seconds",
        "crashing": "crashed: SIGABRT",
        "good": "",
        "missing": "not installed (absent)",
    }


def test_wrong_spans_are_found(monkeypatch):
    """The check of what is timed would see a span that is off by one, and text that is left out."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    pytest.importorskip("harness")
    import ours
    from rapidchunk import RecursiveChunker

    text = ["One two three. " * 50]
    setup = ours.Setup(None)
    good = RecursiveChunker(64, tokenizer="chars")(text)
    assert ours.verify_spans("chars", setup, lambda documents: good, text).startswith(
        f"{len(good)} chunks of 1 documents"
    )
    with pytest.raises(AssertionError, match="characters lost"):
        ours.verify_spans("chars", setup, lambda documents: good[1:], text)
    with pytest.raises(AssertionError, match="more than 512"):
        ours.verify_spans("chars", setup, RecursiveChunker(600, tokenizer="chars"), text)


def test_page_and_readme_table(results, cache):
    page = run(BENCHMARKS / "report.py", results, cache=cache)
    assert page.startswith("# CPU results") and "## Goals that are missed, and why" in page
    assert all(f"### {row}, 2KB: " in page for row in ROWS)
    table = run(BENCHMARKS / "report.py", results, "--readme", cache=cache).splitlines()
    assert table[0].startswith("| | unit | rapidchunk") and len({line.count("|") for line in table}) == 1


def test_goals_are_judged(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    pytest.importorskip("harness")
    import report

    def table(row, figure, checked="", **line):
        return {
            "row": row,
            "checked": checked,
            "cases": [{"kind": "ours", "name": "rapidchunk", "figure": figure, **line}],
        }

    assert report.verdict(table("sentences", 500.0)) == "met"
    assert report.verdict(table("sentences", 250.0)) == "missed: 50% of it"
    assert report.verdict(table("sentences", 900.0, "WRONG: lost")) == "missed: WRONG: lost"
    assert report.verdict(table("chars", 60.0)) == "missed by a factor of 2.0"
    assert report.verdict(table("threads", 1.5)) == "missed: rapidchunk 1.50"
    assert report.verdict(table("memory-100mb", 120.0, over_input=1.2)) == "met"
    assert report.verdict(table("memory-100mb", 200.0, over_input=2.0)) == "missed: over 1.5 x: rapidchunk 2.00"
    assert report.missed([{**table("sentences", 9.0), "size": "20KB", "goal": ">= 500 MB/s"}])[-1].startswith(
        "- **sentence"
    )


def test_callgrind_profiles_are_read(monkeypatch):
    """Self costs only: the cost of a call stands in the line after it, and belongs to the function that is called."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    pytest.importorskip("harness")
    import where

    profile = where.read_callgrind(
        "events: Ir Dr Dw D1mr DLmr\nob=(1) /lib/_core.so\nfn=(1) rc::scan<int>(char const*, long)\n0 100 7 3 2 1\n"
        "cob=(2) /lib/libc.so.6\ncfn=(2) memcpy\ncalls=3 0\n0 50\n\nob=(2)\nfn=(2)\n0 50 5\n"
    )
    assert dict(profile.functions) == {
        ("/lib/_core.so", "rc::scan<int>(char const*, long)"): [100, 10, 2, 1],
        ("/lib/libc.so.6", "memcpy"): [50, 5, 0, 0],
    }
    assert where.plain("rc::(anonymous namespace)::Scanner::run(long, rc::Span const&) const") == "rc::Scanner::run"
    assert where.plain("void rc::avx2::scan<int>(char const*)") == "rc::avx2::scan"
