"""The connections of a server: how many there are, which wait for too long, and which go when there are too many.

uvicorn closes a connection that nobody uses between two requests. It has no end for one that never sends its first
request, for a head or a body that comes a byte at a time, nor for an answer nobody reads: each holds a descriptor and
buffers. Here each has its time, and when there are more connections than the budget has, those go first that cost
somebody the least: who has asked nothing yet, then agents, the newest first, then whoever is idle for longest. A person
who is being answered stays.
"""

import asyncio
import time
import weakref
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from controlplane.api.auth import AGENT_PATHS
from controlplane.api.server_load import AGENTS, PEOPLE, ServerLoad
from controlplane.runtime.descriptors import current_limit

HEAD_WITHIN_S = 20.0
"""From the first byte of a request, or from the connection, to the end of its head."""
MOST_HEAD_BYTES = 64 * 1024
"""Of a request, its address and names of headers with it. The parser has no end for it."""
BODY_STALLS_S = 30.0
"""Without a byte of a body that is waited for."""
BODY_WITHIN_S = 300.0
ANSWER_STALLS_S = 60.0
"""Without a byte of an answer being taken."""
IN_PASSING = 32
"""Connections beyond the budget that have just come or are just being closed: most of whom there is no room for are
answered and gone within milliseconds. The budget leaves descriptors for them."""
HEARD_OUT_S = 1.0
SPARE_DESCRIPTORS = 24
"""So many are left when connections are closed for want of them: a look at the disk or the database needs some."""
NEW = "new"


class ConnectionPhase(IntEnum):
    """What a connection is doing, in the order in which it may be closed for room."""

    ASKED_NOTHING = 0
    AGENT_IDLE = 1
    AGENT_ASKING = 2
    PERSON_IDLE = 3
    PERSON_ASKING = 4


@dataclass(frozen=True, slots=True)
class Seen:
    """One connection at one time, monotonic seconds. `since_s`: since when it is at this; `moved_s`: when a byte last
    moved in the direction that is waited for.
    """

    part: ConnectionPhase
    opened_s: float
    since_s: float
    moved_s: float
    waits_for: str = ""
    """`head`, `body` or `reader` of an answer; "" where it waits for nobody but us."""


def overdue(seen: Seen, now_s: float) -> str:
    """Why it is closed now, "" while its time is not over."""
    match seen.waits_for:
        case "head" if now_s - seen.since_s > HEAD_WITHIN_S:
            return "slow-head"
        case "body" if now_s - seen.moved_s > BODY_STALLS_S or now_s - seen.since_s > BODY_WITHIN_S:
            return "slow-body"
        case "reader" if now_s - seen.moved_s > ANSWER_STALLS_S:
            return "slow-reader"
        case _:
            return ""


def first_to_go(seen: Iterable[tuple[int, Seen]], count: int, now_s: float) -> list[int]:
    """The keys of up to `count` connections that are closed for room, first to go first. One that has just come is
    left alone: what it asks may not have been read yet, and it may be a person.
    """

    def order(entry: tuple[int, Seen]) -> tuple[int, float]:
        _, one = entry
        is_agent = one.part in (ConnectionPhase.AGENT_IDLE, ConnectionPhase.AGENT_ASKING)
        return int(one.part), -one.opened_s if is_agent else one.since_s

    may_go = [entry for entry in seen if _may_go(entry[1], now_s)]
    return [key for key, _ in sorted(may_go, key=order)[:count]]


def longest_silent(seen: Iterable[tuple[int, Seen]]) -> int | None:
    """The key of whoever has asked nothing for longest, however short that is: it makes way for the next to come where
    nobody else may. Each of a crowd that only knocks would otherwise keep its place for a second, and people out.
    """
    silent = [(one.opened_s, key) for key, one in seen if one.part is ConnectionPhase.ASKED_NOTHING]
    return min(silent)[1] if silent else None


def _may_go(seen: Seen, now_s: float) -> bool:
    if seen.part is ConnectionPhase.ASKED_NOTHING:
        return now_s - seen.opened_s > HEARD_OUT_S
    return seen.part is not ConnectionPhase.PERSON_ASKING


class TooManyConnections(Exception):
    """There is no room for another connection, and none that may be closed for it."""


