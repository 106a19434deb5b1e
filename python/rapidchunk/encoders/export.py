"""Sentence encoder graphs from safetensors: numpy and onnx only, no torch.

Families: BERT (also XLM-RoBERTa, RoBERTa, CamemBERT), DistilBERT and MPNet. The graph uses ONNX Runtime's fused
operators. Measured with all-MiniLM-L6-v2 on one core (AVX2, ONNX Runtime 1.32, 16 sentences of 22 tokens): 288 us a
token with MultiHeadAttention behind three MatMuls, 287 us with the one Attention operator (but 441 against 343 us for
a sentence alone), 296 us with one MatMul and a Split. FastGelu is no faster than BiasGelu and moves token vectors by
0.01. MatMulNBits (int8) is slower, 352 us, and 439 us with int8 arithmetic; so "int8" stores the weights as int8 with
one scale for each output channel and ONNX Runtime folds them back to float32 when it loads the graph: a quarter of
the file, the speed of fp32, and results that do not depend on the batch.

Graph inputs: ``input_ids`` int32 [batch, length], right padded, and ``lengths`` int32 [batch].
Outputs: ``pooled`` float32 [batch, dimension]; ``sentence_embedding``, the same L2-normalised; ``last_hidden_state``
[batch, length, dimension] (padded positions hold no meaning).

For CUDA there is also a packed graph, which holds the tokens of a batch one after the other, without padding (all
families but MPNet, whose attention needs a table of distances). Inputs, all int32: ``input_ids`` and ``position_ids``
[tokens]; ``cu_seqlens`` [batch + 1], where each text begins in them; ``token_offset`` [batch, length], the places of
the tokens in a padded table, then those of the padding (the contract of ONNX Runtime's PackedMultiHeadAttention, which
only its CUDA provider has). Output: ``last_hidden_state`` [tokens, dimension]. In float16 the token vectors are the only
output of either graph: they are pooled outside, in float32.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import struct
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rapidchunk import models

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["EXPORTER_VERSION", "FAMILIES", "build", "export", "packs", "read_safetensors", "supports"]

#: Part of the cache key: raise it whenever the graph made from the same weights changes.
EXPORTER_VERSION = 1
FAMILIES = ("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "mpnet")
POOLINGS = ("mean", "cls", "last")
PRECISIONS = ("fp32", "fp16", "int8")

Array = NDArray[Any]
_MICROSOFT = "com.microsoft"
#: Above this many bytes of weights they go into a file beside the graph (protobuf ends at 2 GiB).
_EXTERNAL_BYTES = 1 << 30


def read_safetensors(path: str | os.PathLike[str]) -> dict[str, Array]:
    """Tensors of a safetensors file as read-only arrays over a memory map; bfloat16 comes back as float32.

    Format: 8 bytes little-endian header length, a JSON header {name: {dtype, shape, data_offsets}}, then the data
    (https://github.com/huggingface/safetensors).

    Raises:
        ValueError: not a safetensors file, or one whose header and data do not agree.
    """
    dtypes = {
        "F64": "<f8",
        "F32": "<f4",
        "F16": "<f2",
        "I64": "<i8",
        "I32": "<i4",
        "I16": "<i2",
        "I8": "i1",
        "U8": "u1",
    }
    dtypes |= {"BOOL": "?", "BF16": "<u2"}
    if os.path.getsize(path) < 8:
        raise ValueError(f"{path}: not a safetensors file")
    data = np.memmap(path, np.uint8, "r")
    (length,) = struct.unpack("<Q", data[:8].tobytes())
    if length > len(data) - 8:
        raise ValueError(f"{path}: not a safetensors file, or cut short (header of {length} bytes)")
    header = json.loads(data[8 : 8 + length].tobytes())
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        if entry["dtype"] not in dtypes:
            raise ValueError(f"{path}: tensor {name} has the unknown type {entry['dtype']}")
        dtype = np.dtype(dtypes[entry["dtype"]])
        if not 0 <= start <= end <= len(data) - 8 - length or math.prod(entry["shape"]) * dtype.itemsize != end - start:
            raise ValueError(f"{path}: tensor {name} does not fit the file, which may be cut short")
        array: Array = np.frombuffer(data[8 + length + start : 8 + length + end], dtype).reshape(entry["shape"])
        if entry["dtype"] == "BF16":  # the upper half of a float32
            array = (array.astype(np.uint32) << 16).view(np.float32)
        tensors[name] = array
    return tensors


def supports(config: dict[str, Any]) -> bool:
    """True when `build` can make a graph from a model with this config.json."""
    return config.get("model_type") in FAMILIES


def packs(config: dict[str, Any]) -> bool:
    """True when `build` can make a packed graph from a model with this config.json."""
    return supports(config) and config["model_type"] != "mpnet"


def position_start(config: dict[str, Any]) -> int:
    """First row of the position table that a text uses: RoBERTa counts from padding + 1, MPNet from 2 whatever its padding."""
    if config.get("model_type") == "mpnet":
        return 2
    if config.get("model_type") in ("roberta", "xlm-roberta", "camembert"):
        return int(config.get("pad_token_id", 1)) + 1
    return 0


def positions(config: dict[str, Any]) -> int:
    """Longest text in tokens, special tokens included, that the position table allows."""
    return int(config.get("max_position_embeddings", 512)) - position_start(config)


# Our name of a tensor -> its name in the checkpoint, for each family.
_BERT = {
    "words": "embeddings.word_embeddings",
    "positions": "embeddings.position_embeddings",
    "types": "embeddings.token_type_embeddings",
    "norm": "embeddings.LayerNorm",
    "layer": "encoder.layer.{}.",
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "o": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "norm2": "output.LayerNorm",
}
_DISTILBERT = _BERT | {
    "layer": "transformer.layer.{}.",
    "q": "attention.q_lin",
    "k": "attention.k_lin",
    "v": "attention.v_lin",
    "o": "attention.out_lin",
    "norm1": "sa_layer_norm",
    "up": "ffn.lin1",
    "down": "ffn.lin2",
    "norm2": "output_layer_norm",
}
_MPNET = _BERT | {
    "q": "attention.attn.q",
    "k": "attention.attn.k",
    "v": "attention.attn.v",
    "o": "attention.attn.o",
    "norm1": "attention.LayerNorm",
}


class _Weights:
    """Tensors of a checkpoint by our names, whatever the family calls them and whatever prefix it carries."""

    def __init__(self, tensors: dict[str, Array], family: str) -> None:
        self.names = {"distilbert": _DISTILBERT, "mpnet": _MPNET}.get(family, _BERT)
        found = [name for name in tensors if name.endswith(self.names["words"] + ".weight")]
        if not found:
            raise ValueError(f"model: the weights have no {self.names['words']}.weight, which a {family} model has")
        prefix = found[0][: -len(self.names["words"] + ".weight")]
        old = {".gamma": ".weight", ".beta": ".bias"}  # TensorFlow's names, in old checkpoints
        self.tensors = {}
        for name, tensor in tensors.items():
            for tail, new in old.items():
                name = name[: -len(tail)] + new if name.endswith(tail) else name
            self.tensors[name.removeprefix(prefix)] = tensor

    def __call__(self, key: str, part: str = "weight", layer: int | None = None) -> NDArray[np.float32]:
        name = ("" if layer is None else self.names["layer"].format(layer)) + self.names[key] + "." + part
        if name not in self.tensors:
            raise ValueError(f"model: the weights have no tensor {name}")
        return np.asarray(self.tensors[name], np.float32)

    def has(self, key: str) -> bool:
        return self.names[key] + ".weight" in self.tensors


class _Graph:
    """Collects nodes and constants."""

    def __init__(self, precision: str) -> None:
        self.int8 = precision == "int8"
        self.half = precision == "fp16"
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def op(self, kind: str, inputs: list[str], output: str | None = None, domain: str = "", **attributes: Any) -> str:
        from onnx import helper

        output = output or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, domain=domain, **attributes))
        return output

    def constant(self, name: str, value: Any, dtype: Any = np.float32) -> str:
        from onnx import numpy_helper

        if name not in self.constants:
            if self.half and dtype is np.float32:
                dtype = np.float16
                if np.abs(value).max(initial=0) > np.finfo(np.float16).max:
                    raise ValueError(f"precision 'fp16' cannot hold the weights {name}; take 'fp32'")
            self.constants[name] = numpy_helper.from_array(np.array(value, dtype, order="C"), name)
        return name

    def matrix(self, name: str, value: NDArray[np.float32]) -> str:
        """A weight matrix [in, out]; as int8 with a scale for each output channel when the precision asks for it."""
        if not self.int8:
            return self.constant(name, value)
        codes, scales = _quantise(value, 0)
        return self._scaled(self.constant(f"{name}.int8", codes, np.int8), self.constant(f"{name}.scale", scales))

    def rows(self, name: str, value: NDArray[np.float32], index: str) -> str:
        """Rows of a table; a scale for each row with int8, and only the rows asked for become float32."""
        if not self.int8:
            return self.op("Gather", [self.constant(name, value), index])
        codes, scales = _quantise(value, 1)
        return self._scaled(
            self.op("Gather", [self.constant(f"{name}.int8", codes, np.int8), index]),
            self.op("Gather", [self.constant(f"{name}.scale", scales), index]),
        )

    def _scaled(self, codes: str, scales: str) -> str:
        from onnx import TensorProto

        return self.op("Mul", [self.op("Cast", [codes], to=TensorProto.FLOAT), scales])


def _quantise(value: NDArray[np.float32], axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Symmetric int8 codes and one scale for each slice across `axis` (kept, so that they broadcast)."""
    scales = np.maximum(np.abs(value).max(axis=axis, keepdims=True), 1e-12).astype(np.float32) / np.float32(127)
    return np.clip(np.rint(value / scales), -127, 127).astype(np.int8), scales


def _relative_bias(graph: _Graph, config: dict[str, Any], table: NDArray[np.float32], length: str) -> str:
    """MPNet's attention bias [1, heads, length, length] from distances, in T5's logarithmic buckets."""
    limit = int(config["max_position_embeddings"])
    distance = np.arange(-limit + 1, limit)  # of the key from the query
    half = table.shape[0] // 2
    exact = half // 2
    far = np.maximum(np.abs(distance), 1).astype(np.float32)
    log = exact + (np.log(far / exact) / math.log(128 / exact) * (half - exact)).astype(np.int64)
    bucket = np.where(np.abs(distance) < exact, np.abs(distance), np.minimum(log, half - 1)) + half * (distance > 0)
    by_distance = graph.constant("relative_bias", table[bucket])
    place = graph.op("Range", [graph.constant("zero", 0, np.int64), length, graph.constant("one", 1, np.int64)])
    key = graph.op("Unsqueeze", [place, graph.constant("axis0", [0], np.int64)])
    query = graph.op("Unsqueeze", [place, graph.constant("axis1", [1], np.int64)])
    index = graph.op("Add", [graph.op("Sub", [key, query]), graph.constant("centre", limit - 1, np.int64)])
    bias = graph.op("Transpose", [graph.op("Gather", [by_distance, index])], perm=[2, 0, 1])
    return graph.op("Unsqueeze", [bias, graph.constant("axis0", [0], np.int64)])


def _pool(graph: _Graph, hidden: str, length: str, pooling: str) -> None:
    """Adds the outputs ``pooled`` and ``sentence_embedding``."""
    from onnx import TensorProto

    if pooling == "cls":
        graph.op("Gather", [hidden, graph.constant("zero", 0, np.int64)], "pooled", axis=1)
    else:
        # A product with a row of ones (or a single one) sums exactly the tokens that are there.
        place = graph.op("Range", [graph.constant("zero", 0, np.int64), length, graph.constant("one", 1, np.int64)])
        count = graph.op("Unsqueeze", ["lengths", graph.constant("axis1", [1], np.int64)])
        count64 = graph.op("Cast", [count], to=TensorProto.INT64)
        if pooling == "mean":
            taken = graph.op("Less", [place, count64])
        else:
            taken = graph.op("Equal", [place, graph.op("Sub", [count64, graph.constant("one", 1, np.int64)])])
        weights = graph.op("Cast", [taken], to=TensorProto.FLOAT)
        row = graph.op("Unsqueeze", [weights, graph.constant("axis1", [1], np.int64)])
        total = graph.op("MatMul", [row, hidden])
        total = graph.op(
            "Squeeze", [total, graph.constant("axis1", [1], np.int64)], "pooled" if pooling == "last" else None
        )
        if pooling == "mean":
            divisor = graph.op("Cast", [count], to=TensorProto.FLOAT)
            graph.op("Div", [total, graph.op("Max", [divisor, graph.constant("at_least_1", 1.0)])], "pooled")
    norm = graph.op("ReduceL2", ["pooled"], axes=[1], keepdims=1)
    norm = graph.op("Max", [norm, graph.constant("tiny", 1e-12)])
    graph.op("Div", ["pooled", norm], "sentence_embedding")


def build(
    config: dict[str, Any], tensors: dict[str, Array], *, pooling: str, precision: str = "fp32", packed: bool = False
) -> ModelProto:
    """The encoder as an ONNX model (see the module's text for inputs and outputs).

    Args:
        config: the model's config.json.
        tensors: its weights by name, float of any width.
        pooling: "mean", "cls" or "last".
        precision: "fp32"; "fp16", for CUDA; or "int8" for weights stored as int8.
        packed: the packed graph, for CUDA; it does not pool.

    Raises:
        ValueError: a model, pooling or precision that is not supported, or a missing tensor; the message names it.
    """
    from onnx import TensorProto, helper

    _check(config, pooling, precision, packed)
    family = config["model_type"]
    weights = _Weights(tensors, family)
    graph = _Graph(precision)
    small = family == "distilbert"
    layers = int(config["n_layers" if small else "num_hidden_layers"])
    heads = int(config["n_heads" if small else "num_attention_heads"])
    epsilon = float(config.get("layer_norm_eps", 1e-12))
    activation = config["activation" if small else "hidden_act"]

    def norm(value: str, skip: str, key: str, layer: int | None, output: str | None, bias: list[str]) -> str:
        name = key if layer is None else f"{layer}.{key}"
        inputs = [value, skip]
        inputs += [graph.constant(f"{name}.{part}", weights(key, part, layer)) for part in ("weight", "bias")]
        return graph.op("SkipLayerNormalization", inputs + bias, output, _MICROSOFT, epsilon=epsilon)

    def matrix(key: str, layer: int) -> str:
        return graph.matrix(f"{layer}.{key}", weights(key, layer=layer).T)

    def matmul(value: str, key: str, layer: int) -> str:
        return graph.op("MatMul", [value, matrix(key, layer)])

    def attention(kind: str, inputs: list[str]) -> str:
        return graph.op(kind, inputs, None, _MICROSOFT, num_heads=heads)

    def bias(key: str, layer: int) -> str:
        return graph.constant(f"{layer}.{key}.bias", weights(key, "bias", layer))

    places = weights("positions")[position_start(config) :]
    if weights.has("types"):  # texts are one segment, so its vector belongs to every position
        places = places + weights("types")[0]
    if packed:
        length = ""
        place = graph.op("Gather", [graph.constant("positions", places), "position_ids"])
    else:
        shape = graph.op("Shape", ["input_ids"])
        length = graph.op("Gather", [shape, graph.constant("one", 1, np.int64)], axis=0)
        end = graph.op("Unsqueeze", [length, graph.constant("axis0", [0], np.int64)])
        start = graph.constant("start", [0], np.int64)
        place = graph.op("Slice", [graph.constant("positions", places), start, end, start])
    hidden = norm(graph.rows("words", weights("words"), "input_ids"), place, "norm", None, None, [])
    relative = []
    if family == "mpnet":
        table = np.asarray(weights.tensors["encoder.relative_attention_bias.weight"], np.float32)
        relative = [_relative_bias(graph, config, table, length)]
    for layer in range(layers):
        if packed:
            # With the biases in the products, attention reads them where they are; else it copies all three first.
            qkv = [graph.op("Gemm", [hidden, matrix(key, layer), bias(key, layer)]) for key in "qkv"]
            attended = attention("PackedMultiHeadAttention", [*qkv, "", "token_offset", "cu_seqlens"])
        else:
            qkv = [matmul(hidden, key, layer) for key in "qkv"]
            biases = np.concatenate([weights(key, "bias", layer) for key in "qkv"])
            qkv_bias = graph.constant(f"{layer}.qkv.bias", biases)
            attended = attention("MultiHeadAttention", [*qkv, qkv_bias, "lengths", *relative])
        hidden = norm(matmul(attended, "o", layer), hidden, "norm1", layer, None, [bias("o", layer)])
        inner = matmul(hidden, "up", layer)
        if activation == "relu":
            inner = graph.op("Relu", [graph.op("Add", [inner, bias("up", layer)])])
        else:
            kind = "BiasGelu" if activation == "gelu" else "FastGelu"
            inner = graph.op(kind, [inner, bias("up", layer)], None, _MICROSOFT)
        name = "last_hidden_state" if layer == layers - 1 else None
        hidden = norm(matmul(inner, "down", layer), hidden, "norm2", layer, name, [bias("down", layer)])
    dimension = places.shape[1]
    info, int32 = helper.make_tensor_value_info, TensorProto.INT32
    real = TensorProto.FLOAT16 if precision == "fp16" else TensorProto.FLOAT
    outputs = []
    if packed:
        inputs = [info("input_ids", int32, ["tokens"]), info("position_ids", int32, ["tokens"])]
        inputs += [info("token_offset", int32, ["batch", "length"]), info("cu_seqlens", int32, ["batch_and_one"])]
        outputs.append(info("last_hidden_state", real, ["tokens", dimension]))
    else:
        inputs = [info("input_ids", int32, ["batch", "length"]), info("lengths", int32, ["batch"])]
        if precision != "fp16":
            _pool(graph, hidden, length, pooling)
            outputs = [info(name, real, ["batch", dimension]) for name in ("pooled", "sentence_embedding")]
        outputs.append(info("last_hidden_state", real, ["batch", "length", dimension]))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(_MICROSOFT, 1)]
    return helper.make_model(
        helper.make_graph(graph.nodes, "encoder", inputs, outputs, list(graph.constants.values())),
        opset_imports=opsets,
        ir_version=8,
        producer_name="rapidchunk",
    )


