"""One case in a process of its own; compare.py starts it. Prints one line of JSON.

    python benchmarks/one_case.py memory INDEX LIMIT      # peak memory on one document of 100 MB
    python benchmarks/one_case.py threads INDEX THREADS   # time by the clock with that many threads

INDEX counts the registered cases (harness.REGISTRY).
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from resources import Setup, environment

MODE, INDEX, VALUE = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
environment(int(VALUE) if MODE == "threads" else 1)

import baseline  # noqa: E402, F401  (registers its cases)
import corpus as corpora  # noqa: E402
import ours  # noqa: E402, F401
import rivals  # noqa: E402, F401
from harness import REGISTRY, NotAvailable, limit_process, peak_of, reason  # noqa: E402


def memory(index: int, limit: float) -> dict[str, Any]:
    """A case that 1 MB predicts to take longer than `limit` CPU seconds is not tried."""
    document = corpora.hundred_megabytes().read_text(encoding="ascii")
    run = REGISTRY[index].make(Setup(corpora.Corpus("", [], [], "")))
    run([document[:20_000]])
    start = time.process_time()
    run([document[:1_000_000]])
    predicted = (time.process_time() - start) * 100
    if predicted > limit:
        return {"skipped": f"would take {predicted:.0f} s or more (1 MB takes {predicted / 100:.1f} s)"}
    limit_process(gib=9, cpu_seconds=limit * 1.5)
    start = time.process_time()
    added = peak_of(run, [document])
    seconds = time.process_time() - start
    return {"figure": added, "seconds": seconds, "over_input": added * 2**20 / 1e8}


def threads(index: int) -> dict[str, Any]:
    s = Setup(corpora.load())
    documents = s.corpus.documents(20_000, 8_000_000)
    run = REGISTRY[index].make(s)
    chunks = run(documents)
    walls, cpu = [], time.process_time()
    for _ in range(5):
        start = time.perf_counter()
        run(documents)
        walls.append(time.perf_counter() - start)
    return {"wall": min(walls), "cpu_over_wall": (time.process_time() - cpu) / sum(walls), "chunks": chunks}


if __name__ == "__main__":
    try:
        answer = memory(INDEX, VALUE) if MODE == "memory" else threads(INDEX)
    except NotAvailable as error:
        answer = {"skipped": str(error)}
    except ImportError as error:
        answer = {"skipped": f"not installed ({error.name or error})"}
    except Exception as error:
        answer = {"skipped": reason(error)}
    print(json.dumps(answer), flush=True)
    os._exit(0)
