"""Compiles the CUDA sources for the architectures that they must run on, with nvcc where it is, else with NVRTC from the
package index. A check of the language only: nothing is run.

    python tools/check_cuda.py             compiles
    python tools/check_cuda.py --report    and prints registers and spills of every kernel, as Markdown (needs nvcc)
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
ARCHITECTURES = ("sm_80", "sm_90", "sm_100")


def with_nvcc(source: Path) -> None:
    for architecture in ARCHITECTURES:
        command = ["nvcc", "-std=c++17", "-fmad=false", "-I", str(ROOT / "csrc"), f"-arch={architecture}", "-cubin"]
        subprocess.run([*command, "-o", "/dev/null", str(source)], check=True)


def with_nvrtc(source: Path) -> None:
    from cuda.bindings import nvrtc

    text = source.read_text().encode()
    for architecture in ARCHITECTURES:
        _, program = nvrtc.nvrtcCreateProgram(text, source.name.encode(), 0, [], [])
        options = [b"--std=c++17", b"--fmad=false", b"--device-int128", f"-arch={architecture}".encode()]
        options.append(f"-I{ROOT / 'csrc'}".encode())
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if status:
            _, size = nvrtc.nvrtcGetProgramLogSize(program)
            log = b" " * size
            nvrtc.nvrtcGetProgramLog(program, log)
            sys.exit(f"{source} for {architecture}:\n{log.decode()}")


def report(sources: list[Path]) -> None:
    found: dict[str, dict[str, str]] = {}
    for source in sources:
        for architecture in ARCHITECTURES:
            command = ["nvcc", "-std=c++17", "-fmad=false", "-I", str(ROOT / "csrc"), f"-arch={architecture}", "-cubin"]
            done = subprocess.run(
                [*command, "-Xptxas", "-v", "-o", "/dev/null", str(source)], check=True, capture_output=True, text=True
            )
            pattern = (
                r"entry function '(\w+)'.*?(\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers"
            )
            for kernel, stores, loads, registers in re.findall(pattern, done.stderr, re.DOTALL):
                spilled = int(stores) + int(loads)
                found.setdefault(kernel, {})[architecture] = registers + (f", {spilled} B spilled" if spilled else "")
    version = subprocess.run(["nvcc", "--version"], check=True, capture_output=True, text=True).stdout
    release = re.search(r"release ([\d.]+)", version)
    print("# CUDA kernels: registers and spills\n")
    print(f"`python tools/check_cuda.py --report`, nvcc {release[1] if release else '?'}. Not yet run on a GPU.\n")
    print("| kernel | " + " | ".join(ARCHITECTURES) + " |\n|---|" + "---|" * len(ARCHITECTURES))
    for kernel, row in sorted(found.items()):
        print(f"| {kernel} | " + " | ".join(row.get(architecture, "") for architecture in ARCHITECTURES) + " |")


sources = sorted((ROOT / "csrc").glob("*/*.cu"))
if not sources:
    print("no CUDA sources")
    sys.exit()
if "--report" in sys.argv:
    report(sources)
    sys.exit()
compiler = with_nvcc
if shutil.which("nvcc") is None:
    compiler = with_nvrtc
    packages = ["nvidia-cuda-nvrtc>=13", "cuda-bindings>=13"]
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *packages], check=True)
for path in sources:
    compiler(path)
print(f"{len(sources)} CUDA sources compile for {', '.join(ARCHITECTURES)} ({compiler.__name__.removeprefix('with_')})")
