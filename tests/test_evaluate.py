"""Measures against definitions written out plainly, trec_eval, nltk, and cases worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidchunk import SentenceChunker, TokenChunker, evaluate

span = st.tuples(st.integers(0, 40), st.integers(1, 12)).map(lambda pair: (pair[0], pair[0] + pair[1]))
spans = st.lists(span, min_size=1, max_size=5)


def characters(given):
    return {position for start, end in given for position in range(start, end)}


def length(given):
    return sum(end - start for start, end in given)


# --- spans


@given(st.lists(span, max_size=8), st.lists(span, max_size=8))
def test_union_and_overlap_are_those_of_sets_of_characters(one, other):
    joined = evaluate.union(one)
    assert characters(joined.tolist()) == characters(one)
    assert (joined[1:, 0] > joined[:-1, 1]).all()
    assert evaluate.overlap(one, other) == len(characters(one) & characters(other))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), span), min_size=3, max_size=12), spans, st.data())
def test_span_scores_follow_the_definitions(chunks, references, data):
    documents = [document for document, _ in chunks]
    asked = data.draw(st.sampled_from(documents))
    hits = data.draw(st.lists(st.integers(0, len(chunks) - 1), max_size=5, unique=True))
    columns = (documents, [s for _, (s, _) in chunks], [e for _, (_, e) in chunks])
    got = evaluate.span_scores(columns, [hits], [references], [asked])

    retrieved = [chunks[hit][1] for hit in hits]
    wanted = characters(references)
    found = len(characters([chunks[hit][1] for hit in hits if chunks[hit][0] == asked]) & wanted)
    near = [
        (s, e) for document, (s, e) in chunks if document == asked and any(s <= b and a <= e for a, b in references)
    ]
    best = len(characters(near) & wanted)
    assert got.recall[0] == pytest.approx(found / length(references))
    assert got.precision[0] == pytest.approx(found / length(retrieved) if hits else 0)
    assert got.precision_omega[0] == pytest.approx(best / len(characters(near) | wanted))
    assert got.iou[0] == pytest.approx(found / (length(retrieved) + len(wanted) - found))


def test_span_scores_of_chunks():
    text = "One two three. Four five six. Seven eight nine. Ten eleven twelve."
    chunks = SentenceChunker(max_tokens=6)([text, text])
    assert len(chunks) == 8
    reference = [(text.index("Seven"), text.index("Seven") + len("Seven eight nine."))]
    scores = evaluate.span_scores(chunks, [[6], [2], [5, 6]], [reference] * 3, [1, 1, 1])
    assert scores.recall.tolist() == [1, 0, 1]
    assert scores.precision_omega.tolist() == [1, 1, 1]
    assert scores.iou[0] > scores.iou[2] > scores.iou[1] == 0
    assert [rows.tolist() for rows in evaluate.relevant_chunks(chunks, [reference], [1])] == [[6]]
    assert [rows.tolist() for rows in evaluate.relevant_chunks(chunks, [[(0, 20)]], [0])] == [[0, 1]]
    assert [rows.tolist() for rows in evaluate.relevant_chunks(chunks, [[(0, 20)]], [0], whole=True)] == [[]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0]], [[(0, 5)]], [0, 1]), "documents has 2 entries for 1 questions"),
        (([[0], [0]], [[(0, 5)]], [0]), "retrieved has 2 entries for 1 questions"),
        (([[1]], [[(0, 5)]], [0]), "retrieved: question 0 has a row outside the 1 chunks"),
        (([[-1]], [[(0, 5)]], [0]), "retrieved: question 0 has a row outside"),
        (([[0]], [[]], [0]), "references: question 0 has none"),
        (([[0]], [[(5, 4)]], [0]), "references of question 0: span 0"),
        (([[0]], [[(0, 5)]], [7]), "documents: question 0 is about document 7, which has no chunk"),
        (([[0]], [[(0.5, 5)]], [0]), "references of question 0 must be pairs"),
    ],
)
def test_wrong_spans_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        evaluate.span_scores(([0], [0], [10]), *arguments)


# --- ranking


def test_ranking_by_hand():
    retrieved, relevant = [["a", "b", "c", "d"], ["x", "y"], []], [{"b", "d", "e"}, {"z"}, ["a"]]
    assert evaluate.recall(retrieved, relevant, 2).tolist() == [1 / 3, 0, 0]
    assert evaluate.precision(retrieved, relevant, 4).tolist() == [0.5, 0, 0]
    assert evaluate.hit_rate(retrieved, relevant, 1).tolist() == [0, 0, 0]
    assert evaluate.reciprocal_rank(retrieved, relevant).tolist() == [0.5, 0, 0]
    assert evaluate.average_precision(retrieved, relevant)[0] == pytest.approx((1 / 2 + 2 / 4) / 3)
    graded = evaluate.ndcg([["a", "b"]], [{"a": 1, "b": 3}], 2)
    assert graded[0] == pytest.approx((1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)))
    assert evaluate.recall([["a"]], [{}], 1).tolist() == [0]


ranked = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)
graded = st.dictionaries(st.sampled_from("abcdefghij"), st.integers(0, 3), min_size=1, max_size=6)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(ranked, graded), min_size=1, max_size=4))
def test_ranking_is_that_of_trec_eval(questions):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    ks = (1, 3, 5, 10)
    got = evaluate.rank_scores([found for found, _ in questions], [wanted for _, wanted in questions], ks)
    cuts = ",".join(map(str, ks))
    names = {f"{name}.{cuts}" for name in ("recall", "P", "success", "ndcg_cut")} | {"recip_rank", "map"}
    oracle = pytrec_eval.RelevanceEvaluator({str(i): wanted for i, (_, wanted) in enumerate(questions)}, names)
    run = {str(i): {one: -float(rank) for rank, one in enumerate(found)} for i, (found, _) in enumerate(questions)}
    expected = oracle.evaluate(run)
    ours = {"recall": "recall", "precision": "P", "hit_rate": "success", "ndcg": "ndcg_cut"}
    for i in range(len(questions)):
        if str(i) not in expected:  # pytrec_eval leaves out questions without a hit list
            continue
        for k in ks:
            for name, theirs in ours.items():
                assert got[f"{name}@{k}"][i] == pytest.approx(expected[str(i)][f"{theirs}_{k}"]), (name, k)
        assert got["mrr"][i] == pytest.approx(expected[str(i)]["recip_rank"])
        assert got["map"][i] == pytest.approx(expected[str(i)]["map"])


@given(st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=1, max_size=4), st.integers(1, 7))
def test_top_rows_take_the_earlier_of_equals(scores, k):
    got = evaluate.top_rows(np.array(scores, np.float32), k)
    assert got.tolist() == [sorted(range(5), key=lambda row: (-line[row], row))[:k] for line in scores]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evaluate.recall([["a"]], [], 1), "retrieved has 1 entries, relevant 0"),
        (lambda: evaluate.recall([["a"]], [{"a"}], 0), "k must be"),
        (lambda: evaluate.ndcg([["a", "a"]], [{"a"}]), "retrieved: question 0 has an id twice"),
        (lambda: evaluate.ndcg([["a"]], [{"a": -1}]), "relevant: question 0 has a gain"),
        (lambda: evaluate.top_rows(np.zeros(3), 1), "scores must be"),
        (lambda: evaluate.top_rows(np.full((1, 2), np.nan), 1), "scores must not be NaN"),
    ],
)
def test_wrong_rankings_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# --- segmentation

bits = st.integers(1, 30).flatmap(lambda n: st.tuples(*[st.lists(st.booleans(), min_size=n, max_size=n)] * 2))


@settings(deadline=None)
@given(bits, st.integers(1, 12))
def test_pk_and_windowdiff_are_those_of_nltk(pair, k):
    metrics = pytest.importorskip("nltk.metrics.segmentation")
    reference, hypothesis = pair
    k = min(k, len(reference))
    strings = ["".join("01"[bit] for bit in row) for row in pair]
    assert evaluate.pk(reference, hypothesis, k) == pytest.approx(metrics.pk(*strings, k))
    assert evaluate.windowdiff(reference, hypothesis, k) == pytest.approx(metrics.windowdiff(*strings, k))


def best_pairs(wanted, found, tolerance):
    """The most pairs, by trying all choices for the first."""
    if not wanted:
        return 0
    first, *rest = wanted
    others = [one for one in found if abs(one - first) <= tolerance]
    choices = [1 + best_pairs(rest, [x for x in found if x != one], tolerance) for one in others]
    return max([best_pairs(rest, found, tolerance), *choices])


@settings(deadline=None)
@given(
    st.lists(st.booleans(), min_size=9, max_size=9), st.lists(st.booleans(), min_size=9, max_size=9), st.integers(0, 3)
)
def test_boundary_f1_pairs_as_many_as_possible(reference, hypothesis, tolerance):
    wanted, found = np.flatnonzero(reference).tolist(), np.flatnonzero(hypothesis).tolist()
    got = evaluate.boundary_scores(reference, hypothesis, tolerance)
    pairs = best_pairs(wanted, found, tolerance)
    assert got.recall == pytest.approx(pairs / len(wanted) if wanted else float(not found))
    assert got.precision == pytest.approx(pairs / len(found) if found else float(not wanted))
    assert got.f1 == pytest.approx(2 * pairs / (len(wanted) + len(found)) if wanted or found else 1)


def test_segmentation_by_hand():
    reference = evaluate.boundaries([0, 4, 8], 12)
    assert reference.nonzero()[0].tolist() == [3, 7]
    assert evaluate.default_window(reference) == 2
    assert evaluate.pk(reference, reference) == evaluate.windowdiff(reference, reference) == 0
    assert evaluate.pk(reference, evaluate.boundaries([], 12)) == pytest.approx(4 / 10)
    assert evaluate.pk([], []) == 0
    for call, message in (
        (lambda: evaluate.pk([1, 0], [1]), "hypothesis has 1 places for a boundary, reference 2"),
        (lambda: evaluate.pk([1, 2], [1, 0]), "reference must be truth values"),
        (lambda: evaluate.pk([1, 0], [1, 0], 3), "k must be from 1 to 2"),
        (lambda: evaluate.boundary_scores([1], [1], -1), "tolerance must be"),
        (lambda: evaluate.boundaries([5], 5), "starts must be"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


# --- sizes


def test_sizes():
    text = "word " * 100
    plain = TokenChunker(10, overlap=0, tokenizer="words")([text, text])
    report = evaluate.size_report(plain, minimum=11, maximum=11)
    assert (report.chunks, report.tokens, report.mean, report.std) == (20, 200, 10, 0)
    assert report.below_minimum == 1 and report.above_maximum == 0 and report.duplication == 0
    doubled = TokenChunker(10, overlap=5, tokenizer="words")([text])
    held = sum(len(chunk.text) for chunk in doubled)
    once = len({position for chunk in doubled for position in range(chunk.start, chunk.end)})
    assert evaluate.size_report(doubled).duplication == pytest.approx(held / once - 1)
    assert held > 1.5 * once
    assert "20 chunks, tokens 10-10" in str(report)
    assert evaluate.size_report(plain[:0]).chunks == 0
    with pytest.raises(ValueError, match="minimum must be"):
        evaluate.size_report(plain, 5, 4)


# --- bootstrap


def test_intervals_hold_the_truth_as_often_as_they_say():
    random = np.random.default_rng(5)
    inside = 0
    for seed in range(200):
        found = evaluate.mean_interval(random.normal(3, 2, 60), confidence=0.8, samples=400, seed=seed)
        inside += found.low <= 3 <= found.high
    assert 140 <= inside <= 176  # 160 expected, 5.7 the standard deviation


def test_groups_are_drawn_together():
    # Ten questions on each of 30 documents, alike within a document: only 30 independent values.
    effect = np.random.default_rng(0).normal(size=30)
    values, groups = np.repeat(effect, 10), np.repeat(np.arange(30), 10)
    alone, together = evaluate.mean_interval(values), evaluate.mean_interval(values, groups=groups)
    assert together.mean == pytest.approx(values.mean())
    assert (together.high - together.low) / (alone.high - alone.low) == pytest.approx(math.sqrt(10), rel=0.1)
    assert together == evaluate.mean_interval(values, groups=[f"d{g:02}" for g in groups])


def test_pairs_find_what_single_intervals_hide():
    random = np.random.default_rng(1)
    base = random.normal(size=300)
    better = base + 0.1 + 0.2 * random.normal(size=300)
    difference = evaluate.paired_difference(better, base, seed=3)
    assert difference.clear and difference.low < 0.1 < difference.high
    assert evaluate.mean_interval(better).low < evaluate.mean_interval(base).high
    assert not evaluate.paired_difference(base, base[::-1]).clear
    assert f"{difference:.2f}".count("[") == 1
    assert difference == evaluate.paired_difference(better, base, seed=3)
    assert difference != evaluate.paired_difference(better, base, seed=4)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([],), {}, "values must be"),
        (([1, np.nan],), {}, "values must be finite, value 1"),
        (([1],), {"confidence": 1}, "confidence must be"),
        (([1],), {"samples": 0}, "samples must be"),
        (([1, 2],), {"groups": [1]}, "groups has shape"),
    ],
)
def test_wrong_values_are_named(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        evaluate.mean_interval(*arguments, **options)
    with pytest.raises(ValueError, match="a has shape"):
        evaluate.paired_difference([1, 2], [1])
