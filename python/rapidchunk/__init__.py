"""Native chunking of documents for retrieval."""

from rapidchunk._version import __version__

__all__ = ["__version__"]
