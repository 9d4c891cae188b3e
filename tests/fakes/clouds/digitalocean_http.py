"""JSON over HTTP on a loopback port, as DigitalOcean and forges speak it."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.fakes.clouds import loopback

Answer = tuple[int, dict[str, str], Any]
"""(status, headers, body)"""

Answerer = Callable[[str, str, dict[str, str], bytes], Answer]
"""(method, path with its query, headers, body) -> what to answer"""


@contextmanager
def serving(answer: Answerer) -> Iterator[int]:
    """Whoever answers in JSON, on a loopback port of its own: that port."""

    def told(method: str, path: str, headers: dict[str, str], body: bytes) -> loopback.Answer:
        status, more, value = answer(method, path, headers, body)
        return (
            status,
            {"Content-Type": "application/json", **more},
            b"" if value is None else json.dumps(value).encode(),
        )

    with loopback.serving(told) as port:
        yield port
