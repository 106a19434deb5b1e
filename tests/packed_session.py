"""A session that runs a packed graph in NumPy, from the addresses it is bound to: the operators of CUDA alone, written out."""

from __future__ import annotations

import ctypes
import types
from itertools import pairwise

import numpy as np
from onnx import TensorProto, load
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun


class SkipLayerNormalization(OpRun):
    op_domain = "com.microsoft"

    def _run(self, value, skip, weight, offset, bias=None, epsilon=1e-12):
        total = value.astype(np.float32) + skip.astype(np.float32)
        if bias is not None:
            total = total + bias.astype(np.float32)
        centred = total - total.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon)
        return ((scaled * weight.astype(np.float32) + offset.astype(np.float32)).astype(value.dtype),)


class PackedMultiHeadAttention(OpRun):
    op_domain = "com.microsoft"

    def _run(self, query, key, value, bias, token_offset, cu_seqlens, num_heads=None):
        assert bias is None and token_offset.dtype == cu_seqlens.dtype == np.int32
        texts, length = token_offset.shape
        lengths = np.diff(cu_seqlens)
        assert len(lengths) == texts and cu_seqlens[0] == 0 and cu_seqlens[-1] == len(query) and lengths.max() <= length
        # The places of the tokens in a padded table, in order; then those of the padding.
        table = np.arange(texts * length).reshape(texts, length)
        real = np.arange(length) < lengths[:, None]
        assert token_offset.ravel().tolist() == [*table[real].tolist(), *table[~real].tolist()]
        out = np.empty_like(value)
        for begin, end in pairwise(cu_seqlens):
            q, k, v = (
                x[begin:end].astype(np.float32).reshape(end - begin, num_heads, -1).transpose(1, 0, 2)
                for x in (query, key, value)
            )
            score = q @ k.transpose(0, 2, 1) / np.sqrt(np.float32(q.shape[-1]))
            weight = np.exp(score - score.max(-1, keepdims=True))
            mixed = (weight / weight.sum(-1, keepdims=True)) @ v
            out[begin:end] = mixed.transpose(1, 0, 2).reshape(end - begin, -1)
        return (out,)


class BiasGelu(OpRun):
    op_domain = "com.microsoft"

    def _run(self, value, bias):
        x = value.astype(np.float32) + bias.astype(np.float32)
        # Abramowitz and Stegun 7.1.26 for erf, to 1.5e-7.
        z = np.abs(x) / np.sqrt(np.float32(2))
        t = 1 / (1 + 0.3275911 * z)
        series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
        erf = np.sign(x) * (1 - series * np.exp(-z * z))
        return ((x * (1 + erf) / 2).astype(value.dtype),)


class FastGelu(OpRun):
    op_domain = "com.microsoft"

    def _run(self, value, bias):
        x = value.astype(np.float32) + bias.astype(np.float32)
        return ((x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3))) / 2).astype(value.dtype),)


OPERATORS = [SkipLayerNormalization, PackedMultiHeadAttention, BiasGelu, FastGelu]
_TYPES = {
    TensorProto.FLOAT: "tensor(float)",
    TensorProto.FLOAT16: "tensor(float16)",
    TensorProto.INT32: "tensor(int32)",
}


class _Binding:
    def __init__(self) -> None:
        self.inputs, self.output = {}, None

    def bind_input(self, name, memory, index, dtype, shape, address):
        self.inputs[name] = _at(address, dtype, shape)

    def bind_output(self, name, memory, index, dtype, shape, address):
        self.output = (name, _at(address, dtype, shape))


def _at(address, dtype, shape):
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_uint8 * size).from_address(address), dtype).reshape(shape)


class PackedSession:
    """As much of onnxruntime.InferenceSession as `CudaRun` uses."""

    def __init__(self, model) -> None:
        model = load(model) if isinstance(model, str) else model
        self._evaluator = ReferenceEvaluator(model, new_ops=OPERATORS)
        self._values = {"inputs": model.graph.input, "outputs": model.graph.output}

    def _described(self, kind):
        return [
            types.SimpleNamespace(
                name=value.name,
                type=_TYPES[value.type.tensor_type.elem_type],
                shape=[d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim],
            )
            for value in self._values[kind]
        ]

    def get_inputs(self):
        return self._described("inputs")

    def get_outputs(self):
        return self._described("outputs")

    def io_binding(self):
        return _Binding()

    def run_with_iobinding(self, binding, options=None):
        name, out = binding.output
        (answer,) = self._evaluator.run([name], binding.inputs)
        assert answer.dtype == out.dtype and answer.shape == out.shape
        out[...] = answer
