"""Real users' bugs as checkable cases (tests/data/cases): each passes or carries a written reason in case_adapter.SKIPPED."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "data" / "cases"))

from case_adapter import BY_HAND, SKIPPED, adapter, applies
from check import load, run_case

LINEAR = "terminates_in_linear_time"
CASES = [case for case in load(Path(__file__).parent / "data" / "cases" / "open.jsonl") if applies(case)]


def without_clock(case):
    """The case without limits on the time by the clock, which a busy machine breaks: that it ends is seen here, and how its
    time grows by `test_time_grows_linearly`."""
    clock = {"max_seconds": None, "double_expr": None}
    expected = [{**entry, **clock} if entry["prop"] == LINEAR else entry for entry in case["expected"]]
    return {**case, "expected": expected}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case):
    if case["id"] in SKIPPED:
        pytest.skip(SKIPPED[case["id"]])
    passed, details = run_case(without_clock(case), adapter)
    failures = [detail for detail in details if detail[1] not in ("ok", "skipped")]
    assert passed is not False, f"{case['symptom']} {failures}"
    unseen = [prop for prop, result in details if result == "skipped"]
    assert not unseen or case["id"] in BY_HAND, f"nothing checks {unseen}"


def doubled(case):
    """The input of twice the size, if the case gives one."""
    return next((entry["double_expr"] for entry in case["expected"] if entry["prop"] == LINEAR), None)


@pytest.mark.parametrize("case", [case for case in CASES if doubled(case)], ids=lambda case: case["id"])
def test_time_grows_linearly(case):
    """Sixteen times the input takes sixteen times the processor time, where a quadratic step takes up to 256 times. The bound
    is 32, of the least times of up to ten rounds: what else the machine does can only lengthen some of them."""
    large = eval(doubled(case))
    small = large[: len(large) // 16]

    def seconds(value):
        begin = time.process_time()
        adapter(case, value)
        return time.process_time() - begin

    least_small = least_large = float("inf")
    for _ in range(10):
        least_small, least_large = min(least_small, seconds(small)), min(least_large, seconds(large))
        if least_large <= 32 * least_small:
            return
    raise AssertionError(f"{case['symptom']} {least_large / least_small:.0f} times the time for 16 times the input")


@pytest.mark.parametrize("name", sorted(set(BY_HAND.values())))
def test_tests_by_hand_exist(name):
    file, function = name.split("::")
    assert f"def {function}(" in (Path(__file__).parent / file).read_text("utf-8")
