"""Cases of the strategy embed, over an encoder that is somebody else's."""

from __future__ import annotations

from typing import Any

import numpy as np
from rapidchunk.encoders import as_encoder

STRATEGIES = ("embed",)


class Recorder:
    """Keeps the texts of every call; a text's vector tells its words apart, or is their number."""

    def __init__(self, by_length: bool) -> None:
        self.by_length = by_length
        self.calls: list[list[str]] = []

    def encode(self, texts: list[str]) -> np.ndarray:
        self.calls.append(list(texts))
        if self.by_length:
            return np.array([[float(len(text.split()))] for text in texts])
        return np.array([[1.0, len(text), sum(text.encode()) % 1009] for text in texts])


def adapter(case: dict[str, Any], value: list[str]) -> dict[str, Any]:
    given = dict(case["params"])
    stub = Recorder(bool(given.get("embedder", {}).get("length")))
    options = {name: given[name] for name in ("batch_size", "max_batch_tokens") if name in given}
    if "model_max_tokens" in given:
        options["max_length"] = given["model_max_tokens"]
    encoder = as_encoder(stub, tokenizer=given["tokenizer"], normalize=False, **options)
    report: dict[str, Any] = {}
    vectors = encoder.encode(value, report=report)
    return {"vectors": vectors.tolist(), "embed_calls": stub.calls, "truncated": report.get("split", [])}
