"""Files to a Parquet file of chunks, metadata and vectors: what ``rapidchunk index`` does."""

from rapidchunk.index.columns import SCHEMA_KEY, VECTORS
from rapidchunk.index.indexer import Indexer
from rapidchunk.index.settings import Report, RunError, Settings

__all__ = ["SCHEMA_KEY", "VECTORS", "Indexer", "Report", "RunError", "Settings"]
