"""The strategies, one file each."""

from rapidchunk.chunkers.api import ApiChunker
from rapidchunk.chunkers.base import Chunker
from rapidchunk.chunkers.book import BookChunker
from rapidchunk.chunkers.chat import ChatChunker
from rapidchunk.chunkers.clauses import LegalChunker, PaperChunker
from rapidchunk.chunkers.code import CodeChunker
from rapidchunk.chunkers.hierarchical import HierarchicalChunker, SentenceWindowChunker
from rapidchunk.chunkers.html import HtmlChunker
from rapidchunk.chunkers.markdown import MarkdownChunker
from rapidchunk.chunkers.pages import PageChunker
from rapidchunk.chunkers.proposition import PropositionChunker
from rapidchunk.chunkers.recursive import RecursiveChunker
from rapidchunk.chunkers.semantic import SemanticChunker
from rapidchunk.chunkers.sentence import SentenceChunker
from rapidchunk.chunkers.token import TokenChunker

__all__ = [
    "ApiChunker",
    "BookChunker",
    "ChatChunker",
    "Chunker",
    "CodeChunker",
    "HierarchicalChunker",
    "HtmlChunker",
    "LegalChunker",
    "MarkdownChunker",
    "PageChunker",
    "PaperChunker",
    "PropositionChunker",
    "RecursiveChunker",
    "SemanticChunker",
    "SentenceChunker",
    "SentenceWindowChunker",
    "TokenChunker",
]
