"""Why a row misses its goal. report.py prints an entry only where the figures of a run say that the goal is missed; what has
not been looked into has no entry, and the page says so."""

from __future__ import annotations

_MEMORY = (
    "CodeChunker: tree-sitter's own tree of Python takes 41 times its source (measured alone), and gives no way to have the tree "
    "of a part that is sure to be the same: what an error or a string that is not closed covers is decided by what follows. "
    "ApiChunker: of 6.4 times the input, 4.7 are Python objects of paths and operations (470 bytes of text each here; "
    "tracemalloc on a tenth): 0.9 their sections and columns, 1.3 lines of context, 0.4 where they are, and names. JSON decoded "
    "as a whole would add 2.9 (json.loads alone)."
)
_MEMORY_UNICODE = (
    "A text that is not ASCII is converted to UTF-8 as a whole (once the input), and a quarter of it tells where its tokens are. "
    "SemanticChunker: beside that, spans, ranks, products of neighbours and the path of the dynamic programme, some 80 bytes a "
    "sentence. PaperChunker, BookChunker and LegalChunker: pieces, groups and chunks in columns of int64 one after the other."
)
REASONS: dict[str, str] = {
    "token-cl100k": (
        "The tokenizer itself is tiktoken; beyond it the ends of every window are tokenised again, because a word without the "
        "space before it has other tokens, and ids become byte positions."
    ),
    "chars": (
        "Some 540 instructions a chunk (`cpu_where.md`), a fifth of them Python's call: where the window ends and the next one "
        "begins, both between characters as readers see them and off white space, the exact size, six columns of int64. A "
        "batch of 1 MB goes by nearly as fast as one pass over memory allows here, which is some 31 ns a chunk (`cpu_where.md`)."
    ),
    "delimiters": (
        "Some 670 instructions a chunk (`cpu_where.md`): the last delimiter is searched from the window's end, the white space "
        "around the cut trimmed, the size counted, six columns of int64 written. The stage serves every list of separators, "
        "measure and overlap. The text goes by at two thirds of what one pass over memory allows here."
    ),
    "semantic-tail": (
        "1536 bytes of vectors a sentence come from memory, once: norms and similarities are made of rows that are in the "
        "cache still. The memory's bandwidth sets the limit (`cpu_where.md`)."
    ),
    "semantic-minilm": (
        "Encoding is nearly all of the time. What ours saves is that each sentence is encoded once, not inside windows that "
        "overlap; the rest of the factor is the runtime against torch, with the same arithmetic in fp32."
    ),
    "semantic-bf16": (
        "Encoding is nearly all of the time: the factor is that of the encoder in bfloat16 (`encoders.md`) times what is saved "
        "by encoding each sentence once. Batches are those of one document or a few, smaller than in `encoders.md`."
    ),
    "threads": (
        "TokenChunker on one document: windows depend on the one before and are cut by one thread (5 to 7 of 66 ms here). "
        "Otherwise little is left to one thread (with 1231 documents 0.2 of 10 ms before and after the loops); CPU seconds are "
        "the same with one thread and two to within 4 %, and a case's figure moves by a tenth from run to run on shared cores "
        "(RecursiveChunker by characters on one document: 1.79 to 1.98)."
    ),
    "memory-100mb": _MEMORY,
    "memory-100mb-unicode": _MEMORY_UNICODE,
}
