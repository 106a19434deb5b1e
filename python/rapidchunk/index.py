"""The main job: files to a Parquet file of chunks, metadata and vectors.

Documents stream through in batches. Each batch becomes a part, a Parquet file in a hidden work folder beside the output,
and is entered in the folder's manifest; at the end the parts are joined into one file, which takes the output's place in
one rename. So a run that is killed leaves no half file, and a later run can go on after the last part.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from typing import IO, Any

import numpy as np

from rapidchunk import strategies, vectors
from rapidchunk._surrogates import without_surrogates
from rapidchunk._version import __version__
from rapidchunk.chunkers.base import Chunker
from rapidchunk.chunkers.chat import ChatChunker
from rapidchunk.chunks import Chunks, text_hash
from rapidchunk.documents import STDIN_NAME, Document, InputError, Source, read
from rapidchunk.presets import sized
from rapidchunk.vectors import SentenceVectors, joined, of_table

__all__ = ["SCHEMA_KEY", "VECTORS", "Indexer", "Report", "RunError", "Settings"]

#: Key of the settings (JSON) in the schema metadata of the Parquet file.
SCHEMA_KEY = b"rapidchunk"
_STRINGS = ("document", "file", "text", "id", "strategy", "section")
_NUMBERS = (
    "line", "index", "count", "start", "end", "byte_start", "byte_end", "tokens", "characters", "start_line", "end_line",
    "page_start", "page_end", "level", "parent",
)  # fmt: skip
#: The columns with vectors.
VECTORS = ("vector", "sentence_vectors")
#: The columns that an index always has; `VECTORS` only with an encoder.
OWN_COLUMNS = (*_STRINGS, *_NUMBERS, "headings", *VECTORS)
#: Bytes of text in a batch: large where only chunking happens, small where encoding makes a batch take its time.
BATCH_BYTES = {False: 8 << 20, True: 1 << 20}
#: Rows are gathered up to about this many bytes for a row group of the output.
ROW_GROUP_BYTES = 32 << 20

Progress = Callable[[int, int, int], object]


class RunError(RuntimeError):
    """The output or its work folder is not in a state to go on from; the message says what to do."""


@dataclass(frozen=True)
class Settings:
    """What decides about the content of an index; it is kept in the file, and a resumed run must have the same.

    Attributes:
        strategy: a name from `rapidchunk.strategies`, or "auto" for the one that suits each file.
        options: the strategy's parameters, JSON values; with "auto" those that a strategy does not have are left out, and
            sizes that are not given are those of `for_document`.
        encoder: a known model or an absolute path, recorded for `search`; None: no vectors.
        tokenizer: a name or an absolute path.
        skip_errors: inputs that cannot be read are left out.
        vectors: "reencode", "mean" or "late"; see `Chunks.encode`. Strategies that make vectors themselves are told.
        sentence_vectors: keep those of the sentences of every chunk too, for `search`.
    """

    strategy: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)
    encoder: str | None = None
    tokenizer: str = "bert"
    skip_errors: bool = False
    vectors: str = "reencode"
    sentence_vectors: bool = False


@dataclass
class Report:
    """What came of it: counts. `embedded` and `reused` are chunks whose vectors are new, or out of the file before."""

    files: int = 0
    documents: int = 0
    chunks: int = 0
    skipped: int = 0
    dimension: int | None = None
    resumed: int = 0
    embedded: int = 0
    reused: int = 0


@dataclass
class _Manifest:
    """The work folder's table of contents.

    `source` and `line` are the last document that is in a part: later documents remain to be done.
    `kinds` has the JSON types that were seen for each key of metadata.
    """

    settings: dict[str, Any]
    sources: list[list[Any]]
    parts: list[str] = field(default_factory=list)
    source: int = -1
    line: int = 0
    documents: int = 0
    chunks: int = 0
    skipped: int = 0
    dimension: int | None = None
    embedded: int = 0
    reused: int = 0
    kinds: dict[str, list[str]] = field(default_factory=dict)


class Indexer:
    """One run from sources to a Parquet file.

    Args:
        sources: from `rapidchunk.documents.find`.
        output: the Parquet file to write or replace.
        settings: see `Settings`.
        encoder: the encoder itself; its name is in the settings.
        resume: go on after the last part of a run that was interrupted, if there is one.
        update: take the vectors of texts that are in the output already (in any document, by the same encoder) from there.
        batch_bytes: bytes of text in a batch; what is lost at most when a run is killed.
        stdin: in place of the standard input.
        warn: called with a line of text for each input left out.

    Raises:
        ValueError: a parameter of the strategy is out of range.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        output: str | os.PathLike[str],
        settings: Settings,
        *,
        encoder: Any = None,
        resume: bool = False,
        update: bool = False,
        batch_bytes: int | None = None,
        stdin: IO[bytes] | None = None,
        warn: Callable[[str], object] | None = None,
    ) -> None:
        if (encoder is None) != (settings.encoder is None):
            raise ValueError("encoder and settings.encoder must be given together")
        if settings.vectors not in vectors.METHODS:
            raise ValueError(f"vectors must be one of {', '.join(vectors.METHODS)}, not {settings.vectors!r}")
        if settings.vectors == "late" and encoder is not None:
            vectors.require_tokens(encoder)
        self.sources = list(sources)
        self.output = Path(output)
        self.settings = settings
        self.encoder = encoder
        self.resume = resume
        self.update = update
        self.batch_bytes = batch_bytes or BATCH_BYTES[encoder is not None]
        self.stdin = stdin
        self.warn = warn or (lambda line: None)
        self.folder = self.output.parent / f".{self.output.name}.rapidchunk"
        self._chunkers: dict[tuple[str, str], Chunker] = {}
        self._old: _OldVectors | None = None
        if settings.strategy == "auto":
            for name in sorted({source.strategy for source in self.sources} - {"code"}):
                self._chunker(name)
        else:
            self._chunker(settings.strategy)

    def run(self, progress: Progress | None = None) -> Report:
        """Does the work.

        Args:
            progress: called with (bytes of input done, bytes of input in all or 0, chunks so far).

        Raises:
            InputError: an input cannot be read (unless `skip_errors`).
            RunError: another run writes this output, or there is something else to go on from than asked for.
        """
        if self.output.is_dir():
            raise RunError(f"{self.output} is a folder")
        if not self.output.parent.is_dir():
            raise RunError(f"{self.output.parent}: no such folder")
        with _locked(self.folder):
            manifest = self._manifest()
            if self.update and self.encoder is not None and self.output.exists():
                self._old = _old_vectors(self.output, manifest.settings)
            report = Report(resumed=manifest.documents)
            tell = _Tell(progress, self.sources, manifest)
            for batch, source, line in self._batches(manifest):
                self._part(manifest, batch, tell)
                manifest.source, manifest.line = source, line
                _write_json(self.folder / "manifest.json", asdict(manifest))
            self._join(manifest)
            report.files = len(self.sources)
            report.documents, report.chunks, report.skipped = manifest.documents, manifest.chunks, manifest.skipped
            report.dimension = manifest.dimension
            report.embedded, report.reused = manifest.embedded, manifest.reused
            shutil.rmtree(self.folder)
        return report

    def _chunker(self, name: str, fitting: Mapping[str, Any] | None = None) -> Chunker:
        key = (name, json.dumps(fitting or {}, sort_keys=True))
        if key not in self._chunkers:
            options = dict(self.settings.options)
            if self.settings.strategy == "auto":
                known = strategies.parameters(name)
                options = sized(name, {option: value for option, value in options.items() if option in known})
            options |= fitting or {}
            shared: dict[str, Any] = {"tokenizer": self.settings.tokenizer, "encoder": self.encoder}
            # A strategy with vectors has those of its sentences at hand; others get theirs in `_encode`.
            if self.settings.sentence_vectors and "sentence_vectors" not in options:
                shared["sentence_vectors"] = True
            if self.settings.vectors == "mean" and "vectors" not in options:
                shared["vectors"] = "mean"
            self._chunkers[key] = strategies.make(name, options, shared=shared)
        return self._chunkers[key]

    def _manifest(self) -> _Manifest:
        """The manifest to go on from: an empty one, or that of the run that was interrupted."""
        given = {**asdict(self.settings), "version": __version__}
        if self.settings.encoder is not None:
            given["encoder_files"] = _fingerprint(Path(self.settings.encoder))
        sources = [[source.name, source.format, source.size, source.stamp] for source in self.sources]
        fresh: _Manifest = _Manifest(json.loads(json.dumps(given)), sources)
        path = self.folder / "manifest.json"
        if self.resume and path.exists():
            try:
                old = _Manifest(**json.loads(path.read_text()))
            except (ValueError, TypeError):
                raise RunError(f"{path} cannot be read; run without --resume to begin again") from None
            _require_same(old, fresh)
            for entry in self.folder.glob("part-*"):
                if entry.name not in old.parts:
                    entry.unlink()
            return old
        for entry in self.folder.iterdir():
            if entry.name != "lock":
                entry.unlink()
        return fresh

    def _batches(self, manifest: _Manifest) -> Iterator[tuple[list[Document], int, int]]:
        """Batches of documents that remain, each with the place of its last document."""
        batch: list[Document] = []
        size = 0
        skipped = 0

        def leave_out(error: InputError) -> None:
            nonlocal skipped
            if not self.settings.skip_errors:
                raise error
            if (number, error.line) > place:  # an earlier run has counted the others
                skipped += 1
                self.warn(f"left out: {error}")

        place = (manifest.source, manifest.line)
        for number, source in enumerate(self.sources):
            if number < place[0] or (number == place[0] and source.format != "jsonl"):
                continue
            for document in read(source, self.stdin, leave_out, loose=self.settings.strategy == "auto"):
                if (number, document.line or 0) <= place:
                    continue
                batch.append(document)
                size += len(document.text)
                if size >= self.batch_bytes:
                    manifest.skipped, skipped = manifest.skipped + skipped, 0
                    yield batch, number, document.line or 0
                    batch, size = [], 0
        manifest.skipped += skipped
        if batch:
            yield batch, len(self.sources), 0

    def _part(self, manifest: _Manifest, batch: list[Document], tell: _Tell) -> None:
        """Chunks, encodes and saves one batch; enters it in the manifest."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        tables = []
        pieces: list[tuple[Chunks, list[Document]]] = []
        chosen = [(document, self._choice(manifest, document)) for document in batch]
        for choice, group in groupby((pair for pair in chosen if pair[1] is not None), key=lambda pair: pair[1]):
            assert choice is not None
            chunker = self._chunker(*choice)
            pieces.extend(self._cut(manifest, chunker, [document for document, _ in group]))
        for place, (chunks, run) in enumerate(pieces):
            pieces[place] = chunks.with_metadata(), run
        self._encode(manifest, pieces, tell, batch[-1])
        for chunks, run in pieces:
            if len(chunks):
                tables.append(self._table(manifest, chunks, run))
        manifest.documents += sum(len(run) for _, run in pieces)
        if tables:
            table = pa.concat_tables(tables, promote_options="permissive")
            name = f"part-{len(manifest.parts):06d}.parquet"
            temporary = self.folder / f"{name}.tmp"
            pq.write_table(table, temporary, compression="zstd", use_dictionary=["document", "file"])
            _settle(temporary, self.folder / name)
            manifest.parts.append(name)
            manifest.chunks += table.num_rows
        tell.done(batch[-1], manifest.chunks)

    def _choice(self, manifest: _Manifest, document: Document) -> tuple[str, dict[str, Any]] | None:
        """The strategy of a document, and options that go with it; None: it is left out."""
        if self.settings.strategy != "auto":
            return self.settings.strategy, {}
        source = document.source
        if source.format == "jsonl" or source.name == STDIN_NAME:
            return document.strategy or source.strategy, {}
        try:
            return strategies.choose(source.name, document.text)
        except ValueError as error:
            self._leave_out(manifest, document, error)
            return None

    def _cut(self, manifest: _Manifest, chunker: Chunker, run: list[Document]) -> list[tuple[Chunks, list[Document]]]:
        """The chunks of a run of documents; where one cannot be cut, one by one, to name or leave out that one."""
        texts = [d.text if d.messages is None or not isinstance(chunker, ChatChunker) else d.messages for d in run]
        try:
            return [(chunker(texts, ids=[d.id for d in run]), run)]
        except ValueError as error:
            if len(run) == 1:
                self._leave_out(manifest, run[0], error)
                return []
            return [piece for document in run for piece in self._cut(manifest, chunker, [document])]

    def _leave_out(self, manifest: _Manifest, document: Document, error: ValueError) -> None:
        reason = " ".join(str(error).removeprefix("texts: document 0: ").split())
        wrong = InputError(f"{document.place}: {reason}")
        if not self.settings.skip_errors:
            raise wrong from error
        manifest.skipped += 1
        self.warn(f"left out: {wrong}")

    def _encode(
        self, manifest: _Manifest, pieces: list[tuple[Chunks, list[Document]]], tell: _Tell, last: Document
    ) -> None:
        """Gives vectors to the chunks that their strategy gave none: all of a batch in one call, sorted by length there."""
        if self.encoder is None:
            return
        filled = [place for place, (chunks, _) in enumerate(pieces) if len(chunks)]
        lacking = [place for place in filled if pieces[place][0].vectors is None]
        manifest.embedded += sum(len(pieces[place][0]) for place in filled if pieces[place][0].vectors is not None)
        groups: dict[bool, list[int]] = {True: [], False: []}  # by whether their sentences are wanted too
        for place in lacking:
            groups[self.settings.sentence_vectors and pieces[place][0].sentence_vectors is None].append(place)
        for sentences, here in groups.items():
            if not here:
                continue
            found, kept = self._vectors(manifest, [pieces[place][0] for place in here], sentences, tell, last)
            begin = 0
            for place in here:
                chunks, run = pieces[place]
                rows = slice(begin, begin + len(chunks))
                own = chunks.replace(vectors=found[rows], sentence_vectors=None if kept is None else kept[rows])
                pieces[place] = own, run
                begin += len(chunks)

    def _vectors(
        self, manifest: _Manifest, tables: list[Chunks], sentences: bool, tell: _Tell, last: Document
    ) -> tuple[np.ndarray, SentenceVectors | None]:
        """The vectors of all rows of some tables and, on request, of their sentences: out of the file before where it has
        them, else new."""
        method = self.settings.vectors
        hashes = [digest for chunks in tables for digest in chunks.text_hashes()]
        # Late vectors depend on the document around a chunk, so that the same chunk may have others now.
        known = self._old if method != "late" else None
        old = np.array([known is not None and digest in known.rows for digest in hashes], bool)
        manifest.embedded += int((~old).sum())
        manifest.reused += int(old.sum())

        def progress(done: int, total: int) -> None:
            tell.within(last, done / max(total, 1))

        parts: list[np.ndarray] = []
        kept: list[SentenceVectors | None] = []
        if known is not None and old.any():
            again, again_sentences = known.take([digest for digest, there in zip(hashes, old) if there])
            parts.append(again)
            kept.append(again_sentences)
        if not old.all():
            texts = [text for chunks in tables for text in chunks.contexts()]
            texts = [text for text, there in zip(texts, old) if not there]
            found = None
            if sentences or method == "mean":
                fresh, lengths = vectors.of_sentences(texts, self.encoder, progress=progress)
                kept.append(fresh)
                found = vectors.mean(fresh, lengths)
            if method == "reencode":
                found = self.encoder.encode(texts, progress=progress)
            elif method == "late":
                found = np.concatenate([vectors.late(chunks, self.encoder) for chunks in tables])
            assert found is not None
            parts.append(found)
        if len({part.shape[1] for part in parts}) > 1:
            raise RunError(
                f"the vectors in {self.output} have {parts[0].shape[1]} values, the encoder gives {parts[1].shape[1]}; "
                "run without --update"
            )
        order = np.empty(len(hashes), np.int64)
        order[np.concatenate([np.flatnonzero(old), np.flatnonzero(~old)])] = np.arange(len(hashes))
        together = joined(kept, [len(part) for part in parts]) if sentences else None
        return np.concatenate(parts)[order], None if together is None else together[order]

    def _table(self, manifest: _Manifest, chunks: Chunks, run: list[Document]) -> Any:
        """One table of our columns; metadata as JSON text, because a key may have other types in later documents."""
        import pyarrow as pa

        if chunks.vectors is None:
            dimension = None
        else:
            dimension = chunks.vectors.shape[1]
            if manifest.dimension not in (None, dimension):
                raise ValueError(f"the encoder gave vectors of {dimension} values after {manifest.dimension}")
            manifest.dimension = dimension
        numbers = chunks.document
        table = chunks.to_arrow()
        files = pa.array([document.source.name for document in run])
        columns: dict[str, Any] = {
            "document": table["document"],
            "file": files.take(pa.array(numbers)),
            "line": pa.array(_lines(chunks, run), pa.int64()),
        }
        columns |= {name: table[name] for name in table.column_names if name not in columns}
        for key in sorted({key for document in run for key in document.metadata}):
            values = [json.dumps(d.metadata[key]) if d.metadata.get(key) is not None else None for d in run]
            kinds = {_kind(document.metadata[key]) for document in run if document.metadata.get(key) is not None}
            seen = manifest.kinds.setdefault(key, [])
            seen.extend(sorted(kinds.difference(seen)))
            columns[f"json:{key}"] = pa.array(values, pa.large_string()).take(pa.array(numbers))
        return pa.table(columns)

    def _join(self, manifest: _Manifest) -> None:
        """Parts to the output file."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        paths = [self.folder / name for name in manifest.parts]
        schemas = [pq.read_schema(path).remove_metadata() for path in paths]
        parts = pa.unify_schemas(schemas, promote_options="permissive") if schemas else _empty_schema()
        final = _final_schema(parts, manifest)
        about = {**manifest.settings, "dimension": manifest.dimension, "documents": manifest.documents}
        schema = final.with_metadata({SCHEMA_KEY: json.dumps(about).encode()})
        temporary = self.folder / "output.tmp"
        with pq.ParquetWriter(temporary, schema, compression="zstd", use_dictionary=["document", "file"]) as writer:
            group: list[Any] = []
            for path in paths:
                table = pq.read_table(path).replace_schema_metadata(None)
                group.append(_finished(table, parts, schema))
                if sum(part.nbytes for part in group) >= ROW_GROUP_BYTES:
                    writer.write_table(pa.concat_tables(group))
                    group = []
            if group:
                writer.write_table(pa.concat_tables(group))
        _settle(temporary, self.output)


