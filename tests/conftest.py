from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType

import pytest
from hypothesis import settings
from rapidchunk.kernels import cpu, reference

# The same examples in every run of CI, so that a change answers for itself alone; everywhere else new ones are drawn.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

BACKENDS = {"reference": reference, "cpu": cpu}


@pytest.fixture(params=BACKENDS, scope="session")
def backend(request: pytest.FixtureRequest) -> ModuleType:
    """A module with the kernels; the test runs once for each backend."""
    return BACKENDS[request.param]


def _simd_levels() -> list[str]:
    """The instruction sets of this machine: those that the extension accepts."""
    accepted = []
    for level in ("baseline", "avx2", "avx512"):
        run = subprocess.run(
            [sys.executable, "-c", "from rapidchunk._core import simd_level; simd_level()"],
            env={**os.environ, "RAPIDCHUNK_SIMD": level},
            capture_output=True,
            check=False,
        )
        if run.returncode == 0:
            accepted.append(level)
    return accepted


@pytest.fixture(scope="session")
def at_every_simd_level() -> Callable[[str], dict[str, str]]:
    """Runs a Python program once for each instruction set; level -> what it printed."""
    levels = _simd_levels()

    def run(program: str) -> dict[str, str]:
        return {
            level: subprocess.run(
                [sys.executable, "-c", program],
                env={**os.environ, "RAPIDCHUNK_SIMD": level},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for level in levels
        }

    return run
