"""Findings from vitals: each is raised with its numbers when it is so, and not raised without cause."""

from collections.abc import Callable, Sequence

import pytest

from agent.health.checkup import FORGET_S, Checkup
from agent.health.judge import judge
from agent.health.trend import slope, thinned
from agent.health.vitals import JvmVitals, MetadataVitals, Vitals, ZooKeeperVitals
from tests.unit.agent.vitals_cases import changed, told_of

MIB = 1024 * 1024
WELL = Vitals(
    at_s=0.0,
    pid=7,
    request_handler_idle=0.9,
    network_processor_idle=0.95,
    cleaner_dead_threads=0,
    uncleanable_partitions=0,
    offline_log_dirs=0,
    free_bytes={"data": 50_000 * MIB},
    total_bytes={"data": 100_000 * MIB},
    jvm=JvmVitals(
        threads=80,
        threads_max=4000,
        descriptors=200,
        descriptors_max=100_000,
        old_used_bytes=100 * MIB,
        old_max_bytes=1000 * MIB,
        collecting_ms_total=0,
    ),
    metadata=MetadataVitals(lag_ms=200, errors=0),
    zookeeper=ZooKeeperVitals(outstanding_requests=3),
)
EVERY_S = 15.0


def history(n: int, change: Callable[[int], dict[str, object]] = lambda _: {}) -> list[Vitals]:
    """`n` samples, 15 s apart, each WELL but for what `change` says of it."""
    return [changed(WELL, at_s=k * EVERY_S, **change(k)) for k in range(n)]


def names(samples: Sequence[Vitals]) -> list[str]:
    return [f.name for f in judge(samples)]


def test_a_healthy_service_has_no_findings() -> None:
    assert judge(history(120)) == ()


def test_a_service_that_tells_nothing_has_no_findings() -> None:
    assert judge([Vitals(at_s=k * EVERY_S, pid=7) for k in range(120)]) == ()
    assert judge([]) == ()


def test_threads_that_wait_for_each_other_twice_in_a_row_are_a_deadlock() -> None:
    stuck = ("kafka-request-handler-1", "kafka-request-handler-2")
    (found,) = judge(history(5, lambda k: {"deadlocked": stuck if k >= 3 else ()}))
    assert found.name == "deadlock"
    assert found.message == ("2 threads wait for each other for ever: kafka-request-handler-1, kafka-request-handler-2")
    assert names(history(5, lambda k: {"deadlocked": stuck if k == 4 else ()})) == []


@pytest.mark.parametrize(
    ("change", "name", "numbers"),
    [
        ({"threads": 3600}, "threads_exhausted", {"used": 3600, "max": 4000}),
        ({"descriptors": 90_000}, "descriptors_exhausted", {"used": 90_000, "max": 100_000}),
        ({"cleaner_dead_threads": 1}, "log_cleaner_dead", {"threads": 1}),
        ({"uncleanable_partitions": 4}, "log_cleaner_gave_up", {"partitions": 4}),
        ({"offline_log_dirs": 2}, "log_dir_failed", {"log_dirs": 2}),
        ({"metadata_errors": 1}, "metadata_errors", {"errors": 1}),
        (
            {"free_bytes": {"data": 4_000 * MIB}},
            "disk_full:data",
            {"free_bytes": 4_000 * MIB, "total_bytes": 100_000 * MIB},
        ),
    ],
)
def test_what_is_wrong_at_once_is_told_at_once(change: dict[str, object], name: str, numbers: dict[str, float]) -> None:
    (found,) = judge(history(1, lambda _: change))
    assert (found.name, dict(found.numbers)) == (name, numbers)


