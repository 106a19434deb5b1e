"""Cases of the strategies parent_child, proposition and batch."""

from __future__ import annotations

import multiprocessing
from typing import Any

import numpy as np
import rapidchunk as rc

from case_adapters.text import rows_of, tokenizer

STRATEGIES = ("parent_child", "proposition", "batch")


def adapter(case: dict[str, Any], value: Any) -> dict[str, Any]:
    given = dict(case["params"])
    run = {"parent_child": parent_child, "proposition": proposition, "batch": batch}[case["strategy"]]
    result = run(given, value)
    if given:
        raise ValueError(f"unknown option {sorted(given)}")
    return result


def parent_child(given: dict[str, Any], value: Any) -> dict[str, Any]:
    several = given.pop("batch", False)
    sizes, overlap, words = given.pop("sizes"), given.pop("overlap"), tokenizer(given.pop("tokenizer"))
    chunks = rc.HierarchicalChunker(sizes, overlap, words)(value)
    ids, last = chunks.chunk_ids(), len(sizes) - 1
    first = np.searchsorted(chunks.document, np.arange(chunks.documents))
    rows = [
        {
            "id": ids[number],
            "level": int(row.metadata["level"]),
            "parent_id": ids[first[chunks.document[number]] + row.metadata["parent"]],
            "document": int(chunks.document[number]),
            **described,
        }
        for number, (row, described) in enumerate(zip(chunks, rows_of(chunks)))
    ]
    parents = [row for row in rows if row["level"] == last - 1]
    children = [row for row in rows if row["level"] == last]
    if not several:
        return {"chunks": children, "parents": parents}
    docs = [[row for row in children if row["document"] == number] for number in range(chunks.documents)]
    return {"docs": docs, "parents": parents}


def proposition(given: dict[str, Any], value: Any) -> dict[str, Any]:
    several, llm = given.pop("batch", False), given.pop("llm")
    replies = llm.get("replies") or [llm["reply"]]
    texts = value if several else [value]
    by_text = dict(zip(texts, replies))
    chunker = rc.PropositionChunker(
        lambda prompt: next(reply for text, reply in by_text.items() if prompt.endswith(text)), tokenizer="words"
    )
    chunks = chunker(texts)
    docs = [rows_of(chunks.of_document(number)) for number in range(chunks.documents)]
    if not several:
        # check.py does not look at spans here: whatever the reply, no character of the text may be missing.
        covered = {at for row in chunks for at in range(row.start, row.end)}
        missing = [at for at, character in enumerate(value) if not character.isspace() and at not in covered]
        if missing:
            raise AssertionError(f"characters {missing} are in no chunk")
    return {"docs": docs} if several else {"chunks": docs[0]}


def batch(given: dict[str, Any], value: list[str]) -> dict[str, Any]:
    given.pop("batch")
    options = {"max_tokens": given.pop("max_tokens"), "tokenizer": tokenizer(given.pop("tokenizer"))}
    chunker = rc.SentenceChunker(**options)
    chunks = chunker(value)
    ids = chunks.chunk_ids()
    if chunker(list(value)).chunk_ids() != ids:
        raise AssertionError("ids differ between runs")
    if len(set(ids)) < len(ids):
        raise AssertionError("ids repeat")
    if "edit" in given:
        edited = rc.SentenceChunker(**options | given.pop("edit")["params"])(value)
        if edited.settings_hash == chunks.settings_hash or set(edited.chunk_ids()) & set(ids):
            raise AssertionError("ids do not change with the settings")
    docs = [rows_of(chunks.of_document(number)) for number in range(chunks.documents)]
    if "workers" in given:  # used here first, then in forked processes
        if not given.pop("use_in_parent_first"):
            raise ValueError("use_in_parent_first")
        with multiprocessing.get_context(given.pop("start_method")).Pool(given.pop("workers")) as pool:
            elsewhere = pool.map_async(chunker, value).get(timeout=50)
        if [rows_of(one) for one in elsewhere] != docs:
            raise AssertionError("workers chunk differently")
    return {"docs": docs}
