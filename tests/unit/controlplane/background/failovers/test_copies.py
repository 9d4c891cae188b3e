"""A warm pair as its server has it: topics first, then records, and what is found of the copy at each step."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

import pytest

from agent.wire import ReplicatorReport
from controlplane.background.failovers.copies import CopyWatch
from controlplane.cluster.observed.agent_reports import keep_report
from controlplane.cluster.view import ClusterView
from controlplane.fleet.failovers.copy_rows import CopyRow, copy_row
from controlplane.fleet.failovers.fold import after
from controlplane.fleet.failovers.replicators import end_id_of
from controlplane.fleet.failovers.state import PairsView, RegisteredPair
from controlplane.fleet.failovers.view import PairView
from controlplane.kafka.pair_copies.log_edge import LogRecord
from controlplane.kafka.pair_copies.values import FlowEnd, FlowEnds
from events import failover_facts as facts
from events.ids import ClusterUid
from planner.consumers.seen import GroupSeen
from planner.observed import KafkaSnapshot, TopicPartition
from tests.builders import NOW, a_report
from tests.fakes.latest_values import MemoryLatestStore
from tests.fakes.pair_logs import FakePairLogs, MemoryCluster
from tests.unit.controlplane.background.failovers.cold_pair import EU, NODES, US, a_cluster, a_topic
from tests.unit.controlplane.fleet.failovers.pair_world import declared

DECLARED = (facts.FailoverDeclared("p", EU, US, "warm"), facts.DoorClosed(US, 1, "agents", "3 VMs"))
COPIED = (facts.CopyRequested({}), facts.ReplicatorPlaced(US, f"{NODES[0]}.g1"))
FENCED = (
    facts.StandbySeeded("lag 0.1 s"),
    facts.FailoverRequested("f1", True, "drill"),
    facts.StandbyReady("f1", ""),
    facts.NamesFlipRequested("f1", US),
    facts.NamesFlipped("f1", US),
    facts.DoorCloseRequested("f1", EU, 2),
    facts.DoorClosed(EU, 2, "agents", "3 VMs"),
)
FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


class Watched:
    """Two clusters of two partitions. Their logs are in memory, and so is what the watch wrote down."""

    def __init__(self, *story: object, topics: Iterable[str] = ("orders",)) -> None:
        self.now, self.seq = NOW, 0
        self.views = {EU: a_cluster(EU, "eu", a_topic()), US: a_cluster(US, "us", *(a_topic(n) for n in topics))}
        self.eu, self.us = MemoryCluster(EU), MemoryCluster(US)
        for cluster in (self.eu, self.us):
            cluster.create_topic("orders", 2)
        self.pair = PairView(uid="p1", declaration=declared("warm"))
        self.latest, self.kafka = MemoryLatestStore(), FakePairLogs(self.eu, self.us)
        self.watch = CopyWatch(self, self, lambda one, other: self.kafka, self.latest, lambda: self.now)
        self.tell(*DECLARED, *story)

    def tell(self, *story: object) -> None:
        for fact in story:
            self.pair = after(self.pair, fact)

    def pairs(self) -> PairsView:
        return PairsView(by_uid={"p1": RegisteredPair("p1", "p", (EU, US), self.pair)})

    def view(self, uid: ClusterUid) -> ClusterView | None:
        return self.views.get(uid)

    def last_snapshot(self, uid: ClusterUid) -> KafkaSnapshot | None:
        return None

    def ended(self) -> None:
        """Every agent of the standby says that nothing copies there."""
        pair = self.pairs().by_uid["p1"]
        for vm in self.views[ClusterUid(self.pair.standby)].brokers():
            self.seq += 1
            said = ReplicatorReport(state="stopped", start_id=end_id_of(pair), since=NOW)
            report = a_report(vm).report.model_copy(update={"replicator": said, "seq": self.seq})
            assert keep_report(self.latest, ClusterUid(self.pair.standby), vm.key, report, self.now)

    def looks(self, after_s: float = 5.0) -> CopyRow:
        self.now += timedelta(seconds=after_s)
        self.kafka.at = self.now
        self.watch.poll()
        row = copy_row(self.latest, self.pair, self.now)
        assert row is not None
        return row

    def write(self, cluster: MemoryCluster, count: int = 10, partition: TopicPartition = FIRST) -> None:
        for n in range(count):
            cluster.logs[partition].append(LogRecord(0, cluster.logs[partition].end, b"k", b"%d" % n))


def test_a_first_copy_begins_at_the_beginning_once_the_topics_are_there() -> None:
    waiting = Watched(topics=())
    waiting.ended()
    assert (waiting.looks().seeds, waiting.us.ids.keys()) == (None, {"orders"})
    there = Watched()
    assert there.looks().seeds is None, "a replicator of an earlier pair may still end"
    assert f"mm2-offsets.{EU}.internal" not in there.us.ids
    there.ended()
    row = there.looks()
    assert (row.seeds, row.copy, row.problem) == ({}, None, "")
    assert f"mm2-offsets.{EU}.internal" in there.us.ids, "the replicator is told before it starts"


def test_records_that_were_there_before_are_a_persons_to_judge() -> None:
    world = Watched()
    world.ended()
    world.write(world.us, 3, SECOND)
    row = world.looks()
    assert row.seeds is None
    assert "orders-1 has records before: delete them there" in row.problem


def test_how_far_the_copy_is_behind_is_written_down() -> None:
    world = Watched(*COPIED)
    world.write(world.eu)
    first = world.looks().copy
    assert first is not None
    assert (first.lag_records, first.lag_s) == ({"orders-0": 10, "orders-1": 0}, None)
    world.write(world.us)
    world.looks()
    found = world.looks().copy
    assert found is not None
    assert (found.lag_records, found.lag_s) == ({"orders-0": 0, "orders-1": 0}, 0.0)


def test_brokers_that_do_not_answer_leave_what_was_known_to_age() -> None:
    world = Watched(*COPIED)
    world.write(world.eu)
    world.write(world.us)
    world.looks()
    world.looks()
    world.eu.is_silent = True
    row = world.looks(7.0)
    assert row.copy is not None
    assert row.copy.lag_s == 7.0
    assert "no broker answered" in row.problem
    world.now += timedelta(seconds=30)
    assert copy_row(world.latest, world.pair, world.now) is None, "too old to be believed"


def test_what_was_read_before_the_door_was_shut_drains_nothing() -> None:
    """The last records came in between, and then brokers did not answer."""
    world = Watched(*COPIED)
    world.write(world.eu)
    world.write(world.us)
    world.looks()
    drained = world.looks().copy
    world.write(world.eu, 3)
    world.tell(*FENCED)
    world.eu.is_silent = True
    row = world.looks(0.5)
    assert row.copy is not None
    assert (row.copy.drained_partitions, row.problem != "") == (None, True), drained
    world.eu.is_silent = False
    found = world.looks(0.5).copy
    assert found is not None
    assert found.drained_partitions is None
    world.write(world.us, 3)
    last = world.looks(0.5).copy
    assert last is not None
    assert last.drained_partitions == 2


def test_a_drained_pair_is_aligned_once_that_is_asked_for_and_what_was_found_is_of_that_step_alone() -> None:
    world = Watched(*COPIED)
    world.write(world.eu)
    world.write(world.us)
    world.eu.known_groups["billing"] = GroupSeen("billing", "Empty", "classic", 1, committed={FIRST: 4})
    world.looks()
    world.tell(*FENCED)
    assert copy_row(world.latest, world.pair, world.now) is None, "what was found before the door was shut"
    row = world.looks(0.5)
    assert row.copy is not None
    assert (row.copy.drained_partitions, row.aligned) == (2, None)
    world.tell(facts.PairDrained("f1", 2))
    assert world.looks(0.5).aligned is None
    world.tell(facts.OffsetsAlignRequested("f1"))
    assert world.looks(0.5).aligned == {"billing": 0}
    assert world.us.known_groups["billing"].committed == {FIRST: 4}


def test_the_way_back_goes_on_behind_what_the_old_primary_has() -> None:
    world = Watched(*COPIED)
    world.write(world.eu)
    world.write(world.us)
    world.tell(
        *FENCED,
        facts.PairDrained("f1", 2),
        facts.OffsetsAlignRequested("f1"),
        facts.OffsetsAligned("f1", {}),
        facts.ReplicatorStopRequested("f1"),
        facts.ReplicatorStopped("f1", ""),
        facts.PromotionRequested("f1", US, 3),
        facts.DoorOpened(US, 3),
        facts.PairPromoted("f1"),
    )
    world.write(world.us, 5)
    world.ended()
    assert world.looks().seeds == {"orders-0": 10}
    lost = Watched(*COPIED)
    lost.write(lost.eu)
    lost.pair = world.pair
    lost.ended()
    row = lost.looks()
    assert row.seeds is None
    assert "orders-0 has a last record that is nowhere on the new primary" in row.problem


def test_a_topic_that_one_broker_has_not_heard_of_is_not_drained() -> None:
    world = Watched(*COPIED)
    world.eu.delete_topic("orders")
    world.eu.create_topic("orders", 1)
    row = world.looks()
    assert (row.copy, row.problem != "") == (None, True)
    assert "tell of 1 of the 2 partitions of orders" in row.problem


def test_a_topic_that_was_made_anew_on_the_standby_is_not_told_as_copied() -> None:
    """MirrorMaker goes on behind what it has written down, and what was before is nowhere."""
    world = Watched(*COPIED)
    world.write(world.eu)
    offsets = world.kafka
    world.ended()
    flow = FlowEnds(FlowEnd(EU, ("eu:9092",)), FlowEnd(US, ("us:9092",)), 1)
    offsets.write_seeds(flow, {FIRST: 10})
    found = world.looks().copy
    assert found is not None
    assert "orders-0" not in found.lag_records
    assert (found.lag_s, found.drained_partitions) == (None, None)
    assert "orders-0 ended before what was copied of it" in found.problem


@pytest.mark.parametrize("silent", ["eu", "us"])
def test_a_pair_without_topics_is_drained_by_nobodys_word(silent: str) -> None:
    world = Watched(*COPIED)
    world.views[EU] = replace(world.views[EU], topics=replace(world.views[EU].topics, by_name={}))
    getattr(world, silent).is_silent = True
    found = world.looks().copy
    assert found is not None
    assert (found.lag_s, found.drained_partitions) == (0.0, 0)
