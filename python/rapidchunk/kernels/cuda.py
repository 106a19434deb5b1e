"""Kernels in CUDA, compiled on first use from the sources that come with the package (CuPy caches the binaries).

They take and give CuPy arrays, except that all but the first argument may be NumPy arrays too, and are queued on CuPy's
current stream. The contracts are those of the same names in `kernels.reference`, and so are the results, bit for bit, with
one difference: what only the device could see is not checked, since the host would have to wait for it. Ranges must lie inside
their arrays; of vectors that are not finite the means are not finite either, and the similarities say nothing. `threads` is
not taken.
"""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["adjacent_similarity", "boundary_candidates", "greedy_cuts", "optimal_cuts", "pool_spans"]

_METHODS = ("threshold", "percentile", "std", "interquartile", "gradient", "depth")
_STAGES = ("vectors/pooling.cu", "similarity/similarity.cu", "boundaries/boundaries.cu")


def pool_spans(vectors: Any, start: Any, end: Any, offsets: Any = None, normalize: bool = True) -> Any:
    """The mean of the rows of each span: float32 [S, H]."""
    cupy, suffix = _cupy(), _suffix(vectors)
    start, end = _array(start, np.int64, "start"), _array(end, np.int64, "end")
    _check(len(start) == len(end), "end", "must have as many entries as start")
    if offsets is not None:
        offsets = _array(offsets, np.int64, "offsets")
    outputs = len(start) if offsets is None else len(offsets) - 1
    width = vectors.shape[1]
    out = cupy.empty((outputs, width), np.float32)
    null = np.uint64(0)
    arguments = (vectors, width, start, end, null if offsets is None else offsets, outputs, np.int32(normalize), out)
    _launch(f"rc_pool_{suffix}", outputs, 8, 256, arguments)
    return out


def adjacent_similarity(vectors: Any, doc_offsets: Any, block: int = 1) -> Any:
    """The cosine between each sentence's vector and the next one's, times 2^20: int32 [n]."""
    cupy, suffix = _cupy(), _suffix(vectors)
    offsets = _array(doc_offsets, np.int64, "doc_offsets")
    _check(block >= 1, "block", "must be at least 1")
    count, width = vectors.shape
    norms = cupy.empty((count, 2), np.float32)
    _launch(f"rc_norms_{suffix}", count, 8, 256, (vectors, count, width, norms))
    out = cupy.empty(count, np.int32)
    arguments = (vectors, norms, count, width, offsets, len(offsets) - 1, int(block), out)
    _launch(f"rc_similarity_{suffix}", count, 8, 256, arguments)
    return out


def boundary_candidates(similarity: Any, doc_offsets: Any, method: str, value: float) -> Any:
    """1 after the sentences that may end a chunk: uint8 [n]."""
    from rapidchunk.kernels import cpu

    empty = np.zeros(0, np.int32), np.zeros(1, np.int64)
    cpu.boundary_candidates(*empty, method, value)  # refuses what is wrong
    fraction, whole = math.modf(abs(value * 10**6))
    millionths = int(math.copysign(whole + (fraction >= 0.5), value))
    cupy = _cupy()
    similarity = _array(similarity, np.int32, "similarity")
    offsets = _array(doc_offsets, np.int64, "doc_offsets")
    count, documents = len(similarity), len(offsets) - 1
    measure, scratch = cupy.empty(count, np.int32), cupy.empty(count, np.int32)
    out = cupy.empty(count, np.uint8)
    number = np.int32(_METHODS.index(method))
    _launch(
        "rc_candidates", documents, 1, 64, (similarity, offsets, documents, number, millionths, measure, scratch, out)
    )
    return out


def greedy_cuts(
    similarity: Any, candidates: Any, first: Any, last: Any, doc_offsets: Any, min_tokens: int, max_tokens: int
) -> Any:
    """1 after the sentences that end a chunk: uint8 [n]."""
    cupy = _cupy()
    similarity, candidates = _array(similarity, np.int32, "similarity"), _array(candidates, np.uint8, "candidates")
    first, last, offsets = _sentences(first, last, doc_offsets, len(similarity), min_tokens, max_tokens)
    count, documents = len(similarity), len(offsets) - 1
    queue, out = cupy.empty(count, np.int64), cupy.zeros(count, np.uint8)
    arguments = (similarity, candidates, first, last, offsets, documents, int(min_tokens), int(max_tokens), queue, out)
    _launch("rc_greedy", documents, 1, 64, arguments)
    return out


