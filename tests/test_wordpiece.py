"""WordPiece: ids and spans equal to `tokenizers` whatever the text, and the native one equal to its plain reference."""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
import unicodedata
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pytest
import rapidchunk as rc
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidchunk import _core
from rapidchunk._wordpiece import default_wordpiece, load_wordpiece
from rapidchunk.kernels import reference
from tokenizers import AddedToken, Tokenizer
from tokenizers.models import WordPiece as Model
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
OPTIONS: dict[str, dict[str, Any]] = {
    "uncased": {},
    "cased": {"lowercase": False},
    "multilingual": {"lowercase": True, "strip_accents": False},
    "stripped": {"lowercase": False, "strip_accents": True},
    "unclean": {"clean_text": False},
    "no ideographs": {"handle_chinese_chars": False},
    "bare": {"lowercase": False, "clean_text": False, "handle_chinese_chars": False, "strip_accents": False},
}
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
MARKS = [chr(c) for c in CODE_POINTS if unicodedata.combining(chr(c))]
# White space, controls, marks that reorder, marks that are kept, decompositions into several parts, case oddities,
# ideographs at the borders of their ranges, Hangul, joiners, variation selectors, tags.
INTERESTING = [
    *"aZ1 .#[]'-_$",
    *map(chr, [9, 10, 11, 12, 13, 0, 0x1C, 0x7F, 0x85, 0xA0, 0xAD, 0xE9, 0xDF, 0x130, 0x3A3, 0x3C2]),
]
INTERESTING += map(
    chr, [0x301, 0x323, 0x345, 0x344, 0x340, 0x31B, 0x327, 0xF73, 0xF71, 0x302E, 0x1D165, 0x1D16D, 0x16FF0]
)
INTERESTING += map(
    chr, [0x1D15F, 0x1D160, 0x1E9E, 0x212B, 0x37E, 0x1FEF, 0x1EA5, 0x1F82, 0x958, 0xB4C, 0xDDD, 0x94D, 0x8E2]
)
INTERESTING += map(
    chr, [0x4E2D, 0xF900, 0x20000, 0x2B820, 0x2B920, 0x2F800, 0x3042, 0x3000, 0xAC00, 0xD55C, 0x1100, 0x11938]
)
INTERESTING += map(
    chr, [0x200B, 0x200D, 0x2028, 0xFEFF, 0xFFFD, 0xFE0F, 0x1F468, 0x1F3FB, 0xE0020, 0xE000, 0x10FFFF, 0x1E94A]
)
WORDS = [
    "the",
    "unaffable",
    "ING",
    "don't",
    "3.14",
    "foo_bar",
    "x" * 32,
    "x" * 33,
    "x" * 99,
    "x" * 100,
    "x" * 101,
    "日本語",
]
WORDS += [
    "[SEP]",
    "[UNK]",
    "##ing",
    "привет",
    "ΕΛΛΗΝΙΚΆΣ",
    "café",
    "cafe\u0301",
    "한국어",
    "ภาษาไทย",
    "हिन्दी",
    "NAÏVE",
    "İİİ",
]
WORDS += [
    "supercalifragilisticexpialidocious",
    "👩\u200d👩\u200d👧",
    "e" + "\u0301" * 40,
    "\u0323" * 40,
    "é" * 101,
    "中" * 40,
]


@cache
def vocabulary() -> list[str]:
    return files("rapidchunk").joinpath("data/bert-base-uncased-vocab.txt").read_text(encoding="utf-8").splitlines()


@cache
def multilingual_vocabulary() -> list[str]:
    """A small vocabulary with pieces in many scripts, in upper case, with marks and of several characters."""
    pieces = [
        "a",
        "b",
        "ab",
        "A",
        "Z",
        "é",
        "e",
        "中",
        "x",
        "xx",
        "xxx",
        "ㅎ",
        "한",
        "국",
        "İ",
        "i",
        "пр",
        "ви",
        "ет",
        "\u0301",
        ".",
    ]
    pieces += [
        "the",
        "THE",
        "\u1112\u1161",
        "\u11ab",
        "\u1100",
        "\u0e20",
        "\U0001f468",
        "\U0001d165",
        "\u302e",
        "café",
        "σ",
        "ς",
    ]
    return ["[UNK]", *SPECIAL[2:], *pieces, *("##" + piece for piece in pieces if piece != "."), "##"]


