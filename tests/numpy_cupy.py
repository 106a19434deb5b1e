"""A stand-in for CuPy over NumPy, as far as rapidchunk uses CuPy, and the kernels on its arrays: for tests without a GPU.

It is as strict as the real one where that matters: host and device arrays do not mix, nothing becomes a host array by
itself, memory that runs out raises. `calls` lists what would make the host wait for the device.
"""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import sys
import tempfile
import types
from pathlib import Path
from typing import ClassVar

import numpy as np
import rapidchunk.kernels
from rapidchunk.encoders.cuda import Device
from rapidchunk.kernels import cpu

calls: list[str] = []
#: Bytes that device arrays may hold together; None for no limit.
memory_limit: int | None = None
_memory_used = 0


class OutOfMemoryError(MemoryError):
    pass


class _Memory:
    def __init__(self, size: int) -> None:
        global _memory_used
        if memory_limit is not None and _memory_used + size > memory_limit:
            raise OutOfMemoryError(f"Out of memory allocating {size} bytes (allocated so far: {_memory_used} bytes).")
        # 256 bytes more for the alignment that cudaMalloc gives; filled with what is wrong for every use.
        self.bytes = np.full(size + 256, 0xA5, np.uint8)
        skip = -self.bytes.ctypes.data % 256
        self.bytes = self.bytes[skip : skip + size]
        self.size, self.ptr = size, self.bytes.ctypes.data
        _memory_used += size

    def __del__(self) -> None:
        global _memory_used
        _memory_used -= getattr(self, "size", 0)


def _host(value):
    """The NumPy array in a device array; scalars pass; a host array is refused as CuPy does."""
    if isinstance(value, ndarray):
        return value._host
    if isinstance(value, (np.ndarray, list, tuple)):
        raise TypeError(f"Unsupported type {type(value)}")
    return value


class ndarray:
    """A device array."""

    __hash__ = None

    def __init__(self, host: np.ndarray, memory: _Memory) -> None:
        self._host, self._memory = host, memory

    @property
    def data(self):
        return types.SimpleNamespace(ptr=self._host.ctypes.data, mem=self._memory)

    dtype = property(lambda self: self._host.dtype)
    shape = property(lambda self: self._host.shape)
    ndim = property(lambda self: self._host.ndim)
    size = property(lambda self: self._host.size)
    nbytes = property(lambda self: self._host.nbytes)
    flags = property(lambda self: self._host.flags)
    device = property(lambda self: _device(0))
    __cuda_array_interface__ = property(
        lambda self: {"shape": self.shape, "data": (self.data.ptr, False), "version": 3}
    )

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def __len__(self) -> int:
        return len(self._host)

    def __getitem__(self, key):
        found = self._host[_key(key)]
        if isinstance(found, np.ndarray) and found.base is not None:
            return ndarray(found, self._memory)
        return _new(np.asarray(found))

    def __setitem__(self, key, value) -> None:
        self._host[_key(key)] = _host(value)

    def __imul__(self, other):
        self._host *= _host(other)
        return self

    def __mul__(self, other):
        return _new(self._host * _host(other))

    def __sub__(self, other):
        return _new(self._host - _host(other))

    def __lshift__(self, bits):
        return _new(self._host << _host(bits))

    def __eq__(self, other):
        return _new(self._host == _host(other))

    def __array_function__(self, function, types, arguments, options):
        assert function is np.where
        return _new(function(*map(_host, arguments)))

    def view(self, dtype):
        return ndarray(self._host.view(dtype), self._memory)

    def reshape(self, *shape):
        shaped = self._host.reshape(*shape)
        assert np.shares_memory(shaped, self._host) or not shaped.size, "a reshape that copies"
        return ndarray(shaped, self._memory)

    def astype(self, dtype, copy=True):
        return _new(self._host.astype(dtype)) if copy or self.dtype != dtype else self

    def all(self, axis=None):
        return _new(self._host.all(axis=axis))

    def fill(self, value) -> None:
        self._host.fill(value)

    def get(self, stream=None) -> np.ndarray:
        calls.append("get")
        return self._host.copy()

    def __dlpack__(self, **options):
        return self._host.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._host.__dlpack_device__()


def _key(key):
    return tuple(map(_host, key)) if isinstance(key, tuple) else _host(key)


def _new(host: np.ndarray) -> ndarray:
    out = empty(host.shape, host.dtype)
    out._host[...] = host
    return out


def empty(shape, dtype=np.float32) -> ndarray:
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    count = int(np.prod(shape, dtype=np.int64))
    memory = _Memory(count * np.dtype(dtype).itemsize)
    return ndarray(memory.bytes.view(dtype).reshape(shape), memory)


def zeros(shape, dtype=np.float32) -> ndarray:
    out = empty(shape, dtype)
    out.fill(0)
    return out


def asarray(value, dtype=None) -> ndarray:
    return value if isinstance(value, ndarray) else _new(np.ascontiguousarray(value, dtype))


def asnumpy(value) -> np.ndarray:
    return value.get() if isinstance(value, ndarray) else np.asarray(value)


def ascontiguousarray(value) -> ndarray:
    return value if value.flags.c_contiguous else _new(value._host)


def isfinite(value) -> ndarray:
    return _new(np.isfinite(_host(value)))


def get_default_memory_pool():
    return types.SimpleNamespace(free_all_blocks=lambda: None)


