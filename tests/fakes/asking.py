"""Asks an ASGI app over one event loop for the whole process, in one step there and back.

Starlette's client makes a loop, with its threads, for each request, and passes eight times between them: on a busy
machine that is 50 ms for an answer of 2 ms. A body is read as a whole, so streams that never end are not for this.
"""

import atexit
from contextlib import ExitStack
from functools import cache
from typing import Any

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastapi.testclient import TestClient

HERE = ("testclient", 50000)


class Asker(TestClient):
    """Starlette's client but for the way its requests go."""

    def __init__(self, app: Any, *, raise_server_exceptions: bool = True, **more: Any) -> None:
        super().__init__(app, raise_server_exceptions=raise_server_exceptions, **more)
        self._transport = InOneStep(app, raise_server_exceptions)


class InOneStep(httpx.BaseTransport):
    """Runs the app until its answer is whole."""

    def __init__(self, app: Any, raise_app_exceptions: bool) -> None:
        self._app = httpx.ASGITransport(app, raise_app_exceptions=raise_app_exceptions, client=HERE)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        return _event_loop().call(self._answer, request)

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        answer = await self._app.handle_async_request(request)
        body = b"".join([part async for part in answer.aiter_raw()])
        return httpx.Response(answer.status_code, headers=answer.headers, stream=httpx.ByteStream(body))


@cache
def _event_loop() -> BlockingPortal:
    kept = ExitStack()
    atexit.register(kept.close)
    return kept.enter_context(start_blocking_portal())
