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

__all__ = [
    "adjacent_similarity",
    "boundary_candidates",
    "directional_cuts",
    "gather_mean",
    "gather_windows",
    "greedy_cuts",
    "optimal_cuts",
    "pack_windows",
    "pool_spans",
]

_METHODS = ("threshold", "percentile", "std", "interquartile", "gradient", "depth")
_STAGES = (
    "tokens/windows.cu",
    "vectors/pooling.cu",
    "vectors/static_table.cu",
    "similarity/similarity.cu",
    "boundaries/boundaries.cu",
    "boundaries/directional.cu",
)
#: Sentences in a chunk of directional cuts, as in csrc/boundaries/directional.h.
_LONGEST = 400


def gather_windows(
    ids: Any, start: Any, end: Any, prefix: Any, suffix: Any, pad_id: int = 0, length: int | None = None
) -> tuple[Any, Any]:
    """Windows of tokens in padded rows: input_ids and attention_mask, int64 [B, L]. Where `start` and `end` are on the device,
    the host waits for them."""
    cupy = _cupy()
    start, end, sizes, ids, prefix, suffix = _windows(ids, start, end, prefix, suffix)
    longest = int(sizes.max(initial=0))
    _check(length is None or length >= longest, "length", f"must be at least {longest}, the longest window")
    shape = len(sizes), longest if length is None else length
    out, mask = cupy.empty(shape, np.int64), cupy.empty(shape, np.int64)
    arguments = (ids, start, end, len(sizes), prefix, len(prefix), suffix, len(suffix), np.int32(pad_id), shape[1])
    _launch("rc_gather_windows", len(sizes), 8, 256, (*arguments, out, mask))
    return out, mask


def pack_windows(ids: Any, start: Any, end: Any, prefix: Any, suffix: Any) -> tuple[Any, Any, Any]:
    """Windows of tokens one after the other: ids int32 [N], position int32 [N], cu_seqlens int32 [B + 1]. Where `start` and
    `end` are on the device, the host waits for them."""
    cupy = _cupy()
    start, end, sizes, ids, prefix, suffix = _windows(ids, start, end, prefix, suffix)
    total = int(sizes.sum())
    _check(total < 2**31, "start", "and end must give fewer than 2^31 packed tokens")
    cu_seqlens = cupy.asarray(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32))
    out, position = cupy.empty(total, np.int32), cupy.empty(total, np.int32)
    arguments = (ids, start, end, len(sizes), prefix, len(prefix), suffix, cu_seqlens, out, position)
    _launch("rc_pack_windows", len(sizes), 8, 256, arguments)
    return out, position, cu_seqlens


def gather_mean(table: Any, scale: Any, ids: Any, offsets: Any, skip: int = -1, normalize: bool = True) -> Any:
    """The mean of the table's rows of each text's tokens: float32 [S, H]. Ids must be in the table."""
    cupy = _cupy()
    suffix = "int8" if table.dtype == np.int8 else _suffix(table, "table")
    _check(table.ndim == 2 and table.flags.c_contiguous, "table", "must be contiguous, with 2 dimensions")
    if scale is not None:
        scale = _array(scale, np.float32, "scale")
        _check(len(scale) == len(table), "scale", "must have as many entries as the table has rows")
    ids, offsets = _array(ids, np.int32, "ids"), _array(offsets, np.int64, "offsets")
    outputs, width = len(offsets) - 1, table.shape[1]
    out = cupy.empty((outputs, width), np.float32)
    weights = np.uint64(0) if scale is None else scale
    arguments = (table, weights, width, ids, offsets, outputs, np.int32(skip), np.int32(normalize), out)
    _launch(f"rc_gather_mean_{suffix}", outputs, 8, 256, arguments)
    return out


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


def directional_cuts(
    vectors: Any, first: Any, last: Any, prior: Any, doc_offsets: Any, min_tokens: int, max_tokens: int,
    segment_length: float = 0.0,
) -> Any:  # fmt: skip
    """1 after the sentences that end a chunk of sentences that point in one direction: uint8 [n].

    A document with a vector that is not finite stays one chunk. Where `first`, `last` or `doc_offsets` are on the device, the
    host waits for them: it works out how many chunks are possible. With a `segment_length` the kernel runs on the CPU.
    """
    from rapidchunk.kernels import cpu, to_host

    cupy, suffix = _cupy(), _suffix(vectors)
    count, width = vectors.shape
    _sentences(first, last, doc_offsets, count, min_tokens, max_tokens)
    prior = _array(prior, np.uint8, "prior")
    _check(len(prior) == count, "prior", "must have an entry for each sentence")
    first, last, offsets = to_host(first), to_host(last), to_host(doc_offsets)
    if segment_length:
        host = (to_host(vectors), first, last, to_host(prior), offsets)
        return cupy.asarray(cpu.directional_cuts(*host, int(min_tokens), int(max_tokens), segment_length))
    documents = len(offsets) - 1
    document = np.repeat(np.arange(documents), np.diff(offsets))
    begin = offsets[:-1][document]
    # The first sentence of the longest chunk that ends with each: sizes of all documents on one rising scale.
    base = document * (int(last.max(initial=0)) + int(max_tokens) + 1)
    own = np.arange(count)
    low = np.searchsorted(first + base, last + base - int(max_tokens))
    low = np.minimum(np.maximum(np.maximum(low, own - _LONGEST + 1), begin), own)
    row = np.concatenate([[0], np.cumsum(own - low + 1)])
    padded = -(-width // 64) * 64
    energies = int(row[-1])
    memory = (
        cupy.empty((count, padded), np.float32), cupy.empty((documents, padded), np.float32), cupy.empty((count, 2), np.float32),
        cupy.empty(energies, np.float64), cupy.empty(count, np.float64), cupy.empty(energies, np.int32),
        cupy.empty(count + documents, np.int64), cupy.empty(count + documents, np.int64),
    )  # fmt: skip
    out = cupy.zeros(count, np.uint8)
    sizes = [_array(array, np.int64, "low") for array in (first, last)]
    places = _array(offsets, np.int64, "doc_offsets")
    arguments = (
        vectors,
        width,
        *sizes,
        prior,
        places,
        documents,
        int(min_tokens),
        _array(row, np.int64, "row"),
        *memory,
        out,
    )
    _launch(f"rc_directional_{suffix}", documents, 4, 128, arguments)
    return out


def _windows(ids: Any, start: Any, end: Any, prefix: Any, suffix: Any) -> tuple[Any, ...]:
    from rapidchunk.kernels import to_host

    ids, prefix = _array(ids, np.int32, "ids"), _array(prefix, np.int32, "prefix")
    suffix = _array(suffix, np.int32, "suffix")
    from_, to = to_host(start), to_host(end)
    _check(len(from_) == len(to), "end", "must have as many entries as start")
    _check(bool(((from_ >= 0) & (from_ <= to)).all()), "start", "must be from 0 to end")
    _check(bool((to <= len(ids)).all()), "end", "must not be beyond the ids")
    sizes = to - from_ + len(prefix) + len(suffix)
    return _array(start, np.int64, "start"), _array(end, np.int64, "end"), sizes, ids, prefix, suffix


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


def _suffix(vectors: Any, name: str = "vectors") -> str:
    suffix = {np.dtype(np.float32): "float", np.dtype(np.float16): "half"}.get(vectors.dtype)
    _check(suffix is not None, name, f"must have dtype float32 or float16, not {vectors.dtype}")
    _check(vectors.ndim == 2 and vectors.flags.c_contiguous, name, "must be contiguous, with 2 dimensions")
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
