"""Propositions: passages rewritten by a language model as self-contained statements (Chen et al., Dense X Retrieval, 2023)."""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rapidchunk import _core
from rapidchunk._services import Retries, Service, ServiceError, awaited, concurrently, seconds
from rapidchunk.chunkers.base import Chunker, _Batch, check_within, whole_number
from rapidchunk.chunkers.sentence import SentenceChunker
from rapidchunk.chunks import COLUMNS, Chunks
from rapidchunk.sentences import byte_spans

__all__ = ["PROMPT", "PropositionChunker"]

PROMPT = """Rewrite the passage as a list of statements, each of which can be understood without the others.
- Split compound sentences; one fact a statement. Use the passage's language and, where possible, its words.
- Replace pronouns ("it", "she", "this") by what they stand for.
- Leave nothing out and add nothing.
Answer with a JSON array of strings and nothing else.

Passage:
{passage}"""

#: Counts in `Chunks.report`, there even if 0.
COUNTS = (
    "passages", "requests", "retries", "cached", "failed_requests", "unreadable_replies", "fallback_passages",
    "uncovered_sentences", "prompt_tokens", "completion_tokens",
)  # fmt: skip


class PropositionChunker(Chunker):
    """One chunk a statement that a language model makes of a passage.

    A chunk's text is the sentence (of the passage) that shares most words with the statement, or the whole passage where none
    shares any, so spans stay those of the document. Columns of the result:
        context: str, the statement: what is embedded (`Chunks.contexts`). None where a sentence stands for itself.
        proposition: the same, with the sentence's text where there is no statement.
        passage_start, passage_end: int64, code points, the passage that was sent.

    Nothing is lost silently: where requests fail to the end, or a reply cannot be read, is empty or has a statement of more
    than `max_tokens`, the passage's sentences are the chunks. `Chunks.report` counts passages, requests, retries, replies from
    the cache, failed requests, replies that could not be read, passages that fell back, sentences that no statement is nearest
    to (`uncovered_sentences`: look at these), and the tokens that the service says it used.

    Args:
        llm: a callable, prompt (str) to reply (str), sync or async (all replies are awaited in one event loop); None: the
            service at `base_url`.
        max_tokens, tokenizer: see `Chunker`; for passages, sentences and statements.
        base_url, model, api_key: of a service with OpenAI's ``/chat/completions``. `api_key` is by default the environment's
            ``OPENAI_API_KEY``, if set; it is sent to `base_url` and is in no repr, pickle or cache.
        options: further entries of the request, such as ``{"temperature": 0}``.
        within: the chunker that makes the passages, with max_tokens at most this one's. Default: sentences.
        prompt: with ``{passage}`` where the passage goes. Default: `PROMPT`.
        concurrency: requests at a time.
        retries: further tries after a time-out, a lost connection, a reply cut short, or status 408, 409, 425, 429 and 5xx
            (of a callable: TimeoutError, ConnectionError, or an exception with such a `status_code`).
        backoff: seconds before the first retry, doubled for each one after it (and varied by up to a quarter); a
            service's Retry-After is waited for instead. At most a minute.
        timeout: seconds without an answer of the service.
        cache: a folder for replies that could be read, by a hash of model, options and prompt; made if missing.

    Raises:
        ValueError: a parameter is out of range; or, while chunking, the callable gives something else than a str.
        RuntimeError: while chunking: the service refuses the request (another 4xx status).
        Exception: whatever else the callable raises.
    """

    def __init__(
        self,
        llm: Callable[[str], str] | Callable[[str], Awaitable[str]] | None = None,
        max_tokens: int = 512,
        tokenizer: Any = None,
        *,
        base_url: str | None = None,
        model: str | None = None,
        api_key: str | None = None,
        options: Mapping[str, Any] | None = None,
        within: Chunker | None = None,
        prompt: str = PROMPT,
        concurrency: int = 8,
        retries: int = 4,
        backoff: float = 0.5,
        timeout: float = 60.0,
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(max_tokens, 0, 0, tokenizer)
        if (llm is None) == (base_url is None):
            raise ValueError("llm or base_url must be given, and not both")
        if llm is not None and not callable(llm):
            raise ValueError(f"llm must be callable, not {llm!r}")
        if base_url is not None and not model:
            raise ValueError("model must be given with base_url")
        if not isinstance(prompt, str) or "{passage}" not in prompt:
            raise ValueError("prompt must be a str that has {passage} in it")
        check_within(within, self)
        limits: dict[str, Any] = {"retries": whole_number("retries", retries, 0), "backoff": backoff}
        timeout = seconds("timeout", timeout, zero=False)
        self._service = None if base_url is None else Service(base_url, api_key, timeout=timeout, **limits)
        self._retries = Retries(**limits)
        self.llm = llm
        self.base_url = None if self._service is None else self._service.base_url
        self.model = model
        self.options = dict(options or {})
        self.within = within
        self.prompt = prompt
        self._concurrency = whole_number("concurrency", concurrency, 1)
        self._cache = None if cache is None else Path(cache)
        self._passages = within or SentenceChunker(self.max_tokens, tokenizer=self.tokenizer)

    def _is_document(self, text: Any) -> bool:
        return self._passages._is_document(text)

    def _check_document(self, text: Any, number: int) -> None:
        self._passages._check_document(text, number)

    def _plan(self, batch: _Batch) -> tuple[list[str] | _core.Texts, Callable[[int, int], Chunks]]:
        source, chunk = self._passages._plan(batch)
        return source, lambda begin, end: self._rewrite(chunk(begin, end))

    def _chunk(self, texts: _core.Texts) -> Chunks:
        return self._rewrite(self._passages._chunk(texts))

    def _rewrite(self, passages: Chunks) -> Chunks:
        sentences = self._sentences(passages)
        counts: Counter[str] = Counter(dict.fromkeys(COUNTS, 0))
        counts["passages"] = len(passages)
        found = self._statements(passages.texts(), counts)
        contexts: list[str | None] = []
        sentence_texts = sentences.texts()
        bounds = np.searchsorted(sentences.document, np.arange(len(passages) + 1)).tolist()
        chosen: list[tuple[int, int]] = []  # passage and sentence, -1 for the whole passage
        for passage, statements in enumerate(found):
            low, high = bounds[passage], bounds[passage + 1]
            if not statements:
                counts["fallback_passages"] += 1
                picked: list[tuple[int, str | None]] = [(row, None) for row in range(low, high)]
            else:
                nearest = _nearest(statements, sentence_texts[low:high])
                counts["uncovered_sentences"] += high - low - len({at for at in nearest if at >= 0})
                picked = [(low + at if at >= 0 else -1, said) for at, said in zip(nearest, statements)]
                picked.sort(key=lambda pair: pair[0])
            for row, said in picked:
                chosen.append((passage, row))
                contexts.append(said)
        of, row_of = np.array(chosen, np.int64).reshape(-1, 2).T
        whole, at = row_of < 0, np.maximum(row_of, 0)

        def column(name: str) -> Any:
            own = getattr(passages, name)[of]
            if name == "tokens":
                return np.where(whole, own, sentences.tokens[at]) if len(of) else own
            start = getattr(passages, name.replace("end", "start"))[of]
            return np.where(whole, own, start + getattr(sentences, name)[at]) if len(of) else own

        table = {"document": passages.document[of], **{name: column(name) for name in COLUMNS[1:]}}
        chunks = Chunks(passages._source, table, report={**passages.report, **counts})
        said_or_text = [text if said is None else said for text, said in zip(chunks.texts(), contexts)]
        further = {name: column for name, column in passages.extra.items() if name != "context"}
        extra: dict[str, Any] = {
            name: column[of] if isinstance(column, np.ndarray) else [column[row] for row in of.tolist()]
            for name, column in further.items()
        }
        return chunks.replace(
            **extra, passage_start=passages.start[of], passage_end=passages.end[of],
            proposition=said_or_text, context=contexts,
        )  # fmt: skip

    def _sentences(self, passages: Chunks) -> Chunks:
        """The sentences of every passage, as chunks of the passages."""
        texts = _core.Texts(passages.texts())
        spans, offsets = byte_spans(texts, None, None, False)
        return self._cut(texts, spans, offsets)

    def _statements(self, passages: list[str], counts: Counter[str]) -> list[list[str]]:
        """What the model makes of every passage; an empty list where there is nothing to use."""
        if not passages:
            return []
        run = _Run(self, counts)
        found: list[list[str]] = [[] for _ in passages]
        for at, statements in concurrently(run.statements, passages, self._concurrency):
            found[at] = statements
        every = [said for statements in found for said in statements]
        sizes = iter(self.tokenizer.count(every).tolist() if every else [])
        for i, statements in enumerate(found):
            if max((next(sizes) for _ in statements), default=0) > self.max_tokens:
                counts["unreadable_replies"] += 1
                found[i] = []
        return found


class _Run:
    """The requests of one batch: what the worker threads share."""

    def __init__(self, chunker: PropositionChunker, counts: Counter[str]) -> None:
        self._of = chunker
        self._counts = counts
        self._lock = threading.Lock()

    def statements(self, passage: str) -> list[str]:
        prompt = self._of.prompt.replace("{passage}", passage)
        file = self._file(prompt)
        if file is not None:
            kept = _kept(file)
            if kept:
                self._count("cached")
                return kept
        try:
            reply = self._ask(prompt)
        except ServiceError:
            self._count("failed_requests")
            return []
        found = read_reply(reply)
        if not found:
            self._count("unreadable_replies")
        elif file is not None:
            _keep(file, found)
        return found

    def _ask(self, prompt: str) -> str:
        of = self._of
        if of._service is not None:
            return of._service.chat(str(of.model), prompt, of.options, self._count)
        llm = of.llm
        assert llm is not None
        reply = of._retries.call(lambda: awaited(llm(prompt)), self._count)
        if not isinstance(reply, str):
            raise ValueError(f"llm must give a str, not {type(reply).__name__}")
        return reply

    def _count(self, name: str, by: int = 1) -> None:
        with self._lock:
            self._counts[name] += by

    def _file(self, prompt: str) -> Path | None:
        of = self._of
        if of._cache is None:
            return None
        llm = "" if of.llm is None else re.sub(r" at 0x[0-9a-fA-F]+", "", repr(of.llm))
        key = json.dumps([of.base_url, of.model, of.options, llm, prompt], sort_keys=True, default=repr)
        return of._cache / f"{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}.json"


def read_reply(reply: str) -> list[str]:
    """The statements in a model's reply: a JSON array of strings (or of objects with one string each, or an object that holds
    such an array), with or without prose and code fences around it; or one statement a line, with or without bullets. Empty if
    it is none of these, or JSON that is not valid: part of a list is not taken for all of it."""
    reply = re.sub(r"<think>.*?</think>", "", reply, flags=re.DOTALL).strip()
    decoder = json.JSONDecoder(strict=False)
    opened = [match.start() for match in re.finditer(r"[\[{]", reply)][:64]
    for at in opened:
        try:
            value, _ = decoder.raw_decode(reply, at)
        except (ValueError, RecursionError):
            continue
        found = _strings(value)
        # The list must begin on its own: what is inside of a list that is broken is part of it.
        if found and not re.search(r"[\[{,:]\s*$", reply[:at].replace("\n", " ") if opened[0] < at else ""):
            return found
    if re.search(r"(?m)^\s*(?:```|[\[{])|\[\s*\"", reply):
        return []
    lines = [line.strip() for line in reply.splitlines() if line.strip()]
    bullets = [re.sub(r"^(?:[-*•–]|\(?\d{1,3}[.):])\s+", "", line) for line in lines]
    marked = [bullet for bullet, line in zip(bullets, lines) if bullet != line]
    return [line for line in marked or lines if not line.endswith(":")]


def _strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        lists = [entry for entry in value.values() if isinstance(entry, list)]
        return _strings(lists[0]) if len(lists) == 1 else []
    if not isinstance(value, list):
        return []
    found = []
    for entry in value:
        if isinstance(entry, dict):
            texts = [text for text in entry.values() if isinstance(text, str)]
            entry = texts[0] if len(texts) == 1 else None
        if not isinstance(entry, str):
            return []
        if entry.strip():
            found.append(entry.strip())
    return found


def _nearest(statements: list[str], sentences: list[str]) -> list[int]:
    """For every statement the sentence that shares most words with it (of the sentence's and its own), -1 if none does."""
    words = [_words(sentence) for sentence in sentences]
    found = []
    for statement in statements:
        own = _words(statement)
        best, best_score = -1, 0.0
        for at, other in enumerate(words):
            shared = len(own & other)
            if shared and shared * shared / (len(own) * len(other)) > best_score:
                best, best_score = at, shared * shared / (len(own) * len(other))
        found.append(best)
    return found


def _words(text: str) -> set[str]:
    return set(re.findall(r"[぀-ヿ㐀-鿿]|[^\W぀-ヿ㐀-鿿]+", text.lower()))


def _kept(file: Path) -> list[str]:
    """What the cache has; empty if it has nothing that can be read."""
    try:
        return _strings(json.loads(file.read_text("utf-8")))
    except (OSError, ValueError):
        return []


def _keep(file: Path, statements: list[str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
    part.write_text(json.dumps(statements), "utf-8")
    os.replace(part, file)
