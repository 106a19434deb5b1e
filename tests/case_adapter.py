"""Runs a case of tests/data/cases/open.jsonl through rapidchunk: adapter(case, value) -> what check.py inspects."""

from __future__ import annotations

from typing import Any

from case_adapters import embed, hierarchy, late, markdown, structure, text

ADAPTERS = {
    strategy: module.adapter
    for module in (text, markdown, structure, embed, hierarchy, late)
    for strategy in module.STRATEGIES
}

# Cases that cannot apply, and why.
SKIPPED = {
    "B351": "elements of one document are not an input: they are joined, or given as documents with metadata of their own",
}

# Where check.py sees only a part of a case, the test that sees the rest.
BY_HAND = {
    "B145": "test_tokenizers.py::test_few_calls_of_a_callable",
    "B173": "test_encoders_onnx.py::test_results_do_not_depend_on_batches",
    "B297": "test_chat.py::test_a_colon_inside_a_turn_is_text",
    "B324": "test_encoders_onnx.py::test_memory_does_not_grow",
    "B330": "test_encoders_onnx.py::test_other_peoples_graphs",
    "B331": "test_encoders_onnx.py::test_memory_does_not_grow",
    "B334": "case_adapters/hierarchy.py::batch",
    "B337": "test_code.py::test_parsers_in_many_threads",
    "B340": "test_ids.py::test_ids_are_equal_between_runs_and_unique",
    "B342": "test_ids.py::test_settings_are_in_the_id_and_apart_from_the_text",
    "B358": "test_limits.py::test_event_loop_goes_on",
}


def adapter(case: dict[str, Any], value: Any) -> dict[str, Any]:
    inner = case["params"].get("strategy_inner")
    return ADAPTERS[inner or case["strategy"]](case, value)


def applies(case: dict[str, Any]) -> bool:
    return (case["params"].get("strategy_inner") or case["strategy"]) in ADAPTERS