class _Tell:
    """Progress in bytes of the input, between batches and inside of them."""

    def __init__(self, progress: Progress | None, sources: Sequence[Source], manifest: _Manifest) -> None:
        self.progress = progress
        self.before: dict[str, int] = {}
        total = 0
        for source in sources:
            self.before[source.name] = total
            total += source.size
        self.total = 0 if any(source.stamp == 0 for source in sources) else total
        self.at = 0
        self.chunks = manifest.chunks

    def done(self, last: Document, chunks: int) -> None:
        self.at, self.chunks = self._place(last), chunks
        self._call(self.at)

    def within(self, last: Document, share: float) -> None:
        self._call(self.at + int((self._place(last) - self.at) * share))

    def _place(self, last: Document) -> int:
        return self.before[last.source.name] + last.read

    def _call(self, done: int) -> None:
        if self.progress is not None:
            self.progress(done, self.total, self.chunks)


def _lines(chunks: Chunks, run: list[Document]) -> list[int | None]:
    """The line in its file where each chunk begins; for JSON lines the record's; None where the text is not the file's own
    (HTML, JSON messages)."""
    lines: list[int | None] = [1] * len(chunks)
    own = [
        document.line is None and (document.messages is not None or chunks.document_text(n) != document.text)
        for n, document in enumerate(run)
    ]
    previous, at, line = -1, 0, 1
    for row, (number, start) in enumerate(zip(chunks.document.tolist(), chunks.start.tolist())):
        document = run[number]
        if document.line is not None:
            lines[row] = document.line
            continue
        if own[number]:
            lines[row] = None
            continue
        if number != previous:
            previous, at, line = number, 0, 1
        line += document.text.count("\n", at, start)  # starts never go backwards
        at = start
        lines[row] = line
    return lines


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if -(2**63) <= value < 2**63 else "other"
    if isinstance(value, float):
        return "float" if math.isfinite(value) else "other"
    return "str" if isinstance(value, str) else "other"


