"""Vectors from a table: the kernel against its reference, the embedded table, tables of others."""

from __future__ import annotations

import hashlib
import json
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest
import rapidchunk as rc
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidchunk import _core
from rapidchunk._wordpiece import default_wordpiece
from rapidchunk.encoders import StaticEncoder, as_encoder
from rapidchunk.kernels import cpu, reference
from rapidchunk.tokenizers import WordPieceTokenizer, as_tokenizer
from test_pooling import WIDTHS, random_vectors, same_bits

TEXTS = [
    "The harbour was quiet, and two boats lay at the pier.",
    "  ",
    "",
    "naïve café — 中文 and 😀!",
    "word " * 900,
    "\x00\ud800",
    "a",
]


def random_case(seed, rows, width, dtype):
    r = np.random.default_rng(seed)
    table = r.integers(-128, 128, (rows, width)).astype(np.int8) if dtype == np.int8 else None
    table = random_vectors(seed, rows, width, dtype) if table is None else table
    scale = (r.standard_normal(rows) * 10.0 ** r.integers(-3, 4, rows)).astype(np.float32)
    texts = int(r.integers(0, 150))
    offsets = np.concatenate([[0], np.cumsum(r.integers(0, 12, texts))]).astype(np.int64)
    return table, scale, r.integers(0, rows, offsets[-1]).astype(np.int32), offsets


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    width=st.sampled_from(WIDTHS),
    dtype=st.sampled_from([np.int8, np.float16, np.float32]),
    scaled=st.booleans(),
    skip=st.sampled_from([-1, 3]),
    normalize=st.booleans(),
    threads=st.sampled_from([None, 1, 3]),
)
def test_equal_to_the_reference_bit_for_bit(seed, width, dtype, scaled, skip, normalize, threads):
    table, scale, ids, offsets = random_case(seed, 20, width, dtype)
    arguments = (table, scale if scaled else None, ids, offsets, skip, normalize)
    same_bits(cpu.gather_mean(*arguments, threads=threads), reference.gather_mean(*arguments))


def test_a_mean_by_hand(backend):
    table = np.array([[1, 0], [0, 2], [100, 100]], np.int8)
    scale = np.array([3, 2, 1], np.float32)
    ids, offsets = np.array([0, 1, 2, 2], np.int32), np.array([0, 3, 4, 4], np.int64)
    mean = backend.gather_mean(table, scale, ids, offsets, 2, False)
    np.testing.assert_array_equal(mean, np.array([[1.5, 2], [0, 0], [0, 0]], np.float32))
    np.testing.assert_allclose(backend.gather_mean(table, scale, ids, offsets, 2)[0], [0.6, 0.8], rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ids": np.array([0, 3], np.int32)}, "ids must be below the 3 rows of the table; id 1 is not"),
        ({"ids": np.array([-1, 0], np.int32)}, "id 0 is not"),
        ({"scale": np.ones(2, np.float32)}, "scale must have as many entries"),
        ({"offsets": np.array([0, 3], np.int64)}, "offsets"),
        ({"table": np.ones((3, 4), np.float64)}, "table must have dtype"),
        ({"scale": np.array([1, np.nan, 1], np.float32)}, "the mean of text 0 is not"),
        ({"threads": 0}, "threads"),
    ],
)
def test_bad_arguments_are_named(backend, change, said):
    given = {"table": np.ones((3, 4), np.int8), "scale": None, "ids": np.array([0, 1], np.int32)}
    given |= {"offsets": np.array([0, 2], np.int64), **change}
    with pytest.raises(ValueError, match=said):
        backend.gather_mean(**given)


@settings(deadline=None, max_examples=40)
@given(texts=st.lists(st.text(max_size=80), max_size=6), seed=st.integers(0, 2**32 - 1))
def test_pieces_of_texts_have_the_vectors_of_the_pieces_alone(texts, seed):
    r = np.random.default_rng(seed)
    table = r.integers(-128, 128, (30522, 70)).astype(np.int8)
    document, spans, pieces = [], [], []
    for number, text in enumerate(texts):
        for _ in range(3):
            a, b = sorted(r.integers(0, len(text) + 1, 2).tolist())
            document.append(number)
            spans.append(
                [len(text[:a].encode("utf-8", "surrogatepass")), len(text[:b].encode("utf-8", "surrogatepass"))]
            )
            pieces.append(text[a:b].encode("utf-8", "surrogatepass").decode("utf-8", "replace"))
    wordpiece = default_wordpiece()
    found = _core.static_vectors(
        _core.Texts(texts),
        np.array(document, np.int64),
        np.array(spans, np.int64).reshape(-1, 2),
        wordpiece,
        table,
        None,
    )
    ids, _, _, _, offsets = wordpiece.encode([piece.encode() for piece in pieces], 1)
    if not any("\ud800" <= c <= "\udfff" for text in texts for c in text):
        same_bits(found, reference.gather_mean(table, None, ids, offsets))


