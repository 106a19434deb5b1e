"""How large chunks are, and how much of the text they hold more than once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rapidchunk.chunks import Chunks
from rapidchunk.evaluate.spans import union

__all__ = ["SizeReport", "size_report"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class SizeReport:
    """Tokens are those of a chunk's text alone, special tokens included."""

    chunks: int
    tokens: int  #: of all chunks together
    mean: float
    std: float
    smallest: int
    largest: int
    quantiles: dict[float, float]  #: tokens at 5, 25, 50, 75 and 95 % of the chunks
    below_minimum: float  #: share of chunks with fewer tokens than `minimum`
    above_maximum: float  #: share of chunks with more tokens than `maximum`
    duplication: float  #: characters that are in a chunk again, by the characters that are in chunks: 0 without overlap

    def __str__(self) -> str:
        spread = ", ".join(f"{100 * share:g} %: {value:.0f}" for share, value in self.quantiles.items())
        return (
            f"{self.chunks} chunks, tokens {self.smallest}-{self.largest}, mean {self.mean:.1f} ({spread}), "
            f"{100 * self.below_minimum:.1f} % below the minimum, {100 * self.duplication:.1f} % duplicated"
        )


def size_report(chunks: Chunks, minimum: int = 0, maximum: int | None = None) -> SizeReport:
    """Sizes of chunks and what overlap costs.

    Args:
        minimum, maximum: tokens; `maximum` None: no limit.

    Raises:
        ValueError: `minimum` is negative, or above `maximum`.
    """
    if minimum < 0 or (maximum is not None and maximum < minimum):
        raise ValueError(f"minimum must be from 0 to maximum, not {minimum}")
    if not len(chunks):
        return SizeReport(0, 0, 0.0, 0.0, 0, 0, dict.fromkeys(QUANTILES, 0.0), 0.0, 0.0, 0.0)
    tokens = chunks.tokens
    # Documents one after the other on one line, a character apart, so that one union serves all.
    length = np.zeros(int(chunks.document.max()) + 2, np.int64)
    np.maximum.at(length, chunks.document + 1, chunks.end + 1)
    base = np.cumsum(length)[chunks.document]
    covered = union(np.stack([base + chunks.start, base + chunks.end], axis=1))
    held, once = int(chunks.characters.sum()), int((covered[:, 1] - covered[:, 0]).sum())
    return SizeReport(
        chunks=len(chunks),
        tokens=int(tokens.sum()),
        mean=float(tokens.mean()),
        std=float(tokens.std()),
        smallest=int(tokens.min()),
        largest=int(tokens.max()),
        quantiles=dict(zip(QUANTILES, np.quantile(tokens, QUANTILES).tolist())),
        below_minimum=float((tokens < minimum).mean()),
        above_maximum=0.0 if maximum is None else float((tokens > maximum).mean()),
        duplication=held / once - 1 if once else 0.0,
    )
