"""Sentence encoders in ONNX Runtime, on the CPU or a CUDA device, or in OpenVINO."""

from __future__ import annotations

import ctypes
import json
import logging
import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rapidchunk import models
from rapidchunk.encoders import cuda, export, openvino
from rapidchunk.encoders.batches import Windows, merge, overlapping, plan, windows
from rapidchunk.encoders.protocol import Progress, Vectors, finish, text_list
from rapidchunk.encoders.signature import Signature
from rapidchunk.encoders.tokens import ModelTokenizer

__all__ = ["OnnxEncoder"]

logger = logging.getLogger("rapidchunk")

Array = NDArray[Any]
#: Padded tokens in a batch when the caller does not say. It bounds the memory (about 30 MB for all-MiniLM-L6-v2); the
#: throughput of one core does not rise beyond a few hundred tokens, many cores want a few thousand.
_BATCH_TOKENS = 4096
#: Characters of texts that are tokenised while a CUDA device encodes those before: about a million tokens, a tenth of a
#: second of a large card.
_PART_CHARACTERS = 4_000_000


@dataclass(frozen=True)
class _Config:
    """What the files beside a model say about its use."""

    model: dict[str, Any]
    pooling: str
    max_length: int | None
    prompts: dict[str, str]
    lower: bool
    pools_prompt: bool

    @classmethod
    def read(cls, folder: Path) -> _Config:
        def load(name: str) -> Any:
            path = folder / name
            return json.loads(path.read_text("utf-8")) if path.is_file() else {}

        modules = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in load("modules.json") or []]
        if odd := sorted(set(modules) - {"Transformer", "Pooling", "Normalize"}):
            raise ValueError(f"model: {folder} has the module {odd[0]}, which is not supported")
        sentence = load("sentence_bert_config.json")
        limits = [sentence.get("max_seq_length"), load("tokenizer_config.json").get("model_max_length")]
        # transformers writes 1e30 for "no limit".
        limit = next((int(value) for value in limits if value and value < 1e9), None)
        pooling = load("1_Pooling/config.json")
        own = load("config_sentence_transformers.json")
        prompts = {name: text for name, text in (own.get("prompts") or {}).items() if isinstance(text, str)}
        usual = prompts.get(own.get("default_prompt_name") or "", "")
        document = next((prompts[name] for name in ("document", "passage", "corpus") if name in prompts), usual)
        return cls(
            model=load("config.json"),
            pooling=_pooling(pooling),
            max_length=limit,
            prompts={"document": document, "query": prompts.get("query", usual)},
            lower=bool(sentence.get("do_lower_case")),
            pools_prompt=pooling.get("include_prompt", True),
        )


def _pooling(config: dict[str, Any]) -> str:
    """Pooling named by a sentence-transformers Pooling module; the mean where there is none, as there."""
    if isinstance(named := config.get("pooling_mode"), str):
        chosen = [named]
    else:
        chosen = [key.removeprefix("pooling_mode_") for key, on in config.items() if key.startswith("pooling_") and on]
    names = {"mean_tokens": "mean", "cls_token": "cls", "lasttoken": "last", "mean": "mean", "cls": "cls"}
    if not chosen:
        return "mean"
    if len(chosen) > 1 or chosen[0] not in names:
        raise ValueError(f"pooling of the model is {' + '.join(chosen)}, supported are {', '.join(export.POOLINGS)}")
    return names[chosen[0]]