SPACES = " \n\t\r\x0b\x1c\x85\xa0\u2028\u3000\u200b\u0301"
DOCUMENTS = st.lists(st.text(st.sampled_from("ab.é中\U00016ff0" + SPACES), max_size=30), min_size=1, max_size=4)


@settings(deadline=None, max_examples=150)
@given(DOCUMENTS)
def test_sentences_have_the_same_vectors_inside_their_documents(texts):
    encoder = StaticEncoder()
    batch = _core.Texts(texts)
    spans, offsets = _core.sentence_spans(batch, None, False)
    document = np.repeat(np.arange(len(texts)), np.diff(offsets))
    data = [text.encode() for text in texts]
    alone = [data[number][start:end].decode() for number, (start, end) in zip(document.tolist(), spans.tolist())]
    tokens = as_tokenizer("bert").measure(batch, 1, ids=True)
    same_bits(encoder.encode_spans(batch, document, spans), encoder.encode(alone))
    same_bits(encoder.encode_spans(batch, document, spans, tokens), encoder.encode(alone))


@settings(deadline=None, max_examples=150)
@given(DOCUMENTS, st.integers(0, 2**32 - 1))
def test_ids_of_the_documents_serve_spans_of_any_kind(texts, seed):
    r = np.random.default_rng(seed)
    document = np.sort(r.integers(0, len(texts), 12))
    cuts = [sorted(r.integers(0, len(texts[number]) + 1, 2).tolist()) for number in document]
    alone = [texts[number][start:end] for number, (start, end) in zip(document, cuts)]
    sizes = [[len(texts[number][:at].encode()) for at in pair] for number, pair in zip(document, cuts)]
    encoder, batch = StaticEncoder(), _core.Texts(texts)
    tokens = as_tokenizer("bert").measure(batch, 1, ids=True)
    same_bits(encoder.encode_spans(batch, document, np.array(sizes, np.int64), tokens), encoder.encode(alone))


@pytest.mark.parametrize("threads", [1, 2])
def test_ids_of_a_long_document(threads):
    r = np.random.default_rng(8)
    words = ["the", "naïve", "harbour.", "embeddings", "中文", "e\u0301\u0301", "x" * 150, "a\u200bb", "\n\n", "!?"]
    text = " ".join(words[i] for i in r.integers(0, len(words), 120_000))  # tokenised in several pieces
    batch, encoder = _core.Texts(["", text, "one more"]), StaticEncoder()
    spans, offsets = _core.sentence_spans(batch, None, False)
    document = np.repeat(np.arange(3), np.diff(offsets))
    tokens = as_tokenizer("bert").measure(batch, threads, ids=True)
    found = encoder.encode_spans(batch, document, spans, tokens)
    same_bits(found, encoder.encode_spans(batch, document, spans))
    assert len(found) > 10_000
    with pytest.raises(ValueError, match="tokens must have an index for each text"):
        encoder.encode_spans(_core.Texts([text]), np.zeros(1, np.int64), spans[:1], tokens)


def test_spans_outside_their_texts_are_refused():
    texts, table = _core.Texts(["abc"]), np.ones((30522, 4), np.int8)
    for document, span in ((0, [0, 4]), (0, [2, 1]), (1, [0, 1]), (-1, [0, 1])):
        with pytest.raises(ValueError, match=r"spans must be inside|document must be"):
            _core.static_vectors(
                texts, np.array([document], np.int64), np.array([span], np.int64), default_wordpiece(), table, None
            )
    with pytest.raises(ValueError, match="table must have a row for each token"):
        _core.static_vectors(
            texts, np.zeros(1, np.int64), np.zeros((1, 2), np.int64), default_wordpiece(), table[:100], None
        )


# ---- the embedded table


def test_the_embedded_table_is_the_one_that_was_made():
    path = Path(rc.__file__).parent / "data" / "static.safetensors"
    assert hashlib.sha256(path.read_bytes()).hexdigest() == SHA256
    assert path.stat().st_size < 8_000_000


SHA256 = "ddd71297ceb034182f3d9198042f9e3a1a88383181a6ebaac9047c232d333311"


