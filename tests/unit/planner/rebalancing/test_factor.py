"""Another replication factor: no plan loses a rack, fills a disk or ends with another number of replicas."""

from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from planner.observed import BrokerSeen, KafkaSnapshot, LogDirsSeen, PartitionSeen
from planner.placement.corrections import MOST_A_BROKER, MOST_AT_A_TIME
from planner.rebalancing.factor import DISK_LIMIT, factor_plan, next_batch
from tests.builders import a_partition, a_snapshot

GIB = 1024**3
ALL = tuple(range(1000, 1006))
ZONES = {b: "abc"[(b - 1000) % 3] for b in ALL}


def look(*parts: PartitionSeen, used: dict[int, int] | None = None, total: int = 1000 * GIB) -> KafkaSnapshot:
    """Six brokers in three zones, with so much in use."""
    kafka = a_snapshot(*parts, brokers=ALL)
    dirs = {b: LogDirsSeen(0, 0, total, total - (used or {}).get(b, 0)) for b in ALL}
    return replace(kafka, brokers={b: BrokerSeen(b, ZONES[b], False, f"b{b}", 9092) for b in ALL}, log_dirs=dirs)


def through(kafka: KafkaSnapshot, factor: int) -> KafkaSnapshot:
    """The cluster once all batches that are planned anew each time have gone through."""
    for _ in range(200):
        batch = next_batch(kafka, factor_plan(kafka, ALL, ["orders"], factor, below_min_isr=True).moves)
        if not batch:
            return kafka
        used = {b: d.total_bytes - d.usable_bytes for b, d in kafka.log_dirs.items()}
        lists = dict(kafka.by_name)
        for move in batch:
            p = lists[move.name]
            assert p.leader in move.after, "the leader stays"
            assert p.replicas == move.before
            assert len(move.removed) <= 1, "one at a time"
            assert set(move.after) & set(p.isr), "somebody in sync stays"
            for broker in move.added:
                used[broker] += p.size_bytes
            for broker in move.removed:
                used[broker] -= p.size_bytes
            lists[move.name] = replace(p, replicas=move.after, isr=move.after)
        total = next(iter(kafka.log_dirs.values())).total_bytes
        assert all(
            used[b] <= total * DISK_LIMIT or used[b] <= total - d.usable_bytes for b, d in kafka.log_dirs.items()
        )
        kafka = look(*lists.values(), used=used, total=total)
    raise AssertionError("it never ends")


@st.composite
def clusters(draw: st.DrawFn) -> KafkaSnapshot:
    parts = []
    for number in range(draw(st.integers(1, 30))):
        brokers = tuple(draw(st.permutations(ALL))[: draw(st.integers(1, 4))])
        size = draw(st.integers(0, 40)) * GIB
        parts.append(replace(a_partition(f"orders-{number}", brokers, size_bytes=size), leader=brokers[-1]))
    used = {b: sum(p.size_bytes for p in parts if b in p.replicas) for b in ALL}
    return look(*parts, used=used, total=draw(st.sampled_from([400, 4000])) * GIB)


@settings(max_examples=60, deadline=None)
@given(clusters(), st.integers(1, 4))
def test_every_plan_keeps_racks_and_disks_and_ends_as_asked(kafka: KafkaSnapshot, factor: int) -> None:
    after = through(kafka, factor)
    wanted = factor_plan(after, ALL, ["orders"], factor, below_min_isr=True)
    for before, now in zip(kafka.partitions, after.partitions, strict=True):
        racks, kept = {ZONES[b] for b in before.replicas}, {ZONES[b] for b in now.replicas}
        assert len(kept) >= min(len(racks), factor), "a rack is lost only where fewer replicas than racks are left"
        assert len(set(now.replicas)) == len(now.replicas)
        assert [b for b in before.replicas if b in now.replicas] == [b for b in now.replicas if b in before.replicas]
        if len(now.replicas) != factor:
            assert wanted.short, "what is not as asked is said to lack something"
    if not wanted.short:
        assert {len(p.replicas) for p in after.partitions} == {factor}


def test_more_replicas_go_to_new_zones_and_the_emptiest_disk() -> None:
    kafka = look(a_partition("orders-0", (1000, 1001), size_bytes=GIB), used={1002: 500 * GIB})
    (move,) = factor_plan(kafka, ALL, ["orders"], 3).moves
    assert (move.before, move.after, move.bytes) == ((1000, 1001), (1000, 1001, 1005), GIB)


def test_what_goes_first_is_out_of_sync_and_then_shares_a_zone() -> None:
    lagging = a_partition("orders-0", (1000, 1001, 1002), isr=(1000, 1001))
    (move,) = factor_plan(look(lagging), ALL, ["orders"], 2).moves
    assert move.after == (1000, 1001)
    crowded = replace(a_partition("orders-0", (1000, 1003, 1001)), leader=1000)
    (move,) = factor_plan(look(crowded), ALL, ["orders"], 2).moves
    assert move.after == (1000, 1001)


def test_fewer_replicas_than_min_isr_need_a_word() -> None:
    kafka = look(a_partition("orders-0", (1000, 1001, 1002), min_isr=2))
    refused = factor_plan(kafka, ALL, ["orders"], 1)
    assert not refused.moves
    assert "min.insync.replicas" in refused.short
    (move,) = factor_plan(kafka, ALL, ["orders"], 1, below_min_isr=True).moves
    assert len(move.after) == 2, "one at a time"


def test_a_disk_nobody_told_of_takes_nothing() -> None:
    kafka = look(a_partition("orders-0", (1000, 1001), size_bytes=GIB))
    untold = replace(kafka, log_dirs={b: d for b, d in kafka.log_dirs.items() if b in (1000, 1001)})
    plan = factor_plan(untold, ALL, ["orders"], 3)
    assert not plan.moves
    assert "find no home" in plan.short


def test_more_replicas_than_brokers_are_not_had() -> None:
    plan = factor_plan(look(a_partition("orders-0", (1000,))), ALL[:2], ["orders"], 3)
    assert (plan.moves, plan.short) == ((), "3 replicas need 3 brokers that may receive, there are 2")


def test_what_moves_or_has_no_leader_is_left_with_why() -> None:
    headless = replace(a_partition("orders-0", (1000, 1001), isr=()), leader=-1)
    moving = a_partition("orders-1", (1000, 1001), adding=(1002,))
    plan = factor_plan(look(headless, moving), ALL, ["orders"], 1, below_min_isr=True)
    assert not plan.moves
    assert list(plan.left.values()) == ["orders-0 has no leader", "somebody moves it"]


def test_a_batch_loads_no_broker_and_no_link_more_than_a_repair_does() -> None:
    kafka = look(*(a_partition(f"orders-{n}", (1000, 1001)) for n in range(40)))
    batch = next_batch(kafka, factor_plan(kafka, ALL, ["orders"], 3).moves)
    assert 0 < len(batch) <= MOST_AT_A_TIME
    assert len(batch) <= MOST_A_BROKER, "all are read from one leader"


def test_an_unknown_topic_is_refused() -> None:
    with pytest.raises(ValueError, match="audit"):
        factor_plan(look(a_partition("orders-0")), ALL, ["audit"], 3)
