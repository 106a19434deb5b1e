"""Lone surrogates: a str may hold them, UTF-8 and every tokenizer may not."""

import re

__all__ = ["without_surrogates"]

_SURROGATES = re.compile("[\ud800-\udfff]")


def without_surrogates(text: str) -> str:
    """The text with U+FFFD for each surrogate, which UTF-8 cannot hold; positions stay."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)
