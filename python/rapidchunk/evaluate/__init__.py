"""How good chunks are: at retrieval in characters (`spans`) and in ranks (`ranking`), as a segmentation (`segmentation`), in
sizes (`sizes`), and how sure one can be of it (`bootstrap`). `ragas` hands them to the library of that name.

Measures give one value for each question or document, so that an interval can be put around their mean."""

from rapidchunk.evaluate.bootstrap import Interval, mean_interval, paired_difference
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

__all__ = [
    "BoundaryScores",
    "Interval",
    "SizeReport",
    "SpanScores",
    "average_precision",
    "boundaries",
    "boundary_scores",
    "default_window",
    "hit_rate",
    "mean_interval",
    "ndcg",
    "overlap",
    "paired_difference",
    "pk",
    "precision",
    "rank_scores",
    "recall",
    "reciprocal_rank",
    "relevant_chunks",
    "size_report",
    "span_scores",
    "top_rows",
    "union",
    "windowdiff",
]
