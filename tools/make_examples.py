"""Make examples/documents/ (about 1 MB) from documentation packages of Debian 12.

    python tools/make_examples.py [--packages FOLDER]

The documents are in the repository; run this only to change the selection. Needs apt-get, dpkg-deb and lxml.
The licences are stated in examples/documents/SOURCE.txt, which this script writes as well.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path

from debian_docs import bible, markdown, parse, read, unpack

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "examples" / "documents"
PACKAGES = ["postgresql-doc-15", "sqlite3-doc", "bible-kjv", "bible-kjv-text"]

# One Markdown file a chapter: file name -> pages of the PostgreSQL 15 manual, in reading order.
POSTGRESQL = {
    "introduction": ["intro-whatis", "history", "tutorial-arch", "tutorial-createdb", "tutorial-accessdb"],
    "tutorial-sql": ["tutorial-concepts", "tutorial-table", "tutorial-populate", "tutorial-select", "tutorial-join",
                     "tutorial-agg", "tutorial-update", "tutorial-delete"],
    "tutorial-advanced": ["tutorial-views", "tutorial-fk", "tutorial-transactions", "tutorial-window",
                          "tutorial-inheritance"],
    "constraints": ["ddl-constraints"],
    "row-security": ["ddl-rowsecurity"],
    "partitioning": ["ddl-partitioning"],
    "indexes": ["indexes-intro", "indexes-types", "indexes-multicolumn", "indexes-ordering", "indexes-bitmap-scans",
                "indexes-unique", "indexes-expressional", "indexes-partial", "indexes-index-only-scans",
                "indexes-examine"],
    "full-text-search": ["textsearch-intro", "textsearch-tables", "textsearch-controls", "textsearch-dictionaries",
                         "textsearch-indexes", "textsearch-limitations"],
    "concurrency": ["mvcc-intro", "transaction-iso", "explicit-locking", "mvcc-serialization-failure-handling",
                    "mvcc-caveats"],
    "performance": ["using-explain", "planner-stats", "explicit-joins", "populate", "non-durability"],
    "parallel-query": ["how-parallel-query-works", "when-can-parallel-query-be-used", "parallel-plans"],
    "authentication": ["auth-pg-hba-conf", "auth-methods", "auth-password", "client-authentication-problems"],
    "roles": ["database-roles", "role-attributes", "role-membership", "role-removal", "predefined-roles"],
    "maintenance": ["routine-vacuuming", "routine-reindex", "logfile-maintenance"],
    "backup": ["backup-dump", "backup-file", "continuous-archiving"],
    "high-availability": ["different-replication-solutions", "warm-standby-failover"],
    "write-ahead-log": ["wal-reliability", "wal-intro", "wal-async-commit", "wal-configuration", "wal-internals"],
    "json-types": ["datatype-json"],
}  # fmt: skip

# One Markdown file a page of the SQLite documentation.
SQLITE = [
    "whentouse", "atomiccommit", "wal", "howtocorrupt", "isolation", "queryplanner", "foreignkeys", "floatingpoint",
    "quirks", "security", "whynotgit", "recovery", "datatype3",
]  # fmt: skip

# One text file a book: the package's short name -> the book's name.
BOOKS = {"Ruth": "Ruth", "Eccl": "Ecclesiastes", "Jonah": "Jonah", "Mark": "Mark"}

SOURCE = """\
Documents for the demo and the tests, about {size} MB. Made by tools/make_examples.py from packages of Debian 12
(bookworm). Text is taken as it is; only the format is changed (HTML to Markdown, plain text or JSON lines).

