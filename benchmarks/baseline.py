"""The pure-Python baselines: the plain loops that people paste from articles on chunking, over the usual libraries.

Windows by slicing a list of token ids and decoding them; sentences by a regular expression or nltk, counted one by one;
a recursive splitter in Python; similarity of one pair of vectors at a time; a Python loop for the minimum and maximum.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

from harness import BASELINE, Run, case
from resources import BLOCK, Setup

SIZE, OVERLAP = 512, 64
SEPARATORS = ["\n\n", "\n", ". ", " ", ""]
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
MIN_TOKENS, MAX_TOKENS = 64, 512


def each(chunk: Callable[[str], Any]) -> Run:
    """A case from a function of one text that returns something with a length."""
    return lambda documents: sum(len(chunk(document)) for document in documents)


def fixed_size_chunks(text: str, encode: Callable[[str], list[int]], decode: Callable[[list[int]], str]) -> list[str]:
    tokens = encode(text)
    return [decode(tokens[i : i + SIZE]) for i in range(0, len(tokens), SIZE - OVERLAP)]


@case("token-bert", BASELINE, "list slices + decode (tokenizers)")
def _(s: Setup) -> Run:
    return each(lambda text: fixed_size_chunks(text, s.bert_ids, s.bert.decode))


@case("token-cl100k", BASELINE, "list slices + decode (tiktoken)")
def _(s: Setup) -> Run:
    return each(lambda text: fixed_size_chunks(text, s.cl100k.encode_ordinary, s.cl100k.decode))


@case("chars", BASELINE, "str slices")
@case("chars-unicode", BASELINE, "str slices")
def _(s: Setup) -> Run:
    return each(lambda text: [text[i : i + SIZE] for i in range(0, len(text), SIZE - OVERLAP)])


@case("chars", BASELINE, "str slices + offsets")
@case("chars-unicode", BASELINE, "str slices + offsets")
def _(s: Setup) -> Run:
    return each(
        lambda text: [(text[i : i + SIZE], i, min(i + SIZE, len(text))) for i in range(0, len(text), SIZE - OVERLAP)]
    )


def delimiter_chunks(text: str) -> list[tuple[str, int, int]]:
    out, start, size = [], 0, len(text)
    while size - start > SIZE:
        end = start + SIZE
        cut = max(text.rfind("\n", start, end), text.rfind(".", start, end), text.rfind("?", start, end))
        cut = cut + 1 if cut >= start else end
        out.append((text[start:cut], start, cut))
        start = cut
    if start < size:
        out.append((text[start:], start, size))
    return out


@case("delimiters", BASELINE, "rfind loop")
def _(s: Setup) -> Run:
    return each(delimiter_chunks)


@case("sentences", BASELINE, "re.split")
def _(s: Setup) -> Run:
    return each(SENTENCE_END.split)


def sentence_chunks(text: str, split: Callable[[str], list[str]], count: Callable[[str], int]) -> list[str]:
    chunks: list[str] = []
    current: list[str] = []
    total = 0
    for sentence in split(text):
        n = count(sentence)
        if total + n > MAX_TOKENS and current:
            chunks.append(" ".join(current))
            current, total = [], 0
        current.append(sentence)
        total += n
    if current:
        chunks.append(" ".join(current))
    return chunks


@case("sentence-groups", BASELINE, "re.split + encode a sentence (tokenizers)")
def _(s: Setup) -> Run:
    return each(lambda text: sentence_chunks(text, SENTENCE_END.split, s.bert_count))


@case("sentence-groups", BASELINE, "nltk + encode a sentence (tokenizers)")
def _(s: Setup) -> Run:
    return each(lambda text: sentence_chunks(text, s.punkt.tokenize, s.bert_count))


def recursive_chunks(text: str, length: Callable[[str], int], separators: Sequence[str] = SEPARATORS) -> list[str]:
    """Split at the first separator that occurs, merge pieces up to the size with overlap, recurse into long pieces."""
    separator = next((s for s in separators if not s or s in text), "")
    rest = separators[separators.index(separator) + 1 :] if separator else []
    pieces = [p + separator for p in text.split(separator)] if separator else list(text)
    chunks: list[str] = []
    current: list[tuple[str, int]] = []
    total = 0
    for piece in pieces:
        n = length(piece)
        if n > SIZE and rest:
            if current:
                chunks.append("".join(p for p, _ in current))
                current, total = [], 0
            chunks.extend(recursive_chunks(piece, length, rest))
            continue
        if current and total + n > SIZE:
            chunks.append("".join(p for p, _ in current))
            while current and (total > OVERLAP or total + n > SIZE):
                total -= current.pop(0)[1]
        current.append((piece, n))
        total += n
    if current:
        chunks.append("".join(p for p, _ in current))
    return chunks


@case("recursive-chars", BASELINE, "recursive splitter in Python")
def _(s: Setup) -> Run:
    return each(lambda text: recursive_chunks(text, len))


@case("recursive-tokens", BASELINE, "recursive splitter in Python (tokenizers)")
def _(s: Setup) -> Run:
    return each(lambda text: recursive_chunks(text, s.bert_count))


_FENCE = re.compile(r"^(```|~~~)")
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.*?)[ \t#]*$")


def markdown_sections(text: str) -> list[tuple[str, int, int, tuple[str, ...]]]:
    """One pass over the lines: fences, headings, heading path, offsets."""
    out = []
    path: list[str | None] = [None] * 6
    start = position = 0
    fenced = False
    for line in text.splitlines(True):
        if line[:1] in "`~" and _FENCE.match(line):
            fenced = not fenced
        elif not fenced and line[:1] == "#" and (match := _HEADING.match(line.rstrip("\n"))):
            if position > start:
                out.append((text[start:position], start, position, tuple(h for h in path if h)))
            level = len(match[1])
            path[level - 1 :] = [match[2]] + [None] * (6 - level)
            start = position
        position += len(line)
    if position > start:
        out.append((text[start:position], start, position, tuple(h for h in path if h)))
    return out


@case("markdown", BASELINE, "one pass over the lines in Python")
def _(s: Setup) -> Run:
    return each(markdown_sections)


class _Sections(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.sections: list[tuple[tuple[str, ...], str]] = []
        self.path: list[str] = [""] * 6
        self.level = self.hidden = 0
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style"):
            self.hidden += 1
        elif len(tag) == 2 and tag[0] == "h" and tag[1] in "123456":
            self.finish()
            self.level = int(tag[1])

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self.hidden = max(0, self.hidden - 1)
        elif self.level and tag == f"h{self.level}":
            self.path[self.level - 1 :] = ["".join(self.text).strip()] + [""] * (6 - self.level)
            self.level, self.text = 0, []

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.text.append(data)

    def finish(self) -> None:
        text = " ".join("".join(self.text).split())
        if text:
            self.sections.append((tuple(h for h in self.path if h), text))
        self.text = []


def html_sections(text: str) -> list[tuple[tuple[str, ...], str]]:
    parser = _Sections()
    parser.feed(text)
    parser.finish()
    return parser.sections


@case("html", BASELINE, "html.parser + headings in Python")
def _(s: Setup) -> Run:
    return each(html_sections)


def min_max_groups(similarities: Sequence[float], tokens: Sequence[int], threshold: float) -> list[tuple[int, int]]:
    """Cut where similarity falls below the threshold and the chunk is long enough, or where it would grow too long."""
    groups, start, total = [], 0, 0
    for i, n in enumerate(tokens):
        if total and total + n > MAX_TOKENS:
            groups.append((start, i))
            start, total = i, 0
        total += n
        if i < len(similarities) and similarities[i] < threshold and total >= MIN_TOKENS:
            groups.append((start, i + 1))
            start, total = i + 1, 0
    if start < len(tokens):
        groups.append((start, len(tokens)))
    return groups


@case("semantic-tail", BASELINE, "np.dot a pair + Python min/max loop")
def _(s: Setup) -> Run:
    import numpy as np

    def run(blocks: Sequence[Any]) -> int:
        vectors, tokens = s.vectors[: len(blocks) * BLOCK], s.sentence_tokens[: len(blocks) * BLOCK].tolist()
        similarities = [float(np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b))) for a, b in pairwise(vectors)]
        return len(min_max_groups(similarities, tokens, float(np.percentile(similarities, 5))))

    return run


@case("semantic-tail", BASELINE, "NumPy einsum + percentile + Python min/max loop")
def _(s: Setup) -> Run:
    import numpy as np

    def run(blocks: Sequence[Any]) -> int:
        vectors, tokens = s.vectors[: len(blocks) * BLOCK], s.sentence_tokens[: len(blocks) * BLOCK].tolist()
        similarities = np.einsum("ij,ij->i", vectors[:-1], vectors[1:])
        return len(min_max_groups(similarities.tolist(), tokens, float(np.percentile(similarities, 5))))

    return run


def semantic_chunks(text: str, encode: Callable[[list[str]], Any]) -> list[str]:
    import numpy as np

    sentences = SENTENCE_END.split(text)
    vectors = np.asarray(encode(sentences), np.float32)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    similarities = [float(np.dot(vectors[i], vectors[i + 1])) for i in range(len(sentences) - 1)]
    tokens = [len(sentence.split()) for sentence in sentences]
    threshold = float(np.percentile(similarities, 5)) if similarities else 0.0
    return [" ".join(sentences[a:b]) for a, b in min_max_groups(similarities, tokens, threshold)]


@case("semantic-static", BASELINE, "re.split + model2vec + NumPy")
def _(s: Setup) -> Run:
    return each(lambda text: semantic_chunks(text, s.encode_static))


@case("semantic-minilm", BASELINE, "re.split + sentence-transformers + NumPy", slow=True)
def _(s: Setup) -> Run:
    return each(lambda text: semantic_chunks(text, s.encode_minilm))


@case("semantic-bf16", BASELINE, "re.split + our encoder in bf16 + NumPy", slow=True)
def _(s: Setup) -> Run:
    return each(lambda text: semantic_chunks(text, s.encode_bf16))
