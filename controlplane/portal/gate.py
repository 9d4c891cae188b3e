"""What every request passes before any route: size, Host, Origin and, unless it is an agent's or a run's, the token."""

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controlplane.portal.auth import AGENT_PATHS, OPEN_PATHS, RUN_PATHS, is_foreign_origin, is_person
from controlplane.portal.problems import ApiError
from controlplane.portal.services import PortalServices

MAX_BODY_BYTES = 1024 * 1024
MAX_STATE_BYTES = 64 * 1024 * 1024
"""Of what Terraform sends, which is read only once its run is known: some KiB per VM."""

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class Gate:
    """Denies by default: a route nobody thought of is a route for people, behind the token."""

    def __init__(self, app: ASGIApp, services: PortalServices) -> None:
        self._app = app
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a request through, or answers it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        most = MAX_STATE_BYTES if scope["path"].startswith(RUN_PATHS) else MAX_BODY_BYTES
        is_over_tls = scope.get("scheme") == "https"
        refused = _not_for_agents(scope["path"]) if is_over_tls else self._refusal(scope["path"], headers)
        refused = refused or _too_large(headers, most)
        if refused is not None:
            await refused.response()(scope, receive, _with_headers(send))
            return
        await self._app(scope, _limited(receive, most), _with_headers(send))

    def _refusal(self, path: str, headers: Headers) -> ApiError | None:
        hosts = self._services.hosts
        if headers.get("host", "") not in hosts:
            title, why = "this server is not that host", f"It answers to {', '.join(sorted(hosts))}."
            return ApiError(421, "wrong-host", title, detail=why)
        origin = headers.get("origin")
        if origin is not None and is_foreign_origin(origin, hosts):
            return ApiError(403, "foreign-origin", "a page of another site sent this request")
        if path in OPEN_PATHS or path.startswith((AGENT_PATHS, RUN_PATHS)):
            return None
        if is_person(headers.get("authorization", ""), self._services.installation.token):
            return None
        then = "Send `Authorization: Bearer TOKEN` with the text of the file `token` in the server's home."
        return ApiError(401, "token-needed", "the token is missing or not this server's", next_step=then)


def _not_for_agents(path: str) -> ApiError | None:
    """TLS is spoken with agents, which prove themselves with each call; the certificate says who we are.

    A person's token is not taken there, however right: it belongs to this machine.
    """
    if path.startswith(AGENT_PATHS):
        return None
    then = "Ask on this machine, or through a tunnel to its loopback address."
    return ApiError(403, "agents-only", "only agents are served here", next_step=then)


def _too_large(headers: Headers, most: int) -> ApiError | None:
    said = headers.get("content-length", "")
    return _body_too_large(most) if said.isdigit() and int(said) > most else None


def _body_too_large(most: int) -> ApiError:
    return ApiError(413, "too-large", f"the request is larger than {most // 1024} KiB")


def _limited(receive: Receive, most: int) -> Receive:
    """The same body, cut off with an error where it grows beyond the limit: a chunked one says no length."""
    left = most

    async def limited() -> Message:
        nonlocal left
        message = await receive()
        if message["type"] == "http.request":
            left -= len(message.get("body", b""))
            if left < 0:
                raise _body_too_large(most)
        return message

    return limited


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
