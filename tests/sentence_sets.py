"""The gold sets of the sentence stage and how a splitter is scored on them: for tests and benchmarks."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path

DATA = Path(__file__).parent / "data" / "sentences"
Case = tuple[str, list[str]]
Split = Callable[[str], list[str]]

PYSBD_CODES = {
    "amharic": "am",
    "armenian": "hy",
    "bulgarian": "bg",
    "burmese": "my",
    "chinese": "zh",
    "danish": "da",
    "deutsch": "de",
    "dutch": "nl",
    "english_clean": "en",
    "french": "fr",
    "greek": "el",
    "hindi": "hi",
    "italian": "it",
    "japanese": "ja",
    "kazakh": "kk",
    "marathi": "mr",
    "persian": "fa",
    "polish": "pl",
    "russian": "ru",
    "slovak": "sk",
    "spanish": "es",
    "urdu": "ur",
}
UD = {"en_ewt": "en", "de_gsd": "de", "fr_gsd": "fr", "ja_gsd": "ja", "zh_gsdsimp": "zh"}


def golden_rules() -> list[Case]:
    rules = json.loads((DATA / "english_golden_rules.json").read_text(encoding="utf-8"))
    return [(rule["text"], rule["sentences"]) for rule in rules]


def pysbd_tests() -> dict[str, list[Case]]:
    """By language code. Some expect cleaned text (lines joined, markup removed), which spans cannot give."""
    languages = json.loads((DATA / "pysbd_lang_tests.json").read_text(encoding="utf-8"))
    return {PYSBD_CODES[name]: [(c["text"], c["sentences"]) for c in cases] for name, cases in languages.items()}


def sentencex_tests() -> dict[str, list[Case]]:
    return {path.stem: list(_sentencex_cases(path)) for path in sorted((DATA / "sentencex").glob("*.txt"))}


def _sentencex_cases(path: Path) -> Iterator[Case]:
    text: list[str] = []
    expected: list[str] | None = None
    for line in [*path.read_text(encoding="utf-8").splitlines(), "==="]:
        if line.startswith("#"):
            continue
        if line == "===":
            if expected is not None:
                yield "\n".join(text).strip(), [s.replace("\\n", "\n") for s in expected if s.strip()]
            text, expected = [], None
        elif line == "---" and expected is None:
            expected = []
        else:
            (text if expected is None else expected).append(line)


def ud_documents(name: str) -> list[Case]:
    with gzip.open(DATA / "ud" / f"{name}-ud-test.jsonl.gz", "rt", encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
    return [(d["text"], [d["text"][a:b] for a, b in d["sents"]]) for d in documents]


def exact(cases: list[Case], split: Split, *, joined: bool = True) -> int:
    """How many texts are split as expected; `joined` folds white space, since some sets join wrapped lines."""

    def clean(sentences: list[str]) -> list[str]:
        return [" ".join(s.split()) if joined else s.strip() for s in sentences]

    return sum(clean(split(text)) == clean(expected) for text, expected in cases)


def _ends(sentences: list[str]) -> set[int]:
    """Ends of sentences in characters other than white space, which some splitters drop or alter."""
    ends, position = set(), 0
    for sentence in sentences:
        position += sum(not c.isspace() for c in sentence)
        ends.add(position)
    return ends


def f1(documents: list[Case], split: Split) -> tuple[float, float, float]:
    """Precision, recall and F1 of sentence ends."""
    hits = found = wanted = 0
    for text, expected in documents:
        got, gold = _ends(split(text)), _ends(expected)
        hits, found, wanted = hits + len(got & gold), found + len(got), wanted + len(gold)
    return hits / found, hits / wanted, 2 * hits / (found + wanted)
