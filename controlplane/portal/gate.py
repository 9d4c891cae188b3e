"""What every request passes before any route: size, Host, Origin, and who asks. What they may do is judged behind it.

A person's program shows the installation's token as a bearer; a browser shows the cookie of a session, which counts
for pages only. A request with a bearer is judged by that alone, whatever cookies come with it.
"""

from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controlplane.portal.access.rights import Rights, whole_rights
from controlplane.portal.access.scoped import scoped
from controlplane.portal.auth import (
    AGENT_PATHS,
    API_PATHS,
    OPEN_PAGES,
    OPEN_PATHS,
    RUN_PATHS,
    STATIC_PATHS,
    cookie_name,
    is_foreign_origin,
    is_person,
)
from controlplane.portal.problems import ApiError, answer_of, wants_page
from controlplane.portal.services import PortalServices
from events.errors import StoreUnavailable

MAX_BODY_BYTES = 1024 * 1024
MAX_STATE_BYTES = 64 * 1024 * 1024
"""Of what Terraform sends, which is read only once its run is known: some KiB per VM."""

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Gate:
    """Denies by default: a route nobody thought of is a route for people who are known."""

    def __init__(self, app: ASGIApp, services: PortalServices) -> None:
        self._app = app
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a request through with its caller's services, or answers it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        most = MAX_STATE_BYTES if scope["path"].startswith(RUN_PATHS) else MAX_BODY_BYTES
        is_over_tls = scope.get("scheme") == "https"
        refused = _not_for_agents(scope["path"]) if is_over_tls else self._refusal(headers)
        refused = refused or _too_large(headers, most)
        if refused is not None:
            await answer_of(refused, Request(scope))(scope, receive, _with_headers(send))
            return
        try:
            rights = await self._rights(scope, headers)
        except StoreUnavailable as away:
            await answer_of(away, Request(scope))(scope, receive, _with_headers(send))
            return
        if rights is None:
            await _stranger(Request(scope))(scope, receive, _with_headers(send))
            return
        state = scope.setdefault("state", {})
        state["rights"], state["services"] = rights, scoped(self._services, rights)
        await self._app(scope, _limited(receive, most), _with_headers(send))

    def _refusal(self, headers: Headers) -> ApiError | None:
        hosts = self._services.hosts
        if headers.get("host", "") not in hosts:
            title, why = "this server is not that host", f"It answers to {', '.join(sorted(hosts))}."
            return ApiError(421, "wrong-host", title, detail=why)
        origin = headers.get("origin")
        if origin is not None and is_foreign_origin(origin, hosts):
            return ApiError(403, "foreign-origin", "a page of another site sent this request")
        return None

    async def _rights(self, scope: Scope, headers: Headers) -> Rights | None:
        """None for somebody nobody knows. Machines prove themselves to their routes."""
        path = scope["path"]
        if path in OPEN_PATHS or path.startswith((AGENT_PATHS, RUN_PATHS)):
            return whole_rights("machine")
        bearer = headers.get("authorization", "")
        if bearer:
            return whole_rights("installation") if is_person(bearer, self._services.installation.token) else None
        is_page = not path.startswith(API_PATHS)
        cookie = HTTPConnection(scope).cookies.get(cookie_name(self._services.installation.id), "")
        if is_page and cookie:
            known = await run_in_threadpool(self._services.people.recognise, cookie, self._services.clock())
            if known is not None:
                return known
        is_open = path in OPEN_PAGES or path.startswith(STATIC_PATHS)
        return Rights("nobody", ()) if is_open else None


def _stranger(request: Request) -> Response:
    """The way to the login page for a browser, 401 for a program."""
    if request.url.path.startswith(API_PATHS) or not wants_page(request):
        then = "Send `Authorization: Bearer TOKEN` with the text of the file `token` in the server's home."
        return ApiError(401, "token-needed", "the token is missing or not this server's", next_step=then).response()
    if request.headers.get("hx-request") == "true":
        here = request.headers.get("hx-current-url", "")
        path = "/" + here.split("://", 1)[-1].partition("/")[2] if "://" in here else "/"
        return Response(status_code=401, headers={"HX-Redirect": login_address(path)})
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(login_address(wanted if request.method == "GET" else "/"), 303)


def login_address(wanted: str) -> str:
    """The login page, which leads on to a page of ours."""
    return "/login" if wanted in ("", "/") else f"/login?next={quote(wanted, safe='/')}"


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
