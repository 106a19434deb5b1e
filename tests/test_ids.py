"""Ids of chunks, and what else goes with every row."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import rapidchunk as rc

LINES = "Same line. Same line. Same line. Same line. Same line. Same line."


def words(**options):
    return rc.RecursiveChunker(options.pop("max_tokens", 10), tokenizer="words", **options)


def test_ids_are_equal_between_runs_and_unique():
    """Case B340."""
    runs = [words()([LINES] * 2).chunk_ids() for _ in range(2)]
    assert runs[0] == runs[1]
    assert len(runs[0]) == 4 and len(set(runs[0])) == 4


def test_settings_are_in_the_id_and_apart_from_the_text():
    """Case B342."""
    text = "Some words stand here."
    one, two = words()(text), words(max_tokens=12)(text)
    assert one.texts() == two.texts()
    assert one.chunk_ids() != two.chunk_ids()
    assert one.text_hashes() == two.text_hashes()
    assert one.settings_hash != two.settings_hash


def test_only_what_changed_gets_a_new_id():
    before = words(max_tokens=3)("One two three. Four five six. Seven eight nine.", ids="a")
    after = words(max_tokens=3)("Zero zero zero. One two three. Four five six. Seven eight ten.", ids="a")
    assert before.texts()[0] == after.texts()[1]
    kept = set(before.chunk_ids()) & set(after.chunk_ids())
    assert len(kept) == 2


def test_documents_with_ids_keep_theirs_in_any_order_and_as_a_stream():
    texts, names = ["One two.", "One two.", "Three."], ["x", "y", "z"]
    forward = dict(zip(names, words()(texts, ids=names).chunk_ids()))
    back = dict(zip(names[::-1], words()(texts[::-1], ids=names[::-1]).chunk_ids()))
    assert forward == back and len(set(forward.values())) == 3
    assert words()(iter(texts), ids=names).collect().chunk_ids() == list(forward.values())


def test_ids_do_not_depend_on_addresses():
    ids = [rc.RecursiveChunker(10, tokenizer=lambda text: len(text.split()))(LINES).chunk_ids() for _ in range(2)]
    assert ids[0] == ids[1]


def test_metadata_goes_with_every_row():
    texts = [LINES, "", "Other."]
    given = [{"source": "a.txt", "tokens": 7}, {"source": "b.txt"}, None]
    chunks = words()(texts, metadata=given)
    assert [row.metadata for row in chunks] == [given[0], given[0], {}]
    table = chunks.to_arrow()
    assert table["source"].to_pylist() == ["a.txt", "a.txt", None]
    assert table["metadata.tokens"].to_pylist() == [7, 7, None]
    assert chunks[1:].replace(n=np.arange(2))[0].metadata == {**given[0], "n": 0}
    assert pickle.loads(pickle.dumps(chunks))[0].metadata == given[0]
    stream = words()(iter(texts), metadata=iter(given)).collect()
    assert [row.metadata for row in stream] == [row.metadata for row in chunks]
    assert words()("One.", metadata={"k": 1})[0].metadata == {"k": 1}


@pytest.mark.parametrize("metadata", [[{}], {"a": 1}, [1, 2], 3, "ab"])
def test_metadata_is_checked(metadata):
    with pytest.raises(ValueError, match="metadata"):
        words()(["a", "b"], metadata=metadata)


def test_columns():
    text = "Erste Zeile.\nZweite Zeile ä.\n\nDritte Zeile.\n"
    chunks = words(max_tokens=3)([text, "Eins."]).with_lines()
    assert chunks.characters.tolist() == [len(t) for t in chunks.texts()]
    assert chunks.count.tolist() == [3, 3, 3, 1]
    assert chunks.strategy == "recursive"
    for row in chunks:
        before = row.start
        document = [text, "Eins."][row.document]
        assert row.metadata["start_line"] == 1 + document[:before].count("\n")
        assert row.metadata["end_line"] == 1 + document[: row.end - 1].count("\n")


def test_every_strategy_can_have_all_columns():
    text = "# A\n\nOne two three four.\n\n## B\n\nFive six seven eight."
    chunkers = [
        words(max_tokens=6),
        rc.MarkdownChunker(8, tokenizer="words"),
        rc.HierarchicalChunker((20, 6), tokenizer="words"),
        rc.PageChunker(6, tokenizer="words"),
        rc.HierarchicalChunker([rc.CodeChunker("python", 20, tokenizer="words"), words(max_tokens=5)]),
    ]
    names = ["id", "strategy", "count", "characters", "headings", "section", "level", "parent"]
    names += ["start_line", "end_line", "page_start", "page_end"]
    for chunker in chunkers:
        for paged in (False, True):
            plain = chunker([text.replace("\n\n##", "\f##") if paged else text, "One."], metadata=[{"source": "x"}, {}])
            full = plain.with_metadata()
            assert set(names) <= set(full.extra) and full[0].metadata["source"] == "x"
            assert full.extra["id"] == plain.chunk_ids() == full.chunk_ids()
            assert full.extra["strategy"] == [chunker.__class__.__name__.removesuffix("Chunker").lower()] * len(full)
            for name in set(plain.extra) - {"start_line", "end_line"}:
                assert list(full.extra[name]) == list(plain.extra[name])
            for row in full:
                about = row.metadata
                assert about["characters"] == len(row.text)
                assert about["section"] == (about["headings"][-1] if about["headings"] else None)
                document = full.document_text(row.document)
                assert about["start_line"] == 1 + document[: row.start].count("\n")
                pages = (1 + document[: row.start].count("\f"), 1 + document[: row.end].count("\f"))
                known = "\f" in document or isinstance(chunker, rc.PageChunker)
                assert (about["page_start"], about["page_end"]) == (pages if known else (None, None))
            table = full.to_arrow()
            assert str(table["headings"].type) == "list<item: string>" and str(table["page_start"].type) == "int64"
    tree = rc.HierarchicalChunker((20, 6), tokenizer="words")([text, text])
    some = tree.expand([len(tree) - 1, 1]).with_lines()  # documents are in no order here
    assert [row.metadata["start_line"] for row in some] == [1, 1]


def test_chunks_without_levels_are_of_level_0():
    full = words()(LINES).with_metadata()
    assert full.extra["level"].tolist() == [0] * len(full) and full.extra["parent"].tolist() == [-1] * len(full)
    assert full[:0].with_metadata().extra["headings"] == []