def optimal_cuts(
    similarity: Any, first: Any, last: Any, doc_offsets: Any, min_tokens: int, max_tokens: int, penalty: int
) -> Any:
    """1 after the sentences that end a chunk, so that similarities and penalties add up to the least: uint8 [n]."""
    cupy = _cupy()
    similarity = _array(similarity, np.int32, "similarity")
    first, last, offsets = _sentences(first, last, doc_offsets, len(similarity), min_tokens, max_tokens)
    count, documents = len(similarity), len(offsets) - 1
    cost = cupy.empty((count + documents, 2), np.int64)
    scratch = [cupy.empty(count + documents, np.int64) for _ in range(3)]
    out = cupy.zeros(count, np.uint8)
    limits = int(min_tokens), int(max_tokens), int(penalty)
    _launch("rc_optimal", documents, 1, 64, (similarity, first, last, offsets, documents, *limits, cost, *scratch, out))
    return out


def _cupy() -> Any:
    import cupy

    return cupy


def _check(condition: bool, name: str, message: str) -> None:
    if not condition:
        raise ValueError(f"{name} {message}")


def _array(value: Any, dtype: DTypeLike, name: str) -> Any:
    array = _cupy().asarray(value)
    _check(array.dtype == dtype and array.ndim == 1, name, f"must be an array of {np.dtype(dtype)} with 1 dimension")
    return _cupy().ascontiguousarray(array)


def _suffix(vectors: Any) -> str:
    suffix = {np.dtype(np.float32): "float", np.dtype(np.float16): "half"}.get(vectors.dtype)
    _check(suffix is not None, "vectors", f"must have dtype float32 or float16, not {vectors.dtype}")
    _check(vectors.ndim == 2 and vectors.flags.c_contiguous, "vectors", "must be contiguous, with 2 dimensions")
    return str(suffix)


def _sentences(first: Any, last: Any, doc_offsets: Any, count: int, low: int, high: int) -> tuple[Any, Any, Any]:
    first, last = _array(first, np.int64, "first"), _array(last, np.int64, "last")
    for name, array in (("first", first), ("last", last)):
        _check(len(array) == count, name, "must have an entry for each sentence")
    _check(high >= 1, "max_tokens", "must be at least 1")
    _check(0 <= low <= high, "min_tokens", "must be from 0 to max_tokens")
    return first, last, _array(doc_offsets, np.int64, "doc_offsets")


def _launch(name: str, work: int, per_block: int, threads: int, arguments: tuple[Any, ...]) -> None:
    """Queues a kernel with one warp or thread for each piece of work, `per_block` of them (or a thread each) in a block."""
    if not work:
        return
    pieces = per_block if per_block > 1 else threads
    blocks = min(-(-work // pieces), 1 << 20)
    values = tuple(np.int64(value) if type(value) is int else value for value in arguments)
    _function(name, _cupy().cuda.Device().id)((blocks,), (threads,), values)


@functools.cache
def _function(name: str, device: int) -> Any:
    return _module(device).get_function(name)


@functools.cache
def _module(device: int) -> Any:
    folder = _sources()
    code = "\n".join(f'#include "{stage}"' for stage in _STAGES)
    # No FMA: every backend rounds alike.
    options = ("--std=c++17", "--fmad=false", "--device-int128", f"-I{folder}")
    return _cupy().RawModule(code=code, options=options)


def _sources() -> Path:
    """csrc/, in the installed package or in the source tree."""
    package = Path(__file__).parents[1]
    for folder in (package / "csrc", package.parents[1] / "csrc"):
        if (folder / _STAGES[0]).is_file():
            return folder
    raise ImportError(f"the CUDA sources are missing: {package / 'csrc'}")
