"""Encoding on a CUDA device: tokens go up in one copy, vectors stay there.

CuPy owns every array; ONNX Runtime gets their addresses. Copies, the model and our kernels are queued on one stream, and
the host waits for the device only when somebody wants to see the result. The host packs the tokens: 12 bytes each, well
under a percent of what the device needs for a token of the smallest model.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rapidchunk.encoders.batches import Windows, buckets, packs
from rapidchunk.encoders.signature import Signature
from rapidchunk.encoders.tokens import ModelTokenizer
from rapidchunk.encoders.workspace import Workspace, pointer
from rapidchunk.kernels import cpu

__all__ = [
    "BATCH_TOKENS",
    "CudaRun",
    "Device",
    "installation_advice",
    "open_device",
    "open_session",
    "parse",
    "require",
]

logger = logging.getLogger("rapidchunk")

Array = NDArray[Any]
#: Tokens in a batch when the caller does not say: enough to fill any card with the smallest model, and about 1 GiB of
#: ONNX Runtime's memory with a model of 1024 dimensions.
BATCH_TOKENS = 65536


@dataclass(frozen=True)
class Device:
    """A CUDA device: its index, the modules that work on it, and ONNX Runtime's names for it."""

    index: int
    cupy: Any
    kernels: Any
    provider: str = "CUDAExecutionProvider"
    memory: str = "cuda"


def parse(device: str) -> tuple[str, int]:
    """("cpu", "cuda" or "auto", index) from "cpu", "cuda", "cuda:1" or "auto".

    Raises:
        ValueError: anything else.
    """
    kind, colon, index = device.partition(":") if isinstance(device, str) else ("", "", "")
    if kind not in ("cpu", "cuda", "auto") or (colon and not (kind == "cuda" and index.isdecimal())):
        raise ValueError(f"device must be 'cpu', 'cuda', 'cuda:0', 'cuda:1', ... or 'auto', got {device!r}")
    return kind, int(index or 0)


def installation_advice() -> str:
    """What is wrong with the installed packages, or "" if nothing is."""

    def installed(name: str) -> bool:
        try:
            metadata.distribution(name)
        except metadata.PackageNotFoundError:
            return False
        return True

    if installed("onnxruntime") and installed("onnxruntime-gpu"):
        return (
            "onnxruntime and onnxruntime-gpu are both installed and overwrite each other's files: pip uninstall -y "
            "onnxruntime onnxruntime-gpu, then pip install rapidchunk[gpu] (which serves the CPU as well)"
        )
    return ""


def require() -> None:
    """Raises where CUDA surely cannot be used, without starting it: a process that has started CUDA must not fork.

    Raises:
        ImportError: CuPy is missing.
        RuntimeError: ONNX Runtime has no CUDA, or there is no driver.
    """
    import onnxruntime  # type: ignore[import-untyped]

    providers = onnxruntime.get_available_providers()
    if "CUDAExecutionProvider" not in providers:
        advice = installation_advice() or "install onnxruntime-gpu in its place: pip install rapidchunk[gpu]"
        raise RuntimeError(f"the installed onnxruntime has no CUDA (it has {', '.join(providers)}); {advice}")
    _cupy()
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise RuntimeError(f"there is no NVIDIA driver ({error})") from error


def _cupy() -> Any:
    try:
        import cupy  # type: ignore[import-not-found]
    except ImportError as error:
        raise ImportError(f"CuPy cannot be imported ({error}): pip install rapidchunk[gpu]") from error
    return cupy


def open_device(index: int) -> Device:
    """The device, ready for use.

    Raises:
        ImportError, RuntimeError: as `require`; or the driver refuses, or there is no such device.
    """
    require()
    if advice := installation_advice():  # it works for now
        logger.warning("%s", advice)
    cupy = _cupy()
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # CUDARuntimeError, whose class moves from version to version
        if "nitialization" in str(error):
            raise RuntimeError(
                f"CUDA was started before this process was forked; spawn it instead ({error})"
            ) from error
        raise RuntimeError(f"the CUDA driver refuses: {error}") from error
    if index >= count:
        raise RuntimeError(f"there is no device {index}, only {count}")
    from rapidchunk.kernels import cuda as kernels

    return Device(index, cupy, kernels)


