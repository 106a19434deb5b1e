"""Chunks, retrieved contexts and answers for ragas (github.com/explodinggradients/ragas), which judges them by a language model.

`samples` needs nothing but this package; `dataset` and `evaluate` need ragas (``pip install rapidchunk[ragas]``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rapidchunk.chunks import Chunks
from rapidchunk.evaluate.spans import as_spans

__all__ = ["METRICS", "dataset", "evaluate", "samples"]

#: What `evaluate` computes, and the class of ragas that does.
METRICS = {
    "context_precision": "LLMContextPrecisionWithReference",
    "context_recall": "LLMContextRecall",
    "faithfulness": "Faithfulness",
}
_NEEDS = {"context_precision": "references", "context_recall": "references", "faithfulness": "responses"}


def samples(
    chunks: Chunks,
    questions: Sequence[str],
    retrieved: Sequence[Any] | np.ndarray,
    *,
    responses: Sequence[str] | None = None,
    references: Sequence[str] | None = None,
    reference_spans: Sequence[ArrayLike] | None = None,
    documents: ArrayLike | None = None,
) -> list[dict[str, Any]]:
    """A dict for each question with the names of ragas's `SingleTurnSample`: user_input, retrieved_contexts,
    retrieved_context_ids (see `Chunks.chunk_ids`), and, as far as they are given, response, reference, reference_contexts.

    Args:
        chunks: all chunks that could be retrieved.
        questions: what was asked.
        retrieved: for each question the rows of `chunks` that were retrieved, best first. Their contexts (text with heading
            path, see `Chunk.context`) are handed on.
        responses: for each question what the pipeline under test answered.
        references: for each question the right answer, in words.
        reference_spans, documents: for each question the spans (characters) of its document that answer it, and the
            document's number; see `span_scores`.

    Raises:
        ValueError: lengths differ, a row or document is out of range, or spans come without documents.
    """
    given: dict[str, Any] = {"retrieved": retrieved, "responses": responses, "references": references}
    given |= {"reference_spans": reference_spans, "documents": documents}
    for name, values in given.items():
        if values is not None and len(values) != len(questions):
            raise ValueError(f"{name} has {len(values)} entries for {len(questions)} questions")
    if (reference_spans is None) != (documents is None):
        raise ValueError("reference_spans and documents must be given together")
    contexts, ids = chunks.contexts(), chunks.chunk_ids()
    found = []
    for number, question in enumerate(questions):
        rows = np.asarray(retrieved[number], np.int64).reshape(-1).tolist()
        if rows and not 0 <= min(rows) <= max(rows) < len(chunks):
            raise ValueError(f"retrieved: question {number} has a row outside the {len(chunks)} chunks")
        sample: dict[str, Any] = {
            "user_input": question,
            "retrieved_contexts": [contexts[row] for row in rows],
            "retrieved_context_ids": [ids[row] for row in rows],
        }
        if responses is not None:
            sample["response"] = responses[number]
        if references is not None:
            sample["reference"] = references[number]
        if reference_spans is not None and documents is not None:
            document = int(np.asarray(documents)[number])
            if not 0 <= document < chunks.documents:
                raise ValueError(f"documents: question {number} is about document {document} of {chunks.documents}")
            text = chunks.document_text(document)
            spans = as_spans(reference_spans[number], f"reference_spans of question {number}")
            sample["reference_contexts"] = [text[start:end] for start, end in spans.tolist()]
        found.append(sample)
    return found


def dataset(rows: Sequence[dict[str, Any]]) -> Any:
    """The dicts of `samples` as a `ragas.EvaluationDataset`.

    Raises:
        ImportError: ragas is not installed.
    """
    return _ragas().EvaluationDataset.from_list(list(rows))


def evaluate(
    rows: Sequence[dict[str, Any]], llm: Any, metrics: Sequence[str] | None = None, **options: Any
) -> dict[str, NDArray[np.float64]]:
    """Context precision, context recall and faithfulness, computed by ragas with a language model of yours.

    Args:
        rows: see `samples`; with references for context precision and recall, with responses for faithfulness.
        llm: what ragas takes: a LangChain chat model (``ChatOpenAI(base_url=...)``) or an LLM of `ragas.llms`.
        metrics: names of `METRICS`; default all for which the rows have what they need.
        options: of `ragas.evaluate` (run_config, batch_size, show_progress, raise_exceptions, ...).

    Returns:
        float64 [questions] by name, NaN where ragas got no usable answer.

    Raises:
        ImportError: ragas is not installed.
        ValueError: no rows, an unknown metric, or a row without what a metric needs.
    """
    rows = list(rows)
    if not rows:
        raise ValueError("rows must not be empty")
    fields = {"references": "reference", "responses": "response"}
    if metrics is None:
        metrics = [name for name in METRICS if all(fields[_NEEDS[name]] in row for row in rows)]
    for name in metrics:
        if name not in METRICS:
            raise ValueError(f"metrics: {name!r} is not one of {', '.join(METRICS)}")
        for number, row in enumerate(rows):
            if fields[_NEEDS[name]] not in row:
                raise ValueError(f"{name} needs {_NEEDS[name]}; row {number} has no {fields[_NEEDS[name]]}")
    if not metrics:
        raise ValueError("rows have neither references nor responses")
    ragas = _ragas()
    import ragas.metrics as theirs

    chosen = {name: getattr(theirs, METRICS[name])() for name in metrics}
    result = ragas.evaluate(dataset(rows), metrics=list(chosen.values()), llm=llm, **options)
    return {
        name: np.array([scores[metric.name] for scores in result.scores], np.float64) for name, metric in chosen.items()
    }


def _ragas() -> Any:
    try:
        import ragas
    except ImportError as error:
        raise ImportError("this needs ragas: pip install rapidchunk[ragas]") from error
    return ragas