def their_tokenizer(
    vocab: list[str], added: Sequence[AddedToken] = (), encode_special: bool = False, **options: Any
) -> Tokenizer:
    model = {
        key: options.pop(key) for key in ("continuing_subword_prefix", "max_input_chars_per_word") if key in options
    }
    tokenizer = Tokenizer(Model({token: i for i, token in enumerate(vocab)}, unk_token="[UNK]", **model))
    tokenizer.normalizer = BertNormalizer(**options)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.add_special_tokens([token for token in SPECIAL if token in vocab])
    tokenizer.add_tokens(list(added))
    # Restored from its text, as every tokenizer.json is; and in `tokenizers` True means that special tokens are text.
    tokenizer = Tokenizer.from_str(tokenizer.to_str())
    tokenizer.encode_special_tokens = not encode_special
    return tokenizer


def both(
    vocab: list[str], added: Sequence[AddedToken] = (), encode_special: bool = False, **options: Any
) -> tuple[Tokenizer, _core.WordPiece]:
    theirs = their_tokenizer(vocab, added, encode_special, **options)
    ours = load_wordpiece(theirs.to_str(), encode_special=encode_special)
    assert ours is not None
    return theirs, ours


def assert_same(theirs: Tokenizer, ours: _core.WordPiece, texts: list[str]) -> None:
    ids, starts, ends, continues, offsets = ours.encode([text.encode() for text in texts])
    for i, (text, want) in enumerate(zip(texts, theirs.encode_batch(texts, add_special_tokens=False))):
        rows = slice(offsets[i], offsets[i + 1])
        places = np.cumsum([0, *(len(c.encode()) for c in text)])
        spans = np.array(want.offsets, np.int64).reshape(-1, 2)
        words = want.word_ids
        assert ids[rows].tolist() == want.ids, ascii(text)
        assert starts[rows].tolist() == places[spans[:, 0]].tolist(), ascii(text)
        assert ends[rows].tolist() == places[spans[:, 1]].tolist(), ascii(text)
        assert continues[rows].tolist() == [int(k > 0 and words[k] == words[k - 1]) for k in range(len(words))], ascii(
            text
        )
    assert ours.count([text.encode() for text in texts]).tolist() == np.diff(offsets).tolist()


@cache
def standard(name: str) -> tuple[Tokenizer, _core.WordPiece]:
    return both(vocabulary(), **OPTIONS[name])


def random_text(rng: random.Random) -> str:
    parts = []
    for _ in range(rng.randrange(1, 14)):
        kind = rng.random()
        if kind < 0.4:
            parts.append(rng.choice(INTERESTING))
        elif kind < 0.6:
            parts.append(rng.choice(WORDS))
        elif kind < 0.75:
            parts.append(rng.choice(MARKS))
        else:
            parts.append(chr(rng.choice(CODE_POINTS) if kind < 0.9 else rng.randrange(32, 127)))
        if rng.random() < 0.2:
            parts.append(" ")
    return "".join(parts)


texts = st.lists(
    st.one_of(st.sampled_from(INTERESTING), st.sampled_from(WORDS), st.sampled_from(MARKS), st.text(max_size=4)),
    max_size=20,
).map(lambda parts: "".join(parts).encode("utf-8", "replace").decode())


@pytest.mark.parametrize("name", ["uncased", "cased", "unclean"])
@pytest.mark.parametrize("form", ["{} ", "a{}b "])
def test_every_code_point(name: str, form: str) -> None:
    step = 1 if (name, form) == ("uncased", "a{}b ") else 5
    documents = [
        "".join(form.format(chr(c)) for c in CODE_POINTS[i : i + 20000 : step])
        for i in range(0, len(CODE_POINTS), 20000)
    ]
    assert_same(*standard(name), documents)


