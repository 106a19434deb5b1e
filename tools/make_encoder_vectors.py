"""Makes the test data of encoders with the official implementations.

Run with torch, transformers, sentence-transformers and onnxscript installed:
    python tools/make_encoder_vectors.py minilm FOLDER_OF_ALL_MINILM_L6_V2
    python tools/make_encoder_vectors.py families
    python tools/make_encoder_vectors.py modernbert
minilm_vectors.npz holds sentences and the vectors that sentence-transformers gives them; tiny_encoders.npz, for a tiny model of
each family with weights drawn from a seed, the token vectors that transformers computes; tiny_modernbert, a tiny ModernBERT as
torch exports it to ONNX, and the vectors that transformers computes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from sentence_transformers import SentenceTransformer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from tiny_encoders import FAMILIES, IDS, LENGTHS, WORDS, config_of, weights_of

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
SENTENCES = [
    "Hello.",
    "The cat sat on the mat.",
    "A plane is taking off from the runway in heavy rain.",
    "PostgreSQL keeps several versions of a row, so readers never wait for writers.",
    "SELECT count(*) FROM orders WHERE total > 100.50;",
    "In the beginning God created the heaven and the earth.",
    "I can't believe it's already 5 o'clock; we should've left at 4:30 p.m.!",
    "e = mc², ½ cup, 10⁻³ m — naïve café déjà vu",
    "https://example.org/a/b?c=d&e=f#g and user@example.org",
    "Der Zug nach Köln fährt um 9 Uhr von Gleis 3 ab.",
    "Le conseil municipal a voté le budget hier soir.",
    "El perro corre detrás de la pelota en el parque.",
    "Москва — столица России.",
    "東京は日本の首都です。",
    "我们明天去北京开会。",
    "서울은 대한민국의 수도이다.",
    "القاهرة هي عاصمة مصر.",
    "ऋषि ने किताब पढ़ी।",
    "🙂 emoji 👩‍👩‍👧 and ZWJ",
    "one",
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    " ".join(f"Item {n} of the list weighs {n * 7 % 13} kilograms." for n in range(18)),
    "\tTabs\tand\nnew lines\r\n  and   spaces ",
]


def tiny(family: str) -> np.ndarray:
    config = config_of(family)
    model = transformers.AutoModel.from_config(transformers.AutoConfig.for_model(**config), attn_implementation="eager")
    weights = {name: torch.tensor(value) for name, value in weights_of(family).items()}
    missing, unexpected = model.load_state_dict(weights, strict=False)
    missing = [name for name in missing if "pooler" not in name and "position_ids" not in name]
    assert not missing and not unexpected, (family, missing, unexpected)
    mask = np.arange(IDS.shape[1]) < LENGTHS[:, None]
    pad = config["pad_token_id"]
    ids = torch.tensor(np.where(mask, IDS, pad).astype(np.int64))
    with torch.no_grad():
        hidden = model.eval()(input_ids=ids, attention_mask=torch.tensor(mask.astype(np.int64))).last_hidden_state
    return hidden.numpy()


def modernbert(folder: Path) -> None:
    import onnx

    torch.manual_seed(1)
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 3, "num_attention_heads": 2}
    ids = {"pad_token_id": 0, "cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}
    further = {"max_position_embeddings": 160, "local_attention": 16, "reference_compile": False}
    config = transformers.AutoConfig.for_model("modernbert", vocab_size=WORDS, **sizes, **ids, **further)
    model = transformers.AutoModel.from_config(config, attn_implementation="eager").eval()
    for value in model.parameters():
        value.data = value.data.normal_(0, 0.3) if value.dim() > 1 else value.data + 0.1 * torch.randn_like(value)

    class Hidden(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            return self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    sizes = {0: torch.export.Dim("batch", max=512), 1: torch.export.Dim("length", min=2, max=160)}
    sample = torch.randint(4, WORDS, (2, 20))
    folder.mkdir(exist_ok=True)
    torch.onnx.export(
        Hidden(), (sample, torch.ones_like(sample)), folder / "model.onnx", dynamo=True, external_data=False,
        input_names=["input_ids", "attention_mask"], output_names=["last_hidden_state"],
        dynamic_shapes={"input_ids": sizes, "attention_mask": sizes},
    )  # fmt: skip
    graph = onnx.load(folder / "model.onnx")
    for part in (
        graph,
        graph.graph,
        *graph.graph.node,
        *graph.graph.value_info,
        *graph.graph.input,
        *graph.graph.output,
    ):
        part.ClearField("metadata_props")  # the exporter's stack traces
    graph.graph.ClearField("value_info")
    onnx.save(graph, folder / "model.onnx")
    (folder / "config.json").write_text(config.to_json_string())
    rows = [torch.tensor([[2, *row[:length], 3]]) for row, length in zip(IDS.tolist(), LENGTHS.tolist())]
    with torch.no_grad():
        means = [model(input_ids=row).last_hidden_state[0].mean(0) for row in rows]
    vectors = torch.nn.functional.normalize(torch.stack(means)).numpy()
    np.savez(folder / "vectors.npz", vectors=vectors, made_with=VERSIONS)


VERSIONS = f"torch {torch.__version__}, transformers {transformers.__version__}"


def main() -> None:
    torch.manual_seed(0)
    what = sys.argv[1]
    if what == "minilm":
        vectors = SentenceTransformer(sys.argv[2], device="cpu").encode(SENTENCES, normalize_embeddings=True)
        np.savez_compressed(DATA / "minilm_vectors.npz", sentences=SENTENCES, vectors=vectors, made_with=VERSIONS)
    elif what == "families":
        np.savez_compressed(DATA / "tiny_encoders.npz", made_with=VERSIONS, **{name: tiny(name) for name in FAMILIES})
    else:
        modernbert(DATA / "tiny_modernbert")


if __name__ == "__main__":
    main()
