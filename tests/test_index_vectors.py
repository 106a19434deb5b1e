"""Vectors of sentences in an index: made for any strategy, reused by --update, searched."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import rapidchunk as rc
from rapidchunk import documents, index, search
from rapidchunk.chunks import Chunks
from rapidchunk.encoders import as_encoder
from rapidchunk.index import indexer
from rapidchunk.index.old_vectors import OldVectors
from strategies import HashEncoder

TEXTS = {
    "harbour.txt": "The lighthouse burns all night. Boats come home late. " * 12 + "A dog barks at the pier.",
    "notes.md": "# Power failure\n\nSwitch it on again. Wait a minute.\n\n## Water\n\nClose the tap. Call the office.\n",
    "empty.txt": "",
}


class Counting(HashEncoder):
    def __init__(self):
        self.seen = []

    def encode(self, texts, *, progress=None, report=None):
        self.seen += texts
        out = super().encode(texts)
        return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-9)


@pytest.fixture
def folder(tmp_path):
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def run(folder, encoder, update=False, **settings):
    settings = {"options": {"max_tokens": 24}, "sentence_vectors": True, **settings}
    sources = documents.find([str(folder / name) for name in TEXTS])
    made = index.Settings(encoder="letters", **settings)
    report = index.Indexer(sources, folder / "out.parquet", made, encoder=encoder, update=update).run()
    return report, pq.read_table(folder / "out.parquet")


@pytest.mark.parametrize("strategy", ["auto", "sentence", "token", "semantic", "hierarchical"])
@pytest.mark.parametrize("vectors", ["mean", "reencode"])
def test_every_strategy_stores_its_sentences(folder, strategy, vectors):
    options = {"levels": [48, 16]} if strategy == "hierarchical" else {"max_tokens": 24}
    if strategy == "token":
        options["overlap"] = 0
    encoder = Counting()
    _, table = run(folder, encoder, strategy=strategy, vectors=vectors, options=options)
    chunks = Chunks.from_arrow(table)
    assert (chunks.sentence_vectors.counts > 0).all()
    contexts = chunks.contexts()
    for row, text in enumerate(contexts):
        sentences = [text[a:b] for a, b in rc.sentence_spans(text)]
        np.testing.assert_allclose(chunks.sentence_vectors.of(row), Counting().encode(sentences), atol=1e-6)
        if vectors == "reencode":
            np.testing.assert_allclose(chunks.vectors[row], Counting().encode([text])[0], atol=1e-6)
    if vectors == "mean":
        whole = {sentence for text in TEXTS.values() for sentence in text.split(". ")}
        assert len(encoder.seen) <= 2 * len(whole) + 40  # no second pass over the chunks
        assert set(encoder.seen).isdisjoint(text for text in contexts if len(rc.sentence_spans(text)) > 1)


def test_without_sentence_vectors_the_file_is_as_before(folder):
    _, table = run(folder, Counting(), sentence_vectors=False)
    assert "sentence_vectors" not in table.column_names
    chunks = Chunks.from_arrow(table)
    np.testing.assert_allclose(chunks.vectors, Counting().encode(chunks.contexts()), atol=1e-6)


@pytest.mark.parametrize("vectors", ["mean", "reencode"])
@pytest.mark.parametrize("sentence_vectors", [True, False])
def test_update_reuses_what_did_not_change(folder, vectors, sentence_vectors):
    settings = {"vectors": vectors, "sentence_vectors": sentence_vectors}
    _, before = run(folder, Counting(), **settings)
    again = Counting()
    report, after = run(folder, again, update=True, **settings)
    assert after.equals(before) and not again.seen and (report.embedded, report.reused) == (0, len(before))
    (folder / "notes.md").write_text(TEXTS["notes.md"].replace("Close the tap.", "Find the main valve."))
    changed = Counting()
    report, updated = run(folder, changed, update=True, **settings)
    assert report.reused > 0 and report.embedded == 1 and any("main valve" in text for text in changed.seen)
    _, fresh = run(folder, Counting(), **settings)
    assert updated.equals(fresh)
    report, _ = run(folder, Counting(), update=True, **{**settings, "sentence_vectors": not sentence_vectors})
    assert report.reused == 0  # another kind of vectors


def test_old_vectors_are_found_in_any_order_and_row_group(folder, monkeypatch):
    monkeypatch.setattr(indexer, "ROW_GROUP_BYTES", 1)
    chunks = Chunks.from_arrow(run(folder, Counting())[1])
    file = folder / "many.parquet"
    pq.write_table(pq.read_table(folder / "out.parquet"), file, row_group_size=2)
    old = OldVectors(pq.ParquetFile(file))
    hashes = chunks.text_hashes()
    order = np.random.default_rng(0).permutation(len(hashes))
    vectors, sentences = old.take([hashes[row] for row in order])
    np.testing.assert_array_equal(vectors, chunks.vectors[order])
    for row, number in enumerate(order):
        np.testing.assert_array_equal(sentences.of(row), chunks.sentence_vectors.of(number))


@pytest.mark.parametrize("sentence_vectors", [True, False])
def test_search_ranks_by_the_score_of_chunks(folder, sentence_vectors, monkeypatch):
    monkeypatch.setattr(search, "BATCH_ROWS", 3)
    _, table = run(folder, Counting(), sentence_vectors=sentence_vectors)
    question = Counting().encode(["A dog barks"])[0]
    scores = Chunks.from_arrow(table).score(question)
    found = search.Index(folder / "out.parquet").search(question, 4)
    assert [hit.row for hit in found] == np.argsort(-scores, kind="stable")[:4].tolist()
    np.testing.assert_array_equal(np.float32([hit.score for hit in found]), np.sort(scores)[::-1][:4])
    if sentence_vectors:  # no other sentence has these words; in a chunk's one vector they can drown
        assert "A dog barks" in found[0].columns["text"]
    assert not {"vector", "sentence_vectors"} & set(found[0].columns)
    with pytest.raises(ValueError, match="question has shape"):
        search.Index(folder / "out.parquet").search(question[:3])


def test_late_vectors_are_never_taken_from_the_file_before(folder):
    class Tokens(Counting):
        def encode_tokens(self, text):
            spans = [(0, len(text))]
            return self.encode([text]), np.array(spans)

    settings = {"vectors": "late", "sentence_vectors": False, "strategy": "sentence"}
    _, table = run(folder, Tokens(), **settings)
    report, _ = run(folder, Tokens(), update=True, **settings)
    assert report.reused == 0 and report.embedded == len(table)
    with pytest.raises(ValueError, match="encode_tokens"):
        run(folder, as_encoder(lambda texts: np.ones((len(texts), 3))), **settings)
    with pytest.raises(ValueError, match="vectors must be one of"):
        run(folder, Counting(), vectors="max")


def test_types_of_the_columns(folder):
    _, table = run(folder, Counting())
    vector = pa.list_(pa.float32(), 16)
    assert table.schema.field("vector").type == vector
    assert table.schema.field("sentence_vectors").type.value_type == vector
