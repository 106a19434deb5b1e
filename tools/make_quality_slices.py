"""Makes tests/data/quality: documents of Wiki-50 and SQuAD with MiniLM vectors of their sentences, for the floors that CI holds
(tests/test_quality.py).

    python tools/make_quality_slices.py DATA     # the folder that benchmarks/quality.py reads; its cache is used

Sentences are encoded alone, in fp32; rows are stored as int8, their largest value at 127.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "python")]
import quality_data  # noqa: E402
import rapidchunk as rc  # noqa: E402
from corpus import CACHE  # noqa: E402
from rapidchunk.encoders import OnnxEncoder  # noqa: E402

OUT = ROOT / "tests" / "data" / "quality"
ARTICLES = 4


def main() -> None:
    data = Path(sys.argv[1])
    documents = quality_data.wiki50(data)
    texts: dict[str, None] = dict.fromkeys(sentence for document in documents for sentence in document.sentences)
    wiki = [
        {"name": document.name, "sentences": document.sentences, "starts": document.starts.tolist()}
        for document in documents
    ]

    given = quality_data.squad(data)
    asked_of = np.bincount([one.document for one in given.questions], minlength=len(given.texts))
    density = asked_of / [len(text) for text in given.texts]  # most questions for the least text
    chosen = np.argsort(-density, kind="stable")[:ARTICLES].tolist()
    articles: list[dict[str, Any]] = []
    for number in chosen:
        text = given.texts[number]
        spans = rc.sentence_spans(text).tolist()
        asked = [
            {"question": one.question, "references": one.references}
            for one in given.questions
            if one.document == number
        ]
        texts |= dict.fromkeys([text[start:end] for start, end in spans] + [one["question"] for one in asked])
        articles.append({"name": given.names[number], "text": text, "sentences": spans, "questions": asked})

    encoder = quality_data.CachedEncoder(OnnxEncoder("minilm", device="cpu"), "minilm-fp32", CACHE / "vectors")
    vectors = encoder.encode(list(texts))
    OUT.mkdir(parents=True, exist_ok=True)
    with gzip.GzipFile(OUT / "texts.json.gz", "wb", mtime=0) as file:
        file.write(json.dumps({"wiki50": wiki, "squad": articles, "texts": list(texts)}, ensure_ascii=False).encode())
    np.savez_compressed(
        OUT / "vectors.npz", rows=np.rint(127 * vectors / np.abs(vectors).max(axis=1, keepdims=True)).astype(np.int8)
    )
    print(len(wiki), "documents,", len(articles), "articles,", len(texts), "texts")


if __name__ == "__main__":
    main()
