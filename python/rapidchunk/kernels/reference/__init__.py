"""Plain Python and NumPy forms of the kernels, by stage."""

from rapidchunk.kernels.reference.markdown import (
    markdown_blocks,
)

__all__ = [
    "markdown_blocks",
]
