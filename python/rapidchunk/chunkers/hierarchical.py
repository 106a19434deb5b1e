"""Parents and children: large chunks to read, small ones to search, in one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rapidchunk import _core
from rapidchunk.chunkers.base import RUN, Chunker, _Batch, runs, whole_number
from rapidchunk.chunkers.sections import heading_prefixes
from rapidchunk.chunkers.sentence import SentenceChunker
from rapidchunk.chunks import COLUMNS, Chunks, join_columns, total_report
from rapidchunk.columns import SpanTexts
from rapidchunk.sentences import Splitter, byte_spans, sentence_rules
from rapidchunk.vectors import joined

__all__ = ["HierarchicalChunker", "SentenceWindowChunker"]


class HierarchicalChunker(Chunker):
    """Chunks of several sizes: each level cuts the chunks of the one before it.

    The children of a chunk are inside its span and hold all of it but white space. A document has chunks on every level, so
    that a search of one level misses nothing; where a chunk fits the next level too, its only child has the same text (a
    small document is one chunk a level). Rows of a document are in order of level, then position.

    Further columns of the result:
        level: int64, 0 for the largest.
        parent: int64, the parent's `index` in the same document (its row, where there is one document); -1 on level 0.
        Those of the levels' own chunkers (None on the other levels); `headings` go down, and so does the heading path in
        `context` where the first level's chunker has `prepend_headings`, as far as a level's maximum allows.

    ``chunks.expand(hits, level)`` gives the parents of what a search found, each once, best first.

    Args:
        levels: the most tokens of a chunk on each level, from large to small; or a chunker for each level, such as
            ``[MarkdownChunker(2048), SemanticChunker(max_tokens=512), SentenceChunker(64)]``, all of one tokenizer.
            Sizes cut between paragraphs, else sentences, else words.
        overlap: on the last level, between children of one parent. With chunkers, they have their own.
        tokenizer: see `Chunker`.

    Raises:
        ValueError: no levels, a level that is not smaller than the one before (chunkers: larger), or different tokenizers.
    """

    def __init__(
        self, levels: Sequence[int | Chunker] = (2048, 512, 128), overlap: int = 0, tokenizer: Any = None
    ) -> None:
        if isinstance(levels, (str, bytes)) or not isinstance(levels, Sequence) or not len(levels):
            raise ValueError(f"levels must hold sizes or chunkers, from large to small, not {levels!r}")
        by_size = not any(isinstance(level, Chunker) for level in levels)
        if by_size:
            sizes = [whole_number("levels", level, 1) for level in levels]
            if sorted(set(sizes), reverse=True) != sizes:
                raise ValueError(f"levels must go from large to small, not {tuple(levels)}")
        else:
            for level in levels:
                if not isinstance(level, Chunker):
                    raise ValueError(f"levels must be all sizes or all chunkers; one is {level!r}")
            chunkers = [level for level in levels if isinstance(level, Chunker)]
            sizes = [level.max_tokens for level in chunkers]
            if sorted(sizes, reverse=True) != sizes:
                raise ValueError(f"levels must go from large to small, not {tuple(sizes)}")
            if overlap:
                raise ValueError("overlap is for levels given as sizes; chunkers have their own")
            given = {repr(level.tokenizer) for level in chunkers}
            if len(given) > 1:
                raise ValueError(f"levels must count tokens with one tokenizer, not {' and '.join(sorted(given))}")
            tokenizer = chunkers[0].tokenizer if tokenizer is None else tokenizer
        super().__init__(sizes[0], 0, 0, tokenizer)
        if not by_size and repr(self.tokenizer) not in given:
            raise ValueError(f"levels must count tokens with {self.tokenizer!r}, not {given.pop()}")
        self.levels = tuple(levels)
        self.overlap = whole_number("overlap", overlap, 0)
        last = len(sizes) - 1
        self._levels: list[Chunker] = (
            [
                SentenceChunker(size, overlap if i == last else 0, self.tokenizer, unit="paragraph")
                for i, size in enumerate(sizes)
            ]
            if by_size
            else chunkers
        )

    def _is_document(self, text: Any) -> bool:
        return self._levels[0]._is_document(text)

    def _check_document(self, text: Any, number: int) -> None:
        self._levels[0]._check_document(text, number)

    def _plan(self, batch: _Batch) -> tuple[list[str] | _core.Texts, Callable[[int, int], Chunks]]:
        source, chunk = self._levels[0]._plan(batch)
        return source, lambda begin, end: self._deepen(chunk(begin, end))

    def _chunk(self, texts: _core.Texts) -> Chunks:
        return self._deepen(self._levels[0]._chunk(texts))

    def _deepen(self, first: Chunks) -> Chunks:
        """Chunks of the first level, with those of the others."""
        if isinstance(first._source, _core.Texts):  # without what the first level has converted
            first._source = first._source.part(0, len(first._source))
        texts = first._source
        found = [first]
        parents = [np.full(len(found[0]), -1)]
        for chunker in self._levels[1:]:
            children, of = self._children(chunker, found[-1])
            found.append(children)
            parents.append(of)
        level = np.repeat(np.arange(len(found)), [len(part) for part in found])
        document = np.concatenate([part.document for part in found])
        order = np.lexsort((level, document))  # stable: positions stay in order within a level
        firsts = np.concatenate([[0], np.cumsum([len(part) for part in found])])
        row_of = np.empty(len(order), np.int64)
        row_of[order] = np.arange(len(order))
        first_row = np.searchsorted(document[order], np.arange(len(texts)))
        parent = np.full(len(order), -1, np.int64)
        for i, of in enumerate(parents[1:], 1):
            rows = row_of[firsts[i - 1] + of]
            parent[firsts[i] : firsts[i + 1]] = rows - first_row[found[i].document]
        extra: dict[str, Any] = {"level": level[order], "parent": parent[order]}
        for name in dict.fromkeys(name for part in found for name in part.extra):
            values = [v for part in found for v in (part.extra[name] if name in part.extra else [None] * len(part))]
            extra[name] = [values[i] for i in order.tolist()]
        columns = {name: np.concatenate([getattr(part, name) for part in found])[order] for name in COLUMNS}
        vectors = [part.vectors for part in found if part.vectors is not None]
        sentences = joined([part.sentence_vectors for part in found], [len(part) for part in found])
        return Chunks(
            texts,
            columns,
            vectors=np.concatenate(vectors)[order] if len(vectors) == len(found) else None,
            extra=extra,
            report=total_report(found),
            sentence_vectors=None if sentences is None else sentences[order],
        )

    def _children(self, chunker: Chunker, above: Chunks) -> tuple[Chunks, np.ndarray]:
        """What `chunker` makes of chunks, and the row of each one's parent. The parents' texts are made run by run: those of a
        large document at once would be as much as the document."""
        parts: list[Chunks] = []
        parents: list[np.ndarray] = []
        for begin, end in list(runs(above.characters.tolist(), RUN)) or [(0, 0)]:
            outer = above[begin:end]
            inner = chunker._chunk(_core.Texts(outer.texts()))
            of = inner.document
            further = _moved(inner, outer, of)
            if getattr(self._levels[0], "prepend_headings", False) and "context" not in further:
                further["context"] = _with_path(inner, further["headings"], chunker)
            columns = {
                "document": outer.document[of],
                "start": inner.start + outer.start[of],
                "end": inner.end + outer.start[of],
                "byte_start": inner.byte_start + outer.byte_start[of],
                "byte_end": inner.byte_end + outer.byte_start[of],
                "tokens": inner.tokens,
            }
            parts.append(
                Chunks(
                    above._source, columns, vectors=inner.vectors, extra=further, report=inner.report,
                    sentence_vectors=inner.sentence_vectors,
                )
            )  # fmt: skip
            parents.append(of + begin)
        return join_columns(parts, [0] * len(parts), above._source, None), np.concatenate(parents)


def _moved(inner: Chunks, above: Chunks, of: np.ndarray) -> dict[str, Any]:
    """The further columns of children, with positions counted from the document's start and paths from its root."""
    extra = dict(inner.extra)
    if "headings" in extra and "headings" in above.extra:
        outer = [above.extra["headings"][row] for row in of.tolist()]
        extra["headings"] = [
            own if own[: len(path)] == path else (*path, *own) for path, own in zip(outer, extra["headings"])
        ]
    elif "headings" in above.extra:
        extra["headings"] = [above.extra["headings"][row] for row in of.tolist()]
    for name in ("window_start", "window_end"):
        if name in extra:
            extra[name] = extra[name] + above.start[of]
    for name in ("page_start", "page_end", "start_line", "end_line", "turn_start", "turn_end"):
        extra.pop(
            name, None
        )  # counted from the parent's start; `with_pages` and `with_lines` count from the document's
    return extra


