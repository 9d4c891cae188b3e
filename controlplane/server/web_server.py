"""What serves HTTP on a server's doors: uvicorn, and what has to happen in its loop once a second."""

import asyncio
import copy
import logging
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any, Protocol

import uvicorn
from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI

from agent.host_port import HostPort
from controlplane.api import agents_protocol, connections, overload, server_load
from controlplane.api.feed import Feed
from controlplane.api.portal_access import Door, at_door
from controlplane.api.services import HeldLeadership
from controlplane.runtime import descriptors, listen_addresses, process_errors
from controlplane.server.settings import Settings
from controlplane.server.tls_agents import AgentTls
from controlplane.server.tls_people import PeopleTls
from controlplane.server.vm_gateway import gateway_door
from controlplane.storage.home import Home, ServerRecord

_log = logging.getLogger(__name__)

_HANDSHAKE_S = 10.0
_ACCEPTING, _ACCEPTS_AFTER_S = "accepting connections", 3.0


def config_of(app: FastAPI, settings: Settings, table: connections.ConnectionTable) -> uvicorn.Config:
    """How uvicorn serves: on uvloop, whose connections over TLS take a tenth of asyncio's memory."""
    return uvicorn.Config(
        app,
        loop="uvloop",
        http=partial(connections.GuardedProtocol, table),  # type: ignore[arg-type]  # a class for it, and nothing but called
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=listen_addresses.ACCEPTED_AT_ONCE,
        proxy_headers=False,  # nobody stands between: what a header says of the door it came by is not believed
        timeout_keep_alive=listen_addresses.KEEP_ALIVE_S,
        timeout_graceful_shutdown=max(1, round(settings.process.graceful_stop_s)),
    )


class Served(Protocol):
    """Of a server's parts, what its doors need."""

    @property
    def settings(self) -> Settings: ...

    @property
    def home(self) -> Home: ...

    @property
    def candidate(self) -> HeldLeadership: ...


