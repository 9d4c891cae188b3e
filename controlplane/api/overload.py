"""What is sent away before anything else is done for it, when there is more to do than can be done: agents before
people, and of agents the newest first. First in the chain of the app: an answer costs no thread and no database.

Agents are let in by `agent_admission`; their bodies are read before a turn is taken, so that a slow one takes
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
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controlplane.api import agent_admission, auth, bodies, gate, problems, request_ids, server_load
from controlplane.api.agent_calls import AgentCalls
from controlplane.api.audit.writer import SAFE_METHODS
from controlplane.api.services import PortalServices

PEOPLES_THREADS = 40
"""As many as AnyIO gives an app; agents' come on top of them."""
PEOPLE_WAIT_S = 3.0
"""For a free thread. Pages take milliseconds: who waits for so long waits for something that hangs."""
_LOOK_EVERY_S = 0.05
BODY_WITHIN_S = 10.0
"""For an agent to send its report: some KiB."""
PEOPLES_BODY_WITHIN_S = 30.0
"""A spec over a slow line."""
_REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class OverloadGuard:
    """The app, with what is too much for it kept away."""

    def __init__(self, app: ASGIApp, services: PortalServices, calls: AgentCalls | None = None) -> None:
        """`calls` answers of agents what needs neither a thread nor the database; None: nothing does."""
        self._app = app
        self._services = services
        self._calls = calls
        self._load = services.operations.load
        self._seats = agent_admission.AgentSeats(self._load.budget.agents)
        self._turns = agent_admission.AgentTurns()
        self._memory = bodies.BodyMemory()
        self.people_inside = 0
        """Requests of people that are worked on and not answered yet."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or answers it with 503."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path: str = scope["path"]
        if path.startswith(auth.AGENT_PATHS):
            with bodies.HeldBody(self._memory, bodies.MOST_OF_AGENTS_BYTES) as held:
                await self._of_agent(scope, receive, send, held)
        elif path in auth.HEALTH_PATHS or path.startswith((auth.RUN_PATHS, auth.STATIC_PATHS)):
            await self._app(scope, receive, send)
        else:
            with bodies.HeldBody(self._memory, bodies.MOST_BYTES) as held:
                await self._of_person(scope, receive, send, held)

    async def _of_agent(self, scope: Scope, receive: Receive, send: Send, held: bodies.HeldBody) -> None:
        instance = Headers(scope=scope).get(auth.INSTANCE_HEADER, "")
        is_new = False
        try:
            if instance and scope["path"] not in auth.OPEN_PATHS:
                is_new = self._seats.admit(instance)
                self._load.see_agents(len(self._seats))
            body = b""
            if scope["method"] == "POST":
                body = await held.read(receive, BODY_WITHIN_S)
                receive = _replayed(body, receive)
            answer = await self._calls.answer(scope, body, self._turns) if self._calls is not None else None
            if answer is not None:
                await answer(scope, receive, send)
                return
            turn = await self._turns.take()
        except ClientDisconnect:
            return  # nobody is there to be answered
        except agent_admission.TooBusy as busy:
            self._load.count_shed(server_load.AGENTS, busy.why)
            await _closing(busy.response())(scope, receive, send)
            return
        scope.setdefault("state", {})["turn"] = turn
        try:
            await self._app(scope, receive, self._watching(instance, send) if is_new else send)
        finally:
            turn.give_back()

    def _watching(self, instance: str, send: Send) -> Send:
        """A newcomer who is refused as nobody we know gives the seat up: names are claimed before they are proved. Who
        was here before keeps it: else whoever knows its name could take it.
        """

        async def watching(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in _REFUSED:
                self._seats.give_up(instance)
            await send(message)

        return watching

    async def _of_person(self, scope: Scope, receive: Receive, send: Send, held: bodies.HeldBody) -> None:
        try:
            if scope["method"] not in SAFE_METHODS and not scope["path"].startswith(auth.HOOK_PATHS):
                receive = _replayed(await held.read(receive, PEOPLES_BODY_WITHIN_S), receive)
            limiter = current_default_thread_limiter()
            if not await self._has_place(limiter):
                raise _no_thread(limiter)
        except ClientDisconnect:
            return
        except problems.ApiError as busy:
            self._load.count_shed(
                server_load.PEOPLE, busy.why if isinstance(busy, agent_admission.TooBusy) else "threads"
            )
            request_ids.name_request(scope, self._services.access.request_id())
            await _closing(problems.answer_of(busy, Request(scope)))(scope, receive, send)
            return
        # Who waits for news does so without a thread, and may for half a minute.
        place = _Place(self, counts=b"wait_s=" not in scope["query_string"])

        async def leaving(message: Message) -> None:
            if message["type"] == "http.response.start":
                place.leave()  # how slowly an answer is read, and how long a stream is open, takes no thread
            await send(message)

        try:
            await self._app(scope, receive, leaving)
        finally:
            place.leave()

    async def _has_place(self, limiter: CapacityLimiter) -> bool:
        """Places are counted, not only free threads: a request has several turns on a thread with gaps in between, and
        in those any number would be let in that wait for one without end.
        """
        until_s = time.monotonic() + PEOPLE_WAIT_S
        while self.people_inside >= PEOPLES_THREADS or self._free(limiter) <= 0:
            if time.monotonic() >= until_s:
                return False
            await asyncio.sleep(_LOOK_EVERY_S)
        return True

    def _free(self, limiter: CapacityLimiter) -> float:
        """Threads that are free for people: those that agents may take and have not are kept for them."""
        kept = self._turns.at_once - self._turns.taken if limiter.total_tokens > PEOPLES_THREADS else 0
        return limiter.available_tokens - kept


class _Place:
    """Of one request of a person among those that are worked on at once."""

    def __init__(self, guard: OverloadGuard, *, counts: bool) -> None:
        self._guard = guard
        self._is_taken = counts
        guard.people_inside += counts

    def leave(self) -> None:
        """Twice is once."""
        if self._is_taken:
            self._is_taken = False
            self._guard.people_inside -= 1


def room_for_agents() -> None:
    """Gives the running event loop threads for agents beside those of people."""
    current_default_thread_limiter().total_tokens = PEOPLES_THREADS + agent_admission.AgentTurns().at_once


def _no_thread(limiter: CapacityLimiter) -> problems.ApiError:
    title = "this server is busy"
    why = (
        f"All {limiter.borrowed_tokens} of its threads wait, and have for {PEOPLE_WAIT_S:.0f} s: most often for a "
        "database that is locked or away, or for brokers that do not answer."
    )
    then = "Try again in a moment. GET /healthz says whether the database answers; so does the server's log."
    return problems.ApiError(503, "busy", title, detail=why, next_step=then, retry_after_s=5)


def _closing(answer: Callable[[Scope, Receive, Send], Awaitable[None]]) -> ASGIApp:
    """The same answer, and the connection is closed after it: it is what there are too few of."""

    async def closing(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(scope, receive, gate.with_headers(send, {**gate.ANSWER_HEADERS, "Connection": "close"}))

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
