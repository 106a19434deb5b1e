"""Cases of the strategy late: token vectors of the whole document, pooled over the chunks."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import rapidchunk as rc

from case_adapters.text import rows_of

STRATEGIES = ("late",)


def adapter(case: dict[str, Any], value: str) -> dict[str, Any]:
    given = case["params"]
    spans = np.array([match.span() for match in re.finditer(r"\S+", value)], np.int64)
    kind, _, number = given["token_embedder"].partition(":")
    if kind == "index":  # token i has the vector [i]
        vectors = np.arange(len(spans), dtype=np.float32)[:, None]
    else:  # stub_short: fewer vectors than tokens
        vectors = np.ones((len(spans) - 1, int(number)), np.float32)
    chunks = rc.TokenChunker(given["max_tokens"], given.get("overlap", 0), given["tokenizer"])(value)
    chunks = chunks.pool_tokens([vectors], [spans], normalize=False)
    assert chunks.vectors is not None
    return {"chunks": rows_of(chunks), "vectors": chunks.vectors.tolist()}
