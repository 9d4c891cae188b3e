"""HTTP as a stand-in speaks it: a call, its answer, and the words of Go's client where there is none."""

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Answer:
    """What the other side said; `body` is its JSON, or its text where it is none."""

    status: int
    headers: Mapping[str, str]
    body: Any


class AnsweredError(Exception):
    """An answer of 400 or above, after all tries."""

    def __init__(self, method: str, url: str, answer: Answer) -> None:
        super().__init__(f"{method} {url}: {answer.status} {answer.body}")
        self.method, self.url, self.answer = method, url, answer


class NoAnswerError(Exception):
    """Nobody answered."""


@dataclass(frozen=True)
class Rest:
    """An API below `base`. A throttle or a fault of the server is asked again `retries` times, then told."""

    base: str
    headers: Mapping[str, str] = field(default_factory=dict)
    retries: int = 0
    wait_s: float = 0.05
    timeout_s: float = 30.0
    stopping: threading.Event = field(default_factory=threading.Event)

    def call(self, method: str, path: str, body: object = None) -> Answer:
        """One call. Raises `AnsweredError` and `NoAnswerError`."""
        url = self.base + path
        for left in range(self.retries, -1, -1):
            answer = self._once(method, url, body)
            if answer.status < 400:
                return answer
            if left == 0 or self.stopping.is_set() or not (answer.status == 429 or answer.status >= 500):
                raise AnsweredError(method, url, answer)
            self.stopping.wait(min(float(answer.headers.get("retry-after", self.wait_s)), 5.0))
        raise AssertionError("the last try either answers or raises")

    def _once(self, method: str, url: str, body: object) -> Answer:
        import http.client  # here, because a plugin that is only asked for its schema needs none of it

        parts = urlsplit(url)
        https = parts.scheme == "https"
        kind = http.client.HTTPSConnection if https else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=self.timeout_s)
        given = None if body is None else json.dumps(body).encode()
        sent = {"Content-Type": "application/json", "Accept": "application/json", **self.headers}
        try:
            connection.request(method, f"{parts.path}?{parts.query}" if parts.query else parts.path, given, sent)
            told = connection.getresponse()
            text = told.read()
        except (OSError, http.client.HTTPException) as error:
            raise NoAnswerError(f'{method.title()} "{url}": {_go_words(error, parts.netloc)}') from error
        finally:
            connection.close()
        return Answer(told.status, {k.lower(): v for k, v in told.getheaders()}, _read(text))


def waited(until: Any, *, stopping: threading.Event, timeout_s: float, every_s: float = 0.05) -> bool:
    """Whether `until()` came true in time and before somebody asked to stop."""
    deadline = time.monotonic() + timeout_s
    while not until():
        if time.monotonic() >= deadline or stopping.wait(every_s):
            return False
    return True


def _read(text: bytes) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text.decode(errors="replace")


def _go_words(error: Exception, host: str) -> str:
    if isinstance(error, ConnectionRefusedError):
        return f"dial tcp {host}: connect: connection refused"
    if type(error).__name__ == "gaierror":
        return f"dial tcp: lookup {host}: no such host"
    if isinstance(error, TimeoutError):
        return "context deadline exceeded"
    return "EOF"
