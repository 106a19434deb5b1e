import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# core
def simd_level() -> str: ...
def default_threads() -> int: ...
def has_surrogates(text: str) -> bool: ...

class Texts:
    def __init__(self, strings: Sequence[str]) -> None: ...
    @staticmethod
    def from_arrow(source: Any) -> Texts: ...
    def part(self, begin: int, end: int) -> Texts: ...
    def extend(self, other: Texts) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, document: int) -> str: ...
    @property
    def bytes(self) -> int: ...
    def sizes(self) -> NDArray[np.int64]: ...
    def utf8(self, document: int, start: int = 0, end: int | None = None) -> builtins.bytes: ...
    def slice(self, document: int, start: int, end: int, byte_start: int, byte_end: int) -> str: ...
    def slices(
        self,
        document: NDArray[np.int64],
        start: NDArray[np.int64],
        end: NDArray[np.int64],
        byte_start: NDArray[np.int64],
        byte_end: NDArray[np.int64],
    ) -> list[str]: ...

def code_point_offsets(
    texts: Texts, document: NDArray[np.int64], positions: NDArray[np.int64]
) -> NDArray[np.int64]: ...
def byte_offsets(texts: Texts, offsets: NDArray[np.int64], spans: NDArray[np.int64]) -> NDArray[np.int64]: ...
def is_cluster_boundary(texts: Texts, document: int, at: int) -> bool: ...

# token indexes
class TokenIndexes:
    def __len__(self) -> int: ...

def word_indexes(texts: Texts, threads: int = 1) -> TokenIndexes: ...
def wordpiece_indexes(texts: Texts, wordpiece: WordPiece, threads: int = 1, ids: bool = False) -> TokenIndexes: ...

class ByteLevelIndexes:
    def __init__(self, texts: Texts, lengths: NDArray[np.int32]) -> None: ...
    def add(self, document: int, ids: NDArray[np.int32]) -> None: ...
    def finish(self, counter: Callable[[str], int], threads: int = 1) -> TokenIndexes: ...

def span_indexes(
    texts: Texts,
    starts: NDArray[np.int64],
    continues: NDArray[np.uint8] | None,
    offsets: NDArray[np.int64],
    counter: Callable[[str], int] | None,
) -> TokenIndexes: ...

# chunks
Measure = TokenIndexes | str
Levels = list[
    str | list[str] | tuple[NDArray[np.int64], NDArray[np.int64]] | tuple[str, NDArray[np.int64], NDArray[np.int64]]
]

