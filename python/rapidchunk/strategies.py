"""The strategies by name, for the command line and the indexing pipeline.

A class ``SomethingChunker`` that `rapidchunk.chunkers` exports is the strategy "something"; nothing else has to be
registered. `SUFFIXES` says which strategy the choice "auto" takes for a kind of file.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from rapidchunk import chunkers
from rapidchunk.chunkers.base import Chunker

__all__ = [
    "BY_CONTENT",
    "FALLBACK",
    "SUFFIXES",
    "UnknownOption",
    "choose",
    "make",
    "names",
    "parameters",
    "strategy_of",
]

#: Suffixes of files and the strategy that suits them; a strategy that is not there (yet, or its extra) is passed over.
SUFFIXES: dict[str, str] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    **{f".{suffix}": "code" for _, _, suffixes in chunkers.grammars.LANGUAGES.values() for suffix in suffixes},
}
#: Suffixes of files of which only the content says what they are.
BY_CONTENT = frozenset({".txt", ".text", ".json", ".yaml", ".yml"})
#: What "auto" takes for everything else.
FALLBACK = "sentence"


class UnknownOption(ValueError):
    """A strategy was given an option that it does not have."""


def names() -> dict[str, type[Chunker]]:
    """Every strategy, by name."""
    found = {}
    for public in chunkers.__all__:
        cls = getattr(chunkers, public)
        if isinstance(cls, type) and issubclass(cls, Chunker) and cls is not Chunker:
            words = re.findall(r"[A-Z][a-z0-9]*", public.removesuffix("Chunker"))
            found["-".join(words).lower()] = cls
    return dict(sorted(found.items()))


def strategy_of(file: str) -> str:
    """The strategy that "auto" takes for a file, by its suffix."""
    name = SUFFIXES.get(PurePath(file).suffix.lower(), FALLBACK)
    return name if name in names() else FALLBACK


def choose(file: str, text: str) -> tuple[str, dict[str, Any]]:
    """The strategy that "auto" takes for a file, by its suffix or (`BY_CONTENT`) what is in it, and options that go with it.

    Raises:
        ValueError: the file should be JSON, by its suffix, and is not.
    """
    from rapidchunk.kinds import guess
    from rapidchunk.presets import KINDS

    suffix = PurePath(file).suffix.lower()
    language = chunkers.grammars.language_of(suffix, text)
    if language is not None:
        there = all(
            importlib.util.find_spec(name) for name in ("tree_sitter", chunkers.grammars.LANGUAGES[language][0])
        )
        return ("code", {"language": language}) if there else ("recursive", {})
    if suffix not in BY_CONTENT:
        return strategy_of(file), {}
    if suffix in (".yaml", ".yml"):
        return ("api" if _API_YAML.search(text[:20_000]) else "recursive"), {}
    if suffix == ".json":
        _require_json(text)
    kind, _ = guess(text, suffix)
    if suffix == ".json" and kind not in ("api", "chat"):
        return "recursive", {}
    return KINDS[kind].strategy, {}


_API_YAML = re.compile(r"(?m)^(?:openapi|swagger): *['\"]?\d")


def _require_json(text: str) -> None:
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        try:
            for line in text.splitlines():
                if line.strip():
                    json.loads(line)
        except (ValueError, RecursionError):
            raise ValueError(f"not JSON: {error}") from None


def parameters(name: str) -> list[str]:
    """The options of a strategy.

    Raises:
        ValueError: there is no such strategy.
    """
    return list(inspect.signature(_class(name)).parameters)


def make(name: str, options: Mapping[str, Any], *, shared: Mapping[str, Any] | None = None) -> Chunker:
    """The strategy's chunker.

    Args:
        name: one of `names`.
        options: parameters that must be known to the strategy.
        shared: parameters that are left out where the strategy does not have them.

    Raises:
        UnknownOption: an entry of `options` is no parameter of the strategy.
        ValueError: no such strategy, or a parameter is out of range.
    """
    known = parameters(name)
    for option in options:
        if option not in known:
            raise UnknownOption(f"the strategy {name} has no option {option}; it has {', '.join(known)}")
    chunker: Chunker = _class(name)(**{k: v for k, v in (shared or {}).items() if k in known}, **options)
    return chunker


def _class(name: str) -> Any:
    try:
        return names()[name]
    except KeyError:
        raise ValueError(f"strategy must be one of {', '.join(names())}, not {name!r}") from None