@pytest.mark.parametrize(
    ("field", "bad", "name"),
    [
        ("request_handler_idle", 0.01, "request_handlers_busy"),
        ("network_processor_idle", 0.02, "network_processors_busy"),
        ("metadata_lag_ms", 45_000, "metadata_lag"),
        ("zookeeper_session", "CONNECTING", "zookeeper_session"),
        ("outstanding_requests", 250, "zookeeper_overloaded"),
    ],
)
def test_what_may_pass_is_told_only_when_it_has_lasted(field: str, bad: float, name: str) -> None:
    assert names(history(20, lambda k: {field: bad if k >= 10 else told_of(WELL, field)})) == [name]
    assert names(history(20, lambda k: {field: bad if k >= 18 else told_of(WELL, field)})) == []
    assert names(history(20, lambda k: {field: bad if k >= 10 and k != 17 else told_of(WELL, field)})) == []
    assert names(history(20, lambda k: {field: bad if k >= 10 and k != 17 else None})) == [], "once it was not told"


def test_a_heap_that_stays_full_after_three_collections_is_full() -> None:
    used = [100, 880, 870, 900]
    (found,) = judge(history(8, lambda k: {"old_used_bytes": used[min(k, 3)] * MIB}))
    assert found.name == "heap_full"
    assert "900" in found.message
    assert names(history(8, lambda k: {"old_used_bytes": (100, 880, 500, 900)[min(k, 3)] * MIB})) == []