class ConnectionTable:
    """All connections of this process, those that are still shaking hands among them. For one event loop."""

    def __init__(self, load: ServerLoad) -> None:
        self.load = load
        self._open: dict[int, GuardedProtocol] = {}
        self._shaking: weakref.WeakSet[GuardedProtocol] = weakref.WeakSet()

    def expect(self, protocol: "GuardedProtocol") -> None:
        """It was accepted, and may have to shake hands first. Raises TooManyConnections, which closes it."""
        most = self.load.budget.connections + IN_PASSING
        if len(self._open) + len(self._shaking) >= most and not self._make_way():
            self.load.count_closed("no-room")
            raise TooManyConnections
        self._shaking.add(protocol)

    def add(self, protocol: "GuardedProtocol") -> None:
        """It is open."""
        self._shaking.discard(protocol)
        self._open[id(protocol)] = protocol

    def remove(self, protocol: "GuardedProtocol") -> None:
        """It is closed."""
        self._open.pop(id(protocol), None)

    def sweep(self, descriptors: int | None) -> None:
        """Once a second: closes what is overdue, and what there is no room for. `descriptors` are open in the process,
        None where that cannot be looked up for want of them.
        """
        now_s = time.monotonic()
        for protocol in list(self._open.values()):
            why = overdue(protocol.seen(now_s), now_s)
            if why:
                self._close(protocol, why)
        limit = current_limit()  # others may lower it while the process runs: prlimit(2)
        in_use = descriptors if descriptors is not None else limit
        settled = sum(p.seen(now_s).part is not ConnectionPhase.ASKED_NOTHING for p in self._open.values())
        too_many = max(in_use - (limit - SPARE_DESCRIPTORS), settled - self.load.budget.connections)
        if too_many > 0:
            self._make_room(too_many)
        self.load.see_connections(self.by_whom(), descriptors)

    def by_whom(self) -> Counter[str]:
        """How many are whose; of `new` ones nobody knows yet."""
        return Counter({AGENTS: 0, PEOPLE: 0, NEW: len(self._shaking)}) + Counter(p.whose for p in self._open.values())

    def _make_room(self, count: int, last: ConnectionPhase = ConnectionPhase.PERSON_IDLE) -> int:
        """Closes up to `count` of those that may go for it, `last` and what goes before it. Returns how many."""
        now_s = time.monotonic()
        seen = ((key, p.seen(now_s)) for key, p in self._open.items())
        going = first_to_go(((key, one) for key, one in seen if one.part <= last), count, now_s)
        for key in going:
            self._close(self._open[key], "room")
        return len(going)

    def _make_way(self) -> bool:
        """For one that comes: a person's connection that is idle goes after a silent one, however young that is."""
        if self._make_room(1, last=ConnectionPhase.AGENT_ASKING):
            return True
        now_s = time.monotonic()
        key = longest_silent((key, p.seen(now_s)) for key, p in self._open.items())
        if key is None:
            return self._make_room(1) > 0
        self._close(self._open[key], "room")
        return True

    def _close(self, protocol: "GuardedProtocol", why: str) -> None:
        self.load.count_closed(why)
        self._open.pop(id(protocol), None)
        protocol.transport.abort()


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's `asyncio.Protocol`, entered in the table, with what it takes to see how it does."""

    of_agents = False
    """Whether nobody but agents comes this way."""

    def __init__(self, table: ConnectionTable, **given: Any) -> None:
        super().__init__(**given)
        self._table = table
        self._opened_s = self._since_s = self._moved_s = time.monotonic()
        self._unread = 0
        self._has_partial_head = False
        self._head_bytes = self._named_bytes = 0
        table.expect(self)

    @property
    def whose(self) -> str:
        """`agents`, `people`, or `new` where it has not asked for anything."""
        if self.of_agents:
            return AGENTS
        if not self._has_asked:
            return NEW
        return AGENTS if self.cycle.scope["path"].startswith(AGENT_PATHS) else PEOPLE

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._opened_s = self._since_s = self._moved_s = time.monotonic()
        self._table.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._table.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        now_s, cycle, had_asked = time.monotonic(), self.cycle, self._has_asked
        self._moved_s = now_s
        was_idle = not had_asked or cycle.response_complete
        super().data_received(data)
        if self.cycle is not cycle:
            self._since_s, self._has_partial_head, self._head_bytes = now_s, False, 0
            return
        if was_idle and not self._has_partial_head:
            self._has_partial_head = True
            self._since_s = now_s if had_asked else self._since_s
        if self._has_partial_head:
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD_BYTES and not self.transport.is_closing():
                self.send_400_response("The head of the request is too large.")

    def on_message_begin(self) -> None:
        """See HttpToolsProtocol, as the next."""
        self._named_bytes = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Raises ValueError where there are too many, which the parser answers with 400."""
        self._named_bytes += len(name) + len(value)
        if self._named_bytes > MOST_HEAD_BYTES:
            raise ValueError("the head of the request is too large")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Raises ValueError where another protocol is asked for together with a body, as Java's HttpClient does where
        there is no TLS: the parser drops the body, and what it says would be done without it."""
        names = {name for name, value in self.headers if value != b"0"}
        if self.parser.should_upgrade() and names & {b"content-length", b"transfer-encoding"}:
            raise ValueError("a request with a body asks for another protocol than HTTP/1.1")
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """See HttpToolsProtocol."""
        self._since_s = time.monotonic()
        super().on_response_complete()

    def seen(self, now_s: float) -> Seen:
        """How it does. To be asked regularly: whether an answer is read shows between two looks only."""
        unread = self.transport.get_write_buffer_size()
        if unread and (not self._unread or unread < self._unread):
            self._moved_s = now_s
        self._unread = unread
        return Seen(self._part(), self._opened_s, self._since_s, self._moved_s, self._waits_for(unread))

    @property
    def _has_asked(self) -> bool:
        """Whether a whole head has come. uvicorn's fields are None before that, whatever their types say."""
        cycle: object = self.cycle
        return cycle is not None

    def _part(self) -> ConnectionPhase:
        if not self._has_asked:
            return ConnectionPhase.ASKED_NOTHING
        is_idle, is_agent = self.cycle.response_complete, self.whose == AGENTS
        if is_agent:
            return ConnectionPhase.AGENT_IDLE if is_idle else ConnectionPhase.AGENT_ASKING
        return ConnectionPhase.PERSON_IDLE if is_idle else ConnectionPhase.PERSON_ASKING

    def _waits_for(self, unread: int) -> str:
        if unread:
            return "reader"
        if not self._has_asked or self._has_partial_head:
            return "head"
        asks_on = not self.cycle.response_complete and self.cycle.more_body
        return "body" if asks_on and not self.flow.read_paused else ""