def open_session(device: Device, path: Path, stream: Any, *, strict: bool) -> Any:
    """A session that runs on `stream`. `strict`: every operator must run on the device.

    Raises:
        RuntimeError: ONNX Runtime cannot use the device; the message says why.
    """
    import onnxruntime as ort

    with contextlib.redirect_stdout(sys.stderr):  # it prints what it does not find
        ort.preload_dlls()  # CUDA and cuDNN from pip packages
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.enable_mem_pattern = False  # plans are kept for every input shape, and nearly every batch has its own
    if strict:
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    provider = {
        "device_id": str(device.index),
        "user_compute_stream": str(stream.ptr),
        "arena_extend_strategy": "kSameAsRequested",
    }
    try:
        session = ort.InferenceSession(str(path), options, providers=[(device.provider, provider)])
    except Exception as error:  # whatever the driver says
        cause = _library_error(ort) or str(error)
        raise RuntimeError(f"ONNX Runtime cannot use device {device.index}: {cause}") from error
    if session.get_providers()[0] != device.provider:
        cause = _library_error(ort) or "it left the provider out without a reason"
        raise RuntimeError(f"ONNX Runtime cannot use device {device.index}: {cause}")
    session.disable_fallback()
    return session


def _library_error(ort: Any) -> str:
    """Why the CUDA part of ONNX Runtime does not load, which ONNX Runtime only logs; "" if it does."""
    try:
        ctypes.CDLL(str(Path(ort.__file__).parent / "capi" / "libonnxruntime_providers_cuda.so"))
    except OSError as error:
        return str(error)
    return ""


class _Batch(NamedTuple):
    """One run of the model, as the host prepares it."""

    inputs: dict[str, Array]
    shape: tuple[int, ...]  # of the output
    first: int  # its windows are [first, last) of the sorted ones
    last: int
    row_start: Array  # int64 [last - first], the token vectors of each window in the output as a matrix, to be averaged
    row_end: Array


