from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidchunk.kernels import cpu, reference

ONE = 2**20
LAST = 2**31 - 1
METHODS = {
    "threshold": (-1, 1),
    "percentile": (0, 100),
    "std": (-3, 3),
    "interquartile": (-3, 3),
    "gradient": (0, 100),
    "depth": (-2, 2),
}


def document(similarity):
    """One document with these gaps."""
    return np.array([*similarity, LAST], np.int32), np.array([0, len(similarity) + 1], np.int64)


def sizes(tokens):
    total = np.cumsum(np.array(tokens, np.int64))
    return total - tokens, total


@st.composite
def sentence_cases(draw, most=40):
    """The arguments of greedy_cuts: ragged, with ties, empty sentences and sentences beyond the maximum."""
    r = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    offsets = np.concatenate([[0], np.cumsum(draw(st.lists(st.integers(0, most), max_size=5)))]).astype(np.int64)
    n = int(offsets[-1])
    grain = draw(st.sampled_from([1, 2**17, 2**19, 2**22]))
    similarity = np.clip(r.integers(-ONE, ONE + 1, n) // grain * grain, -ONE, ONE).astype(np.int32)
    similarity[offsets[1:][np.diff(offsets) > 0] - 1] = LAST
    tokens = r.integers(draw(st.sampled_from([0, 1, 8])), draw(st.sampled_from([9, 30, 100])), n)
    tokens[r.random(n) < 0.05] *= 10
    first, last = sizes(tokens)
    shared = r.random(n) < draw(st.sampled_from([0, 0.5]))  # a token that begins in the sentence before
    first = np.maximum.accumulate(np.maximum(first - shared, 0))
    candidates = (r.random(n) < draw(st.sampled_from([0, 0.1, 0.5, 1]))).astype(np.uint8)
    most_tokens = draw(st.integers(1, 200))
    least = draw(st.one_of(st.integers(0, most_tokens), st.just(most_tokens // 2)))
    return similarity, candidates, first, last, offsets, least, most_tokens


def chunks(cut, first, last, offsets):
    """Per document the chunks as (first sentence, last sentence, tokens)."""
    result = []
    for begin, stop in pairwise(offsets):
        ends = begin + np.flatnonzero(cut[begin:stop])
        starts = np.r_[begin, ends[:-1] + 1] if len(ends) else ends
        result.append([(int(a), int(b), int(last[b] - first[a])) for a, b in zip(starts, ends)])
    return result


def check_promises(cut, first, last, offsets, least, most):
    assert cut.dtype == np.uint8 and set(cut.tolist()) <= {0, 1}
    for (begin, stop), parts in zip(pairwise(offsets), chunks(cut, first, last, offsets)):
        assert begin == stop or parts[-1][1] == stop - 1
        for a, b, tokens in parts:
            assert tokens <= most or a == b
        for (a, _, left), (_, b, right) in pairwise(parts):
            # A short chunk that could be joined to a neighbour would have been.
            if left < least or right < least:
                assert last[b] - first[a] > most


# ---- candidates ---------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(sentence_cases(), st.sampled_from(sorted(METHODS)), st.floats(0, 1), st.sampled_from([None, 1, 3]))
def test_candidates_equal_the_reference(case, method, share, threads):
    similarity, *_, offsets, _, _ = case
    low, high = METHODS[method]
    value = low + share * (high - low)
    ours = cpu.boundary_candidates(similarity, offsets, method, value, threads=threads)
    np.testing.assert_array_equal(ours, reference.boundary_candidates(similarity, offsets, method, value))
    assert ours.dtype == np.uint8


@settings(deadline=None)
@given(st.lists(st.integers(-ONE, ONE), min_size=2, max_size=50), st.integers(0, 100))
def test_the_percentile_is_numpys(gaps, value):
    similarity, offsets = document(gaps)
    distance = ONE - np.array(gaps, np.float64)
    level = np.percentile(distance, value)
    ours = cpu.boundary_candidates(similarity, offsets, "percentile", value)[:-1]
    clear = np.abs(distance - level) > 1e-6
    np.testing.assert_array_equal(ours[clear], (distance > level)[clear])
    gradient = np.gradient(distance, range(len(distance)))
    level = np.percentile(gradient, value)
    ours = cpu.boundary_candidates(similarity, offsets, "gradient", value)[:-1]
    clear = np.abs(gradient - level) > 1e-6
    np.testing.assert_array_equal(ours[clear], (gradient > level)[clear])


@settings(deadline=None)
@given(st.lists(st.integers(-ONE, ONE), min_size=2, max_size=50), st.floats(-2, 2))
def test_deviation_and_interquartile_are_langchains(gaps, value):
    similarity, offsets = document(gaps)
    distance = ONE - np.array(gaps, np.float64)
    q1, q3 = np.percentile(distance, [25, 75])
    for method, level in [
        ("std", distance.mean() + value * distance.std()),
        ("interquartile", distance.mean() + value * (q3 - q1)),
    ]:
        ours = cpu.boundary_candidates(similarity, offsets, method, value)[:-1]
        clear = np.abs(distance - level) > 4
        np.testing.assert_array_equal(ours[clear], (distance > level)[clear])


def test_threshold_is_exact(backend):
    similarity, offsets = document([ONE // 2, ONE // 2 - 1, -ONE, ONE])
    assert backend.boundary_candidates(similarity, offsets, "threshold", 0.5).tolist() == [0, 1, 1, 0, 0]
    assert backend.boundary_candidates(similarity, offsets, "threshold", -1).tolist() == [0] * 5
    assert backend.boundary_candidates(similarity, offsets, "threshold", 1).tolist() == [1, 1, 1, 0, 0]


def test_depth_finds_the_valley(backend):
    gaps = [800, 900, 100, 850, 800, 820, 810]
    similarity, offsets = document([g * 1000 for g in gaps])
    assert backend.boundary_candidates(similarity, offsets, "depth", -1).tolist() == [0, 0, 1, 0, 0, 0, 0, 0]


def test_candidates_of_small_and_flat_documents(backend):
    for method in METHODS:
        for gaps in ([], [5], [5, 5, 5]):
            similarity, offsets = document(gaps)
            marks = backend.boundary_candidates(similarity, offsets, method, 0.5)
            # Only an absolute threshold cuts where all gaps are alike.
            assert marks.tolist() == ([1] * len(gaps) if method == "threshold" else [0] * len(gaps)) + [0]
        assert backend.boundary_candidates(np.zeros(0, np.int32), np.zeros(1, np.int64), method, 0.5).shape == (0,)


# ---- cuts ---------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=300)
@given(sentence_cases(), st.sampled_from([None, 1, 3]))
def test_greedy_cuts_equal_the_reference(case, threads):
    ours = cpu.greedy_cuts(*case, threads=threads)
    np.testing.assert_array_equal(ours, reference.greedy_cuts(*case))
    check_promises(ours, *case[2:])


@settings(deadline=None, max_examples=300)
@given(sentence_cases(), st.integers(-ONE, ONE), st.sampled_from([None, 1, 3]))
def test_optimal_cuts_equal_the_reference(case, penalty, threads):
    similarity, _, *rest = case
    ours = cpu.optimal_cuts(similarity, *rest, penalty, threads=threads)
    np.testing.assert_array_equal(ours, reference.optimal_cuts(similarity, *rest, penalty))
    check_promises(ours, *rest)


@settings(deadline=None, max_examples=100)
@given(sentence_cases(most=11), st.integers(-ONE, ONE))
def test_optimal_cuts_are_optimal(case, penalty):
    similarity, _, first, last, offsets, least, most = case
    cut = cpu.optimal_cuts(similarity, first, last, offsets, least, most, penalty)

    def cost(flags, a, b):
        """(missing tokens, sum), or None where a chunk exceeds the maximum."""
        missing = total = 0
        for i, j, tokens in chunks(np.array([*flags, 1]), first[a:b], last[a:b], np.array([0, b - a]))[0]:
            if tokens > most and i < j:
                return None
            missing += max(0, least - tokens)
            total += int(similarity[a + j]) + penalty if j < b - a - 1 else 0
        return missing, total

    for a, b in pairwise(offsets):
        if a < b:
            every = ([k >> i & 1 for i in range(b - a - 1)] for k in range(2 ** (b - a - 1)))
            assert cost(cut[a : b - 1], a, b) == min(c for flags in every if (c := cost(flags, a, b)) is not None)


def test_greedy_steps(backend):
    def cuts(similarity, tokens, least, most, candidates=()):
        s, offsets = document(similarity)
        marks = np.zeros(len(s), np.uint8)
        marks[list(candidates)] = 1
        return np.flatnonzero(backend.greedy_cuts(s, marks, *sizes(tokens), offsets, least, most)).tolist()

    assert cuts([9, 9, 9], [10] * 4, 0, 100, candidates=[1]) == [1, 3]
    assert cuts([9, 9, 9], [10] * 4, 30, 100, candidates=[1]) == [3]  # below the minimum
    assert cuts([9, 5, 9, 7, 9, 9], [10] * 7, 10, 50) == [1, 6]  # forced, at the weakest
    assert cuts([5, 5, 5, 5], [10] * 5, 10, 30) == [2, 4]  # the last of equal ones
    assert cuts([9, 9], [10, 200, 10], 20, 100) == [0, 1, 2]  # a sentence beyond the maximum is alone
    assert cuts([9, 9, 2, 9], [10, 10, 10, 10, 5], 10, 40, candidates=[3]) == [2, 4]  # a short end: cut moved
    assert cuts([9, 9, 9, 9], [10, 10, 10, 10, 5], 10, 45, candidates=[3]) == [4]  # a short end: joined
    assert cuts([], [10], 20, 100) == [0]


def test_optimal_cuts_by_hand(backend):
    similarity, offsets = document([900, 100, 800, 200, 700])
    first, last = sizes([10] * 6)
    cut = backend.optimal_cuts(similarity, first, last, offsets, 10, 30)
    assert np.flatnonzero(cut).tolist() == [1, 3, 5]  # 100 + 200
    assert np.flatnonzero(backend.optimal_cuts(similarity, first, last, offsets, 10, 60)).tolist() == [5]
    assert np.flatnonzero(backend.optimal_cuts(similarity, first, last, offsets, 10, 60, -150)).tolist() == [1, 5]
    assert backend.optimal_cuts(similarity, first, last, offsets, 0, 60, -1000).all()


def test_errors_name_the_argument(backend):
    similarity, offsets = document([5, 5, 5])
    first, last = sizes([3, 3, 3, 3])
    good = {"similarity": similarity, "first": first, "last": last, "doc_offsets": offsets}
    limits = {"min_tokens": 1, "max_tokens": 5}
    marks = {"candidates": np.zeros(4, np.uint8)}

    def refused(name, call, **arguments):
        with pytest.raises(ValueError, match=f"^{name} "):
            call(**arguments)

    for name, value in [
        ("first", first[:-1]),
        ("last", last[:-1]),
        ("first", last + 1),
        ("first", np.array([0, 6, 3, 9])),
        ("last", np.array([9, 6, 9, 12])),
        ("doc_offsets", np.array([0, 3])),
        ("max_tokens", 0),
        ("min_tokens", 6),
        ("min_tokens", -1),
        ("threads", 0),
    ]:
        refused(name, backend.greedy_cuts, **{**good, **limits, **marks, name: value})
        refused(name, backend.optimal_cuts, **{**good, **limits, name: value})
    refused("candidates", backend.greedy_cuts, **good, **limits, candidates=np.zeros(3, np.uint8))
    refused("penalty", backend.optimal_cuts, **good, **limits, penalty=2**31)

    marks = {"similarity": similarity, "doc_offsets": offsets}
    refused("method", backend.boundary_candidates, **marks, method="best", value=0)
    for method, value in [("threshold", 1.1), ("percentile", -1), ("gradient", 101), ("std", 1e9), ("depth", np.nan)]:
        refused("value", backend.boundary_candidates, **marks, method=method, value=value)
    marks["similarity"] = np.full(4, LAST, np.int32)
    refused("similarity", backend.boundary_candidates, **marks, method="std", value=0)


# ---- large and unfriendly input -----------------------------------------------------------------------------------

SHAPES = {
    "rising": lambda n: np.arange(n),
    "falling": lambda n: -np.arange(n),
    "flat": lambda n: np.zeros(n),
    "saw": lambda n: np.arange(n) % 2 * 1000,
    "random": lambda n: np.random.default_rng(0).integers(-ONE, ONE, n),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("most", [50, 10**6, 2**31 - 1])
@pytest.mark.parametrize("empty", [False, True])
def test_large_windows_are_linear(shape, most, empty):
    """1e5 sentences; a loop that looked back over the window would take 5e9 steps."""
    n = 100_000
    similarity = SHAPES[shape](n).astype(np.int32)
    offsets = np.array([0, n], np.int64)
    first, last = sizes(np.zeros(n, np.int64) if empty else np.full(n, 7))
    for method, (low, high) in METHODS.items():
        cpu.boundary_candidates(similarity, offsets, method, (low + high) / 2)
    for candidates in (np.zeros(n, np.uint8), np.ones(n, np.uint8)):
        cut = cpu.greedy_cuts(similarity, candidates, first, last, offsets, 1, most)
        check_promises(cut, first, last, offsets, 1, most)
    for penalty in (0, -(2**31) + 1, 2**31 - 1):
        cut = cpu.optimal_cuts(similarity, first, last, offsets, 1, most, penalty)
        check_promises(cut, first, last, offsets, 1, most)


def test_many_documents_on_any_thread_number():
    r = np.random.default_rng(0)
    n = 50_000
    offsets = np.sort(np.r_[0, n, r.integers(0, n + 1, 3000)]).astype(np.int64)
    similarity = r.integers(-ONE, ONE, n).astype(np.int32)
    first, last = sizes(r.integers(1, 60, n))
    for method, (_, high) in METHODS.items():
        candidates = [cpu.boundary_candidates(similarity, offsets, method, high / 2, threads=t) for t in (1, 2, 5)]
        case = (similarity, candidates[0], first, last, offsets, 32, 250)
        greedy = [cpu.greedy_cuts(*case, threads=t) for t in (1, 2, 5)]
        for results in (candidates, greedy):
            np.testing.assert_array_equal(results[0], results[1])
            np.testing.assert_array_equal(results[0], results[2])
    optimal = [cpu.optimal_cuts(similarity, first, last, offsets, 32, 250, threads=t) for t in (1, 2, 5)]
    np.testing.assert_array_equal(optimal[0], optimal[1])
    np.testing.assert_array_equal(optimal[0], optimal[2])
