"""Calls to services: JSON over HTTP with retries, and calls of which a bounded number run at a time.

For models behind OpenAI's protocol (OpenAI, vLLM, Ollama, llama.cpp, TEI, LiteLLM, ...) and for callables of the user's,
sync or async. Nothing but the standard library.
"""

from __future__ import annotations

import asyncio
import email.utils
import functools
import http.client
import inspect
import json
import os
import random
import re
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, TypeVar

__all__ = ["Retries", "Service", "ServiceError", "awaited", "concurrently", "seconds"]

#: Seconds that a wait between two tries takes at most, whatever the service asks for.
LONGEST_WAIT = 60.0

Count = Callable[[str, int], object]
Item = TypeVar("Item")
Result = TypeVar("Result")


class ServiceError(RuntimeError):
    """Every try failed, of a cause that might have passed."""


def _ignore(name: str, by: int) -> None:
    pass


def seconds(name: str, value: Any, *, zero: bool = True) -> float:
    """`value` as a finite number of seconds.

    Raises:
        ValueError: it is none; the message names it.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
        raise ValueError(f"{name} must be a number of seconds, not {value!r}")
    if value == 0 and not zero:
        raise ValueError(f"{name} must be more than 0")
    return float(value)


class Retries:
    """Tries again what failed of a cause that may pass: a time-out, a lost connection, an answer cut short, or status 408,
    409, 425, 429 and 5xx (of urllib, or an exception's `status_code`).

    Args:
        retries: further tries after the first.
        backoff: seconds before the first of them, doubled for each one after it and varied by up to a quarter; where the
            service says how long to wait (Retry-After), that long instead. At most `LONGEST_WAIT`.

    Raises:
        ValueError: an argument is out of range.
    """

    def __init__(self, retries: int = 4, backoff: float = 0.5) -> None:
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            raise ValueError(f"retries must be a whole number of at least 0, not {retries!r}")
        self.retries = retries
        self.backoff = seconds("backoff", backoff)

    def call(self, ask: Callable[[], Result], count: Count = _ignore) -> Result:
        """What `ask` gives. `count` is told of "requests" and "retries".

        Raises:
            ServiceError: every try failed.
            Exception: whatever else `ask` raises, at once.
        """
        for attempt in range(self.retries + 1):
            count("requests", 1)
            try:
                return ask()
            except Exception as error:
                if not _passing(error):
                    raise
                if attempt == self.retries:
                    raise ServiceError(f"failed {attempt + 1} times, at last with: {_said(error)}") from error
                count("retries", 1)
                wait = _retry_after(error)
                if wait is None:
                    wait = self.backoff * 2**attempt * random.uniform(0.75, 1.25)
                time.sleep(min(wait, LONGEST_WAIT))
        raise AssertionError("unreachable")


class Service:
    """A service with OpenAI's protocol. May be shared by threads; a pickle of it does not have the key.

    Args:
        base_url: what comes before ``/chat/completions`` and ``/embeddings``, such as "http://localhost:11434/v1".
        api_key: sent as bearer token; default the environment's ``OPENAI_API_KEY``, if set.
        retries, backoff: see `Retries`. When the service limits the rate, all threads wait.
        timeout: seconds without an answer.

    Raises:
        ValueError: an argument is out of range.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        retries: int = 4,
        backoff: float = 0.5,
        timeout: float = 60.0,
    ) -> None:
        if not isinstance(base_url, str) or not re.match(r"https?://[^/]", base_url):
            raise ValueError(f"base_url must begin with http:// or https://, not {base_url!r}")
        self.base_url = base_url.rstrip("/")
        self._retries = Retries(retries, backoff)
        self._timeout = seconds("timeout", timeout, zero=False)
        self._api_key = api_key
        self._not_before = 0.0  # of time.monotonic: the service has asked all to wait

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_api_key": None, "_not_before": 0.0}

    def post(self, path: str, body: Mapping[str, Any], read: Callable[[Any], Result], count: Count = _ignore) -> Result:
        """What `read` makes of the service's answer to `body`, after retries.

        Args:
            path: after the base URL, such as "/embeddings".
            body: sent as JSON.
            read: takes the answer's JSON; a ValueError, LookupError or TypeError says that the answer is damaged, and it is
                asked for again.
            count: told of "requests" and "retries", as (name, number).

        Raises:
            RuntimeError: the service refuses the request; the message has the status and what it says.
            ServiceError: every try failed.
        """
        data = json.dumps(body).encode()

        def ask() -> Result:
            time.sleep(max(0.0, self._not_before - time.monotonic()))
            try:
                answer = self._send(path, data)
            except urllib.error.HTTPError as error:
                if not _passing(error):
                    raise RuntimeError(f"{self.base_url} refuses the request with {_said(error)}") from error
                if wait := _retry_after(error):
                    self._not_before = max(self._not_before, time.monotonic() + min(wait, LONGEST_WAIT))
                raise
            try:
                return read(json.loads(answer))
            except (ValueError, LookupError, TypeError) as error:
                raise ConnectionError(f"the service's answer cannot be read: {error}") from error

        try:
            return self._retries.call(ask, count)
        except ServiceError as error:
            raise ServiceError(f"{self.base_url}{path} {error}") from error.__cause__

    def chat(self, model: str, prompt: str, options: Mapping[str, Any] | None = None, count: Count = _ignore) -> str:
        """A chat model's reply to one message of the user; empty where it gives none. `count` is also told of the
        "prompt_tokens" and "completion_tokens" that the service says it used. Raises: as `post`."""
        body = {"model": model, "messages": [{"role": "user", "content": prompt}], **(options or {})}

        def read(answer: Any) -> str:
            content = answer["choices"][0]["message"]["content"]
            usage = answer.get("usage")
            for name in ("prompt_tokens", "completion_tokens"):
                used = usage.get(name) if isinstance(usage, dict) else None
                if isinstance(used, int):
                    count(name, used)
            return content if isinstance(content, str) else ""

        return self.post("/chat/completions", body, read, count)

    def _send(self, path: str, data: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "User-Agent": "rapidchunk"}
        key = self._api_key or os.environ.get("OPENAI_API_KEY")
        if key:
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(f"{self.base_url}{path}", data, headers)
        with _opener().open(request, timeout=self._timeout) as response:
            answer: bytes = response.read()
        return answer


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would turn the request into a GET and carry the key to another place: it is refused, with its status."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


