from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidchunk.kernels import cpu, reference

NONE = np.zeros(0, np.int32)


def offsets(sizes):
    return np.concatenate([[0], np.cumsum(np.array(sizes, np.int64))]).astype(np.int64)


@st.composite
def window_cases(draw):
    sizes = draw(st.lists(st.integers(0, 60), max_size=6))
    most = draw(st.integers(1, 30))
    overlap = draw(st.integers(0, most - 1))
    least = draw(st.integers(0, most))
    return offsets(sizes), most, overlap, draw(st.sampled_from(["keep", "drop", "join"])), least


def test_windows_stop_when_the_end_is_reached(backend):
    document, start, end = backend.token_windows(offsets([10, 0, 4]), 4, 2)
    assert document.tolist() == [0, 0, 0, 0, 2]
    assert start.tolist() == [0, 2, 4, 6, 10]
    assert end.tolist() == [4, 6, 8, 10, 14]
    assert (document.dtype, start.dtype, end.dtype) == (np.int32, np.int64, np.int64)


def test_tail_rules(backend):
    def spans(tail):
        _, start, end = backend.token_windows(offsets([11]), 5, 1, tail=tail, min_tokens=4)
        return list(zip(start.tolist(), end.tolist()))

    assert spans("keep") == [(0, 5), (4, 9), (8, 11)]
    assert spans("drop") == [(0, 5), (4, 9)]
    assert spans("join") == [(0, 5), (4, 8), (7, 11)]


def test_the_only_window_of_a_document_is_kept(backend):
    for tail in ("keep", "drop", "join"):
        _, start, end = backend.token_windows(offsets([2]), 5, 1, tail=tail, min_tokens=4)
        assert (start.tolist(), end.tolist()) == ([0], [2])


@given(window_cases())
def test_windows_cover_every_token_and_equal_the_reference(case):
    doc_offsets, most, overlap, tail, least = case
    document, start, end = cpu.token_windows(*case)
    for ours, theirs in zip((document, start, end), reference.token_windows(*case)):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype
    assert ((end - start >= 1) & (end - start <= most)).all()
    for d in range(len(doc_offsets) - 1):
        mine = document == d
        a, b = start[mine], end[mine]
        covered = np.zeros(doc_offsets[-1], bool)
        for i, j in zip(a, b):
            covered[i:j] = True
        size = doc_offsets[d + 1] - doc_offsets[d]
        assert covered.sum() == size or (tail == "drop" and 0 < size - covered.sum() < least)
        assert covered[doc_offsets[d] : doc_offsets[d + 1]].sum() == covered.sum()
        assert (np.diff(b) > 0).all() and (np.diff(a) > 0).all()
        assert (b[:-1] - a[1:] == overlap).all()
        if tail == "join" and len(a) > 1:
            assert b[-1] - a[-1] >= least


def test_gather_and_pack(backend):
    ids = np.arange(100, 110, dtype=np.int32)
    start, end = np.array([0, 7, 3], np.int64), np.array([3, 8, 3], np.int64)
    prefix, suffix = np.array([1], np.int32), np.array([2, 3], np.int32)
    input_ids, mask = backend.gather_windows(ids, start, end, prefix, suffix, pad_id=9)
    assert input_ids.tolist() == [[1, 100, 101, 102, 2, 3], [1, 107, 2, 3, 9, 9], [1, 2, 3, 9, 9, 9]]
    assert mask.tolist() == [[1] * 6, [1] * 4 + [0] * 2, [1] * 3 + [0] * 3]
    assert input_ids.dtype == mask.dtype == np.int64
    assert backend.gather_windows(ids, start, end, prefix, suffix, length=8)[0].shape == (3, 8)
    packed, position, cu_seqlens = backend.pack_windows(ids, start, end, prefix, suffix)
    assert packed.tolist() == [1, 100, 101, 102, 2, 3, 1, 107, 2, 3, 1, 2, 3]
    assert position.tolist() == [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 0, 1, 2]
    assert cu_seqlens.tolist() == [0, 6, 10, 13]
    assert packed.dtype == position.dtype == cu_seqlens.dtype == np.int32


@given(st.data())
def test_gather_and_pack_equal_the_reference(data):
    ids = np.array(data.draw(st.lists(st.integers(0, 99), max_size=30)), np.int32)
    pairs = data.draw(st.lists(st.tuples(st.integers(0, len(ids)), st.integers(0, len(ids))), max_size=8))
    start = np.array([min(p) for p in pairs], np.int64)
    end = np.array([max(p) for p in pairs], np.int64)
    special = st.lists(st.integers(100, 105), max_size=2).map(lambda v: np.array(v, np.int32))
    prefix, suffix, threads = data.draw(special), data.draw(special), data.draw(st.sampled_from([None, 1, 3]))
    for name in ("gather_windows", "pack_windows"):
        ours = getattr(cpu, name)(ids, start, end, prefix, suffix, threads=threads)
        theirs = getattr(reference, name)(ids, start, end, prefix, suffix)
        for x, y in zip(ours, theirs):
            np.testing.assert_array_equal(x, y)
            assert x.dtype == y.dtype and x.shape == y.shape


def test_many_documents_on_any_thread_number():
    sizes = np.random.default_rng(0).integers(0, 700, 20000)
    one = cpu.token_windows(offsets(sizes), 128, 16, "join", 32, threads=1)
    for threads in (2, 7):
        for x, y in zip(one, cpu.token_windows(offsets(sizes), 128, 16, "join", 32, threads=threads)):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"max_tokens": 0}, "max_tokens"),
        ({"overlap": 4}, "overlap"),
        ({"overlap": -1}, "overlap"),
        ({"min_tokens": 5}, "min_tokens"),
        ({"tail": "cut"}, "tail"),
        ({"threads": 0}, "threads"),
        ({"doc_offsets": np.array([0, 5, 3], np.int64)}, "doc_offsets"),
        ({"doc_offsets": np.array([1, 5], np.int64)}, "doc_offsets"),
        ({"doc_offsets": np.zeros(0, np.int64)}, "doc_offsets"),
    ],
)
def test_window_errors_name_the_argument(backend, arguments, name):
    with pytest.raises(ValueError, match=f"^{name} "):
        backend.token_windows(**{"doc_offsets": offsets([10]), "max_tokens": 4, **arguments})


def test_gather_errors_name_the_argument(backend):
    ids = np.arange(5, dtype=np.int32)

    def call(start, end, **more):
        return backend.gather_windows(ids, np.array(start, np.int64), np.array(end, np.int64), NONE, NONE, **more)

    for start, end, more, name in [
        ([-1], [2], {}, "start"),
        ([3], [2], {}, "start"),
        ([0], [6], {}, "end"),
        ([0], [], {}, "end"),
        ([0], [4], {"length": 3}, "length"),
    ]:
        with pytest.raises(ValueError, match=f"^{name} "):
            call(start, end, **more)
    assert call([], [])[0].shape == (0, 0)
