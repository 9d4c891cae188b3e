"""Bodies of requests that are held in memory, all of them within one bound: each is read before anybody knows who asks,
and byte by byte counts from the first one on, not only once it is whole.
"""

import asyncio
from typing import Self

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from controlplane.api.agent_admission import RETRY_SOON_S, TooBusy
from controlplane.api.gate import MAX_BODY_BYTES

MOST_BYTES = 64 * 1024 * 1024
"""Held at once: while they come, while their requests wait for a turn, and until these are answered."""
MOST_OF_AGENTS_BYTES = 48 * 1024 * 1024
"""Where agents hold so much, people still have room."""


class BodyMemory:
    """What is held now, in bytes. One for all requests."""

    def __init__(self) -> None:
        self.held_bytes = 0


class HeldBody:
    """The body of one request, held until the block of it ends: when that is answered, or refused."""

    def __init__(self, memory: BodyMemory, most_bytes: int) -> None:
        self._memory = memory
        self._most_bytes = most_bytes
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._memory.held_bytes -= self._bytes

    async def read(self, receive: Receive, within_s: float) -> bytes:
        """All of it. Raises TooBusy where it does not come in time, or where too much is held, and ClientDisconnect
        where whoever asked has hung up. One too large is cut off one byte behind the limit: the gate says so.
        """
        body = bytearray()
        try:
            async with asyncio.timeout(within_s):
                while len(body) <= MAX_BODY_BYTES:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientDisconnect  # half a body must never be taken for a whole one
                    body += self._held(message.get("body", b""))
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            raise TooBusy("slow", f"the request did not come within {within_s:.0f} s", RETRY_SOON_S) from None
        return bytes(body[: MAX_BODY_BYTES + 1])

    def _held(self, piece: bytes) -> bytes:
        if self._memory.held_bytes + len(piece) > self._most_bytes:
            raise TooBusy("memory", "this server holds too much that it has not worked on", RETRY_SOON_S)
        self._memory.held_bytes += len(piece)
        self._bytes += len(piece)
        return piece