postgresql/*.md, postgresql/glossary.jsonl
  From the PostgreSQL 15 manual (package postgresql-doc-15, https://www.postgresql.org/docs/15/).
  Copyright (c) 1996-2022, PostgreSQL Global Development Group
  Copyright (c) 1994, The Regents of the University of California
  PostgreSQL Licence:
    Permission to use, copy, modify, and distribute this software and its documentation for any purpose, without fee,
    and without a written agreement is hereby granted, provided that the above copyright notice and this paragraph and
    the following two paragraphs appear in all copies.

    IN NO EVENT SHALL THE UNIVERSITY OF CALIFORNIA BE LIABLE TO ANY PARTY FOR DIRECT, INDIRECT, SPECIAL, INCIDENTAL, OR
    CONSEQUENTIAL DAMAGES, INCLUDING LOST PROFITS, ARISING OUT OF THE USE OF THIS SOFTWARE AND ITS DOCUMENTATION, EVEN
    IF THE UNIVERSITY OF CALIFORNIA HAS BEEN ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.

    THE UNIVERSITY OF CALIFORNIA SPECIFICALLY DISCLAIMS ANY WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED
    WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE. THE SOFTWARE PROVIDED HEREUNDER IS ON AN "AS-IS"
    BASIS, AND THE UNIVERSITY OF CALIFORNIA HAS NO OBLIGATIONS TO PROVIDE MAINTENANCE, SUPPORT, UPDATES, ENHANCEMENTS,
    OR MODIFICATIONS.

sqlite/*.md, sqlite/faq.jsonl
  From the SQLite 3.40 documentation (package sqlite3-doc, https://www.sqlite.org/docs.html).
  Public domain: "The files listed have been put on the public domain by the sqlite3 contributors."

bible/*.txt, bible/psalms.jsonl
  The King James Version, 1611 (package bible-kjv-text, https://packages.debian.org/bookworm/bible-kjv-text).
  Public domain: "The copyright for the King James Version text of the Bible is expired since the translation was done
  in 1611 under King James the first of Great Britain." (In the United Kingdom the Crown holds letters patent to print
  it.)
"""


def write(name: str, text: str) -> None:
    path = OUT / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_records(name: str, records: list[dict[str, str]]) -> None:
    write(name, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))


def glossary(source: str) -> list[dict[str, str]]:
    """The manual's glossary: one record a term."""
    records: list[dict[str, str]] = []
    for element in parse(source).iter("dt", "dd"):
        text = " ".join(element.text_content().split())
        if element.tag == "dt":
            records.append({"id": f"glossary-{len(records) + 1}", "title": text, "text": ""})
        else:
            records[-1]["text"] = f"{records[-1]['text']}\n{text}".strip()
    return [r for r in records if r["text"] and not r["text"].startswith("See ")]


def faq(source: str) -> list[dict[str, str]]:
    """SQLite's frequently asked questions: one record a question. "(7) How do ..." starts an answer."""
    records: list[dict[str, str]] = []
    for block in markdown(source).split("\n\n"):
        number, _, question = block.lstrip("*# ").partition(") ")
        if number[:1] == "(" and number[1:].isdigit() and question:
            records.append({"id": f"faq-{number[1:]}", "title": question.strip("* "), "text": ""})
        elif records:
            records[-1]["text"] = f"{records[-1]['text']}\n\n{block}".strip()
    return [r for r in records if r["text"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=Path, help="folder for the unpacked packages (default: a temporary one)")
    folder = parser.parse_args().packages
    with tempfile.TemporaryDirectory() as temporary:
        root = folder or Path(temporary)
        if missing := unpack(PACKAGES, root):
            raise SystemExit(f"not available: {', '.join(missing)} (run apt-get update?)")
        shutil.rmtree(OUT, ignore_errors=True)
        manual = root / "usr/share/doc/postgresql-doc-15/html"
        for name, pages in POSTGRESQL.items():
            title = f"# PostgreSQL 15: {name.replace('-', ' ').capitalize()}\n\n"
            write(f"postgresql/{name}.md", title + "\n".join(markdown(read(manual / f"{page}.html")) for page in pages))
        write_records("postgresql/glossary.jsonl", glossary(read(manual / "glossary.html")))
        for page in SQLITE:
            write(f"sqlite/{page}.md", markdown(read(root / f"usr/share/doc/sqlite3/{page}.html")))
        write_records("sqlite/faq.jsonl", faq(read(root / "usr/share/doc/sqlite3/faq.html")))
        chapters = list(bible(root))
        for short, name in BOOKS.items():
            text = "\n\n".join(f"{name} {n}\n\n{' '.join(v)}" for book, n, v in chapters if book == short)
            write(f"bible/{name.lower()}.txt", text + "\n")
        # The first of the five books of Psalms.
        psalms = [(n, verses) for book, n, verses in chapters if book == "Psa" and n <= 41]
        write_records(
            "bible/psalms.jsonl",
            [{"id": f"psalm-{n}", "title": f"Psalm {n}", "text": "\n".join(verses)} for n, verses in psalms],
        )
        size = sum(path.stat().st_size for path in OUT.rglob("*") if path.is_file())
        write("SOURCE.txt", SOURCE.format(size=round(size / 1e6, 1)))
        print(f"{size} bytes in {OUT}")


if __name__ == "__main__":
    main()
