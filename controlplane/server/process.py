"""`kedge server`: the API in the main thread, ticks beside it, and an orderly end of both."""

import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Protocol

from controlplane.api.access.accounts import FIRST_USER
from controlplane.api.agents_app import create_agents_app
from controlplane.api.connections import ConnectionTable
from controlplane.api.oidc.binding import OidcRefused
from controlplane.api.services import PortalServices
from controlplane.cluster.view import ClusterView
from controlplane.portal.app import create_app
from controlplane.runtime import core_dumps, descriptors, gc_tuning, redaction, thread_switching
from controlplane.runtime.listen_addresses import AddressRefused, CannotListen, ListenAddress, address_of, listening
from controlplane.server import bootstrap, database_roles, logging_setup, tls_agents, tls_people, web_server
from controlplane.server.parts import Services
from controlplane.server.sections.process import AGENTS, LOOP, PORTAL
from controlplane.server.settings import Settings, warn_of_old_names
from controlplane.server.split.agents_build import AgentsPartRefused, build_agents
from controlplane.server.split.forbidden_access import PortalRefused
from controlplane.server.split.portal_build import build_portal
from controlplane.storage.certificates.authority import AuthorityRefused
from controlplane.storage.home import Home, ServerRecord
from controlplane.storage.home_binding import HTTP, HomeRefused
from controlplane.storage.migrate import MigrationError
from events.errors import EventsError
from providers.tf.mirror import MirrorRefused

_log = logging.getLogger(__name__)

_REFUSALS = (
    *(CannotListen, AddressRefused, AuthorityRefused, MigrationError, database_roles.RoleRefused, HomeRefused),
    *(tls_people.PeopleDoorRefused, OidcRefused, PortalRefused, AgentsPartRefused, MirrorRefused),
    *(EventsError, OSError),
)


class Assemble(Protocol):
    """How a server's parts come about: `build`, or a test's own."""

    def __call__(
        self, settings: Settings, *, listens_on: tuple[str, int] | None, states_on: tuple[str, int] | None
    ) -> Services: ...


def run(settings: Settings, *, take_over_home: bool = False, move_states: bool = False) -> int:
    """Serves until SIGTERM or SIGINT, then stops in order; VMs and brokers stay up. Returns the exit code."""
    logging_setup.log_to_stderr(settings.process.log_level, settings.process.log_format, server=socket.gethostname())
    warn_of_old_names(settings)
    core_dumps.leave_no_core_files()
    thread_switching.shorten_turns()
    walks = gc_tuning.ShortWalks().begin()
    try:
        with logging_setup.thread_errors_logged():
            if settings.process.only == PORTAL:
                serve_portal(settings)
            elif settings.process.only == AGENTS:
                serve_agents(settings)
            else:
                serve(
                    settings, assemble=partial(bootstrap.build, take_over_home=take_over_home, move_states=move_states)
                )
    except _REFUSALS as error:
        print(redaction.redacted(f"kedge server: {error}"), file=sys.stderr)
        return 1
    finally:
        walks.end()
    return 0


def serve(settings: Settings, *, assemble: Assemble = bootstrap.build) -> None:
    """The same, raising: CannotListen, AddressRefused, AuthorityRefused, MirrorRefused, MigrationError, RoleRefused,
    HomeRefused, PeopleDoorRefused, OidcRefused, StoreUnavailable, PositionGap, OSError.
    """
    _make_room()
    with (
        _stopped_by_signals(),
        listening(settings.process.host, settings.process.port) as door,
        _states_door(settings) as states_door,
        _agents_door(settings) as agents_door,
        _peoples_door(settings) as peoples_door,
    ):
        address = ListenAddress(settings.process.host, door.getsockname()[1])
        states_on = (settings.process.host, states_door.getsockname()[1]) if states_door is not None else None
        services = assemble(settings, listens_on=(address.host, address.port), states_on=states_on)
        try:
            services.converger.catch_up()
            _serve(services, door, address, agents_door, peoples_door, states_door)
        finally:
            _log.info("stopping: no new step begins, what runs is ended; VMs stay up")
            services.close()


