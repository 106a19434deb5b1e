"""as_tokenizer: every kind of tokenizer, counts equal to its own, special tokens, what is refused."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
import rapidchunk as rc
from hypothesis import given
from hypothesis import strategies as st
from rapidchunk import _core
from rapidchunk._surrogates import without_surrogates
from rapidchunk.tokenizers import (
    ByteLevelTokenizer,
    CountingTokenizer,
    OffsetTokenizer,
    UnitTokenizer,
    WordPieceTokenizer,
)
from strategies import byte_level, quarter, tiktoken_encoding, unigram
from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors

TEXT = "The cat, and the dog went there.\n\nMr. Smith reads a naïve 文字 page! <|endoftext|> [SEP] " * 20


def copy(tokenizer):
    return Tokenizer.from_str(tokenizer.to_str())


def bert_json(tmp_path):
    """The shipped vocabulary as a tokenizer.json with BERT's components and special tokens."""
    from importlib.resources import files

    tokens = files("rapidchunk").joinpath("data/bert-base-uncased-vocab.txt").read_text("utf-8").splitlines()
    from tokenizers import models

    tokenizer = Tokenizer(models.WordPiece({token: i for i, token in enumerate(tokens)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(strip_accents=None, lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ids = {token: tokens.index(token) for token in ("[CLS]", "[SEP]")}
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
    tokenizer.add_special_tokens(["[CLS]", "[SEP]", "[UNK]"])
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    return tokenizer, path


def own_count(tokenizer, text):
    tokenizer = copy(tokenizer)
    tokenizer.encode_special_tokens = True
    return len(tokenizer.encode(text).ids)


def test_kinds(tmp_path):
    tokenizer, path = bert_json(tmp_path)
    assert isinstance(rc.as_tokenizer(None), WordPieceTokenizer)
    for source in ("bert", path, str(path), tmp_path, tokenizer):
        adapted = rc.as_tokenizer(source)
        assert isinstance(adapted, WordPieceTokenizer) and adapted.special_tokens == 2
        assert adapted.count([TEXT, ""]).tolist() == [own_count(tokenizer, TEXT), 2]
    for unit, size in (("words", len(TEXT.split())), ("chars", len(TEXT)), ("bytes", len(TEXT.encode()))):
        adapted = rc.as_tokenizer(unit)
        assert isinstance(adapted, UnitTokenizer) and adapted.count([TEXT])[0] == size
    assert isinstance(rc.as_tokenizer(byte_level()), ByteLevelTokenizer)
    assert isinstance(rc.as_tokenizer(tiktoken_encoding()), ByteLevelTokenizer)
    assert isinstance(rc.as_tokenizer(unigram()), OffsetTokenizer)
    assert isinstance(rc.as_tokenizer(quarter), CountingTokenizer)
    assert rc.as_tokenizer(adapted) is adapted


@pytest.mark.parametrize("make", [byte_level, unigram])
def test_counts_are_the_tokenizers_own(make):
    assert rc.as_tokenizer(make()).count([TEXT])[0] == own_count(make(), TEXT)
    assert rc.as_tokenizer(tiktoken_encoding()).count([TEXT])[0] == len(tiktoken_encoding().encode_ordinary(TEXT))


def test_transformers_fast_tokenizer(tmp_path):
    transformers = pytest.importorskip("transformers")
    tokenizer, path = bert_json(tmp_path)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(path), cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]", pad_token="[UNK]"
    )
    adapted = rc.as_tokenizer(fast)
    assert isinstance(adapted, WordPieceTokenizer)
    assert adapted.count([TEXT])[0] == own_count(tokenizer, TEXT)


def test_the_users_object_is_left_as_it_is(tmp_path):
    tokenizer, _ = bert_json(tmp_path)
    tokenizer.enable_truncation(16)
    tokenizer.enable_padding(length=16)
    before = tokenizer.to_str()
    chunks = rc.TokenChunker(32, 4, tokenizer)(TEXT)
    assert tokenizer.to_str() == before
    assert chunks.end.max() == len(TEXT.rstrip())


def test_text_that_the_tokenizer_alters():
    """NFC composes characters: byte lengths of ids do not fit, offsets serve; the maximum holds all the same."""
    tokenizer = copy(byte_level())
    tokenizer.normalizer = normalizers.NFC()
    text = "e\u0301e\u0301 cafe\u0301 the cat " * 40
    chunks = rc.TokenChunker(20, 0, tokenizer)(text)
    assert all(own_count(tokenizer, row.text) == row.tokens <= 20 for row in chunks)
    prefixed = copy(byte_level())
    prefixed.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    assert isinstance(rc.as_tokenizer(prefixed), OffsetTokenizer)
    assert all(own_count(prefixed, row.text) <= 20 for row in rc.TokenChunker(20, 0, prefixed)(TEXT))


def test_tokens_across_words():
    """Byte-level BPE that does not split words before it merges: a token may hold a space in its middle."""
    whole = copy(byte_level())
    whole.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    assert isinstance(rc.as_tokenizer(whole), OffsetTokenizer)
    whole.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(" ", "merged_with_next"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    assert isinstance(rc.as_tokenizer(whole), ByteLevelTokenizer)


@pytest.mark.parametrize("make", [byte_level, tiktoken_encoding])
@pytest.mark.parametrize("threads", [1, 3])
@given(
    st.lists(
        st.text(st.sampled_from("ab Z.,'\n\t7é文\u0301\ud800") | st.characters(), max_size=80).map(lambda s: s * 3),
        max_size=8,
    )
)
def test_long_documents_are_tokenised_in_pieces(make, threads, documents):
    tokenizer = rc.as_tokenizer(make())
    texts = _core.Texts(documents)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rapidchunk.tokenizers.PIECE", 5)
        patch.setattr("rapidchunk.tokenizers.RUN", 20)
        measure = tokenizer.measure(texts, threads)
    sizes = np.array([len(without_surrogates(text).encode()) for text in documents], np.int64)
    document = np.arange(len(documents))
    counts = measure.sizes(document, np.zeros_like(document), sizes)
    assert counts.tolist() == tokenizer.count(documents).tolist()


@pytest.mark.parametrize("make", [byte_level, tiktoken_encoding, unigram])
def test_adapters_pickle(make):
    if make is tiktoken_encoding:
        # tiktoken pickles only encodings of its registry; this one is made here.
        return
    chunker = rc.RecursiveChunker(30, tokenizer=make())
    assert pickle.loads(pickle.dumps(chunker))(TEXT).start.tolist() == chunker(TEXT).start.tolist()


def test_few_calls_of_a_callable():
    """Each character is counted a few times at most, however the chunks fall."""
    seen = 0

    def count(text):
        nonlocal seen
        seen += len(text)
        return len(text.split())

    text = "Small words fill the page and the page fills the book. " * 5000
    rc.RecursiveChunker(1000, overlap=100, tokenizer=count)(text)
    assert seen < 6 * len(text)


def test_what_is_refused(tmp_path):
    broken = tmp_path / "tokenizer.json"
    broken.write_text(json.dumps({"model": 1}))
    for bad in (5, "no-such-file.json", broken, ["words"], lambda text: "many", lambda text: -1, lambda text: 2.5):
        with pytest.raises(ValueError, match="tokenizer"):
            rc.as_tokenizer(bad)
    later = iter([0, *[-1] * 1000])
    with pytest.raises(ValueError, match="tokenizer"):
        rc.TokenChunker(10, 0, lambda text: next(later))("some words here")


def test_the_maximum_includes_special_tokens():
    chunks = rc.TokenChunker(12, 0)(TEXT)
    assert chunks.tokens.max() <= 12
    assert np.array_equal(chunks.tokens, rc.as_tokenizer("bert").count(chunks.texts()))
    with pytest.raises(ValueError, match="max_tokens"):
        rc.TokenChunker(2, 0)
    with pytest.raises(ValueError, match="overlap"):
        rc.TokenChunker(12, 10)


def test_a_control_character_joins_words():
    """Cut out, the pieces have other tokens than inside the document."""
    pieces = ["wor", "ds", "play", "ing"]
    texts = _core.Texts(["\x0b".join(pieces)])
    spans, offsets = np.array([[0, 3], [4, 6], [7, 11], [12, 15]]), np.array([0, 4])
    own = rc.as_tokenizer("bert")
    _, _, tokens = _core.split_spans(texts, own.measure(texts, 1), spans, offsets, ["words"], max_tokens=9)
    assert (tokens + 2).tolist() == own.count(pieces).tolist() == [4, 3, 3, 3]


def test_an_added_token_lies_across_words(tmp_path):
    tokenizer, _ = bert_json(tmp_path)
    tokenizer.add_tokens(["b c", "-x-y"])
    for limit in (4, 5, 7):
        chunks = rc.RecursiveChunker(limit, tokenizer=tokenizer)("ab cd a-x-y q-x-yz " * 40)
        assert chunks.tokens.tolist() == [own_count(tokenizer, row.text) for row in chunks]
        assert chunks.tokens.max() <= limit


@pytest.mark.parametrize("make", [byte_level, tiktoken_encoding, unigram, lambda: quarter, lambda: "bert"])
def test_surrogates_in_a_pair_stay_two_characters(make):
    """A str may hold both halves of a pair as two characters; no position may shift behind them."""
    text = "before \ud83d\ude00 and after it comes more text. " * 20
    chunks = rc.RecursiveChunker(12, tokenizer=make())(text)
    assert chunks.end.max() == len(text.rstrip())
    for row in chunks:
        assert text[row.start : row.end] == row.text and row.tokens <= 12


@pytest.mark.parametrize(
    "text", ["", "a", "\xe9" * 70, "\u4e2d\ud7ff\ue000\uffff" * 20, "\U0001f600\U0001d800\U0010dfff" * 20]
)
@pytest.mark.parametrize("surrogate", ["\ud800", "\udbff", "\udc00", "\udfff"])
def test_surrogates_are_found_wherever_they_stand(text, surrogate):
    assert not _core.has_surrogates(text)
    for at in (0, len(text) // 2, len(text)):
        with_one = text[:at] + surrogate + text[at:]
        assert _core.has_surrogates(with_one)
        assert without_surrogates(with_one) == text[:at] + "\ufffd" + text[at:]
