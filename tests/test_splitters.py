"""Sentence splitters of other libraries in place of our rules, as the README shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from rapidchunk import SemanticChunker, SentenceChunker

TEXT = (
    "It began in the morning. Nobody had expected that!  Would it go on?\n\n"
    "Grüße aus Köln 😀 kamen an. The last sentence has no stop"
)


def nltk_spans() -> Callable[[str], Any]:
    punkt = pytest.importorskip("nltk.tokenize.punkt")
    tokenizer = punkt.PunktSentenceTokenizer()  # untrained: it needs no data
    return lambda text: list(tokenizer.span_tokenize(text))


def nltk_strings() -> Callable[[str], Any]:
    punkt = pytest.importorskip("nltk.tokenize.punkt")
    return punkt.PunktSentenceTokenizer().tokenize  # type: ignore[no-any-return]


def spacy_spans() -> Callable[[str], Any]:
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    return lambda text: nlp(text).sents


def spacy_strings() -> Callable[[str], Any]:
    spans = spacy_spans()
    return lambda text: [span.text for span in spans(text)]


@pytest.mark.parametrize("make", [nltk_spans, nltk_strings, spacy_spans, spacy_strings])
def test_sentence_chunker_follows_the_splitter(make: Callable[[], Callable[[str], Any]]) -> None:
    splitter = make()
    chunker = SentenceChunker(max_tokens=9, tokenizer="words", splitter=splitter)
    chunks = chunker([TEXT, "", "One only."])
    first = chunks.of_document(0)
    sentences = [
        str(s) if isinstance(s, str) else TEXT[s[0] : s[1]] if isinstance(s, tuple) else s.text for s in splitter(TEXT)
    ]
    starts = {TEXT.index(sentence.strip()) for sentence in sentences}
    # No sentence here is longer than a chunk may be, so each chunk begins where the splitter says one begins.
    assert len(first) >= 3 and {TEXT.index(chunk.text.strip()) for chunk in first} <= starts
    for chunk in chunks:
        text = chunks.document_text(chunk.document)
        assert text[chunk.start : chunk.end] == chunk.text and chunk.tokens <= 9
    assert "".join("".join(chunk.text.split()) for chunk in first) == "".join(TEXT.split())
    assert [chunk.text for chunk in chunks.of_document(2)] == ["One only."]


def test_boundaries_are_the_splitters_own() -> None:
    """A splitter with other boundaries than our rules is obeyed."""
    chunks = SentenceChunker(max_tokens=4, tokenizer="words", splitter=lambda text: text.split(";"))(
        "a b; c d; e f g h"
    )
    assert [chunk.text.strip(" ;") for chunk in chunks] == ["a b; c d", "e f g h"]


def test_semantic_chunker_takes_one_too() -> None:
    import numpy as np

    seen: list[str] = []

    def encoder(texts: list[str]) -> np.ndarray:
        seen.extend(texts)
        return np.ones((len(texts), 4), np.float32)

    SemanticChunker(encoder, max_tokens=40, tokenizer="words", splitter=nltk_strings())(TEXT)
    assert sorted(text.strip() for text in seen) == sorted(s.strip() for s in nltk_strings()(TEXT))