def serve_portal(settings: Settings) -> None:
    """A portal alone: people are served, nothing is done. Raises CannotListen, MigrationError, RoleRefused,
    PortalRefused, PeopleDoorRefused, OidcRefused, StoreUnavailable, PositionGap, OSError.
    """
    # Whatever the settings say of agents and VMs is the loop's to do.
    agents = settings.agents.model_copy(update={"host": "", "name": ""})
    clouds = settings.clouds.model_copy(update={"vm_network": "loopback"})
    settings = settings.model_copy(update={"agents": agents, "clouds": clouds})
    _make_room()
    with (
        _stopped_by_signals(),
        listening(settings.process.host, settings.process.port) as door,
        _peoples_door(settings) as peoples_door,
    ):
        address = ListenAddress(settings.process.host, door.getsockname()[1])
        parts = build_portal(settings, listens_on=(address.host, address.port))
        try:
            elsewhere = tls_people.people_tls(settings, parts.portal.access.people)
            if settings.oidc is not None:
                settings.oidc.client_secret()  # refused now rather than at the first sign-in
            record = ServerRecord(address.url, os.getpid())
            app = create_app(parts.portal)
            table = ConnectionTable(parts.portal.operations.load)
            server = web_server.WebServer(
                web_server.config_of(app, settings, table),
                parts,
                table=table,
                feed=app.state.feed,
                record=record,
                told=None,
                peoples=(peoples_door, elsewhere) if peoples_door is not None and elsewhere is not None else None,
            )
            parts.poller.start()
            _log.info(
                "listening on %s, token in %s; people are served, and nothing else", address.url, parts.home.token_file
            )
            _tell_first_password(parts.portal, address)
            try:
                server.run(sockets=[door])
            finally:
                parts.home.forget_server(record)
        finally:
            _log.info("stopping: the loop goes on")
            parts.close()


def serve_agents(settings: Settings) -> None:
    """What answers agents, alone. Raises CannotListen, MigrationError, RoleRefused, AgentsPartRefused,
    AuthorityRefused, StoreUnavailable, PositionGap, OSError.
    """
    clouds = settings.clouds.model_copy(update={"vm_network": "loopback"})  # VMs of this machine have their server's
    settings = settings.model_copy(update={"clouds": clouds})
    _make_room()
    with (
        _stopped_by_signals(),
        listening(settings.process.host, settings.process.port) as door,
        _shared_door(settings) as agents_door,
    ):
        address = ListenAddress(settings.process.host, door.getsockname()[1])
        parts = build_agents(settings, listens_on=(address.host, address.port))
        try:
            app = create_agents_app(parts.portal, telemetry=parts.candidate.telemetry)
            table = ConnectionTable(parts.portal.operations.load)
            server = web_server.WebServer(
                web_server.config_of(app, settings, table),
                parts,
                table=table,
                feed=app.state.feed,
                record=None,
                told=None,
                tls=parts.tls,
                agents_door=agents_door,
            )
            parts.start()
            _log.info(
                "listening on %s, token in %s; agents are served, and nothing else", address.url, parts.home.token_file
            )
            server.run(sockets=[door])
        finally:
            _log.info("stopping: agents go on with another process")
            parts.close()


def _shared_door(settings: Settings) -> socket.socket:
    """Where agents are served over TLS, with other processes of this machine that do. Raises CannotListen."""
    try:
        return listening(settings.agents.host, settings.agents.port, settings="KEDGE_AGENTS_", shared=True)
    except CannotListen as error:
        if not error.is_taken:
            raise
        why = f"{error} A server that serves agents itself has it alone: set agents.apart there, and start it again."
        raise CannotListen(why, is_taken=True) from error


def _make_room() -> None:
    """As many descriptors as may be. Before the parts are built: they reckon with it."""
    budget = descriptors.budget_of(descriptors.raise_limit())
    _log.info(
        "up to %d open files: room for %d connections, %d agents among them (two connections each)",
        budget.limit,
        budget.connections,
        budget.agents,
    )


