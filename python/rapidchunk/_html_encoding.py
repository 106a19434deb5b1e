"""Which encoding the bytes of an HTML page are in (HTML standard, 13.2.3.2; names: Encoding standard)."""

from __future__ import annotations

import codecs
import re

__all__ = ["decode_html", "html_encoding"]

_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_DECLARED_WITHIN = 1024  # bytes
_COMMENT_OR_META = re.compile(
    rb"<!--.*?(?:-->|$)|<meta[\s/]((?:[^>\"']|\"[^\"]*\"|'[^']*')*)", re.IGNORECASE | re.DOTALL
)
_ATTRIBUTE = re.compile(rb"([^\s/>=\"']+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+)))?")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([^\s;\"']+)", re.IGNORECASE)
_XML = re.compile(rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']([^\"'>]+)")
# What browsers know, by Python's names; some stand for a larger encoding.
_KNOWN = (
    "utf-8", "cp866", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "cp874", "gb18030", "big5hkscs", "euc_jp",
    "iso2022_jp", "cp932", "cp949", *(f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
    *(f"cp{page}" for page in range(1250, 1259)),
)  # fmt: skip
_CODECS = {
    **dict(zip(_KNOWN, _KNOWN)),
    "iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "tis-620": "cp874", "iso8859-11": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs", "shift_jis": "cp932", "euc_kr": "cp949",
    "utf-16": "utf-8", "utf-16-le": "utf-8", "utf-16-be": "utf-8",  # the declaration itself was readable as ASCII
}  # fmt: skip


def html_encoding(data: bytes) -> tuple[str | None, int]:
    """The codec that `data` is in, by a byte order mark, else a ``meta`` element or XML declaration in the first 1024
    bytes, and the bytes of the mark; None where none says it, or says what no browser knows."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name, len(mark)
    if data.startswith((b"<\0?\0x\0", b"\0<\0?\0x")):
        return ("utf-16-le" if data[0] else "utf-16-be"), 0
    head = data[:_DECLARED_WITHIN]
    for match in _COMMENT_OR_META.finditer(head):
        codec = _codec(_label(match[1])) if match[1] is not None else None
        if codec is not None:
            return codec, 0
    declared = _XML.match(head)
    return (_codec(declared[1].decode("latin-1")) if declared else None), 0


def decode_html(data: bytes) -> str:
    """The text; UTF-8 where nothing else is said. Bytes that are wrong become U+FFFD."""
    codec, mark = html_encoding(data)
    return data[mark:].decode(codec or "utf-8", "replace")


def _label(attributes: bytes) -> str:
    """What the attributes of a meta element say, or an empty string."""
    found: dict[str, str] = {}
    for name, *values in _ATTRIBUTE.findall(attributes):
        found.setdefault(name.decode("latin-1").lower(), b"".join(values).decode("latin-1"))
    if "charset" in found:
        return found["charset"]
    if found.get("http-equiv", "").strip().lower() == "content-type":
        named = _CHARSET.search(found.get("content", ""))
        return named[1] if named else ""
    return ""


def _codec(label: str) -> str | None:
    name = label.strip().lower()
    for known in (name, name.removeprefix("x-"), name.replace("windows-31j", "cp932").replace("windows-", "cp")):
        try:
            return _CODECS.get(codecs.lookup(known).name)
        except (LookupError, ValueError):  # ValueError: a NUL in the name
            continue
    return None
