"""Lone surrogates: a str may hold them, UTF-8 and every tokenizer may not."""

import re

from rapidchunk import _core

__all__ = ["without_surrogates"]

_SURROGATES = re.compile("[\ud800-\udfff]")


def without_surrogates(text: str) -> str:
    """The text with U+FFFD for each surrogate, which UTF-8 cannot hold; positions stay."""
    if not _core.has_surrogates(text):  # 50 times as fast as the expression
        return text
    return _SURROGATES.sub("\ufffd", text)
