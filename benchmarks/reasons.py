"""Why a row misses its goal. report.py prints an entry only where the figures of a run say that the goal is missed."""

from __future__ import annotations

REASONS: dict[str, str] = {
    "chars": (
        "What is left a chunk are six columns of int64 (48 bytes to write) and the ends moved to word starts; the rest is the "
        "call: Python strings in, arrays out."
    ),
    "delimiters": (
        "All delimiters are found in one pass over the text, not only the last one of each window, because the same stage serves "
        "every list of separators; then six columns of int64 are written a chunk."
    ),
    "semantic-tail": (
        "Given vectors are read once from memory: 1536 bytes a sentence, so the memory's bandwidth sets the limit "
        "(`cpu_where.md` has the measured one)."
    ),
}