def _serve(
    services: Services,
    door: socket.socket,
    address: ListenAddress,
    agents_door: socket.socket | None,
    peoples_door: socket.socket | None,
    states_door: socket.socket | None,
) -> None:
    serves_people = services.settings.process.only != LOOP
    elsewhere = tls_people.people_tls(services.settings, services.portal.access.people) if serves_people else None
    if services.settings.oidc is not None and serves_people:
        services.settings.oidc.client_secret()  # refused now rather than at the first sign-in
    record = ServerRecord(address.url, os.getpid())
    for_agents = _served_to_agents(services.settings, address, agents_door)
    told = _address_for_agents(services, for_agents)
    if told is None and for_agents.is_tls and agents_door is None and not services.settings.agents.apart:
        told = for_agents  # the server beside this one has it, and this one when it leads
    app = create_app(services.portal)
    table = ConnectionTable(services.portal.operations.load)
    tls = _tls_for(services, [for_agents, *([told] if told else [])])
    server = web_server.WebServer(
        web_server.config_of(app, services.settings, table),
        services,
        table=table,
        feed=app.state.feed,
        record=record,
        told=told,
        tls=tls,
        agents_door=agents_door,
        peoples=(peoples_door, elsewhere) if peoples_door is not None and elsewhere is not None else None,
        states_door=states_door,
        before_stop=services.end_runs,
    )
    services.agree_on_agent_url(services.home.agent_url() or "")
    services.planning.warm_up()
    services.scheduler.start()
    services.background.start()
    services.channels.start()
    _log.info("listening on %s, token in %s", address.url, services.home.token_file)
    if serves_people:
        _tell_first_password(services.portal, address)
    if for_agents.is_tls and told is not None and told != for_agents:
        _log.warning(
            "VMs were told %s, and so are new ones while one of those lives; then they are told %s",
            told.url,
            for_agents.url,
        )
    try:
        server.run(sockets=[door])
    finally:
        services.home.forget_server(record)


@contextmanager
def _states_door(settings: Settings) -> Iterator[socket.socket | None]:
    """Where Terraform's states are served to this server's own runs, bound; None where they are files. Any port does:
    a run is told the address, and none outlives its server. Raises CannotListen.
    """
    if settings.terraform.state != HTTP:
        yield None
        return
    with listening(settings.process.host, 0) as door:
        yield door


@contextmanager
def _agents_door(settings: Settings) -> Iterator[socket.socket | None]:
    """Where agents are served over TLS, bound. None without such a setting, and where another process has it.

    Raises CannotListen.
    """
    door = None
    if settings.agents.host and not settings.agents.apart:
        try:
            door = listening(settings.agents.host, settings.agents.port, settings="KEDGE_AGENTS_")
        except CannotListen as error:
            beside = Home(settings.home).server()
            if not error.is_taken or beside is None or not beside.is_alive:
                raise
    try:
        yield door
    finally:
        if door is not None:
            door.close()


@contextmanager
def _peoples_door(settings: Settings) -> Iterator[socket.socket | None]:
    """Where people elsewhere are served over TLS, bound; None without such a setting. Raises CannotListen.

    Taken by a server beside us, it is that one's.
    """
    door = None
    if settings.portal.host and settings.process.only != LOOP:
        try:
            door = listening(settings.portal.host, settings.portal.port, settings="KEDGE_PORTAL_")
        except CannotListen as error:
            beside = Home(settings.home).server()
            if not error.is_taken or beside is None or not beside.is_alive:
                raise
            _log.warning("people elsewhere are served by the server beside this one: %s", error)
    try:
        yield door
    finally:
        if door is not None:
            door.close()


def _tell_first_password(portal: PortalServices, address: ListenAddress) -> None:
    """To the terminal and not to the log: it is told once, and kept nowhere."""
    password = portal.access.people.first_password(portal.clock())
    if password:
        print(
            f"The portal is at {address.url}/ - sign in as {FIRST_USER} with the password {password}\n"
            "It is shown this once; choose one of your own there.",
            file=sys.stderr,
            flush=True,
        )


def _served_to_agents(settings: Settings, address: ListenAddress, agents_door: socket.socket | None) -> ListenAddress:
    if not settings.agents.over_tls:
        return address
    port = agents_door.getsockname()[1] if agents_door else settings.agents.port
    return ListenAddress(settings.agents.called, port, "https")


def _tls_for(services: Services, addresses: list[ListenAddress]) -> tls_agents.AgentTls | None:
    """TLS for the addresses agents call, those of earlier settings among them."""
    names = [address.host for address in addresses if address.is_tls]
    return tls_agents.AgentTls(services.authority, names) if services.authority and names else None


def _address_for_agents(services: Services, address: ListenAddress) -> ListenAddress | None:
    """Fixes what new VMs are told. Returns the address that earlier VMs were told when it is not ours.

    A history without any cluster proves nothing: its database may be a new one, and VMs of the lost one may live.
    Raises AddressRefused.
    """
    home, known = services.home, services.converger.views()
    told = home.agent_url()
    if told is None or (told != address.url and known and not any(_has_vms(v) for v in known)):
        ca_sha256 = services.authority.sha256 if address.is_tls and services.authority else ""
        home.keep_agent_url(address.url, ca_sha256=ca_sha256)
        return None
    return None if told == address.url else address_of(told)


def _has_vms(view: ClusterView) -> bool:
    return bool(view.alive()) and not view.deleted


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
