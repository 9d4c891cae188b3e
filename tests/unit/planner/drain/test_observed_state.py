"""A cluster as it was seen, as a state file: what metadata leaves open is said, never guessed in silence."""

import json
import math
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from planner.drain.model.capacity import Capacity, FigureOrigin, FigureSource, Resolved, resolve
from planner.drain.model.document import ReadState, read_document, read_state, state_json
from planner.drain.model.observed import (
    ObservationPolicy,
    RacksMissing,
    brokers_of,
    dead_brokers,
    measured_disks,
    observed_document,
)
from planner.observed import (
    BrokerSeen,
    KafkaSnapshot,
    LogDirsSeen,
    PartitionSeen,
    QuorumSeen,
    ThrottlesSeen,
    TopicPartition,
)

GIB = 2**30
RATES = FigureSource(
    origin=FigureOrigin.GIVEN,
    everyone=Capacity(ingress_bytes_per_s=1e8, egress_bytes_per_s=1e8),
    everyone_words="given",
)


def seen(number: int, replicas: tuple[int, ...], **changes: object) -> PartitionSeen:
    usual = PartitionSeen(TopicPartition("t", number), replicas[0], replicas, replicas, 2, size_bytes=GIB)
    return replace(usual, **changes)  # type: ignore[arg-type]


def snapshot(*partitions: PartitionSeen, racks: str = "abc", fenced: frozenset[int] = frozenset()) -> KafkaSnapshot:
    brokers = {i: BrokerSeen(i, rack.strip(), i in fenced, "h", 9092) for i, rack in enumerate(racks, 1)}
    return KafkaSnapshot(
        at=datetime(2026, 1, 1, tzinfo=UTC),
        cluster_id="c",
        brokers=brokers,
        partitions=partitions,
        quorum=QuorumSeen(100, 1, ()),
        features={},
        log_dirs={i: LogDirsSeen(1, 10 * GIB, 100 * GIB, 50 * GIB) for i in brokers if i not in fenced},
        throttles=ThrottlesSeen(),
    )


def capacity(cluster: KafkaSnapshot) -> Resolved:
    return resolve(brokers_of(cluster) - dead_brokers(cluster), [RATES, measured_disks(cluster)])


def state_of(cluster: KafkaSnapshot, policy: ObservationPolicy | None = None) -> ReadState:
    """In memory, and by way of the state file: both are the same."""
    document = observed_document(cluster, capacity(cluster), policy or ObservationPolicy())
    read, of_file = read_document(document), read_state(json.dumps(document))
    assert state_json(read.state) == state_json(of_file.state)
    assert read.assumptions == of_file.assumptions
    return read


def test_a_healthy_cluster_becomes_a_state_that_can_be_read() -> None:
    read = state_of(snapshot(seen(0, (1, 2, 3)), seen(1, (2, 3, 1))), ObservationPolicy(outgoing=(1,)))
    state = read.state
    assert state.brokers.id.tolist() == [1, 2, 3]
    assert state.brokers.racks == ("a", "b", "c")
    assert state.brokers.must_empty.tolist() == [True, False, False]
    assert state.partitions.size_bytes.tolist() == [GIB, GIB]
    assert any(line.startswith("one partition's copy runs at 7e+07 bytes/s") for line in read.assumptions)


def test_write_rates_that_are_known_are_in_the_state_and_it_is_said_from_where() -> None:
    cluster = snapshot(seen(0, (1, 2, 3)), seen(1, (2, 3, 1)))
    known = {cluster.partitions[1].name: 2e6}
    read = state_of(cluster, ObservationPolicy(write_bytes_per_s=known, write_rates_from="growth of logs, 4 s old"))
    assert [math.isnan(w) for w in read.state.partitions.write_bytes_per_s.tolist()] == [True, False]
    assert read.state.partitions.write_bytes_per_s[1] == 2e6
    assert "write rates of 1 of 2 partitions: growth of logs, 4 s old" in read.assumptions
    assert any(line.startswith("write rates of 1 of 2 partitions are unknown") for line in read.assumptions)


