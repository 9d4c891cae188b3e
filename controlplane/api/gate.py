"""What every request passes before any route: door, size, Host, Origin, and who asks. What they may do is judged
behind it. On the way back what was done or denied is written down: no route is forgotten, and no answer goes out first.

A person's program shows a token as a bearer; a browser shows the cookie of a session, which counts for pages only. A
request with a bearer is judged by that alone, whatever cookies come with it.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from http import HTTPStatus
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controlplane.api import auth, bearers, call_rates, idempotency_keys, request_identity, request_ids
from controlplane.api.access.bindings import TOKEN
from controlplane.api.access.passwords import neighbourhood
from controlplane.api.access.rights import Rights, whole_rights
from controlplane.api.audit.writer import SAFE_METHODS, AnonymousCalls, Call, entry_of
from controlplane.api.portal_access import Door, door_of, other_part, wrong_door
from controlplane.api.problems import ApiError, answer_of, wants_page
from controlplane.api.schemas.messages import API_PREFIX
from controlplane.api.scoped.services import scoped
from controlplane.api.services import PortalServices
from controlplane.storage.log_context import logged
from events.engine import answered_within
from events.errors import StoreUnavailable

_log = logging.getLogger(__name__)

MAX_BODY_BYTES = 1024 * 1024
MAX_STATE_BYTES = 64 * 1024 * 1024
"""Of what Terraform sends, which is read only once its run is known: some KiB per VM."""
MAX_HOOK_BYTES = 25 * 1024 * 1024
"""Of what a forge sends: GitHub's own limit. It is never held as a whole."""

ANSWER_HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_OFF_LOOPBACK = {"Strict-Transport-Security": "max-age=31536000"}


@dataclass(frozen=True, slots=True)
class _ShownCredentials:
    """What of a request says who asks. Not the request itself: that holds `recheck`, and the two would be a circle of
    60 objects that only the garbage collector finds, at each request."""

    path: str
    authorization: str
    cookie: str
    """Of a session; "" where it does not count."""
    door: Door
    client: str


