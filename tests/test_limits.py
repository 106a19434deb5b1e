"""Large and hostile input, forked processes, the GIL: linear time, no crash, no hang."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sys
import threading
import time

import pytest
import rapidchunk as rc
from strategies import HashEncoder

MB = 1_000_000
PATHOLOGICAL = {
    "no spaces": "x" * 10 * MB,
    "only spaces": " " * 10 * MB,
    "only line ends": "\n" * 10 * MB,
    "separators": ".\n" * 5 * MB,
    "one space at the end": "x" * (10 * MB - 2) + " y",
    "full stops": "." * 10 * MB,
    "quotes": '"' * 10 * MB,
    "open brackets": "(" * 10 * MB,
    "capital letters and stops": "A." * 5 * MB,
    "digits and stops": "1." * 5 * MB,
    "combining marks": "a" + "\u0301" * 2 * MB,
    "joiners": "👩\u200d" * MB,
    "flags": "🇯🇵" * MB,
    "nul": "\0" * 10 * MB,
    "surrogates": "\ud800 " * MB,
    "cjk": "山川。海" * MB,
    "blank lines far apart": ("word " * 2000 + "\n\n") * 1000,
    "spaces far apart": ("x" * 50_000 + " ") * 200,
    "words": "ab " * 3 * MB,
}
STRATEGIES = {
    "token": rc.TokenChunker,
    "sentence": rc.SentenceChunker,
    "recursive": rc.RecursiveChunker,
    "semantic": lambda *args, **options: rc.SemanticChunker(HashEncoder(), *args, **options),
}


@pytest.mark.parametrize("tokenizer", ["chars", "words", "bert"])
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", PATHOLOGICAL)
def test_ten_megabytes_of_anything(name, strategy, tokenizer):
    """Finishes, within the maximum, in order, and keeps every character. (A quadratic step would take hours.)"""
    text = PATHOLOGICAL[name] if strategy != "semantic" else PATHOLOGICAL[name][: len(PATHOLOGICAL[name]) // 10]
    overlap = 50 if strategy != "semantic" else 0
    chunks = STRATEGIES[strategy](max_tokens=500, overlap=overlap, tokenizer=tokenizer)(text)
    assert (chunks.tokens <= 500).all()
    assert (chunks.start[1:] >= chunks.start[:-1]).all()
    last = 0
    for start, end in zip(chunks.start.tolist(), chunks.end.tolist()):
        assert not text[last:start].strip()
        last = max(last, end)
    assert not text[last:].strip()


def test_gil_is_released():
    """Python code runs in another thread while a kernel works on one long document."""
    text = "Some words stand here. And more there!\n" * 400_000
    chunker = rc.RecursiveChunker(100, tokenizer="bert")
    done = threading.Event()
    ticks = 0

    def count():
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    other = threading.Thread(target=count)
    other.start()
    before = ticks
    chunker(text)
    during = ticks - before
    done.set()
    other.join()
    assert during >= 5


def test_event_loop_goes_on():
    """Chunking a large document with acall lets other tasks run meanwhile."""
    text = "A line of plain words for the loop test. " * 200_000
    chunker = rc.RecursiveChunker(200, tokenizer="words")

    async def main():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.001)

        other = asyncio.create_task(tick())
        chunks = await chunker.acall(text)
        other.cancel()
        return ticks, len(chunks)

    ticks, chunks = asyncio.run(main())
    assert ticks >= 2 and chunks > 1000


def _chunk_in_child(texts):
    chunker = rc.SentenceChunker(50, tokenizer="bert")
    return chunker(texts).start.tolist()


@pytest.mark.skipif(sys.platform == "win32", reason="fork")
def test_fork_after_use():
    texts = [f"Document {i} starts. " + "It has a few plain sentences. They are short. " * 5 for i in range(25)]
    want = _chunk_in_child(texts)
    with multiprocessing.get_context("fork").Pool(4) as pool:
        assert pool.map(_chunk_in_child, [texts] * 8) == [want] * 8


def test_threads_are_an_environment_setting(monkeypatch):
    from rapidchunk import _core

    monkeypatch.setenv("RAPIDCHUNK_THREADS", "3")
    assert _core.default_threads() == 3
    monkeypatch.setenv("RAPIDCHUNK_THREADS", "none")
    with pytest.raises(ValueError, match="RAPIDCHUNK_THREADS"):
        _core.default_threads()
    monkeypatch.delenv("RAPIDCHUNK_THREADS")
    # Ray, Spark and Dask give their workers a share of the processors by this variable.
    monkeypatch.setenv("OMP_NUM_THREADS", "5,2")
    assert _core.default_threads() == 5
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert _core.default_threads() == len(os.sched_getaffinity(0))
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert _core.default_threads() == len(os.sched_getaffinity(0))


def _threads_in_child(variable):
    from rapidchunk import _core

    if variable:
        os.environ["RAPIDCHUNK_THREADS"] = variable
    return _core.default_threads()


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_multiprocessing_use_one_thread(method, monkeypatch):
    """A pool has a process for each processor: threads in each of them would only wait for each other."""
    monkeypatch.delenv("RAPIDCHUNK_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply(_threads_in_child, [""]) == 1
        assert pool.apply(_threads_in_child, ["3"]) == 3
