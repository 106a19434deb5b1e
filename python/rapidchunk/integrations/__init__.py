"""rapidchunk inside other frameworks: one module each, imported only by whom it concerns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rapidchunk.chunkers.base import Chunker
from rapidchunk.chunks import Chunk

__all__ = ["as_chunker", "metadata_of"]


def as_chunker(chunker: Chunker | str, options: Mapping[str, Any]) -> Chunker:
    """The chunker itself, or that of a strategy's name ("sentence", "markdown", ...) with its options.

    Raises:
        ValueError: no such strategy, a bad option, or options for a ready chunker.
    """
    if isinstance(chunker, str):
        from rapidchunk.strategies import make

        return make(chunker, options)
    if not isinstance(chunker, Chunker):
        raise ValueError(f"chunker must be a chunker or the name of a strategy, not {chunker!r}")
    if options:
        raise ValueError(f"{next(iter(options))} must be given to the chunker itself")
    return chunker


def metadata_of(chunk: Chunk) -> dict[str, Any]:
    """What a strategy adds to a chunk (heading path, page, ...) in types that can be written as JSON, without what is None."""
    found = {}
    for name, value in chunk.metadata.items():
        if isinstance(value, (np.generic, np.ndarray)):
            value = value.tolist()
        elif isinstance(value, tuple):
            value = list(value)
        if value is not None:
            found[name] = value
    return found