def _check(config: dict[str, Any], pooling: str, precision: str, packed: bool) -> None:
    if not supports(config):
        raise ValueError(f"model must be one of {', '.join(FAMILIES)}, got model_type {config.get('model_type')!r}")
    if pooling not in POOLINGS:
        raise ValueError(f"pooling must be one of {', '.join(POOLINGS)}, got {pooling!r}")
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}")
    if packed and not packs(config):
        raise ValueError(f"packed must be False for a model of the family {config['model_type']}")
    activation = config.get("activation" if config["model_type"] == "distilbert" else "hidden_act")
    if activation not in ("gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "relu"):
        raise ValueError(f"model has the activation {activation!r}, which is not supported")
    kind = config.get("position_embedding_type", "absolute")
    if kind != "absolute" or config.get("is_decoder"):
        raise ValueError(f"model must be an encoder with absolute positions, got {kind!r} positions")


def export(
    folder: str | os.PathLike[str],
    *,
    pooling: str,
    precision: str = "fp32",
    packed: bool = False,
    weights_sha256: str | None = None,
) -> Path:
    """Path of the ONNX graph of the model in `folder`, made on first use and kept in the cache folder.

    The cache key is the hash of the weights and of config.json, the options and `EXPORTER_VERSION`; the graph appears
    in the cache by one rename. `weights_sha256` saves hashing the weights where the caller knows the hash.

    Raises:
        ValueError: as `build`, or no model.safetensors in the folder.
        OSError: the cache folder cannot be written; the message names it.
    """
    folder = Path(folder)
    path = folder / models.WEIGHTS
    if not path.is_file():
        raise ValueError(f"model: {folder} has no {models.WEIGHTS}")
    config_bytes = (folder / "config.json").read_bytes()
    config = json.loads(config_bytes)
    _check(config, pooling, precision, packed)
    if not weights_sha256:
        with open(path, "rb") as file:
            weights_sha256 = _sha256(file)
    key = hashlib.sha256(weights_sha256.encode() + config_bytes).hexdigest()[:24]
    kind = "packed" if packed else pooling
    target = models.cache_folder() / "graphs" / f"{key}-{kind}-{precision}-v{EXPORTER_VERSION}"
    if (target / "model.onnx").is_file():
        return target / "model.onnx"
    try:
        import onnx
    except ImportError as error:
        raise ImportError("making an encoder graph needs onnx: pip install rapidchunk[cpu]") from error
    graph = build(config, read_safetensors(path), pooling=pooling, precision=precision, packed=packed)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise OSError(f"the cache folder {target.parent} cannot be written; set RAPIDCHUNK_CACHE ({error})") from error
    try:
        external = sum(len(tensor.raw_data) for tensor in graph.graph.initializer) > _EXTERNAL_BYTES
        onnx.save(graph, str(scratch / "model.onnx"), save_as_external_data=external, location="weights.bin")
        scratch.chmod(0o755)
        try:
            scratch.rename(target)
        except OSError:
            if not (target / "model.onnx").is_file():  # otherwise another process was first with the same graph
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target / "model.onnx"


def _sha256(file: Any) -> str:
    digest = hashlib.sha256()
    while block := file.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()
