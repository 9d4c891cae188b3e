"""A whole agent keeps MirrorMaker 2 between two real clusters: over its own restart, over a kill, and until a stop."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent.process import Marks, adopt
from agent.wire import Document, ReplicatorDocument, ReplicatorEnd, ReplicatorReport
from tests.agent.agent_vm import KAFKA, AgentVm
from tests.agent.control_server import ControlServer
from tests.kafka_processes import KafkaProcesses
from tests.mirrored_clusters import COPIED_WITHIN_S, TOPIC, VERSION, kept_offsets, log, produce, two_clusters
from tests.waiting import patient, until

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900)]

JARS = Path(os.environ.get("KEDGE_KAFKA_DIR", KAFKA))


class CopyingVm:
    """A VM of the standby that copies, and no broker beside it: what is said of the replicator, and what runs."""

    def __init__(self, root: Path, eu: KafkaProcesses, us: KafkaProcesses) -> None:
        self.server = ControlServer()
        self.vm = AgentVm(root, server_url=self.server.url, node="brokers-0")
        self._ends = [ReplicatorEnd(name=n, bootstrap=tuple(k.bootstrap)) for n, k in (("eu", eu), ("us", us))]

    def serve(self, state: str) -> None:
        source, target = self._ends
        replicator = ReplicatorDocument(
            state=state,
            start_id="r-1",
            kafka_version=VERSION,
            source=source,
            target=target,
            topics=(TOPIC,),
            replication_factor=1,
        )
        self.server.serve(
            Document(epoch=1, cluster_uid="c1", node="brokers-0", generation=1, services=(), replicator=replicator)
        )

    def until(self, condition: Callable[[ReplicatorReport], bool], what: str) -> ReplicatorReport:
        """By a report that came from now on."""
        after = self.server.count(self.vm.instance)

        def found() -> ReplicatorReport | None:
            with self.server.changed:
                reports = self.server.reports[self.vm.instance][after:]
            return next((r.replicator for r in reports if r.replicator and condition(r.replicator)), None)

        return until(found, what, timeout_s=patient(COPIED_WITHIN_S), every_s=0.2)

    def find(self) -> int | None:
        """The process with its marks."""
        directory = self.vm.root / "agent" / "services" / "replicator"
        found = adopt(Marks.of(root=self.vm.root, service="replicator", directory=directory))
        return found.pid if found else None

    def close(self) -> None:
        self.vm.cut_power()
        self.server.close()


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[tuple[KafkaProcesses, KafkaProcesses]]:
    with two_clusters(tmp_path, ("127.0.94", "127.0.95")) as made:
        yield made


@pytest.fixture
def copying(ends: tuple[KafkaProcesses, KafkaProcesses], tmp_path: Path) -> Iterator[CopyingVm]:
    made = CopyingVm(tmp_path / "vm", *ends)
    try:
        yield made
    finally:
        made.close()


def test_an_agent_keeps_what_copies_until_it_is_to_stop(
    ends: tuple[KafkaProcesses, KafkaProcesses], copying: CopyingVm
) -> None:
    eu, us = ends
    produce(eu, "before", 300)
    copying.serve("running")
    copying.vm.boot(kafka_dir=JARS)
    first = copying.until(lambda r: r.state in ("running", "failed"), "it to copy")
    assert (first.state, first.message, first.unexpected_exits) == ("running", "", 0)
    assert first.pid == copying.find()
    until(lambda: log(us) == log(eu) or None, "the copy", timeout_s=patient(COPIED_WITHIN_S), every_s=1.0)

    before = copying.vm.kill_agent()
    until(lambda: copying.vm.agent_pid not in (None, before) or None, "another agent", timeout_s=patient(30.0))
    adopted = copying.until(lambda r: r.state == "running", "it to be adopted")
    assert (adopted.pid, adopted.unexpected_exits) == (first.pid, 0)

    # What it has not kept yet is copied again by the next one.
    copied = {partition: records[-1][0] for partition, records in log(us).items()}
    until(lambda: kept_offsets(us, "eu") == copied or None, "what it came to", timeout_s=patient(60.0), every_s=1.0)
    os.kill(first.pid, signal.SIGKILL)
    back = copying.until(lambda r: r.state == "running" and r.pid != first.pid, "it to come back")
    assert (back.pid, back.unexpected_exits) == (copying.find(), 1)
    produce(eu, "after", 300)
    until(lambda: log(us) == log(eu) or None, "the rest", timeout_s=patient(COPIED_WITHIN_S), every_s=1.0)

    copying.serve("stopped")
    over = copying.until(lambda r: r.state == "stopped", "it to stop")
    assert copying.find() is None
    assert (over.pid, over.start_id, over.unexpected_exits) == (0, "r-1", 1)
    assert (copying.vm.root / "logs" / "replicator.log").exists()
