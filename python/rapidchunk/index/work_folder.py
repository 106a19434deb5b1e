"""The hidden folder beside the output in which a run keeps what is done, so that another can go on."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rapidchunk.index.settings import RunError

__all__ = ["Manifest", "locked", "require_same", "settle", "write_json"]


@dataclass
class Manifest:
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


def require_same(old: Manifest, new: Manifest) -> None:
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
def locked(folder: Path) -> Iterator[None]:
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


def write_json(path: Path, value: Any) -> None:
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(value))
    settle(temporary, path)


def settle(temporary: Path, path: Path) -> None:
    """Puts a written file in its place, whole or not at all, even when the machine goes down."""
    with open(temporary, "rb+") as file:
        os.fsync(file.fileno())
    os.replace(temporary, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
