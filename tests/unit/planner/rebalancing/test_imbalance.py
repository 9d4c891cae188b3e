"""How uneven a cluster is: against shares that its racks can hold."""

from dataclasses import replace

import pytest

from planner.observed import BrokerSeen, KafkaSnapshot, LogDirsSeen, PartitionSeen, TopicPartition
from planner.rebalancing.imbalance import deviations, imbalance_percent
from tests.builders import a_snapshot

SIZE = 1_000_000


def _seen(lists: list[tuple[int, ...]], racks: dict[int, str], disks: dict[int, int] | None = None) -> KafkaSnapshot:
    partitions = [
        PartitionSeen(TopicPartition("t", n), r[n % len(r)], r, r, 1, size_bytes=SIZE) for n, r in enumerate(lists)
    ]
    log_dirs = {b: LogDirsSeen(0, 0, size, size) for b, size in (disks or {}).items()}
    brokers = {b: BrokerSeen(b, rack, False, f"host-{b}", 9092) for b, rack in racks.items()}
    return replace(a_snapshot(*partitions, brokers=sorted(racks), log_dirs=log_dirs), brokers=brokers)


def test_a_rack_of_two_brokers_is_even_when_each_has_half_of_what_the_rack_holds() -> None:
    lists = [(1 + n % 2, 3, 4) for n in range(40)]
    seen = _seen(lists, {1: "a", 2: "a", 3: "b", 4: "c"})
    assert (deviations(seen, (1, 2, 3, 4))["replicas"], deviations(seen, (1, 2, 3, 4))["disk"]) == (0.0, 0.0)


def test_a_new_broker_in_a_rack_of_two_lacks_half_of_the_rack() -> None:
    seen = _seen([(1, 3, 4)] * 40, {1: "a", 2: "a", 3: "b", 4: "c"})
    assert deviations(seen, (1, 2, 3, 4))["replicas"] == pytest.approx(95.0), "20 are its share, one is rounding"


def test_brokers_of_unknown_rack_are_measured_against_the_plain_mean() -> None:
    seen = _seen([(1 + n % 2, 3, 4) for n in range(40)], dict.fromkeys((1, 2, 3, 4), ""))
    assert deviations(seen, (1, 2, 3, 4))["replicas"] == pytest.approx(100 * 9 / 30, abs=0.1)


def test_bytes_are_shared_by_the_size_of_the_disks_within_a_rack() -> None:
    lists = [(1 if n % 4 else 2, 3, 4) for n in range(40)]
    disks = {1: 30 * SIZE, 2: 10 * SIZE, 3: 40 * SIZE, 4: 40 * SIZE}
    seen = _seen(lists, {1: "a", 2: "a", 3: "b", 4: "c"}, disks)
    assert deviations(seen, (1, 2, 3, 4))["disk"] == 0.0
    halves = _seen([(1 + n % 2, 3, 4) for n in range(40)], {1: "a", 2: "a", 3: "b", 4: "c"}, disks)
    assert deviations(halves, (1, 2, 3, 4))["disk"] == pytest.approx(90.0), "20 logs where 10 belong, but for one"


def test_a_single_receiver_is_always_even() -> None:
    assert imbalance_percent(_seen([(1,)] * 5, {1: "a"}), (1,)) == 0.0
