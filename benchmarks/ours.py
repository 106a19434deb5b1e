"""The cases of rapidchunk, and the check that what is timed is right: spans exact, nothing lost, the maximum kept."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Sequence
from typing import Any

from baseline import MAX_TOKENS, MIN_TOKENS, OVERLAP, SENTENCE_END, SEPARATORS, SIZE
from harness import OURS, NotAvailable, Run, case, size_of
from resources import BLOCK, Setup


def part(path: str) -> Any:
    """rapidchunk.<path>, or NotAvailable where this version does not have it."""
    module, _, name = f"rapidchunk.{path}".rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise NotAvailable(f"not available in this version (rapidchunk.{path})") from error


Chunker = Callable[[Sequence[str]], Any]
CHUNKERS: dict[str, Callable[[Setup], Chunker]] = {
    "token-bert": lambda s: part("TokenChunker")(max_tokens=SIZE, overlap=OVERLAP, tokenizer="bert"),
    "token-cl100k": lambda s: part("TokenChunker")(max_tokens=SIZE, overlap=OVERLAP, tokenizer=s.cl100k),
    "chars": lambda s: part("TokenChunker")(max_tokens=SIZE, overlap=OVERLAP, tokenizer="chars"),
    "chars-unicode": lambda s: part("TokenChunker")(max_tokens=SIZE, overlap=OVERLAP, tokenizer="chars"),
    "delimiters": lambda s: part("RecursiveChunker")(
        max_tokens=SIZE, overlap=0, tokenizer="bytes", separators=[["\n", ".", "?"]]
    ),
    "sentence-groups": lambda s: part("SentenceChunker")(max_tokens=SIZE, overlap=OVERLAP, tokenizer="bert"),
    "recursive-chars": lambda s: part("RecursiveChunker")(
        max_tokens=SIZE, overlap=OVERLAP, tokenizer="chars", separators=SEPARATORS
    ),
    "recursive-tokens": lambda s: part("RecursiveChunker")(
        max_tokens=SIZE, overlap=OVERLAP, tokenizer="bert", separators=SEPARATORS
    ),
    "markdown": lambda s: part("MarkdownChunker")(max_tokens=1_000_000_000, tokenizer="chars"),
    "html": lambda s: part("HtmlChunker")(max_tokens=1_000_000_000, tokenizer="chars"),
}


def _register(row: str, make: Callable[[Setup], Chunker]) -> None:
    @case(row, OURS, "rapidchunk, columns")
    def _(s: Setup) -> Run:
        return make(s)

    @case(row, OURS, "rapidchunk, columns and every text")
    def _(s: Setup) -> Run:
        chunker = make(s)
        return lambda documents: len(chunker(documents).texts())


for _row, _make in CHUNKERS.items():
    _register(_row, _make)


@case("sentences", OURS, "rapidchunk.sentence_spans")
def _(s: Setup) -> Run:
    spans = part("sentence_spans")

    def run(documents: Sequence[str]) -> Any:
        return spans(list(documents))[0]

    return run


@case("token-bert", OURS, "rapidchunk WordPiece alone, UTF-8 in, ids and spans")
def _(s: Setup) -> Run:
    tokenizer = part("_wordpiece.default_wordpiece")()
    encoded: dict[str, bytes] = {}

    def run(documents: Sequence[str]) -> int:
        return len(tokenizer.encode([encoded.get(d) or encoded.setdefault(d, d.encode()) for d in documents], 1)[0])

    return run


@case("sentences", OURS, "rapidchunk kernel, UTF-8 bytes in")
def _(s: Setup) -> Run:
    spans = part("kernels.cpu.sentence_spans")
    encoded: dict[str, bytes] = {}

    def run(documents: Sequence[str]) -> int:
        return len(spans([encoded.get(d) or encoded.setdefault(d, d.encode()) for d in documents], threads=1)[0])

    return run


@case("markdown", OURS, "rapidchunk kernel, blocks of every kind")
def _(s: Setup) -> Run:
    blocks = part("kernels.cpu.markdown_blocks")
    return lambda documents: sum(len(next(iter(blocks(d).values()))) for d in documents)


# The vectors are given: similarity, candidates and cuts, the tail that rivals write in Python.


def _tail(cuts: str) -> None:
    @case("semantic-tail", OURS, f"rapidchunk kernels, {cuts}")
    def _(s: Setup) -> Run:
        import numpy as np

        adjacent = part("kernels.cpu.adjacent_similarity")
        candidates = part("kernels.cpu.boundary_candidates")
        greedy, optimal = part("kernels.cpu.greedy_cuts"), part("kernels.cpu.optimal_cuts")
        last = np.cumsum(s.sentence_tokens, dtype=np.int64)
        first = last - s.sentence_tokens

        def run(blocks: Sequence[Any]) -> int:
            n = len(blocks) * BLOCK
            offsets = np.array([0, n])
            similarity = adjacent(s.vectors[:n], offsets)
            limits = (first[:n], last[:n], offsets, MIN_TOKENS, MAX_TOKENS)
            if cuts == "optimal":
                return int(optimal(similarity, *limits).sum())
            return int(greedy(similarity, candidates(similarity, offsets, "percentile", 95.0), *limits).sum())

        return run


_tail("greedy")
_tail("optimal")


@case("semantic-tail", OURS, "rapidchunk kernels, directional (the default)")
def _(s: Setup) -> Run:
    import numpy as np

    directional = part("kernels.cpu.directional_cuts")
    last = np.cumsum(s.sentence_tokens, dtype=np.int64)
    first = last - s.sentence_tokens
    prior = np.zeros(len(last), np.uint8)

    def run(blocks: Sequence[Any]) -> int:
        n = len(blocks) * BLOCK
        offsets = np.array([0, n])
        return int(directional(s.vectors[:n], first[:n], last[:n], prior[:n], offsets, MIN_TOKENS, MAX_TOKENS).sum())

    return run


@case("semantic-tail", OURS, "rapidchunk SemanticChunker, text in, sentences and tokens too")
def _(s: Setup) -> Run:
    chunker = part("SemanticChunker")(lambda texts: s.vectors[: len(texts)], MAX_TOKENS, percentile=95, method="greedy")
    return lambda blocks: len(chunker(s.text_of(len(blocks) * BLOCK)))


@case("semantic-static", OURS, "rapidchunk SemanticChunker, its default")
def _(s: Setup) -> Run:
    chunker = part("SemanticChunker")(max_tokens=MAX_TOKENS)
    return lambda documents: len(chunker(documents))


@case("semantic-static", OURS, "rapidchunk SemanticChunker, embedded table, percentile")
def _(s: Setup) -> Run:
    chunker = part("SemanticChunker")(None, MAX_TOKENS, percentile=95, method="greedy")
    return lambda documents: len(chunker(documents))


@case("semantic-static", OURS, "rapidchunk SemanticChunker over model2vec")
def _(s: Setup) -> Run:
    chunker = part("SemanticChunker")(s.encode_static, MAX_TOKENS, percentile=95, method="greedy")
    return lambda documents: len(chunker(documents))


def _semantic(row: str, name: str, encoder: Callable[[Setup], Any]) -> None:
    @case(row, OURS, f"rapidchunk SemanticChunker, {name}", slow=True)
    def _(s: Setup) -> Run:
        chunker = part("SemanticChunker")(encoder(s), MAX_TOKENS, percentile=95, method="greedy")
        return lambda documents: len(chunker(documents))


_semantic("semantic-minilm", "own encoder", lambda s: s.minilm_fp32)
_semantic("semantic-minilm", "over sentence-transformers", lambda s: s.encode_minilm)
_semantic("semantic-bf16", "own encoder in bf16", lambda s: s.minilm_bf16)

# Strategies that no rival has in a row of its own, on a document of 100 MB.


def _large(name: str, make: Callable[[Setup], Any], text: str = "prose") -> None:
    @case("memory-100mb", OURS, f"rapidchunk {name}", text=text)
    def _(s: Setup) -> Run:
        return make(s)  # type: ignore[no-any-return]


_large("SemanticChunker, its default", lambda s: part("SemanticChunker")())
_large("HierarchicalChunker", lambda s: part("HierarchicalChunker")())
_large("SentenceWindowChunker", lambda s: part("SentenceWindowChunker")())
_large("PageChunker", lambda s: part("PageChunker")(), "pages")
_large("PaperChunker", lambda s: part("PaperChunker")())
_large("BookChunker", lambda s: part("BookChunker")())
_large("LegalChunker", lambda s: part("LegalChunker")())
_large("ChatChunker", lambda s: part("ChatChunker")(), "chat")
_large("CodeChunker", lambda s: part("CodeChunker")("python"), "code")
_large("ApiChunker", lambda s: part("ApiChunker")(), "api")


def returned(made: Any) -> float:
    """MiB of the columns that a case of ours returns; 0 of a number. Columns that are made when they are asked for are none."""
    if isinstance(made, part("Chunks")):
        columns = [made.document, made.start, made.end, made.byte_start, made.byte_end, made.tokens, made.index]
        further = [getattr(column, "spans", column) for column in made.extra.values()]
        made = [*columns, *further, made.vectors, made.sentence_vectors and vars(made.sentence_vectors)]
    return 0.0 if isinstance(made, int) else size_of(made) / 2**20


THREADS: dict[str, str] = {
    "rapidchunk TokenChunker(bert)": "token-bert",
    "rapidchunk SentenceChunker(bert)": "sentence-groups",
    "rapidchunk RecursiveChunker(chars)": "recursive-chars",
    "rapidchunk RecursiveChunker(bert)": "recursive-tokens",
}
WHOLE = ", one document"
"""At the end of a name: all the text as one document, so that the threads have to share it."""


def _threads(name: str) -> None:
    row = THREADS[name.removesuffix(WHOLE)]

    @case("threads", OURS, name)
    def _(s: Setup) -> Run:
        chunker = CHUNKERS[row](s)
        return lambda documents: len(chunker(_joined(name, documents)))


def _joined(name: str, documents: Sequence[str]) -> Sequence[str]:
    if not name.endswith(WHOLE):
        return documents
    if len(_whole) != 1:
        _whole[:] = ["\n\n".join(documents)]
    return _whole


_whole: list[str] = []
for _name in THREADS:
    _threads(_name)
    _threads(_name + WHOLE)


def fingerprint(name: str, s: Setup, documents: Sequence[str]) -> str:
    """A hash of all columns that a case of the row threads makes."""
    chunks = CHUNKERS[THREADS[name.removesuffix(WHOLE)]](s)(_joined(name, documents))
    columns = (chunks.document, chunks.start, chunks.end, chunks.byte_start, chunks.byte_end, chunks.tokens)
    return hashlib.sha256(b"".join(column.tobytes() for column in columns)).hexdigest()


VECTORS: dict[str, tuple[Callable[[Setup], Callable[[list[str]], Any]], Callable[[Setup], Any], str]] = {
    "semantic-static": (lambda s: s.encode_static, lambda s: part("encoders.StaticEncoder")(), "model2vec's"),
    "semantic-minilm": (lambda s: s.encode_minilm, lambda s: s.minilm_fp32, "sentence-transformers'"),
    "semantic-bf16": (lambda s: s.encode_minilm, lambda s: s.minilm_bf16, "sentence-transformers' (fp32)"),
}
"""Row -> what the rivals encode with, our encoder, and whose the former is."""


def verify(row: str, s: Setup, documents: Sequence[str]) -> str:
    """Chunks a few documents outside the timing and checks every span against the text; raises AssertionError."""
    if row in VECTORS:
        return f"{verify_spans(row, s, part('SemanticChunker')(max_tokens=SIZE), documents)}; {verify_vectors(row, s)}"
    if row in CHUNKERS:
        return verify_spans(row, s, CHUNKERS[row](s), documents)
    if row == "sentences":
        return verify_sentences(documents)
    return ""


def verify_vectors(row: str, s: Setup) -> str:
    """Our vectors against those that the rivals get, of 200 sentences."""
    import numpy as np

    theirs, encoder, whose = VECTORS[row]
    texts = [sentence for document in s.corpus.documents(2_000, 60_000) for sentence in SENTENCE_END.split(document)]
    texts = [text[:500] for text in texts if text.strip()][:200]
    a, b = np.asarray(theirs(s)(texts), np.float64), np.asarray(encoder(s).encode(texts), np.float64)
    a, b = (v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-12) for v in (a, b))
    worst = float((a * b).sum(1).min())
    assert worst > 0.999, f"{row}: cosine of our vectors to {whose} is {worst:.6f} at worst"
    return f"cosine of our vectors to {whose}: {worst:.6f} or more"


def verify_sentences(documents: Sequence[str]) -> str:
    spans = part("sentence_spans")
    count = 0
    for document in documents:
        last = 0
        for start, end in spans(document).tolist():
            assert last <= start < end and not document[last:start].strip(), f"sentences: lost before {start}"
            last = end
            count += 1
        assert not document[last:].strip(), f"sentences: lost after {last}"
    return f"{count} sentences of {len(documents)} documents checked: in order, nothing lost"


def verify_spans(row: str, s: Setup, chunker: Chunker, documents: Sequence[str]) -> str:
    chunks = chunker(documents)
    columns = zip(
        chunks.document.tolist(),
        chunks.start.tolist(),
        chunks.end.tolist(),
        chunks.byte_start.tolist(),
        chunks.byte_end.tolist(),
        chunks.texts(),
        strict=True,
    )
    covered = [bytearray(len(chunks.document_text(d))) for d in range(len(documents))]
    last = (0, 0)
    for document, start, end, byte_start, byte_end, text in columns:
        source = chunks.document_text(document)  # of HTML the extracted text
        assert source[start:end] == text, f"{row}: document {document}: [{start}:{end}] is not the chunk's text"
        assert source.encode()[byte_start:byte_end].decode() == text, f"{row}: byte span of [{start}:{end}]"
        assert (document, start) >= last, f"{row}: document {document}: starts go backwards at {start}"
        last = (document, start)
        covered[document][start:end] = b"\1" * (end - start)
    for index, marks in enumerate(covered):
        source = chunks.document_text(index)
        lost = [i for i, mark in enumerate(marks) if not mark and not source[i].isspace()]
        assert not lost, f"{row}: document {index}: {len(lost)} characters lost, first at {lost[0]}"
    if row not in ("markdown", "html") and not row.endswith("cl100k"):
        units = {"chars": "chars", "chars-unicode": "chars", "recursive-chars": "chars", "delimiters": "bytes"}
        count = {"chars": len, "bytes": lambda t: len(t.encode())}.get(units.get(row, ""), s.bert_count)
        longest = max(map(count, chunks.texts()), default=0)
        assert longest <= SIZE, f"{row}: a chunk of {longest} tokens, more than {SIZE}"
    return f"{len(chunks)} chunks of {len(documents)} documents checked: spans exact, nothing lost, maximum kept"
