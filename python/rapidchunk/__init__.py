"""Native chunking of documents for retrieval: exact spans, hard token limits, semantic boundaries, vectors."""

from rapidchunk._version import __version__
from rapidchunk.chunkers import (
    ChatChunker,
    Chunker,
    CodeChunker,
    MarkdownChunker,
    RecursiveChunker,
    SemanticChunker,
    SentenceChunker,
    TokenChunker,
)
from rapidchunk.chunks import Chunk, Chunks, ChunkStream
from rapidchunk.sentences import sentence_spans
from rapidchunk.tokenizers import as_tokenizer

__all__ = [
    "ChatChunker",
    "Chunk",
    "ChunkStream",
    "Chunker",
    "Chunks",
    "CodeChunker",
    "MarkdownChunker",
    "RecursiveChunker",
    "SemanticChunker",
    "SentenceChunker",
    "TokenChunker",
    "__version__",
    "as_tokenizer",
    "sentence_spans",
]
