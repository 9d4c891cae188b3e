"""Pages and alerts show the disks that specs asked for, whoever read Kafka's metadata, at rest too."""

from dataclasses import replace
from datetime import datetime
from typing import NoReturn

from agent.wire import LogDirReport
from controlplane.cluster.observed.agent_reports import keep_report
from controlplane.cluster.view import ClusterView
from controlplane.converger.tick.observe import Observer
from controlplane.server.split.snapshot import KafkaReadings
from events import facts
from planner.observed import KafkaSnapshot
from providers.errors import CloudUnavailable
from tests.builders import a_report
from tests.fakes.kafka import FakeKafka
from tests.unit.controlplane.api.portal_house import House, _ports, brokers_as_declared
from tests.unit.controlplane.server.split.test_kafka_readings import Now

GIB = 1024**3


class NoCloud:
    """No listing can be had: what Kafka and the agents say does not wait for one."""

    def seen(self, view: ClusterView, newer_than: datetime | None = None) -> NoReturn:
        raise CloudUnavailable("local: not asked")


class AtRest:
    """A cluster of three brokers whose volumes of 4 GiB are directories of a filesystem of 252 GiB."""

    def __init__(self) -> None:
        self.house = House()
        self.house.apply()
        planned = brokers_as_declared(self.house.view())
        self.house.join(*planned)
        self.kafka = FakeKafka(clock=lambda: self.house.now)
        self.kafka.add_controller(100)
        for number, rack in enumerate("abc"):
            self.kafka.add_broker(1000 + number, rack=rack, disk_bytes=252 * GIB)
        voter = facts.FoundingVoter("controllers-a-0", 100, "127.64.0.1", 9093, "dir")
        view = self.house.record(
            facts.QuorumFounded("k-id", "4.1", (voter,)), facts.RecycleCompleted(self.house.view().generation)
        )
        volume = LogDirReport(name="data", total_bytes=4 * GIB, free_bytes=3 * GIB, partitions=0).model_dump()
        for broker in view.brokers():
            told = a_report(broker, log_dirs=[volume]).report
            keep_report(self.house.latest, view.uid, broker.key, told, self.house.now)
        self.view = view

    def assert_shown(self, snapshot: KafkaSnapshot | None) -> None:
        assert snapshot is not None
        shown = {b: (d.total_bytes, d.usable_bytes) for b, d in snapshot.log_dirs.items()}
        assert shown == dict.fromkeys((1000, 1001, 1002), (4 * GIB, 3 * GIB))


def test_a_cluster_at_rest_shows_the_disks_that_its_spec_asked_for() -> None:
    """The page of brokers showed the 252 GiB of the machine, and the planner the spec's 4."""
    rest = AtRest()
    observer = Observer(replace(_ports(rest.house), kafka=lambda view: rest.kafka, inventory=NoCloud()))
    observer.observe(rest.view)
    rest.assert_shown(observer.last_snapshot(rest.view.uid))


def test_a_portal_apart_from_the_loop_shows_them_too() -> None:
    rest = AtRest()
    readings = KafkaReadings(
        rest.house.converger, lambda view: rest.kafka, rest.house.latest, lambda: rest.house.now, pool=Now()
    )
    readings.poll()
    rest.assert_shown(readings.last_snapshot(rest.view.uid))
