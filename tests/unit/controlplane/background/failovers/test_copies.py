"""A warm pair as its server has it: topics first, then records, and what is found of the copy at each step."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from threading import Event, Semaphore

import pytest

from agent.wire import ReplicatorReport
from controlplane.background.failovers.copies import CopyWatch
from controlplane.background.failovers.copying_work import GROUPS_A_CALL, PARTITIONS_A_CALL
from controlplane.cluster.observed.agent_reports import keep_report
from controlplane.cluster.view import ClusterView
from controlplane.fleet.failovers.copy_rows import CopyRow, copy_row
from controlplane.fleet.failovers.fold import after
from controlplane.fleet.failovers.replicators import end_id_of
from controlplane.fleet.failovers.state import PairsView, RegisteredPair
from controlplane.fleet.failovers.view import PairView
from controlplane.kafka.pair_copies.log_edge import LogRecord
from controlplane.kafka.pair_copies.values import CopyPositions, FlowEnd, FlowEnds, PartitionTail
from events import failover_facts as facts
from events.codec import decode, encode
from events.envelope import Recorded
from events.failover_facts import TopicEnds
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
        self.now, self.seq, self.is_leading = NOW, 0, True
        self.views = {EU: a_cluster(EU, "eu", a_topic()), US: a_cluster(US, "us", *(a_topic(n) for n in topics))}
        self.eu, self.us = MemoryCluster(EU), MemoryCluster(US)
        for cluster in (self.eu, self.us):
            cluster.create_topic("orders", 2)
        self.pair = PairView(uid="p1", declaration=declared("warm"))
        self.latest, self.kafka = MemoryLatestStore(), FakePairLogs(self.eu, self.us)
        self.watch = self.a_watch()
        self.tell(*DECLARED, *story)

    def a_watch(self, *, threads: int = 0) -> CopyWatch:
        """Of a server that begins."""
        logs, now = (lambda one, other: self.kafka), (lambda: self.now)
        return CopyWatch(self, self, logs, self.latest, leads=lambda: self.is_leading, clock=now, threads=threads)

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

    def write(
        self, cluster: MemoryCluster, count: int = 10, partition: TopicPartition = FIRST, *, at_ms: int = 0
    ) -> None:
        """Records whose times are their offsets, but not before `at_ms`."""
        for n in range(count):
            end = cluster.logs[partition].end
            cluster.logs[partition].append(LogRecord(0, max(end, at_ms), b"k", b"%d" % n))

    def commits(self, to: int) -> None:
        """MirrorMaker has written down that it copied so many of the first partition of EU."""
        flow = FlowEnds(FlowEnd(EU, ("eu:9092",)), FlowEnd(US, ("us:9092",)), 1)
        self.kafka.write_seeds(flow, {FIRST: to})


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
    assert (first.lag_records, first.lag_s) == ({"orders-0": 10}, None)
    world.write(world.us)
    world.looks()
    found = world.looks().copy
    assert found is not None
    assert (found.lag_records, found.lag_s) == ({}, 0.0)


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
    assert (row.copy.drained, row.problem != "") == (None, True), drained
    world.eu.is_silent = False
    found = world.looks(0.5).copy
    assert found is not None
    assert found.drained is None
    world.write(world.us, 3)
    last = world.looks(0.5).copy
    assert last is not None
    assert last.drained == {"orders": TopicEnds(world.us.ids["orders"], (13, 0), (13, 0))}


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
    assert (row.copy.drained is not None, row.aligned) == (True, None)
    world.tell(facts.PairDrained("f1", 2))
    assert world.looks(0.5).aligned is None
    world.tell(facts.OffsetsAlignRequested("f1"))
    assert world.looks(0.5).aligned == {"billing": 0}
    assert world.us.known_groups["billing"].committed == {FIRST: 4}


ENDED = (
    facts.OffsetsAlignRequested("f1"),
    facts.OffsetsAligned("f1", {}),
    facts.ReplicatorStopRequested("f1"),
    facts.ReplicatorStopped("f1", ""),
    facts.PromotionRequested("f1", US, 3),
    facts.DoorOpened(US, 3),
    facts.PairPromoted("f1"),
)


def as_stored(fact: object) -> object:
    """As a database gives it back."""
    new = encode(fact, "e-1")
    data = json.loads(json.dumps(new.data))
    return decode(Recorded(1, "failover-p", 1, "e-1", new.type, new.schema, data, "failovers", None, None, 1, NOW))


def led_over(*, is_written_down: bool = True) -> Watched:
    """US is the primary, and EU stands still with the ten records that both have."""
    world = Watched(*COPIED)
    world.write(world.eu)
    world.write(world.us)
    world.tell(*FENCED)
    found = world.looks().copy
    assert found is not None
    assert found.drained is not None
    drained = facts.PairDrained("f1", 2, found.drained if is_written_down else {})
    assert as_stored(drained) == drained
    world.tell(drained, *ENDED)
    world.write(world.us, 5)
    world.ended()
    return world


@pytest.mark.parametrize("is_written_down", [True, False])
def test_the_way_back_goes_on_behind_what_the_old_primary_has(is_written_down: bool) -> None:
    world = led_over(is_written_down=is_written_down)
    assert world.looks().seeds == {"orders-0": 10}
    lost = Watched(*COPIED)
    lost.write(lost.eu)
    lost.pair = world.pair
    lost.ended()
    row = lost.looks()
    assert row.seeds is None
    assert "orders-0 has a last record that is nowhere on the new primary" in row.problem


def test_the_way_back_goes_on_though_retention_took_every_record() -> None:
    """Of the old primary, which stands still; what the new one has no more is a gap there."""
    world = led_over()
    world.eu.logs[FIRST].trim(10)
    assert world.looks().seeds == {"orders-0": 10}
    by_search = led_over(is_written_down=False)
    by_search.eu.logs[FIRST].trim(10)
    assert by_search.looks().seeds is None


def test_the_way_back_is_looked_for_where_the_old_primary_lost_its_last_records() -> None:
    world = led_over()
    log = world.eu.logs[FIRST]
    log.end, log.records = 8, {o: r for o, r in log.records.items() if o < 8}
    assert world.looks().seeds == {"orders-0": 8}


def test_the_way_back_is_a_persons_to_judge_where_the_new_primarys_topic_was_made_anew() -> None:
    world = led_over()
    world.us.delete_topic("orders")
    world.us.create_topic("orders", 2)
    world.write(world.us, 20, FIRST)
    for record in world.us.logs[FIRST].records.values():
        world.us.logs[FIRST].records[record.offset] = replace(record, value=b"another")
    row = world.looks()
    assert row.seeds is None
    assert "orders-0 has a last record that is nowhere on the new primary" in row.problem


def test_a_topic_that_was_made_anew_is_known_by_a_server_that_begins() -> None:
    """With as many records as the one before, so that no end tells it."""
    world = Watched(*COPIED)
    world.write(world.eu)
    world.write(world.us)
    world.looks()
    world.us.delete_topic("orders")
    world.us.create_topic("orders", 2)
    world.write(world.us)
    world.watch = world.a_watch()
    for _ in range(2):
        found = world.looks().copy
        assert found is not None
        assert found.lag_s is None
        assert "orders was deleted and made anew since the copy began" in found.problem
        world.watch = world.a_watch()


def test_gaps_outlive_a_server() -> None:
    world = Watched(*COPIED)
    world.write(world.eu)
    flow = FlowEnds(FlowEnd(EU, ("eu:9092",)), FlowEnd(US, ("us:9092",)), 1)
    world.kafka.write_seeds(flow, {FIRST: 2})
    world.write(world.us, 2)
    world.eu.logs[FIRST].trim(5)
    world.looks()
    world.kafka.write_seeds(flow, {FIRST: 10})
    world.watch = world.a_watch()
    found = world.looks().copy
    assert found is not None
    assert found.gaps == {"orders-0": 3}


class Bounded(FakePairLogs):
    """Brokers that answer no more than so much in the time of one call. `calls`: of how many partitions or groups."""

    def __init__(self, *clusters: MemoryCluster) -> None:
        super().__init__(*clusters)
        self.partitions: list[int] = []
        self.groups: list[int] = []

    def positions(self, flow: FlowEnds, topics: Collection[str]) -> CopyPositions:
        found = super().positions(flow, topics)
        self.partitions.append(len(found.source))
        return found

    def read_tails(
        self, flow: FlowEnds, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, PartitionTail]:
        self.partitions.append(len(list(partitions)))
        return super().read_tails(flow, partitions)

    def write_seeds(self, flow: FlowEnds, seeds: Mapping[TopicPartition, int]) -> None:
        self.partitions.append(len(seeds))
        super().write_seeds(flow, seeds)

    def align(self, flow: FlowEnds, topics: Collection[str], groups: Collection[str]) -> Mapping[str, int]:
        self.groups.append(len(groups))
        return super().align(flow, topics, groups)


def many(*story: object, topics: int = 12, groups: int = 45) -> Watched:
    """Topics of 100 partitions, in which each group has an offset."""
    world, names = Watched(*story), [f"t{n:02}" for n in range(topics)]
    of = tuple(a_topic(name, partitions=100) for name in names)
    world.views = {EU: a_cluster(EU, "eu", *of), US: a_cluster(US, "us", *of)}
    for cluster in (world.eu, world.us):
        for name in names:
            cluster.create_topic(name, 100)
            world.write(cluster, 3, TopicPartition(name, 0))
    for n in range(groups):
        world.eu.commit(f"g{n:02}", {TopicPartition(names[n % topics], 0): 2})
    world.kafka = Bounded(world.eu, world.us)
    return world


def test_many_partitions_and_groups_are_asked_for_by_one_call_after_another() -> None:
    world = many(*COPIED)
    asked = world.kafka
    assert isinstance(asked, Bounded)
    world.tell(*FENCED)
    found = world.looks().copy
    assert found is not None
    assert found.drained is not None
    assert (len(found.drained), sum(asked.partitions)) == (12, 2 * 1_200), "ends, and last records"
    world.tell(facts.PairDrained("f1", 1_200, found.drained), facts.OffsetsAlignRequested("f1"))
    assert world.looks().aligned == {f"g{n:02}": 0 for n in range(45)}
    assert asked.groups == [GROUPS_A_CALL, GROUPS_A_CALL, 45 - 2 * GROUPS_A_CALL]
    world.tell(*ENDED[1:])
    world.ended()
    assert world.looks().seeds == {f"t{n:02}-0": 3 for n in range(12)}
    assert max(asked.partitions) <= PARTITIONS_A_CALL


def test_groups_whose_offsets_are_set_are_not_set_again_after_brokers_that_did_not_answer() -> None:
    world = many(*COPIED, *FENCED)
    found = world.looks().copy
    assert found is not None
    assert found.drained is not None
    world.tell(facts.PairDrained("f1", 1_200, found.drained), facts.OffsetsAlignRequested("f1"))

    class Breaking(Bounded):
        def align(self, flow: FlowEnds, topics: Collection[str], groups: Collection[str]) -> Mapping[str, int]:
            again = super().align(flow, topics, groups)
            world.us.is_silent = len(self.groups) == 1
            return again

    world.kafka = Breaking(world.eu, world.us)
    row = world.looks()
    assert (row.aligned, "no broker answered" in row.problem) == (None, True)
    world.us.is_silent = False
    assert len(world.looks().aligned or {}) == 45
    assert world.kafka.groups == [20, 20, 20, 5], "the second was not answered"


def test_nothing_more_is_set_by_a_server_that_leads_no_more() -> None:
    world = many(*COPIED, *FENCED)
    found = world.looks().copy
    assert found is not None
    assert found.drained is not None
    world.tell(facts.PairDrained("f1", 1_200, found.drained), facts.OffsetsAlignRequested("f1"))

    class Deposed(Bounded):
        def align(self, flow: FlowEnds, topics: Collection[str], groups: Collection[str]) -> Mapping[str, int]:
            world.is_leading = False
            return super().align(flow, topics, groups)

    world.kafka = Deposed(world.eu, world.us)
    row = world.looks()
    assert (row.aligned, world.kafka.groups) == (None, [20])
    assert "another server leads" in row.problem


def test_brokers_that_do_not_answer_hold_up_no_other_pair() -> None:
    """The second pair goes the other way; it is asked once more while the first one's brokers keep theirs waiting."""
    world = Watched(*COPIED)
    story = (facts.FailoverDeclared("q", US, EU, "warm"), facts.DoorClosed(EU, 1, "agents", ""), *COPIED[:1])
    second = PairView(uid="p2", declaration=declared("warm"))
    for fact in story:
        second = after(second, fact)
    both = PairsView(by_uid={**world.pairs().by_uid, "p2": RegisteredPair("p2", "q", (US, EU), second)})
    let_go, asked = Event(), Semaphore(0)

    class Hanging(FakePairLogs):
        def positions(self, flow: FlowEnds, topics: Collection[str]) -> CopyPositions:
            if flow.source.cluster == EU:
                let_go.wait(60)
            else:
                asked.release()
            return super().positions(flow, topics)

    class Cache:
        def pairs(self) -> PairsView:
            return both

    logs = Hanging(world.eu, world.us)
    watch = CopyWatch(
        Cache(), world, lambda one, other: logs, world.latest, leads=lambda: True, clock=lambda: world.now, threads=2
    )
    watch.poll()
    assert asked.acquire(timeout=60)
    while not asked.acquire(blocking=False):
        world.now += timedelta(seconds=6)
        watch.poll()
    assert copy_row(world.latest, world.pair, world.now) is None
    let_go.set()
    watch.close()
    assert copy_row(world.latest, world.pair, world.now) is not None


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
    assert (found.lag_s, found.drained) == (None, None)
    assert "orders-0 ended before what was copied of it" in found.problem


@pytest.mark.parametrize("silent", ["eu", "us"])
def test_a_pair_without_topics_is_drained_by_nobodys_word(silent: str) -> None:
    world = Watched(*COPIED)
    world.views[EU] = replace(world.views[EU], topics=replace(world.views[EU].topics, by_name={}))
    getattr(world, silent).is_silent = True
    found = world.looks().copy
    assert found is not None
    assert (found.lag_s, found.drained) == (0.0, {})
