"""The kernel that makes chunks of Markdown blocks, against its plain reference; every SIMD level, one thread and many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_pieces import BREAKS, EXTENSIONS, PIECES
from rapidchunk import _core
from rapidchunk.kernels import reference

WORDS = ["Some words here. ", "Two. Three! ", "e\u0301 👍🏽 ", "x = 1", "    y", "## T\n\n", "# U\n", "### V ###\n"]
TABLE = "| a | b |\n|---|---|\n" + "| one | two |\n" * 4
WIDE = "| a | b |\n|" + "-" * 9 + "|" + "-" * 30 + ":|\n" + "| one | two |\n" * 4
CODE = "```py\nx = 1\n\n  y = 2\nz\n```\n"
ITEM = "- ~~~py\n  x = 1\n  y = 2\n  ~~~\n"
MANY = [TABLE, WIDE, CODE, CODE[:-4], ITEM, "\ufeff"]
documents = st.lists(st.sampled_from(PIECES + EXTENSIONS + WORDS * 3 + MANY * 2 + BREAKS * 3), max_size=24).map("".join)
options = st.fixed_dictionaries(
    {"max_tokens": st.integers(1, 60)},
    optional={
        "min_tokens": st.integers(0, 30),
        "overlap": st.integers(0, 20),
        "keep_headings": st.booleans(),
        "reserve_headings": st.booleans(),
        "joint": st.integers(0, 3),
        "defer": st.booleans(),
        "heading_levels": st.integers(0, 63).map(lambda bits: bits * 2),
    },
)
NAMES = ("start", "end", "tokens", "section", "repeat", "repeat_start", "repeat_end", "deferred")


def native(texts, measure, threads=1, **chosen):
    batch = _core.Texts(texts)
    index = _core.word_indexes(batch) if measure == "words" else measure
    return _core.markdown_chunks(batch, index, threads=threads, **chosen)


def limited(chosen):
    most = chosen["max_tokens"]
    limits = {"min_tokens": most, "overlap": most - 1}
    return {name: min(value, limits.get(name, value)) for name, value in chosen.items()}


@settings(max_examples=300, deadline=None)
@given(documents, st.sampled_from(["chars", "words"]), options)
@example("# a\n\n" + TABLE, "words", {"max_tokens": 20, "reserve_headings": True})
@example("# a\n" + CODE, "chars", {"max_tokens": 24, "min_tokens": 9})
@example(CODE, "words", {"max_tokens": 3})
@example("# a\n\n" + WIDE, "chars", {"max_tokens": 60})
@example("\ufeff\n# a\n" + ITEM, "chars", {"max_tokens": 25})
def test_native_equals_reference(text, measure, chosen):
    chosen = limited(chosen)
    found = native([text], measure, **chosen)
    plain = reference.markdown_chunks(text, measure, **chosen)
    points = np.cumsum([0, *(len(character.encode()) for character in text)])
    for name in NAMES:
        expected = [getattr(chunk, name) for chunk in plain]
        if name.startswith("repeat_"):
            expected = [int(points[at]) for at in expected]
        assert found[name].tolist() == expected, name
    assert found["byte_start"].tolist() == [int(points[chunk.start]) for chunk in plain]
    assert found["byte_end"].tolist() == [int(points[chunk.end]) for chunk in plain]


@settings(max_examples=60, deadline=None)
@given(st.lists(documents, max_size=6), options, st.sampled_from([2, 3]))
def test_threads_and_batches_change_nothing(texts, chosen, threads):
    chosen = limited(chosen)
    one, many = native(texts, "chars", **chosen), native(texts, "chars", threads, **chosen)
    assert all(one[name].tolist() == many[name].tolist() for name in one)
    alone = [native([text], "chars", **chosen) for text in texts]
    for name in ("start", "end", "tokens", "repeat"):
        assert one[name].tolist() == [value for found in alone for value in found[name].tolist()]
    titles = [(found["title_start"].tolist(), found["title_end"].tolist()) for found in alone]
    assert one["title_start"].tolist() == [at for starts, _ in titles for at in starts]
    assert one["section_document"].tolist() == [d for d, (starts, _) in enumerate(titles) for _ in starts]


@pytest.mark.parametrize(
    ("name", "value"), [("max_tokens", 0), ("min_tokens", 9), ("overlap", 8), ("heading_levels", 128)]
)
def test_bad_arguments_are_named(name, value):
    with pytest.raises(ValueError, match=rf"^{name} "):
        native(["# a"], "chars", **{"max_tokens": 8, name: value})
