"""The kernels: in plain Python (`reference`), native (`cpu`) and in CUDA (`cuda`), under the same names."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

__all__ = ["run", "to_host"]


def run(name: str, array: Any, *arguments: Any) -> Any:
    """The kernel `name` where `array`, its first argument, lies: native for NumPy's memory, in CUDA for a CuPy array.

    In CUDA the result is a CuPy array too, and `arguments` may be of either kind. A kernel that CUDA does not have runs
    on the CPU, on copies.
    """
    from rapidchunk.kernels import cpu

    values = [array, *arguments]
    if _on_device(array):
        from rapidchunk.kernels import cuda

        if hasattr(cuda, name):
            with array.device:
                return getattr(cuda, name)(*values)
        values = [to_host(value) if _on_device(value) else value for value in values]
    return getattr(cpu, name)(*values)


def to_host(array: Any) -> NDArray[Any]:
    """The array in NumPy, copied if it is on a device."""
    host: NDArray[Any] = array.get() if _on_device(array) else array
    return host


def _on_device(array: Any) -> bool:
    return hasattr(array, "__cuda_array_interface__")
