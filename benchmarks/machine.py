"""The machine that a page of results is about."""

from __future__ import annotations

import os
import platform
from datetime import date
from pathlib import Path


def machine() -> dict[str, str]:
    """Processor with the instruction sets that matter here, system, and the date."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    models = [line.split(":")[1].strip() for line in info.splitlines() if line.startswith("model name")]
    simd = [name for name in ("avx2", "avx512bw", "amx_bf16") if f" {name}" in info]
    processor = f"{os.cpu_count()} x {models[0] if models else platform.machine()} ({' '.join(simd)})"
    return {"processor": processor, "system": f"{platform.system()} {platform.machine()}", "date": str(date.today())}
