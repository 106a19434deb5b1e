"""Plain Python and NumPy forms of the kernels, by stage."""

from rapidchunk.kernels.reference.markdown import (
    markdown_blocks,
)
from rapidchunk.kernels.reference.sentences import sentence_spans

__all__ = [
    "markdown_blocks",
    "sentence_spans",
]
