"""The judge: what the planner makes is accepted, anything else is refused."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.drain.check import check
from planner.drain.infeasible import Infeasible
from planner.drain.plan import Batch, DrainPlan, Move
from planner.drain.request import DrainRequest
from planner.drain.solve import solve
from planner.observed import KafkaSnapshot
from tests.unit.planner.drain.drain_cases import MIB, cases, executed, partition, request, roll, scale_down, snapshot

Case = tuple[KafkaSnapshot, DrainRequest]
GENEROUS = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


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
    """(a slot that changes, a slot that stays)."""
    changed = [i for i, (a, b) in enumerate(zip(move.before, move.after, strict=True)) if a != b]
    stays = [i for i in range(len(move.before)) if i not in changed]
    return changed[0], stays[0] if stays else changed[0]


def drop_move(plan: DrainPlan, at: int) -> DrainPlan:
    moves = plan.moves[:at] + plan.moves[at + 1 :]
    batches = tuple(Batch(tuple(i - (i > at) for i in b.moves if i != at), b.bytes, b.eta_s) for b in plan.batches)
    return replace(plan, moves=moves, batches=batches)


def swap_batch_index(plan: DrainPlan, at: int) -> DrainPlan:
    batch = plan.batches[0]
    return replace(plan, batches=(replace(batch, moves=(*batch.moves, at)), *plan.batches[1:]))


MUTATIONS: dict[str, Callable[[DrainPlan, int, Move], DrainPlan]] = {
    "before forged": lambda p, i, m: with_move(p, i, before=put(m.before, slots(m)[1], 4242)),
    "target unknown": lambda p, i, m: with_move(p, i, after=put(m.after, slots(m)[0], 4242)),
    "target outgoing": lambda p, i, m: with_move(p, i, after=m.before),
    "replica doubled": lambda p, i, m: with_move(p, i, after=put(m.after, slots(m)[0], m.after[slots(m)[1]])),
    "replica dropped": lambda p, i, m: with_move(p, i, after=m.after[:-1]),
    "replica added": lambda p, i, m: with_move(p, i, after=(*m.after, 4242)),
    "order turned": lambda p, i, m: with_move(p, i, after=(*m.after[1:], m.after[0])),
    "partition renamed": lambda p, i, m: with_move(p, i, topic="no-such-topic"),
    "bytes forged": lambda p, i, m: with_move(p, i, bytes=m.bytes + 1),
    "move dropped": lambda p, i, m: drop_move(p, i),
    "move twice": lambda p, i, m: replace(p, moves=(*p.moves, m)),
    "batch emptied": lambda p, i, m: replace(p, batches=p.batches[1:]),
    "batch with a move twice": lambda p, i, m: swap_batch_index(p, i),
    "batch with a stray": lambda p, i, m: swap_batch_index(p, len(p.moves) + 3),
    "another cluster": lambda p, i, m: replace(p, cluster_uid="other"),
    "another drain": lambda p, i, m: replace(p, drain_id="other"),
    "another round": lambda p, i, m: replace(p, round=p.round + 1),
    "no follower throttle": lambda p, i, m: replace(p, follower_throttle={}),
    "no leader throttle": lambda p, i, m: replace(p, leader_throttle={}),
    "zero throttle": lambda p, i, m: replace(p, follower_throttle=dict.fromkeys(p.follower_throttle, 0)),
    "bytes claimed": lambda p, i, m: replace(p, certificate=replace(p.certificate, bytes=p.certificate.bytes + 1)),
    "disk claimed": lambda p, i, m: replace(p, certificate=replace(p.certificate, disk_max_fraction=-0.5)),
    "time claimed": lambda p, i, m: replace(p, certificate=replace(p.certificate, eta_s=0.01)),
    "measured claimed": lambda p, i, m: replace(p, certificate=replace(p.certificate, bandwidth_source="measured")),
}


@settings(GENEROUS, max_examples=25)
@given(cases(), st.data())
@pytest.mark.parametrize("mutation", sorted(MUTATIONS))
def test_a_mutated_plan_is_always_refused(mutation: str, case: Case, data: st.DataObject) -> None:
    seen, asked = case
    plan = plan_or_part(asked)
    if plan is None or not plan.moves:
        return
    at = data.draw(st.integers(0, len(plan.moves) - 1))
    if mutation in ("order turned", "replica doubled") and slots(plan.moves[at])[0] == slots(plan.moves[at])[1]:
        return  # no replica stays: any order of the new ones is a plan, and there is none to double
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
    racks = {**seen.brokers, 1000: replace(seen.brokers[1000], rack="b")}
    assert "rack" in {v.kind for v in check(plan, replace(seen, brokers=racks), asked)}


def test_a_successor_passed_over_is_refused() -> None:
    seen = snapshot({1: "a", 2: "b", 3: "a", 4: "a"}, [partition("t", 0, (1, 2))])
    free = request(seen, outgoing=(1,), targets=(3, 4))
    plan = solve(free)
    assert isinstance(plan, DrainPlan)
    assert plan.moves[0].after == (3, 2)
    bound = request(seen, outgoing=(1,), targets=(3, 4), successors={1: 4})
    assert [v.kind for v in check(plan, seen, bound)] == ["target"]
