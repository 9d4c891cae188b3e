"""uvicorn's protocol for the door that agents use over TLS."""

import asyncio
import ssl
from typing import cast

from starlette.types import ASGIApp

from controlplane.api.connections import GuardedProtocol
from controlplane.api.peers import shown_with
from controlplane.storage.certificates.agents import read_certificate


class AgentsProtocol(GuardedProtocol):
    """The handshake is over when a connection is made: who is at its other end is known."""

    of_agents = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Reads the certificate once a connection, not once a request."""
        super().connection_made(transport)
        shown = cast(ssl.SSLObject, transport.get_extra_info("ssl_object")).getpeercert(binary_form=True)
        certificate = read_certificate(shown) if shown else None
        self.app = shown_with(cast(ASGIApp, self.app), certificate)
