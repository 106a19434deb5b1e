"""Why a row misses its goal. report.py prints an entry only where the figures of a run say that the goal is missed; what has
not been looked into has no entry, and the page says so."""

from __future__ import annotations

_MEMORY = (
    "SemanticChunker holds the vectors of all sentences of a document (256 float32 each, and work space of the same order) until "
    "it cuts. The others that are over it have more than columns for each sentence, section, turn or operation, or the ids of a "
    "whole document; which of these takes how much has not been measured."
)
REASONS: dict[str, str] = {
    "token-cl100k": (
        "The tokenizer itself is tiktoken; beyond it the ends of every window are tokenised again, because a word without the "
        "space before it has other tokens, and ids become byte positions."
    ),
    "chars": (
        "Some 540 instructions a chunk (`cpu_where.md`), a fifth of them Python's call: where the window ends and the next one "
        "begins, both between characters as readers see them and off white space, the exact size, six columns of int64. The text "
        "goes by at two thirds of what one pass over memory allows here."
    ),
    "delimiters": (
        "Some 670 instructions a chunk (`cpu_where.md`): the last delimiter is searched from the window's end, the white space "
        "around the cut trimmed, the size counted, six columns of int64 written. The stage serves every list of separators, "
        "measure and overlap. The text goes by at half of what one pass over memory allows here."
    ),
    "semantic-tail": (
        "1536 bytes of vectors a sentence are read twice, for norms and for similarities; where they are not in a cache, the "
        "memory's bandwidth sets the limit (`cpu_where.md`)."
    ),
    "semantic-minilm": (
        "Encoding is nearly all of the time. What ours saves is that each sentence is encoded once, not inside windows that "
        "overlap; the rest of the factor is the runtime against torch, with the same arithmetic in fp32."
    ),
    "semantic-bf16": (
        "Encoding is nearly all of the time: the factor is that of the encoder in bfloat16 (`encoders.md`) times what is saved "
        "by encoding each sentence once. Batches are those of one document or a few, smaller than in `encoders.md`."
    ),
    "memory-100mb": _MEMORY,
    "memory-100mb-unicode": _MEMORY,
}
