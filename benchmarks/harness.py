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
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

Run = Callable[[Sequence[Any]], Any]
"""Documents -> number of chunks made (or sentences, where the row is about sentences), or what was made, whose length that is."""
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
    text: str = "prose"


REGISTRY: list[Case] = []


def case(
    row: str, kind: str, name: str, slow: bool = False, text: str = "prose"
) -> Callable[[Callable[[Any], Run]], Callable[[Any], Run]]:
    """Registers a factory: setup -> run. Imports belong inside the factory; an ImportError becomes a skipped case.

    `slow`: its encoder takes seconds, and does not survive a fork. `text`: the kind of document of 100 MB that it takes.
    """

    def register(make: Callable[[Any], Run]) -> Callable[[Any], Run]:
        REGISTRY.append(Case(row, kind, name, make, slow, text))
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


def number(made: Any) -> int:
    """What a `Run` gives, as a number."""
    return made if isinstance(made, int) else len(made)


def cpu_seconds(run: Run, documents: Sequence[Any]) -> tuple[float, int]:
    start = time.process_time()
    chunks = number(run(documents))
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
    budget: float = 10.0,
) -> list[tuple[Result, Run | None]]:
    """Runs the cases of one row over the documents, interleaved.

    A case gets `budget` CPU seconds: what cannot do one document in that time is cut off and says so, what is slow gets
    fewer rounds (`Result.rounds`), at least one. A case that fails or crashes is a line with the reason.
    """
    out: list[tuple[Result, Run | None]] = []
    plans: list[_Plan] = []
    for entry in cases:
        result = Result(entry.name, entry.kind)
        run = None
        try:
            run = entry.make(setup)
            sample, repeats = _calibrate(run, documents, target, None if entry.slow else budget)
            plans.append(_Plan(result, run, sample, repeats))
        except BaseException as error:
            result.skipped = skipped(error)
        out.append((result, None if result.skipped else run))
    for _ in range(rounds):
        for plan in plans:
            if not plan.result.skipped and plan.cpu + plan.cpu / max(len(plan.times), 1) <= budget:
                _one_round(plan)
    for plan in plans:
        if not plan.result.skipped:
            _summarise(plan, work(plan.sample))
    return [(result, None if result.skipped else run) for result, run in out]


def skipped(error: BaseException) -> str:
    """Why there is no figure, in words for the table. Panics of Rust libraries are no Exceptions; an interrupt goes on."""
    if isinstance(error, KeyboardInterrupt):
        raise error
    if isinstance(error, NotAvailable):
        return str(error)
    if isinstance(error, ImportError):
        return f"not installed ({error.name or error})"
    return reason(error)


def _calibrate(run: Run, documents: Sequence[Any], target: float, budget: float | None) -> tuple[Sequence[Any], int]:
    """As many documents as fill `target`, and repeats. The first document is tried in a child that can be cut off."""
    if budget is not None:
        cold = in_child(lambda: cpu_seconds(run, documents[:1])[0], budget)
        if cold > 2:
            return documents[:1], 1
    run(documents[:1])
    seconds, _ = cpu_seconds(run, documents[:1])
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
            plan.result.chunks = number(plan.run(plan.sample))
    except BaseException as error:
        plan.result.skipped = f"on the full input: {skipped(error)}"
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


def scaling(
    run: Run, make: Callable[[int, int], Sequence[Any]], smallest: int, largest: int, fork: bool = True
) -> float | None:
    """time(2n) / time(n) for one document and the same document twice over (2.0 = linear); None where the case fails.

    n grows from `smallest` until a run takes a tenth of a second, or to `largest`.
    """

    def ratio() -> float:
        size = smallest
        while True:
            single = cpu_seconds(run, make(size, 1))[0]
            if single >= 0.1 or size * 4 > largest:
                break
            size *= 2
        repeats = max(1, min(50, int(0.1 / max(single, 1e-5))))
        one, two = make(size, 1), make(size, 2)
        times = [(_repeated(run, one, repeats), _repeated(run, two, repeats)) for _ in range(3)]
        return min(t for _, t in times) / max(min(t for t, _ in times), 1e-9)

    try:
        return in_child(ratio, 30) if fork else ratio()
    except Exception:
        return None


def _repeated(run: Run, documents: Sequence[Any], repeats: int) -> float:
    return sum(cpu_seconds(run, documents)[0] for _ in range(repeats))


def added_memory(run: Run, documents: Sequence[Any], limit: float = 30.0) -> float | None:
    """MiB that one run adds to the resident set at its peak, measured in a forked child; None: not measured."""
    try:
        return in_child(lambda: peak_of(run, documents), limit)
    except NotAvailable:
        return None


def in_child(work: Callable[[], float], limit: float) -> float:
    """The answer of work() in a forked child, so that a library that hangs, crashes or eats memory can be cut off.

    Raises:
        NotAvailable: it took more than `limit` seconds (of CPU, or four times as long by the clock), failed, or crashed.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            limit_process(gib=9, cpu_seconds=limit)
            os.write(writer, f"{work():.9f}".encode())
        except BaseException as error:
            os.write(writer, skipped(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    ready, _, _ = select.select([reader], [], [], limit * 4)
    answer = os.read(reader, 1000).decode(errors="replace") if ready else ""
    os.close(reader)
    if not ready:
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not ready or status == -signal.SIGXCPU:
        raise NotAvailable(f"not done in {limit:g} CPU seconds")
    if status:
        raise NotAvailable(f"crashed: {signal.Signals(-status).name if status < 0 else f'exit code {status}'}")
    try:
        return float(answer)
    except ValueError:
        raise NotAvailable(answer or "no answer") from None


def peak_of(run: Run, documents: Sequence[Any]) -> float:
    """MiB that run(documents) adds at its peak, in this process, what it returns included."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")
    before = status("VmRSS")
    run(documents)
    return status("VmHWM") - before


def size_of(value: Any, seen: set[int] | None = None) -> int:
    """Bytes of an array, or of Python objects, each counted once; of lists, tuples and dicts with all that is in them."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return 0
    seen.add(id(value))
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return sys.getsizeof(value) + sum(size_of(part, seen) for part in inner)


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
