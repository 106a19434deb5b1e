"""Real users' bugs as checkable cases (tests/data/cases): each passes or carries a written reason in case_adapter.SKIPPED."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "data" / "cases"))

from case_adapter import BY_HAND, SKIPPED, adapter, applies
from check import load, run_case

CASES = [case for case in load(Path(__file__).parent / "data" / "cases" / "open.jsonl") if applies(case)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case):
    if case["id"] in SKIPPED:
        pytest.skip(SKIPPED[case["id"]])
    passed, details = run_case(case, adapter)
    failures = [detail for detail in details if detail[1] not in ("ok", "skipped")]
    assert passed is not False, f"{case['symptom']} {failures}"
    unseen = [prop for prop, result in details if result == "skipped"]
    assert not unseen or case["id"] in BY_HAND, f"nothing checks {unseen}"


@pytest.mark.parametrize("name", sorted(set(BY_HAND.values())))
def test_tests_by_hand_exist(name):
    file, function = name.split("::")
    assert f"def {function}(" in (Path(__file__).parent / file).read_text("utf-8")
