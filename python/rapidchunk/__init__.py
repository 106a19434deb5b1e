"""Native chunking of documents for retrieval: exact spans, hard token limits, semantic boundaries, vectors."""

from rapidchunk._version import __version__
from rapidchunk.chunkers import (
    ApiChunker,
    BookChunker,
    ChatChunker,
    Chunker,
    CodeChunker,
    HierarchicalChunker,
    HtmlChunker,
    LegalChunker,
    MarkdownChunker,
    PageChunker,
    PaperChunker,
    PropositionChunker,
    RecursiveChunker,
    SemanticChunker,
    SentenceChunker,
    SentenceWindowChunker,
    TokenChunker,
)
from rapidchunk.chunks import Chunk, Chunks, ChunkStream
from rapidchunk.presets import for_document
from rapidchunk.sentences import sentence_spans
from rapidchunk.tokenizers import as_tokenizer

__all__ = [
    "ApiChunker",
    "BookChunker",
    "ChatChunker",
    "Chunk",
    "ChunkStream",
    "Chunker",
    "Chunks",
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
    "__version__",
    "as_tokenizer",
    "for_document",
    "sentence_spans",
]