def test_vectors_of_texts_of_every_kind():
    encoder = StaticEncoder()
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), 256) == (len(TEXTS), encoder.dimension) and vectors.dtype == np.float32
    lengths = np.linalg.norm(vectors, axis=1)
    assert lengths[[0, 3, 4, 6]] == pytest.approx(1, abs=1e-6) and (lengths[[1, 2]] == 0).all()
    # Neither the batch nor the order matters, to the bit; nor where in a document the piece is.
    for row, text in enumerate(TEXTS):
        same_bits(encoder.encode([text])[0:1], vectors[row : row + 1])
    whole = "  ".join(TEXTS[:4])
    start = len("  ".join(TEXTS[:3]).encode()) + 2
    span = np.array([[start, len(whole.encode())]], np.int64)
    same_bits(encoder.encode_spans(_core.Texts([whole]), np.zeros(1, np.int64), span), vectors[3:4])
    assert encoder.encode([]).shape == (0, 256)
    calls = []
    encoder.encode(TEXTS, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(len(TEXTS), len(TEXTS))]
    with pytest.raises(TypeError, match="texts must be a sequence of str"):
        encoder.encode("one")


def test_it_tells_what_belongs_together():
    encoder = StaticEncoder()
    pairs = [
        ("The doctor prescribed a new drug for the patient.", "A physician gave the sick man medicine."),
        ("The central bank raised interest rates again.", "Monetary policy was tightened to fight inflation."),
        ("She scored the winning goal in the final minute.", "The football match was decided just before the end."),
        ("The program crashes when memory runs out.", "Software fails if there is not enough RAM."),
    ]
    left, right = (encoder.encode([pair[side] for pair in pairs]) for side in (0, 1))
    alike = left @ right.T
    assert (alike.argmax(axis=1) == np.arange(len(pairs))).all() and (
        alike.argmax(axis=0) == np.arange(len(pairs))
    ).all()


def test_it_is_the_default_and_needs_nothing_else():
    chunker = rc.SemanticChunker(max_tokens=64)
    assert isinstance(chunker.encoder, StaticEncoder) and repr(chunker.encoder) == "StaticEncoder('static')"
    text = (
        "The mill was built in 1802. It burnt down in 1850. " * 5 + "Cats sleep all day. Kittens play with wool. " * 5
    )
    chunks = chunker(text)
    assert len(chunks) > 1 and all(text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    again = pickle.loads(pickle.dumps(chunker))(text)
    assert again.start.tolist() == chunks.start.tolist()
    # The same vectors as through strings.
    plain = rc.SemanticChunker(as_encoder(lambda texts: StaticEncoder().encode(texts)), max_tokens=64, vectors="mean")(
        text
    )
    spans = rc.SemanticChunker(max_tokens=64, vectors="mean")(text)
    assert plain.start.tolist() == spans.start.tolist()
    np.testing.assert_allclose(plain.vectors, spans.vectors, atol=1e-6)


def test_one_tokenisation_serves_sizes_and_vectors(tmp_path, monkeypatch):
    """Where chunker and encoder have equal tokenizers, from wherever they were read."""
    table = np.random.default_rng(4).standard_normal((7, 8)).astype(np.float32)
    write_safetensors(tmp_path / "model.safetensors", {"embeddings": table})
    (tmp_path / "tokenizer.json").write_text(tokenizer_json())
    (tmp_path / "other.json").write_text(tokenizer_json().replace('"lowercase":true', '"lowercase":false'))
    asked = []
    measure = WordPieceTokenizer.measure

    def spy(self, texts, threads, ids=False):
        asked.append(ids)
        return measure(self, texts, threads, ids)

    monkeypatch.setattr(WordPieceTokenizer, "measure", spy)
    text = "the mill . The cats ! " * 20
    for encoder, tokenizer, shared in [
        ("static", None, True),
        (tmp_path, tmp_path / "tokenizer.json", True),
        (tmp_path, tmp_path / "other.json", False),
        (tmp_path, None, False),
    ]:
        chunker = rc.SemanticChunker(encoder, max_tokens=32, tokenizer=tokenizer, vectors="mean")
        chunks = chunker(text)
        again = pickle.loads(pickle.dumps(chunker))(text)
        assert asked == [shared, shared], tokenizer
        asked.clear()
        strings = as_encoder(StaticEncoder(encoder).encode)
        plain = rc.SemanticChunker(strings, 32, tokenizer=tokenizer, vectors="mean")(text)
        assert chunks.start.tolist() == again.start.tolist() == plain.start.tolist()
        np.testing.assert_allclose(chunks.vectors, plain.vectors, atol=1e-6)
        asked.clear()


def test_options_of_as_encoder():
    assert as_encoder("static", batch_size=5, max_batch_tokens=9).dimension == 256
    raw = as_encoder("static", normalize=False)
    assert np.linalg.norm(raw.encode(TEXTS[:1])) != pytest.approx(1, abs=1e-3)
    with pytest.raises(ValueError, match="max_length is no option of static vectors"):
        as_encoder("static", max_length=100)


# ---- tables of others


def write_safetensors(path: Path, tensors: dict[str, np.ndarray]) -> None:
    names = {"float32": "F32", "float16": "F16", "int8": "I8", "float64": "F64", "int64": "I64"}
    header, data = {}, b""
    for name, tensor in tensors.items():
        place = [len(data), len(data) + tensor.nbytes]
        header[name] = {"dtype": names[str(tensor.dtype)], "shape": list(tensor.shape), "data_offsets": place}
        data += tensor.tobytes()
    head = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + data)


