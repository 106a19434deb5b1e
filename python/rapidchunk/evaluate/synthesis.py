"""Questions made by a language model from the documents themselves, each with the passage that answers it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rapidchunk.chunkers import RecursiveChunker
from rapidchunk.chunkers.base import whole_number

__all__ = ["PROMPT", "Synthesis", "synthesize"]

PROMPT = """Below is a passage of a document. Write {count} questions that a reader who has not seen the passage might ask and \
that the passage answers.
- Each question is understood on its own: name things, no "it" and no "the passage".
- For each, copy the part of the passage that holds the answer, word for word, one to three sentences.
Answer with a JSON array of objects {{"question": "...", "answer": "..."}} and nothing else.

Passage:
{passage}"""


@dataclass
class Synthesis:
    """What came of it.

    Attributes:
        records: dicts with "question", "document" (its number) and "spans", as `rapidchunk.evaluate.locate` reads them.
        passages: how many passages were sent.
        unreadable: replies that were not what was asked for.
        not_found: questions left out because their answer is not in the passage word for word.
        failed: passages for which the model gave no reply; `error` is the last one's reason.
    """

    records: list[dict[str, Any]] = field(default_factory=list)
    passages: int = 0
    unreadable: int = 0
    not_found: int = 0
    failed: int = 0
    error: str = ""


def synthesize(
    documents: Sequence[str],
    llm: Callable[[str], str],
    count: int = 100,
    *,
    per_passage: int = 2,
    passage_tokens: int = 400,
    concurrency: int = 8,
    seed: int = 0,
    prompt: str = PROMPT,
    progress: Callable[[int, int], object] | None = None,
) -> Synthesis:
    """Asks a language model for questions on passages drawn from the documents, evenly by length.

    Args:
        llm: prompt to reply; called from several threads.
        count: questions wanted. There may be fewer, where replies cannot be used: see the counts of the result.
        per_passage: questions on one passage.
        passage_tokens: the most tokens (BERT's) of a passage.
        concurrency: calls at a time.
        seed: of the draw. The same documents and seed give the same passages.
        prompt: with {count} and {passage}; other braces doubled.
        progress: called with passages done and passages in all.

    Raises:
        ValueError: no text, or a parameter out of range.
        RuntimeError: not a single passage got a reply; the message gives the reason.
    """
    count = whole_number("count", count, 1)
    per_passage = whole_number("per_passage", per_passage, 1)
    passages = RecursiveChunker(whole_number("passage_tokens", passage_tokens, 16), min_tokens=16)(list(documents))
    if not len(passages):
        raise ValueError("documents have no text to ask about")
    wanted = min(-(-count // per_passage), len(passages))
    rows = np.sort(np.random.default_rng(seed).permutation(len(passages))[:wanted])
    chosen = passages[rows]
    texts = chosen.texts()
    result = Synthesis(passages=len(texts))

    def ask(text: str) -> str | Exception:
        try:
            return llm(prompt.format(count=per_passage, passage=text))
        except Exception as error:
            return error

    with ThreadPoolExecutor(whole_number("concurrency", concurrency, 1), "questions") as pool:
        for row, reply in enumerate(pool.map(ask, texts)):
            if isinstance(reply, Exception):
                result.failed += 1
                result.error = f"{type(reply).__name__}: {reply}"
            else:
                _take(result, reply, texts[row], int(chosen.document[row]), int(chosen.start[row]), per_passage)
            if progress is not None:
                progress(row + 1, len(texts))
    if result.failed == len(texts):
        raise RuntimeError(f"the language model answered none of {len(texts)} requests; the last one: {result.error}")
    del result.records[count:]
    return result


def _take(result: Synthesis, reply: str, passage: str, document: int, base: int, most: int) -> None:
    pairs = list(_pairs(reply))[:most]
    if not pairs:
        result.unreadable += 1
    for question, answer in pairs:
        span = _place(answer, passage)
        if span is None:
            result.not_found += 1
        else:
            spans = [[base + span[0], base + span[1]]]
            result.records.append({"question": question, "document": document, "spans": spans})


def _pairs(reply: str) -> Iterator[tuple[str, str]]:
    """Questions and answers in a reply, with or without prose and code fences around the JSON."""
    reply = re.sub(r"<think>.*?</think>", "", reply, flags=re.DOTALL)
    decoder = json.JSONDecoder(strict=False)
    for match in list(re.finditer(r"[\[{]", reply))[:64]:
        try:
            value, _ = decoder.raw_decode(reply, match.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            lists = [entry for entry in value.values() if isinstance(entry, list)]
            value = lists[0] if len(lists) == 1 else [value]
        if not isinstance(value, list):
            continue
        found = [
            (entry["question"].strip(), entry["answer"].strip())
            for entry in value
            if isinstance(entry, dict)
            and all(isinstance(entry.get(key), str) and entry[key].strip() for key in ("question", "answer"))
        ]
        if found:
            yield from found
            return


def _place(answer: str, passage: str) -> tuple[int, int] | None:
    """Where the answer stands, white space aside; None where it does not, or not only once."""
    words = answer.strip().strip('"“”').split()
    found = list(re.finditer(r"\s+".join(map(re.escape, words)), passage)) if words else []
    return found[0].span() if len(found) == 1 else None
