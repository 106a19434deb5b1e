"""Documents of 100 MB, one of each kind of text that a strategy takes, made once into the cache.

The corpus is repeated until it is large enough; what the strategies read is the text of real documents.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from itertools import cycle

from corpus import CACHE, ROOT, load

SIZE = 100_000_000
"""Bytes of UTF-8."""
FOREIGN_PACKAGES = [
    "debian-reference-zh-cn",
    "maint-guide-zh-cn",
    "aptitude-doc-ru",
    "maint-guide-ru",
    "developers-reference-ru",
]
FOREIGN_PAGES = ["*.zh-cn.html", "*.ru.html", "ru/*.html", "**/ru/*.html", "**/*.ru.html", "**/*.zh-cn.html"]


def document(kind: str) -> str:
    """One document of 100 MB.

    Args:
        kind: prose, markdown, html, chat or pages (ASCII, made of the corpus), code (Python, made of this package), api (an
            OpenAPI description), or unicode (Russian and Chinese prose from Debian's documentation packages).

    Raises:
        OSError: the packages for "unicode" could not be had.
    """
    path = CACHE / f"100mb.{kind}.txt"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_text(_MAKERS[kind](), encoding="utf-8", errors="strict")
        draft.replace(path)
    return path.read_text(encoding="utf-8")


def _repeated(text: str) -> str:
    """`text` over and over, to SIZE bytes at most."""
    size = len(text.encode())
    whole = text * (SIZE // size)
    rest = text.encode()[: SIZE - size * (SIZE // size)].decode(errors="ignore")
    return whole + rest


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode()


def _chat() -> str:
    speakers = cycle(("Ada", "Ben", "Cleo"))
    return "\n".join(f"{next(speakers)}: {p}" for p in _ascii(load().prose).replace("\n\n", "\n").split("\n") if p)


def _pages() -> str:
    text = _ascii(load().prose)
    return "\f".join(text[at : at + 3000] for at in range(0, len(text), 3000))


def _code() -> str:
    return "\n\n".join(path.read_text("utf-8") for path in sorted((ROOT / "python/rapidchunk").rglob("*.py")))


def _api() -> str:
    paragraphs = [p for p in _ascii(load().prose).split("\n\n") if len(p) > 100]
    paths = {}
    size = 0
    for number, text in enumerate(cycle(paragraphs)):
        operation = {
            "operationId": f"read{number}",
            "description": text,
            "responses": {"200": {"description": "Done."}},
        }
        paths[f"/items/{number}"] = {"get": operation}
        size += len(text) + 160
        if size > SIZE:
            break
    return json.dumps({"openapi": "3.0.0", "info": {"title": "Items", "version": "1"}, "paths": paths}, indent=1)


def _foreign() -> Iterator[str]:
    sys.path.insert(0, str(ROOT / "tools"))
    from debian_docs import paragraphs, read, unpack

    root = CACHE / "packages"
    missing = unpack(FOREIGN_PACKAGES, root)
    if len(missing) == len(FOREIGN_PACKAGES):
        raise OSError(f"no documents: {', '.join(missing)} could not be had")
    pages = {page for pattern in FOREIGN_PAGES for page in (root / "usr/share").glob(f"**/{pattern}")}
    for page in sorted(pages):
        if not page.is_symlink():
            yield from (p for p in paragraphs(read(page), 20) if re.search(r"[Ѐ-ӿ一-鿿]{2}", p))


def _unicode() -> str:
    return "\n\n".join(_foreign())


_MAKERS: dict[str, Callable[[], str]] = {
    "prose": lambda: _repeated(_ascii(load().prose)),
    "markdown": lambda: _repeated(_ascii("\n\n".join(load().markdown))),
    "html": lambda: _repeated(_ascii("\n".join(load().html))),
    "chat": lambda: _repeated(_chat()),
    "pages": lambda: _repeated(_pages()),
    "code": lambda: _repeated(_code()),
    "api": _api,
    "unicode": lambda: _repeated(_unicode()),
}
