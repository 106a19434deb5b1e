"""What a session of ONNX Runtime reads and gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Signature"]

TYPES: dict[str, Any] = {
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
}
PADDED = ("input_ids", "attention_mask", "token_type_ids", "lengths")
PACKED = ("input_ids", "position_ids", "token_offset", "cu_seqlens")


@dataclass(frozen=True)
class Signature:
    """The inputs of an encoder's graph and the output that we take.

    Attributes:
        inputs: dtype of each input by name.
        packed: the tokens of a batch are one row, without padding (see `export`).
        output, dtype: name and dtype of the output.
        rank: 3 for token vectors [batch, length, dimension], 2 for vectors of texts [batch, dimension] or, in a packed
            graph, of tokens.
        dimension: length of a vector, None where the graph does not say.
    """

    inputs: dict[str, Any]
    packed: bool
    output: str
    dtype: Any
    rank: int
    dimension: int | None

    @classmethod
    def of(cls, session: Any, by_tokens: bool, unpooled: bool = False) -> Signature:
        """
        Args:
            by_tokens: take token vectors where there are any, since the caller wants them pooled in another way.
            unpooled: take nothing else.

        Raises:
            ValueError: an input that we cannot fill, or no output of vectors.
        """
        given = {value.name: value.type for value in session.get_inputs()}
        packed = set(given) == set(PACKED)
        for name, kind in given.items():
            if name not in (PACKED if packed else PADDED) or kind not in TYPES:
                raise ValueError(f"model has the input {name} ({kind}), which is not supported")
        outputs = {value.name: value for value in session.get_outputs() if value.type in TYPES}
        token_level = [value for value in outputs.values() if len(value.shape) == 3]
        text_level = [value for value in outputs.values() if len(value.shape) == 2]
        if unpooled and not token_level:
            raise ValueError("model has no output of token vectors, which vectors 'late' needs")
        if unpooled:
            chosen = next((value for value in token_level if value.name == "last_hidden_state"), token_level[0])
        elif packed:
            chosen = outputs["last_hidden_state"]
        elif "pooled" in outputs and "lengths" in given:  # a graph of our exporter
            chosen = outputs["pooled"]
        elif "sentence_embedding" in outputs and not (by_tokens and token_level):
            chosen = outputs["sentence_embedding"]
        elif token_level or text_level:
            chosen = (token_level or text_level)[0]
        else:
            raise ValueError(f"model has no output of floats for tokens or texts, only {', '.join(outputs)}")
        last = chosen.shape[-1]
        return cls(
            inputs={name: TYPES[kind] for name, kind in given.items()},
            packed=packed,
            output=chosen.name,
            dtype=TYPES[chosen.type],
            rank=len(chosen.shape),
            dimension=last if isinstance(last, int) else None,
        )
