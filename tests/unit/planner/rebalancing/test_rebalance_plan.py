"""From a snapshot to a rebalance plan, its independent judge, and the one figure for imbalance. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from planner.drain.model.capacity import Capacity, FigureOrigin, FigureSource
from planner.drain.plan import PlanUnreadable
from planner.heartbeats import HEARTBEAT_TOPIC
from planner.observed import KafkaSnapshot, LogDirsSeen, PartitionSeen, ThrottlesSeen, TopicPartition
from planner.rebalancing.ask import NothingToRead, plan_rebalance
from planner.rebalancing.check import check
from planner.rebalancing.imbalance import deviations, imbalance_percent
from planner.rebalancing.plan import RebalancePlan
from tests.unit.planner.rebalancing.rebalance_cases import ALL, MIB, NEW, OLD, SIZE, asked, moved, seen


def _held(kafka: KafkaSnapshot) -> Counter[int]:
    return Counter(b for p in kafka.partitions for b in p.replicas)


def _judged(plan: RebalancePlan, kafka: KafkaSnapshot, receivers: Sequence[int] = ALL) -> list[str]:
    return [str(v) for v in check(plan.copies, kafka, receivers=receivers, disk_limit_fraction=0.9)]


def test_new_brokers_get_their_share_and_old_ones_nothing() -> None:
    kafka = seen()
    plan = plan_rebalance(asked(new=NEW), kafka)
    after = _held(moved(kafka, plan.copies.moves))
    assert all(11 <= after[b] <= 13 for b in ALL)
    assert {b for m in plan.copies.moves for b in m.added} == set(NEW)
    assert _judged(plan, kafka) == []
    assert (plan.imbalance_before, plan.copies.engine) == (91.7, "in-process")
    assert plan.imbalance_after <= 9


@pytest.mark.parametrize("spare", [4, 40, 400], ids=lambda mib: f"{mib} MiB/s for moves")
@pytest.mark.parametrize("nic", [None, 234.5e6], ids=["NIC unknown", "NIC known"])
def test_equal_machines_end_equal_whatever_moves_may_use_beside_the_traffic(spare: int, nic: float | None) -> None:
    """On real brokers, 3 -> 6 equal VMs, 8 MiB/s written, moves throttled to 4 MiB/s: it ended at 39 and 21 replicas,
    13 and 7 leaders."""
    kafka = seen(60)
    rate = float(spare * MIB)
    figures = Capacity(
        disk_bytes=100_000 * MIB, ingress_bytes_per_s=rate, egress_bytes_per_s=rate,
        nic_in_bytes_per_s=nic, nic_out_bytes_per_s=nic,
    )  # fmt: skip
    plan = plan_rebalance(
        asked(
            new=NEW,
            capacities=(FigureSource(origin=FigureOrigin.CATALOGUE, everyone=figures),),
            write_bytes_per_s={p.name: 8 * MIB // 60 for p in kafka.partitions},
        ),
        kafka,
    )
    over = moved(kafka, plan.copies.moves)
    assert all(28 <= _held(over)[b] <= 32 for b in ALL)
    led = Counter(p.leader for p in over.partitions)
    assert all(9 <= led[b] <= 11 for b in ALL)
    assert [g.goal for g in plan.goals if g.broken_after and g.goal == "nic-in"] == []


def test_heartbeats_are_no_share_of_a_new_broker() -> None:
    """Each broker leads one of them already; where they go is not for a rebalance to say."""
    kafka = seen()
    beats = [replace(p, name=TopicPartition(HEARTBEAT_TOPIC, n)) for n, p in enumerate(kafka.partitions)]
    assert plan_rebalance(asked(new=NEW), replace(kafka, partitions=tuple(beats))).copies.moves == ()


def test_after_the_plan_nothing_is_left_to_be_moved() -> None:
    kafka = seen()
    plan = plan_rebalance(asked(), kafka)
    assert plan_rebalance(asked(), moved(kafka, plan.copies.moves)).copies.moves == ()


def test_every_partition_keeps_its_racks_and_its_replicas() -> None:
    kafka = seen()
    for move in plan_rebalance(asked(), kafka).copies.moves:
        assert len(move.after) == len(set(move.after)) == 3
        assert len({kafka.brokers[b].rack for b in move.after}) == 3


def test_brokers_that_may_not_receive_give_and_take_nothing() -> None:
    kafka = seen()
    receivers = (*OLD, 1003, 1004)
    plan = plan_rebalance(asked(receivers=receivers), kafka)
    assert 1005 not in {b for m in plan.copies.moves for b in m.after}
    assert plan.copies.moves


def test_copies_come_in_batches_of_a_few_minutes_and_leaders_last() -> None:
    plan = plan_rebalance(asked(new=NEW, most_bytes_per_s=2 * MIB, batch_s=120.0), seen()).copies
    arriving = [Counter(b for m in plan.stretch(n) for b in m.added) for n in range(len(plan.checkpoints))]
    assert len(plan.checkpoints) > 2
    rate = plan.into[1003].promised_bytes_per_s
    assert max(n * SIZE / rate for each in arriving for n in each.values()) <= 120
    kinds = [bool(m.added) for m in plan.moves]
    assert kinds == sorted(kinds, reverse=True)


def test_no_throttle_is_above_the_operators_cap() -> None:
    plan = plan_rebalance(asked(most_bytes_per_s=2 * MIB), seen()).copies
    ports = [*plan.into.values(), *plan.out.values()]
    assert {p.quota_bytes_per_s for p in ports} == {2 * MIB}
    assert all(0 < p.promised_bytes_per_s < p.quota_bytes_per_s for p in ports)


def test_a_plan_is_the_same_after_it_was_stored() -> None:
    plan = plan_rebalance(asked(), seen())
    assert RebalancePlan.from_bytes(plan.to_bytes()) == plan
    assert plan_rebalance(asked(), seen()).to_bytes() == plan.to_bytes()


@pytest.mark.parametrize("raw", [b"", b"{}", b'{"rebalance_format": 3}', b'{"format": 2, "moves": []}'])
def test_other_bytes_are_no_plan(raw: bytes) -> None:
    with pytest.raises(PlanUnreadable, match="rebalance plan"):
        RebalancePlan.from_bytes(raw)


def test_a_broker_whose_disk_nobody_knows_is_named() -> None:
    rates = Capacity(ingress_bytes_per_s=1e6, egress_bytes_per_s=1e6)
    request = asked(capacities=(FigureSource(origin=FigureOrigin.GIVEN, everyone=rates),))
    with pytest.raises(NothingToRead, match="broker 1000 has not told"):
        plan_rebalance(request, seen())


# --- the judge ------------------------------------------------------------------------------------------------------


def _plan() -> RebalancePlan:
    return plan_rebalance(asked(new=NEW), seen())


def _changed(kafka: KafkaSnapshot, change: PartitionSeen) -> KafkaSnapshot:
    return replace(kafka, partitions=tuple(change if p.name == change.name else p for p in kafka.partitions))


def test_a_partition_that_was_moved_meanwhile_refuses_the_plan() -> None:
    plan, kafka = _plan(), seen()
    first = plan.copies.moves[0]
    other = (*first.before[1:], first.before[0])
    found = _judged(plan, _changed(kafka, replace(kafka.by_name[first.name], replicas=other)))
    assert found == [f"{first.name}: replicas are {list(other)}, planned from {list(first.before)}"]


def test_moves_that_are_done_are_not_judged_again() -> None:
    plan, kafka = _plan(), seen()
    first = plan.copies.moves[0]
    later = _changed(kafka, replace(kafka.by_name[first.name], replicas=first.after, isr=first.after))
    assert check(plan.copies, later, receivers=ALL, disk_limit_fraction=0.9, done=[first]) == ()


def test_a_broker_that_may_not_receive_any_more_refuses_the_plan() -> None:
    found = _judged(_plan(), seen(), receivers=(*OLD, 1003, 1004))
    assert found
    assert all("broker 1005 may receive nothing" in text for text in found)


def test_a_broker_that_is_fenced_refuses_the_plan() -> None:
    kafka = seen(brokers=(*OLD, 1003, 1004), fenced=(1005,))
    assert any("broker 1005 is fenced" in text for text in _judged(_plan(), kafka))


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ((1003, 1004), "3 replicas before, 2 after"),
        ((1003, 1003, 1002), "a broker twice"),
        ((1000, 1001, 1002), "moves nothing"),
        ((1000, 1003, 1002), "spans racks"),
    ],
)
def test_a_move_of_the_wrong_shape_is_refused(after: tuple[int, ...], words: str) -> None:
    plan, kafka = _plan(), seen()
    n, first = next((n, m) for n, m in enumerate(plan.copies.moves) if m.before == (1000, 1001, 1002))
    moves = list(plan.copies.moves)
    moves[n] = replace(first, after=after)
    wrong = replace(plan, copies=replace(plan.copies, moves=tuple(moves)))
    assert any(words in text for text in _judged(wrong, kafka))


def test_a_disk_that_would_be_too_full_refuses_the_plan_with_the_numbers() -> None:
    kafka = seen()
    small = {**kafka.log_dirs, 1003: LogDirsSeen(0, 0, 200 * MIB, 200 * MIB)}
    found = _judged(_plan(), replace(kafka, log_dirs=small))
    assert len(found) == 1
    assert f"of {180 * MIB} allowed" in found[0]


def test_a_disk_that_nobody_knows_refuses_the_plan() -> None:
    kafka = seen()
    found = _judged(_plan(), replace(kafka, log_dirs={b: d for b, d in kafka.log_dirs.items() if b != 1004}))
    assert found == ["broker 1004: its disk is unknown"]


def test_a_plan_without_a_throttle_for_a_target_is_refused() -> None:
    plan = _plan()
    wrong = replace(plan, copies=replace(plan.copies, into={}))
    assert "broker 1003: has no throttle in" in _judged(wrong, seen())


# --- imbalance ------------------------------------------------------------------------------------------------------


def test_an_empty_broker_beside_full_ones_is_a_large_imbalance() -> None:
    found = {goal: percent for goal, percent in deviations(seen(), ALL).items() if percent}
    assert found == {"disk": 91.7, "replicas": 91.7, "leaders": 75.0}
    assert imbalance_percent(seen(), ALL) == 91.7


def test_only_brokers_that_may_receive_are_compared() -> None:
    assert imbalance_percent(seen(), OLD) == 0.0
    assert imbalance_percent(seen(), (1000,)) == 0.0


def test_what_whole_logs_cannot_avoid_is_no_imbalance() -> None:
    assert imbalance_percent(seen(count=1), OLD) == 0.0
    assert imbalance_percent(seen(count=0), ALL) == 0.0


def test_a_throttle_or_an_election_is_no_imbalance() -> None:
    kafka = seen(throttles=ThrottlesSeen({1000: 1}, {}, frozenset({"orders"})))
    led_elsewhere = tuple(replace(p, leader=1000) for p in kafka.partitions)
    assert imbalance_percent(replace(kafka, partitions=led_elsewhere), OLD) == 0.0
