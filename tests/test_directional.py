from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidchunk.kernels import cpu, reference
from rapidchunk.kernels.reference.directional import plain_log
from test_boundaries import check_promises, sizes


def topics(r, lengths, width, noise=1.0, dtype=np.float32):
    """Sentences that scatter around one random direction a topic."""
    rows = [r.standard_normal(width) + noise * r.standard_normal((n, width)) for n in lengths]
    return np.concatenate([np.zeros((0, width)), *rows]).astype(dtype)


def floating_cuts(x, tokens, prior, least, most):
    """The method as it was measured: float64 throughout, library logarithm, no quantisation. Starts of chunks."""
    n = len(x)
    if n < 2:
        return [0]

    def unit(v):
        return v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-9)

    x = unit(x.astype(np.float64))
    windows = [slice(max(0, i - 256), i + 257) if n > 257 else slice(0, n) for i in range(n)]
    y = unit(x - np.stack([x[w].mean(0) for w in windows]))
    s2 = min(max(((y[1:] - y[:-1]) ** 2).sum(1).mean() / 2, 0.3), 0.95)
    m = math.sqrt(1 - s2)
    kappa = 0.9 * 2 * m / (1 - m * m)
    w = np.maximum((np.maximum(tokens, 1) / tokens.mean()) ** 0.25, 0.05)
    z = y * (w / w.mean())[:, None]
    total = np.concatenate([[0], np.cumsum(tokens)])
    sums = np.concatenate([np.zeros((1, x.shape[1])), np.cumsum(z, 0)])
    bonus = np.array([0, 0.25, 0.5, 0.75])[prior]
    length = 7.0
    for _ in range(4):
        beta = 0.25 * min(max(length, 2), 20) / 7
        best, origin = [0.0], [0]
        for j in range(1, n + 1):
            options = []
            for i in range(j - 1, max(-1, j - 401), -1):
                size = total[j] - total[i]
                if size > most and i < j - 1:
                    break
                q = math.sqrt(1 + kappa**2 * ((sums[j] - sums[i]) ** 2).sum())
                reward = (q - math.log(1 + q) - 1 + math.log(2)) / kappa
                short = 1000 * max(0, least - size) / least if least else 0
                options.append((best[i] - reward + beta - (bonus[i] if i else 0) + short, i))
            value, i = min(options)
            best.append(value)
            origin.append(i)
        starts, j = [], n
        while j:
            j = origin[j]
            starts.append(j)
        length = length / 2 + n / len(starts) / 2
    return starts[::-1]


def test_topics_are_found(backend):
    r = np.random.default_rng(0)
    lengths = [6, 9, 4, 11, 8]
    vectors = topics(r, lengths, 384)
    first, last = sizes(np.full(len(vectors), 20))
    offsets = np.array([0, len(vectors)], np.int64)
    cut = backend.directional_cuts(vectors, first, last, np.zeros(len(vectors), np.uint8), offsets, 20, 400)
    assert (np.flatnonzero(cut) + 1).tolist() == np.cumsum(lengths).tolist()


def test_breaks_attract_cuts(backend):
    """Without topics, a heading decides."""
    vectors = np.random.default_rng(1).standard_normal((20, 64)).astype(np.float32)
    first, last = sizes(np.full(20, 20))
    prior = np.zeros(20, np.uint8)
    prior[7] = 3
    cut = backend.directional_cuts(vectors, first, last, prior, np.array([0, 20], np.int64), 20, 400)
    assert cut[6] == 1


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    documents=st.lists(st.lists(st.integers(1, 12), max_size=4), max_size=4),
    width=st.sampled_from([1, 64, 100, 384]),
    dtype=st.sampled_from([np.float32, np.float16]),
    limits=st.sampled_from([(0, 5), (1, 60), (32, 250), (100, 130), (0, 2**31 - 1)]),
    threads=st.sampled_from([None, 1, 3]),
)
def test_equal_to_the_reference(seed, documents, width, dtype, limits, threads):
    r = np.random.default_rng(seed)
    parts = [topics(r, lengths, width, r.choice([0, 0.5, 3]), dtype) for lengths in documents]
    vectors = np.concatenate([np.zeros((0, width), dtype), *parts])
    vectors[r.random(len(vectors)) < 0.05] = 0
    offsets = np.concatenate([[0], np.cumsum([len(p) for p in parts])]).astype(np.int64)
    first, last = sizes(r.integers(r.integers(0, 5), 60, len(vectors)))
    prior = r.choice(4, len(vectors), p=[0.7, 0.1, 0.1, 0.1]).astype(np.uint8)
    case = (vectors, first, last, prior, offsets, *limits)
    ours = cpu.directional_cuts(*case, threads=threads)
    np.testing.assert_array_equal(ours, reference.directional_cuts(*case))
    check_promises(ours, first, last, offsets, 0, limits[1])