class OnnxEncoder:
    """A sentence encoder run by ONNX Runtime or OpenVINO.

    Attributes:
        runtime, precision: what runs the model, and how it computes (what "fast" and None came to).
        pooling, max_length: as chosen, or as the model's configuration has them.

    Texts longer than the model's window are split into windows of nearly equal size, encoded in parts and averaged,
    with the parts' tokens as weights. Windows go sorted by length in batches of at most `max_batch_tokens` padded
    tokens, and results do not depend on the batches (to 1e-5). Token ids and results are arrays of this library which
    ONNX Runtime reads and writes in place. The session is made on first use in each process; an encoder may be shared
    by threads, pickled, and used on both sides of a fork. The GIL is released while the model runs.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        tokenizer: Any = None,
        device: str = "auto",
        *,
        pooling: str | None = None,
        prefix: str | None = None,
        query_prefix: str | None = None,
        max_length: int | None = None,
        max_batch_tokens: int | None = None,
        batch_size: int | None = None,
        precision: str | None = None,
        runtime: str | None = None,
        threads: int | None = None,
        io_binding: bool = True,
        normalize: bool = True,
        revision: str | None = None,
        sha256: str | None = None,
    ) -> None:
        """
        Args:
            model: a folder with model.safetensors of the families in `export.FAMILIES`, or with an .onnx file; an .onnx
                file; a known model ("minilm"), fetched when it is not in the cache; or a Hub id, with `revision` (full
                commit) and `sha256` (of its model.safetensors).
            tokenizer: a tokenizers.Tokenizer, a transformers fast tokenizer or a path; default tokenizer.json
                beside the model.
            device: "cpu"; "cuda" or "cuda:1", which raises when it cannot be had; "auto", "cuda" where it works, else the
                CPU, which the log says once. One encoder uses one device: for several, a process each.
            pooling: "mean", "cls" or "last"; default from the model's configuration.
            prefix, query_prefix: put before every text by `encode` and `encode_query`; default from the model's
                configuration. A text that is split has it in its first part.
            max_length: tokens of a window, special tokens included; default from the model's configuration.
            max_batch_tokens: windows in a batch times the longest of them; default 4096, and 65536 on CUDA, where a
                packed graph counts the tokens alone.
            batch_size: windows in a batch; default unlimited.
            precision: "fp32"; "fp16", on CUDA; "int8" for weights stored as int8 (own graphs only; a quarter of the file, the
                speed of fp32); "bf16", in OpenVINO on CPUs that compute with it; "fast", the fastest of these that this
                machine has and that does not depend on the batch; default "fp16" on CUDA, else "fp32". An .onnx file keeps its
                own on CUDA.
            runtime: "onnxruntime"; "openvino", on the CPU; default OpenVINO where the precision asks for it, else ONNX Runtime.
            threads: of the runtime; default all cores that this process may use.
            normalize: False leaves the vectors as long as pooling gives them.
            io_binding: let ONNX Runtime read and write our arrays; False takes its plain `run`, with the same results.

        Raises:
            ValueError: a bad argument or an unsupported model; the message names the argument.
            ModelError: the model could not be fetched.
            ImportError: onnxruntime (or openvino, or CuPy for `device="cuda"`) is missing.
            RuntimeError: `device="cuda"` and CUDA cannot be used, or "bf16" and the CPU does not have it; the message says why.
                What only the driver knows comes with the first use.
        """
        self._arguments = {key: value for key, value in locals().items() if key not in ("self", "__class__")}
        for name, value in (
            ("max_length", max_length),
            ("max_batch_tokens", max_batch_tokens),
            ("batch_size", batch_size),
            ("threads", threads),
        ):
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise ValueError(f"{name} must be a positive int, got {value!r}")
        self._device, self._device_index = cuda.parse(device)
        if pooling not in (None, *export.POOLINGS):
            raise ValueError(f"pooling must be one of {', '.join(export.POOLINGS)}, got {pooling!r}")
        self.runtime, self.precision = openvino.choose(runtime, precision, self._device)
        self._precision = precision
        if self._device == "cuda":
            _onnxruntime()
            try:
                cuda.require()
            except (ImportError, RuntimeError) as error:
                raise type(error)(f"device {device!r}: {error}") from error
        elif self.runtime == "onnxruntime":
            _onnxruntime()
        self.name = f"OnnxEncoder({os.fspath(model)})"
        self._threads = threads
        self._io_binding = io_binding and self.runtime == "onnxruntime"
        self._normalize = normalize
        self._max_batch_tokens = max_batch_tokens
        self._batch_size = batch_size
        self._weights_sha256: str | None = None
        self._locate(model, revision, sha256)

        config = _Config.read(self._folder)
        self.pooling = pooling or config.pooling
        self._pooling_given = pooling is not None
        self._prefix = config.prompts["document"] if prefix is None else prefix
        self._query_prefix = config.prompts["query"] if query_prefix is None else query_prefix
        if not config.pools_prompt and (self._prefix or self._query_prefix):
            raise ValueError(f"model: {self._folder} leaves prompts out of the pooling, which is not supported")
        pad = config.model.get("pad_token_id")
        self._tokenizer = ModelTokenizer(self._folder if tokenizer is None else tokenizer, lower=config.lower, pad=pad)
        limit = export.positions(config.model) if export.supports(config.model) else None
        if max_length is not None and limit is not None and max_length > limit:
            raise ValueError(f"max_length must be at most {limit}, the positions of {self.name}, got {max_length}")
        # An ONNX graph may count positions otherwise, so its own number is no limit, but the best guess.
        usual = limit or config.model.get("max_position_embeddings") or 512
        self.max_length = max_length or min(config.max_length or usual, limit or 1 << 30)
        self._special = len(self._tokenizer.prefix) + len(self._tokenizer.suffix)
        if self.max_length <= self._special:
            raise ValueError(f"max_length must be more than the {self._special} special tokens, got {self.max_length}")
        self._dimension: int | None = config.model.get("hidden_size", config.model.get("dim"))
        self._run: _Run | cuda.CudaRun | None = None
        self._lock = threading.Lock()
        _live.add(self)

    def _locate(self, model: str | os.PathLike[str], revision: str | None, sha256: str | None) -> None:
        """Sets the folder with the configuration, and the .onnx file unless the graph is made here."""
        path = Path(model)
        self._graph: Path | None = None
        if path.is_file():
            if path.suffix != ".onnx":
                raise ValueError(f"model must be a folder or an .onnx file, got {path}")
            self._graph = path
            # The Hub's habit is a folder onnx/ inside the model's folder.
            beside = path.parent
            self._folder = beside.parent if beside.name == "onnx" and not (beside / "config.json").is_file() else beside
        elif path.is_dir():
            self._folder = path
            config = path / "config.json"
            ours = config.is_file() and export.supports(json.loads(config.read_text("utf-8")))
            if not (ours and (path / models.WEIGHTS).is_file()):
                found = [path / "model.onnx", path / "onnx" / "model.onnx", *sorted(path.glob("*.onnx"))]
                self._graph = next((file for file in found if file.is_file()), None)
                if self._graph is None:
                    raise ValueError(
                        f"model: {path} has neither an .onnx file nor {models.WEIGHTS} of a supported family "
                        f"({', '.join(export.FAMILIES)})"
                    )
        else:
            known = models.parse(os.fspath(model), revision, sha256)
            self._folder = models.get(os.fspath(model), revision=revision, sha256=sha256)
            self._weights_sha256 = known.weights_sha256
        if self._graph is not None and self._precision in ("int8", "fp16"):
            raise ValueError(
                f"precision {self._precision!r} is for models whose graph is made here, not for a ready .onnx file"
            )

    @property
    def dimension(self) -> int | None:
        """Length of a vector; None until the first use of an .onnx file without a config.json."""
        return self._dimension

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._arguments,)

    def encode(
        self, texts: Sequence[str], *, progress: Progress | None = None, report: dict[str, Any] | None = None
    ) -> Vectors:
        """See `Encoder.encode`.

        Raises:
            TypeError: `texts` is not a sequence of str.
            ValueError: the model gave a vector that is not finite; the message names the index of the text.
        """
        vectors: Vectors = self._encode(texts, self._prefix, progress, report)
        return vectors

    def encode_query(
        self, texts: Sequence[str], *, progress: Progress | None = None, report: dict[str, Any] | None = None
    ) -> Vectors:
        """As `encode`, with the prefix that the model wants before questions."""
        vectors: Vectors = self._encode(texts, self._query_prefix, progress, report)
        return vectors

    def encode_on_device(
        self, texts: Sequence[str], *, progress: Progress | None = None, report: dict[str, Any] | None = None
    ) -> Any:
        """As `encode`, but leaves the vectors where they are made: on CUDA a CuPy array, which other libraries read
        through DLPack."""
        return self._encode(texts, self._prefix, progress, report, on_device=True)

    def encode_tokens(self, text: str) -> tuple[Vectors, NDArray[np.int64]]:
        """The vectors of a document's tokens, special tokens left out, for chunks pooled from them ("late").

        A document longer than `max_length` is read in windows that overlap by a quarter; of the tokens that two of them share,
        each window answers for its half.

        Returns:
            float32 [t, dimension], not normalised, and int64 [t, 2], the characters (code points) of each token.

        Raises:
            ValueError: the model gives no token vectors, or runs on CUDA.
        """
        run = self._running()
        if not isinstance(run, _Run):
            raise ValueError("vectors 'late' are encoded on the CPU; give the encoder device='cpu'")
        run = _Run(run.session, True, unpooled=True)
        ids, spans = self._tokenizer.tokens_of(self._prefix + text)
        room = self.max_length - self._special
        start, end, bounds = overlapping(len(ids), room, room // 4)
        lengths = end - start + self._special
        vectors = np.zeros((len(ids), self._dimension or run.dimension or 0), np.float32)
        if len(ids):
            order = np.argsort(-lengths, kind="stable")
            before = len(self._tokenizer.prefix)
            for first, last, rows in run.batches(self, ids, start[order], end[order], lengths[order]):
                if vectors.shape[1] != rows.shape[2]:
                    vectors = np.zeros((len(ids), rows.shape[2]), np.float32)
                for row, window in zip(rows, order[first:last].tolist()):
                    low, high = bounds[window], bounds[window + 1]
                    shift = before - start[window]
                    vectors[low:high] = row[low + shift : high + shift]
        own = spans[:, 1] > len(self._prefix)
        return vectors[own], np.maximum(spans[own] - len(self._prefix), 0)

    def _encode(
        self,
        texts: Sequence[str],
        prefix: str,
        progress: Progress | None,
        report: dict[str, Any] | None,
        on_device: bool = False,
    ) -> Any:
        texts = text_list(texts)
        split: list[int] = []
        if report is not None:
            report["split"] = split
        if self._device == "cpu" and not any(text.strip() for text in texts):
            return np.zeros((len(texts), self._dimension or 0), np.float32)
        run = self._running()
        if isinstance(run, _Run):
            return self._on_cpu(run, self._windows(texts, prefix, split, 0), progress)
        vectors = run.encode(self._parts(texts, prefix, split, progress), len(texts))
        self._dimension = run.dimension
        if (bad := run.first_not_finite(vectors)) is not None:
            raise ValueError(f"encoder {self.name} gave a vector that is not finite for the text at index {bad}")
        return vectors if on_device else run.to_host(vectors)

    def _windows(self, texts: list[str], prefix: str, split: list[int], index: int) -> Windows:
        """Tokenises; adds to `split` the indexes of the texts with several windows, the first text being number `index`."""
        filled = [number for number, text in enumerate(texts) if text.strip()]
        ids, offsets = self._tokenizer.ids_of([prefix + texts[number] for number in filled])
        text, start, end = windows(offsets, self.max_length - self._special)
        text = np.asarray(filled, np.int64)[text]
        lengths = end - start + self._special
        if not lengths.all():  # a text without tokens, and a model without special tokens
            text, start, end, lengths = (array[lengths > 0] for array in (text, start, end, lengths))
        split.extend((np.flatnonzero(np.bincount(text, minlength=len(texts)) > 1) + index).tolist())
        return Windows(ids, text, start, end, lengths, len(texts))

    def _parts(self, texts: list[str], prefix: str, split: list[int], progress: Progress | None) -> Iterator[Windows]:
        """The texts in parts of bounded size, tokenised one by one as they are taken."""
        first = 0
        while first < len(texts):
            last, characters = first, 0
            while last < len(texts) and (last == first or characters + len(texts[last]) <= _PART_CHARACTERS):
                characters += len(texts[last])
                last += 1
            yield self._windows(texts[first:last], prefix, split, first)
            first = last
            if progress:
                progress(first, len(texts))

    def _on_cpu(self, run: _Run, texts: Windows, progress: Progress | None) -> Vectors:
        ids, text, start, end, lengths, count = texts
        if not len(text):
            return np.zeros((count, self._dimension or 0), np.float32)
        order = np.argsort(-lengths, kind="stable")
        left = np.bincount(text, minlength=count)
        done = int((left == 0).sum())
        vectors: Vectors | None = None
        for first, last, rows in run.batches(self, ids, start[order], end[order], lengths[order]):
            if vectors is None:
                vectors = np.empty((len(order), rows.shape[1]), np.float32)
            vectors[order[first:last]] = rows
            if progress:
                owners = text[order[first:last]]
                np.subtract.at(left, owners, 1)
                done += int((left[np.unique(owners)] == 0).sum())
                progress(done, count)
        assert vectors is not None
        self._dimension = vectors.shape[1]
        return finish(merge(vectors, text, end - start, count), self.name, self._normalize)

    def _running(self) -> _Run | cuda.CudaRun:
        run = self._run
        if run is None:
            with self._lock:
                run = self._run
                if run is None:
                    run = self._run = self._start()
        return run

    def _start(self) -> _Run | cuda.CudaRun:
        if self._device != "cpu" and self.runtime == "onnxruntime":
            try:
                return self._start_cuda()
            except (ImportError, RuntimeError) as error:
                if self._device == "cuda":
                    raise type(error)(f"device 'cuda:{self._device_index}': {error}") from error
                logger.info("device 'auto': encoding on the CPU: %s", error)
                if self.precision == "fp16":
                    raise ValueError(f"precision 'fp16' is for CUDA devices, and there is none: {error}") from error
        path = self._graph or self._export("int8" if self.precision == "int8" else "fp32", packed=False)
        # The cores of this process, not of the machine: the runtimes' own defaults ignore affinity.
        threads = self._threads or len(os.sched_getaffinity(0))
        if self.runtime == "openvino":
            session: Any = openvino.Session(path, self.precision, threads)
        else:
            session = _session(path, threads)
        return _Run(session, self._pooling_given)

    def _start_cuda(self) -> cuda.CudaRun:
        device = cuda.open_device(self._device_index)
        precision = "fp16" if self._precision in (None, "fast") else self._precision
        path, packed = self._graph, False
        if path is None:
            packed = export.packs(json.loads((self._folder / "config.json").read_text("utf-8")))
            path = self._export(precision, packed=packed)
        with device.cupy.cuda.Device(device.index):
            stream = device.cupy.cuda.Stream(non_blocking=True)
            run = cuda.CudaRun(
                device,
                cuda.open_session(device, path, stream, strict=packed),
                stream,
                self._tokenizer,
                pooling=self.pooling,
                by_tokens=self._pooling_given,
                normalize=self._normalize,
                max_length=self.max_length,
                max_batch_tokens=self._max_batch_tokens,
                batch_size=self._batch_size,
            )
        self.precision = precision
        return run

    def _export(self, precision: str, *, packed: bool) -> Path:
        return export.export(
            self._folder,
            pooling=self.pooling,
            precision=precision,
            packed=packed,
            weights_sha256=self._weights_sha256,
        )


class _Run:
    """A session on the CPU."""

    def __init__(self, session: Any, by_tokens: bool, unpooled: bool = False) -> None:
        self.session = session
        self.unpooled = unpooled
        signature = Signature.of(session, by_tokens, unpooled)
        self.inputs, self.output, self.output_type = signature.inputs, signature.output, signature.dtype
        self.rank, self.dimension = signature.rank, signature.dimension

    def batches(
        self, encoder: OnnxEncoder, ids: Array, start: Array, end: Array, lengths: Array
    ) -> Iterator[tuple[int, int, Vectors]]:
        """Encodes windows, sorted by length; yields (first, last, vectors [last - first, dimension]), or those of the padded
        tokens [last - first, longest, dimension].

        The arrays that ONNX Runtime reads are reused from batch to batch and belong to this call alone; the vectors are
        only valid until the next batch.
        """
        ranges = plan(lengths, encoder._max_batch_tokens or _BATCH_TOKENS, encoder._batch_size)
        most = max((last - first) * int(lengths[first]) for first, last in ranges)
        buffers = {name: np.zeros(most, dtype) for name, dtype in self.inputs.items()}
        result = np.empty(0, self.output_type)
        before, after, pad = encoder._tokenizer.prefix, encoder._tokenizer.suffix, encoder._tokenizer.pad
        for first, last in ranges:
            count, longest = last - first, int(lengths[first])
            arrays = {
                name: buffer[:count] if name == "lengths" else buffer[: count * longest].reshape(count, longest)
                for name, buffer in buffers.items()
            }
            here = lengths[first:last]
            table = arrays["input_ids"]
            table.fill(pad)
            table[:, : len(before)] = before
            for row in range(count):
                a, b, stop = start[first + row], end[first + row], here[row]
                table[row, len(before) : stop - len(after)] = ids[a:b]
                table[row, stop - len(after) : stop] = after
            if "attention_mask" in arrays:
                np.less(np.arange(longest), here[:, None], out=arrays["attention_mask"], casting="unsafe")
            if "lengths" in arrays:
                arrays["lengths"][:] = here
            out: Array | None = None
            if self.dimension is not None:
                shape = (count, longest, self.dimension) if self.rank == 3 else (count, self.dimension)
                size = int(np.prod(shape))
                if result.size < size:
                    result = np.empty(size, self.output_type)
                out = result[:size].reshape(shape)
            out = self.bound(arrays, out) if encoder._io_binding else self.plain(arrays)
            if self.rank == 3 and not self.unpooled:
                rows = _pooled(out, here, encoder.pooling)
            else:
                rows = out.astype(np.float32, copy=False)
            yield first, last, rows

    def bound(self, arrays: dict[str, Array], out: Array | None) -> Array:
        """Runs on our arrays and into `out`, all without a copy (on a CPU session); a new array where `out` is None."""
        ort = _onnxruntime()
        binding = self.session.io_binding()
        for name, array in arrays.items():
            binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array))
        if out is None:
            binding.bind_output(self.output, "cpu")
        else:
            binding.bind_ortvalue_output(self.output, ort.OrtValue.ortvalue_from_numpy(out))
        self.session.run_with_iobinding(binding)
        if out is None:
            answer: Array = binding.get_outputs()[0].numpy()
            return answer
        return out

    def plain(self, arrays: dict[str, Array]) -> Array:
        """Runs through the session's `run`."""
        answer: Array = self.session.run([self.output], arrays)[0]
        return answer


