"""Tiny encoders with weights from a seed, one of each family, in the files that real ones come in."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np

FAMILIES = ("bert", "roberta", "distilbert", "mpnet")
HIDDEN, INNER, LAYERS, HEADS, WORDS, PLACES = 32, 48, 2, 4, 200, 160
#: A batch with padding; the ids of a shorter row end at its length. 2 and more: no family's padding.
IDS = np.random.RandomState(7).randint(5, WORDS, (4, 150)).astype(np.int32)
LENGTHS = np.array([150, 60, 9, 1], np.int32)


def config_of(family: str) -> dict:
    common = {"model_type": family, "vocab_size": WORDS, "max_position_embeddings": PLACES}
    if family == "distilbert":
        sizes = {"dim": HIDDEN, "hidden_dim": INNER, "n_layers": LAYERS, "n_heads": HEADS, "activation": "gelu"}
        return common | sizes | {"pad_token_id": 0}
    common |= {"hidden_size": HIDDEN, "intermediate_size": INNER, "num_hidden_layers": LAYERS}
    common |= {"num_attention_heads": HEADS, "hidden_act": "gelu", "layer_norm_eps": 1e-6, "type_vocab_size": 2}
    return common | {"pad_token_id": 0 if family == "bert" else 1}


def weights_of(family: str, seed: int = 3) -> dict[str, np.ndarray]:
    random = np.random.RandomState(seed)

    def draw(*shape: int, scale: float = 0.3) -> np.ndarray:
        return (random.standard_normal(shape) * scale).astype(np.float32)

    weights: dict[str, np.ndarray] = {}

    def linear(name: str, rows: int, columns: int) -> None:
        weights[f"{name}.weight"], weights[f"{name}.bias"] = draw(rows, columns), draw(rows)

    def norm(name: str) -> None:
        weights[f"{name}.weight"], weights[f"{name}.bias"] = 1 + draw(HIDDEN, scale=0.1), draw(HIDDEN, scale=0.1)

    weights["embeddings.word_embeddings.weight"] = draw(WORDS, HIDDEN)
    weights["embeddings.position_embeddings.weight"] = draw(PLACES, HIDDEN)
    if family in ("bert", "roberta"):
        weights["embeddings.token_type_embeddings.weight"] = draw(2, HIDDEN)
    norm("embeddings.LayerNorm")
    if family == "mpnet":
        weights["encoder.relative_attention_bias.weight"] = draw(32, HEADS, scale=1.0)
    for layer in range(LAYERS):
        if family == "distilbert":
            names = "attention.q_lin attention.k_lin attention.v_lin attention.out_lin sa_layer_norm ffn.lin1 ffn.lin2"
            start, *parts = f"transformer.layer.{layer}.", *names.split(), "output_layer_norm"
        elif family == "mpnet":
            names = "attention.attn.q attention.attn.k attention.attn.v attention.attn.o attention.LayerNorm"
            start, *parts = f"encoder.layer.{layer}.", *names.split(), "intermediate.dense", "output.dense"
            parts.append("output.LayerNorm")
        else:
            names = "attention.self.query attention.self.key attention.self.value attention.output.dense"
            start, *parts = f"encoder.layer.{layer}.", *names.split(), "attention.output.LayerNorm"
            parts += ["intermediate.dense", "output.dense", "output.LayerNorm"]
        for name in parts[:4]:
            linear(start + name, HIDDEN, HIDDEN)
        norm(start + parts[4])
        linear(start + parts[5], INNER, HIDDEN)
        linear(start + parts[6], HIDDEN, INNER)
        norm(start + parts[7])
    return weights


def write_safetensors(path: Path, weights: dict[str, np.ndarray]) -> None:
    header, blobs, at = {"__metadata__": {"format": "pt"}}, [], 0
    types = {"float32": "F32", "float16": "F16", "int64": "I64"}
    for name, value in weights.items():
        blob = np.ascontiguousarray(value).tobytes()
        entry = {"dtype": types[value.dtype.name], "shape": list(value.shape), "data_offsets": [at, at + len(blob)]}
        header[name] = entry
        at += len(blob)
        blobs.append(blob)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def tokenizer(specials: bool = True):
    """Words "w0" to "w180" and a few English ones; everything else is unknown."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "the", "short", "text", "query", ":"]
    words += [f"w{n}" for n in range(WORDS - len(words))]
    made = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    if specials:
        made.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    # As real files have it, and as must not matter.
    made.enable_truncation(16)
    made.enable_padding(length=24)
    return made


def write_model(
    folder: Path, family: str = "bert", *, pooling: str | None = None, max_length: int | None = None
) -> Path:
    """A folder as sentence-transformers writes it, with what is asked for."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config_of(family)))
    write_safetensors(folder / "model.safetensors", weights_of(family))
    tokenizer().save(str(folder / "tokenizer.json"))
    if pooling:
        (folder / "1_Pooling").mkdir(exist_ok=True)
        modes = {"mean": "mean_tokens", "cls": "cls_token", "last": "lasttoken", "max": "max_tokens"}
        config = {f"pooling_mode_{mode}": name == pooling for name, mode in modes.items()}
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(config | {"word_embedding_dimension": HIDDEN}))
    if max_length:
        (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": max_length}))
    return folder
