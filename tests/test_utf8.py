"""Byte and code point positions: native equals reference, on every kind of text."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidchunk import _core
from rapidchunk.kernels import cpu, reference
from strategies import TEXTS


@settings(max_examples=200, deadline=None)
@given(st.lists(TEXTS, max_size=4), st.randoms(use_true_random=False))
def test_offsets_equal_reference_and_invert(texts, random):
    document, spans, offsets = [], [], [0]
    for number, text in enumerate(texts):
        at = sorted(random.choices(range(len(text) + 1), k=2 * random.randrange(5)))
        spans += list(zip(at[::2], at[1::2]))
        document += [number] * len(at)
        offsets.append(len(spans))
    spans = np.array(spans, np.int64).reshape(-1, 2)
    offsets, document = np.array(offsets, np.int64), np.array(document, np.int64)
    batch = _core.Texts(texts)
    found = cpu.byte_offsets(batch, offsets, spans)
    assert np.array_equal(found, reference.byte_offsets(texts, offsets, spans))
    back = cpu.code_point_offsets(batch, document, found.reshape(-1))
    assert np.array_equal(back, reference.code_point_offsets(texts, document, found.reshape(-1)))
    assert np.array_equal(back, spans.reshape(-1))


@pytest.mark.parametrize("size", [0, 1, 7, 8, 31, 32, 33, 63, 64, 65, 255, 2016, 4095, 4096, 4097, 100_000])
@pytest.mark.parametrize("character", ["a", "é", "文", "🙂", "\ud800"])
def test_long_runs(size, character):
    text = character * size + "a"
    batch = _core.Texts([text])
    width = len(character.encode("utf-8", "surrogatepass"))
    positions = np.array([0, size // 2 * width, size * width, size * width + 1], np.int64)
    want = [0, size // 2, size, size + 1]
    assert cpu.code_point_offsets(batch, np.zeros(4, np.int64), positions).tolist() == want
    assert batch.bytes == size * width + 1
    if character != "\ud800":
        assert batch.utf8(0) == text.encode()


@pytest.mark.parametrize("characters", ["aé\xff", "aé文\ud800", "aé文🙂\udfff"])
def test_large_strings_are_converted_in_pieces(characters):
    """Strings of all widths, cut into pieces and documents; lone surrogates become as many bytes of U+FFFD."""
    random = Random(1)
    text = "".join(random.choices(characters, k=1_300_000))
    want = "".join("\ufffd" if "\ud800" <= c < "\ue000" else c for c in text).encode()
    texts = [text, "é" + text[:70], "plain", "", text[:5000]]
    batch = _core.Texts(texts)
    assert batch.utf8(0) == want
    assert batch.utf8(2) == b"plain" and batch.utf8(3) == b""
    assert batch.sizes().tolist() == [len(t.encode("utf-8", "surrogatepass")) for t in texts]
    with ThreadPoolExecutor(4) as pool:  # the first view of a batch converts it, whoever asks
        for shared in [_core.Texts(texts[1:]) for _ in range(20)]:
            assert len({tuple(sizes) for sizes in pool.map(lambda _: shared.sizes().tolist(), range(4))}) == 1  # noqa: B023


def test_bad_arguments_are_named():
    batch = _core.Texts(["text"])
    zero = np.zeros(2, np.int64)
    with pytest.raises(ValueError, match="positions"):
        cpu.code_point_offsets(batch, zero, np.array([3, 1]))
    with pytest.raises(ValueError, match="document"):
        cpu.code_point_offsets(batch, np.array([0, 1]), zero)
    with pytest.raises(ValueError, match="spans"):
        cpu.byte_offsets(batch, np.array([0, 1]), np.array([[3, 1]]))
    with pytest.raises(ValueError, match="offsets"):
        cpu.byte_offsets(batch, np.array([0, 2]), np.array([[1, 3]]))
