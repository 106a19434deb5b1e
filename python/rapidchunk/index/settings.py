"""What an index is asked to be, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Report", "RunError", "Settings"]


class RunError(RuntimeError):
    """The output or its work folder is not in a state to go on from; the message says what to do."""


@dataclass(frozen=True)
class Settings:
    """What decides about the content of an index; it is kept in the file, and a resumed run must have the same.

    Attributes:
        strategy: a name from `rapidchunk.strategies`, or "auto" for the one that suits each file.
        options: the strategy's parameters, JSON values; with "auto" those that a strategy does not have are left out, and
            sizes that are not given are those of `for_document`.
        encoder: a known model or an absolute path, recorded for `search`; None: no vectors.
        tokenizer: a name or an absolute path.
        skip_errors: inputs that cannot be read are left out.
        vectors: "reencode", "mean" or "late"; see `Chunks.encode`. Strategies that make vectors themselves are told.
        sentence_vectors: keep those of the sentences of every chunk too, for `search`.
    """

    strategy: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)
    encoder: str | None = None
    tokenizer: str = "bert"
    skip_errors: bool = False
    vectors: str = "reencode"
    sentence_vectors: bool = False


@dataclass
class Report:
    """What came of it: counts. `embedded` and `reused` are chunks whose vectors are new, or out of the file before."""

    files: int = 0
    documents: int = 0
    chunks: int = 0
    skipped: int = 0
    dimension: int | None = None
    resumed: int = 0
    embedded: int = 0
    reused: int = 0
