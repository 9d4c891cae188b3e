"""`kedge server`: the API in the main thread, ticks beside it, and an orderly end of both."""

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Protocol
from urllib.parse import urlsplit

import uvicorn

from controlplane.bootstrap import Services, build
from controlplane.home import ServerRecord
from controlplane.homeclaim import HomeRefused
from controlplane.migrate import MigrationError
from controlplane.portal.app import create_app
from controlplane.portal.feed import Feed
from controlplane.settings import Settings
from controlplane.view import ClusterView
from events.errors import EventsError

_log = logging.getLogger(__name__)


class Assemble(Protocol):
    """How a server's parts come about: `build`, or a test's own."""

    def __call__(self, settings: Settings, *, listens_on: tuple[str, int] | None) -> Services: ...


class CannotListen(Exception):
    """The address is taken. What now: give up; a person names another port or ends the other server."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where plain HTTP is spoken: loopback only."""

    host: str
    port: int

    @property
    def url(self) -> str:
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"


def run(settings: Settings, *, take_over_home: bool = False) -> int:
    """Serves until SIGTERM or SIGINT, then stops in order; VMs and brokers stay up. Returns the exit code."""
    _log_to_stderr(settings.log_level)
    try:
        serve(settings, assemble=partial(build, take_over_home=take_over_home))
    except (CannotListen, MigrationError, HomeRefused, EventsError, OSError) as error:
        print(f"kedge server: {error}", file=sys.stderr)
        return 1
    return 0


def serve(settings: Settings, *, assemble: Assemble = build) -> None:
    """The same, raising: CannotListen, MigrationError, HomeRefused, StoreUnavailable, PositionGap, OSError."""
    with _stopped_by_signals(), _listening(settings.host, settings.port) as door:
        address = Address(settings.host, door.getsockname()[1])
        services = assemble(settings, listens_on=(address.host, address.port))
        try:
            services.converger.catch_up()
            _serve(services, door, address)
        finally:
            _log.info("stopping: no new step begins, what runs is ended; VMs stay up")
            services.close()


def _serve(services: Services, door: socket.socket, address: Address) -> None:
    record = ServerRecord(address.url, os.getpid())
    told = _address_for_agents(services, address)
    app = create_app(services.portal)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=max(1, round(services.settings.graceful_stop_s)),
    )
    server = _Server(config, services, feed=app.state.feed, record=record, told=told)
    services.planning.warm_up()
    services.scheduler.start()
    _log.info("listening on %s, token in %s", address.url, services.home.token_file)
    try:
        server.run(sockets=[door])
    finally:
        services.home.forget_server(record)


class _Server(uvicorn.Server):
    """uvicorn, and what has to happen in its loop: send long polls away, and keep the address VMs were told alive."""

    def __init__(
        self, config: uvicorn.Config, services: Services, *, feed: Feed, record: ServerRecord, told: Address | None
    ) -> None:
        super().__init__(config)
        self._services = services
        self._feed = feed
        self._record = record
        self._told = told

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal: whoever waits for news is sent away, so that the stop does not wait for them."""
        self._feed.close()
        super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        """Called ten times a second in the loop."""
        if counter % 10 == 1:
            self._say_where()
            await self._listen_where_told()
        return await super().on_tick(counter)

    def _say_where(self) -> None:
        """The CLI goes to the leader; to whoever is there while nobody leads."""
        home, known = self._services.home, self._services.home.server()
        if known == self._record:
            return
        if known is None or not known.is_alive or self._services.candidate.may_act:
            home.keep_server(self._record)

    async def _listen_where_told(self) -> None:
        """Agents of living VMs know one address for ever: whoever leads answers there, once it is free."""
        told = self._told
        if told is None or not self._services.candidate.may_act:
            return
        with suppress(CannotListen):
            door = _listening(told.host, told.port)
            loop = asyncio.get_running_loop()
            self.servers.append(await loop.create_server(self._protocol, sock=door))
            self._told = None
            _log.info("also listening on %s, the address VMs were told", told.url)

    def _protocol(self) -> asyncio.Protocol:
        made: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made


def _address_for_agents(services: Services, address: Address) -> Address | None:
    """Fixes what new VMs are told. Returns the address that earlier VMs were told when it is not ours.

    A history without any cluster proves nothing: its database may be a new one, and VMs of the lost one may live.
    """
    home, known = services.home, services.converger.views()
    told = home.agent_url()
    if told is None or (told != address.url and known and not any(_has_vms(v) for v in known)):
        home.keep_agent_url(address.url)
        return None
    return None if told == address.url else _parsed(told)


def _has_vms(view: ClusterView) -> bool:
    return bool(view.alive()) and not view.deleted


def _parsed(url: str) -> Address:
    parts = urlsplit(url)
    return Address(parts.hostname or "127.0.0.1", parts.port or 80)


def _listening(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 lets the system choose. Raises CannotListen."""
    door = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        door.bind((host, port))
        door.listen(128)
    except OSError as error:
        door.close()
        raise CannotListen(
            f"cannot listen on {host}:{port}: {error.strerror}. Is another `kedge server` running? "
            "KEDGE_PORT names another port."
        ) from error
    return door


class _Stopped(Exception):
    """A signal asked for the end."""


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """The first SIGTERM or SIGINT ends the block in order; later ones are told that this takes a moment.

    uvicorn handles signals while it serves and raises the one that ended it again when it is done: it lands here too.
    """
    is_stopping = False

    def stop(sig: int, frame: FrameType | None) -> None:
        nonlocal is_stopping
        if is_stopping:
            _log.warning("stopping already: Terraform saves its state")
            return
        is_stopping = True
        raise _Stopped

    before = {sig: signal.signal(sig, stop) for sig in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    except _Stopped:
        _log.info("stopped")
    finally:
        for sig, handler in before.items():
            signal.signal(sig, handler)


def _log_to_stderr(level: str) -> None:
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for noisy in ("uvicorn", "alembic"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
