"""Measuring: cases are registered with @case, run interleaved, and timed in CPU seconds.

One round runs every case once, so that a neighbour's load hits all of them alike; figures are medians over rounds, per
CPU second of the process (all its threads added). Each case gets as many whole documents as fill
about `target` seconds.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import select
import signal
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

Run = Callable[[Sequence[Any]], int]
"""Documents -> number of chunks made (or sentences, where the row is about sentences)."""
OURS, BASELINE, RIVAL, LIMIT = "ours", "baseline", "rival", "limit"


class NotAvailable(Exception):
    """What a case needs is not installed, or not in this version of rapidchunk; the message says what."""


@dataclass
class Case:
    row: str
    kind: str
    name: str
    make: Callable[[Any], Run]
    slow: bool = False


REGISTRY: list[Case] = []


def case(row: str, kind: str, name: str, slow: bool = False) -> Callable[[Callable[[Any], Run]], Callable[[Any], Run]]:
    """Registers a factory: setup -> run. Imports belong inside the factory; an ImportError becomes a skipped case."""

    def register(make: Callable[[Any], Run]) -> Callable[[Any], Run]:
        REGISTRY.append(Case(row, kind, name, make, slow))
        return make

    return register


@dataclass
class Result:
    """One line of a table. Times are CPU seconds, `rate` is work per CPU second (bytes or sentences)."""

    name: str
    kind: str
    skipped: str = ""
    rate: float = 0.0
    best: float = 0.0
    worst: float = 0.0
    work: float = 0.0
    seconds: float = 0.0
    documents: int = 0
    chunks: int = 0
    ns_per_chunk: float = 0.0
    cpu_over_wall: float = 0.0
    rounds: int = 0
    added_mib: float | None = None
    scaling: float | None = None
    extra: dict[str, float] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if value not in (None, "", {})}


@dataclass
class _Plan:
    result: Result
    run: Run
    sample: Sequence[Any]
    repeats: int
    times: list[float] = field(default_factory=list)
    wall: float = 0.0
    cpu: float = 0.0


def cpu_seconds(run: Run, documents: Sequence[Any]) -> tuple[float, int]:
    start = time.process_time()
    chunks = run(documents)
    return time.process_time() - start, chunks


def reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"


def measure(
    cases: Sequence[Case],
    setup: Any,
    documents: Sequence[Any],
    work: Callable[[Sequence[Any]], float],
    rounds: int = 5,
    target: float = 0.2,
    longest: float = 20.0,
) -> list[tuple[Result, Run | None]]:
    """Runs the cases of one row over the documents. A case whose single document takes over `longest` is dropped."""
    out: list[tuple[Result, Run | None]] = []
    plans: list[_Plan] = []
    for entry in cases:
        result = Result(entry.name, entry.kind)
        try:
            run = entry.make(setup)
            sample, repeats = _calibrate(run, documents, target, longest)
        except NotAvailable as error:
            result.skipped = str(error)
        except ImportError as error:
            result.skipped = f"not installed ({error.name or error})"
        except Exception as error:
            result.skipped = reason(error)
        if result.skipped:
            out.append((result, None))
            continue
        plans.append(_Plan(result, run, sample, repeats))
        out.append((result, run))
    for done in range(rounds):
        for plan in plans:
            if not plan.result.skipped and not (done >= 3 and plan.times[0] * plan.repeats > 2):
                _one_round(plan)
    for plan in plans:
        if not plan.result.skipped:
            _summarise(plan, work(plan.sample))
    return out


def _calibrate(run: Run, documents: Sequence[Any], target: float, longest: float) -> tuple[Sequence[Any], int]:
    run(documents[:1])
    seconds, _ = cpu_seconds(run, documents[:1])
    if seconds > longest:
        raise NotAvailable(f"one document takes {seconds:.1f} s")
    count = 1
    while seconds < target / 4 and count < len(documents):
        count = min(len(documents), max(count * 2, int(count * target / max(seconds, 1e-6) / 3)))
        seconds, _ = cpu_seconds(run, documents[:count])
    if seconds < target:
        count = max(1, min(len(documents), int(count * target / max(seconds, 1e-9))))
    repeats = max(1, int(target / max(seconds, 1e-6))) if count == len(documents) else 1
    return documents[:count], repeats


def _one_round(plan: _Plan) -> None:
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        for _ in range(plan.repeats):
            plan.result.chunks = plan.run(plan.sample)
    except Exception as error:
        plan.result.skipped = f"on the full input: {reason(error)}"
        return
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    plan.times.append(cpu / plan.repeats)
    plan.cpu += cpu
    plan.wall += wall


def _summarise(plan: _Plan, work: float) -> None:
    result, times = plan.result, plan.times
    result.seconds, result.work, result.documents = statistics.median(times), work, len(plan.sample)
    result.rate, result.best, result.worst = work / result.seconds, work / min(times), work / max(times)
    result.ns_per_chunk = result.seconds / max(result.chunks, 1) * 1e9
    result.cpu_over_wall, result.rounds = plan.cpu / plan.wall, len(times)


def scaling(run: Run, make: Callable[[int, int], Sequence[Any]], smallest: int, largest: int) -> float | None:
    """time(2n) / time(n) for one document and the same document twice over (2.0 = linear); None where the case fails.

    n grows from `smallest` until a run takes a tenth of a second, or to `largest`.
    """
    size, single = smallest, 0.0
    try:
        while True:
            single = cpu_seconds(run, make(size, 1))[0]
            if single >= 0.1 or size * 4 > largest:
                break
            size *= 2
        repeats = max(1, min(50, int(0.1 / max(single, 1e-5))))
        one, two = make(size, 1), make(size, 2)
        times = [(_repeated(run, one, repeats), _repeated(run, two, repeats)) for _ in range(3)]
    except Exception:
        return None
    return min(t for _, t in times) / max(min(t for t, _ in times), 1e-9)


def _repeated(run: Run, documents: Sequence[Any], repeats: int) -> float:
    return sum(cpu_seconds(run, documents)[0] for _ in range(repeats))


def added_memory(run: Run, documents: Sequence[Any], timeout: float = 60.0) -> float | None:
    """MiB that one run adds to the resident set at its peak, measured in a forked child; None: not measured."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, f"{peak_of(run, documents):.3f}".encode())
        finally:
            os._exit(0)
    os.close(writer)
    ready, _, _ = select.select([reader], [], [], timeout)
    answer = os.read(reader, 100) if ready else b""
    os.close(reader)
    if not ready:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return float(answer) if answer else None


def peak_of(run: Run, documents: Sequence[Any]) -> float:
    """MiB that run(documents) adds at its peak, in this process."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")
    before = status("VmRSS")
    run(documents)
    return status("VmHWM") - before


def status(name: str) -> float:
    """A size of /proc/self/status in MiB."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name + ":"))


def limit_process(gib: float, cpu_seconds: float) -> None:
    """No more address space than now plus `gib` and no more than that much CPU time from here: a runaway case dies."""
    now = int(status("VmSize") * 2**20)
    resource.setrlimit(resource.RLIMIT_AS, (now + int(gib * 2**30), resource.RLIM_INFINITY))
    used = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(used + cpu_seconds) + 1, resource.RLIM_INFINITY))
