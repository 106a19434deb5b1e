"""rapidchunk inside LangChain, LlamaIndex and Haystack, each where it is installed."""

from __future__ import annotations

import pytest
import rapidchunk as rc

#: A text that is there twice, so that looking for it finds the wrong place.
TEXT = "# Harbour\n\nThe light burns. The light burns. The light burns.\n\n## Keeper\n\nThe light burns. He climbs.\n"
CHUNKER = rc.MarkdownChunker(6, tokenizer="words")


def expected(text=TEXT):
    return [(row.text, row.start, row.end) for row in CHUNKER(text)]


def test_langchain():
    langchain = pytest.importorskip("rapidchunk.integrations.langchain", exc_type=ImportError)
    from langchain_core.documents import Document
    from langchain_text_splitters import TextSplitter

    splitter = langchain.RapidchunkTextSplitter(CHUNKER)
    assert isinstance(splitter, TextSplitter) and splitter.split_text(TEXT) == [text for text, _, _ in expected()]
    given = [Document(page_content=TEXT, metadata={"source": "a"}), Document(page_content="", metadata={"source": "b"})]
    for found in (splitter.split_documents(given), splitter.transform_documents(given)):
        places = [(d.page_content, d.metadata["start_index"], d.metadata["end_index"]) for d in found]
        assert places == expected() and {d.metadata["source"] for d in found} == {"a"}
        assert found[-1].metadata["headings"] == ["Harbour", "Keeper"] and found[-1].metadata["tokens"] <= 6
    named = langchain.RapidchunkTextSplitter("markdown", max_tokens=6, tokenizer="words")
    assert named.create_documents([TEXT])[-1].metadata["headings"] == ["Harbour", "Keeper"]
    for wrong in ({"chunker": 3}, {"chunker": "nothing"}, {"chunker": CHUNKER, "max_tokens": 3}, {"max_token": 3}):
        with pytest.raises(ValueError, match=r"chunker|strategy|max_token"):
            langchain.RapidchunkTextSplitter(**wrong)


def test_llama_index():
    llama_index = pytest.importorskip("rapidchunk.integrations.llama_index", exc_type=ImportError)
    from llama_index.core.ingestion import IngestionPipeline
    from llama_index.core.schema import Document, NodeRelationship

    parser = llama_index.RapidchunkNodeParser(CHUNKER)
    given = [Document(text=TEXT, metadata={"source": "a"}), Document(text="Other words.", metadata={"source": "b"})]
    for found in (
        parser.get_nodes_from_documents(given),
        IngestionPipeline(transformations=[parser]).run(documents=given),
    ):
        first = [node for node in found if node.metadata["source"] == "a"]
        assert [(node.text, node.start_char_idx, node.end_char_idx) for node in first] == expected()
        assert first[-1].metadata["headings"] == ["Harbour", "Keeper"]
        assert first[0].relationships[NodeRelationship.NEXT].node_id == first[1].node_id
        assert {node.ref_doc_id for node in first} == {given[0].id_} and found[-1].text == "Other words."
    alone = llama_index.RapidchunkNodeParser("sentence", max_tokens=9, parser={"include_prev_next_rel": False})
    assert NodeRelationship.NEXT not in alone.get_nodes_from_documents(given)[0].relationships


def test_haystack():
    haystack = pytest.importorskip("rapidchunk.integrations.haystack", exc_type=ImportError)
    from haystack import Document, Pipeline

    splitter = haystack.RapidchunkSplitter("markdown", {"max_tokens": 6, "tokenizer": "words"})
    given = [Document(content=TEXT, meta={"source": "a"}), Document(content="Other words.")]
    pipeline = Pipeline()
    pipeline.add_component("split", haystack.RapidchunkSplitter.from_dict(splitter.to_dict()))
    found = pipeline.run({"split": {"documents": given}})["split"]["documents"]
    first = [one for one in found if one.meta["source_id"] == given[0].id]
    assert [(d.content, d.meta["split_idx_start"], d.meta["split_idx_end"]) for d in first] == expected()
    assert first[-1].meta["headings"] == ["Harbour", "Keeper"] and first[0].meta["source"] == "a"
    assert [one.meta["split_id"] for one in first] == list(range(len(first))) and found[-1].content == "Other words."
    with pytest.raises(ValueError, match="chunker"):
        haystack.RapidchunkSplitter(CHUNKER).to_dict()
    with pytest.raises(ValueError, match="content"):
        splitter.run([Document(content=None)])


@pytest.mark.parametrize(
    ("name", "package"),
    [("langchain", "langchain_core.documents"), ("llama_index", "llama_index.core.schema"), ("haystack", "haystack")],
)
def test_a_missing_framework_names_the_extra(name, package, monkeypatch):
    import importlib
    import sys

    for module in [key for key in sys.modules if key.startswith(f"rapidchunk.integrations.{name}")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, package.partition(".")[0], None)
    with pytest.raises(ImportError, match=rf"rapidchunk\[{name.replace('_', '-')}\]"):
        importlib.import_module(f"rapidchunk.integrations.{name}")
