"""What an encoder is, and the checks that every encoder's input and output pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Encoder", "Progress", "Vectors", "finish", "text_list"]

Progress = Callable[[int, int], object]
Vectors = NDArray[np.float32]


class Encoder(Protocol):
    """Turns texts into vectors.

    `dimension` is the length of a vector, None while a wrapped encoder has not answered yet.
    """

    @property
    def dimension(self) -> int | None: ...

    def encode(
        self, texts: Sequence[str], *, progress: Progress | None = None, report: dict[str, Any] | None = None
    ) -> Vectors:
        """One L2-normalised float32 vector for each text, [n, dimension], in input order.

        A blank text has the zero vector. A text longer than the encoder's window is split, encoded in parts, and
        averaged with the parts' token counts as weights; `report["split"]` receives the indexes of such texts.
        `progress(done, total)` is called with numbers of texts.
        """
        ...


def text_list(texts: Sequence[str]) -> list[str]:
    """The texts as a list.

    Raises:
        TypeError: not a sequence of str; the message names `texts` and the index.
    """
    if isinstance(texts, (str, bytes)):
        raise TypeError(f"texts must be a sequence of str, got one {type(texts).__name__}")
    out = list(texts)
    for index, text in enumerate(out):
        if not isinstance(text, str):
            raise TypeError(f"texts must be a sequence of str, got {type(text).__name__} at index {index}")
    return out


def finish(vectors: Vectors, name: str, normalize: bool = True) -> Vectors:
    """Check the rows and normalise them in place to length 1; zero rows stay zero.

    Raises:
        ValueError: a row is not finite; the message names the encoder and the index of the text.
    """
    # The sum in float64 can neither overflow nor vanish for any finite float32 row.
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    bad = np.flatnonzero(~np.isfinite(norms))
    if len(bad):
        raise ValueError(f"encoder {name} gave a vector that is not finite for the text at index {bad[0]}")
    if normalize:
        norms[norms == 0] = 1
        np.divide(vectors, norms[:, None], out=vectors, casting="unsafe")
    return vectors
