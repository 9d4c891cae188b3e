"""The judge: what the planner makes is accepted, anything else is refused."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from planner.drain.check import check
from planner.drain.infeasible import Infeasible
from planner.drain.plan import DrainPlan, Move
from planner.drain.request import DrainRequest
from planner.drain.solve import solve
from planner.observed import KafkaSnapshot
from tests.unit.planner.drain.drain_cases import MIB, cases, executed, partition, request, roll, scale_down, snapshot

Case = tuple[KafkaSnapshot, DrainRequest]
GENEROUS = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def plan_or_part(asked: DrainRequest) -> DrainPlan | None:
    answer = solve(asked)
    return answer.feasible_part if isinstance(answer, Infeasible) else answer


@GENEROUS
@given(cases())
def test_every_plan_of_the_planner_is_accepted(case: Case) -> None:
    seen, asked = case
    plan = plan_or_part(asked)
    if plan:
        assert check(plan, seen, asked) == ()


@GENEROUS
@given(cases())
def test_after_a_plan_only_deferred_partitions_are_left_on_outgoing_brokers(case: Case) -> None:
    seen, asked = case
    plan = plan_or_part(asked)
    if plan:
        after = executed(seen, plan)
        left = {p.name for b in asked.outgoing for p in after.hosted_by(b) if not p.is_moving}
        assert left <= {d.name for d in plan.deferred}


@GENEROUS
@given(cases())
def test_a_plan_is_its_bytes(case: Case) -> None:
    plan = plan_or_part(case[1])
    if plan:
        again = DrainPlan.from_bytes(plan.to_bytes())
        assert again == plan
        assert again.sha256 == plan.sha256


def with_move(plan: DrainPlan, position: int, **changes: object) -> DrainPlan:
    moves = list(plan.moves)
    moves[position] = replace(moves[position], **changes)  # type: ignore[arg-type]
    return replace(plan, moves=tuple(moves))


def put(ids: tuple[int, ...], slot: int, broker: int) -> tuple[int, ...]:
    return (*ids[:slot], broker, *ids[slot + 1 :])


def slots(move: Move) -> tuple[int, int]:
    """(a place of the list that a new replica takes, one that a replica keeps)."""
    new = [i for i, b in enumerate(move.after) if b in move.added]
    kept = [i for i in range(len(move.after)) if i not in new]
    return new[0], kept[0] if kept else new[0]


def drop_move(plan: DrainPlan, at: int) -> DrainPlan:
    return replace(plan, moves=plan.moves[:at] + plan.moves[at + 1 :])


def ports(plan: DrainPlan, **changes: int) -> DrainPlan:
    return replace(plan, into={b: replace(p, **changes) for b, p in plan.into.items()})


def claimed(plan: DrainPlan, **values: float) -> DrainPlan:
    measures = plan.certificate.measures
    changed = {name: replace(getattr(measures, name), value=value) for name, value in values.items()}
    return replace(plan, certificate=replace(plan.certificate, measures=replace(measures, **changed)))


MUTATIONS: dict[str, Callable[[DrainPlan, int, Move], DrainPlan]] = {
    "before forged": lambda p, i, m: with_move(p, i, before=put(m.before, slots(m)[1], 4242)),
    "target unknown": lambda p, i, m: with_move(p, i, after=put(m.after, slots(m)[0], 4242)),
    "target outgoing": lambda p, i, m: with_move(p, i, after=m.before),
    "replica doubled": lambda p, i, m: with_move(p, i, after=put(m.after, slots(m)[0], m.after[slots(m)[1]])),
    "replica dropped": lambda p, i, m: with_move(p, i, after=m.after[:-1]),
    "replica added": lambda p, i, m: with_move(p, i, after=(*m.after, 4242)),
    "moves nothing": lambda p, i, m: with_move(p, i, after=m.before),
    "stayer removed": lambda p, i, m: with_move(p, i, after=put(m.after, slots(m)[1], 4243)),
    "source unknown": lambda p, i, m: with_move(p, i, source=4242),
    "partition renamed": lambda p, i, m: with_move(p, i, topic="no-such-topic"),
    "bytes forged": lambda p, i, m: with_move(p, i, bytes=m.bytes + 1),
    "move dropped": lambda p, i, m: drop_move(p, i),
    "move twice": lambda p, i, m: replace(p, moves=(*p.moves, m)),
    "checkpoints cut": lambda p, i, m: replace(p, checkpoints=()),
    "checkpoints turned": lambda p, i, m: replace(p, checkpoints=(len(p.moves), len(p.moves))),
    "checkpoint beyond the end": lambda p, i, m: replace(p, checkpoints=(*p.checkpoints, len(p.moves) + 1)),
    "no slots": lambda p, i, m: ports(p, slots=0),
    "more promised than throttled": lambda p, i, m: ports(p, promised_bytes_per_s=10**15),
    "throttle under its floor": lambda p, i, m: ports(p, floor_bytes_per_s=10**15),
    "another cluster": lambda p, i, m: replace(p, cluster_uid="other"),
    "another drain": lambda p, i, m: replace(p, drain_id="other"),
    "another round": lambda p, i, m: replace(p, round=p.round + 1),
    "no throttle in": lambda p, i, m: replace(p, into={}),
    "no throttle out": lambda p, i, m: replace(p, out={}),
    "zero throttle": lambda p, i, m: ports(p, quota_bytes_per_s=0),
    "bytes claimed": lambda p, i, m: claimed(p, bytes=p.certificate.measures.bytes.value + 1),
    "disk claimed": lambda p, i, m: claimed(p, disk=-0.5),
    "time claimed": lambda p, i, m: claimed(p, makespan_s=-1.0),
    "replicas claimed": lambda p, i, m: replace(p, certificate=replace(p.certificate, replicas=10**6)),
    "measured claimed": lambda p, i, m: replace(p, certificate=replace(p.certificate, bandwidth_source="measured")),
}


@settings(GENEROUS, max_examples=8)
@given(cases(), st.data())
@pytest.mark.parametrize("mutation", sorted(MUTATIONS))
def test_a_mutated_plan_is_always_refused(mutation: str, case: Case, data: st.DataObject) -> None:
    seen, asked = case
    plan = plan_or_part(asked)
    if plan is None or not plan.moves:
        return
    at = data.draw(st.sampled_from([i for i, m in enumerate(plan.moves) if m.added]))
    if mutation == "replica doubled" and slots(plan.moves[at])[0] == slots(plan.moves[at])[1]:
        return  # no replica stays: there is none to double
    mutant = MUTATIONS[mutation](plan, at, plan.moves[at])
    assert check(mutant, seen, asked), f"{mutation}: accepted"


@pytest.mark.parametrize("mutation", sorted(MUTATIONS))
def test_each_mutation_is_refused_on_a_plain_roll(mutation: str) -> None:
    seen, asked = roll()
    plan = solve(asked)
    assert isinstance(plan, DrainPlan)
    assert check(plan, seen, asked) == ()
    assert check(MUTATIONS[mutation](plan, 3, plan.moves[3]), seen, asked)


def test_a_plan_from_before_somebody_reassigned_is_refused() -> None:
    seen, asked = roll()
    plan = solve(asked)
    assert isinstance(plan, DrainPlan)
    changed = replace(seen.partitions[4], replicas=(1001, 1000, 1002))
    stale = replace(seen, partitions=(*seen.partitions[:4], changed, *seen.partitions[5:]))
    assert [v.kind for v in check(plan, stale, asked)] == ["stale"]


def test_a_plan_for_a_partition_that_is_moving_is_refused() -> None:
    seen, asked = roll()
    plan = solve(asked)
    assert isinstance(plan, DrainPlan)
    moving = replace(seen.partitions[4], adding=(1003,))
    stale = replace(seen, partitions=(*seen.partitions[:4], moving, *seen.partitions[5:]))
    assert "stale" in {v.kind for v in check(plan, stale, asked)}


def test_a_target_that_died_since_is_refused() -> None:
    seen, asked = roll()
    plan = solve(asked)
    assert isinstance(plan, DrainPlan)
    dead = replace(seen, brokers={**seen.brokers, 1003: replace(seen.brokers[1003], fenced=True)})
    assert {v.kind for v in check(plan, dead, asked)} == {"target"}


def test_a_disk_that_filled_since_is_refused() -> None:
    seen, asked = roll()
    plan = solve(asked)
    assert isinstance(plan, DrainPlan)
    full = replace(seen.log_dirs[1003], usable_bytes=MIB)
    assert {v.kind for v in check(plan, replace(seen, log_dirs={**seen.log_dirs, 1003: full}), asked)} == {"disk"}


def test_a_move_into_a_worse_rack_is_refused() -> None:
    seen, asked = scale_down()
    plan = solve(asked)
    assert isinstance(plan, DrainPlan)
    racks = {**seen.brokers, 1000: replace(seen.brokers[1000], rack="b"), 9: replace(seen.brokers[1000], id=9)}
    assert "rack" in {v.kind for v in check(plan, replace(seen, brokers=racks), asked)}


def test_a_successor_passed_over_is_refused() -> None:
    seen = snapshot({1: "a", 2: "b", 3: "a", 4: "a"}, [partition("t", 0, (1, 2))])
    free = request(seen, outgoing=(1,), targets=(3, 4))
    plan = solve(free)
    assert isinstance(plan, DrainPlan)
    assert set(plan.moves[0].after) == {2, 3}
    bound = request(seen, outgoing=(1,), targets=(3, 4), successors={1: 4})
    assert "target" in {v.kind for v in check(plan, seen, bound)}


def test_order_alone_may_change_where_nothing_leaves() -> None:
    """Uneven leaders are evened out by entries that copy nothing, on partitions in sync that nobody moves."""
    rows = [partition("t", i, (1, 2, 3), leader=2) for i in range(3)] + [partition("u", i, (2, 3)) for i in range(6)]
    seen = snapshot({1: "a", 2: "b", 3: "c", 4: "a"}, rows)
    asked = request(seen, outgoing=(1,), targets=(4,), successors={1: 4})
    plan = solve(asked)
    assert isinstance(plan, DrainPlan)
    turned = [m for m in plan.moves if not m.added]
    assert turned
    assert check(plan, seen, asked) == ()
    assert plan.certificate.measures.leaders.value == 3
