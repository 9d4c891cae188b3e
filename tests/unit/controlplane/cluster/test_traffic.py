"""Write and read rates from looks at log directories and agents' reports."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from controlplane.cluster.observed.traffic import (
    OLDEST,
    UNKNOWN,
    BrokerCounters,
    Traffic,
    TrafficWatch,
    counters_of,
    read_by_partition,
)
from planner.observed import KafkaSnapshot, TopicPartition
from tests.builders import NOW, a_partition, a_report, a_snapshot, a_view, an_instance

ONE, TWO = TopicPartition("orders", 0), TopicPartition("orders", 1)
MB = 10**6
BROKERS = tuple(sorted(a_snapshot().live_brokers()))


def _at(seconds: float, *, leader: int = 1000, **sizes: int) -> KafkaSnapshot:
    """A look at orders-0 (`one`) and orders-1 (`two`), whose leaders' logs have these sizes."""
    names = {"one": "orders-0", "two": "orders-1"}
    partitions = [a_partition(names[n], leader=leader, leader_bytes=size) for n, size in sizes.items()]
    return a_snapshot(*partitions, at=NOW + timedelta(seconds=seconds))


def _watched(*samples: KafkaSnapshot, sent: Mapping[float, Mapping[int, BrokerCounters]] | None = None) -> Traffic:
    watch = TrafficWatch()
    for look in samples:
        watch.see(look, (sent or {}).get((look.at - NOW).total_seconds(), {}))
    return watch.traffic(samples[-1].at)


def test_a_rate_is_what_the_leaders_log_grew_by_between_two_samples() -> None:
    traffic = _watched(_at(0, one=MB, two=5), _at(10, one=3 * MB, two=5))
    assert traffic.write_bytes_per_s == {ONE: 0.2 * MB, TWO: 0}
    assert traffic.words(NOW + timedelta(seconds=14)) == "growth of the leaders' logs over 10 s, 4 s old"


def test_one_look_tells_no_rate() -> None:
    assert _watched(_at(0, one=MB)) == UNKNOWN
    assert UNKNOWN.words(NOW) == ""


def test_samples_too_close_together_are_one() -> None:
    watch = TrafficWatch()
    for seconds, size in ((0, 0), (0.5, 10**9), (4.9, 10**9), (5, 5 * MB)):
        watch.see(_at(seconds, one=size), {})
    assert watch.traffic(NOW + timedelta(seconds=5)).write_bytes_per_s == {ONE: MB}


def test_a_log_that_shrank_is_unknown_and_never_idle() -> None:
    assert _watched(_at(0, one=9 * MB), _at(10, one=2 * MB)).write_bytes_per_s == {}


def test_the_look_in_which_retention_deleted_is_left_out_of_the_mean() -> None:
    traffic = _watched(_at(0, one=5 * MB), _at(10, one=6 * MB), _at(20, one=2 * MB), _at(30, one=5 * MB))
    assert traffic.write_bytes_per_s == {ONE: 0.2 * MB}


def test_two_leaders_logs_are_not_compared_and_what_was_measured_before_stands() -> None:
    before = (_at(0, one=0), _at(10, one=10 * MB))
    changed = _at(20, leader=1001, one=90 * MB)
    assert _watched(before[1], changed).write_bytes_per_s == {}
    assert _watched(*before, changed).write_bytes_per_s == {ONE: MB}


def test_a_leader_that_did_not_tell_is_unknown() -> None:
    assert _watched(_at(0, one=-1, two=0), _at(10, one=MB, two=MB)).write_bytes_per_s == {TWO: 0.1 * MB}


def test_a_leader_that_misses_one_look_keeps_the_rate_it_had() -> None:
    missed = _watched(_at(0, one=0, two=0), _at(10, one=MB, two=MB), _at(20, one=2 * MB, two=-1))
    assert missed.write_bytes_per_s == {ONE: 0.1 * MB, TWO: 0.1 * MB}


def test_the_mean_is_over_half_a_minute_of_close_samples() -> None:
    samples = [_at(s, one=s * MB if s <= 60 else 60 * MB + (s - 60) * 3 * MB) for s in range(0, 95, 5)]
    assert _watched(*samples[:13]).write_bytes_per_s == {ONE: MB}
    rising = _watched(*samples[:16])
    assert (rising.write_bytes_per_s, rising.over_s) == ({ONE: 2 * MB}, 30)
    assert _watched(*samples).write_bytes_per_s == {ONE: 3 * MB}


