"""The main job: files to a Parquet file of chunks, metadata and vectors.

Documents stream through in batches. Each batch becomes a part, a Parquet file in a hidden work folder beside the output,
and is entered in the folder's manifest; at the end the parts are joined into one file, which takes the output's place in
one rename. So a run that is killed leaves no half file, and a later run can go on after the last part.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import IO, Any

import numpy as np

from rapidchunk import strategies, vectors
from rapidchunk._version import __version__
from rapidchunk.chunkers.base import Chunker
from rapidchunk.chunkers.chat import ChatChunker
from rapidchunk.chunks import Chunks
from rapidchunk.documents import STDIN_NAME, Document, InputError, Source, read
from rapidchunk.index.columns import SCHEMA_KEY, empty_schema, final_schema, finished, json_kind, lines
from rapidchunk.index.old_vectors import OldVectors, fingerprint, old_vectors
from rapidchunk.index.settings import Report, RunError, Settings
from rapidchunk.index.work_folder import Manifest, locked, require_same, settle, write_json
from rapidchunk.presets import sized
from rapidchunk.vectors import SentenceVectors, joined

__all__ = ["Indexer"]

#: Bytes of text in a batch: large where only chunking happens, small where encoding makes a batch take its time.
BATCH_BYTES = {False: 8 << 20, True: 1 << 20}
#: Rows are gathered up to about this many bytes for a row group of the output.
ROW_GROUP_BYTES = 32 << 20

Progress = Callable[[int, int, int], object]


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
        self._old: OldVectors | None = None
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
        with locked(self.folder):
            manifest = self._manifest()
            if self.update and self.encoder is not None and self.output.exists():
                self._old = old_vectors(self.output, manifest.settings)
            report = Report(resumed=manifest.documents)
            tell = _Tell(progress, self.sources, manifest)
            for batch, source, line in self._batches(manifest):
                self._part(manifest, batch, tell)
                manifest.source, manifest.line = source, line
                write_json(self.folder / "manifest.json", asdict(manifest))
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

    def _manifest(self) -> Manifest:
        """The manifest to go on from: an empty one, or that of the run that was interrupted."""
        given = {**asdict(self.settings), "version": __version__}
        if self.settings.encoder is not None:
            given["encoder_files"] = fingerprint(Path(self.settings.encoder))
        sources = [[source.name, source.format, source.size, source.stamp] for source in self.sources]
        fresh: Manifest = Manifest(json.loads(json.dumps(given)), sources)
        path = self.folder / "manifest.json"
        if self.resume and path.exists():
            try:
                old = Manifest(**json.loads(path.read_text()))
            except (ValueError, TypeError):
                raise RunError(f"{path} cannot be read; run without --resume to begin again") from None
            require_same(old, fresh)
            for entry in self.folder.glob("part-*"):
                if entry.name not in old.parts:
                    entry.unlink()
            return old
        for entry in self.folder.iterdir():
            if entry.name != "lock":
                entry.unlink()
        return fresh

    def _batches(self, manifest: Manifest) -> Iterator[tuple[list[Document], int, int]]:
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

    def _part(self, manifest: Manifest, batch: list[Document], tell: _Tell) -> None:
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
            settle(temporary, self.folder / name)
            manifest.parts.append(name)
            manifest.chunks += table.num_rows
        tell.done(batch[-1], manifest.chunks)

    def _choice(self, manifest: Manifest, document: Document) -> tuple[str, dict[str, Any]] | None:
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

    def _cut(self, manifest: Manifest, chunker: Chunker, run: list[Document]) -> list[tuple[Chunks, list[Document]]]:
        """The chunks of a run of documents; where one cannot be cut, one by one, to name or leave out that one."""
        texts = [d.text if d.messages is None or not isinstance(chunker, ChatChunker) else d.messages for d in run]
        try:
            return [(chunker(texts, ids=[d.id for d in run]), run)]
        except ValueError as error:
            if len(run) == 1:
                self._leave_out(manifest, run[0], error)
                return []
            return [piece for document in run for piece in self._cut(manifest, chunker, [document])]

    def _leave_out(self, manifest: Manifest, document: Document, error: ValueError) -> None:
        reason = " ".join(str(error).removeprefix("texts: document 0: ").split())
        wrong = InputError(f"{document.place}: {reason}")
        if not self.settings.skip_errors:
            raise wrong from error
        manifest.skipped += 1
        self.warn(f"left out: {wrong}")

    def _encode(
        self, manifest: Manifest, pieces: list[tuple[Chunks, list[Document]]], tell: _Tell, last: Document
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
        self, manifest: Manifest, tables: list[Chunks], sentences: bool, tell: _Tell, last: Document
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

    def _table(self, manifest: Manifest, chunks: Chunks, run: list[Document]) -> Any:
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
            "line": pa.array(lines(chunks, run), pa.int64()),
        }
        columns |= {name: table[name] for name in table.column_names if name not in columns}
        for key in sorted({key for document in run for key in document.metadata}):
            values = [json.dumps(d.metadata[key]) if d.metadata.get(key) is not None else None for d in run]
            kinds = {json_kind(document.metadata[key]) for document in run if document.metadata.get(key) is not None}
            seen = manifest.kinds.setdefault(key, [])
            seen.extend(sorted(kinds.difference(seen)))
            columns[f"json:{key}"] = pa.array(values, pa.large_string()).take(pa.array(numbers))
        return pa.table(columns)

    def _join(self, manifest: Manifest) -> None:
        """Parts to the output file."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        paths = [self.folder / name for name in manifest.parts]
        schemas = [pq.read_schema(path).remove_metadata() for path in paths]
        parts = pa.unify_schemas(schemas, promote_options="permissive") if schemas else empty_schema()
        final = final_schema(parts, manifest.kinds)
        about = {**manifest.settings, "dimension": manifest.dimension, "documents": manifest.documents}
        schema = final.with_metadata({SCHEMA_KEY: json.dumps(about).encode()})
        temporary = self.folder / "output.tmp"
        with pq.ParquetWriter(temporary, schema, compression="zstd", use_dictionary=["document", "file"]) as writer:
            group: list[Any] = []
            for path in paths:
                table = pq.read_table(path).replace_schema_metadata(None)
                group.append(finished(table, parts, schema))
                if sum(part.nbytes for part in group) >= ROW_GROUP_BYTES:
                    writer.write_table(pa.concat_tables(group))
                    group = []
            if group:
                writer.write_table(pa.concat_tables(group))
        settle(temporary, self.output)


class _Tell:
    """Progress in bytes of the input, between batches and inside of them."""

    def __init__(self, progress: Progress | None, sources: Sequence[Source], manifest: Manifest) -> None:
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
