"""A replicator on a VM in memory: MirrorMaker is a list of launches, and its log says what a test wants."""

from dataclasses import dataclass, field
from pathlib import Path

from agent.exit_reason import ExitReason
from agent.journal.places import FilePlace
from agent.replicator.follower import ReplicatorFollower
from agent.replicator.record import ReplicatorRecordFile
from agent.settings import AgentTimes
from agent.steps import Leaving
from agent.wire_replicator import ReplicatorDocument, ReplicatorEnd, ReplicatorReport
from tests.unit.agent.loop_vm import FakeClock, FakeProcess


def wanted(start_id: str = "r-1", **changes: object) -> ReplicatorDocument:
    eu = ReplicatorEnd(name="eu", bootstrap=("10.0.0.1:9092",))
    us = ReplicatorEnd(name="us", bootstrap=("10.1.0.1:9092", "[fd00::1]:9092"))
    document = ReplicatorDocument(
        state="running", start_id=start_id, kafka_version="4.2.0", source=eu, target=us, topics=("orders",)
    )
    return document.model_copy(update=changes)


@dataclass
class FakeMirrorMaker:
    """What runs on the VM outlives every follower of it."""

    launches: list[FakeProcess] = field(default_factory=list)
    rendered: list[ReplicatorDocument] = field(default_factory=list)
    searches: int = 0
    missing: str = ""
    start_error: OSError | None = None
    find_error: OSError | None = None
    starts_all_the_same: bool = False
    has_copied: bool = False
    reason: ExitReason = field(default_factory=lambda: ExitReason(""))
    obeys: bool = True
    logs: str = "its log"

    def find(self) -> FakeProcess | None:
        self.searches += 1
        if self.find_error is not None:
            raise self.find_error
        return next((process for process in self.launches if process.is_alive()), None)

    def refused(self, document: ReplicatorDocument) -> str:
        return self.missing

    def log_end(self) -> FilePlace | None:
        return FilePlace(1, len(self.launches))

    def start(self, document: ReplicatorDocument) -> FakeProcess:
        if self.start_error is not None and not self.starts_all_the_same:
            raise self.start_error
        process = FakeProcess(500 + len(self.launches), document.start_id, obeys=self.obeys)
        self.launches.append(process)
        self.rendered.append(document)
        if self.start_error is not None:
            raise self.start_error
        return process

    def copies(self, since: FilePlace | None) -> tuple[bool, FilePlace | None]:
        return self.has_copied, since

    def exit_reason(self) -> ExitReason:
        return self.reason

    @property
    def alive(self) -> list[FakeProcess]:
        return [process for process in self.launches if process.is_alive()]


class ReplicatorVm:
    """`agent` starts another agent over the same disk; `follow` is some of its passes, a second apart."""

    def __init__(self, folder: Path) -> None:
        self.mirror_maker, self.clock = FakeMirrorMaker(), FakeClock()
        self.file = ReplicatorRecordFile(folder / "replicator.json")
        self.agent()

    def agent(self, boot_id: str = "boot-1") -> None:
        self.follower = ReplicatorFollower(
            self.mirror_maker, self.file, boot_id=boot_id, times=AgentTimes(), clock=self.clock
        )

    def follow(
        self,
        document: ReplicatorDocument | None,
        passes: int = 1,
        *,
        is_confirmed: bool = True,
        leaving: Leaving = "",
        every_s: float = 1.0,
    ) -> ReplicatorReport:
        said = None
        for _ in range(passes):
            self.clock.s += every_s
            said = self.follower.follow(document, is_confirmed=is_confirmed, leaving=leaving)
        assert said is not None
        return said

    def running(self, document: ReplicatorDocument) -> FakeProcess:
        """One that copies."""
        self.mirror_maker.has_copied = True
        assert self.follow(document, 4).state == "running"
        return self.mirror_maker.launches[-1]
