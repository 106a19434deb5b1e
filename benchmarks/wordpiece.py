"""WordPiece, ids and spans: ours against `tokenizers`, one thread, interleaved in the same process.

    python benchmarks/wordpiece.py                    # the languages below
    python benchmarks/wordpiece.py name=FILE ...      # UTF-8 files of your own

English: the documents in examples/. The others: LibreOffice's help of Debian 12 (Arabic: LibreOffice's messages), which
tools/debian_docs.py downloads and unpacks into the benchmark cache; only paragraphs in the language are taken, each once.

"once" reads a text in 20 KB documents for the first time, after another text has filled the caches of words; "again" reads
it again, as in a corpus that is longer than its vocabulary. Every round checks that the ids are those of `tokenizers`.
Figures are medians of CPU time, MB (10^6 bytes of UTF-8) a second.
"""

from __future__ import annotations

import gettext
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from corpus import CACHE, ROOT
from rapidchunk._wordpiece import default_wordpiece
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

ROUNDS, DOCUMENT, THEIR_SIZE, LEAST = 5, 20_000, 200_000, 3_000_000
HELP = {
    "German": "de", "French": "fr", "Russian": "ru", "Greek": "el", "Hindi": "hi", "Chinese": "zh-CN", "Japanese": "ja",
    "Korean": "ko",
}  # fmt: skip
LATIN = ("German", "French")


def cpu_seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def in_the_language(lines: Iterable[str], latin: bool) -> str:
    """Lines of some length that are mostly letters, and not of ASCII where the script is another; each once."""
    kept = dict.fromkeys(line.strip() for line in lines)
    share = str.isalpha if latin else (lambda character: not character.isascii())
    return "".join(line + "\n" for line in kept if len(line) >= 15 and sum(map(share, line)) >= 0.5 * len(line))


def languages() -> dict[str, str]:
    """Name -> text of all that can be had."""
    examples = sorted((ROOT / "examples/documents").rglob("*.md")) + sorted(
        (ROOT / "examples/documents").rglob("*.txt")
    )
    texts = {"English": "".join(path.read_text("utf-8") for path in examples)}
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        from debian_docs import paragraphs, read, unpack
    except ImportError as error:
        print(f"English only: {error}", file=sys.stderr)
        return texts
    root = CACHE / "packages"
    missing = unpack([*(f"libreoffice-help-{code.lower()}" for code in HELP.values()), "libreoffice-l10n-ar"], root)
    if missing:
        print(f"not available: {', '.join(missing)}", file=sys.stderr)
    for name, code in HELP.items():
        pages = sorted((root / "usr/share/libreoffice/help" / code).rglob("*.html"))
        texts[name] = in_the_language((line for page in pages for line in paragraphs(read(page), 15)), name in LATIN)
    catalogs = sorted((root / "usr/lib/libreoffice/program/resource/ar").rglob("*.mo"))
    messages = (line for path in catalogs for line in _messages(path))
    texts["Arabic"] = in_the_language(messages, False)
    return {name: text for name, text in texts.items() if text}


def _messages(path: Path) -> list[str]:
    with path.open("rb") as file:
        catalog = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    return [line for text in catalog.values() if isinstance(text, str) for line in text.splitlines()]


def main() -> None:
    given = dict(argument.split("=", 1) for argument in sys.argv[1:])
    texts = {name: Path(path).read_text("utf-8") for name, path in given.items()} or languages()
    ours = default_wordpiece()
    theirs = Tokenizer(WordPiece({token: i for i, token in enumerate(ours.vocab)}, unk_token="[UNK]"))
    theirs.normalizer, theirs.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
    other = [" ".join(f"q{i}z" for i in range(120_000)).encode()]  # more words than the caches hold
    times: dict[str, dict[str, list[float]]] = {}
    for _ in range(ROUNDS):
        for name, text in texts.items():
            data = text.encode()
            part = data[:THEIR_SIZE].decode("utf-8", "ignore")
            pieces = [data[i : i + DOCUMENT] for i in range(0, len(data), DOCUMENT)]
            assert ours.encode([part.encode()])[0].tolist() == theirs.encode(part).ids, name
            ours.count(other, 1)
            row = times.setdefault(name, {"once": [], "again": [], "count": [], "tokenizers": []})
            row["once"].append(cpu_seconds(partial(ours.encode, pieces, 1)) / len(data))
            more = pieces * (1 + LEAST // len(data))
            row["again"].append(cpu_seconds(partial(ours.encode, more, 1)) / sum(map(len, more)))
            row["count"].append(cpu_seconds(partial(ours.count, more, 1)) / sum(map(len, more)))
            row["tokenizers"].append(cpu_seconds(partial(theirs.encode, part)) / len(part.encode()))
    print("| | MB | once | again | counted, again | `tokenizers` |\n| --- | --- | --- | --- | --- | --- |")
    for name, row in times.items():
        once, again, count, slow = (1e-6 / statistics.median(row[key]) for key in row)
        size = len(texts[name].encode()) / 1e6
        print(f"| {name} | {size:.1f} | {once:.0f} | {again:.0f} | {count:.0f} | {slow:.2f} |")


if __name__ == "__main__":
    main()
