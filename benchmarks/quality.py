"""How well documents are cut, and how well the chunks are found: our methods and the rivals' over one encoder.

    python benchmarks/quality.py [--data FOLDER] [--only segmentation,chroma,squad] [--cutter static] [--output FILE]

Needs the interpreter of the rivals (benchmarks/requirements.txt); a rival that is not there is named and left out. FOLDER has
choi2000, wiki50, chroma and squad_articles, each with the form that quality_data.py reads. Every text is encoded once, ever:
vectors are kept in the cache (`--cache`), so that a second run takes a minute and a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from corpus import CACHE
from resources import environment

environment()  # before anything that starts threads

import quality_data as data  # noqa: E402
import quality_methods as methods  # noqa: E402
import rapidchunk as rc  # noqa: E402
from rapidchunk import evaluate  # noqa: E402
from rapidchunk.encoders import OnnxEncoder, StaticEncoder, as_encoder  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_DATA = ROOT.parent / "shared" / "data"
SECTIONS = ("segmentation", "chroma", "squad")
K = 5
PUBLISHED = [
    ("GraphSeg, published", ("5.6", "7.2", "6.6", "7.2", "–")),
    ("Coherence, published", ("4.4", "3.1", "2.5", "4.0", "–")),
    ("Embed-KCPD, published", ("–", "–", "–", "–", "38.0")),
]


@dataclass
class Row:
    """One method in one table: a value for each question or document, by measure."""

    name: str
    values: dict[str, np.ndarray]
    chunks: int = 0
    tokens: float = 0.0
    groups: np.ndarray | None = None

    def mean(self, measure: str) -> float:
        return float(100 * self.values[measure].mean())

    def interval(self, measure: str) -> str:
        found = evaluate.mean_interval(100 * self.values[measure], groups=self.groups)
        return f"{found.mean:.1f} [{found.low:.1f}, {found.high:.1f}]"

    def less(self, other: Row, measure: str) -> str:
        """The paired difference to another row; in bold where it is more than noise."""
        if self is other:
            return ""
        found = evaluate.paired_difference(100 * self.values[measure], 100 * other.values[measure], groups=self.groups)
        text = f"{found.mean:+.1f} [{found.low:+.1f}, {found.high:+.1f}]"
        return f"**{text}**" if found.clear else text


@dataclass
class Floor:
    """A figure that must be kept: at least, or with `most` at most, `limit`."""

    what: str
    limit: float
    got: float
    most: bool = False

    @property
    def holds(self) -> bool:
        return self.got <= self.limit if self.most else self.got >= self.limit


@dataclass
class Page:
    lines: list[str] = field(default_factory=list)
    floors: list[Floor] = field(default_factory=list)

    def table(self, title: str, note: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.lines += [
            f"## {title}",
            "",
            note,
            "",
            markdown(head),
            markdown(["---"] * len(head)),
            *map(markdown, rows),
            "",
        ]


def markdown(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def attempt(name: str, make: Callable[[], Any]) -> Any:
    """What `make` gives; None, with a line that says so, where a library is not installed or a vector not in the cache."""
    try:
        return make()
    except (ImportError, data.NotCached) as error:
        print(f"left out: {name} ({error})", file=sys.stderr)
        return None


def note_of(section: str) -> None:
    print(f"{datetime.datetime.now():%H:%M:%S} {section}", file=sys.stderr, flush=True)


# ---- segmentation ----------------------------------------------------------------------------------------------------


def segmentation(page: Page, folder: Path, encoder: Any, cutters: dict[str, Any], step: int) -> None:
    sets = {f"Choi {name}": documents for name, documents in data.choi(folder).items()}
    sets["wiki50"] = data.wiki50(folder)
    sampled = {label: documents if label == "wiki50" else documents[::step] for label, documents in sets.items()}
    ours: dict[str, Callable[[Any], list[np.ndarray]]] = {
        "**default**": lambda documents: methods.ours_given(encoder, documents),
        "`percentile=85, block=3`": lambda documents: methods.ours_given(encoder, documents, percentile=85, block=3),
        "`percentile=95, block=3`": lambda documents: methods.ours_given(encoder, documents, percentile=95, block=3),
        "`depth=-0.5, block=5`": lambda documents: methods.ours_given(encoder, documents, depth=-0.5, block=5),
    }
    for name, cutter in cutters.items():
        ours[f"default, {name} vectors"] = lambda documents, own=cutter: methods.ours_given(own, documents)
    rivals: dict[str, Callable[[], Callable[[str], list[str]]]] = {
        "langchain-experimental SemanticChunker (percentile 95)": lambda: methods.langchain_splitter(encoder, 95, "\n"),
        "langchain-experimental SemanticChunker, percentile 85": lambda: methods.langchain_splitter(encoder, 85, "\n"),
        "chonkie SemanticChunker": lambda: methods.chonkie_splitter(encoder, 1 << 30, given=True),
    }
    note_of("ours")
    rows = [segmented_row(name, sets, cut) for name, cut in ours.items()]
    first = rows[0]
    small = segmented_row(first.name, sampled, ours["**default**"])
    cells = [segmentation_cells(row, first, sets) for row in rows]
    if step > 1:
        small.name = f"**default** on the documents of the rivals (1 in {step})"
        cells.append(segmentation_cells(small, small, sets))
    for name, make in rivals.items():
        note_of(name)

        def run(name: str = name, make: Callable[[], Callable[[str], list[str]]] = make) -> Row:
            split = make()
            return segmented_row(name, sampled, lambda documents: methods.rival_given(split, documents))

        if (row := attempt(name, run)) is not None:
            cells.append(segmentation_cells(row, small, sets))
    cells += [[name, *values, ""] for name, values in PUBLISHED]
    page.table(
        "Segmentation",
        "Pk in %, lower is better; sentences given, the number of segments not; no limits of size. In brackets the 95 % interval "
        "over documents; a star: the paired difference to the default is more than noise. Choi: parts 1 and 2, "
        f"{len(sets['Choi 3-5'])} documents a column; wiki50: the {len(sets['wiki50'])} documents of the folder. Published "
        "figures are those of the papers and were not made anew; they are on all documents of each set.",
        ["", *sets, "wiki50 F1"],
        cells,
    )
    for label, limit in zip(sets, (5.5, 3.5, 4.5, 5.0, 37.5)):
        page.floors.append(Floor(f"{label}, default, Pk", limit, first.mean(label), most=True))


def segmented_row(
    name: str, sets: dict[str, list[data.Segmented]], cut: Callable[[list[data.Segmented]], list[np.ndarray]]
) -> Row:
    values = {}
    for label, documents in sets.items():
        pairs = [(document.boundaries(), found) for document, found in zip(documents, cut(documents))]
        values[label] = np.array([evaluate.pk(*pair) for pair in pairs])
        values[f"{label} F1"] = np.array([evaluate.boundary_scores(*pair).f1 for pair in pairs])
    return Row(name, values)


def segmentation_cells(row: Row, first: Row, sets: dict[str, Any]) -> list[str]:
    cells = []
    for label in sets:
        clear = evaluate.paired_difference(row.values[label], first.values[label]).clear
        cells.append(row.interval(label) + (" *" if clear else ""))
    return [row.name, *cells, f"{row.mean('wiki50 F1'):.0f}"]


# ---- retrieval -------------------------------------------------------------------------------------------------------


@dataclass
class Found:
    """The chunks of a method over one data set, and how they were scored."""

    columns: methods.Columns
    scores: np.ndarray


class Retrieved:
    """Chunks of one data set scored against its questions."""

    def __init__(self, given: data.Retrieval, encoder: Any) -> None:
        self.given = given
        self.encoder = encoder
        self.asked = encoder.encode([question.question for question in given.questions])
        self.references = [question.references for question in given.questions]
        self.documents = np.array([question.document for question in given.questions])
        self.tokenizer = rc.as_tokenizer(None)

    def row(self, name: str, columns: methods.Columns, scores: np.ndarray, groups: np.ndarray | None = None) -> Row:
        top = evaluate.top_rows(scores, 10)
        spans = evaluate.span_scores(columns, top[:, :K], self.references, self.documents)
        relevant = evaluate.relevant_chunks(columns, self.references, self.documents)
        values = {
            **spans._asdict(),
            "hit@5": evaluate.hit_rate(top, relevant, K),
            "ndcg@10": evaluate.ndcg(top, relevant, 10),
        }
        tokens = float(self.tokenizer.count(self.texts(columns)).mean())
        return Row(name, values, len(columns[0]), tokens, groups)

    def texts(self, columns: methods.Columns) -> list[str]:
        return [
            self.given.texts[number][start:end] for number, start, end in zip(*(column.tolist() for column in columns))
        ]

    def encoded(self, columns: methods.Columns) -> np.ndarray:
        """Cosines of questions and chunks, each chunk encoded as a whole."""
        return np.asarray(self.asked @ self.encoder.encode(self.texts(columns)).T)

    def encoded_row(self, name: str, columns: methods.Columns, groups: np.ndarray | None) -> Row:
        return self.row(name, columns, self.encoded(columns), groups)

    def ours(self, cutter: Any, size: int, **options: Any) -> dict[str, Found]:
        """Chunks of SemanticChunker (cut by one encoder, perhaps, and found by another), scored in three ways."""
        chunks = rc.SemanticChunker(cutter, size, vectors="mean", sentence_vectors=True, **options)(self.given.texts)
        columns = (chunks.document, chunks.start, chunks.end)
        if cutter is not self.encoder:
            chunks = chunks.encode(self.encoder, vectors="mean", sentence_vectors=True)
        scores = {
            "mean": self.asked @ chunks.vectors.T,
            "max + mean / 2": np.stack([chunks.score(one) for one in self.asked]),
        }
        whole = attempt(f"{size}, reencode", lambda: self.encoded(columns)) if cutter is self.encoder else None
        if whole is not None:
            scores["reencode"] = whole
        return {name: Found(columns, found) for name, found in scores.items()}


def retrieval_rows(
    data_set: Retrieved,
    sizes: Sequence[int],
    cutters: dict[str, Any],
    rivals: dict[str, Any],
    groups: np.ndarray | None,
) -> list[Row]:
    rows = []
    for size in sizes:
        for options in ({}, {"newline_is_boundary": True}):
            note_of(f"default, {size} {options}")
            label = f"default {min(32, size)}–{size}" + (", lines end sentences" if options else "")
            for way, found in data_set.ours(data_set.encoder, size, **options).items():
                rows.append(data_set.row(f"{label}: {way}", found.columns, found.scores, groups))
    for name, cutter in cutters.items():
        for way, found in data_set.ours(cutter, sizes[0]).items():
            row = data_set.row(f"default 32–{sizes[0]}, cut by {name}: {way}", found.columns, found.scores, groups)
            rows.append(row)
        own = Retrieved(data_set.given, cutter)
        for way, found in own.ours(cutter, sizes[0]).items():
            row = own.row(f"default 32–{sizes[0]}, cut and found by {name}: {way}", found.columns, found.scores, groups)
            rows.append(row)
    for name, cut in rivals.items():
        note_of(name)
        if (row := attempt(name, lambda name=name, cut=cut: data_set.encoded_row(name, cut(), groups))) is not None:
            rows.append(row)
    return rows


def rival_cuts(texts: Sequence[str], encoder: Any, size: int, clusters: Sequence[int]) -> dict[str, Any]:
    def of(make: Callable[[], Callable[[str], list[str]]]) -> Callable[[], methods.Columns]:
        return lambda: methods.located(texts, make())

    found: dict[str, Any] = {
        "windows of 250 cl100k tokens, overlap 125": lambda: methods.token_windows(texts, 250, 125),
        "langchain RecursiveCharacterTextSplitter 200 (cl100k)": of(lambda: methods.recursive_splitter(200)),
    }
    for most in clusters:
        found[f"cluster chunker {most} (Chroma's, re-implemented)"] = of(
            lambda most=most: methods.cluster_splitter(encoder, most)
        )
    found["langchain-experimental SemanticChunker"] = of(lambda: methods.langchain_splitter(encoder))
    found[f"chonkie SemanticChunker {size}"] = of(lambda: methods.chonkie_splitter(encoder, size))
    return found


def chroma(page: Page, folder: Path, encoder: Any, cutters: dict[str, Any]) -> None:
    given = data.chroma(folder)
    sizes = (250, 200, 400)
    rows = retrieval_rows(
        Retrieved(given, encoder), sizes, cutters, rival_cuts(given.texts, encoder, 250, (200, 250)), None
    )
    spans = ("precision", "precision_omega", "iou")
    page.table(
        "Retrieval: Chroma's evaluation",
        f"{len(given.questions)} questions on five corpora, the best {K} chunks of all corpora; recall, precision, "
        "precision-omega and IoU in characters, in %. A rival's chunks are encoded as a whole. In brackets the 95 % interval "
        "over questions; the last column is the paired difference in recall to the first row, in bold where it is more than "
        "noise. Tokens are BERT's, special tokens included.",
        ["", "chunks", "mean tokens", "recall", "precision", "PΩ", "IoU", "recall less the first row's"],
        [
            [
                row.name,
                str(row.chunks),
                f"{row.tokens:.0f}",
                row.interval("recall"),
                *(f"{row.mean(name):.1f}" for name in spans),
                row.less(rows[0], "recall"),
            ]
            for row in rows
        ],
    )
    by_name = {row.name: row for row in rows}
    for size, recall, iou in ((200, 73, 7.2), (250, 77, 6.4), (400, 80, 5.2)):
        for lines in ("", ", lines end sentences"):
            row = by_name[f"default 32–{size}{lines}: mean"]
            page.floors.append(Floor(f"Chroma, {row.name}, recall", recall, row.mean("recall")))
            page.floors.append(Floor(f"Chroma, {row.name}, IoU", iou, row.mean("iou")))


def squad(page: Page, folder: Path, encoder: Any, cutters: dict[str, Any]) -> None:
    given = data.squad(folder)
    data_set = Retrieved(given, encoder)
    rivals = rival_cuts(given.texts, encoder, 256, (250,))
    rows = retrieval_rows(data_set, (256,), cutters, rivals, data_set.documents)
    page.table(
        "Retrieval: SQuAD on whole articles",
        f"{len(given.questions)} questions on {len(given.texts)} Wikipedia articles, chunks of all articles; in %. R@{K}: a "
        f"chunk with (a part of) an answer is among the best {K}. In brackets the 95 % interval over articles, which are drawn "
        "with all their questions; the last column is the paired difference in R@5 to the first row.",
        ["", "chunks", "mean tokens", f"R@{K}", "nDCG@10", f"R@{K} less the first row's"],
        [
            [
                row.name,
                str(row.chunks),
                f"{row.tokens:.0f}",
                row.interval("hit@5"),
                f"{row.mean('ndcg@10'):.1f}",
                row.less(rows[0], "hit@5"),
            ]
            for row in rows
        ],
    )
    by_name = {row.name: row for row in rows}
    for way, limit in (("mean", 80), ("max + mean / 2", 88)):
        page.floors.append(
            Floor(f"SQuAD, default 32–256, {way}, R@5", limit, by_name[f"default 32–256: {way}"].mean("hit@5"))
        )


# ---- the command -----------------------------------------------------------------------------------------------------


def encoder_of(name: str, precision: str, cache: Path, frozen: bool) -> Any:
    if StaticEncoder.is_static(name):  # faster than the cache
        return as_encoder(name)
    if name != "minilm":
        return data.CachedEncoder(as_encoder(name), Path(name).name, cache, frozen)
    runtime = "onnxruntime" if precision == "fp32" else "openvino"
    encoder = OnnxEncoder(name, device="cpu", threads=1, max_batch_tokens=1024, runtime=runtime, precision=precision)
    return data.CachedEncoder(encoder, f"{name}-{precision}", cache, frozen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA)
    parser.add_argument("--only", default=",".join(SECTIONS), help="comma-separated: " + ", ".join(SECTIONS))
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--precision", default="fp32", choices=("fp32", "bf16"), help="of minilm; bf16 by OpenVINO")
    parser.add_argument(
        "--cutter", action="append", default=[], help="a further encoder to cut with (static, a folder)"
    )
    parser.add_argument("--cache", type=Path, default=CACHE / "vectors")
    parser.add_argument("--rival-step", type=int, default=1, help="rivals on 1 in so many documents of Choi")
    parser.add_argument(
        "--frozen", action="store_true", help="encode nothing: leave out rows that lack vectors in the cache"
    )
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results" / "quality.md")
    given = parser.parse_args()
    chosen = given.only.split(",")
    if unknown := sorted(set(chosen) - set(SECTIONS)):
        parser.error(f"--only: unknown {', '.join(unknown)}")
    if not given.data.is_dir():
        parser.error(f"--data: no folder {given.data}")
    encoder = encoder_of(given.encoder, given.precision, given.cache, given.frozen)
    cutters = {Path(name).name: encoder_of(name, given.precision, given.cache, given.frozen) for name in given.cutter}
    page = Page()
    if "segmentation" in chosen:
        segmentation(page, given.data, encoder, cutters, given.rival_step)
    if "chroma" in chosen:
        chroma(page, given.data, encoder, cutters)
    if "squad" in chosen:
        squad(page, given.data, encoder, cutters)
    command = " ".join(["python benchmarks/quality.py", *sys.argv[1:]])
    head = [
        f"# Quality ({given.encoder}{'' if given.precision == 'fp32' else f' in {given.precision}'}, {datetime.date.today()})",
        "",
        f"`{command}`, rapidchunk {rc.__version__}. Made by benchmarks/quality.py; every sentence is encoded alone and once.",
        "",
    ]
    floors = Page()
    floors.table(
        "Floors",
        "A change that falls below one is a regression.",
        ["", "floor", "measured", "holds"],
        [
            [one.what, f"{'≤' if one.most else '≥'} {one.limit:g}", f"{one.got:.2f}", "yes" if one.holds else "**no**"]
            for one in page.floors
        ],
    )
    given.output.write_text("\n".join([*head, *floors.lines, *page.lines]).rstrip() + "\n", "utf-8")
    print(f"{given.output}: {sum(one.holds for one in page.floors)} of {len(page.floors)} floors hold", file=sys.stderr)


if __name__ == "__main__":
    main()