def _with_path(inner: Chunks, headings: list[tuple[str, ...]], chunker: Chunker) -> list[str | None]:
    """Contexts of children: the heading path before the text, unless the text begins with its last title or there is no room."""
    contexts: list[str | None] = [None] * len(inner)
    rows, made = [], []
    for row, (text, path) in enumerate(zip(inner.texts(), headings)):
        titled = bool(path) and path[-1] in text.split("\n", 1)[0]
        prefix = heading_prefixes(path[:-1] if titled else path)
        if prefix:
            rows.append(row)
            made.append(prefix[0] + text)
    for row, context, size in zip(rows, made, chunker.tokenizer.count(made).tolist() if made else []):
        contexts[row] = context if size <= chunker.max_tokens else None
    return contexts


class SentenceWindowChunker(Chunker):
    """One sentence a chunk, to search for, with the sentences around it, to read.

    Further columns of the result:
        window_start, window_end: int64, the span (code points) of the sentence and its neighbours.
        window: str, the text of that span, made when it is asked for.

    Args:
        window: so many sentences before and after, within the document.
        max_tokens, tokenizer: see `Chunker`. Longer sentences are cut between words.
        language, newline_is_boundary, splitter: see `SentenceChunker`.

    Raises:
        ValueError: a parameter is out of range.
    """

    def __init__(
        self,
        window: int = 3,
        max_tokens: int = 512,
        tokenizer: Any = None,
        *,
        language: str | None = None,
        newline_is_boundary: bool = False,
        splitter: Splitter | None = None,
    ) -> None:
        super().__init__(max_tokens, 0, 0, tokenizer)
        self.window = whole_number("window", window, 0)
        self.language, self.newline_is_boundary, self.splitter = sentence_rules(language, newline_is_boundary, splitter)

    def _chunk(self, texts: _core.Texts) -> Chunks:
        spans, offsets = byte_spans(texts, self.splitter, self.language, self.newline_is_boundary)
        chunks = self._cut(texts, spans, offsets)
        document = chunks.document
        rows = np.arange(len(chunks))
        first = np.maximum(rows - self.window, np.searchsorted(document, document))
        last = np.minimum(rows + self.window, np.searchsorted(document, document, side="right") - 1)
        start, end = chunks.start[first], chunks.end[last]
        window = SpanTexts(texts, document, start, end, chunks.byte_start[first], chunks.byte_end[last])
        return chunks.replace(window_start=start, window_end=end, window=window)
