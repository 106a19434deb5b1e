"""Documentation packages of Debian as text: unpack without root, HTML to Markdown, the King James Bible.

Used by tools/make_examples.py (the documents in examples/) and benchmarks/corpus.py (the benchmark corpus).
Needs apt-get and dpkg-deb (Debian or Ubuntu) and lxml.
"""

from __future__ import annotations

import gzip
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from lxml import html as lxml_html

_SPACE = re.compile(r"\s+")
_HEADING = re.compile(r"h[1-6]")
_SKIPPED_TAGS = {"script", "style", "head", "nav", "form", "svg", "img", "noscript", "button", "iframe"}
_SKIPPED_CLASSES = {
    "navheader", "navfooter", "toc", "nosearch", "menu", "searchmenu", "fancy_toc", "indexterm", "sphinxsidebar",
    "related", "footer", "headerlink", "id_link", "mark", "list-of-tables", "list-of-figures", "breadcrumb",
}  # fmt: skip
_CONTAINERS = {
    "div", "section", "article", "main", "body", "html", "blockquote", "center", "dl", "dd", "ul", "ol", "li", "table",
    "p", "pre", "font", "figure", "details",
}  # fmt: skip


def unpack(packages: list[str], folder: Path) -> list[str]:
    """Download and unpack packages into folder; returns those that could not be had. Nothing is installed."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = []
    for package in packages:
        if list(folder.glob(f"{package}_*.deb")):
            continue
        try:
            subprocess.run(["apt-get", "download", package], cwd=folder, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            missing.append(package)
            continue
        (archive,) = folder.glob(f"{package}_*.deb")
        subprocess.run(["dpkg-deb", "-x", str(archive), str(folder)], check=True)
    return missing


def read(path: Path) -> str:
    """A text file, gzipped or not, with Unix line ends."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def parse(source: str) -> lxml_html.HtmlElement:
    """The root element; an XML declaration is removed first, because lxml refuses it in a str."""
    return lxml_html.fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", source).encode(), parser=_PARSER)


_PARSER = lxml_html.HTMLParser(encoding="utf-8")


def _skipped(element: lxml_html.HtmlElement) -> bool:
    if not isinstance(element.tag, str) or element.tag in _SKIPPED_TAGS:
        return True
    return not _SKIPPED_CLASSES.isdisjoint((element.get("class") or "").split())


def _inline(element: lxml_html.HtmlElement) -> str:
    """The text of an element; block elements inside it end the text."""
    parts = [element.text or ""]
    for child in element:
        if not _skipped(child):
            parts.append(_code(child) if child.tag in ("code", "tt") else _inline(child))
        parts.append(child.tail or "")
    return "".join(parts)


def _code(element: lxml_html.HtmlElement) -> str:
    text = element.text_content()
    return f"`{text.strip()}`" if text.strip() else text


def _clean(text: str) -> str:
    return _SPACE.sub(" ", text.replace("¶", "")).strip()


def _table(element: lxml_html.HtmlElement) -> Iterator[str]:
    rows = []
    for row in element.iter("tr"):
        cells = [_clean(_inline(cell)) for cell in row if cell.tag in ("td", "th")]
        if any(cells):
            rows.append("| " + " | ".join(cells) + " |")
            if len(rows) == 1:
                rows.append("|" + " --- |" * len(cells))
    if rows:
        yield "\n".join(rows)


def _blocks(element: lxml_html.HtmlElement) -> Iterator[str]:
    inline = [element.text or ""]

    def flush() -> Iterator[str]:
        text = _clean("".join(inline))
        inline.clear()
        if text:
            yield text

    for child in element:
        if _skipped(child):
            inline.append(child.tail or "")
            continue
        if _HEADING.fullmatch(child.tag):
            yield from flush()
            if title := _clean(_inline(child)):
                yield "#" * int(child.tag[1]) + " " + title
        elif child.tag == "pre":
            yield from flush()
            if code := child.text_content().strip("\n"):
                yield f"```\n{code}\n```"
        elif child.tag == "table":
            yield from flush()
            nested = any(t.tag in ("pre", "table", "ul") for t in child.iterdescendants())
            yield from (_blocks(child) if nested else _table(child))
        elif child.tag in ("li", "dd"):
            yield from flush()
            items = list(_blocks(child))
            if items:
                yield "\n\n".join("- " + b if i == 0 else "  " + b.replace("\n", "\n  ") for i, b in enumerate(items))
        elif child.tag in _CONTAINERS or any(d.tag in _CONTAINERS for d in child.iterdescendants()):
            yield from flush()
            yield from _blocks(child)
        else:
            inline.append(_code(child) if child.tag in ("code", "tt") else _inline(child))
        inline.append(child.tail or "")
    yield from flush()


def markdown(source: str) -> str:
    """HTML as Markdown: headings, paragraphs, lists, fenced code and simple tables; links become plain text.

    A page that does not start with a heading gets its <title> as one.
    """
    root = parse(source)
    blocks = [block for block in _blocks(root) if len(block) > 2 and not block.startswith("This page last modified")]
    title = _clean(root.findtext(".//title") or "")
    if title and blocks and not blocks[0].startswith(f"# {title}") and not blocks[0].startswith("## "):
        blocks.insert(0, f"# {title}")
    return "\n\n".join(blocks) + "\n"


def paragraphs(source: str, shortest: int = 60) -> list[str]:
    """The text of the <p> elements with at least `shortest` characters."""
    texts = (_clean(p.text_content()) for p in parse(source).iter("p"))
    return [text for text in texts if len(text) >= shortest]


def bible(root: Path) -> Iterator[tuple[str, int, list[str]]]:
    """(book, chapter, verses) of the King James Bible; root holds the unpacked bible-kjv and bible-kjv-text."""
    command = [str(root / "usr/bin/bible"), "-p", str(root / "usr/lib"), "-f", "gen1:1-rev22:21"]
    out = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout
    key: tuple[str, int] | None = None
    verses: list[str] = []
    for line in out.splitlines():
        match = re.match(r"^(\d?[A-Za-z]+)(\d+):\d+\s+(.*)$", line)
        if not match:
            continue
        if key != (match[1], int(match[2])):
            if key:
                yield *key, verses
            key, verses = (match[1], int(match[2])), []
        verses.append(match[3].strip())
    if key:
        yield *key, verses