WORDS = ["[PAD]", "[UNK]", "the", "mill", "cat", "##s", "."]


def tokenizer_json(words: bool = False) -> str:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    vocabulary = {word: number for number, word in enumerate(WORDS)}
    if words:
        own = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
        own.pre_tokenizer = pre_tokenizers.Whitespace()
    else:
        own = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
        own.normalizer = normalizers.BertNormalizer()
        own.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return own.to_str()


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.float64])
def test_a_folder_of_model2vec(tmp_path, words, dtype):
    r = np.random.default_rng(5)
    table = (r.standard_normal((5, 12)) * 30).astype(dtype)
    mapping, weights = np.array([0, 1, 2, 3, 4, 4, 2]), r.random(7)
    write_safetensors(tmp_path / "model.safetensors", {"embeddings": table, "mapping": mapping, "weights": weights})
    (tmp_path / "tokenizer.json").write_text(tokenizer_json(words))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True}))
    encoder = as_encoder(tmp_path)
    assert isinstance(encoder, StaticEncoder) and encoder.dimension == 12
    found = encoder.encode(["the unheard mill .", "unheard"])
    ids = [2, 3, 6]  # the unknown word is left out
    mean = (table[mapping[ids]].astype(np.float64) * weights[ids, None]).mean(0)
    np.testing.assert_allclose(found[0], mean / np.linalg.norm(mean), rtol=1e-3)
    assert not found[1].any()
    chunks = rc.SemanticChunker(encoder, max_tokens=16)("the mill . " * 9 + "the cat . " * 9)
    assert len(chunks) > 1


def test_a_static_embedding_of_sentence_transformers(tmp_path):
    table = np.random.default_rng(6).standard_normal((7, 5)).astype(np.float32)
    folder = tmp_path / "0_StaticEmbedding"
    folder.mkdir()
    write_safetensors(folder / "model.safetensors", {"embedding.weight": table})
    (folder / "tokenizer.json").write_text(tokenizer_json())
    found = as_encoder(tmp_path, normalize=False).encode(["the unheard mill", "cats"])
    np.testing.assert_allclose(found, [table[[2, 1, 3]].mean(0), table[[4, 5]].mean(0)], rtol=1e-6)


def test_a_file_with_its_tokenizer_apart(tmp_path):
    table = np.random.default_rng(7).standard_normal((7, 5)).astype(np.float16)
    write_safetensors(tmp_path / "l2.safetensors", {"embedding.weight": table})
    (tmp_path / "own.json").write_text(tokenizer_json(True))
    encoder = as_encoder(str(tmp_path / "l2.safetensors"), tokenizer=str(tmp_path / "own.json"))
    mean = table[[2, 3]].astype(np.float32).mean(0)
    np.testing.assert_allclose(encoder.encode(["the mill"])[0], mean / np.linalg.norm(mean), rtol=1e-3)
    assert repr(pickle.loads(pickle.dumps(encoder))) == repr(encoder)


def test_what_does_not_fit_is_named(tmp_path):
    with pytest.raises(ValueError, match="no safetensors file"):
        StaticEncoder(tmp_path)
    write_safetensors(tmp_path / "model.safetensors", {"embeddings": np.ones((3, 4), np.float32)})
    with pytest.raises(ValueError, match=r"no tokenizer\.json"):
        StaticEncoder(tmp_path)
    (tmp_path / "tokenizer.json").write_text(tokenizer_json())
    with pytest.raises(ValueError, match="the tokenizer has 7 tokens, the table 3 rows"):
        StaticEncoder(tmp_path)
    write_safetensors(tmp_path / "model.safetensors", {"other": np.ones((7, 4), np.float32)})
    with pytest.raises(ValueError, match=r"no tensor is called embeddings or embedding\.weight; it has other"):
        StaticEncoder(tmp_path)
    assert not StaticEncoder.is_static(tmp_path)
    write_safetensors(tmp_path / "model.safetensors", {"embeddings": np.ones((7, 0), np.float32)})
    with pytest.raises(ValueError, match="the table is empty"):
        StaticEncoder(tmp_path)
