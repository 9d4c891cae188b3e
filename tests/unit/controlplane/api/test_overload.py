"""What the guard in front of the app passes on, and what it keeps away."""

import asyncio
from collections.abc import Sequence

from starlette.types import Message, Receive, Scope, Send

from controlplane.api.overload import OverloadGuard
from tests.unit.controlplane.api.portal_house import House


def scope(method: str, path: str) -> Scope:
    return {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [],
        "scheme": "http",
        "server": ("127.0.0.1", 8428),
        "client": ("127.0.0.1", 1),
    }


class App:
    """Reads the whole body, and answers."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        message = await receive()
        self.bodies.append(message["body"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})


def asked(app: App, method: str, path: str, messages: Sequence[Message]) -> list[Message]:
    """What is sent to somebody who sends these."""
    sent, coming = list[Message](), list(messages)

    async def receive() -> Message:
        return coming.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(OverloadGuard(app, House().services)(scope(method, path), receive, send))
    return sent


PIECES: list[Message] = [
    {"type": "http.request", "body": b"reason=a&", "more_body": True},
    {"type": "http.request", "body": b"confirm=orders", "more_body": False},
]


def test_a_body_in_pieces_is_passed_on_whole() -> None:
    for path in ("/clusters/orders/pause", "/agent/v1/report"):
        app = App()
        assert asked(app, "POST", path, PIECES)[0]["status"] == 200
        assert app.bodies == [b"reason=a&confirm=orders"]


def test_half_a_body_of_somebody_who_hung_up_is_never_taken_for_a_whole_one() -> None:
    for path in ("/clusters/orders/pause", "/agent/v1/report"):
        app = App()
        assert asked(app, "POST", path, [PIECES[0], {"type": "http.disconnect"}]) == []
        assert app.bodies == []
