"""What is sent away before anything else is done for it, when there is more to do than can be done: agents before
people, and of agents the newest first. First in the chain of the app: an answer costs no thread and no database.

Agents are let in by `agentadmission`; their bodies are read before a turn is taken, so that a slow one takes
nobody's. People wait a moment for a thread. Where all threads hang, on a database that is locked or on brokers that do
not answer, they are told so; the threads that agents may use are not theirs to hang in. Terraform's runs are this
server's own and `/healthz` needs no thread: both always pass.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from anyio import CapacityLimiter
from anyio.to_thread import current_default_thread_limiter
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controlplane.portal.agentadmission import RETRY_SOON_S, AgentSeats, AgentTurns, TooBusy
from controlplane.portal.auth import AGENT_PATHS, INSTANCE_HEADER, OPEN_PATHS, RUN_PATHS, STATIC_PATHS
from controlplane.portal.gate import ANSWER_HEADERS, MAX_BODY_BYTES, with_headers
from controlplane.portal.problems import ApiError, answer_of
from controlplane.portal.requestids import name_request
from controlplane.portal.serverload import AGENTS, PEOPLE
from controlplane.portal.services import PortalServices

PEOPLES_THREADS = 40
"""As many as AnyIO gives an app; agents' come on top of them."""
PEOPLE_WAIT_S = 3.0
"""For a free thread. Pages take milliseconds: who waits for so long waits for something that hangs."""
_LOOK_EVERY_S = 0.05
BODY_WITHIN_S = 10.0
"""For an agent to send its report: some KiB."""
MOST_BODIES_BYTES = 64 * 1024 * 1024
"""Of agents, held at once while they are read and wait for a turn."""
_REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class OverloadGuard:
    """The app, with what is too much for it kept away."""

    def __init__(self, app: ASGIApp, services: PortalServices) -> None:
        self._app = app
        self._services = services
        self._load = services.load
        self._seats = AgentSeats(self._load.budget.agents)
        self._turns = AgentTurns()
        self._bodies_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or answers it with 503."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path: str = scope["path"]
        if path.startswith(AGENT_PATHS):
            await self._of_agent(scope, receive, send)
        elif path == "/healthz" or path.startswith((RUN_PATHS, STATIC_PATHS)):
            await self._app(scope, receive, send)
        else:
            await self._of_person(scope, receive, send)

    async def _of_agent(self, scope: Scope, receive: Receive, send: Send) -> None:
        instance = Headers(scope=scope).get(INSTANCE_HEADER, "")
        held_bytes, is_new = 0, False
        try:
            if instance and scope["path"] not in OPEN_PATHS:
                is_new = self._seats.admit(instance)
                self._load.see_agents(len(self._seats))
            if scope["method"] == "POST":
                body = await self._body(receive)
                held_bytes = len(body)
                self._bodies_bytes += held_bytes
                receive = _replayed(body, receive)
            turn = await self._turns.take()
        except TooBusy as busy:
            self._bodies_bytes -= held_bytes
            self._load.count_shed(AGENTS, busy.why)
            await _closing(busy.response())(scope, receive, send)
            return
        scope.setdefault("state", {})["turn"] = turn
        try:
            await self._app(scope, receive, self._watching(instance, send) if is_new else send)
        finally:
            turn.give_back()
            self._bodies_bytes -= held_bytes

    def _watching(self, instance: str, send: Send) -> Send:
        """A newcomer who is refused as nobody we know gives the seat up: names are claimed before they are proved. Who
        was here before keeps it: else whoever knows its name could take it.
        """

        async def watching(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in _REFUSED:
                self._seats.give_up(instance)
            await send(message)

        return watching

    async def _body(self, receive: Receive) -> bytes:
        """Raises TooBusy where it does not come, or where too many are held. One too large is cut off one byte behind
        the limit: the gate says so.
        """
        if self._bodies_bytes > MOST_BODIES_BYTES:
            raise TooBusy("memory", "this server holds too much that it has not worked on", RETRY_SOON_S)
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_WITHIN_S):
                while len(body) <= MAX_BODY_BYTES:
                    message = await receive()
                    body += message.get("body", b"")
                    if message["type"] != "http.request" or not message.get("more_body", False):
                        break
        except TimeoutError:
            raise TooBusy("slow", f"the request did not come within {BODY_WITHIN_S:.0f} s", RETRY_SOON_S) from None
        return bytes(body[: MAX_BODY_BYTES + 1])

    async def _of_person(self, scope: Scope, receive: Receive, send: Send) -> None:
        limiter = current_default_thread_limiter()
        if not await self._has_thread(limiter):
            self._load.count_shed(PEOPLE, "threads")
            name_request(scope, self._services.request_id())
            await _closing(answer_of(_no_thread(limiter), Request(scope)))(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _has_thread(self, limiter: CapacityLimiter) -> bool:
        until_s = time.monotonic() + PEOPLE_WAIT_S
        while self._free(limiter) <= 0:
            if time.monotonic() >= until_s:
                return False
            await asyncio.sleep(_LOOK_EVERY_S)
        return True

    def _free(self, limiter: CapacityLimiter) -> float:
        """Threads that are free for people: those that agents may take and have not are kept for them."""
        kept = self._turns.at_once - self._turns.taken if limiter.total_tokens > PEOPLES_THREADS else 0
        return limiter.available_tokens - kept


def room_for_agents() -> None:
    """Gives the running event loop threads for agents beside those of people."""
    current_default_thread_limiter().total_tokens = PEOPLES_THREADS + AgentTurns().at_once


def _no_thread(limiter: CapacityLimiter) -> ApiError:
    title = "this server is busy"
    why = (
        f"All {limiter.borrowed_tokens} of its threads wait, and have for {PEOPLE_WAIT_S:.0f} s: most often for a "
        "database that is locked or away, or for brokers that do not answer."
    )
    then = "Try again in a moment. GET /healthz says whether the database answers; so does the server's log."
    return ApiError(503, "busy", title, detail=why, next_step=then, retry_after_s=5)


def _closing(answer: Callable[[Scope, Receive, Send], Awaitable[None]]) -> ASGIApp:
    """The same answer, and the connection is closed after it: it is what there are too few of."""

    async def closing(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(scope, receive, with_headers(send, {**ANSWER_HEADERS, "Connection": "close"}))

    return closing


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body that was read, then whatever comes."""
    is_given = False

    async def again() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