def _metadata_names(schema: Any, taken: Sequence[str]) -> dict[str, str]:
    """Column of a part -> column of the output, for metadata. Names that are taken get "meta_" before them."""
    names: dict[str, str] = {}
    used = {*OWN_COLUMNS, *taken}
    for column in schema.names:
        if column.startswith("json:"):
            name = without_surrogates(column.removeprefix("json:")) or "meta_"
            while name in used:
                name = f"meta_{name}"
            used.add(name)
            names[column] = name
    return names


def _final_schema(parts: Any, manifest: _Manifest) -> Any:
    """The output's schema: metadata with the one type that all its values have, else as text."""
    import pyarrow as pa

    plain = [name for name in parts.names if not name.startswith("json:")]
    renamed = _metadata_names(parts, plain)
    types = {"bool": pa.bool_(), "int": pa.int64(), "float": pa.float64(), "str": pa.large_string()}
    fields = []
    for column in parts:
        if column.name not in renamed:
            fields.append(pa.field(column.name, pa.string() if pa.types.is_null(column.type) else column.type))
            continue
        kinds = set(manifest.kinds.get(column.name.removeprefix("json:"), ()))
        if kinds == {"int", "float"}:
            kinds = {"float"}
        type = types.get(next(iter(kinds)), pa.large_string()) if len(kinds) == 1 else pa.large_string()
        fields.append(pa.field(renamed[column.name], type))
    return pa.schema(fields)