@pytest.mark.parametrize("name", OPTIONS)
def test_pairs_and_words(name: str) -> None:
    pairs = [a + b for a in INTERESTING for b in INTERESTING]
    assert_same(*standard(name), ["", *INTERESTING, *WORDS, *pairs, " ".join(WORDS), "".join(WORDS)])


@pytest.mark.parametrize("name", OPTIONS)
def test_random_texts(name: str) -> None:
    rng = random.Random(int(os.environ.get("RAPIDCHUNK_TEST_SEED", "7")))
    assert_same(*standard(name), [random_text(rng) for _ in range(1500)])


@pytest.mark.parametrize("name", OPTIONS)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_any_text(name: str, data: st.DataObject) -> None:
    assert_same(*standard(name), [data.draw(texts)])


@pytest.mark.parametrize("most", [0, 1, 3, 100])
@pytest.mark.parametrize("prefix", ["##", "", "a", "é"])
def test_other_vocabularies(prefix: str, most: int) -> None:
    rng = random.Random(most)
    vocab = list(dict.fromkeys(token.replace("##", prefix) for token in multilingual_vocabulary()))
    for options in OPTIONS.values():
        pair = both(vocab, continuing_subword_prefix=prefix, max_input_chars_per_word=most, **options)
        assert_same(*pair, [*WORDS, *(random_text(rng) for _ in range(80))])


