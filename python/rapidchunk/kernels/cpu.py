"""The native kernels. Their contracts are the docstrings of the functions of the same names in kernels.reference."""

from rapidchunk._core import (
    sentence_spans,
)

__all__ = [
    "sentence_spans",
]
