"""Replicas moved to where they should be: when a batch begins, when not, and what people are told."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.background.anomalies.evidence import SeenCluster, evidence
from controlplane.background.anomalies.status import ZONES, Stance
from controlplane.cluster.folds.topics import RULES
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.evacuations import EvacuationView
from controlplane.cluster.views.healing import SwitchView
from controlplane.cluster.views.rebalances import BatchSpent
from controlplane.cluster.views.topics import TopicsView
from controlplane.converger.conditions.changes import condition_changes
from controlplane.converger.conditions.placement import misplaced_condition
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.moves.placement_work import names_unknown_brokers, placement_of
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.effects import ElectPreferred, Reassign, SetThrottle
from controlplane.converger.situation.observation import Observation
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.housekeeping import housekeeping_step
from controlplane.converger.steps.moves.placements import placement_step
from events.spec.document import load_documents
from events.topic_facts import ReplicationEnded, ReplicationRequested, TopicDeclaration, TopicsDeclared
from planner.anomalies.kinds import Kind, State
from planner.observed import KafkaSnapshot, LogDirsSeen, PartitionSeen
from planner.pulse import MovePulse
from tests.builders import NOW, a_document, a_partition, a_situation, a_snapshot, a_spec, a_view, an_instance
from tests.changed_view import changed_view
from tests.external_clusters import an_external_spec

CORRECT = "placement: {correct: true}"
TOGETHER = (1000, 1003, 1001)
"""Brokers 1000 and 1003 are both in zone a."""
GIB = 1024**3


def a_cluster(balance: str = CORRECT, **overrides: Any) -> ClusterView:
    """Six brokers in three zones."""
    more = [an_instance(f"brokers-{zone}-1") for zone in "abc"]
    return a_view(*more, document=a_document(brokers=6, balance=balance), **overrides)


def a_look(*parts: PartitionSeen, brokers: tuple[int, ...] = tuple(range(1000, 1006)), **more: Any) -> KafkaSnapshot:
    zones = {b: "abc"[(b - 1000) % 3] for b in range(1000, 1006)}
    kafka = a_snapshot(*parts, brokers=brokers, **more)
    racks = {b: replace(seen, rack=zones[b]) for b, seen in kafka.brokers.items() if b in zones}
    room = {b: LogDirsSeen(0, 0, 1000 * GIB, 1000 * GIB) for b in kafka.log_dirs}
    return replace(kafka, brokers=racks, log_dirs=room)


def situation(view: ClusterView, kafka: KafkaSnapshot, **seen: Any) -> Situation:
    return a_situation(view, kafka=kafka, placement=placement_of(view, kafka), **seen)


def begun(decision: Decision | None) -> ReplicationRequested:
    assert decision is not None
    (request,) = decision.events
    assert isinstance(request, ReplicationRequested)
    return request


def after(view: ClusterView, *happened: object) -> ClusterView:
    for fact in happened:
        view = RULES[type(fact)](view, fact, NOW)
    return view


def test_a_batch_is_recorded_then_handed_over_under_throttles_then_ended() -> None:
    view, kafka = a_cluster(), a_look(a_partition("orders-0", TOGETHER), a_partition("orders-1"))
    asked = begun(decide(situation(view, kafka)))
    assert (asked.cause, asked.bytes, len(asked.moves)) == ("zones", 1000, 1)
    assert asked.moves[0].after == (1000, 1005, 1001), "of zone c, who holds nothing yet"
    assert "orders-0 has 2 of 3 replicas [1000, 1003, 1001] in zone a" in asked.reason
    moving = after(view, asked)
    decision = decide(a_situation(moving, kafka=kafka))
    throttle, move = decision.effects
    assert isinstance(throttle, SetThrottle)
    assert isinstance(move, Reassign)
    assert list(move.targets.values()) == [(1000, 1005, 1001)]
    there = a_look(a_partition("orders-0", (1000, 1005, 1001)), a_partition("orders-1"))
    (ended,) = decide(a_situation(moving, kafka=there)).events
    assert isinstance(ended, ReplicationEnded)
    assert ended.done == 1
    rest = after(moving, ended)
    assert placement_step(situation(rest, there)) is None


def test_the_same_look_gives_the_same_batch_after_a_crash() -> None:
    view, kafka = a_cluster(), a_look(*(a_partition(f"orders-{n}", TOGETHER) for n in range(30)))
    assert begun(decide(situation(view, kafka))) == begun(decide(situation(view, kafka)))


def test_nothing_begins_where_nobody_asked_and_it_is_told_with_a_way_out() -> None:
    view, kafka = a_cluster(""), a_look(a_partition("orders-0", TOGETHER))
    at = situation(view, kafka)
    assert placement_step(at) is None
    told = misplaced_condition(at)
    assert told is not None
    assert (told.status, told.reason) == (True, "SharedZone")
    assert "balance.placement.correct` is false" in told.message
    assert told.message.endswith("Next: kedge rebalance orders")


def test_all_in_place_says_nothing_and_asks_nothing() -> None:
    view, kafka = a_cluster(), a_look(a_partition("orders-0"))
    at = situation(view, kafka)
    assert at.seen.placement is not None
    assert not at.seen.placement.found
    assert placement_step(at) is None
    assert not [c for c in condition_changes(at, Decision("at rest")) if c.type == "Misplaced"]


@pytest.mark.parametrize(
    ("part", "brokers", "words"),
    [
        (a_partition("late-0", (1000, 1001, 1002), isr=(1000, 1001)), range(1000, 1006), "out of sync"),
        (a_partition("late-0", (1000, 1001, 1002)), range(1000, 1005), "a broker is down"),
        (a_partition("late-0", (1000, 1001, 1002, 1005), adding=(1005,)), range(1000, 1006), "somebody moves"),
    ],
)
def test_nothing_begins_while_the_cluster_is_not_whole(part: PartitionSeen, brokers: range, words: str) -> None:
    at = situation(a_cluster(), a_look(a_partition("orders-0", TOGETHER), part, brokers=tuple(brokers)))
    assert placement_step(at) is None
    told = misplaced_condition(at)
    assert told is not None
    assert words in told.message


def test_a_batch_that_has_not_begun_is_put_off_when_a_replica_falls_behind() -> None:
    view, kafka = a_cluster(), a_look(a_partition("orders-0", TOGETHER))
    moving = after(view, begun(decide(situation(view, kafka))))
    late = a_look(a_partition("orders-0", TOGETHER), a_partition("late-0", isr=(1000, 1001)))
    (ended,) = decide(a_situation(moving, kafka=late)).events
    assert isinstance(ended, ReplicationEnded)
    assert ended.done == 0


def test_a_rebalance_in_hand_mends_zones_itself() -> None:
    view = a_cluster()
    busy = changed_view(view, rebalance=object())
    assert placement_step(situation(busy, a_look(a_partition("orders-0", TOGETHER)))) is None


def test_what_a_person_switched_off_is_not_done_and_the_condition_says_so() -> None:
    off = SwitchView(on=False, until=None, reason="load test", at=NOW)
    at = situation(a_cluster(switches={"goal-violation": off}), a_look(a_partition("orders-0", TOGETHER)))
    assert placement_step(at) is None
    told = misplaced_condition(at)
    assert told is not None
    assert "healing of goal-violation is off: load test" in told.message


@pytest.mark.parametrize(("start", "is_open"), [("11:30", True), ("03:00", False)])
def test_a_schedule_says_when_it_begins(start: str, is_open: bool) -> None:
    windows = f"placement: {{correct: true, windows: [{{start: '{start}', duration: 1h}}]}}"
    at = situation(a_cluster(windows), a_look(a_partition("orders-0", TOGETHER)))
    assert (placement_step(at) is not None) is is_open
    told = misplaced_condition(at)
    assert told is not None
    assert ("its window opens at 2026-01-02 03:00 UTC" in told.message) is not is_open


def test_the_windows_of_rolls_hold_it_up_but_not_what_replaces_lost_replicas() -> None:
    document = a_document(brokers=6, balance=CORRECT, windows=", windows: [{start: '03:00', duration: 1h}]")
    view = replace(a_cluster(), document=document)
    shared = decide(situation(view, a_look(a_partition("orders-0", TOGETHER))))
    assert not [e for e in shared.events if isinstance(e, ReplicationRequested)]
    assert shared.wait is not None
    lost = a_partition("orders-1", (1000, 9, 1002), isr=(1000, 1002))
    repair = begun(decide(situation(view, a_look(a_partition("orders-0", TOGETHER), lost))))
    assert (repair.cause, repair.bytes) == ("gone", 0)
    assert repair.moves[0].after == (1000, 1004, 1002)


def test_the_budget_of_a_day_holds_for_it_and_for_rebalances_together() -> None:
    spec, size = f"perDayGib: 3, {CORRECT}", GIB
    parts = [a_partition(f"orders-{n}", TOGETHER, size_bytes=size) for n in range(5)]
    fresh = a_cluster(spec)
    assert len(begun(placement_step(situation(fresh, a_look(*parts)))).moves) == 3
    spent = changed_view(fresh, rebalance_spent=(BatchSpent(NOW - timedelta(hours=3), 2 * GIB),))
    one = begun(placement_step(situation(spent, a_look(*parts))))
    assert len(one.moves) == 1
    full = after(spent, one, ReplicationEnded(one.batch, 1, "1 of 1 moves done"))
    at = situation(full, a_look(*parts))
    assert placement_step(at) is None
    told = misplaced_condition(at)
    assert told is not None
    assert "the day's 3.0 GiB (`balance.perDayGib`) are begun" in told.message


def test_replicas_on_a_broker_nobody_has_are_made_anew_without_being_asked() -> None:
    lost = a_partition("orders-1", (1000, 9, 1002), isr=(1000, 1002))
    repair = begun(decide(situation(a_cluster(""), a_look(lost))))
    assert (repair.cause, repair.moves[0].after) == ("gone", (1000, 1001, 1002))


def _on_nobodys(broker: int, *names: str) -> list[PartitionSeen]:
    return [a_partition(name, (broker, 1001, 1002), isr=(1001, 1002), leader=1001) for name in names]


UNHEALED = {"broker-failure": SwitchView(False, None, "somebody", NOW)}


@pytest.mark.parametrize(
    ("switches", "parts", "cause"),
    [
        ({}, [*_on_nobodys(8, *(f"a-{n}" for n in range(9))), *_on_nobodys(9, "b-0")], "gone"),
        (UNHEALED, [a_partition("orders-0", TOGETHER), *_on_nobodys(9, "b-0")], "zones"),
    ],
    ids=["another such broker's replicas are next", "they are not to be made anew"],
)
def test_a_batch_that_began_beside_replicas_nobody_has_is_not_put_off_for_them(
    switches: dict[str, SwitchView], parts: list[PartitionSeen], cause: str
) -> None:
    """It was begun and ended by turns, twenty times a tick: what may begin beside them may go on beside them."""
    view, kafka = a_cluster(switches=switches), a_look(*parts)
    asked = begun(decide(situation(view, kafka)))
    assert asked.cause == cause
    handed = decide(situation(after(view, asked), kafka))
    assert [type(e) for e in handed.effects] == [SetThrottle, Reassign], handed.sentence


def test_in_a_roll_lost_replicas_are_made_anew_and_nothing_is_moved_apart() -> None:
    view = a_cluster(generation=2)
    lost = a_partition("orders-1", (1000, 9, 1002), isr=(1000, 1002))
    kafka = a_look(a_partition("orders-0", TOGETHER), lost)
    assert names_unknown_brokers(kafka)
    assert begun(decide(situation(view, kafka))).cause == "gone"
    told = misplaced_condition(situation(view, kafka))
    assert told is not None
    assert told.reason == "GoneBroker"
    rolling = situation(view, a_look(a_partition("orders-0", TOGETHER)))
    assert placement_step(rolling) is None
    assert misplaced_condition(rolling) is None


def test_a_broker_that_is_only_down_is_no_broker_nobody_has() -> None:
    down = a_partition("orders-1", (1000, 1001, 1005), isr=(1000, 1001))
    kafka = a_look(down, brokers=tuple(range(1000, 1005)))
    assert placement_of(a_cluster(), kafka).found == ()


def test_a_move_by_hand_to_a_broken_place_is_told_while_it_runs() -> None:
    moving = a_partition("orders-0", (1000, 1003, 1001, 1002), isr=(1000, 1001, 1002), adding=(1003,), removing=(1002,))
    kafka = a_look(moving)
    pulse = MovePulse(
        target=moving.target, arrived_bytes=0, in_sync=0, left_bytes=1, began=NOW, grew_at=NOW, closer_at=NOW
    )
    at = situation(a_cluster(), kafka, pulses={moving.name: pulse})
    told = misplaced_condition(at)
    assert told is not None
    assert (told.status, told.reason) == (True, "MovedByHand")
    assert "orders-0 has 2 of 3 replicas [1000, 1003, 1001] in zone a" in told.message
    assert told.message.endswith("It is waited for. Next: kedge moves orders")


def test_nothing_is_said_while_nobody_knows() -> None:
    view = a_cluster()
    assert misplaced_condition(Situation(view, Observation(), NOW)) is None
    assert misplaced_condition(a_situation(view, kafka=a_look(a_partition("orders-0", TOGETHER)))) is None


@pytest.mark.parametrize(("tier", "status"), [("critical", True), ("standard", False)])
def test_a_critical_topic_is_told_where_no_zone_can_take_its_replica_now(tier: str, status: bool) -> None:
    view = a_cluster(topics=_topics(tier))
    no_c = replace(
        view,
        requests=replace(
            view.requests,
            evacuations={key: EvacuationView("spare", NOW, NOW) for key in ("brokers-c-0.g1", "brokers-c-1.g1")},
        ),
    )
    told = misplaced_condition(situation(no_c, a_look(a_partition("orders-0", TOGETHER))))
    assert told is not None
    assert told.status is status
    if status:
        assert "None of them can be moved now. orders-0: no broker of a zone without a replica" in told.message


def _topics(tier: str) -> TopicsView:
    one = TopicDeclaration("orders", 1, 3, {}, tier, "", "retain", "tell", {})
    return replace(after(a_view(), TopicsDeclared((one,), "api", "t.yaml", "")).topics, pending=frozenset())


@pytest.mark.parametrize(
    ("balance", "asked"), [("", True), ("preferredLeaders: leave", False), ("preferredLeaders: restore", True)]
)
def test_leaders_come_home_unless_the_spec_leaves_them(balance: str, asked: bool) -> None:
    away = a_look(a_partition("orders-0", (1000, 1001, 1002), leader=1001))
    decision = housekeeping_step(a_situation(a_cluster(balance), kafka=away))
    assert (decision is not None) is asked
    if decision is not None:
        assert [type(e) for e in decision.effects] == [ElectPreferred]


def test_where_leaders_are_left_they_still_come_home_at_the_end_of_our_own_work() -> None:
    away = a_look(a_partition("orders-0", (1000, 1001, 1002), leader=1001))
    busy = a_cluster("preferredLeaders: leave", converged=0)
    assert housekeeping_step(a_situation(busy, kafka=away)) is not None


def test_a_window_nothing_can_begin_in_is_refused_with_its_place() -> None:
    short = "placement: {windows: [{start: '03:00', duration: 5m}]}"
    problems = load_documents(a_spec(balance=short), file="orders.yaml").problems
    assert ["window is open for 300 s" in p.message for p in problems] == [True]


def test_moving_apart_is_not_offered_where_others_run_a_part_of_the_cluster() -> None:
    text = an_external_spec(ours=3).rstrip() + "\n  balance: {placement: {correct: true}}\n"
    (problem,) = load_documents(text, file="orders.yaml").problems
    assert (problem.code, problem.line) == ("KEDGE-SPEC-080", len(text.splitlines()))
    assert problem.message.startswith("`balance.placement.correct` is not offered")


@pytest.mark.parametrize(("balance", "state"), [(CORRECT, State.HEALING), ("", State.WAITING)])
def test_the_anomaly_of_shared_zones_says_whether_they_are_mended(balance: str, state: State) -> None:
    view, kafka = a_cluster(balance), a_look(a_partition("orders-0", TOGETHER))
    (found,) = evidence(view, SeenCluster(kafka=kafka, now=NOW)).findings
    assert (found.kind, found.subject) == (Kind.GOAL_VIOLATION, ZONES)
    assert Stance(view, NOW).of(found, NOW - timedelta(hours=1)).state is state
    off = replace(
        view,
        requests=replace(
            view.requests, switches={"goal-violation": SwitchView(on=False, until=None, reason="load test", at=NOW)}
        ),
    )
    assert Stance(off, NOW).of(found, NOW - timedelta(hours=1)).state is State.WAITING
