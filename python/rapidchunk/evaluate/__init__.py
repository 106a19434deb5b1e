"""How good chunks are: at retrieval in characters (`spans`) and in ranks (`ranking`), as a segmentation (`segmentation`), in
sizes (`sizes`), and how sure one can be of it (`bootstrap`); many ways of chunking compared on one's own documents and
questions (`questions`, `synthesis`, `tuning`, `report`). `ragas` hands them to the library of that name.

Measures give one value for each question or document, so that an interval can be put around their mean."""

from rapidchunk.evaluate.bootstrap import Interval, mean_interval, paired_difference
from rapidchunk.evaluate.questions import Problem, Question, locate, read_questions
from rapidchunk.evaluate.ranking import (
    average_precision,
    hit_rate,
    ndcg,
    precision,
    rank_scores,
    recall,
    reciprocal_rank,
    top_rows,
)
from rapidchunk.evaluate.segmentation import BoundaryScores, boundaries, boundary_scores, default_window, pk, windowdiff
from rapidchunk.evaluate.sizes import SizeReport, size_report
from rapidchunk.evaluate.spans import SpanScores, overlap, relevant_chunks, span_scores, union
from rapidchunk.evaluate.synthesis import Synthesis, synthesize
from rapidchunk.evaluate.tuning import Candidate, Sweep, Trial, expand_grid, sweep

__all__ = [
    "BoundaryScores",
    "Candidate",
    "Interval",
    "Problem",
    "Question",
    "SizeReport",
    "SpanScores",
    "Sweep",
    "Synthesis",
    "Trial",
    "average_precision",
    "boundaries",
    "boundary_scores",
    "default_window",
    "expand_grid",
    "hit_rate",
    "locate",
    "mean_interval",
    "ndcg",
    "overlap",
    "paired_difference",
    "pk",
    "precision",
    "rank_scores",
    "read_questions",
    "recall",
    "reciprocal_rank",
    "relevant_chunks",
    "size_report",
    "span_scores",
    "sweep",
    "synthesize",
    "top_rows",
    "union",
    "windowdiff",
]
