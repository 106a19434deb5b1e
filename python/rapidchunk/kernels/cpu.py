"""The native kernels. Their contracts are the docstrings of the functions of the same names in kernels.reference."""

from rapidchunk._core import (
    markdown_blocks,
    sentence_spans,
)

__all__ = [
    "markdown_blocks",
    "sentence_spans",
]
