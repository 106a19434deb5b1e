"""The strategies, one file each."""

from rapidchunk.chunkers.base import Chunker
from rapidchunk.chunkers.chat import ChatChunker
from rapidchunk.chunkers.code import CodeChunker
from rapidchunk.chunkers.markdown import MarkdownChunker
from rapidchunk.chunkers.recursive import RecursiveChunker
from rapidchunk.chunkers.semantic import SemanticChunker
from rapidchunk.chunkers.sentence import SentenceChunker
from rapidchunk.chunkers.token import TokenChunker

__all__ = [
    "ChatChunker",
    "Chunker",
    "CodeChunker",
    "MarkdownChunker",
    "RecursiveChunker",
    "SemanticChunker",
    "SentenceChunker",
    "TokenChunker",
]