@functools.cache
def _opener() -> urllib.request.OpenerDirector:
    # One context for all: reading the certificates takes longer than a small request.
    return urllib.request.build_opener(_NoRedirects, urllib.request.HTTPSHandler(context=ssl.create_default_context()))


def _passing(error: Exception) -> bool:
    """Whether another try may succeed."""
    status = error.code if isinstance(error, urllib.error.HTTPError) else getattr(error, "status_code", None)
    if isinstance(status, int):
        return status in (408, 409, 425, 429) or status >= 500
    return isinstance(error, (TimeoutError, ConnectionError, urllib.error.URLError, http.client.HTTPException))


def _retry_after(error: Exception) -> float | None:
    """Seconds that the service asks to wait: a number, or a date (RFC 9110)."""
    if not isinstance(error, urllib.error.HTTPError):
        return None
    given = error.headers.get("Retry-After", "")
    try:
        return max(float(given), 0.0)
    except ValueError:
        pass
    try:
        return max(email.utils.parsedate_to_datetime(given).timestamp() - time.time(), 0.0)
    except (TypeError, ValueError):
        return None


def _said(error: Exception) -> str:
    """An error in words; of a status, with what the service says."""
    if not isinstance(error, urllib.error.HTTPError):
        return f"{type(error).__name__}: {error}"
    try:
        said = error.read(500).decode("utf-8", "replace")
    except (OSError, ValueError, http.client.HTTPException):
        said = ""
    return f"status {error.code}: {said or error.reason}"


def concurrently(function: Callable[[Item], Result], items: Sequence[Item], most: int) -> Iterator[tuple[int, Result]]:
    """(index, function(item)) of every item, as they become ready; at most `most` run at a time, in threads of their own
    (one alone: here). The first error ends it: what has not begun is left out."""
    if most == 1 or len(items) < 2:
        yield from ((index, function(item)) for index, item in enumerate(items))
        return
    pool = ThreadPoolExecutor(min(most, len(items)), "rapidchunk-services")
    try:
        futures = {pool.submit(function, item): index for index, item in enumerate(items)}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)


class _Loop:
    """One event loop in a thread of its own, for callables that are coroutines.

    All calls share it, so a client that keeps connections open finds its loop again, and a caller inside a running loop
    (a notebook, a web service) is not in the way.
    """

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.process = os.getpid()
        threading.Thread(target=self.loop.run_forever, name="rapidchunk-loop", daemon=True).start()


_loop: _Loop | None = None
_loop_lock = threading.Lock()


def awaited(answer: Any) -> Any:
    """`answer`, or its result where it is an awaitable: from any thread, inside of a running loop or not."""
    if not inspect.isawaitable(answer):
        return answer
    global _loop

    async def result() -> Any:
        return await answer

    with _loop_lock:
        if _loop is None or _loop.process != os.getpid():  # threads do not survive a fork
            _loop = _Loop()
        loop = _loop.loop
    return asyncio.run_coroutine_threadsafe(result(), loop).result()
