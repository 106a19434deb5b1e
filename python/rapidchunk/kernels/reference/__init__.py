"""The kernels in plain Python and NumPy: what the native ones must equal, and where their contracts are written."""

from rapidchunk.kernels.reference.boundaries import boundary_candidates, greedy_cuts, optimal_cuts
from rapidchunk.kernels.reference.directional import DirectionalStream, directional_cuts
from rapidchunk.kernels.reference.html import html_text
from rapidchunk.kernels.reference.markdown import markdown_blocks
from rapidchunk.kernels.reference.markdown_chunks import markdown_chunks
from rapidchunk.kernels.reference.pack import pack
from rapidchunk.kernels.reference.sections import html_sections, section_chunks, section_groups, section_pieces
from rapidchunk.kernels.reference.sentences import sentence_spans
from rapidchunk.kernels.reference.similarity import adjacent_similarity, chunk_scores
from rapidchunk.kernels.reference.utf8 import byte_offsets, code_point_offsets
from rapidchunk.kernels.reference.vectors import gather_mean, pool_spans
from rapidchunk.kernels.reference.windows import gather_windows, pack_windows, token_windows
from rapidchunk.kernels.reference.wordpiece import WordPiece

__all__ = [
    "DirectionalStream",
    "WordPiece",
    "adjacent_similarity",
    "boundary_candidates",
    "byte_offsets",
    "chunk_scores",
    "code_point_offsets",
    "directional_cuts",
    "gather_mean",
    "gather_windows",
    "greedy_cuts",
    "html_sections",
    "html_text",
    "markdown_blocks",
    "markdown_chunks",
    "optimal_cuts",
    "pack",
    "pack_windows",
    "pool_spans",
    "section_chunks",
    "section_groups",
    "section_pieces",
    "sentence_spans",
    "token_windows",
]