def _pooled(hidden: Array, lengths: Array, pooling: str) -> Vectors:
    """Vectors of texts [n, dimension] from vectors of tokens [n, length, dimension], right padded."""
    if pooling == "cls":
        return np.asarray(hidden[:, 0], np.float32)
    if pooling == "last":
        return np.asarray(hidden[np.arange(len(lengths)), lengths - 1], np.float32)
    # Row by row: padded positions, which may hold anything, are never read.
    return np.stack([hidden[row, :length].mean(axis=0, dtype=np.float32) for row, length in enumerate(lengths)])


def _onnxruntime() -> Any:
    try:
        import onnxruntime  # type: ignore[import-untyped]
    except ImportError as error:
        raise ImportError("OnnxEncoder needs onnxruntime: pip install rapidchunk[cpu]") from error
    return onnxruntime


def _session(path: Path, threads: int) -> Any:
    ort = _onnxruntime()
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    # Memory plans are kept for every input shape, and here every batch has its own.
    options.enable_mem_pattern = False
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _rebuild(arguments: dict[str, Any]) -> OnnxEncoder:
    return OnnxEncoder(**arguments)


_live: weakref.WeakSet[OnnxEncoder] = weakref.WeakSet()


def _after_fork() -> None:
    """Forgets the parent's sessions in a forked child, where their threads do not exist.

    They must never be destroyed either, since that waits for those threads (and CUDA's stream is not the child's): each is
    kept by a reference for good.
    """
    for encoder in list(_live):
        with suppress(AttributeError):
            if encoder._run is not None:
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(encoder._run))
                encoder._run = None
            encoder._lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
