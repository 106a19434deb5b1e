"""OpenVINO as another runtime for the same graphs, on the CPU.

Batches do not change results here either: weights stored as int8 are multiplied as float32 (OpenVINO's dynamic
quantisation is off), and bfloat16 rounds every value on its own. What was measured: benchmarks/results/encoders.md.
"""

from __future__ import annotations

import importlib.util
import threading
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["RUNTIMES", "Session", "choose"]

RUNTIMES = ("onnxruntime", "openvino")
PRECISIONS = ("fp32", "fp16", "int8", "bf16", "fast")


def choose(runtime: str | None, precision: str | None, device: str) -> tuple[str, str]:
    """The runtime and the precision for what a caller asks for.

    "fast" is the fastest that does not depend on the batch: bfloat16 in OpenVINO where the CPU computes with it (AMX or
    AVX512-BF16), else float32 in OpenVINO, else (OpenVINO is missing, or CUDA is there) in ONNX Runtime float32 or, on CUDA,
    float16, which is also the default there.

    Raises:
        ValueError: a bad argument, or arguments that exclude each other; the message names one.
        ImportError: OpenVINO is asked for and missing.
        RuntimeError: bfloat16 is asked for, and this CPU does not have it.
    """
    if runtime not in (None, *RUNTIMES):
        raise ValueError(f"runtime must be one of {', '.join(RUNTIMES)}, got {runtime!r}")
    if precision not in (None, *PRECISIONS):
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}")
    if device == "cuda" and (runtime == "openvino" or precision == "bf16"):
        raise ValueError("runtime 'openvino' has no device 'cuda'")
    if precision is None:
        precision = "fp16" if device == "cuda" else "fp32"
    if precision == "fp16" and (device == "cpu" or runtime == "openvino"):
        raise ValueError("precision 'fp16' is for CUDA devices")
    if precision == "fast":
        if runtime is None:
            runtime = "onnxruntime" if _cuda_wanted(device) or not _installed("openvino") else "openvino"
        if runtime == "openvino":
            return runtime, "bf16" if _has_bfloat16() else "fp32"
        return runtime, "fp16" if device == "cuda" else "fp32"
    if precision == "bf16" and runtime is None:
        runtime = "openvino"
    if precision == "bf16" and runtime == "onnxruntime":
        raise ValueError("precision 'bf16' needs runtime 'openvino'")
    if precision == "bf16" and not _has_bfloat16():
        raise RuntimeError("precision 'bf16': this CPU does not compute with bfloat16 ('fast' takes the best it has)")
    if runtime == "openvino":
        _openvino()
    return runtime or "onnxruntime", precision


def _cuda_wanted(device: str) -> bool:
    if device != "auto" or not _installed("onnxruntime"):
        return device == "cuda"
    import onnxruntime

    return "CUDAExecutionProvider" in onnxruntime.get_available_providers()


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _openvino() -> Any:
    try:
        import openvino
    except ImportError as error:
        raise ImportError("runtime 'openvino' needs openvino: pip install rapidchunk[openvino]") from error
    return openvino


def _has_bfloat16() -> bool:
    return "BF16" in _openvino().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")


class _Value(NamedTuple):
    name: str
    type: str
    shape: list[int | None]


class Session:
    """A graph in OpenVINO, with the part of `onnxruntime.InferenceSession` that `OnnxEncoder` uses. Threads may share it."""

    def __init__(self, path: Path, precision: str, threads: int) -> None:
        openvino = _openvino()
        core = openvino.Core()
        hints = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "INFERENCE_PRECISION_HINT": "bf16" if precision == "bf16" else "f32",
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,
        }
        self._compiled = core.compile_model(core.read_model(str(path)), "CPU", hints)
        self._own = threading.local()  # a request holds the arrays of one call

    def get_inputs(self) -> list[_Value]:
        return [_value(port) for port in self._compiled.inputs]

    def get_outputs(self) -> list[_Value]:
        return [_value(port) for port in self._compiled.outputs]

    def run(self, names: list[str], arrays: dict[str, Any]) -> list[Any]:
        """The outputs `names` for arrays that are read in place; the results are valid until this thread's next call."""
        request = getattr(self._own, "request", None)
        if request is None:
            request = self._own.request = self._compiled.create_infer_request()
        results = request.infer(arrays, share_inputs=True, share_outputs=True)
        return [results[name] for name in names]


def _value(port: Any) -> _Value:
    types = {"f32": "float", "f16": "float16", "i32": "int32", "i64": "int64"}
    kind = port.element_type.get_type_name()
    shape = [None if size.is_dynamic else size.get_length() for size in port.partial_shape]
    return _Value(port.any_name, f"tensor({types.get(kind, kind)})", shape)
