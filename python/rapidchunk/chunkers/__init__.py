"""The strategies, one file each."""

from rapidchunk.chunkers.base import Chunker
from rapidchunk.chunkers.markdown import MarkdownChunker
from rapidchunk.chunkers.recursive import RecursiveChunker
from rapidchunk.chunkers.semantic import SemanticChunker
from rapidchunk.chunkers.sentence import SentenceChunker
from rapidchunk.chunkers.token import TokenChunker

__all__ = ["Chunker", "MarkdownChunker", "RecursiveChunker", "SemanticChunker", "SentenceChunker", "TokenChunker"]
