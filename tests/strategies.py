"""Hypothesis strategies and stand-ins that several test files share."""

from __future__ import annotations

import functools

import numpy as np
from hypothesis import strategies as st

WORDS = st.sampled_from(
    "a the cat, dog. Mr. Smith internationalisation 3.14 e.g. don't naïve Straße 文字 読む。 한국어 กำลัง नमस्ते 👩‍🚀 🇯🇵🇩🇪 "
    "e\u0301e\u0301 http://x.org/a.b?c=d [SEP] <|endoftext|> ## # - ... ?! “quoted.” (aside.) x\u200by \x00 \ud800 "
    "ﬁligree ＦＵＬＬ Ⅳ ½ \ufeff".split(" ")
)
GAPS = st.sampled_from([" ", " ", " ", "\n", "\n\n", "\r\n", "  ", "\t", "\u00a0", "", ". ", "\f", "\u3000"])
PROSE = st.lists(st.tuples(WORDS, GAPS), max_size=60).map(lambda pairs: "".join(word + gap for word, gap in pairs))
TEXTS = (
    PROSE
    | st.text(max_size=80)
    | st.text(alphabet="ab .\n", max_size=200)
    | st.sampled_from(["", " ", "\n\n", "x" * 400])
)


def quarter(text: str) -> int:
    """A rough counter, as people use with hosted models."""
    return (len(text) + 3) // 4


@functools.cache
def byte_level():
    """A small byte-level BPE tokenizer, trained here."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|endoftext|>"]
    )
    tokenizer.train_from_iterator(
        ["the cat and the dog went there. Mr. Smith reads a page, the other reads none."] * 20, trainer
    )
    return tokenizer


@functools.cache
def tiktoken_encoding():
    """A tiktoken encoding with cl100k's pattern and a small vocabulary, made here."""
    import tiktoken

    merges = [
        b"th",
        b"the",
        b" t",
        b" th",
        b" the",
        b"ca",
        b"cat",
        b" c",
        b" ca",
        b" cat",
        b"in",
        b"ing",
        b"er",
        b"\n\n",
        b".\n\n",
    ]
    ranks = {bytes([i]): i for i in range(256)} | {token: 256 + i for i, token in enumerate(merges)}
    pattern = (
        r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"""
        r"""| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
    )
    return tiktoken.Encoding(
        "small", pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 256 + len(merges)}
    )


@functools.cache
def unigram():
    """A SentencePiece-like tokenizer (Unigram, Metaspace), trained here."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=80, special_tokens=["<unk>"], unk_token="<unk>")
    tokenizer.train_from_iterator(
        ["the cat and the dog went there. Mr. Smith reads a page, the other none."] * 20, trainer
    )
    return tokenizer


class HashEncoder:
    """A deterministic stand-in for an encoder: a vector from the text's words."""

    dimension = 16

    def encode(self, texts, **_):
        out = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(out, texts):
            for word in text.split():
                row[sum(word.encode("utf-8", "surrogatepass")) % self.dimension] += 1
        return out
