"""The packing stage against its reference, at every SIMD level, and its cluster boundaries against the `regex` module."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys

import numpy as np
import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rapidchunk import _core
from rapidchunk.kernels.reference.graphemes import is_cluster_boundary
from rapidchunk.kernels.reference.pack import Units, pack

ALPHABET = "aaabbc  \n\n\r.,!é文字。🇯🇵🇩👍🏽\u200d\u0301क्ष한각\u1100\u1161\u00a0\u2028👩\t"
TEXTS = st.text(alphabet=ALPHABET, max_size=120) | st.text(max_size=60)
LEVELS = st.sampled_from(
    [
        [],
        ["words"],
        [["\n\n"], ["\n"], [". ", "! "], [" "]],
        [["\n\n", "\r\n\r\n"], "words"],
        [["。", ". "], [" "]],
        [["ab"], ["a"]],
        [["aba", "."]],
    ]
)


def native(text, measure, levels, **options):
    texts = _core.Texts([text])
    index = _core.word_indexes(texts) if measure == "words" else measure
    _, start, end, byte_start, byte_end, tokens = _core.pack(texts, index, levels, **options)
    utf8 = texts.utf8(0)
    for i in range(len(start)):
        piece = text[start[i] : end[i]]
        if not any("\ud800" <= c < "\ue000" for c in piece):
            assert utf8[byte_start[i] : byte_end[i]].decode() == piece
    return list(zip(start.tolist(), end.tolist())), tokens.tolist()


def units(text, measure):
    spaced = Units(text)
    return Units(text, spaced.words, spaced.words) if measure == "words" else spaced


@settings(max_examples=400, deadline=None)
@given(
    TEXTS, st.sampled_from(["chars", "words"]), LEVELS, st.integers(1, 30), st.integers(0, 20), st.integers(0, 29),
    st.sampled_from(["end", "start", "drop"]),
)  # fmt: skip
@example("a\u0301" * 9, "chars", [], 4, 0, 3, "end")
def test_pack_equals_reference(text, measure, levels, max_tokens, min_tokens, overlap, keep):
    options = dict(
        max_tokens=max_tokens, min_tokens=min(min_tokens, max_tokens), overlap=min(overlap, max_tokens - 1), keep=keep
    )
    got, tokens = native(text, measure, levels, **options)
    assert got == pack(units(text, measure), levels, **options)
    count = len if measure == "chars" else lambda piece: len(piece.split())
    assert tokens == [count(text[start:end]) for start, end in got]


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.integers(1, 30), st.integers(0, 29), st.sampled_from(["end", "start", "drop"]))
def test_starts_are_empty_separators(text, max_tokens, overlap, keep):
    """Spans as boundaries where they begin, whatever happens to separators."""
    texts = _core.Texts([text])
    spans, offsets = _core.sentence_spans(texts)
    options = dict(max_tokens=max_tokens, overlap=min(overlap, max_tokens - 1), keep=keep)
    got = _core.pack(texts, "chars", [("starts", spans, offsets), "words"], **options)
    separators = np.ascontiguousarray(np.repeat(spans[:, :1], 2, axis=1))
    want = _core.pack(texts, "chars", [(separators, offsets), "words"], **options)
    assert all(map(np.array_equal, got, want))


@pytest.mark.parametrize("measure", ["chars", "bytes", "words"])
@pytest.mark.parametrize("alphabet", ["ascii", "any"])
def test_many_threads_pack_a_large_document_alike(measure, alphabet):
    """One document is cut into parts for the threads; the chunks are those of one thread. So are those of a string that is
    converted for the call, and of one that has been converted before."""
    r = random.Random(measure + alphabet)
    pieces = ["word", "a", " ", " ", ". ", "! ", "\n", "\n\n", "  ", "x" * 70]
    if alphabet == "any":
        pieces += ["é", "文字。", "a\u0301", " \u0301"]
    text = "".join(r.choices(pieces, k=900_000))
    assert len(text) > 1 << 21
    converted = _core.Texts([text])
    assert converted.bytes == len(text.encode())
    index = _core.word_indexes(converted) if measure == "words" else measure
    sentences = ("starts", *_core.sentence_spans(converted))
    for levels in ([], ["words"], [["\n\n"], ["\n"], [". ", "! "], [" "]], [["\n", ".", "!"]], [sentences, "words"]):
        for limits in (dict(max_tokens=300), dict(max_tokens=60, overlap=25, min_tokens=20, keep="drop")):
            want = _core.pack(converted, index, levels, **limits)
            for texts, threads in ((converted, 2), (_core.Texts([text]), 3), (_core.Texts([text]), 1)):
                got = _core.pack(texts, index, levels, threads=threads, **limits)
                assert all(map(np.array_equal, got, want)), (levels, limits, threads)


@settings(max_examples=300, deadline=None)
@given(TEXTS | st.text("\u094d\u0301\u0915\u200d\u0bcd\u0b95\u093ea\u0600\U0001f469", max_size=12))
@example("\u094d\u0301\u0915")
def test_cluster_boundaries(text):
    """Never inside a cluster of UAX 29, and equal to the reference."""
    texts = _core.Texts([text])
    ends = np.cumsum([len(c.encode("utf-8", "surrogatepass")) for c in text]) if text else np.empty(0, int)
    inside = set(range(1, len(text))) - {m.end() for m in regex.finditer(r"\X", text)}
    for at in range(1, len(text)):
        boundary = _core.is_cluster_boundary(texts, 0, int(ends[at - 1]))
        assert boundary == is_cluster_boundary(text, at)
        assert not (boundary and at in inside)


@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"])
def test_simd_levels_agree(level):
    """The same chunks from every instruction set."""
    script = """
import hashlib, json, random
from rapidchunk import _core
r = random.Random(5)
text = "".join(r.choices(["word", " ", ". ", "\\n", "\\n\\n", "é", "文字。", "x" * 70], k=20000))
texts = _core.Texts([text])
out = []
for levels in ([], ["words"], [["\\n\\n"], ["\\n"], [". "], [" "]]):
    for keep in ("end", "start", "drop"):
        columns = _core.pack(texts, "chars", levels, keep=keep, max_tokens=300, overlap=40, min_tokens=20)
        out.append([column.tolist() for column in columns])
print(json.dumps([_core.simd_level(), hashlib.sha256(json.dumps(out).encode()).hexdigest()]))
"""

    def run(simd):
        environment = {**os.environ, "RAPIDCHUNK_SIMD": simd} if simd else dict(os.environ)
        done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
        if "does not have" in done.stderr:
            pytest.skip(f"this machine has no {simd}")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    got = run(level)
    assert got[0] == level
    assert got[1:] == run("baseline")[1:]