def _empty_schema() -> Any:
    import pyarrow as pa

    return pa.schema(
        [
            *((name, pa.large_string() if name == "text" else pa.string()) for name in _STRINGS),
            *((name, pa.int64()) for name in _NUMBERS),
            ("headings", pa.list_(pa.string())),
        ]
    )


def _finished(table: Any, parts: Any, final: Any) -> Any:
    """A part with all columns of the output, of the output's types."""
    import pyarrow as pa

    columns = []
    for source, target in zip(parts, final):
        if source.name not in table.column_names:
            columns.append(pa.nulls(table.num_rows, target.type))
        elif source.name.startswith("json:"):
            columns.append(_metadata(table[source.name].to_pylist(), target.type))
        else:
            columns.append(table[source.name].cast(target.type))
    return pa.table(columns, schema=final)


def _metadata(column: list[str | None], type: Any) -> Any:
    import pyarrow as pa

    values = [None if text is None else json.loads(text) for text in column]
    if pa.types.is_large_string(type):
        # A string is itself; anything else keeps its JSON.
        texts = [value if value is None or isinstance(value, str) else text for value, text in zip(values, column)]
        return pa.array([None if text is None else without_surrogates(text) for text in texts], type)
    if pa.types.is_floating(type):
        values = [None if value is None else float(value) for value in values]
    return pa.array(values, type)


