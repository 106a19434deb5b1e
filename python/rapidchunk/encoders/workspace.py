"""Memory for work on a CUDA device: buffers that are kept from batch to batch, pinned staging, pointers that are checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["Workspace", "pointer"]

Array = NDArray[Any]
_ALIGNMENT = 256  # of cudaMalloc, and of every array within a buffer


class Workspace:
    """Device buffers and pinned host memory that only grow. Everything is queued on one stream, whose order makes reuse safe.

    For use by one thread at a time, with `stream` current.
    """

    def __init__(self, cupy: Any, stream: Any) -> None:
        self._cupy = cupy
        self._stream = stream
        self._buffers: dict[str, Any] = {}
        # Two, so that the host fills one while the other is still being copied.
        self._staging: list[tuple[Array, Any] | None] = [None, None]
        self._turn = 0

    def array(self, name: str, shape: Sequence[int], dtype: DTypeLike) -> Any:
        """A device array in the buffer `name`, uninitialised. It ends the use of the last array of that name."""
        count = int(np.prod(shape, dtype=np.int64))
        size = count * np.dtype(dtype).itemsize
        buffer = self._buffers.get(name)
        if buffer is None or buffer.nbytes < size:
            # The old buffer is let go first: both need not fit.
            self._buffers.pop(name, None)
            buffer = self._buffers[name] = self._cupy.empty(_rounded(size), np.uint8)
        return buffer[:size].view(dtype).reshape(tuple(shape))

    def upload(self, arrays: Sequence[Array]) -> list[Any]:
        """Copies host arrays to the device, all in one asynchronous copy, and gives them as device arrays.

        They live until the next upload. Waits only if the copy before last is still under way.
        """
        starts = np.concatenate([[0], np.cumsum([-(-array.nbytes // _ALIGNMENT) * _ALIGNMENT for array in arrays])])
        total = int(starts[-1])
        target = self.array("upload", (total,), np.uint8)
        staging = self._free_staging(total)
        for array, start in zip(arrays, starts.tolist()):
            staging[start : start + array.nbytes].view(array.dtype).reshape(array.shape)[...] = array
        if total:
            runtime = self._cupy.cuda.runtime
            runtime.memcpyAsync(
                target.data.ptr, staging.ctypes.data, total, runtime.memcpyHostToDevice, self._stream.ptr
            )
        event = self._cupy.cuda.Event(block=False, disable_timing=True)
        event.record(self._stream)
        self._staging[self._turn] = (staging, event)
        self._turn = 1 - self._turn
        return [
            target[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
            for array, start in zip(arrays, starts.tolist())
        ]

    def _free_staging(self, size: int) -> Array:
        """Pinned memory of at least `size` bytes that no copy reads any more."""
        oldest = self._staging[self._turn]
        if oldest is not None:
            staging, event = oldest
            event.synchronize()
            if staging.nbytes >= size:
                return staging
        return np.frombuffer(self._cupy.cuda.alloc_pinned_memory(_rounded(size)), np.uint8, _rounded(size))

    def clear(self) -> None:
        """Gives the device buffers back to CuPy's pool, and the pool's free memory to the device."""
        self._buffers.clear()
        self._cupy.get_default_memory_pool().free_all_blocks()


def _rounded(size: int) -> int:
    """Some more than `size`, so that slightly larger batches do not ask for memory again: to 1/8 of the next power of 2."""
    step = max(_ALIGNMENT, 1 << max(size.bit_length() - 3, 0))
    return max(-(-size // step) * step, step)


def pointer(array: Any, name: str, dtype: DTypeLike, shape: Sequence[int]) -> int:
    """Address of a device array, for ONNX Runtime, which believes whatever it is told about size and type.

    Raises:
        RuntimeError: the array is not what the model's input or output `name` needs, or does not fit its memory.
    """
    if array.dtype != np.dtype(dtype) or tuple(array.shape) != tuple(shape) or not array.flags.c_contiguous:
        raise RuntimeError(
            f"{name} must be a contiguous array of {np.dtype(dtype)} {tuple(shape)}, got {array.dtype} {array.shape}"
        )
    memory = array.data.mem
    if array.data.ptr < memory.ptr or array.data.ptr + array.nbytes > memory.ptr + memory.size:
        raise RuntimeError(f"{name} reaches beyond its memory of {memory.size} bytes")
    return int(array.data.ptr)
