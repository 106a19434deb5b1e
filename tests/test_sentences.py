"""The sentence stage: gold sets, promises, the reference, every SIMD level, and linear time on hostile input."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rapidchunk import sentence_spans
from rapidchunk.kernels import cpu, reference
from sentence_sets import UD, exact, f1, golden_rules, pysbd_tests, sentencex_tests, ud_documents

# What the rules look at: stops, quotes, numbers, abbreviations, line breaks, marks, scripts without spaces.
PIECES = [
    ". ",
    "! ",
    "? ",
    ".",
    "...",
    "…",
    '"',
    "“",
    "”",
    "„",
    "«",
    "»",
    "(",
    ")",
    "[",
    "]",
    "'",
    "’",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\t",
    " ",
    "  ",
    "A",
    "b",
    "The",
    "he",
    "i ",
    "they",
    "Mr",
    "Dr.",
    "e.g.",
    "U.S.",
    "a.m.",
    "At ",
    "z. B.",
    "co.",
    "Inc.",
    "No.",
    "Fig. ",
    "1",
    "12",
    "2.",
    "1)",
    "a)",
    "b)",
    "(i)",
    "I",
    "II",
    "12. Juni",
    "world",
    "Today",
    "。",
    "！",
    "？",
    "「",
    "」",
    "と",
    "日本",
    "．",
    "３",
    "।",
    "॥",
    "१",
    "؟",
    "።",
    ":",
    "; ",
    "λ",
    "Ա",
    "։",
    "\u0301",
    "\u200d",
    "\ufe0f",
    "\U0001f44d\U0001f3fd",
    "😀",
    ":)",
    " :-) ",
    ":(",
    "•",
    "·",
    "- ",
    "* ",
    "#",
    "# ",
    "---",
    "====",
    "|",
    "*",
    "_",
    "[1]",
    " [2] ",
    ".11 ",
    "[...]",
    "¹",
    "¿",
    "—",
    "-",
    ",",
    ".NET",
    "http://a.b",
    "x@y.z",
    "\u3000",
    "\xa0",
    "‼",
    "\u2028",
    "\u2029",
    "\x85",
    "\f",
    "\x1c",
    "\x00",
    "\ufffd",
    "é",
    "Ф",
    "ф.",
    "г.",
    ". . . .",
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.characters(exclude_categories=["Cs"]), max_size=40).map("".join)
LANGUAGES = [None, "en", "de", "fr", "es", "ru", "ja", "hy", "hi"]


def spans_of(text: str, language: str | None = None, newline_is_boundary: bool = False) -> list[tuple[int, int]]:
    spans, offsets = cpu.sentence_spans([text.encode()], language, newline_is_boundary, threads=1)
    assert offsets.tolist() == [0, len(spans)]
    return [tuple(span) for span in spans.tolist()]


def sentences(text: str, language: str | None = None, newline_is_boundary: bool = False) -> list[str]:
    data = text.encode()
    return [data[a:b].decode() for a, b in spans_of(text, language, newline_is_boundary)]


def check_promises(text: str, spans: list[tuple[int, int]]) -> None:
    data, position = text.encode(), 0
    for start, end in [*spans, (len(data), len(data))]:
        assert position <= start <= end <= len(data)
        assert not data[position:start].decode().strip(), "text between sentences"
        position = end
    for start, end in spans:
        sentence = data[start:end].decode()
        assert sentence.strip()
        assert sentence == sentence.rstrip()
        # no white space at the start, unless it carries a mark; no mark at the start, unless nothing can carry it
        if sentence[0].isspace():
            assert (
                unicodedata.category(sentence[1])[0] == "M"
                or sentence[1] in "\u200c\u200d\uff9e\uff9f\u0e33\u0eb3"
                or ord(sentence[1]) > 0xFFFF
            )
        elif unicodedata.category(sentence[0])[0] == "M" and start:
            assert data[:start].decode()[-1] in "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u2028\u2029"


# ---- gold sets: floors are what was reached, so that a change for the worse shows ----


@pytest.mark.parametrize("language", [None, "en"])
def test_english_golden_rules(language: str | None) -> None:
    assert exact(golden_rules(), lambda text: sentences(text, language), joined=False) == 48


def test_pysbd_tests() -> None:
    sets = pysbd_tests()
    assert sum(map(len, sets.values())) == 399
    assert sum(exact(cases, sentences) for cases in sets.values()) >= 360
    assert sum(exact(cases, lambda text, k=k: sentences(text, k)) for k, cases in sets.items()) >= 361


def test_sentencex_tests() -> None:
    sets = sentencex_tests()
    assert sum(exact(cases, sentences) for cases in sets.values()) >= 449
    languages = {k: "en" if k == "lists" else k for k in sets}
    assert sum(exact(cases, lambda text, k=k: sentences(text, languages[k])) for k, cases in sets.items()) >= 452


@pytest.mark.parametrize(
    ("name", "floor"), [("en_ewt", 0.919), ("de_gsd", 0.923), ("fr_gsd", 0.965), ("ja_gsd", 1.0), ("zh_gsdsimp", 0.996)]
)
def test_universal_dependencies(name: str, floor: float) -> None:
    documents = ud_documents(name)
    assert f1(documents, sentences)[2] >= floor
    assert f1(documents, lambda text: sentences(text, UD[name]))[2] >= floor


# ---- single rules ----


@pytest.mark.parametrize(
    "expected",
    [
        ["Wrapped lines of\na letter go on.", "A new sentence\nbegins here."],
        ["A paragraph without a stop", "Another one"],
        ["Steps:", "1. Wash the rice", "2. Boil it\nfor ten minutes", "- Serve"],
        ["# Heading", "Text that follows"],
        ["Title", "=====", "Text"],
        ["This sentence runs over\fthe page break.", "The end."],
        ["„Komm.“, sagte er.", "Sie ging am 3. Oktober."],
        ["»Es ist spät. Ich gehe.«", "Das sagte er."],
        ["彼は「行こう。もう遅い。」と言った。", "私は残った。"],
        ["इसे कोई नहीं जानता।", "यह सच है।"],
        ["Great work! 😀", "Thanks."],
        ["See Fig. 3 and vol. II of the U.S. edition.", "It is old."],
        ["yeah that works.", "i will call them.", "what time?", "they close at 5."],
        ["It ran on Windows.", ".NET was needed."],
        ["Vorträge am 12. Juni.", "Am 13. geht es weiter."],
        ["¿Cómo está?", "¡Muy bien!", "«No sé.», dijo."],
        ["Hello world.", "Today is warm."],
    ],
)
def test_rules(expected: list[str]) -> None:
    separators = {"A paragraph without a stop": "\n\n", "Steps:": "\n", "# Heading": "\n", "Title": "\n"}
    text = separators.get(expected[0], " ").join(expected)
    assert sentences(text) == expected


def test_newline_is_boundary() -> None:
    text = "To pack:\n two blankets\r\n one lamp\n\nBest wishes"
    assert sentences(text, newline_is_boundary=True) == ["To pack:", "two blankets", "one lamp", "Best wishes"]
    assert sentences(text) == ["To pack:\n two blankets\r\n one lamp", "Best wishes"]


def test_batch_and_arguments() -> None:
    texts = [b"One. Two.", b"", b" \n ", "Три. Четыре.".encode()]
    for threads in (1, 3, None):
        spans, offsets = cpu.sentence_spans(texts, threads=threads)
        assert spans.dtype == offsets.dtype == np.int64
        assert spans.shape == (4, 2)
        assert offsets.tolist() == [0, 2, 2, 2, 4]
    for kernel in (cpu.sentence_spans, reference.sentence_spans):
        assert kernel([], None)[0].shape == (0, 2)
        assert kernel([b"It is at 5. He left."], "en-GB")[0].tolist() == [[0, 11], [12, 20]]
        with pytest.raises(ValueError, match="language"):
            kernel(texts, "xx")
        with pytest.raises(ValueError, match="threads"):
            kernel(texts, threads=0)


# ---- long documents, which are read in pieces ----


@given(TEXTS, TEXTS, st.sampled_from("Aa1.(\"['#-~"), st.sampled_from(LANGUAGES), st.booleans())
def test_blank_line_divides(before: str, after: str, first: str, language: str | None, newlines: bool) -> None:
    head, tail = before + "\n\n", first + after
    size = len(head.encode())
    moved = [(start + size, end + size) for start, end in spans_of(tail, language, newlines)]
    assert spans_of(head + tail, language, newlines) == spans_of(head, language, newlines) + moved


def test_pieces_of_a_long_document() -> None:
    paragraph = "Dr. Ünal met „Mr. O’Neil“ (at 5 p.m.). Why?\n\n\u00a0\n\n— He said: “No. Never.”\r\n\r\n"
    parts = [f"{number}. {paragraph}" * 9000 for number in range(4)]
    separate, at = [], 0
    for part in parts:
        separate.append(cpu.sentence_spans([part.encode()])[0] + at)
        at += len(part.encode())
    text = "".join(parts)
    assert len(parts[0].encode()) < 2 << 20 < len(text.encode())
    for threads in (1, 2):
        assert np.array_equal(cpu.sentence_spans([text.encode()], threads=threads)[0], np.concatenate(separate))
    encoded = text.encode()
    points = sentence_spans(["Ä.", text])[0][1:]
    lengths = [len(encoded[a:b].decode()) for a, b in np.concatenate(separate)[::97].tolist()]
    assert [len(text[a:b].strip()) for a, b in points[::97].tolist()] == lengths


# ---- the reference, and promises on any text ----


@settings(max_examples=400, deadline=None)
@given(TEXTS, st.sampled_from(LANGUAGES), st.booleans())
@example(". \u0301a. \u0301", None, False)
@example("\n \u0301\n\n \u0301x", None, False)
@example("‼\u200d😀 A", None, False)
def test_native_equals_reference(text: str, language: str | None, newline_is_boundary: bool) -> None:
    spans = spans_of(text, language, newline_is_boundary)
    expected, _ = reference.sentence_spans([text.encode()], language, newline_is_boundary)
    assert spans == [tuple(span) for span in expected.tolist()]
    check_promises(text, spans)


def test_native_equals_reference_on_gold_texts() -> None:
    texts = [text for text, _ in golden_rules()]
    for sets in (pysbd_tests(), sentencex_tests(), {name: ud_documents(name) for name in UD}):
        texts += [text for cases in sets.values() for text, _ in cases]
    data = [text.encode() for text in texts]
    for newline_is_boundary in (False, True):
        got, got_offsets = cpu.sentence_spans(data, None, newline_is_boundary)
        want, want_offsets = reference.sentence_spans(data, None, newline_is_boundary)
        assert np.array_equal(got_offsets, want_offsets)
        assert np.array_equal(got, want)
    for d, text in enumerate(texts):
        check_promises(text, [tuple(s) for s in want[want_offsets[d] : want_offsets[d + 1]].tolist()])


LEVELS = """
import hashlib, random
from rapidchunk._core import sentence_spans
from test_sentences import PIECES
random.seed(5)
texts = ["".join(random.choices(PIECES, k=k)).encode() for k in [*range(200), 3000, 50000]]
digest = hashlib.sha256()
for language in (None, "de"):
    for array in sentence_spans(texts, language):
        digest.update(array.tobytes())
