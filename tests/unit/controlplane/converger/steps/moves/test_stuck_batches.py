"""Hung moves of rebalances and of batches of replicas: cured as those of a drain are, each batch by itself."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.cluster.fold import evolve
from controlplane.cluster.views.plans import PlanningView, PlanView, ProgressView
from controlplane.cluster.views.rebalances import RebalanceTerms, RebalanceView
from controlplane.cluster.views.stuck_moves import StuckMovesView
from controlplane.cluster.views.topics import ReplicationView, TopicsView
from controlplane.converger.conditions.stuck_moves import reassignment_hung
from controlplane.converger.questions.moves.batches import batches_in_hand
from controlplane.converger.questions.moves.blocked_moves import in_the_way_of_drain
from controlplane.converger.questions.moves.pacing import paced
from controlplane.converger.situation.effects import CancelMoves, SetThrottle
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.moves.rebalances import rebalance_in_hand_step
from controlplane.converger.steps.moves.replication import replication_in_hand_step
from controlplane.converger.steps.moves.stuck_moves import stuck_moves_repair_step, stuck_moves_step
from events import facts, topic_facts
from events.codec import encode
from events.envelope import Recorded
from planner.observed import PartitionSeen, ThrottlesSeen, TopicPartition
from planner.pulse import felt
from planner.rebalancing.plan import RebalancePlan
from tests.builders import (
    BEFORE,
    NOW,
    a_drain,
    a_move,
    a_partition,
    a_plan,
    a_situation,
    a_snapshot,
    a_view,
    an_instance,
)

MIB = 1024 * 1024
LONG_AGO = BEFORE.replace(hour=10)
NEW = an_instance("brokers-a-1", service_id=1003)
ALL = (1000, 1001, 1002, 1003)
SPREAD = a_move("orders-0", after=(1003, 1001, 1002))
REBALANCE = RebalanceView(
    "rebalance-1",
    "policy",
    "uneven",
    BEFORE,
    planning=PlanningView(tries=2),
    plan=PlanView("sha"),
    progress=ProgressView(batch=0),
)
AFTER = (1003, 1001, 1002)
OF_TOPICS = topic_facts.ReplicaMove("orders", 0, (1000, 1001, 1002), AFTER)


def moving(isr: tuple[int, ...] = (1000, 1001, 1002), **about: Any) -> PartitionSeen:
    values = {"leader": 1001, "arrived_bytes": (500,), "leader_bytes": 1000, **about}
    return a_partition("orders-0", (*AFTER, 1000), isr=isr, adding=(1003,), removing=(1000,), **values)


BACK = a_partition("orders-0", isr=(1000, 1001, 1002))


def rebalancing(partition: PartitionSeen, *, moves: StuckMovesView | None = None, **about: Any) -> Situation:
    """A rebalance whose one move has stood still for long."""
    own = {"rebalance": about.pop("rebalance", REBALANCE), "stuck": moves or StuckMovesView(), **about.pop("view", {})}
    plan = RebalancePlan(a_plan([SPREAD]), (), 0, {"disk": 50.0}, {"disk": 5.0})
    seen = {"kafka": a_snapshot(partition, **{"brokers": ALL, **about}), "pulses": _still(partition)}
    return a_situation(a_view(NEW, **own), **seen, rebalance_plan=plan, rebalance_sha256="sha")


def replicating(
    partition: PartitionSeen,
    *,
    cause: str = "zones",
    move: topic_facts.ReplicaMove = OF_TOPICS,
    moves: StuckMovesView | None = None,
    **about: Any,
) -> Situation:
    """A batch of replicas whose one move has stood still for long."""
    batch = ReplicationView("batch-1", (move,), BEFORE, cause)
    view = a_view(NEW, topics=TopicsView(replication=batch), stuck=moves or StuckMovesView(), **about.pop("view", {}))
    seen = {"kafka": a_snapshot(partition, **{"brokers": ALL, **about}), "pulses": _still(partition)}
    return a_situation(view, **seen)


def _still(partition: PartitionSeen) -> dict[Any, Any]:
    return {partition.name: felt(None, partition, LONG_AGO)} if partition.is_moving else {}


def taking_back(batch: str, tries: int, diagnosis: str = "NoProgress") -> StuckMovesView:
    return StuckMovesView(
        cured=batch,
        tries=tries,
        cured_at=LONG_AGO,
        taking_back=("orders-0",),
        brokers=(1003,),
        diagnosis=diagnosis,
        why="it hangs",
    )


def cure_in(here: Situation) -> facts.MoveCureRequested:
    decision = stuck_moves_step(here)
    assert decision is not None
    cure = decision.events[0]
    assert isinstance(cure, facts.MoveCureRequested)
    return cure


def folded(here: Situation, event: object) -> StuckMovesView:
    new = encode(event, "e")
    recorded = Recorded(1, "cluster-c0ffee", 21, "e", new.type, new.schema, new.data, "converger", None, None, 1, NOW)
    after = evolve(here.view, recorded)
    assert not after.history.unreadable
    return after.moves.stuck


def test_a_move_of_a_rebalance_that_hangs_is_taken_back_and_the_rest_planned_anew() -> None:
    here = rebalancing(moving())
    cure = cure_in(here)
    assert (cure.cure, cure.diagnosis, cure.drain, cure.batch) == ("take_back", "NoProgress", "", "rebalance-1")
    known = folded(here, cure)
    assert (known.cured, known.tries, known.taking_back) == ("rebalance-1", 2, ("orders-0",))
    running = stuck_moves_step(rebalancing(moving(), moves=known))
    assert running is not None
    assert running.effects == (CancelMoves((SPREAD.name,)),)
    over = stuck_moves_step(rebalancing(BACK, moves=known))
    assert over is not None
    (postponed,) = over.events
    assert isinstance(postponed, facts.RebalancePutOff)
    assert postponed.reason.startswith("1 moves hung: orders-0: nothing has come for")
    assert (
        stuck_moves_step(rebalancing(BACK, moves=known, rebalance=replace(REBALANCE, planning=PlanningView(tries=3))))
        is None
    )


def test_a_target_of_a_rebalance_that_is_dead_gets_a_new_vm_like_one_of_a_drain() -> None:
    dead = {"brokers": (1000, 1001, 1002), "fenced": (1003,)}
    cure = cure_in(rebalancing(moving(), **dead))
    assert (cure.diagnosis, cure.brokers) == ("TargetDead", (1003,))
    over = stuck_moves_step(rebalancing(BACK, moves=taking_back("rebalance-1", 2, "TargetDead"), **dead))
    assert over is not None
    assert [type(e) for e in over.events] == [
        facts.RebalancePutOff,
        facts.HealingRequested,
        facts.NodeReplaceRequested,
    ]


def test_what_of_a_rebalance_was_taken_back_does_not_begin_again_while_the_rest_may_not_be() -> None:
    """Below min ISR without the new replica: it is waited for, and what mends the brokers goes on."""
    stuck = rebalancing(moving(isr=(1001,)), moves=taking_back("rebalance-1", 2))
    assert stuck_moves_step(stuck) is None
    waits = rebalancing(BACK, moves=taking_back("rebalance-1", 2))
    assert rebalance_in_hand_step(waits) is None
    assert rebalance_in_hand_step(rebalancing(BACK)) is not None


def test_a_rebalance_that_a_person_cancelled_is_not_planned_anew() -> None:
    cancelled = replace(REBALANCE, cancelled="asked by anna")
    assert stuck_moves_step(rebalancing(BACK, moves=taking_back("rebalance-1", 2), rebalance=cancelled)) is None


def test_a_cure_is_of_the_batch_whose_moves_hang_though_a_drain_is_in_hand_too() -> None:
    drain = {"drain": a_drain(outgoing=(1002,), keys=("brokers-c-0.g1",), successors={}, targets=(1000, 1001))}
    cure = cure_in(rebalancing(moving(), view=drain))
    assert (cure.drain, cure.batch) == ("", "rebalance-1"), "the drain is not planned anew for moves that are not its"


def test_a_throttle_that_a_rebalance_hangs_on_is_raised_and_stays_so_for_it() -> None:
    slow = ThrottlesSeen({1001: 1000}, {1003: 1000}, frozenset({"orders"}))
    here = rebalancing(moving(), throttles=slow)
    cure = cure_in(here)
    assert (cure.cure, cure.follower_rates) == ("raise_throttle", {"1003": MIB})
    raised = replace(folded(here, cure), follower_rates={1003: 9_000_000})
    for_it = rebalancing(moving(), moves=raised)
    assert for_it.seen.kafka is not None
    of_it = paced(for_it, a_plan([SPREAD]), for_it.seen.kafka, (SPREAD,), (), batch="rebalance-1")
    assert of_it.throttle.follower_bytes_per_s[1003] == 9_000_000
    of_another = paced(for_it, a_plan([SPREAD]), for_it.seen.kafka, (SPREAD,), (), batch="rebalance-2")
    assert of_another.throttle.follower_bytes_per_s[1003] < 9_000_000


def test_no_throttle_is_raised_above_what_a_person_asked_for_with_the_rebalance() -> None:
    slow = ThrottlesSeen({1001: 1000}, {1003: 1000}, frozenset({"orders"}))
    asked = replace(REBALANCE, terms=RebalanceTerms(throttle_mib_per_s=1))
    assert cure_in(rebalancing(moving(), throttles=slow, rebalance=asked)).follower_rates == {"1003": MIB}
    at_it = ThrottlesSeen({1001: MIB}, {1003: MIB}, frozenset({"orders"}))
    at_its_cap = rebalancing(moving(), throttles=at_it, rebalance=asked)
    written = replace(at_its_cap.seen.traffic, write_bytes_per_s={SPREAD.name: 2.0 * MIB}, at=NOW)
    at_its_cap = replace(at_its_cap, seen=replace(at_its_cap.seen, traffic=written))
    assert stuck_moves_step(at_its_cap) is None
    told = reassignment_hung(at_its_cap)
    assert told is not None
    assert "the throttle is at its ceiling" in told.message


def test_a_rebalance_gets_another_controller_where_none_ends_its_moves() -> None:
    decision = stuck_moves_step(rebalancing(moving(isr=ALL)))
    assert decision is not None
    cure, restart = decision.events
    assert isinstance(cure, facts.MoveCureRequested)
    assert (cure.cure, cure.batch) == ("restart_controller", "rebalance-1")
    assert isinstance(restart, facts.RestartRequested)


@pytest.mark.parametrize("cause", ["topics", "zones"])
def test_a_batch_of_replicas_that_hangs_is_taken_back_and_ends(cause: str) -> None:
    here = replicating(moving(), cause=cause)
    cure = cure_in(here)
    assert (cure.cure, cure.batch) == ("take_back", "batch-1")
    known = folded(here, cure)
    running = stuck_moves_step(replicating(moving(), cause=cause, moves=known))
    assert running is not None
    assert running.effects == (CancelMoves((SPREAD.name,)),)
    over = stuck_moves_step(replicating(BACK, cause=cause, moves=known))
    assert over is not None
    (ended,) = over.events
    assert isinstance(ended, topic_facts.ReplicationEnded)
    assert (ended.batch, ended.done) == ("batch-1", 0)


def test_replicas_made_anew_are_cured_where_they_go_before_drains() -> None:
    assert stuck_moves_repair_step(replicating(moving(), cause="zones")) is None
    decision = stuck_moves_repair_step(replicating(moving(), cause="gone"))
    assert decision is not None
    assert isinstance(decision.events[0], facts.MoveCureRequested)


def test_a_topic_that_gets_more_replicas_goes_back_to_the_few_it_had() -> None:
    more = topic_facts.ReplicaMove("orders", 0, (1001,), (1001, 1003))
    grows = a_partition(
        "orders-0", (1001, 1003), isr=(1001,), adding=(1003,), leader=1001, arrived_bytes=(500,), leader_bytes=1000
    )
    (batch,) = batches_in_hand(replicating(grows, move=more), a_snapshot(grows, brokers=ALL))
    assert batch.may_take_back(grows)
    assert cure_in(replicating(grows, move=more, cause="topics")).cure == "take_back"


def test_a_throttle_that_a_batch_of_replicas_hangs_on_stays_raised_for_it() -> None:
    raised = StuckMovesView(cured="batch-1", follower_rates={1003: 10**12})
    followed = replication_in_hand_step(replicating(moving(), moves=raised))
    assert followed is not None
    (throttle,) = followed.effects
    assert isinstance(throttle, SetThrottle)
    assert throttle.plan.follower_bytes_per_s == {1003: 10**12}


def test_what_a_move_belongs_to_is_known() -> None:
    here = rebalancing(moving())
    assert here.seen.kafka is not None
    assert [(b.of, [p.name for p in b.running]) for b in batches_in_hand(here, here.seen.kafka)] == [
        ("rebalance", [TopicPartition("orders", 0)])
    ]


def test_what_is_below_waits_for_no_batch_whose_source_does_not_serve() -> None:
    """Nobody cured the broker that had the only copy: its cure is below the batch that waited for it."""
    lost = moving(isr=(), leader=-1)
    for step, here in ((rebalance_in_hand_step, rebalancing), (replication_in_hand_step, replicating)):
        assert step(here(lost)) is None
        assert step(here(moving())) is not None


@pytest.mark.parametrize(
    ("partition", "outgoing", "gives_way"),
    [
        (moving(), 1003, False),
        (moving(), 1000, False),
        (a_partition("orders-0", AFTER[:2], isr=(1001,), adding=(1003,), leader=1001, min_isr=1), 1003, True),
        (a_partition("orders-0", (1003, 1001), isr=(), adding=(1003,), removing=(1001,), leader=-1), 1001, True),
        (a_partition("orders-0", (1003, 1001, 1002), isr=(), adding=(1003,), leader=-1), 1001, False),
    ],
    ids=["it serves", "it serves as well", "goes to it", "it alone has a copy", "another one may have a copy"],
)
def test_a_rebalance_gives_way_to_a_drain_of_a_broker_that_does_not_serve(
    partition: PartitionSeen, outgoing: int, gives_way: bool
) -> None:
    """The drain called it somebody else's, and waited until the move was found to hang."""
    serves = [b for b in ALL if b != outgoing or partition == moving()]
    here = rebalancing(partition, brokers=serves, fenced=[b for b in ALL if b not in serves])
    plan = RebalancePlan(a_plan([a_move("orders-0", after=partition.target)]), (), 0, {"disk": 50.0}, {"disk": 5.0})
    here = replace(here, seen=replace(here.seen, plans=replace(here.seen.plans, rebalance=plan)))
    assert here.seen.kafka is not None
    back, running = in_the_way_of_drain(here, here.seen.kafka, [outgoing])
    assert running == {partition.name}
    assert (back == (partition.name,)) is gives_way


def test_no_move_is_taken_back_from_a_target_that_may_have_the_only_copy() -> None:
    """It is down as well: whether it had got its copy nobody knows."""
    partition = a_partition("orders-0", (1003, 1001), isr=(), adding=(1003,), removing=(1001,), leader=-1)
    down = [1001, 1003]
    here = rebalancing(partition, brokers=[b for b in ALL if b not in down], fenced=down)
    plan = RebalancePlan(a_plan([a_move("orders-0", after=partition.target)]), (), 0, {"disk": 50.0}, {"disk": 5.0})
    here = replace(here, seen=replace(here.seen, plans=replace(here.seen.plans, rebalance=plan)))
    assert here.seen.kafka is not None
    assert in_the_way_of_drain(here, here.seen.kafka, [1001])[0] == ()
