"""Adapters for the libraries that users would pick instead, one factory a case, with the options nearest to ours.

Every chunk's text is made, unless the name says otherwise. Imports are inside the factories: what is not installed is
reported as such and skipped.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from baseline import OVERLAP, SENTENCE_END, SEPARATORS, SIZE, each
from harness import LIMIT, RIVAL, Run, case
from resources import BLOCK, DIMENSIONS, Setup

logging.disable(logging.CRITICAL)
HEADINGS = [("#" * level, f"h{level}") for level in range(1, 7)]
HTML_HEADINGS = [(f"h{level}", f"h{level}") for level in range(1, 7)]


def tokie_tokenizer(s: Setup) -> Any:
    import tokie

    return tokie.Tokenizer.from_json(s.bert_json)


# ---- token windows, BERT ---------------------------------------------------------------------------------------------


@case("token-bert", LIMIT, "tokenizers encode_batch alone, with offsets")
def _(s: Setup) -> Run:
    return lambda documents: len(s.bert.encode_batch(documents, add_special_tokens=False))


@case("token-bert", RIVAL, "chonkie TokenChunker")
def _(s: Setup) -> Run:
    from chonkie import TokenChunker

    return each(TokenChunker(s.bert, chunk_size=SIZE, chunk_overlap=OVERLAP).chunk)


@case("token-bert", RIVAL, "chonkie TokenChunker over tokie")
def _(s: Setup) -> Run:
    from chonkie import TokenChunker

    return each(TokenChunker(tokie_tokenizer(s), chunk_size=SIZE, chunk_overlap=OVERLAP).chunk)


@case("token-bert", RIVAL, "langchain split_text_on_tokens")
def _(s: Setup) -> Run:
    from langchain_text_splitters.base import Tokenizer, split_text_on_tokens

    tokenizer = Tokenizer(chunk_overlap=OVERLAP, tokens_per_chunk=SIZE, decode=s.bert.decode, encode=s.bert_ids)
    return each(lambda text: split_text_on_tokens(text=text, tokenizer=tokenizer))


@case("token-bert", RIVAL, "llama-index TokenTextSplitter")
def _(s: Setup) -> Run:
    from llama_index.core.node_parser import TokenTextSplitter

    return each(TokenTextSplitter(chunk_size=SIZE, chunk_overlap=OVERLAP, tokenizer=s.bert_ids).split_text)


@case("token-bert", RIVAL, "chunkr HFTokenChunker")
def _(s: Setup) -> Run:
    import chunkr

    return each(chunkr.HFTokenChunker.from_file(s.bert_json, chunk_size=SIZE, overlap=OVERLAP).chunk)


@case("token-bert", RIVAL, "tokenizers, own windows over offsets (exact)")
def _(s: Setup) -> Run:
    def windows(text: str) -> list[tuple[str, int, int, int]]:
        offsets = s.bert.encode(text, add_special_tokens=False).offsets
        out = []
        for start in range(0, len(offsets), SIZE - OVERLAP):
            end = min(start + SIZE, len(offsets))
            a, b = offsets[start][0], offsets[end - 1][1]
            out.append((text[a:b], a, b, end - start))
            if end == len(offsets):
                break
        return out

    return each(windows)


# ---- token windows, cl100k -------------------------------------------------------------------------------------------


@case("token-cl100k", LIMIT, "tiktoken encode_to_numpy alone")
def _(s: Setup) -> Run:
    return lambda documents: sum(len(s.cl100k.encode_to_numpy(d, disallowed_special=())) for d in documents)


@case("token-cl100k", LIMIT, "bpe-openai encode alone")
def _(s: Setup) -> Run:
    import bpe_openai

    encoding = bpe_openai.get_encoding("cl100k_base")
    return lambda documents: sum(len(encoding.encode_ordinary(d)) for d in documents)


@case("token-cl100k", RIVAL, "chonkie TokenChunker")
def _(s: Setup) -> Run:
    from chonkie import TokenChunker

    return each(TokenChunker(s.cl100k, chunk_size=SIZE, chunk_overlap=OVERLAP).chunk)


@case("token-cl100k", RIVAL, "langchain TokenTextSplitter")
def _(s: Setup) -> Run:
    from langchain_text_splitters import TokenTextSplitter

    return each(TokenTextSplitter(encoding_name="cl100k_base", chunk_size=SIZE, chunk_overlap=OVERLAP).split_text)


@case("token-cl100k", RIVAL, "llama-index TokenTextSplitter")
def _(s: Setup) -> Run:
    from llama_index.core.node_parser import TokenTextSplitter

    encode = s.cl100k.encode_ordinary
    return each(TokenTextSplitter(chunk_size=SIZE, chunk_overlap=OVERLAP, tokenizer=encode).split_text)


@case("token-cl100k", RIVAL, "chunkr TokenChunker")
def _(s: Setup) -> Run:
    import chunkr

    return each(chunkr.TokenChunker(chunk_size=SIZE, overlap=OVERLAP, encoding="cl100k_base").chunk)


# ---- characters and delimiters ---------------------------------------------------------------------------------------


@case("chars", RIVAL, "chonkie TokenChunker(character)")
@case("chars-unicode", RIVAL, "chonkie TokenChunker(character)")
def _(s: Setup) -> Run:
    from chonkie import TokenChunker

    return each(TokenChunker("character", chunk_size=SIZE, chunk_overlap=OVERLAP).chunk)


@case("chars", RIVAL, "blazechunk TokenChunker(character)")
@case("chars-unicode", RIVAL, "blazechunk TokenChunker(character)")
def _(s: Setup) -> Run:
    import blazechunk

    return each(blazechunk.TokenChunker(chunk_size=SIZE, chunk_overlap=OVERLAP).chunk)


@case("chars", RIVAL, "chunkr CharacterChunker")
@case("chars-unicode", RIVAL, "chunkr CharacterChunker")
def _(s: Setup) -> Run:
    import chunkr

    return each(chunkr.CharacterChunker(SIZE, OVERLAP).chunk)


@case("delimiters", RIVAL, "chonkie_core.chunk_offsets (bytes in, offsets out)")
def _(s: Setup) -> Run:
    import chonkie_core

    encoded: dict[str, bytes] = {}

    def run(documents: Sequence[str]) -> int:
        count = 0
        for d in documents:
            data = encoded.get(d) or encoded.setdefault(d, d.encode())
            count += len(chonkie_core.chunk_offsets(data, size=SIZE, delimiters=b"\n.?"))
        return count

    return run


@case("delimiters", RIVAL, "chonkie_core.chunk (memoryviews)")
def _(s: Setup) -> Run:
    import chonkie_core

    return lambda ds: sum(sum(1 for _ in chonkie_core.chunk(d, size=SIZE, delimiters=b"\n.?")) for d in ds)


@case("delimiters", RIVAL, "chonkie FastChunker")
def _(s: Setup) -> Run:
    from chonkie import FastChunker

    return each(FastChunker(chunk_size=SIZE, delimiters="\n.?").chunk)


@case("delimiters", RIVAL, "blazechunk.chunk (memoryviews)")
def _(s: Setup) -> Run:
    import blazechunk

    return lambda ds: sum(sum(1 for _ in blazechunk.chunk(d, size=SIZE, delimiters=b"\n.?")) for d in ds)


@case("delimiters", RIVAL, "langchain CharacterTextSplitter(paragraphs)")
def _(s: Setup) -> Run:
    from langchain_text_splitters import CharacterTextSplitter

    return each(CharacterTextSplitter(separator="\n\n", chunk_size=SIZE, chunk_overlap=0).split_text)


# ---- sentences -------------------------------------------------------------------------------------------------------


@case("sentences", RIVAL, "nltk punkt span_tokenize")
def _(s: Setup) -> Run:
    return each(lambda text: list(s.punkt.span_tokenize(text)))


@case("sentences", RIVAL, "pysbd")
def _(s: Setup) -> Run:
    import pysbd

    return each(pysbd.Segmenter(language="en", clean=False).segment)


@case("sentences", RIVAL, "spaCy sentencizer")
def _(s: Setup) -> Run:
    import spacy

    nlp = spacy.blank("en")
    nlp.max_length = 200_000_000
    nlp.add_pipe("sentencizer")
    return each(lambda text: list(nlp(text).sents))


@case("sentences", RIVAL, "sentencex")
def _(s: Setup) -> Run:
    import sentencex

    return each(lambda text: list(sentencex.segment("en", text)))


@case("sentences", RIVAL, "ICU BreakIterator (UTF-16 offsets)")
def _(s: Setup) -> Run:
    import icu

    iterator = icu.BreakIterator.createSentenceInstance(icu.Locale("en_US"))

    def spans(text: str) -> list[int]:
        iterator.setText(text)
        return list(iterator)

    return each(spans)


@case("sentences", RIVAL, "syntok")
def _(s: Setup) -> Run:
    import syntok.segmenter

    return each(lambda text: [x for paragraph in syntok.segmenter.analyze(text) for x in paragraph])


@case("sentences", RIVAL, "blingfire text_to_sentences")
def _(s: Setup) -> Run:
    import blingfire

    return each(lambda text: blingfire.text_to_sentences(text).split("\n"))


@case("sentences", RIVAL, "chonkie_core literal patterns (offsets; no rules)")
def _(s: Setup) -> Run:
    import chonkie_core

    patterns = [b". ", b"! ", b"? ", b"\n"]
    return each(
        lambda text: chonkie_core.split_pattern_offsets(
            text.encode(), patterns=patterns, include_delim="prev", min_chars=12
        )
    )


# ---- sentences grouped to a token limit ------------------------------------------------------------------------------


@case("sentence-groups", RIVAL, "chonkie SentenceChunker")
def _(s: Setup) -> Run:
    from chonkie import SentenceChunker

    return each(SentenceChunker(s.bert, chunk_size=SIZE, chunk_overlap=OVERLAP).chunk)


@case("sentence-groups", RIVAL, "chonkie SentenceChunker over tokie, no overlap")
def _(s: Setup) -> Run:
    from chonkie import SentenceChunker

    return each(SentenceChunker(tokie_tokenizer(s), chunk_size=SIZE, chunk_overlap=0).chunk)


@case("sentence-groups", RIVAL, "llama-index SentenceSplitter")
def _(s: Setup) -> Run:
    from llama_index.core.node_parser import SentenceSplitter

    return each(SentenceSplitter(chunk_size=SIZE, chunk_overlap=OVERLAP, tokenizer=s.bert_ids).split_text)


@case("sentence-groups", RIVAL, "haystack DocumentSplitter(380 words, sentences kept)")
def _(s: Setup) -> Run:
    from haystack import Document
    from haystack.components.preprocessors import DocumentSplitter

    splitter = DocumentSplitter(
        split_by="word", split_length=380, split_overlap=48, respect_sentence_boundary=True, language="en"
    )
    splitter.warm_up()
    return lambda documents: len(splitter.run(documents=[Document(content=d) for d in documents])["documents"])


@case("sentence-groups", RIVAL, "blazechunk SentenceChunker(380 words)")
def _(s: Setup) -> Run:
    import blazechunk

    return each(blazechunk.SentenceChunker(tokenizer="word", chunk_size=380, chunk_overlap=48).chunk)


# ---- recursive, characters -------------------------------------------------------------------------------------------


@case("recursive-chars", RIVAL, "langchain RecursiveCharacterTextSplitter")
def _(s: Setup) -> Run:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(chunk_size=SIZE, chunk_overlap=OVERLAP, separators=SEPARATORS)
    return each(splitter.split_text)


@case("recursive-chars", RIVAL, "langchain create_documents(add_start_index)")
def _(s: Setup) -> Run:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(
        chunk_size=SIZE, chunk_overlap=OVERLAP, separators=SEPARATORS, add_start_index=True
    )
    return lambda documents: len(splitter.create_documents(list(documents)))


@case("recursive-chars", RIVAL, "chunkr RecursiveChunker (lazy: texts not made)")
def _(s: Setup) -> Run:
    import chunkr

    return each(chunkr.RecursiveChunker(SIZE, OVERLAP, separators=SEPARATORS).chunk)


@case("recursive-chars", RIVAL, "chunkr RecursiveChunker, texts and metadata read")
def _(s: Setup) -> Run:
    import chunkr

    chunker = chunkr.RecursiveChunker(SIZE, OVERLAP, separators=SEPARATORS)
    return each(lambda text: [(chunk.content, chunk.metadata) for chunk in chunker.chunk(text)])


@case("recursive-chars", RIVAL, "chonkie RecursiveChunker, no overlap")
def _(s: Setup) -> Run:
    from chonkie import RecursiveChunker

    return each(RecursiveChunker("character", chunk_size=SIZE).chunk)


@case("recursive-chars", RIVAL, "blazechunk RecursiveChunker, no overlap")
def _(s: Setup) -> Run:
    import blazechunk

    return each(blazechunk.RecursiveChunker(chunk_size=SIZE).chunk)


@case("recursive-chars", RIVAL, "semantic-text-splitter TextSplitter")
def _(s: Setup) -> Run:
    from semantic_text_splitter import TextSplitter

    return each(TextSplitter(SIZE, overlap=OVERLAP).chunks)


@case("recursive-chars", RIVAL, "semchunk")
def _(s: Setup) -> Run:
    import semchunk

    chunker = semchunk.chunkerify(len, SIZE)
    return each(lambda text: chunker(text, overlap=OVERLAP))


@case("recursive-chars", RIVAL, "haystack RecursiveDocumentSplitter")
def _(s: Setup) -> Run:
    from haystack import Document
    from haystack.components.preprocessors import RecursiveDocumentSplitter

    splitter = RecursiveDocumentSplitter(
        split_length=SIZE, split_overlap=OVERLAP, split_unit="char", separators=SEPARATORS[:-1]
    )
    splitter.warm_up()
    return lambda documents: len(splitter.run([Document(content=d) for d in documents])["documents"])


# ---- recursive, tokens -----------------------------------------------------------------------------------------------


@case("recursive-tokens", RIVAL, "langchain RecursiveCharacterTextSplitter")
def _(s: Setup) -> Run:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(
        chunk_size=SIZE, chunk_overlap=OVERLAP, separators=SEPARATORS, length_function=s.bert_count
    )
    return each(splitter.split_text)


@case("recursive-tokens", RIVAL, "chonkie RecursiveChunker, no overlap")
def _(s: Setup) -> Run:
    from chonkie import RecursiveChunker

    return each(RecursiveChunker(s.bert, chunk_size=SIZE).chunk)


@case("recursive-tokens", RIVAL, "chonkie RecursiveChunker over tokie, no overlap")
def _(s: Setup) -> Run:
    from chonkie import RecursiveChunker

    return each(RecursiveChunker(tokie_tokenizer(s), chunk_size=SIZE).chunk)


@case("recursive-tokens", RIVAL, "semantic-text-splitter TextSplitter")
def _(s: Setup) -> Run:
    from semantic_text_splitter import TextSplitter

    return each(TextSplitter.from_huggingface_tokenizer(s.bert, SIZE, overlap=OVERLAP).chunks)


@case("recursive-tokens", RIVAL, "semchunk (memo off)")
def _(s: Setup) -> Run:
    import semchunk

    return each(lambda text: semchunk.chunkerify(s.bert, SIZE, memoize=False)(text, overlap=OVERLAP))


# ---- Markdown and HTML -----------------------------------------------------------------------------------------------


@case("markdown", LIMIT, "markdown-it-py parse alone")
def _(s: Setup) -> Run:
    from markdown_it import MarkdownIt

    return each(MarkdownIt().parse)


@case("markdown", RIVAL, "langchain MarkdownHeaderTextSplitter")
def _(s: Setup) -> Run:
    from langchain_text_splitters import MarkdownHeaderTextSplitter

    return each(MarkdownHeaderTextSplitter(HEADINGS).split_text)


@case("markdown", RIVAL, "llama-index MarkdownNodeParser")
def _(s: Setup) -> Run:
    from llama_index.core import Document
    from llama_index.core.node_parser import MarkdownNodeParser

    parser = MarkdownNodeParser()
    return lambda documents: len(parser.get_nodes_from_documents([Document(text=d) for d in documents]))


@case("markdown", RIVAL, "haystack MarkdownHeaderSplitter")
def _(s: Setup) -> Run:
    from haystack import Document
    from haystack.components.preprocessors import MarkdownHeaderSplitter

    splitter = MarkdownHeaderSplitter()
    if hasattr(splitter, "warm_up"):
        splitter.warm_up()
    return lambda documents: len(splitter.run([Document(content=d) for d in documents])["documents"])


@case("markdown", RIVAL, "chunkr MarkdownChunker (no offsets)")
def _(s: Setup) -> Run:
    import chunkr

    return each(chunkr.MarkdownChunker(1000, 0).chunk)


@case("markdown", RIVAL, "semantic-text-splitter MarkdownSplitter (no metadata)")
def _(s: Setup) -> Run:
    from semantic_text_splitter import MarkdownSplitter

    return each(MarkdownSplitter(1000).chunks)


@case("html", LIMIT, "selectolax (lexbor) parse alone")
def _(s: Setup) -> Run:
    from selectolax.lexbor import LexborHTMLParser

    return lambda documents: sum(1 for d in documents if LexborHTMLParser(d).root)


@case("html", LIMIT, "lxml parse alone")
def _(s: Setup) -> Run:
    import lxml.html

    return lambda documents: sum(1 for d in documents if lxml.html.fromstring(d.encode()) is not None)


@case("html", RIVAL, "langchain HTMLHeaderTextSplitter")
def _(s: Setup) -> Run:
    from langchain_text_splitters import HTMLHeaderTextSplitter

    return each(HTMLHeaderTextSplitter(HTML_HEADINGS).split_text)


@case("html", RIVAL, "llama-index HTMLNodeParser")
def _(s: Setup) -> Run:
    from llama_index.core import Document
    from llama_index.core.node_parser import HTMLNodeParser

    parser = HTMLNodeParser()
    return lambda documents: len(parser.get_nodes_from_documents([Document(text=d) for d in documents]))


@case("html", RIVAL, "chunkr HtmlChunker (tags stay in, no path)")
def _(s: Setup) -> Run:
    import chunkr

    return each(chunkr.HtmlChunker(1000, 0).chunk)


# ---- semantic: embeddings given --------------------------------------------------------------------------------------


def llama_embedding(encode: Any) -> Any:
    from llama_index.core.embeddings import BaseEmbedding

    class Embedding(BaseEmbedding):  # type: ignore[misc]
        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return encode(texts)  # type: ignore[no-any-return]

        def _get_text_embedding(self, text: str) -> list[float]:
            return encode([text])[0]  # type: ignore[no-any-return]

        def _get_query_embedding(self, query: str) -> list[float]:
            return encode([query])[0]  # type: ignore[no-any-return]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return encode([query])[0]  # type: ignore[no-any-return]

    return Embedding(embed_batch_size=2048)


def chonkie_embedding(encode: Any, size: int, tokenizer: Any) -> Any:
    from chonkie.embeddings import BaseEmbeddings

    class Embeddings(BaseEmbeddings):  # type: ignore[misc]
        dimension = size

        def embed(self, text: str) -> Any:
            return encode([text])[0]

        def embed_batch(self, texts: list[str]) -> list[Any]:
            return list(encode(texts)) if texts else []

        def get_tokenizer(self) -> Any:
            return tokenizer

        def __repr__(self) -> str:
            return "given"

    return Embeddings()


class LangchainEmbeddings:
    def __init__(self, encode: Any) -> None:
        self.embed_documents = encode


def of_blocks(s: Setup, chunk: Any) -> Run:
    return lambda blocks: len(chunk(s.text_of(len(blocks) * BLOCK)))


@case("semantic-tail", RIVAL, "chonkie SemanticChunker")
def _(s: Setup) -> Run:
    from chonkie import SemanticChunker

    embeddings = chonkie_embedding(lambda texts: s.vectors[: len(texts)], DIMENSIONS, "character")
    return of_blocks(s, SemanticChunker(embeddings, chunk_size=2048).chunk)


@case("semantic-tail", RIVAL, "langchain-experimental SemanticChunker (arrays)")
def _(s: Setup) -> Run:
    from langchain_experimental.text_splitter import SemanticChunker

    return of_blocks(s, SemanticChunker(LangchainEmbeddings(lambda texts: s.vectors[: len(texts)])).split_text)


@case("semantic-tail", RIVAL, "llama-index SemanticSplitterNodeParser")
def _(s: Setup) -> Run:
    from llama_index.core import Document
    from llama_index.core.node_parser import SemanticSplitterNodeParser

    embedding = llama_embedding(lambda texts: s.vector_lists[: len(texts)])
    parser = SemanticSplitterNodeParser(embed_model=embedding, sentence_splitter=lambda t: re.split(r"(?<=\. )", t))
    return of_blocks(s, lambda text: parser.get_nodes_from_documents([Document(text=text)]))


@case("semantic-tail", RIVAL, "blazechunk SemanticChunker (array)")
def _(s: Setup) -> Run:
    import blazechunk

    return of_blocks(s, blazechunk.SemanticChunker(lambda texts: s.vectors[: len(texts)], chunk_size=2048).chunk)


# ---- semantic: end to end --------------------------------------------------------------------------------------------


def _end_to_end(row: str, name: str, size: int, slow: bool) -> None:
    """The same four rivals over one encoder, which is looked up in the setup by name."""

    @case(row, RIVAL, "chonkie SemanticChunker", slow)
    def _(s: Setup) -> Run:
        from chonkie import SemanticChunker

        return each(SemanticChunker(chonkie_embedding(getattr(s, name), size, s.bert), chunk_size=SIZE).chunk)

    @case(row, RIVAL, "langchain-experimental SemanticChunker", slow)
    def _(s: Setup) -> Run:
        from langchain_experimental.text_splitter import SemanticChunker

        return each(SemanticChunker(LangchainEmbeddings(lambda t: getattr(s, name)(t).tolist())).split_text)

    @case(row, RIVAL, "llama-index SemanticSplitterNodeParser", slow)
    def _(s: Setup) -> Run:
        from llama_index.core import Document
        from llama_index.core.node_parser import SemanticSplitterNodeParser

        embedding = llama_embedding(lambda texts: getattr(s, name)(texts).tolist())
        parser = SemanticSplitterNodeParser(embed_model=embedding, sentence_splitter=SENTENCE_END.split)
        return lambda documents: len(parser.get_nodes_from_documents([Document(text=d) for d in documents]))

    @case(row, RIVAL, "blazechunk SemanticChunker", slow)
    def _(s: Setup) -> Run:
        import blazechunk

        return each(blazechunk.SemanticChunker(lambda t: getattr(s, name)(list(t)), chunk_size=2048).chunk)


_end_to_end("semantic-static", "encode_static", 256, slow=False)
_end_to_end("semantic-minilm", "encode_minilm", DIMENSIONS, slow=True)
_end_to_end("semantic-bf16", "encode_minilm", DIMENSIONS, slow=True)


# ---- threads: the batch calls, and one Python thread a document where there is none ----------------------------------


def _pool(chunk: Any) -> Run:
    pool = ThreadPoolExecutor(int(os.environ["RAPIDCHUNK_THREADS"]))
    return lambda documents: sum(map(len, pool.map(chunk, documents)))


@case("threads", RIVAL, "tokenizers encode_batch")
def _(s: Setup) -> Run:
    return lambda documents: len(s.bert.encode_batch(list(documents)[:50]))


@case("threads", RIVAL, "chunkr RecursiveChunker.par_chunk_texts")
def _(s: Setup) -> Run:
    import chunkr

    chunker = chunkr.RecursiveChunker(SIZE, OVERLAP)
    return lambda documents: sum(map(len, chunker.par_chunk_texts(list(documents))))


@case("threads", RIVAL, "blazechunk RecursiveChunker.chunk_batch")
def _(s: Setup) -> Run:
    import blazechunk

    chunker = blazechunk.RecursiveChunker(chunk_size=SIZE)
    return lambda documents: sum(map(len, chunker.chunk_batch(list(documents))))


@case("threads", RIVAL, "semantic-text-splitter chunk_all")
def _(s: Setup) -> Run:
    from semantic_text_splitter import TextSplitter

    splitter = TextSplitter(SIZE)
    return lambda documents: sum(map(len, splitter.chunk_all(list(documents))))


@case("threads", RIVAL, "Python threads: chunkr RecursiveChunker")
def _(s: Setup) -> Run:
    import chunkr

    return _pool(chunkr.RecursiveChunker(SIZE, OVERLAP).chunk)


@case("threads", RIVAL, "Python threads: chonkie RecursiveChunker")
def _(s: Setup) -> Run:
    from chonkie import RecursiveChunker

    return _pool(RecursiveChunker("character", chunk_size=SIZE).chunk)


@case("threads", RIVAL, "Python threads: semantic-text-splitter")
def _(s: Setup) -> Run:
    from semantic_text_splitter import TextSplitter

    return _pool(TextSplitter(SIZE).chunks)
