"""Reference of csrc/core/utf8: byte positions and code point positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["byte_offsets", "code_point_offsets"]


def code_point_offsets(texts: Sequence[str], document: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Byte positions as code point positions.

    Args:
        texts: the documents.
        document: int64 [n], the document of each position, in order.
        positions: int64 [n], bytes of the document's UTF-8, in order within a document, at starts of characters.

    Returns:
        int64 [n].

    Raises:
        ValueError: positions or documents are out of order, or a document is outside the batch (native only).
    """
    utf8 = [text.encode("utf-8", "surrogatepass") for text in texts]
    found = [
        len(utf8[number][:position].decode("utf-8", "surrogatepass"))
        for number, position in zip(document.tolist(), positions.tolist())
    ]
    return np.array(found, np.int64)


def byte_offsets(texts: Sequence[str], offsets: np.ndarray, spans: np.ndarray) -> np.ndarray:
    """Code point spans as byte spans.

    Args:
        texts: the documents.
        offsets: int64 [D + 1], where each document's spans begin and end.
        spans: int64 [n, 2], code points, in order and not overlapping within a document.

    Returns:
        int64 [n, 2].

    Raises:
        ValueError: spans are out of order, or offsets do not fit them (native only).
    """
    out = np.empty_like(spans)
    for number, text in enumerate(texts):
        for row in range(offsets[number], offsets[number + 1]):
            out[row] = [len(text[:at].encode("utf-8", "surrogatepass")) for at in spans[row]]
    return out