class _Stream:
    current: ClassVar[list[_Stream]] = []
    busy: ClassVar[bool] = False

    def __init__(self, non_blocking: bool = False) -> None:
        assert non_blocking, "the null stream would wait for this one"
        self.ptr = id(self)

    def __enter__(self):
        _Stream.current.append(self)
        return self

    def __exit__(self, *_) -> None:
        _Stream.current.pop()

    def synchronize(self) -> None:
        calls.append("stream.synchronize")
        _Stream.busy = False


class _Event:
    def __init__(self, block: bool = False, disable_timing: bool = False) -> None:
        pass

    def record(self, stream) -> None:
        self.stream = stream

    def synchronize(self) -> None:
        calls.append("event.synchronize")


class _device:
    def __init__(self, index: int = 0) -> None:
        assert index == 0
        self.id = index

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        pass


def _memcpy_async(target: int, source: int, size: int, kind: int, stream: int) -> None:
    assert kind == 1 and stream == _Stream.current[-1].ptr
    ctypes.memmove(target, source, size)


cuda = types.SimpleNamespace(
    Stream=_Stream,
    Event=_Event,
    Device=_device,
    alloc_pinned_memory=bytearray,
    runtime=types.SimpleNamespace(memcpyAsync=_memcpy_async, memcpyHostToDevice=1, getDeviceCount=lambda: 1),
)


class RawModule:
    """The kernels of the CUDA sources, in the emulator."""

    def __init__(self, code: str, options: tuple[str, ...]) -> None:
        assert code.count("#include") == 6 and "--fmad=false" in options
        self._library = _emulator()

    def get_function(self, name: str):
        def call(grid, block, arguments) -> None:
            words = np.zeros(len(arguments), np.uint64)
            for word, value in zip(words.reshape(-1, 1), arguments):
                assert isinstance(value, (ndarray, np.int32, np.int64, np.uint64)), (
                    "CuPy takes an int for an int64 or an int32"
                )
                value = np.uint64(value.data.ptr) if isinstance(value, ndarray) else value
                word.view(np.uint8)[: value.nbytes] = np.frombuffer(value.tobytes(), np.uint8)
            assert self._library.emulate(name.encode(), *grid, *block, ctypes.c_void_p(words.ctypes.data)) == 0

        return call


@functools.cache
def _emulator():
    folder = Path(tempfile.mkdtemp())
    library = folder / "emulator.so"
    root = Path(__file__).parents[1]
    options = ["-std=c++17", "-O1", "-ffp-contract=off", "-fPIC", "-shared", f"-I{root / 'csrc'}"]
    source = root / "tests" / "cuda_emulator.cpp"
    subprocess.run([os.environ.get("CXX", "g++"), *options, "-o", str(library), str(source)], check=True)
    return ctypes.CDLL(str(library))


def _kernel(name: str):
    run = getattr(cpu, name)

    def kernel(*arguments, **options):
        assert _Stream.current or not _Stream.busy, (
            "a kernel on another stream than that of its data, which may not be there"
        )
        _Stream.busy = bool(_Stream.current)
        # The first argument says where the kernel runs, the others may have to be copied there.
        host = [_host(arguments[0]), *(x if isinstance(x, np.ndarray) else _host(x) for x in arguments[1:])]
        result = run(*host, **{key: _host(value) for key, value in options.items()})
        return tuple(map(_new, result)) if isinstance(result, tuple) else _new(result)

    return kernel


def _pool_spans(vectors, *spans, normalize=True):
    """As on a device, where nobody waits to see whether a mean is finite: one that is not stays so."""
    try:
        return _kernel("pool_spans")(vectors, *spans, normalize=normalize)
    except ValueError:
        known = np.nan_to_num(_host(vectors), nan=0, posinf=0, neginf=0)
        lost = (~np.isfinite(_host(vectors))).astype(np.float32)
        spans = [_host(array) for array in spans]
        found = cpu.pool_spans(known, *spans, normalize=normalize)
        return _new(np.where(cpu.pool_spans(lost, *spans, normalize=False) > 0, np.float32(np.nan), found))


_NAMES = (
    "adjacent_similarity",
    "boundary_candidates",
    "directional_cuts",
    "gather_windows",
    "greedy_cuts",
    "optimal_cuts",
    "pack_windows",
)
kernels = types.SimpleNamespace(pool_spans=_pool_spans, **{name: _kernel(name) for name in _NAMES})


def copyto(target, source) -> None:
    np.copyto(_host(target), _host(source))


def matmul(a, b, out) -> None:
    np.matmul(_host(a), _host(b), out=_host(out))


def concatenate(arrays) -> ndarray:
    return _new(np.concatenate([_host(array) for array in arrays]))


def device(index: int = 0) -> Device:
    """What `rapidchunk.encoders.cuda.open_device` gives, on the CPU."""
    return Device(index, sys.modules[__name__], kernels, "CPUExecutionProvider", "cpu")


def install(put=setattr) -> None:
    """Puts this module in the place of CUDA: `device="cuda"` then encodes packed graphs in NumPy, others in ONNX Runtime.

    `put(object, name, value)` sets an attribute; monkeypatch.setattr takes it back after a test.
    """
    from packed_session import PackedSession
    from rapidchunk.encoders import cuda as encoder

    real = encoder.open_session

    def open_session(device, path, stream, *, strict):
        return PackedSession(str(path)) if strict else real(device, path, stream, strict=strict)

    put(encoder, "require", lambda: None)
    put(encoder, "open_device", device)
    put(encoder, "open_session", open_session)
    put(rapidchunk.kernels, "cuda", kernels)