def test_samples_of_a_cluster_at_rest_are_a_minute_apart_and_count_all_the_same() -> None:
    assert _watched(_at(0, one=0), _at(60, one=60 * MB)).write_bytes_per_s == {ONE: MB}


def test_what_is_too_old_is_forgotten() -> None:
    assert _watched(_at(0, one=0), _at(OLDEST.total_seconds() + 1, one=MB)) == UNKNOWN
    watch = TrafficWatch()
    for look in (_at(0, one=0), _at(10, one=MB)):
        watch.see(look, {})
    assert watch.traffic(NOW + timedelta(seconds=10) + OLDEST).write_bytes_per_s
    assert watch.traffic(NOW + timedelta(seconds=11) + OLDEST) == UNKNOWN


def test_what_consumers_read_comes_from_two_reports_by_the_agents_own_clock() -> None:
    agent = NOW + timedelta(hours=3)
    sent: dict[float, Mapping[int, BrokerCounters]] = {
        0: {1000: BrokerCounters(agent, 5 * MB), 1001: BrokerCounters(agent, 900 * MB)},
        10: {
            1000: BrokerCounters(agent + timedelta(seconds=8), 13 * MB),
            1001: BrokerCounters(agent + timedelta(seconds=8), MB),
        },
    }
    read = _watched(_at(0, one=0), _at(10, one=0), sent=sent).read_bytes_per_s
    assert read == {1000: MB}, "1001 began to count anew: unknown"


def test_a_broker_whose_agent_says_nothing_is_left_out() -> None:
    told, silent = an_instance("brokers-a-0"), an_instance("brokers-b-0")
    reports = {
        told.key: a_report(told, metrics={"bytes_out_total": 7.0}).report,
        silent.key: a_report(silent).report,
    }
    assert counters_of(a_view(told, silent), reports) == {1000: BrokerCounters(NOW, 7.0)}


def test_rates_older_than_asked_for_are_none() -> None:
    traffic = replace(UNKNOWN, write_bytes_per_s={ONE: 1.0}, at=NOW)
    assert traffic.not_older(timedelta(seconds=30), NOW + timedelta(seconds=30)) is traffic
    assert traffic.not_older(timedelta(seconds=30), NOW + timedelta(seconds=31)) == UNKNOWN


def test_what_consumers_read_of_a_broker_is_shared_out_by_what_is_written_to_what_it_leads() -> None:
    seen = a_snapshot(*(a_partition(f"t-{n}", (1000, 1001, 1002), leader=1000 + n // 2) for n in range(4)))
    written = {p.name: float(n + 1) for n, p in enumerate(seen.partitions)}
    traffic = Traffic(written, {1000: 30.0, 1001: 7.0, 1002: 5.0})
    reads = read_by_partition(traffic, seen)
    assert [reads[p.name] for p in seen.partitions] == [10.0, 20.0, 3.0, 4.0]


def test_where_a_write_rate_is_missing_or_nothing_is_written_reads_of_partitions_are_unknown() -> None:
    seen = a_snapshot(*(a_partition(f"t-{n}", (1000, 1001, 1002), leader=1000 + n // 2) for n in range(4)))
    names = [p.name for p in seen.partitions]
    traffic = Traffic({names[0]: 1.0, names[2]: 0.0, names[3]: 0.0}, {1000: 30.0, 1001: 7.0})
    assert read_by_partition(traffic, seen) == {}


def test_what_clients_and_followers_move_is_told_where_the_agent_tells_both() -> None:
    told = an_instance("brokers-a-0")
    counted = {"bytes_out_total": 7.0, "bytes_in_total": 2.0, "replication_bytes_in_total": 3.0}
    reports = {told.key: a_report(told, metrics=counted).report}
    assert counters_of(a_view(told), reports) == {1000: BrokerCounters(NOW, 7.0, 5.0, None)}


def test_what_brokers_took_in_of_late_outlives_rates_that_are_too_old() -> None:
    watch = TrafficWatch()
    for seconds in (0, 10, 20):
        at = NOW + timedelta(seconds=seconds)
        watch.see(_at(seconds, one=seconds * MB), {b: BrokerCounters(at, 0, seconds, seconds) for b in BROKERS})
    later = watch.traffic(NOW + timedelta(minutes=30))
    assert not later.write_bytes_per_s
    assert [p.in_bytes_per_s for p in later.recent] == [len(BROKERS), len(BROKERS)]
