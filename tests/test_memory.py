"""Peak memory, each time in a process of its own: one large document, and a stream of many."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="Linux")

PROGRAM = """
import rapidchunk as rc

def peak():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))

chunker = {chunker}
len(chunker("One sentence. Another, with \\u6587.\\n\\nA paragraph."))
{program}
"""
CHUNKERS = {
    "token": "rc.TokenChunker(512, 64)",
    "sentence": "rc.SentenceChunker(512, 64)",
    "recursive": "rc.RecursiveChunker(512, 64)",
    "characters": "rc.TokenChunker(512, 64, 'chars')",
    "delimiters": "rc.RecursiveChunker(512, 0, 'bytes', separators=[['.', '\\n', '。']])",
    "markdown": "rc.MarkdownChunker(512)",
    "html": "rc.HtmlChunker(512)",
    "windows": "rc.SentenceWindowChunker()",
    "hierarchy": "rc.HierarchicalChunker()",
    "semantic": "rc.SemanticChunker()",
    "semantic, percentile": "rc.SemanticChunker(percentile=90)",
}
TEXTS = {
    "ASCII": "The grain of the year was stored in the long barn behind the mill before the first frost, where it kept well.\\n\\n"
    "The keeper of the light wrote into his log what the wind and the sea had done in the night, and went to sleep.\\n",
    "Chinese": "当年的谷物在第一次霜冻之前就已经存放在磨坊后面的长谷仓里，在那里一直保存得很好，没有受潮。\\n\\n"
    "灯塔的看守人在日志里写下了夜里风和海所做的一切，然后才去睡觉，直到第二天的中午才醒来。\\n",
}
MIB = 1 << 20
# Times the document's UTF-8, where it is not 1.5. A text that is not ASCII is converted as a whole, and 70 bytes a sentence
# (of 45 tokens here) are needed beside that until the cuts are found. Of small texts of two threads, the allocator keeps
# more than was ever in use (60 to 130 MiB for the hierarchy, from run to run).
LIMITS = {("semantic", "Chinese"): 2.4, ("semantic, percentile", "Chinese"): 2.4, ("hierarchy", "Chinese"): 4}


def measured(chunker: str, program: str) -> list[int]:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(chunker=chunker, program=program)],
        env={**os.environ, "RAPIDCHUNK_THREADS": "2"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [int(number) for number in run.stdout.split()]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("strategy", CHUNKERS)
def test_one_large_document(strategy, text):
    """Beyond the columns at most one and a half times the document's UTF-8, and what a process needs for any document (16 MiB:
    the work space of two threads)."""
    size, returned, added = measured(
        CHUNKERS[strategy],
        f"""
text = "{TEXTS[text]}" * ({40 * MIB} // len("{TEXTS[text]}".encode()))
before = peak()
chunks = chunker(text)
added = peak() - before
columns = [chunks.index, *chunks._columns.values()]
columns += [array for column in chunks.extra.values() for array in getattr(column, "spans", [column])]
columns = dict((id(column), column) for column in columns).values()
shown = chunks.document_text(0)  # HTML has a text of its own, which is returned too
returned = sum(getattr(column, "nbytes", 0) for column in columns) + (shown is not text) * len(shown.encode())
print({40 * MIB}, returned, added)
""",
    )
    limit = LIMITS.get((strategy, text), 1.5)
    assert added - returned < limit * size + 16 * MIB, f"{(added - returned) / size:.2f} times the document"


def test_a_stream_of_documents():
    """Ten times the documents take no more memory than the batches that are worked on."""
    added, chunks = measured(
        CHUNKERS["recursive"],
        f"""
def documents():
    for number in range(4000):
        yield str(number) + "{TEXTS["Chinese"]}" * 150
before = peak()
chunks = sum(len(batch) for batch in chunker(documents()).batches())
print(peak() - before, chunks)
""",
    )
    assert chunks > 100_000 and added < 100 * MIB  # the documents are 150 MB