class AccessGate:
    """Denies by default: a route nobody thought of is a route for people who are known."""

    def __init__(self, app: ASGIApp, services: PortalServices) -> None:
        self._app = app
        self._services = services
        self._bearers = bearers.Bearers(services.access.people, services.access.installation.token)
        self._anonymous_calls = AnonymousCalls()
        self._rates = call_rates.CallRates()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a request through with its caller's services, or answers it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # Machines wait for nobody: an agent's report and a state of Terraform are what the loop lives on.
        is_machine = scope["path"].startswith((auth.AGENT_PATHS, auth.RUN_PATHS))
        request_ids.name_request(scope, self._services.access.request_id())
        with nullcontext() if is_machine else answered_within(self._services.operations.query_limit_s):
            await self._answer(scope, receive, _named(scope, send))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, door = Headers(scope=scope), door_of(scope)
        most = _most_bytes(scope["path"])
        headers_sent = with_headers(
            send, {**ANSWER_HEADERS, **_OFF_LOOPBACK} if door is Door.PEOPLE else ANSWER_HEADERS
        )
        refused = self._refused(headers, door, scope["path"]) or _too_large(headers, most)
        shown = self._shown_in(scope, headers)
        rights: Rights | None = None
        problem: Exception | None = refused
        if refused is None:
            try:
                with logged(request=request_ids.request_id_of(scope)):
                    rights = await self._rights(shown)
            except (StoreUnavailable, ApiError) as error:
                problem = error
        if rights is not None:
            problem = self._too_often(rights)
            request_ids.name_request(scope, request_ids.brought_id(headers, rights) or request_ids.request_id_of(scope))
        noting = self._noting(scope, headers, rights, headers_sent)
        with logged(request=request_ids.request_id_of(scope)):
            if problem is not None or rights is None:
                answer = answer_of(problem, Request(scope)) if problem is not None else _sign_in_first(Request(scope))
                await answer(scope, receive, noting)
                return
            await self._let_in(scope, _limited(receive, most), noting, headers, rights, self._recheck(shown))

    async def _let_in(
        self,
        scope: Scope,
        limited: Receive,
        noting: Send,
        headers: Headers,
        rights: Rights,
        recheck: Callable[[], Awaitable[Rights | None]],
    ) -> None:
        """On to the routes, with the services of who asks."""
        state = scope["state"]
        state["rights"], state["services"] = rights, scoped(self._services, rights)
        state["recheck"] = recheck
        if not _is_write_of_people(scope):
            await self._served(scope, limited, noting)
            return
        try:
            body, whole = await request_identity.whole_body(limited)
            rights.trail.digest = request_identity.request_digest(scope, body)
            settling = await self._keyed(scope, headers, rights, noting)
        except (StoreUnavailable, ApiError) as error:
            await answer_of(error, Request(scope))(scope, limited, noting)
            return
        await self._served(scope, whole, settling)

    async def _served(self, scope: Scope, receive: Receive, send: Send) -> None:
        """What the routes answer. An error nobody foresaw is answered here, like any other: with the headers, and noted
        in the audit, as it may have done something. One in the middle of an answer cuts that off.
        """
        has_begun = False

        async def sending(message: Message) -> None:
            nonlocal has_begun
            has_begun = has_begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as error:
            if has_begun:
                raise
            await answer_of(error, Request(scope))(scope, receive, send)

    async def _keyed(self, scope: Scope, headers: Headers, rights: Rights, send: Send) -> Send:
        """Remembers the key a write came with, and sends on. Raises ApiError where it came with another request."""
        key, keys = headers.get(request_identity.KEY_HEADER, ""), self._services.access.call_keys
        if not 0 < len(key) <= request_identity.MOST_KEY or not scope["path"].startswith(API_PREFIX):
            return send
        wanted = idempotency_keys.CallKey(
            request_identity.key_row(rights, key), rights.trail.digest, self._services.clock()
        )
        before = await run_in_threadpool(keys.claim, wanted)
        if before is not None and before.request != wanted.request:
            rights.trail.note = "the key of another request"
            title, why = "this Idempotency-Key came with another request before", "A key stands for one request."
            raise ApiError(422, "idempotency-key-reused", title, detail=why, next_step="Ask again with a new key.")
        scope["state"]["came_before"] = before is not None

        async def settling(message: Message) -> None:
            status = message["status"] if message["type"] == "http.response.start" else 0
            try:
                if 0 < status < HTTPStatus.BAD_REQUEST:
                    await run_in_threadpool(keys.settle, wanted.id, status)
                elif HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR and before is None:
                    await run_in_threadpool(keys.forget, wanted.id)  # nothing was done: mended, it may come again
            except StoreUnavailable:
                _log.warning("what became of the key of %s %s is not kept", scope["method"], scope["path"])
            await send(message)

        return settling

    def _too_often(self, rights: Rights) -> ApiError | None:
        """The refusal of a token that calls too often: what a person does has no such end."""
        wait_s = self._rates.wait_s(rights.via, self._services.clock()) if rights.via.startswith(TOKEN) else 0.0
        if not wait_s:
            return None
        title, then = (
            "too many calls with this token",
            f"It may make {call_rates.PER_S:.0f} a second, and {call_rates.BURST} at once.",
        )
        return ApiError(429, "too-many-calls", title, next_step=then, retry_after_s=max(1, round(wait_s)))

    def _refused(self, headers: Headers, door: Door, path: str) -> ApiError | None:
        part = self._services.operations.part
        if part == "agents" and path in auth.HEALTH_PATHS:
            return None  # what spreads agents over processes asks at their door, by whatever name it has for it
        closed = other_part(part, door, path) or wrong_door(door, path)
        return closed or self._refusal(headers, door)

    def _refusal(self, headers: Headers, door: Door) -> ApiError | None:
        if door is Door.AGENTS:
            return None  # the certificate says who we are, and VMs may know us by any name it has
        hosts = self._hosts_at(door)
        if headers.get("host", "") not in hosts:
            title, why = "this server is not that host", f"It answers to {', '.join(sorted(hosts))}."
            return ApiError(421, "wrong-host", title, detail=why)
        origin = headers.get("origin")
        scheme = "https" if door is Door.PEOPLE else "http"
        if origin is not None and auth.is_foreign_origin(origin, hosts, scheme):
            return ApiError(403, "foreign-origin", "a page of another site sent this request")
        return None

    def _hosts_at(self, door: Door) -> frozenset[str]:
        """The `Host` values that are answered to there."""
        services = self._services
        if door is Door.STATES:
            return services.operations.states.hosts if services.operations.states is not None else frozenset()
        return services.access.public_hosts if door is Door.PEOPLE else services.access.hosts

    def _shown_in(self, scope: Scope, headers: Headers) -> _ShownCredentials:
        """A session counts for pages only, and only where no token is shown."""
        path, authorization = scope["path"], headers.get("authorization", "")
        cookie = ""
        if not authorization and not path.startswith(
            (*auth.API_PATHS, auth.AGENT_PATHS, auth.RUN_PATHS, auth.HOOK_PATHS)
        ):
            cookie = HTTPConnection(scope).cookies.get(auth.cookie_name(self._services.access.installation.id), "")
        return _ShownCredentials(path, authorization, cookie, door_of(scope), _client(scope))

    async def _rights(self, shown: _ShownCredentials) -> Rights | None:
        """None for somebody nobody knows. Machines prove themselves to their routes."""
        path, now = shown.path, self._services.clock()
        if path in auth.OPEN_PATHS or path.startswith((auth.AGENT_PATHS, auth.RUN_PATHS)):
            return whole_rights("machine", via="agent" if path.startswith(auth.AGENT_PATHS) else "run")
        if path.startswith(auth.HOOK_PATHS):
            return Rights("nobody", ())  # whatever it shows beside its signature opens nothing
        if shown.authorization:
            token, door, client = auth.bearer_of(shown.authorization), shown.door, shown.client
            return await run_in_threadpool(self._bearers.rights, token, door=door, client=client, now=now)
        if shown.cookie:
            known = await run_in_threadpool(self._services.access.people.recognise, shown.cookie, now)
            if known is not None:
                return known
        is_open = path in auth.OPEN_PAGES or path.startswith(auth.STATIC_PATHS)
        return Rights("nobody", ()) if is_open else None

    def _recheck(self, shown: _ShownCredentials) -> Callable[[], Awaitable[Rights | None]]:
        """What whoever holds a long answer open may do by now; None when nothing any more."""

        async def recheck() -> Rights | None:
            try:
                return await self._rights(shown)
            except (StoreUnavailable, ApiError):
                return None

        return recheck

    def _noting(self, scope: Scope, headers: Headers, rights: Rights | None, send: Send) -> Send:
        """Sends on once the audit holds what is to be noted. Where it cannot, nobody is told that anything was done."""
        client, showed = _client(scope), bool(headers.get("authorization"))
        call = Call(scope["method"], scope["path"], client, showed, request_ids.request_id_of(scope))
        is_replaced = False

        async def noting(message: Message) -> None:
            nonlocal is_replaced
            if is_replaced:
                return
            if message["type"] == "http.response.start":
                try:
                    await self._note(call, scope, rights, message["status"])
                except StoreUnavailable as away:
                    _log.error("%s %s could not be noted in the audit", call.method, call.path)
                    is_replaced = True
                    await answer_of(away, Request(scope))(scope, _no_more, send)
                    return
            await send(message)

        return noting

    async def _note(self, call: Call, scope: Scope, rights: Rights | None, status: int) -> None:
        now = self._services.clock()
        name = str(scope.get("path_params", {}).get("name", ""))
        views = self._services.fleet.clusters.views() if status == 404 and name else ()
        entry = entry_of(call, rights, status, views=views, name=name, now=now)
        if entry is None:
            return
        if rights is None or call.path.startswith(auth.HOOK_PATHS) or status == 429:
            via = rights.via if rights is not None else ""
            is_admitted, left_out = self._anonymous_calls.admits(via or neighbourhood(call.client), now)
            if not is_admitted:
                return
            entry = replace(entry, note=f"{left_out} more before it were not noted") if left_out else entry
        await run_in_threadpool(self._services.access.audit.append, entry)