class WebServer(uvicorn.Server):
    """uvicorn, and what has to happen in its loop: send long polls away, and keep the address VMs were told alive."""

    def __init__(
        self,
        config: uvicorn.Config,
        services: Served,
        *,
        table: connections.ConnectionTable,
        feed: Feed,
        record: ServerRecord | None,
        told: listen_addresses.ListenAddress | None,
        tls: AgentTls | None = None,
        agents_door: socket.socket | None = None,
        peoples: tuple[socket.socket, PeopleTls] | None = None,
        states_door: socket.socket | None = None,
        before_stop: Callable[[], None] = lambda: None,
    ) -> None:
        """`record` is what the CLI finds this server by, None where it is not to be found."""
        super().__init__(config)
        self._table = table
        self._load = table.load
        self._states_door = states_door
        self._peoples = peoples
        self._before_stop = before_stop
        self._services = services
        self._feed = feed
        self._record = record
        self._agent_door = told
        self._tls = tls
        self._agents_door = agents_door
        self._is_nearly_full = False
        self._accept_failed_s = float("-inf")

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Opens the doors that are bound already."""
        overload.room_for_agents()
        asyncio.get_running_loop().set_exception_handler(self._heard_of)
        await super().startup(sockets)
        for door in sockets or []:
            door.listen(listen_addresses.KNOCKING)
            await self._open_to_vms(door.getsockname()[1])
        if self._states_door is not None:
            await self._open(self._states_door, None, served=Door.STATES)
            _log.info("serving Terraform's states on %s", HostPort(*self._states_door.getsockname()[:2]))
        if self._agents_door is not None and self._tls is not None:
            await self._open(self._agents_door, self._tls.context, served=Door.AGENTS)
            _log.info("serving agents over TLS on %s", HostPort(*self._agents_door.getsockname()[:2]))
        if self._peoples is not None:
            door, tls = self._peoples
            await self._open(door, tls.context, served=Door.PEOPLE)
            _log.info("serving people over TLS on %s", HostPort(*door.getsockname()[:2]))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answers on while what needs its answers comes to an end."""
        await asyncio.to_thread(self._before_stop)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal: whoever waits for news is sent away, so that the stop does not wait for them."""
        self._feed.close()
        super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        """Called ten times a second in the loop. What fails here, as a file for want of descriptors, ends nothing: the
        loop is what everybody is served by.
        """
        if counter % 10 == 1:
            with process_errors.TROUBLES.turn("connections"):
                self._look_at_load()
            with process_errors.TROUBLES.turn("where the server listens"):
                self._say_where()
                await self._listen_for_agents()
            with process_errors.TROUBLES.turn("certificates of the server"):
                await self._renew_certificates()
        return await super().on_tick(counter)

    def _heard_of(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """What the event loop tells of. Where it cannot accept for want of descriptors it tries again after a second,
        and says so each time and for each door: that is told as one trouble.
        """
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in descriptors.NONE_LEFT:
            self._accept_failed_s = time.monotonic()
            process_errors.TROUBLES.note(_ACCEPTING, error)
        else:
            loop.default_exception_handler(context)

    def _look_at_load(self) -> None:
        if time.monotonic() - self._accept_failed_s > _ACCEPTS_AFTER_S:
            process_errors.TROUBLES.went_well(_ACCEPTING)
        self._table.sweep(descriptors.open_descriptors())
        limiter = current_default_thread_limiter()
        self._load.see_threads(limiter.borrowed_tokens, int(limiter.total_tokens))
        self._tell_how_full()

    def _tell_how_full(self) -> None:
        figures = self._load.figures()
        if figures.is_nearly_full and not self._is_nearly_full:
            _log.warning(
                "%d agents are here, and %d fit: beyond that the newest are sent away. %s",
                figures.agents,
                figures.budget.agents,
                server_load.MORE_AGENTS,
            )
        self._is_nearly_full = figures.is_nearly_full

    async def _renew_certificates(self) -> None:
        if self._tls is not None and self._tls.renew_if_due():
            _log.info("the certificate agents are shown was renewed")
        if self._peoples is not None and await asyncio.to_thread(self._peoples[1].reload_if_changed):
            _log.info("the certificate people are shown was read again")

    def _say_where(self) -> None:
        """The CLI goes to the leader; to whoever is there while nobody leads."""
        if self._record is None:
            return
        home, known = self._services.home, self._services.home.server()
        if known == self._record:
            return
        if known is None or not known.is_alive or self._services.candidate.may_act:
            home.keep_server(self._record)

    async def _listen_for_agents(self) -> None:
        """Agents of living VMs know one address for ever: whoever leads answers there, once it is free."""
        told = self._agent_door
        if told is None or not self._services.candidate.may_act or (told.is_tls and self._tls is None):
            return
        bound_to = self._services.settings.agents.host or told.host if told.is_tls else told.host
        with suppress(listen_addresses.CannotListen):
            context, served = (self._tls.context, Door.AGENTS) if told.is_tls and self._tls else (None, Door.LOOPBACK)
            await self._open(listen_addresses.listening(bound_to, told.port), context, served=served)
            if not told.is_tls:
                await self._open_to_vms(told.port)
            self._agent_door = None
            _log.info("also listening on %s, the address VMs were told", told.url)

    async def _open_to_vms(self, port: int) -> None:
        gateway = gateway_door(self._services.settings, port)
        if gateway is not None:
            await self._open(gateway, None, served=Door.AGENTS)

    async def _open(self, door: socket.socket, context: ssl.SSLContext | None, *, served: Door) -> None:
        loop = asyncio.get_running_loop()
        shaken_within_s = _HANDSHAKE_S if context else None
        config = copy.copy(self.config)
        config.loaded_app = at_door(self.config.loaded_app, served)
        is_agents = context is not None and served is Door.AGENTS
        spoken = partial(agents_protocol.AgentsProtocol, self._table) if is_agents else config.http_protocol_class

        def protocol() -> asyncio.Protocol:
            made: asyncio.Protocol = spoken(  # type: ignore[call-arg]
                config=config, server_state=self.server_state, app_state=self.lifespan.state
            )
            return made

        server = await loop.create_server(
            protocol,
            sock=door,
            ssl=context,
            ssl_handshake_timeout=shaken_within_s,
            backlog=listen_addresses.ACCEPTED_AT_ONCE,
        )
        door.listen(listen_addresses.KNOCKING)
        self.servers.append(server)