def _require_same(old: _Manifest, new: _Manifest) -> None:
    """Raises RunError, naming what differs, unless the interrupted run was of the same settings and inputs."""

    def flat(settings: dict[str, Any]) -> dict[str, Any]:
        return {**{k: v for k, v in settings.items() if k != "options"}, **settings.get("options", {})}

    before, now = flat(old.settings), flat(new.settings)
    changes = [
        f"{name} was {before.get(name)!r} and is {now.get(name)!r}"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]
    if old.sources != new.sources:
        earlier, present = ({source[0]: source for source in m.sources} for m in (old, new))
        differ = sorted(name for name in {*earlier, *present} if earlier.get(name) != present.get(name))
        named = ", ".join(differ[:3]) + (f" and {len(differ) - 3} more" if len(differ) > 3 else "")
        changes.append(f"the inputs changed ({named})" if differ else "the inputs are in another order")
    if changes:
        raise RunError(
            f"cannot resume: {'; '.join(changes)}. Run with the same settings, or without --resume to begin again"
        )


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """The work folder, made if need be, for this process alone. The lock goes with the process, however it ends."""
    import fcntl

    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RunError(f"another run is writing this output (it holds {folder / 'lock'})") from None
        try:
            yield
        finally:
            if folder.exists() and {entry.name for entry in folder.iterdir()} <= {"lock"}:
                shutil.rmtree(folder)  # nothing to go on from


