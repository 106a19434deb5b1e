"""WordPiece, ids and spans: ours against `tokenizers`, one thread, interleaved in the same process.

    python benchmarks/wordpiece.py [file ...]

Without files: the English documents of examples/ and short texts in other scripts, repeated with shuffled lines (a warm
cache, as in any corpus longer than its vocabulary). Each round also checks that the ids are the same. Figures are medians
of CPU time, MB (10^6 bytes of UTF-8) a second.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from rapidchunk._wordpiece import default_wordpiece
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

ROUNDS, SIZE, THEIR_SIZE = 7, 8_000_000, 200_000
SAMPLES = {
    "Russian": "Все люди рождаются свободными и равными в своём достоинстве и правах. Они наделены разумом и совестью.",
    "Greek": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
    "German": "Alle Menschen sind frei und gleich an Würde und Rechten geboren; jeder für Überzeugung, Gefühl und Größe.",
    "Chinese": "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。",
    "Japanese": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "Korean": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
    "Hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।",
}


def cpu_seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def corpora(paths: list[str]) -> dict[str, list[str]]:
    root = Path(__file__).parents[1] / "examples/documents"
    english = [Path(path) for path in paths] or [p for kind in ("md", "txt") for p in sorted(root.rglob(f"*.{kind}"))]
    lines = {"English": [line for path in english for line in path.read_text(encoding="utf-8").splitlines(True)]}
    return lines | {
        name: [" ".join(random.Random(i).sample(text.split(" "), len(text.split(" ")))) + "\n" for i in range(50)]
        for name, text in SAMPLES.items()
    }


def main() -> None:
    ours = default_wordpiece()
    theirs = Tokenizer(WordPiece({token: i for i, token in enumerate(ours.vocab)}, unk_token="[UNK]"))
    theirs.normalizer, theirs.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
    rng = random.Random(1)
    print(f"{'text':10} {'ours':>8} {'count':>8} {'tokenizers':>10} {'ratio':>7}   MB/s")
    for name, lines in corpora(sys.argv[1:]).items():
        document = ""
        while len(document.encode()) < SIZE:
            document += "".join(rng.sample(lines, len(lines))) * (1 + SIZE // 20 // sum(map(len, lines)))
        data = document.encode()[:SIZE].decode("utf-8", "ignore").encode()
        part = data[:THEIR_SIZE].decode("utf-8", "ignore")
        pieces = [data[i : i + 20_000] for i in range(0, len(data), 20_000)]
        assert ours.encode([part.encode()])[0].tolist() == theirs.encode(part).ids, name
        times: dict[str, list[float]] = {"ours": [], "count": [], "theirs": []}
        for _ in range(ROUNDS):
            times["ours"].append(cpu_seconds(partial(ours.encode, pieces, 1)) / len(data))
            times["count"].append(cpu_seconds(partial(ours.count, pieces, 1)) / len(data))
            times["theirs"].append(cpu_seconds(partial(theirs.encode, part)) / len(part.encode()))
        speed = {key: 1e-6 / statistics.median(values) for key, values in times.items()}
        ratio = speed["ours"] / speed["theirs"]
        print(f"{name:10} {speed['ours']:8.1f} {speed['count']:8.1f} {speed['theirs']:10.2f} {ratio:7.0f}")


if __name__ == "__main__":
    main()
