"""The benchmark corpus: prose, Markdown and HTML from documentation packages of Debian 12, made once into a cache.

    python benchmarks/corpus.py            # make it, print what is in it

Nothing is installed: packages are downloaded with apt-get and unpacked into the cache ($RAPIDCHUNK_BENCH_CACHE, else
~/.cache/rapidchunk/benchmarks). Where that is not possible (no apt-get, no network, no lxml) the documents in examples/
are repeated instead, and `Corpus.source` says so.
"""

from __future__ import annotations

import html
import json
import os
import random
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("RAPIDCHUNK_BENCH_CACHE", Path.home() / ".cache/rapidchunk/benchmarks"))
PACKAGES = [
    "git-doc", "debian-policy", "nodejs-doc", "docker-doc", "debian-reference-en", "developers-reference",
    "python3.11-doc", "postgresql-doc-15", "sqlite3-doc", "bible-kjv", "bible-kjv-text",
]  # fmt: skip
HTML_FOLDERS = [
    "postgresql-doc-15/html", "python3.11/html", "sqlite3", "debian-reference", "developers-reference", "debian-policy",
    "git/html", "nodejs/api", "git-doc",
]  # fmt: skip
PACKAGED = "documentation packages of Debian 12"
REPEATED = "the documents in examples/, repeated (Debian's documentation packages could not be had)"
SIZES = {"2KB": (2_000, 4_000_000), "20KB": (20_000, 8_000_000), "1MB": (1_000_000, 12_000_000)}
"""Name -> (bytes of one document, bytes in all)."""


@dataclass
class Corpus:
    """Documents of the corpus. `source` says in words where they come from."""

    prose: str
    markdown: list[str]
    html: list[str]
    source: str

    def documents(self, size: int, total: int, ascii_only: bool = False) -> list[str]:
        """Prose cut into documents of about `size` characters at paragraph ends, up to `total` characters."""
        text = self.prose.encode("ascii", "replace").decode() if ascii_only else self.prose
        out: list[str] = []
        start = made = 0
        while start < len(text) and made < total:
            end = min(len(text), start + size)
            if end < len(text):
                cut = text.rfind("\n\n", start + size // 2, end)
                cut = cut if cut >= 0 else text.rfind(" ", start + 1, end)
                end = cut if cut > start else end
            if document := text[start:end].strip():
                out.append(document)
                made += len(document)
            start = end
        return out

    def pieces(self, kind: str, size: int, total: int) -> list[str]:
        """The Markdown or HTML files one after the other, cut before headings into documents of about `size` characters."""
        joined = "\n".join(getattr(self, kind))
        heading = re.compile(r"^#{1,6} " if kind == "markdown" else r"<h[1-6]", re.MULTILINE)
        out: list[str] = []
        start = 0
        while start < min(len(joined), total):
            match = heading.search(joined, start + size // 2, start + 2 * size)
            end = match.start() if match else start + size
            out.append(joined[start:end])
            start = end
        return out


def load() -> Corpus:
    """The corpus from the cache; makes it on the first call (about a minute)."""
    path = CACHE / "corpus.json"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        parts = _from_packages()
        if parts is None:
            return _from_examples()
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(parts), encoding="utf-8")
        draft.replace(path)
    parts = json.loads(path.read_text(encoding="utf-8"))
    return Corpus(parts["prose"], parts["markdown"], parts["html"], PACKAGED)


def source() -> str:
    """Where load() takes its documents from, without loading them."""
    return PACKAGED if (CACHE / "corpus.json").exists() else REPEATED


def _from_packages() -> dict[str, str | list[str]] | None:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        from debian_docs import bible, markdown, paragraphs, read, unpack
    except ImportError as error:
        print(f"corpus: {error}; the documents in examples/ are used instead", file=sys.stderr)
        return None
    root = CACHE / "packages"
    if missing := unpack(PACKAGES, root):
        print(f"corpus: not available: {', '.join(missing)}", file=sys.stderr)
    if len(missing) > len(PACKAGES) // 2:
        return None
    shuffle = random.Random(7).shuffle
    pages = []
    for folder in HTML_FOLDERS:
        for base in (root / "usr/share/doc", root / "usr/share"):
            for path in sorted((base / folder).rglob("*.html")):
                if path.is_file() and not path.is_symlink() and not re.search("genindex|search", path.name):
                    text = read(path)
                    if len(text) > 3000:
                        pages.append(text)
    shuffle(pages)
    prose = ["\n\n".join(p) for p in map(paragraphs, pages) if sum(map(len, p)) > 400]
    chapters = [" ".join(verses) for _, _, verses in bible(root)]
    prose += ["\n\n".join(chapters[i : i + 5]) for i in range(0, len(chapters), 5)]
    shuffle(prose)
    written = [read(p) for p in sorted((root / "usr/share/doc").rglob("*.md*")) if p.is_file()]
    sections = list(dict.fromkeys(text for text in written if len(text) > 1500))
    html_pages = _until(pages, 16_000_000)
    for page in reversed(pages):
        if sum(map(len, sections)) > 14_000_000:
            break
        if len(text := markdown(page)) > 1500:
            sections.append(text)
    shuffle(sections)
    return {"prose": "\n\n\n".join(prose), "markdown": sections, "html": html_pages}


def _until(texts: list[str], total: int) -> list[str]:
    out: list[str] = []
    made = 0
    for text in texts:
        if made + len(text) <= total:
            out.append(text)
            made += len(text)
    return out


def _from_examples() -> Corpus:
    folder = ROOT / "examples" / "documents"
    markdown = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.md"))]
    plain = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.txt")) if path.name != "SOURCE.txt"]
    prose = "\n\n".join(block for text in plain + markdown for block in text.split("\n\n") if block[:1].isalpha())
    pages = []
    for text in markdown:
        blocks = []
        for block in text.split("\n\n"):
            level = len(block) - len(block.lstrip("#"))
            tag = f"h{level}" if 1 <= level <= 6 else "p"
            blocks.append(f"<{tag}>{html.escape(block.lstrip('# '))}</{tag}>")
        pages.append("<html><body>\n" + "\n".join(blocks) + "\n</body></html>\n")
    repeat = 12_000_000 // len(prose) + 1
    return Corpus("\n\n".join([prose] * repeat), markdown * 8, pages * 8, REPEATED)


if __name__ == "__main__":
    corpus = load()
    print(f"source    {corpus.source}\nprose     {len(corpus.prose.encode()) / 1e6:6.1f} MB")
    for name in ("markdown", "html"):
        texts = getattr(corpus, name)
        print(f"{name:9s} {sum(len(t.encode()) for t in texts) / 1e6:6.1f} MB in {len(texts)} documents")
