"""Makes tests/data/minilm_vectors.npz and tests/data/tiny_encoders.npz with the official implementations.

Run with torch, transformers and sentence-transformers installed:
    python tools/make_encoder_vectors.py FOLDER_OF_ALL_MINILM_L6_V2
The first holds sentences and the vectors that sentence-transformers gives them. The second holds, for a tiny model of
each family with weights drawn from a seed, the token vectors that transformers computes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from sentence_transformers import SentenceTransformer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from tiny_encoders import FAMILIES, IDS, LENGTHS, config_of, weights_of

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


def main() -> None:
    torch.manual_seed(0)
    model = SentenceTransformer(sys.argv[1], device="cpu")
    vectors = model.encode(SENTENCES, normalize_embeddings=True)
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}"
    np.savez_compressed(DATA / "minilm_vectors.npz", sentences=SENTENCES, vectors=vectors, made_with=versions)
    np.savez_compressed(DATA / "tiny_encoders.npz", made_with=versions, **{name: tiny(name) for name in FAMILIES})


if __name__ == "__main__":
    main()
