"""One case in a process of its own; compare.py starts it. Prints one line of JSON.

    python benchmarks/one_case.py memory INDEX LIMIT KIND # peak memory on one document of 100 MB, of a kind of large.py
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
import large  # noqa: E402
import ours  # noqa: E402
import rivals  # noqa: E402, F401
from harness import OURS, REGISTRY, NotAvailable, limit_process, number, peak_of, skipped  # noqa: E402


def memory(index: int, limit: float, kind: str) -> dict[str, Any]:
    """A case that 1 MB predicts to take longer than `limit` CPU seconds is not tried.

    The peak is that of all that the case adds. `over_input` is what is left of it without the columns returned, in sizes of
    the input; what others return is not known, and counts.
    """
    document = large.document(kind)
    run = REGISTRY[index].make(Setup(corpora.Corpus("", [], [], "")))
    limit_process(gib=9, cpu_seconds=limit)
    part = document if kind == "api" else document[:1_000_000]  # a part of it would not be JSON
    if part is not document:
        run([part[:20_000]])
        start = time.process_time()
        run([part])
        predicted = (time.process_time() - start) * len(document) / len(part)
        if predicted > limit:
            raise NotAvailable(f"not done in {limit:.0f} s: 1 MB takes {predicted / 100:.2g} s")
    limit_process(gib=9, cpu_seconds=limit)
    made: list[Any] = []
    start = time.process_time()
    added = peak_of(lambda documents: made.append(run(documents)), [document])
    seconds = time.process_time() - start
    returned = ours.returned(made[0])
    answer = {"figure": added, "seconds": seconds, "chunks": number(made[0]), "returned_mib": returned}
    return {**answer, "over_input": (added - returned) * 2**20 / large.SIZE}


def threads(index: int) -> dict[str, Any]:
    """At most five runs and about four seconds; the best counts."""
    s = Setup(corpora.load())
    documents = s.corpus.documents(20_000, 24_000_000)
    case = REGISTRY[index]
    run = case.make(s)
    chunks = number(run(documents))
    walls, cpu = [], time.process_time()
    while len(walls) < 5 and sum(walls) < 4:
        start = time.perf_counter()
        run(documents)
        walls.append(time.perf_counter() - start)
    cpu = time.process_time() - cpu
    answer = {"wall": min(walls), "cpu_over_wall": cpu / sum(walls), "chunks": chunks}
    if case.kind == OURS:
        answer["fingerprint"] = ours.fingerprint(case.name, s, documents)
    return answer


if __name__ == "__main__":
    try:
        answer = memory(INDEX, VALUE, sys.argv[4]) if MODE == "memory" else threads(INDEX)
    except Exception as error:
        answer = {"skipped": skipped(error)}
    print(json.dumps(answer), flush=True)
    os._exit(0)