@pytest.mark.parametrize("n", [257, 258, 259, 600, 900])
def test_long_documents_equal_the_reference(n):
    r = np.random.default_rng(n)
    vectors = topics(r, [n // 9] * 9 + [n % 9], 96)
    first, last = sizes(r.integers(1, 40, n))
    prior = r.choice(4, n, p=[0.85, 0.05, 0.05, 0.05]).astype(np.uint8)
    for limits in ((32, 250), (0, 2**31 - 1)):
        case = (vectors, first, last, prior, np.array([0, n], np.int64), *limits)
        np.testing.assert_array_equal(cpu.directional_cuts(*case), reference.directional_cuts(*case))


@pytest.mark.parametrize("seed", range(12))
def test_equal_to_the_method_as_it_was_measured(seed):
    r = np.random.default_rng(seed)
    vectors = topics(r, r.integers(2, 14, 12), 128, 2.0)
    if seed == 0:
        vectors = topics(r, [20] * 15, 128, 2.0)
    n = len(vectors)
    tokens = r.integers(4, 50, n)
    prior = r.choice(4, n, p=[0.85, 0.05, 0.05, 0.05]).astype(np.uint8)
    first, last = sizes(tokens)
    cut = cpu.directional_cuts(vectors, first, last, prior, np.array([0, n], np.int64), 32, 250)
    starts = floating_cuts(vectors, tokens, prior, 32, 250)
    assert np.concatenate([[0], np.flatnonzero(cut)[:-1] + 1]).tolist() == starts


def test_no_short_chunk_that_can_be_avoided():
    r = np.random.default_rng(5)
    vectors = r.standard_normal((300, 64)).astype(np.float32)
    first, last = sizes(r.integers(5, 30, 300))
    offsets = np.array([0, 150, 300], np.int64)
    cut = cpu.directional_cuts(vectors, first, last, np.full(300, 3, np.uint8), offsets, 64, 250)
    check_promises(cut, first, last, offsets, 64, 250)


def test_plain_log():
    x = np.concatenate([np.linspace(1, 4, 10001), 10.0 ** np.arange(0, 300, 7), [np.sqrt(2), 1 + 2**-52]])
    np.testing.assert_allclose(plain_log(x), np.log(x), rtol=4e-16, atol=4e-16)


def test_alike_and_zero_vectors(backend):
    offsets = np.array([0, 300], np.int64)
    first, last = sizes(np.full(300, 10))
    for vectors in (np.zeros((300, 70), np.float32), np.full((300, 70), 0.3, np.float32)):
        cut = backend.directional_cuts(vectors, first, last, np.zeros(300, np.uint8), offsets, 32, 250)
        check_promises(cut, first, last, offsets, 32, 250)
        assert cut.sum() == 12  # nothing earns, so as few chunks as the maximum allows


def test_errors_name_the_argument(backend):
    vectors = np.ones((4, 8), np.float32)
    first, last = sizes([5, 5, 5, 5])
    good = {"vectors": vectors, "first": first, "last": last, "prior": np.zeros(4, np.uint8)}
    good |= {"doc_offsets": np.array([0, 4], np.int64), "min_tokens": 1, "max_tokens": 9}
    wrong = vectors.copy()
    wrong[2, 3] = np.nan
    for name, value in [
        ("vectors", wrong),
        ("vectors", vectors.astype(np.float64)),
        ("first", first[:3]),
        ("last", last[:3]),
        ("prior", np.zeros(3, np.uint8)),
        ("prior", np.full(4, 4, np.uint8)),
        ("doc_offsets", np.array([0, 3], np.int64)),
        ("min_tokens", 10),
        ("max_tokens", 0),
        ("threads", 0),
    ]:
        with pytest.raises(ValueError, match=f"^{name} "):
            backend.directional_cuts(**{**good, name: value})
    with pytest.raises(ValueError, match="row 2 "):
        backend.directional_cuts(**{**good, "vectors": wrong})


PROGRAM = """
import hashlib, sys
sys.path.insert(0, "tests")
import numpy as np
from test_boundaries import sizes
from test_directional import topics
from rapidchunk.kernels import cpu
digest = hashlib.sha256()
r = np.random.default_rng(7)
for width in (64, 100, 384):
    for dtype in (np.float32, np.float16):
        x = topics(r, r.integers(1, 20, 60), width, 2.0, dtype)
        first, last = sizes(r.integers(1, 50, len(x)))
        offsets = np.array([0, 100, len(x)], np.int64)
        for threads in (1, 2):
            cut = cpu.directional_cuts(x, first, last, np.zeros(len(x), np.uint8), offsets, 32, 400, threads=threads)
            digest.update(cut.tobytes())
        stream = cpu.DirectionalStream(first, last, np.zeros(len(x), np.uint8), 32, 400)
        for begin in range(0, len(x), 37):
            stream.add(x[begin : begin + 37])
        digest.update(stream.result().tobytes())
print(digest.hexdigest())
"""


def test_same_cuts_at_every_simd_level(at_every_simd_level):
    assert len(set(at_every_simd_level(PROGRAM).values())) == 1


LENGTHS = st.sampled_from([-1, 1, 1.5, 4, 7, 30, 1000])


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    documents=st.lists(st.lists(st.integers(1, 40), max_size=5), max_size=3),
    dtype=st.sampled_from([np.float32, np.float16]),
    limits=st.sampled_from([(0, 5), (32, 250), (0, 2**31 - 1)]),
    length=LENGTHS,
    threads=st.sampled_from([None, 1, 3]),
)
def test_segment_length_equals_the_reference(seed, documents, dtype, limits, length, threads):
    r = np.random.default_rng(seed)
    parts = [topics(r, lengths, 64, r.choice([0, 0.5, 3]), dtype) for lengths in documents]
    vectors = np.concatenate([np.zeros((0, 64), dtype), *parts])
    vectors[r.random(len(vectors)) < 0.05] = 0
    offsets = np.concatenate([[0], np.cumsum([len(p) for p in parts])]).astype(np.int64)
    first, last = sizes(r.integers(0, 60, len(vectors)))
    prior = r.choice(4, len(vectors), p=[0.7, 0.1, 0.1, 0.1]).astype(np.uint8)
    case = (vectors, first, last, prior, offsets, *limits, length)
    ours = cpu.directional_cuts(*case, threads=threads)
    np.testing.assert_array_equal(ours, reference.directional_cuts(*case))
    check_promises(ours, first, last, offsets, 0, limits[1])


@pytest.mark.parametrize("size, noise", [(15, 1.5), (35, 2.5), (35, 4), (20, 0.5), (60, 1)])
def test_automatic_length_equals_the_reference_on_long_topics(size, noise):
    vectors = topics(np.random.default_rng(size), [size] * 6, 96, noise)
    first, last = sizes(np.random.default_rng(1).integers(5, 40, len(vectors)))
    prior = np.zeros(len(vectors), np.uint8)
    case = (vectors, first, last, prior, np.array([0, len(vectors)], np.int64), 0, 2**31 - 1, -1)
    np.testing.assert_array_equal(cpu.directional_cuts(*case), reference.directional_cuts(*case))


def cuts_of(vectors, length, limits=(0, 2**31 - 1)):
    first, last = sizes(np.full(len(vectors), 20))
    offsets = np.array([0, len(vectors)], np.int64)
    return cpu.directional_cuts(vectors, first, last, np.zeros(len(vectors), np.uint8), offsets, *limits, length)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("length", [2, 5, 12, 35, 80])
def test_segment_length_is_met(seed, length):
    r = np.random.default_rng(seed)
    vectors = topics(r, r.integers(3, 40, 20), 64, 2.0)
    found = len(vectors) / cuts_of(vectors, length).sum()
    assert length / 1.5 < found < length * 1.5


def test_longer_segments_never_have_more_cuts_and_limits_hold():
    vectors = topics(np.random.default_rng(3), [25] * 8, 64, 2.0)
    for limits in ((0, 2**31 - 1), (60, 300)):
        counts = [int(cuts_of(vectors, length, limits).sum()) for length in (1, 2, 4, 8, 16, 32, 64, 10**6)]
        assert counts == sorted(counts, reverse=True)
    assert counts[-1] == -(-len(vectors) * 20 // 300)  # no more than the maximum asks for
    assert cuts_of(vectors, 1).sum() == len(vectors) and cuts_of(vectors, 10**6).sum() == 1


@pytest.mark.parametrize("weight", [0.7, 1.0, 1.5])
def test_automatic_length_finds_chapters_where_the_default_finds_their_parts(weight):
    r = np.random.default_rng(5)
    chapters, parts = (np.repeat(r.standard_normal((240 // n, 384)), n, 0) for n in (40, 5))
    vectors = (weight * chapters + parts + r.standard_normal((240, 384))).astype(np.float32)
    assert cuts_of(vectors, 0).sum() > 20
    assert (np.flatnonzero(cuts_of(vectors, -1)) + 1).tolist() == [40, 80, 120, 160, 200, 240]
    short = vectors[:79]
    np.testing.assert_array_equal(cuts_of(short, -1), cuts_of(short, 0))


@pytest.mark.parametrize("length", [0.5, -2, float("nan"), float("inf")])
def test_a_wrong_segment_length_is_named(backend, length):
    vectors = np.ones((3, 4), np.float32)
    first, last = sizes(np.full(3, 5))
    with pytest.raises(ValueError, match=r"^segment_length "):
        backend.directional_cuts(vectors, first, last, np.zeros(3, np.uint8), np.array([0, 3], np.int64), 0, 9, length)
