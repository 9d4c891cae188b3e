"""Who a TLS connection belongs to, for the requests that come over it: uvicorn tells an app nothing of that."""

from starlette.types import ASGIApp, Receive, Scope, Send

from controlplane.storage.certificates.agents import AgentCertificate

_KEY = "kedge.certificate"


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
