"""Chunks documents with Ray Data: one process a GPU, or several processes on CPUs, each with an encoder of its own.

    python examples/ray_data.py documents.parquet chunks/ --gpus 4
    python examples/ray_data.py documents.parquet chunks/ --workers 2      # on CPUs, of which Ray keeps one to read and write

documents.parquet has the columns "id" and "text". What is written has a row for each chunk, with its vector.
"""

from __future__ import annotations

import argparse

import pyarrow as pa
import rapidchunk as rc
import ray
from rapidchunk.encoders import OnnxEncoder


class Chunks:
    """Made once in each process. Ray shows a process only the GPU that it has for it, which is "cuda:0" there."""

    def __init__(self, device: str, model: str) -> None:
        encoder = OnnxEncoder(model, device=device, threads=1 if device == "cpu" else None)
        self.chunker = rc.SemanticChunker(encoder, max_tokens=250, vectors="mean")

    def __call__(self, batch: pa.Table) -> pa.Table:
        return self.chunker(batch["text"], ids=batch["id"].to_pylist()).to_arrow()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("documents")
    parser.add_argument("chunks", help="folder for the Parquet files")
    parser.add_argument("--gpus", type=int, default=0, help="processes with a GPU each")
    parser.add_argument("--workers", type=int, default=1, help="if there are no --gpus: processes, fewer than the CPUs")
    parser.add_argument("--model", default="minilm")
    given = parser.parse_args()
    on_gpu = given.gpus > 0
    documents = ray.data.read_parquet(given.documents, columns=["id", "text"])
    chunks = documents.map_batches(
        Chunks,
        fn_constructor_args=("cuda" if on_gpu else "cpu", given.model),
        batch_format="pyarrow",
        batch_size=1024 if on_gpu else 64,  # documents: a GPU wants many sentences at a time
        concurrency=given.gpus or given.workers,
        num_gpus=1 if on_gpu else 0,
    )
    chunks.write_parquet(given.chunks)
    print(f"{ray.data.read_parquet(given.chunks).count()} chunks of {documents.count()} documents")


if __name__ == "__main__":
    main()
