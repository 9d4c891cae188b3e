"""Traffic, CPU and ceilings call for a rebalance as bytes do, where they are known; what is unknown is said."""

from dataclasses import replace
from typing import Any

from hypothesis import given, settings, strategies as st

from planner.observed import KafkaSnapshot
from planner.rebalancing.imbalance import allowed_percent, deviations, not_judged, over_edge
from planner.rebalancing.known_load import KnownLoad
from tests.builders import a_partition, a_snapshot

SIX = (1000, 1001, 1002, 1003, 1004, 1005)
MB = 1e6
HOT = (1000, 1001, 1002)


def _even(per_broker: int = 12) -> KafkaSnapshot:
    """As many equal logs on each of six brokers, one replica each: nothing but traffic can tell them apart."""
    lists = [SIX[n % 6] for n in range(6 * per_broker)]
    return a_snapshot(*(a_partition(f"orders-{n}", (b,)) for n, b in enumerate(lists)), brokers=SIX)


def _load(kafka: KafkaSnapshot, busy: float = 144 * MB, idle: float = 12 * MB, **more: Any) -> KnownLoad:
    each = {b: sum(p.replicas[0] == b for p in kafka.partitions) for b in SIX}
    rate = {b: (busy if b in HOT else idle) / each[b] for b in SIX}
    write = {p.name: rate[p.replicas[0]] for p in kafka.partitions}
    return replace(KnownLoad(write_bytes_per_s=write, read_bytes_per_s=dict.fromkeys(write, 0.0)), **more)


def test_six_equal_brokers_of_which_three_take_twelve_times_as_much_are_uneven() -> None:
    """144/144/144/12/12/12 MB/s in: bytes, replicas and leaders were all even, and nothing began."""
    kafka = _even()
    found = deviations(kafka, SIX, _load(kafka))
    assert {goal: found[goal] for goal in ("disk", "replicas", "leaders")} == {"disk": 0, "replicas": 0, "leaders": 0}
    # 66 MB/s from the mean of 78, but for one partition of 12.
    assert found["nic-in"] == found["leader-nic-in"] == 69.2
    assert set(over_edge(found, 20.0)) == {"nic-in", "leader-nic-in"}


def test_traffic_that_nobody_knows_is_said_and_is_not_idle() -> None:
    kafka = _even()
    assert "nic-in" not in deviations(kafka, SIX)
    assert not_judged(kafka, SIX, KnownLoad())["nic-in"] == "what is written to 72 of 72 partitions"
    half = dict(list(_load(kafka).write_bytes_per_s.items())[:36])
    assert "nic-in" not in deviations(kafka, SIX, KnownLoad(write_bytes_per_s=half))
    written = replace(_load(kafka), read_bytes_per_s={})
    assert not_judged(kafka, SIX, written)["nic-out"] == "what is read of 72 of 72 partitions"
    assert "nic-out" not in deviations(kafka, SIX, written)


def test_cpu_is_judged_where_it_is_known_of_every_broker() -> None:
    kafka = _even()
    used = {b: 0.9 if b in HOT else 0.1 for b in SIX}
    known = _load(kafka, cpu_used=used, processors=dict.fromkeys(SIX, 8))
    # 0.9 beside a mean of 0.5, but for the costliest partition: a twelfth of 0.9.
    assert deviations(kafka, SIX, known)["cpu"] == 65.0
    assert over_edge(deviations(kafka, SIX, known), 20.0)["cpu-capacity"] == 28.6
    missing = replace(known, cpu_used={b: share for b, share in used.items() if b != 1005})
    assert not_judged(kafka, SIX, missing)["cpu"] == "CPU of 1 of 6 brokers"


def test_a_ceiling_has_an_outer_edge_of_its_own() -> None:
    kafka = _even()
    nic = dict.fromkeys(SIX, 175 * MB)
    load = _load(kafka, 144 * MB, 144 * MB, nic_in_bytes_per_s=nic, nic_out_bytes_per_s=nic)
    found = deviations(kafka, SIX, load)
    assert (found["nic-in"], found["nic-in-capacity"]) == (0.0, 2.9)  # 0.82 of the NIC, 0.8 is allowed
    assert over_edge(found, 20.0) == {}
    busier = _load(kafka, 150 * MB, 150 * MB, nic_in_bytes_per_s=nic, nic_out_bytes_per_s=nic)
    assert over_edge(deviations(kafka, SIX, busier), 20.0) == {"nic-in-capacity": 7.1}


def test_a_topic_on_one_broker_alone_is_uneven() -> None:
    alone = [a_partition(f"orders-{n}", (1000,)) for n in range(36)]
    others = [a_partition(f"other{b}-{n}", (b,)) for b in SIX[1:] for n in range(36)]
    found = deviations(a_snapshot(*alone, *others, brokers=SIX), SIX)
    assert (found["replicas"], found["topic-spread"]) == (0.0, 316.7)  # 36 where 17 are allowed and 6 are even


def test_what_the_last_rebalance_could_not_better_hides_no_other_goal() -> None:
    """The largest deviation alone was remembered: one log that nobody can split hid leaders that all were one's."""
    found = {"nic-in": 60.0, "leaders": 45.0}
    assert list(over_edge(found, 20.0)) == ["nic-in", "leaders"]
    left = {"nic-in": 58.0, "leaders": 8.0}
    assert over_edge(found, 20.0, left) == {"leaders": 45.0}
    assert allowed_percent("nic-in", 20.0, left) == 68.0
    assert over_edge({"nic-in": 69.0}, 20.0, left) == {"nic-in": 69.0}


@settings(max_examples=40, deadline=None)
@given(
    shares=st.lists(st.integers(0, 50), min_size=6, max_size=6),
    factor=st.floats(0.1, 1000),
)
def test_how_uneven_equal_machines_are_does_not_depend_on_how_busy_they_are(shares: list[int], factor: float) -> None:
    kafka = _even(4)
    rates = {p.name: float(shares[SIX.index(p.replicas[0])] + n % 3) for n, p in enumerate(kafka.partitions)}

    def judged(times: float) -> float:
        write = {name: rate * times for name, rate in rates.items()}
        return deviations(kafka, SIX, KnownLoad(write_bytes_per_s=write, read_bytes_per_s=write))["nic-in"]

    assert abs(judged(1.0) - judged(factor)) <= 0.1 + 1e-9, "told in tenths of a percent"


def test_moves_that_are_planned_are_judged_by_the_load_of_now() -> None:
    """Each hot broker gives half of what it has for half of what an idle one has: all have the same then."""
    kafka = _even()
    swapped = {}
    for hot, idle in zip(HOT, SIX[3:], strict=True):
        mine = [p.name for p in kafka.partitions if p.replicas == (hot,)][:6]
        theirs = [p.name for p in kafka.partitions if p.replicas == (idle,)][:6]
        swapped |= dict.fromkeys(mine, (idle,)) | dict.fromkeys(theirs, (hot,))
    assert deviations(kafka, SIX, _load(kafka), after=swapped)["nic-in"] == 0.0
