"""The native kernels. Their contracts are the docstrings of the functions of the same names in kernels.reference."""

from rapidchunk._core import (
    WordPiece,
    adjacent_similarity,
    boundary_candidates,
    byte_offsets,
    code_point_offsets,
    directional_cuts,
    gather_windows,
    greedy_cuts,
    html_text,
    markdown_blocks,
    optimal_cuts,
    pack,
    pack_windows,
    pool_spans,
    sentence_spans,
    token_windows,
)

__all__ = [
    "WordPiece",
    "adjacent_similarity",
    "boundary_candidates",
    "byte_offsets",
    "code_point_offsets",
    "directional_cuts",
    "gather_windows",
    "greedy_cuts",
    "html_text",
    "markdown_blocks",
    "optimal_cuts",
    "pack",
    "pack_windows",
    "pool_spans",
    "sentence_spans",
    "token_windows",
]