class CudaRun:
    """A session on a CUDA device with its stream and its memory. Threads take turns."""

    def __init__(
        self,
        device: Device,
        session: Any,
        stream: Any,
        tokens: ModelTokenizer,
        *,
        pooling: str,
        by_tokens: bool,
        normalize: bool,
        max_length: int,
        max_batch_tokens: int | None,
        batch_size: int | None,
    ) -> None:
        import onnxruntime as ort

        self.device = device
        self.session = session
        self.stream = stream
        self.signature = Signature.of(session, by_tokens)
        self.max_batch_tokens = max_batch_tokens or BATCH_TOKENS
        self.batch_size = batch_size
        self._tokens = tokens
        self._pooling = pooling
        self._normalize = normalize
        self._max_length = max_length
        self._workspace = Workspace(device.cupy, stream)
        self._lock = threading.Lock()
        self._told = False
        self._options = ort.RunOptions()
        self._options.add_run_config_entry("disable_synchronize_execution_providers", "1")
        self.dimension = self.signature.dimension or self._ask_dimension()

    def encode(self, parts: Iterator[Windows], count: int) -> Any:
        """Vectors [count, dimension] of the texts of all parts, a float32 array on the device.

        Each part is queued before the next is taken from `parts`, which may cut and tokenise texts meanwhile.

        Raises:
            RuntimeError: one text alone does not fit the memory of the device.
        """
        cupy = self.device.cupy
        with self.device.cupy.cuda.Device(self.device.index):
            with self._lock, self.stream:
                out = cupy.empty((count, self.dimension), np.float32)
            done = 0
            for windows in parts:
                with self._lock, self.stream:
                    self._queue(windows, out[done : done + windows.texts])
                done += windows.texts
            self.stream.synchronize()
        return out

    def _queue(self, windows: Windows, out: Any) -> None:
        """Encodes one part into `out`, in smaller batches if the memory runs out."""
        while True:
            try:
                return self._encode(windows, out)
            except Exception as error:
                if not _out_of_memory(error):
                    raise
                longest = int(windows.lengths.max())
                self.stream.synchronize()
                self._workspace.clear()
                if self.max_batch_tokens <= longest:
                    raise RuntimeError(
                        f"device 'cuda:{self.device.index}' has too little free memory for one text of {longest} tokens"
                    ) from error
                self.max_batch_tokens = max(self.max_batch_tokens // 2, longest)
                if not self._told:
                    logger.warning(
                        "device 'cuda:%d' is out of memory: going on with batches of %d tokens; give "
                        "max_batch_tokens to choose them",
                        self.device.index,
                        self.max_batch_tokens,
                    )
                    self._told = True

    def _encode(self, windows: Windows, out: Any) -> None:
        if not len(windows.text):
            out.fill(0)
            return
        workspace, kernels = self._workspace, self.device.kernels
        order = np.argsort(-windows.lengths, kind="stable")
        batches = list(self._batches(windows, order))
        # Every text is the mean of its windows' vectors, weighted by their tokens; they stand in order of length.
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        offsets = np.concatenate([[0], np.cumsum(np.bincount(windows.text, minlength=windows.texts))]).astype(np.int64)
        last = [place, place + 1, offsets]
        if len(order) > np.count_nonzero(np.diff(offsets)):
            last.append(_shares(windows)[order])
        sent = workspace.upload(
            [
                *(array for batch in batches for array in (*batch.inputs.values(), batch.row_start, batch.row_end)),
                *last,
            ]
        )
        pooled = workspace.array("pooled", (len(order), self.dimension), np.float32)
        at = 0
        for batch in batches:
            inputs = dict(zip(batch.inputs, sent[at:]))
            at += len(inputs) + 2
            result = self.run(inputs, batch.shape)
            rows = pooled[batch.first : batch.last]
            if self.signature.rank == 2 and not self.signature.packed:
                rows[...] = result[: batch.last - batch.first]
            else:
                matrix = result.reshape((-1, self.dimension))
                rows[...] = kernels.pool_spans(matrix, sent[at - 2], sent[at - 1], normalize=False)
        if len(last) > 3:
            pooled *= sent[-1][:, None]
        out[...] = kernels.pool_spans(pooled, *sent[at : at + 3], normalize=self._normalize)

    def run(self, inputs: dict[str, Any], shape: tuple[int, ...]) -> Any:
        """The model on device arrays; the result [shape], which is overwritten by the next run, is queued, not ready."""
        signature, device = self.signature, self.device
        result = self._workspace.array("result", shape, signature.dtype)
        binding = self.session.io_binding()
        for name, array in inputs.items():
            dtype = signature.inputs[name]
            address = pointer(array, name, dtype, array.shape)
            binding.bind_input(name, device.memory, device.index, dtype, array.shape, address)
        address = pointer(result, signature.output, signature.dtype, shape)
        binding.bind_output(signature.output, device.memory, device.index, signature.dtype, shape, address)
        self.session.run_with_iobinding(binding, self._options)
        return result

    def _batches(self, windows: Windows, order: Array) -> Iterator[_Batch]:
        lengths = windows.lengths[order]
        start, end = windows.start[order], windows.end[order]
        if self.signature.packed:
            for first, last in packs(lengths, self.max_batch_tokens, self.batch_size):
                yield self._packed(windows.ids, start[first:last], end[first:last], lengths[first:last], first)
        else:
            for first, last, rows, columns in buckets(
                lengths, self.max_batch_tokens, self.batch_size, self._max_length
            ):
                here = slice(first, last)
                yield self._padded(windows.ids, start[here], end[here], lengths[here], first, rows, columns)

    def _packed(self, ids: Array, start: Array, end: Array, lengths: Array, first: int) -> _Batch:
        tokens = self._tokens
        packed, position, cu_seqlens = cpu.pack_windows(ids, start, end, tokens.prefix, tokens.suffix)
        columns = np.arange(int(lengths[0]), dtype=np.int32)
        table = np.arange(len(lengths) * len(columns), dtype=np.int32).reshape(len(lengths), -1)
        real = columns < lengths[:, None]
        inputs = {
            "input_ids": packed,
            "position_ids": position,
            "token_offset": np.concatenate([table[real], table[~real]]).reshape(table.shape),
            "cu_seqlens": cu_seqlens,
        }
        ends = cu_seqlens[1:].astype(np.int64)
        return self._batch(inputs, (len(packed), self.dimension), first, ends - lengths, ends)

    def _padded(
        self, ids: Array, start: Array, end: Array, lengths: Array, first: int, rows: int, columns: int
    ) -> _Batch:
        tokens, signature = self._tokens, self.signature
        count = len(lengths)
        more = np.zeros(rows - count, np.int64)  # the first window again: a row without tokens may give NaN
        table, mask = cpu.gather_windows(
            ids,
            np.concatenate([start, start[more]]),
            np.concatenate([end, end[more]]),
            tokens.prefix,
            tokens.suffix,
            tokens.pad,
            columns,
        )
        known = {
            "input_ids": table,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(table),
            "lengths": np.concatenate([lengths, lengths[more]]),
        }
        inputs = {name: known[name].astype(dtype) for name, dtype in signature.inputs.items()}
        shape = (rows, columns, self.dimension) if signature.rank == 3 else (rows, self.dimension)
        begin = np.arange(count, dtype=np.int64) * columns
        return self._batch(inputs, shape, first, begin, begin + lengths)

    def _batch(self, inputs: dict[str, Array], shape: tuple[int, ...], first: int, start: Array, end: Array) -> _Batch:
        last = first + len(start)
        if self._pooling == "cls":
            return _Batch(inputs, shape, first, last, start, start + 1)
        if self._pooling == "last":
            return _Batch(inputs, shape, first, last, end - 1, end)
        return _Batch(inputs, shape, first, last, start, end)

    def _ask_dimension(self) -> int:
        """The length of a vector, from one run on one token, where the graph does not say."""
        inputs = {
            name: np.ones((1,) if name == "lengths" else (1, 1), dtype) for name, dtype in self.signature.inputs.items()
        }
        if "token_type_ids" in inputs:
            inputs["token_type_ids"][:] = 0
        shape: tuple[int, ...] = self.session.run([self.signature.output], inputs)[0].shape
        return shape[-1]

    def first_not_finite(self, vectors: Any) -> int | None:
        """Index of the first row that holds NaN or infinity."""
        cupy = self.device.cupy
        with cupy.cuda.Device(self.device.index), self.stream:
            bad = cupy.asnumpy(cupy.isfinite(vectors).all(axis=1))
        rows = np.flatnonzero(~bad)
        return int(rows[0]) if len(rows) else None

    def to_host(self, vectors: Any) -> Array:
        """A copy of a device array in NumPy."""
        with self.device.cupy.cuda.Device(self.device.index), self.stream:
            host: Array = self.device.cupy.asnumpy(vectors)
        return host


def _shares(windows: Windows) -> Array:
    """float32 [windows]: what to multiply each window's vector by, so that the plain mean over a text is the weighted one."""
    tokens = np.maximum(windows.end - windows.start, 1).astype(np.float64)
    total = np.bincount(windows.text, tokens, windows.texts)[windows.text]
    count = np.bincount(windows.text, minlength=windows.texts)[windows.text]
    shares: Array = (tokens * count / total).astype(np.float32)
    return shares


def _out_of_memory(error: Exception) -> bool:
    """CuPy raises a MemoryError; ONNX Runtime has only words for it."""
    text = str(error).lower()
    said = ("out of memory", "failed to allocate memory", "cublas_status_alloc_failed")
    return isinstance(error, MemoryError) or any(words in text for words in said)