def test_a_heap_that_grows_collection_by_collection_is_a_leak_with_its_time_to_full() -> None:
    (found,) = judge(history(60, lambda k: {"old_used_bytes": (200 + 8 * (k // 2)) * MIB}))
    assert found.name == "memory_leak"
    assert found.numbers["bytes_per_s"] == pytest.approx(8 * MIB / 30)
    assert found.numbers["full_in_s"] == pytest.approx((1000 - 432) * MIB / (8 * MIB / 30))
    assert "16.0 MiB a minute (30 collections); the heap is full in 36 min" in found.message


@pytest.mark.parametrize(
    "used",
    [
        lambda k: 100 + 8 * min(k, 20),  # a cache fills up and levels off
        lambda k: 400 + 300 * (k % 7),  # saw teeth
        lambda k: 200 + 0.1 * k,  # slow: days to full
        lambda k: 900 - 8 * k,
    ],
    ids=["cache", "saw teeth", "slow", "falling"],
)
def test_a_heap_that_lives_is_no_leak(used: Callable[[int], float]) -> None:
    assert names(history(80, lambda k: {"old_used_bytes": int(used(k) * MIB), "old_max_bytes": 4000 * MIB})) == []


def test_most_of_the_time_in_collections_is_thrashing() -> None:
    (found,) = judge(history(10, lambda k: {"collecting_ms_total": int(k * EVERY_S * 600)}))
    assert (found.name, found.message) == ("gc_thrashing", "60% of the time goes into garbage collection")
    assert names(history(10, lambda k: {"collecting_ms_total": int(k * EVERY_S * 100)})) == []


def test_a_disk_that_fills_has_a_time_to_full_though_segments_are_deleted_now_and_then() -> None:
    def free(k: int) -> int:
        return (50_000 - 100 * k + (2_000 if k in (17, 31) else 0)) * MIB

    (found,) = judge(history(40, lambda k: {"free_bytes": {"data": free(k)}}))
    assert found.name == "disk_filling:data"
    assert found.numbers["full_in_s"] == pytest.approx(46_100 * EVERY_S / 100, rel=0.05)
    assert "full in 1.9 h at 400.0 MiB a minute" in found.message


def test_a_disk_that_fills_in_weeks_or_empties_is_none() -> None:
    assert names(history(40, lambda k: {"free_bytes": {"data": 50_000 * MIB - k * 100_000}})) == []
    assert names(history(40, lambda k: {"free_bytes": {"data": (50_000 + 100 * k) * MIB}})) == []


def test_a_load_that_has_just_begun_does_not_tell_of_the_day() -> None:
    """The demo ended "Degraded: full in 2.5 h": brokers of four minutes with a load of four minutes."""

    def seen_for(seconds: float) -> list[str]:
        samples = int(seconds / EVERY_S) + 1

        def sample(k: int) -> dict[str, object]:
            return {
                "free_bytes": {"data": int((4096 - 25.5 / 60 * EVERY_S * k) * MIB)},
                "total_bytes": {"data": 4096 * MIB},
            }

        return names(history(samples, sample))

    assert seen_for(270) == []
    assert seen_for(600) == ["disk_filling:data"], "ten minutes of it tell of four hours"


def test_an_hour_of_filling_tells_of_a_day() -> None:
    """Slower than half an hour could tell of."""
    filling = history(int(3600 / EVERY_S) + 1, lambda k: {"free_bytes": {"data": int(90_000 - 15.5 * k) * MIB}})
    assert names(filling) == ["disk_filling:data"]
    assert names(filling[-120:]) == []


def test_a_disk_that_took_copies_and_rests_since_is_not_filling() -> None:
    """Of a broker that does not tell what was copied."""

    def free(k: int) -> int:
        return (50_000 - 400 * min(k, 12)) * MIB

    copied = history(60, lambda k: {"free_bytes": {"data": free(k)}})
    assert names(copied[:12]) == ["disk_filling:data"], "while they come"
    assert names(copied[:22]) == []
    assert names(copied) == []


def test_a_disk_is_not_filling_while_it_takes_the_copies_of_a_drain() -> None:
    def copies(k: int) -> int:
        return 400 * max(0, min(k, 40) - 10) * MIB

    def during(clients: int) -> list[Vitals]:
        taken = (copies(k) * 1.03 + clients * k * MIB for k in range(80))
        return history(
            80, lambda k: {"free_bytes": {"data": int(50_000 * MIB - next(taken))}, "copied_total": copies(k)}
        )

    assert {name for n in range(1, 81) for name in names(during(0)[:n])} == set()
    filled = during(200)
    for n in (20, 40, 60, 80):
        (found,) = judge(filled[:n])
        assert found.name == "disk_filling:data", "clients fill it beside the drain"
        assert found.numbers["bytes_per_s"] == pytest.approx(200 * MIB / EVERY_S, rel=0.1)


def test_copies_are_counted_for_the_disks_that_fill() -> None:
    """Kafka counts them for the broker, not for its directories."""

    def sample(k: int) -> dict[str, object]:
        free = {"data": (50_000 - 400 * k) * MIB, "more": 50_000 * MIB}
        return {"free_bytes": free, "total_bytes": dict.fromkeys(free, 100_000 * MIB), "copied_total": 200 * k * MIB}

    (found,) = judge(history(40, sample))
    assert found.name == "disk_filling:data"
    assert found.numbers["bytes_per_s"] == pytest.approx((400 - 1.05 * 200) * MIB / EVERY_S)


def test_a_process_that_is_another_node_or_release_than_was_asked_for_is_told_by_its_second_sample() -> None:
    wanted = ("1000", "4.1.1")
    for identity in (("1001", "4.1.1"), ("1000", "4.2.0")):
        samples = [changed(v, identity=identity, wanted=wanted) for v in history(2)]
        assert judge(samples[:1]) == ()
        (found,) = judge(samples)
        assert found.name == "wrong_identity"
        said = f"it runs as node {identity[0]} with Kafka {identity[1]}, and node 1000 with 4.1.1 is wanted"
        assert found.message == said
    for well in (wanted, ("1000", "4.1.1-vendor7"), None):
        assert judge([changed(v, identity=well, wanted=wanted) for v in history(3)]) == ()


def test_a_finding_keeps_the_time_it_began_until_it_ends() -> None:
    samples = history(30, lambda k: {"offline_log_dirs": 1 if 5 <= k < 10 or k >= 20 else 0})
    found, since = judge(samples[:1]), []
    for n in range(2, 31):
        found = judge(samples[:n], found)
        since += [f.since_s for f in found]
    assert sorted(set(since)) == [75.0, 300.0]


def test_another_process_begins_anew_and_a_silent_one_is_forgotten() -> None:
    checkup = Checkup(every_s=10)
    checkup.look(0, 7, lambda: changed(WELL, at_s=0, offline_log_dirs=1))
    assert [f.name for f in checkup.findings] == ["log_dir_failed"]
    checkup.look(5, 7, lambda: pytest.fail("too early"))
    checkup.look(20, 7, lambda: None)
    assert checkup.findings, "one silence proves nothing"
    checkup.look(20 + FORGET_S, 7, lambda: None)
    assert checkup.findings == ()
    checkup.look(200, 7, lambda: changed(WELL, at_s=200, offline_log_dirs=1))
    checkup.look(211, 8, lambda: changed(WELL, at_s=211, pid=8))
    assert checkup.findings == ()


def test_a_slope_is_not_bent_by_a_few_wild_points() -> None:
    points = [(float(x), 3.0 * x + (500.0 if x % 5 == 0 else 0.0)) for x in range(30)]
    assert slope(points) == pytest.approx(3.0, rel=0.05)
    assert slope(points[:2]) is None
    assert slope([(1.0, 1.0)] * 5) is None


def test_thinned_points_keep_both_ends() -> None:
    points = [(float(x), 0.0) for x in range(100)]
    few = thinned(points, 10)
    assert (len(few), few[0], few[-1]) == (10, points[0], points[-1])
    assert thinned(few, 10) == few


def _updates(each_s: float, mean_ms: float) -> Callable[[int], dict[str, object]]:
    """Of an ensemble that makes so many updates a second, each of which takes so long."""
    made = EVERY_S * each_s
    return lambda k: {"updates_total": int(made * k), "update_ms_total": made * k * mean_ms}


def test_updates_that_take_half_a_second_make_an_ensemble_slow() -> None:
    (found,) = judge(history(10, _updates(2, 800)))
    assert found.name == "zookeeper_slow"
    assert found.message == "an update took 800 ms on average in the last 60 s (120 updates)"
    taken = [(v, v.zookeeper.updates_total) for v in history(10, _updates(2, 800))]
    later = [changed(v, update_ms_total=updates * 3.0) for v, updates in taken if updates]
    assert names(later) == []


def test_an_ensemble_that_keeps_up_is_not_found_slow() -> None:
    assert names(history(20, _updates(50, 12))) == []
    assert names(history(20, _updates(0.1, 3000))) == [], "six updates a minute say nothing"
    waits = {8: 400, 9: 300}
    assert names(history(20, lambda k: {"outstanding_requests": waits.get(k, 2)})) == [], "a burst is not an overload"


LEADS = {"is_active_controller": True, "no_op_every_ms": 500}


def test_an_active_controller_that_leaves_its_no_op_records_out_is_stuck() -> None:
    (found,) = judge(history(6, lambda k: {**LEADS, "metadata_log_end": min(k, 3) * 30}))
    assert (found.name, found.numbers) == ("controller_stuck", {"for_s": 30.0})
    assert found.message == "it leads the quorum and has written nothing for 30 s, not the record of each 500 ms"


@pytest.mark.parametrize(
    "told",
    [
        lambda k: {**LEADS, "metadata_log_end": k * 30},
        lambda k: {**LEADS, "metadata_log_end": 7, "is_active_controller": False},
        lambda k: {**LEADS, "metadata_log_end": 7, "is_active_controller": k > 3},
        lambda k: {**LEADS, "metadata_log_end": 7, "no_op_every_ms": 0},
        lambda k: {**LEADS, "metadata_log_end": 7, "no_op_every_ms": 5000},
        lambda k: {**LEADS, "metadata_log_end": None},
        lambda k: {**LEADS, "metadata_log_end": 7 + (k > 4), "at_s": (0, 1, 2, 3, 4, 400)[k]},
        lambda k: {**LEADS, "metadata_log_end": 7 + min(k, 4), "at_s": (0, 1, 2, 3, 4, 400)[k]},
    ],
    ids=[
        "it writes",
        "it follows",
        "it leads since",
        "no such records",
        "rare records",
        "untold",
        "wrote",
        "was stopped",
    ],
)
def test_a_controller_is_not_stuck_without_cause(told: Callable[[int], dict[str, object]]) -> None:
    samples = [changed(WELL, **{"at_s": k * EVERY_S, **told(k)}) for k in range(6)]
    assert names(samples) == []
