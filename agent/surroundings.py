"""What the converger works with, as protocols: the real things in `agent.main`, fakes in tests."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from agent.disks.volumes import Volumes
from agent.exit_reason import ExitReason
from agent.health.vitals import Vitals
from agent.inbox import Inbox
from agent.layout import AgentLayout
from agent.probes import ProbeResult
from agent.records import Records, ServiceRecord
from agent.settings import AgentSettings
from agent.steps import StorageFacts
from agent.wire import (
    BootData,
    HeartbeatReport,
    LogDirReport,
    OldClientReport,
    PacketFilterReport,
    PreemptionReport,
    Report,
    ServiceDocument,
    ServiceName,
    UpgradeReport,
)


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
        ...

    def is_installed(self, service: ServiceDocument) -> bool: ...

    def storage(self, service: ServiceDocument, record: ServiceRecord) -> StorageFacts: ...

    def format(self, service: ServiceDocument, record: ServiceRecord) -> None:
        """Raises `FormatFailed`, `OSError`."""
        ...

    def start(self, service: ServiceDocument) -> None:
        """Raises `OSError`."""
        ...

    def probe(self, service: ServiceDocument) -> ProbeResult: ...

    def usage(self, service: ServiceDocument) -> tuple[LogDirReport, ...]: ...

    def digest(self, service: ServiceDocument) -> Mapping[str, float]: ...

    def old_clients(self, service: ServiceDocument) -> tuple[OldClientReport, ...]:
        """Who speaks to it in versions the next major Kafka refuses."""
        ...

    def vitals(self, service: ServiceDocument, usage: tuple[LogDirReport, ...], *, at_s: float) -> Vitals | None:
        """A sample of the running process, None when it does not tell."""
        ...

    def exit_reason(self) -> ExitReason:
        """Why its last process ended, by what that wrote."""
        ...

    def log_lines(self, *, at_s: float) -> Mapping[str, int]:
        """Lines of its log in the last whole minute, by class."""
        ...

    def note(self, service: ServiceDocument) -> str:
        """What a person should know about a running service's document, e.g. settings that are ignored; else empty."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEnvironment:
    """Everything outside the converger."""

    boot: BootData
    boot_id: str
    layout: AgentLayout
    records: Records
    services: Mapping[ServiceName, Service]
    inbox: Inbox
    publish: Callable[[Report], None]
    clock: Clock
    settings: AgentSettings
    volumes: Volumes
    addresses: Callable[[], frozenset[str]]
    """Addresses bound to the VM right now."""
    heartbeats: Callable[[], tuple[HeartbeatReport, ...]] = tuple
    """What came of the heartbeats through brokers of the next rack."""
    preemption: Callable[[], PreemptionReport | None] = lambda: None
    """What the cloud told this VM alone."""
    packet_filter: Callable[[str, float], PacketFilterReport | None] = lambda rules, now_s: None
    """Rules of the document ("": none) and monotonic seconds -> what is in force; see `agent.packet_filter`."""
    upgrade: Callable[[], UpgradeReport | None] = lambda: None
    """How the agent's own upgrade stands."""


def live(process: Process | None) -> Process | None:
    """The process if it is alive."""
    return process if process is not None and process.is_alive() else None
