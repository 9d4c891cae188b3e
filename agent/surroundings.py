"""What the converger works with, as protocols: the real things in `agent.main`, fakes in tests."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from agent import probes, steps, wire
from agent.disks.volumes import Volumes
from agent.exit_reason import ExitReason
from agent.health.vitals import Vitals
from agent.inbox import Inbox
from agent.layout import AgentLayout
from agent.records import Records, ServiceRecord
from agent.settings import AgentSettings
from agent.steps import Leaving


class Clock(Protocol):
    """Wall clock (aware, UTC) for reports and records, monotonic clock for everything that is waited for."""

    def now(self) -> datetime: ...
    def monotonic_s(self) -> float: ...


class Process(Protocol):
    """A process that may have ended. `exit_code` is None while it runs, and when it was not our child."""

    @property
    def pid(self) -> int: ...
    @property
    def start_id(self) -> str: ...
    @property
    def exit_code(self) -> int | None: ...
    def is_alive(self) -> bool: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...


class Service(Protocol):
    """One kind of service on the VM; `agent.services.kafka` is the one there is."""

    @property
    def process(self) -> Process | None:
        """The last process known of, also when it has ended; None when there never was one."""

    def is_installed(self, service: wire.ServiceDocument) -> bool: ...

    def storage(self, service: wire.ServiceDocument, record: ServiceRecord) -> steps.StorageFacts: ...

    def format(self, service: wire.ServiceDocument, record: ServiceRecord) -> None:
        """Raises `FormatFailed`, `OSError`."""

    def start(self, service: wire.ServiceDocument) -> None:
        """Raises `OSError`."""

    def follow(self, service: wire.ServiceDocument) -> None:
        """Lets a running process have what counts without a restart. Raises `OSError`."""

    def probe(self, service: wire.ServiceDocument) -> probes.ProbeResult: ...

    def usage(self, service: wire.ServiceDocument) -> tuple[wire.LogDirReport, ...]: ...

    def digest(self, service: wire.ServiceDocument) -> Mapping[str, float]: ...

    def old_clients(self, service: wire.ServiceDocument) -> tuple[wire.OldClientReport, ...]:
        """Who speaks to it in versions the next major Kafka refuses."""

    def vitals(
        self, service: wire.ServiceDocument, usage: tuple[wire.LogDirReport, ...], *, at_s: float
    ) -> Vitals | None:
        """A sample of the running process, None when it does not tell."""

    def exit_reason(self) -> ExitReason:
        """Why its last process ended, by what that wrote."""

    def log_lines(self, *, at_s: float) -> Mapping[str, int]:
        """Lines of its log in the last whole minute, by class."""

    def note(self, service: wire.ServiceDocument) -> str:
        """What a person should know about a running service's document, e.g. settings that are ignored; else empty."""


class Replicator(Protocol):
    """What copies records between the clusters of a pair; see `agent.replicator.follower`."""

    @property
    def is_alive(self) -> bool: ...

    def follow(
        self, wanted: wire.ReplicatorDocument | None, *, is_confirmed: bool, leaving: Leaving
    ) -> wire.ReplicatorReport | None:
        """What the document says of it, whether the server said so since this agent began, and why the VM lets nothing
        run -> what has become of it; None where none was ever wanted. It is quick, and raises nothing."""


class NoReplicator:
    """Of a VM that copies nothing."""

    is_alive = False

    def follow(
        self, wanted: wire.ReplicatorDocument | None, *, is_confirmed: bool, leaving: Leaving
    ) -> wire.ReplicatorReport | None:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEnvironment:
    """Everything outside the converger."""

    boot: wire.BootData
    boot_id: str
    layout: AgentLayout
    records: Records
    services: Mapping[wire.ServiceName, Service]
    inbox: Inbox
    publish: Callable[[wire.Report], None]
    clock: Clock
    settings: AgentSettings
    volumes: Volumes
    addresses: Callable[[], frozenset[str]]
    """Addresses bound to the VM right now."""
    heartbeats: Callable[[], tuple[wire.HeartbeatReport, ...]] = tuple
    """What came of the heartbeats through brokers of the next rack."""
    preemption: Callable[[], wire.PreemptionReport | None] = lambda: None
    """What the cloud told this VM alone."""
    token_keys: Callable[[], tuple[wire.TokenKeysReport, ...]] = tuple
    """The keys by which listeners judge tokens."""
    packet_filter: Callable[[str, float], wire.PacketFilterReport | None] = lambda rules, now_s: None
    """Rules of the document ("": none) and monotonic seconds -> what is in force; see `agent.packet_filter`."""
    overlay: Callable[[wire.OverlayDocument | None], wire.OverlayReport | None] = lambda told: None
    """What the document says of the overlay -> what has become of it; see `agent.overlay.reconciler`."""
    door: Callable[[wire.DoorDocument | None, bool], wire.DoorReport | None] = lambda told, is_confirmed: None
    """What the document says of the door, and whether the server said so since this agent began -> what is in force;
    see `agent.door.client_door`."""
    certificate: Callable[[wire.ServiceDocument], str] = lambda service: ""
    """Sees to what a service proves itself by at its next start: what it waits for, "" once that is there."""
    shown_certificate: Callable[[wire.ServiceDocument, str], wire.CertificateReport | None] = lambda service, start: (
        None
    )
    """What a service that runs by this start has for a certificate, and what its listeners show."""
    upgrade: Callable[[], wire.UpgradeReport | None] = lambda: None
    """How the agent's own upgrade stands."""


def live(process: Process | None) -> Process | None:
    """The process if it is alive."""
    return process if process is not None and process.is_alive() else None
