"""Lists of words in the source."""

from __future__ import annotations

__all__ = ["words"]


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())
