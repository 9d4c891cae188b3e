"""An agent's loop on a VM in memory: its process, its Kafka and its clock are fakes."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agent.client import NewDocument
from agent.disks.volumes import GivenVolumes
from agent.door.start import FollowedDoor
from agent.exit_reason import ExitReason
from agent.health.vitals import Vitals
from agent.inbox import Inbox
from agent.layout import AgentLayout
from agent.loop import AgentConverger
from agent.overlay.start import FollowedOverlay
from agent.probes import ProbeResult
from agent.records import Records, RecordUnreadable, ServiceRecord
from agent.settings import AgentSettings
from agent.steps import StorageFacts
from agent.surroundings import AgentEnvironment, NoReplicator, Replicator
from agent.wire import (
    Document,
    LogDirReport,
    OldClientReport,
    PacketFilterReport,
    Report,
    ServiceDocument,
    ServiceReport,
)
from tests.unit.agent.wanted import boot_data

KeepsFilter = Callable[[str, float], PacketFilterReport | None]


@dataclass
class FakeProcess:
    pid: int
    start_id: str
    exit_code: int | None = None
    obeys: bool = True
    signals: list[str] = field(default_factory=list)

    def is_alive(self) -> bool:
        return self.exit_code is None

    def terminate(self) -> None:
        self.signals.append("TERM")
        if self.obeys:
            self.exit_code = 143

    def kill(self) -> None:
        self.signals.append("KILL")
        self.exit_code = 137


class FakeKafka:
    """Kafka as a list of launches."""

    def __init__(self) -> None:
        self.process: FakeProcess | None = None
        self.launches: list[FakeProcess] = []
        self.state = StorageFacts("blank")
        self.health = ProbeResult("up")
        self.format_error: Exception | None = None
        self.start_error: OSError | None = None
        self.follow_error: OSError | None = None
        self.levels: list[Mapping[str, str]] = []
        self.seen_formatting: list[str] = []
        self.offline_log_dirs = 0
        self.reason = ExitReason("")

    def is_installed(self, service: ServiceDocument) -> bool:
        return service.kafka_version == "4.1.1"

    def storage(self, service: ServiceDocument, record: ServiceRecord) -> StorageFacts:
        return self.state

    def format(self, service: ServiceDocument, record: ServiceRecord) -> None:
        if self.format_error:
            raise self.format_error
        self.state = StorageFacts("ready")

    def start(self, service: ServiceDocument) -> None:
        if self.start_error:
            raise self.start_error
        self.process = FakeProcess(100 + len(self.launches), service.start_id)
        self.launches.append(self.process)

    def follow(self, service: ServiceDocument) -> None:
        if self.follow_error:
            raise self.follow_error
        self.levels.append(dict(service.log_levels))

    def probe(self, service: ServiceDocument) -> ProbeResult:
        return self.health

    def usage(self, service: ServiceDocument) -> tuple[LogDirReport, ...]:
        return (LogDirReport(name="data", total_bytes=10, free_bytes=5, partitions=3),)

    def old_clients(self, service: ServiceDocument) -> tuple[OldClientReport, ...]:
        return ()

    def digest(self, service: ServiceDocument) -> Mapping[str, float]:
        return {"leaders": 2.0}

    def vitals(self, service: ServiceDocument, usage: tuple[LogDirReport, ...], *, at_s: float) -> Vitals | None:
        pid = self.process.pid if self.process else 0
        return Vitals(at_s=at_s, pid=pid, offline_log_dirs=self.offline_log_dirs)

    def exit_reason(self) -> ExitReason:
        return self.reason

    def log_lines(self, *, at_s: float) -> Mapping[str, int]:
        return {"errors": 4}

    def note(self, service: ServiceDocument) -> str:
        return ""


class FakeClock:
    def __init__(self) -> None:
        self.s = 1000.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.s)

    def monotonic_s(self) -> float:
        return self.s


class Vm:
    """One VM whose agent can be killed and started again over the same disk and the same Kafka."""

    def __init__(
        self,
        root: Path,
        packet_filter: KeepsFilter = lambda rules, now_s: None,
        overlay: FollowedOverlay = lambda told: None,
        door: FollowedDoor = lambda told, is_confirmed: None,
        replicator: Replicator | None = None,
    ) -> None:
        self.packet_filter, self.overlay, self.door = packet_filter, overlay, door
        self.replicator = replicator or NoReplicator()
        self.layout = AgentLayout(root)
        self.layout.prepare()
        (root / "volumes" / "data").mkdir(parents=True)
        (root / "volumes" / "data.key").write_text("brokers-a-0.data.v1\n")
        (root / "interfaces").mkdir()
        (root / "interfaces" / "10.0.0.9").touch()
        self.kafka, self.clock, self.inbox = FakeKafka(), FakeClock(), Inbox()
        self.reports: list[Report] = []
        self.on_disk_when_said: dict[str, bool] = {}
        self.records = Records(self.layout.state)
        self.start_agent()

    def start_agent(self, boot_id: str = "boot-1") -> None:
        self.converger = AgentConverger(
            AgentEnvironment(
                boot=boot_data(),
                boot_id=boot_id,
                layout=self.layout,
                records=self.records,
                services={"broker": self.kafka},
                inbox=self.inbox,
                publish=self.publish,
                clock=self.clock,
                settings=AgentSettings(root=self.layout.root, kafka_dir=Path("/kafka")),
                volumes=GivenVolumes(self.layout),
                addresses=self.layout.addresses,
                packet_filter=self.packet_filter,
                overlay=self.overlay,
                door=self.door,
            ),
            self.replicator,
        )

    def publish(self, report: Report) -> None:
        """Keeps the report, and whether the end of s-1 was on disk when each state was first said."""
        self.reports.append(report)
        for service in report.services:
            with contextlib.suppress(RecordUnreadable):
                is_recorded = self.records.service("broker").end_of("s-1") is not None
                self.on_disk_when_said.setdefault(service.state, is_recorded)

    def power_cut(self, boot_id: str) -> None:
        self.kafka.process = None
        self.start_agent(boot_id)

    def serve(self, wanted: Document, etag: str = "e") -> None:
        self.inbox.put_document(NewDocument(wanted.model_dump_json().encode(), etag))

    def settle(self, passes: int = 6) -> ServiceReport:
        """Some passes, a second apart; what the last report says of the broker."""
        for _ in range(passes):
            self.clock.s += 1
            self.converger.tick()
        return self.said

    @property
    def said(self) -> ServiceReport:
        (service,) = self.reports[-1].services
        return service

    def states(self) -> list[str]:
        found: list[str] = []
        for report in self.reports:
            found += [s.state for s in report.services if not found or found[-1] != s.state]
        return found