def pack(
    texts: Texts,
    measure: Measure,
    levels: Levels,
    *,
    keep: str = "end",
    max_tokens: int,
    min_tokens: int = 0,
    overlap: int = 0,
    special_tokens: int = 0,
    threads: int = 1,
) -> tuple[
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
]: ...
def split_spans(
    texts: Texts,
    measure: Measure,
    spans: NDArray[np.int64],
    offsets: NDArray[np.int64],
    levels: Levels,
    *,
    max_tokens: int,
    threads: int = 1,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...
def section_pieces(
    texts: Texts,
    measure: Measure,
    sections: dict[str, NDArray[Any]],
    levels: Levels,
    *,
    max_tokens: int,
    threads: int = 1,
) -> dict[str, NDArray[np.int64]]: ...
def section_groups(
    texts: Texts,
    sections: dict[str, NDArray[Any]],
    pieces: dict[str, NDArray[np.int64]],
    *,
    max_tokens: int,
    min_tokens: int = 0,
    fill: bool = False,
    room_left: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]: ...
def section_chunks(
    texts: Texts,
    measure: Measure,
    sections: dict[str, NDArray[Any]],
    pieces: dict[str, NDArray[np.int64]],
    groups: NDArray[np.int64],
    levels: Levels,
    *,
    max_tokens: int,
    threads: int = 1,
) -> dict[str, NDArray[np.int64]]: ...
def span_ranks(
    texts: Texts, measure: Measure, spans: NDArray[np.int64], offsets: NDArray[np.int64], threads: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def breaks_before(texts: Texts, spans: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.uint8]: ...

# tokens
def token_windows(
    doc_offsets: NDArray[np.int64],
    max_tokens: int,
    overlap: int = 0,
    tail: str = "keep",
    min_tokens: int = 0,
    threads: int | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]: ...
def gather_windows(
    ids: NDArray[np.int32],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    prefix: NDArray[np.int32],
    suffix: NDArray[np.int32],
    pad_id: int = 0,
    length: int | None = None,
    threads: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def pack_windows(
    ids: NDArray[np.int32],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    prefix: NDArray[np.int32],
    suffix: NDArray[np.int32],
    threads: int | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]: ...

# vectors
def pool_spans(
    vectors: NDArray[np.float32] | NDArray[np.float16],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    offsets: NDArray[np.int64] | None = None,
    normalize: bool = True,
    threads: int | None = None,
) -> NDArray[np.float32]: ...
def gather_mean(
    table: NDArray[np.int8] | NDArray[np.float32] | NDArray[np.float16],
    scale: NDArray[np.float32] | None,
    ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
    skip: int = -1,
    normalize: bool = True,
    threads: int | None = None,
) -> NDArray[np.float32]: ...
def static_vectors(
    texts: Texts,
    document: NDArray[np.int64],
    spans: NDArray[np.int64],
    wordpiece: WordPiece,
    table: NDArray[np.int8] | NDArray[np.float32] | NDArray[np.float16],
    scale: NDArray[np.float32] | None,
    skip: int = -1,
    normalize: bool = True,
    threads: int | None = None,
    tokens: TokenIndexes | None = None,
) -> NDArray[np.float32]: ...

# similarity
def adjacent_similarity(
    vectors: NDArray[np.float32] | NDArray[np.float16],
    doc_offsets: NDArray[np.int64],
    block: int = 1,
    threads: int | None = None,
) -> NDArray[np.int32]: ...
def chunk_scores(
    vectors: NDArray[np.float32] | NDArray[np.float16],
    query: NDArray[np.float32],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    share: float = 0.5,
    threads: int | None = None,
) -> NDArray[np.float32]: ...

# boundaries
def boundary_candidates(
    similarity: NDArray[np.int32],
    doc_offsets: NDArray[np.int64],
    method: str,
    value: float,
    threads: int | None = None,
) -> NDArray[np.uint8]: ...
def greedy_cuts(
    similarity: NDArray[np.int32],
    candidates: NDArray[np.uint8],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    doc_offsets: NDArray[np.int64],
    min_tokens: int,
    max_tokens: int,
    threads: int | None = None,
) -> NDArray[np.uint8]: ...
def optimal_cuts(
    similarity: NDArray[np.int32],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    doc_offsets: NDArray[np.int64],
    min_tokens: int,
    max_tokens: int,
    penalty: int = 0,
    threads: int | None = None,
) -> NDArray[np.uint8]: ...
def directional_cuts(
    vectors: NDArray[np.float32] | NDArray[np.float16],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    prior: NDArray[np.uint8],
    doc_offsets: NDArray[np.int64],
    min_tokens: int,
    max_tokens: int,
    segment_length: float = 0.0,
    threads: int | None = None,
) -> NDArray[np.uint8]: ...

class DirectionalStream:
    def __init__(
        self,
        first: NDArray[np.int64],
        last: NDArray[np.int64],
        prior: NDArray[np.uint8],
        min_tokens: int,
        max_tokens: int,
        segment_length: float = 0.0,
    ) -> None: ...
    def add(self, vectors: NDArray[np.float32] | NDArray[np.float16]) -> None: ...
    def result(self) -> NDArray[np.uint8]: ...

# structure
def html_text(
    html: str, section_tags: Sequence[str] = (), drop_tags: Sequence[str] = ()
) -> tuple[str, NDArray[np.int64]]: ...
def html_page(html: str, section_tags: Sequence[str] = ()) -> tuple[str, NDArray[np.int64]] | None: ...

class HtmlPages:
    def __init__(self, pages: Texts, section_tags: Sequence[str], threads: int = 1, trees: bool = False) -> None: ...
    @property
    def unread(self) -> list[int]: ...
    def read(self, document: int, html: str, drop_tags: Sequence[str]) -> None: ...
    def take(self) -> tuple[Texts, dict[str, NDArray[Any]]]: ...

def markdown_blocks(
    text: bytes | str,
    heading_levels: int = 0x7E,
    *,
    front_matter: bool = True,
    tables: bool = True,
    math: bool = True,
    footnotes: bool = True,
) -> dict[str, NDArray[Any]]: ...
def markdown_chunks(
    texts: Any,
    measure: Any,
    *,
    max_tokens: int,
    min_tokens: int = 0,
    overlap: int = 0,
    keep_headings: bool = True,
    reserve_headings: bool = False,
    joint: int = 0,
    defer: bool = False,
    heading_levels: int = 0x7E,
    threads: int = 1,
) -> dict[str, Any]: ...

# sentences
def sentence_spans(
    texts: Texts | list[bytes],
    language: str | None = None,
    newline_is_boundary: bool = False,
    threads: int | None = None,
    characters: bool = False,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...

# WordPiece
class WordPiece:
    def __init__(
        self,
        vocab: list[str],
        *,
        lowercase: bool = True,
        strip_accents: bool = True,
        clean_text: bool = True,
        handle_chinese_chars: bool = True,
        unk: str = "[UNK]",
        prefix: str = "##",
        max_input_chars_per_word: int = 100,
        encode_special: bool = False,
        added: list[tuple[str, int, bool, bool, bool, bool, bool]] = ...,
    ) -> None: ...
    def encode(
        self, texts: list[bytes], threads: int = 1
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]: ...
    def count(self, texts: list[bytes], threads: int = 1) -> NDArray[np.int64]: ...
    def token_to_id(self, token: str) -> int | None: ...
    @property
    def vocab_size(self) -> int: ...
    @property
    def unk_id(self) -> int: ...
    @property
    def vocab(self) -> list[str]: ...
    @property
    def options(self) -> dict[str, Any]: ...

def unicode_record(code_point: int) -> tuple[int, int, list[int], list[int]]: ...
