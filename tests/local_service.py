"""A service on a free local port that answers well, badly or not at all, as it is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Server:
    """One entry of `script` a request, the last repeated: "hang", "drop", "short" (fewer bytes than announced), "truncated"
    (valid HTTP, half of the JSON), "redirect", a status, ("after", seconds or "date"): status 429 with that Retry-After; all
    else is handed to `answer(body, entry)`, which gives the JSON.

    `seen` has (time, path, headers, body) of every request, `most` the most requests at a time.
    """

    def __init__(self, answer: Callable[[Any, Any], Any]) -> None:
        self.script: list[Any] = ["good"]
        self.seen: list[tuple[float, str, dict[str, str], Any]] = []
        self.most = self.pause = 0
        self.release, self.lock, self.now = threading.Event(), threading.Lock(), 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: object) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer.lock:
                    what = outer.script[min(len(outer.seen), len(outer.script) - 1)]
                    outer.seen.append((time.monotonic(), self.path, dict(self.headers), body))
                    outer.now += 1
                    outer.most = max(outer.most, outer.now)
                time.sleep(outer.pause)
                try:
                    self.answer(body, what)
                finally:
                    with outer.lock:
                        outer.now -= 1

            def answer(self, body: Any, what: Any) -> None:
                if what == "hang":
                    outer.release.wait(10)
                    return
                if what == "drop":
                    self.connection.close()
                    return
                status, after, data = 200, None, b"oops"
                if what == "redirect":
                    status = 302
                elif isinstance(what, tuple):
                    status, after = 429, what[1]
                elif isinstance(what, int):
                    status = what
                else:
                    data = json.dumps(outer.answer(body, what)).encode()
                if what == "truncated":
                    data = data[: len(data) // 2]
                self.send_response(status)
                if after is not None:
                    after = formatdate(time.time() + 2, usegmt=True) if after == "date" else after
                    self.send_header("Retry-After", str(after))
                if what == "redirect":
                    self.send_header("Location", f"{outer.url}/elsewhere")
                self.send_header("Content-Length", str(len(data) + (10 if what == "short" else 0)))
                self.end_headers()
                self.wfile.write(data)

        self.answer = answer
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()

    def stop(self) -> None:
        self.release.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
