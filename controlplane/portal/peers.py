"""Who a TLS connection belongs to, for the requests that come over it: uvicorn tells an app nothing of that."""

import asyncio
import ssl
from typing import cast

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from controlplane.certificates.agents import AgentCertificate, read_certificate

_KEY = "kedge.certificate"


class AgentsProtocol(H11Protocol):
    """uvicorn's, of the door that agents use. The handshake is over when a connection is made: its end is known."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Reads the certificate once a connection, not once a request."""
        super().connection_made(transport)
        shown = cast(ssl.SSLObject, transport.get_extra_info("ssl_object")).getpeercert(binary_form=True)
        certificate = read_certificate(shown) if shown else None
        self.app = shown_with(cast(ASGIApp, self.app), certificate)


def shown_with(app: ASGIApp, certificate: AgentCertificate | None) -> ASGIApp:
    """The app as it is served over TLS to whoever shows that certificate, or none."""

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        scope[_KEY] = certificate
        await app(scope, receive, send)

    return served


def certificate_of(scope: Scope) -> AgentCertificate | None:
    """What the other end of the request's connection has proved to be, None where it has shown no certificate."""
    found: AgentCertificate | None = scope.get(_KEY)
    return found


def may_show_one(scope: Scope) -> bool:
    """Whether the request came by a door where certificates are asked for."""
    return _KEY in scope
