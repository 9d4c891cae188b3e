"""What every request passes before any route: size, Host, Origin and, unless it is an agent's, the token."""

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controlplane.portal.auth import AGENT_PATHS, OPEN_PATHS, is_foreign_origin, is_person
from controlplane.portal.problems import ApiError
from controlplane.portal.services import PortalServices

MAX_BODY_BYTES = 1024 * 1024

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
        refused = self._refusal(scope["path"], headers) or _too_large(headers)
        if refused is not None:
            await refused.response()(scope, receive, _with_headers(send))
            return
        await self._app(scope, _limited(receive), _with_headers(send))

    def _refusal(self, path: str, headers: Headers) -> ApiError | None:
        hosts = self._services.hosts
        if headers.get("host", "") not in hosts:
            title, why = "this server is not that host", f"It answers to {', '.join(sorted(hosts))}."
            return ApiError(421, "wrong-host", title, detail=why)
        origin = headers.get("origin")
        if origin is not None and is_foreign_origin(origin, hosts):
            return ApiError(403, "foreign-origin", "a page of another site sent this request")
        if path in OPEN_PATHS or path.startswith(AGENT_PATHS):
            return None
        if is_person(headers.get("authorization", ""), self._services.installation.token):
            return None
        then = "Send `Authorization: Bearer TOKEN` with the text of the file `token` in the server's home."
        return ApiError(401, "token-needed", "the token is missing or not this server's", next_step=then)


def _too_large(headers: Headers) -> ApiError | None:
    said = headers.get("content-length", "")
    return _body_too_large() if said.isdigit() and int(said) > MAX_BODY_BYTES else None


def _body_too_large() -> ApiError:
    return ApiError(413, "too-large", f"the request is larger than {MAX_BODY_BYTES // 1024} KiB")


def _limited(receive: Receive) -> Receive:
    """The same body, cut off with an error where it grows beyond the limit: a chunked one says no length."""
    left = MAX_BODY_BYTES

    async def limited() -> Message:
        nonlocal left
        message = await receive()
        if message["type"] == "http.request":
            left -= len(message.get("body", b""))
            if left < 0:
                raise _body_too_large()
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
