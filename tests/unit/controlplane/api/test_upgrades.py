"""Requests that ask for another protocol on the way, as Java's HttpClient does by itself where there is no TLS."""

import asyncio

import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from controlplane.api.connections import ConnectionTable, GuardedProtocol
from controlplane.api.server_load import ServerLoad

UPGRADE = b"Host: kedge\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"


class Wire(asyncio.Transport):
    """What a client reads."""

    def __init__(self) -> None:
        super().__init__()
        self.told, self.is_closed = b"", False

    def write(self, data: object) -> None:
        assert isinstance(data, bytes)
        self.told += data

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True


async def _told(scope: Scope, receive: Receive, send: Send) -> None:
    body = await Request(scope, receive).body()
    await PlainTextResponse(f"{scope['method']} with {body!r}")(scope, receive, send)


def answers(*sent: bytes) -> Wire:
    """To requests on one connection."""

    async def talk() -> Wire:
        config = uvicorn.Config(_told, log_config=None, ws="none")
        config.load()
        protocol = GuardedProtocol(
            ConnectionTable(ServerLoad()), config=config, server_state=ServerState(), app_state={}
        )
        wire = Wire()
        protocol.connection_made(wire)
        for one in sent:
            protocol.data_received(one)
            await asyncio.gather(*protocol.tasks)
        protocol.connection_lost(None)
        return wire

    return asyncio.run(talk())


def test_without_a_body_it_is_answered_in_the_protocol_there_is() -> None:
    assert b"GET with b''" in answers(b"GET / HTTP/1.1\r\n" + UPGRADE + b"\r\n").told
    assert b"POST with b''" in answers(b"POST / HTTP/1.1\r\nContent-Length: 0\r\n" + UPGRADE + b"\r\n").told


def test_nothing_is_done_without_the_body_that_was_sent() -> None:
    for body in (b"Content-Length: 5\r\n\r\nhello", b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"):
        wire = answers(b"POST / HTTP/1.1\r\n" + UPGRADE + body)
        assert wire.told.startswith(b"HTTP/1.1 400 "), wire.told
        assert wire.is_closed


def test_a_connection_goes_on_after_it() -> None:
    wire = answers(b"GET / HTTP/1.1\r\n" + UPGRADE + b"\r\n", b"GET / HTTP/1.1\r\nHost: kedge\r\n\r\n")
    assert wire.told.count(b"HTTP/1.1 200 ") == 2, wire.told
