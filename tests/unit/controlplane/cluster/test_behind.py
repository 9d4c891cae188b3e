"""Since when replicas are out of sync, as looks at Kafka tell it."""

from datetime import timedelta

from controlplane.cluster.observed.replica_lag import BehindWatch
from events.ids import ClusterUid
from planner.observed import TopicPartition
from tests.builders import NOW, a_partition, a_snapshot

UID = ClusterUid("c")
WHOLE = a_partition("orders-0", (1000, 1001, 1002))
LATER = NOW + timedelta(minutes=1)
FIRST = (TopicPartition("orders", 0), 1002)


def test_a_replica_keeps_the_time_of_the_first_look_that_found_it_behind() -> None:
    watch = BehindWatch()
    behind = a_partition("orders-0", (1000, 1001, 1002), isr=(1000, 1001))
    watch.see(UID, a_snapshot(WHOLE, at=NOW - timedelta(minutes=1)))
    assert watch.since(UID) == {}
    watch.see(UID, a_snapshot(behind))
    two = a_partition("orders-0", (1000, 1001, 1002), isr=(1000,))
    watch.see(UID, a_snapshot(two, at=LATER))
    assert watch.since(UID) == {FIRST: NOW, (FIRST[0], 1001): LATER}


def test_one_that_is_back_is_forgotten_and_counts_anew() -> None:
    watch = BehindWatch()
    behind = a_partition("orders-0", (1000, 1001, 1002), isr=(1000, 1001))
    watch.see(UID, a_snapshot(behind))
    watch.see(UID, a_snapshot(WHOLE, at=LATER))
    assert watch.since(UID) == {}
    again = LATER + timedelta(minutes=1)
    watch.see(UID, a_snapshot(behind, at=again))
    assert watch.since(UID) == {FIRST: again}


def test_a_replica_that_is_just_arriving_has_not_fallen_behind() -> None:
    watch = BehindWatch()
    arriving = a_partition("orders-0", (1000, 1001, 1002), isr=(1000,), adding=(1002,))
    watch.see(UID, a_snapshot(arriving))
    assert set(watch.since(UID)) == {(FIRST[0], 1001)}