print(digest.hexdigest())
"""


def test_same_at_every_simd_level() -> None:
    results = {}
    for level in ("baseline", "avx2", "avx512"):
        path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
        environment = os.environ | {"RAPIDCHUNK_SIMD": level, "PYTHONPATH": path}
        run = subprocess.run([sys.executable, "-c", LEVELS], env=environment, capture_output=True, text=True)
        if run.returncode and "does not have" in run.stderr:
            continue
        assert run.returncode == 0, run.stderr
        results[level] = run.stdout.strip()
    assert "baseline" in results
    assert len(set(results.values())) == 1, results
    assert all(len(r) == len(hashlib.sha256().hexdigest()) for r in results.values())


HOSTILE = [
    "x",
    ".",
    ". ",
    '"',
    '" ',
    "(",
    ")",
    "[",
    "\n",
    "\n ",
    " ",
    "a.",
    "A. ",
    "1) ",
    ". \u0301",
    ". :)",
    ".[1]",
    "\n---",
    "\n-",
    "-",
    "• ",
    ". 😀",
    ". ..a",
    '."',
    '"( . )" ',
    "*",
    "a'",
    ".\u200d",
    ". - - ",
    "1.2.",
    ". .a ",
    ".11 ",
    "「。",
    "？",
    "।",
    "։",
    "λ;",
    "…",
    "\r\n|",
    "i. ii. ",
    "#",
    ":)",
    ". )",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_input_is_covered(piece: str) -> None:
    # A scan that looked back or ahead without bound would take hours for these.
    text = piece * (1_000_000 // len(piece))
    spans, _ = cpu.sentence_spans([text.encode()])
    assert (spans[:, 0] < spans[:, 1]).all()
    assert (spans[1:, 0] >= spans[:-1, 1]).all()
    covered = np.zeros(len(text.encode()) + 1, np.int64)
    np.add.at(covered, spans[:, 0], 1)
    np.add.at(covered, spans[:, 1], -1)
    inside = np.cumsum(covered)[:-1] > 0
    data = np.frombuffer(text.encode(), np.uint8)
    assert np.isin(data[~inside], list(b" \r\n")).all()