async def _no_more() -> Message:
    return {"type": "http.disconnect"}


def _is_write_of_people(scope: Scope) -> bool:
    """A call that may change something, by a program of people or a form: small enough to be read as a whole."""
    of_machines = scope["path"].startswith((auth.AGENT_PATHS, auth.RUN_PATHS, auth.HOOK_PATHS))
    return scope["method"] not in SAFE_METHODS and not of_machines


def _client(scope: Scope) -> str:
    return str((scope.get("client") or ("",))[0])


def _sign_in_first(request: Request) -> Response:
    """The way to the login page for a browser, 401 for a program."""
    if request.url.path.startswith(auth.API_PATHS) or not wants_page(request):
        then = (
            "Send `Authorization: Bearer TOKEN`: a token of yours, or on its machine the text of the file `token` in "
            "the server's home."
        )
        missing = ApiError(401, "token-needed", "the token is missing, over or not this server's", next_step=then)
        return missing.response(request_ids.request_id_of(request.scope))
    if request.headers.get("hx-request") == "true":
        here = request.headers.get("hx-current-url", "")
        path = "/" + here.split("://", 1)[-1].partition("/")[2] if "://" in here else "/"
        return Response(status_code=401, headers={"HX-Redirect": login_address(path)})
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(login_address(wanted if request.method == "GET" else "/"), 303)


def login_address(wanted: str) -> str:
    """The login page, which leads on to a page of ours."""
    return "/login" if wanted in ("", "/") else f"/login?next={quote(wanted, safe='/')}"


def _most_bytes(path: str) -> int:
    if path.startswith(auth.RUN_PATHS):
        return MAX_STATE_BYTES
    return MAX_HOOK_BYTES if path.startswith(auth.HOOK_PATHS) else MAX_BODY_BYTES


def _too_large(headers: Headers, most: int) -> ApiError | None:
    said = headers.get("content-length", "")
    is_number = said.isascii() and said.isdigit()
    return _body_too_large(most) if is_number and (len(said) > 18 or int(said) > most) else None


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


def _named(scope: Scope, send: Send) -> Send:
    """The same, with the request's id in the head of the answer."""

    async def named(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message)[request_ids.HEADER] = request_ids.request_id_of(scope)
        await send(message)

    return named


def with_headers(send: Send, given: Mapping[str, str]) -> Send:
    """The same, with these in the head of the answer unless it has them."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in given.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