def test_a_disk_is_what_kafka_may_use_of_it_not_what_others_hold() -> None:
    state = state_of(snapshot(seen(0, (1, 2, 3)))).state
    assert state.brokers.disk_bytes.tolist() == [60 * GIB] * 3


def test_a_full_disk_is_not_an_unknown_one() -> None:
    full = {2: LogDirsSeen(1, 60 * GIB, 100 * GIB, 0), 3: LogDirsSeen(1, 60 * GIB, 0, 0)}
    found = measured_disks(replace(snapshot(), log_dirs=full)).by_broker
    assert {broker: known.disk_bytes for broker, known in found.items()} == {2: 60 * GIB}


def test_a_fenced_broker_and_one_that_only_a_replica_list_names_are_dead() -> None:
    cluster = snapshot(seen(0, (1, 2, 9), isr=(2,), leader=2), fenced=frozenset({1}))
    read = state_of(cluster)
    assert dead_brokers(cluster) == {1, 9}
    assert [int(b) for b in read.state.brokers.id[read.state.brokers.must_empty]] == [1, 9]
    assert "the rack of dead broker 9 is not known: taken as one of its own" in read.assumptions


def test_a_figure_nobody_knows_is_left_out_and_the_reader_says_which() -> None:
    cluster = snapshot(seen(0, (1, 2, 3)))
    document = observed_document(cluster, resolve(brokers_of(cluster), [measured_disks(cluster)]), ObservationPolicy())
    assert "ingress_bytes_per_s" not in document["brokers"][0]
    with pytest.raises(ValueError, match=r"brokers\[0\].ingress_bytes_per_s: is missing: broker 1 is not dead"):
        read_state(json.dumps(document))


def test_without_any_rack_all_share_one_and_it_is_said() -> None:
    read = state_of(snapshot(seen(0, (1, 2, 3)), racks="   "))
    assert read.state.brokers.racks == ("none",)
    assert "no broker has a rack: no rule about racks was kept" in read.assumptions


def test_some_racks_and_not_all_is_refused_with_the_brokers_that_lack_one() -> None:
    cluster = snapshot(seen(0, (1, 2, 3)), racks="a c")
    with pytest.raises(RacksMissing, match="brokers 2 have no rack while others have one"):
        observed_document(cluster, capacity(cluster), ObservationPolicy())
    assert state_of(cluster, ObservationPolicy(racks={2: "b"})).state.brokers.racks == ("a", "b", "c")


def test_a_partition_that_is_being_moved_is_taken_as_it_will_be() -> None:
    moving = seen(0, (2, 3, 1), leader=1, isr=(1, 2), adding=(3,), removing=(1,), min_isr=2)
    read = state_of(snapshot(moving))
    parts = read.state.partitions
    assert [int(read.state.brokers.id[b]) for b in parts.replicas[0] if b >= 0] == [2, 3]
    assert int(read.state.brokers.id[parts.leader[0]]) == 2
    assert "a reassignment of 1 partition (t-0) is under way: taken as it will be when that is over" in read.assumptions


def test_a_partition_whose_log_dirs_nobody_told_has_no_silent_size() -> None:
    lost = seen(0, (1,), leader=-1, isr=(1,), size_bytes=0, min_isr=1)
    read = state_of(snapshot(lost, seen(1, (2, 3, 1), isr=(2, 3)), fenced=frozenset({1})))
    told = "the size of 1 partition (t-0) is not known, no log dir with them was told: counted as 0 bytes"
    assert told in read.assumptions


def test_a_partition_nobody_leads_has_no_leader() -> None:
    read = state_of(snapshot(seen(0, (1, 2), leader=-1, isr=(1,), min_isr=1)))
    assert read.state.partitions.leader.tolist() == [-1]


def test_min_isr_is_never_more_than_the_replicas() -> None:
    assert state_of(snapshot(seen(0, (1,), min_isr=3))).state.partitions.min_isr.tolist() == [1]


def test_destinations_are_of_those_that_leave_alone() -> None:
    cluster = snapshot(seen(0, (1, 2)), racks="abcd")
    document = observed_document(
        cluster, capacity(cluster), ObservationPolicy(outgoing=(1,), destinations={1: (4,), 2: (3,)})
    )
    assert document["destinations"] == {"1": [4]}