@pytest.mark.parametrize("encode_special", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_added_tokens(seed: int, encode_special: bool) -> None:
    rng = random.Random(seed)
    names = ["foo", "é", "FOO bar", "[NEW]", "x y", "abc", "ab", "bc", "İ", "[SEP]x", "hello", "a", "的"]
    added = [
        AddedToken(
            name,
            single_word=rng.random() < 0.4,
            lstrip=rng.random() < 0.3,
            rstrip=rng.random() < 0.3,
            normalized=name != "的" and rng.random() < 0.5,  # normalised it has blanks, which nothing may strip
            special=rng.random() < 0.3,
        )
        for name in rng.sample(names, 5)
    ]
    pair = both(vocabulary(), added, encode_special, **rng.choice(list(OPTIONS.values())))
    between = [" ", "  ", "\t", "\n", "\u3000", "_", ".", "x", "e\u0301", "²", "K", "", *SPECIAL, *INTERESTING]
    documents = ["".join(rng.choice(rng.choice([names, between])) for _ in range(10)) for _ in range(150)]
    # Long enough to be normalised in several stretches.
    documents.append(" ".join(documents) * 30)
    assert_same(*pair, documents)


def test_special_tokens_in_text() -> None:
    text = "a [SEP] b[MASK]"
    _, as_text = both(vocabulary())
    _, as_tokens = both(vocabulary(), encode_special=True)
    assert 102 not in as_text.encode([text.encode()])[0]
    assert as_tokens.encode([text.encode()])[0].tolist() == [1037, 102, 1038, 103]


@pytest.mark.parametrize("shift", [0, 1, 31, 32, 33, 63, 64, 65])
def test_words_across_blocks(shift: int) -> None:
    """Words, punctuation and marks at every distance from the borders of SIMD blocks and batches."""
    text = "word, Ünïcode... 中文 " + "y" * 70 + " end. "
    documents = ["." * shift + text * 300, "z" * shift + text * 90, " " * shift + "q" * 5000 + " " + text]
    documents += (
        [text[:n] for n in range(len(text))]
        + ["a" * n for n in range(130)]
        + ["," * n for n in (63, 64, 65, 4096, 4097)]
    )
    assert_same(*standard("uncased"), documents)


def test_words_of_many_tokens_seen_again() -> None:
    """Every number of tokens that a cached word may have and a few more, first met and met again, in encode and count."""
    rng = random.Random(12)
    letters = ["зв", "ω", "각", "q", "é", "ж\u0301", "한"]
    words = ["".join(rng.choice(letters) for _ in range(size)) for size in range(1, 20) for _ in range(40)]
    theirs, ours = standard("uncased")
    sizes = {len(theirs.encode(word, add_special_tokens=False).ids) for word in words}
    assert sizes >= set(range(1, 17))
    text = " ".join(rng.choice(words) for _ in range(8 * len(words)))
    fresh = _core.WordPiece(ours.vocab, **ours.options)
    want = np.diff(ours.encode([text.encode()] * 2)[4]).tolist()
    assert fresh.count([text.encode()] * 2).tolist() == want  # the caches filled by counting alone
    assert_same(theirs, ours, [text, *words, text])
    assert_same(theirs, fresh, [text, *words, text])


def test_threads_give_the_same() -> None:
    ours = default_wordpiece()
    rng = random.Random(3)
    long = " ".join(random_text(rng) for _ in range(60000)).encode()
    assert len(long) > 3 << 20
    documents = [
        b"",
        b"one",
        long,
        b"",
        *(random_text(rng).encode() for _ in range(500)),
        b"x" * (3 << 20),
        long[:-1],
        b"",
    ]
    alone = ours.encode(documents, 1)
    for threads in (2, 3):
        for one, many in zip(alone, ours.encode(documents, threads)):
            np.testing.assert_array_equal(one, many)
        np.testing.assert_array_equal(ours.count(documents, threads), np.diff(alone[4]))
    assert ours.encode([], 2)[4].tolist() == [0]
    # The cache holds no state that a later call could see.
    for one, again in zip(alone, ours.encode(documents, 1)):
        np.testing.assert_array_equal(one, again)


def assert_equals_reference(ours: _core.WordPiece, documents: list[bytes]) -> None:
    plain = reference.WordPiece(ours.vocab, **ours.options)
    for mine, want in zip(ours.encode(documents), plain.encode(documents)):
        assert mine.dtype == want.dtype
        np.testing.assert_array_equal(mine, want)
    np.testing.assert_array_equal(ours.count(documents), plain.count(documents))


BROKEN = [
    b"\xe4\xb8",
    b"a\xff b",
    b"\xed\xa0\x80x",
    b"\xf0\x9f\x91",
    b"\xc3(",
    b"\xf4\x90\x80\x80",
    b"\xe0\x80\x80",
    b"\x80" * 50,
]


@pytest.mark.parametrize("name", ["uncased", "bare"])
def test_reference(name: str) -> None:
    rng = random.Random(11)
    noise = [
        bytes(rng.choice(b"a\xe0\x80\xa0\xf0\x90\xed\xc3\xa9 .\xf4") for _ in range(rng.randrange(40)))
        for _ in range(500)
    ]
    documents = [random_text(rng).encode() for _ in range(500)] + BROKEN + noise
    assert_equals_reference(standard(name)[1], documents)
    added = [AddedToken("foo", single_word=True), AddedToken("bar baz", lstrip=True), AddedToken("É", normalized=True)]
    with_added = both(vocabulary(), added, True, **OPTIONS[name])[1]
    assert_equals_reference(with_added, [b"foo bar  baz e\xcc\x81 foox [SEP] \xff", *documents[:200], *BROKEN])


@settings(deadline=None, max_examples=100)
@given(document=st.one_of(st.binary(max_size=80), texts.map(str.encode)))
def test_reference_on_any_bytes(document: bytes) -> None:
    assert_equals_reference(default_wordpiece_once(), [document])


@cache
def default_wordpiece_once() -> _core.WordPiece:
    return default_wordpiece()


@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"])
def test_simd_levels(level: str) -> None:
    if level != "baseline" and level > _core.simd_level() and _core.simd_level() != level:
        pytest.skip(f"this machine has no {level}")
    code = (
        "import random, test_wordpiece as t\n"
        "rng = random.Random(5)\n"
        "t.assert_equals_reference(t.default_wordpiece(), ["
        "*(t.random_text(rng).encode() for _ in range(300)), *t.BROKEN, bytes(range(256)) * 40])\n"
        "t.test_words_across_blocks(33)\n"
        "t.test_words_of_many_tokens_seen_again()"
    )
    environment = {**os.environ, "RAPIDCHUNK_SIMD": level, "PYTHONPATH": os.pathsep.join(["tests", *sys.path])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    if "which this machine does not have" in done.stderr:
        pytest.skip(f"this machine has no {level}")
    assert done.returncode == 0, done.stderr


def test_pickle_and_attributes() -> None:
    _, ours = both(vocabulary(), [AddedToken("newword")], **OPTIONS["cased"])
    again = pickle.loads(pickle.dumps(ours))
    assert again.options == ours.options and again.vocab == ours.vocab
    assert (again.vocab_size, again.unk_id) == (30523, 100)
    assert [again.token_to_id(token) for token in ("the", "[SEP]", "newword", "nonsense!", "")] == [
        1996,
        102,
        30522,
        None,
        None,
    ]


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="vocab must not be empty"):
        _core.WordPiece([])
    with pytest.raises(ValueError, match="unk must be"):
        _core.WordPiece(["a"])
    with pytest.raises(ValueError, match="vocab must not repeat"):
        _core.WordPiece(["[UNK]", "a", "a"])
    with pytest.raises(ValueError, match="added"):
        _core.WordPiece(["[UNK]"], added=[("x", 0, False, False, False, False, False)])
    with pytest.raises(ValueError, match="threads"):
        default_wordpiece_once().encode([b"a"], -1)
    with pytest.raises(TypeError, match="texts"):
        default_wordpiece_once().encode(["a"])


def changed(**changes: Any) -> dict[str, Any]:
    source = json.loads(their_tokenizer(multilingual_vocabulary()).to_str())
    for path, value in changes.items():
        *parents, last = path.split("__")
        target = source
        for parent in parents:
            target = target[parent]
        target[last] = value
    return source


@pytest.mark.parametrize(
    "source",
    [
        changed(normalizer=None),
        changed(normalizer={"type": "Lowercase"}),
        changed(normalizer__new_option=True),
        changed(pre_tokenizer={"type": "Whitespace"}),
        changed(model__type="BPE"),
        changed(model__new_option=1),
        changed(model__unk_token="[NO]"),
        changed(model__vocab={"[UNK]": 0, "a": 2}),
        changed(added_tokens=[{"id": 0, "content": "[UNK]"}]),
        changed(
            added_tokens=[
                dict.fromkeys(["single_word", "lstrip", "rstrip", "normalized", "special"], False)
                | {"id": 9999, "content": "zz"}
            ]
        ),
    ],
)
def test_what_is_not_implemented_is_refused(source: dict[str, Any]) -> None:
    assert load_wordpiece(source) is None


def test_sources(tmp_path: Any) -> None:
    theirs = their_tokenizer(vocabulary())
    text = theirs.to_str()
    path = tmp_path / "tokenizer.json"
    path.write_text(text, encoding="utf-8")
    vocab = "\n".join(vocabulary())
    for source in (text, text.encode(), json.loads(text), path, vocab, vocab + "\n", vocab.replace("\n", "\r\n")):
        ours = load_wordpiece(source)
        assert ours is not None
        assert_same(theirs, ours, WORDS)
    cased = load_wordpiece(vocab, lowercase=False)
    assert cased is not None
    assert_same(their_tokenizer(vocabulary(), lowercase=False), cased, WORDS)


@pytest.mark.parametrize("threads", [1, 3])
def test_pieces_of_a_long_document_are_joined_in_order(threads, monkeypatch):
    """Syllables of Hangul are several tokens at one byte, which are kept beside the bits."""
    monkeypatch.setenv("RAPIDCHUNK_THREADS", str(threads))
    text = " ".join("각갂 the mill 단어 " + "각" * (n % 7) + str(n) for n in range(40_000))
    chunks = rc.TokenChunker(200, 20)(text)
    tokenizer = rc.tokenizers.as_tokenizer(None)
    assert (tokenizer.count(chunks.texts()) == chunks.tokens).all() and len(chunks) > 1000
    whole = tokenizer.measure(_core.Texts([text]), threads)
    spans = np.array([[0, len(text.encode())]])
    first, last = _core.span_ranks(_core.Texts([text]), whole, spans, np.array([0, 1]), 1)
    assert last[0] - first[0] == tokenizer.count([text])[0] - 2
