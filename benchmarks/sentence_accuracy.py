"""Accuracy and speed of sentence splitters, side by side.

    python benchmarks/sentence_accuracy.py [--json FILE] [--rivals SITE_PACKAGES] [--no-speed]

Rivals that are not installed are named and left out. Scores: texts split exactly as expected (golden rules, pySBD's
and sentencex's own tests; white space folded for the latter two) and F1 of sentence ends (Universal Dependencies).
Every splitter is told the language where it takes one; "rapidchunk auto" is told nothing. "–" marks a language that a
splitter refuses; it counts as 0 in the totals. Speed: MB of UTF-8 per CPU-second on the English of UD and of pySBD's
tests, repeated, all splitters interleaved, best of the rounds, one thread; each makes what it makes (rapidchunk spans,
the others strings).
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "python")]
from sentence_sets import UD, Case, exact, f1, golden_rules, pysbd_tests, sentencex_tests, ud_documents  # noqa: E402

Splitter = Callable[[str], list[str]]
Maker = Callable[[str], Splitter]  # language code -> splitter; raises when it does not take the language


def rapidchunk_auto(_: str) -> Splitter:
    return rapidchunk(None)


def rapidchunk(language: str | None) -> Splitter:
    from rapidchunk.kernels.cpu import sentence_spans

    def split(text: str) -> list[str]:
        data = text.encode()
        return [data[a:b].decode() for a, b in sentence_spans([data], language, threads=1)[0].tolist()]

    return split


def pysbd(language: str) -> Splitter:
    module = importlib.import_module("pysbd")
    segmenter = module.Segmenter(language=language, clean=False)
    return lambda text: [s.strip() for s in segmenter.segment(text) if s.strip()]


def sentencex(language: str) -> Splitter:
    segment = importlib.import_module("sentencex").segment
    return lambda text: [s.strip() for s in segment(language, text) if s.strip()]


def icu(language: str) -> Splitter:
    module = importlib.import_module("icu")
    iterator = module.BreakIterator.createSentenceInstance(module.Locale(language))

    def split(text: str) -> list[str]:
        units = text.encode("utf-16-le")
        iterator.setText(text)
        out, start = [], 0
        for end in iterator:
            out.append(units[2 * start : 2 * end].decode("utf-16-le").strip())
            start = end
        return [s for s in out if s]

    return split


PUNKT = {
    "en": "english",
    "de": "german",
    "fr": "french",
    "es": "spanish",
    "it": "italian",
    "ru": "russian",
    "da": "danish",
    "nl": "dutch",
    "pl": "polish",
    "pt": "portuguese",
    "fi": "finnish",
    "el": "greek",
    "sl": "slovene",
}


def nltk(language: str) -> Splitter:
    punkt = importlib.import_module("nltk.tokenize.punkt")
    return punkt.PunktTokenizer(PUNKT[language]).tokenize


def spacy(language: str) -> Splitter:
    pipeline = importlib.import_module("spacy").blank(language if language != "zh" else "xx")
    pipeline.max_length = 50_000_000
    pipeline.add_pipe("sentencizer")
    return lambda text: [s.text.strip() for s in pipeline(text).sents if s.text.strip()]


def blingfire(_: str) -> Splitter:
    module = importlib.import_module("blingfire")
    return lambda text: [s for s in module.text_to_sentences(text).split("\n") if s.strip()]


def syntok(language: str) -> Splitter:
    if language not in ("en", "de", "es"):
        raise ValueError(language)
    segmenter = importlib.import_module("syntok.segmenter")

    def split(text: str) -> list[str]:
        sentences = [s for paragraph in segmenter.analyze(text) for s in paragraph]
        return ["".join(t.spacing + t.value for t in s).strip() for s in sentences]

    return split


SPLITTERS: dict[str, Maker] = {
    "rapidchunk": rapidchunk,
    "rapidchunk auto": rapidchunk_auto,
    "pysbd": pysbd,
    "sentencex": sentencex,
    "ICU": icu,
    "nltk punkt": nltk,
    "spaCy sentencizer": spacy,
    "blingfire": blingfire,
    "syntok": syntok,
}


def sets() -> list[tuple[str, str, str, list[Case]]]:
    """(set, language, score, cases)"""
    rows = [("golden rules", "en", "exact", golden_rules())]
    rows += [("pysbd tests", language, "exact", cases) for language, cases in pysbd_tests().items()]
    for name, cases in sentencex_tests().items():
        rows.append(("sentencex tests", "en" if name == "lists" else name, "exact", cases))
    rows += [("UD " + name, language, "f1", ud_documents(name)) for name, language in UD.items()]
    return rows


def installed() -> tuple[dict[str, Maker], list[str]]:
    usable, missing = {}, []
    for name, make in SPLITTERS.items():
        try:
            make("en")("A test. It works.")
            usable[name] = make
        except Exception as error:  # a library that is absent, or present without its data
            reason = str(error).strip().split("\n")[0][:80]
            missing.append(f"{name} is left out: {type(error).__name__}: {reason}")
    return usable, missing


def score(make: Maker, language: str, kind: str, cases: list[Case]) -> float | None:
    try:
        split = make(language)
        if kind == "f1":
            return round(100 * f1(cases, split)[2], 2)
        return exact(cases, split, joined=len(cases) != 48)
    except Exception:
        return None  # the splitter does not take this language


def speed(usable: dict[str, Maker], rounds: int = 3) -> dict[str, float]:
    from rapidchunk.kernels.cpu import sentence_spans

    documents = ud_documents("en_ewt")
    text = "\n\n".join(text for text, _ in documents)
    paragraphs = [p for _, cases in pysbd_tests().items() for p, _ in cases if p.isascii() and len(p) > 400]
    text = "\n\n".join([text, *paragraphs])
    sizes = {"rapidchunk": 40, "rapidchunk auto": 40, "sentencex": 4, "ICU": 8, "blingfire": 4}
    best: dict[str, float] = {}
    for _ in range(rounds):
        for name, make in usable.items():
            split = make("en")
            piece = text * sizes.get(name, 1) if name != "pysbd" else text[:40_000]
            data, code = [piece.encode()], "en" if name == "rapidchunk" else None
            start = time.process_time()
            if name.startswith("rapidchunk"):
                sentence_spans(data, code, False, 1)
            else:
                split(piece)
            seconds = time.process_time() - start
            best[name] = max(best.get(name, 0.0), len(piece.encode()) / 1e6 / seconds)
    return {name: round(rate, 1) for name, rate in best.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rivals", help="a site-packages folder that holds the rivals")
    parser.add_argument("--no-speed", action="store_true")
    options = parser.parse_args()
    if options.rivals:
        sys.path.append(options.rivals)
    warnings.simplefilter("ignore")
    usable, missing = installed()
    table: list[dict[str, object]] = []
    for name, language, kind, cases in sets():
        scores = {splitter: score(make, language, kind, cases) for splitter, make in usable.items()}
        table.append({"set": name, "language": language, "cases": len(cases), "score": kind, **scores})
    for name in ("pysbd tests", "sentencex tests"):
        rows = [row for row in table if row["set"] == name]
        totals = {s: sum(row[s] or 0 for row in rows) for s in usable}  # type: ignore[misc]
        total = {"set": name, "language": "all", "cases": sum(row["cases"] for row in rows), "score": "exact"}  # type: ignore[misc]
        table.append({**total, **totals})
    rates = {} if options.no_speed else speed(usable)

    names = list(usable)
    print("| set | language | cases | " + " | ".join(names) + " |")
    print("|---" * (3 + len(names)) + "|")
    for row in table:
        cells = ["–" if row[n] is None else str(row[n]) for n in names]
        print(f"| {row['set']} | {row['language']} | {row['cases']} | " + " | ".join(cells) + " |")
    if rates:
        print("| English, MB/s | en | | " + " | ".join(f"{rates[n]}" for n in names) + " |")
    print(*missing, sep="\n")
    if options.json:
        options.json.write_text(json.dumps({"scores": table, "MB/s": rates, "missing": missing}, indent=1))


if __name__ == "__main__":
    main()
