"""benchmarks/gpu_check.py without a GPU: every section runs, on stand-ins; what fails is reported and the rest goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")


def check(out, *arguments):
    run = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "gpu_check.py"), "--dry-run", *arguments],
        env={**os.environ, "OUT": str(out)},
        capture_output=True,
        text=True,
        check=False,
    )
    report = json.loads((out / "gpu.json").read_text())
    rows: dict[str, list[dict]] = {}
    for row in report["rows"]:
        rows.setdefault(row["section"], []).append(row)
    return run, rows


def test_dry_run(tmp_path):
    run, rows = check(tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "dry run" in run.stdout and len(rows) == 7
    kernels = {row["what"] for row in rows["bits of the kernels"]}
    assert kernels >= {"pool_spans", "adjacent_similarity", "boundary_candidates", "greedy_cuts", "optimal_cuts"}
    assert all(row["equal"] for row in rows["bits of the kernels"])
    assert {row["what"].rpartition(", ")[2] for row in rows["encoder by length"]} == {
        "packed fp16",
        "padded fp16",
        "packed fp32",
    }
    for whole in rows["documents a second, from Python strings"]:
        assert whole["documents/s"] > 0 and {"tokenising", "waiting", "encoding"} <= set(whole)


def test_a_failure_is_reported_and_the_rest_goes_on(tmp_path):
    run, rows = check(tmp_path, "--model", str(tmp_path / "nothing"))
    assert run.returncode == 1 and "Traceback" in run.stderr
    failed = {name for name, found in rows.items() if any("failed" in row for row in found)}
    assert failed == {
        "addresses, and the order of the stream",
        "encoder by length",
        "documents a second, from Python strings",
    }
    assert len(rows) == 7