def _fingerprint(path: Path) -> str:
    """Of the names, sizes and times of change of an encoder's files; empty for one that has only a name."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path] if path.exists() else []
    stats = [(os.fspath(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files if file.is_file()]
    return hashlib.blake2b(repr(stats).encode(), digest_size=16).hexdigest() if stats else ""


class _OldVectors:
    """The vectors of an index, by what was embedded, wherever it was then; read a row group at a time, the last one kept.

    Attributes:
        rows: hash of the text (as `Chunks.text_hashes`) -> row group and row in it.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        names = file.schema_arrow.names
        self._columns = [name for name in VECTORS if name in names]
        self.rows: dict[str, tuple[int, int]] = {}
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=[name for name in ("text", "context") if name in names])
            texts = table["text"].to_pylist()
            contexts = table["context"].to_pylist() if "context" in names else [None] * len(texts)
            embedded = (text if context is None else context for text, context in zip(texts, contexts))
            self.rows.update((text_hash(text), (group, row)) for row, text in enumerate(embedded))
        self._at = -1
        self._group: tuple[np.ndarray | None, SentenceVectors | None] = (None, None)

    def take(self, hashes: Sequence[str]) -> tuple[np.ndarray, SentenceVectors | None]:
        """The vectors of texts that are all in `rows`, in the order of their hashes."""
        places = np.array([self.rows[digest] for digest in hashes], np.int64)
        order = np.argsort(places[:, 0], kind="stable")
        found: list[np.ndarray] = []
        kept: list[SentenceVectors | None] = []
        for group in np.unique(places[:, 0]).tolist():
            if group != self._at:
                self._at, self._group = group, of_table(self._file.read_row_group(group, columns=self._columns))
            rows = places[places[:, 0] == group, 1]
            single, sentences = self._group
            assert single is not None
            found.append(single[rows])
            kept.append(None if sentences is None else sentences[rows])
        back = np.argsort(order)
        together = joined(kept, [len(part) for part in found])
        return np.concatenate(found)[back], None if together is None else together[back]


def _old_vectors(path: Path, settings: Mapping[str, Any]) -> _OldVectors | None:
    """The vectors of an index; None where the encoder or the kind of vectors was another."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise RunError(f"{path} is not a Parquet file, so there is nothing to update: {error}") from None
    about = (file.schema_arrow.metadata or {}).get(SCHEMA_KEY)
    if about is None:
        raise RunError(f"{path} was not written by rapidchunk index, so there is nothing to update")
    before = json.loads(about)
    decisive = ("encoder", "encoder_files", "vectors", "sentence_vectors")
    same = all(before.get(name) == settings.get(name) for name in decisive)
    if not same or not {"text", "vector"} <= set(file.schema_arrow.names):
        return None
    return _OldVectors(file)


def _write_json(path: Path, value: Any) -> None:
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(value))
    _settle(temporary, path)


def _settle(temporary: Path, path: Path) -> None:
    """Puts a written file in its place, whole or not at all, even when the machine goes down."""
    with open(temporary, "rb+") as file:
        os.fsync(file.fileno())
    os.replace(temporary, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
