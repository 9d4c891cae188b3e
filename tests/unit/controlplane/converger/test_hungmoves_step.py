"""Hung moves in a tick: whose they are, what is recorded, and what survives another server."""

from datetime import timedelta
from typing import Any

from controlplane.converger.hungconditions import elections_fail, reassignment_hung, strangers_told
from controlplane.converger.hungmoves import hung_step, strangers_moves
from controlplane.converger.movewatch import Elections, MoveWatch
from controlplane.converger.pacing import paced
from controlplane.converger.upkeep import upkeep_step
from controlplane.converger.verdict import CancelMoves, ClearThrottles, Situation
from controlplane.kafka.throttle import ThrottlePlan
from controlplane.latest import MemoryLatestStore
from controlplane.replacement import Phase
from controlplane.view import MovesView
from events import facts
from events.ids import ClusterUid
from planner.observed import PartitionSeen, ThrottlesSeen
from planner.pulse import Pulse, felt
from tests.builders import (
    BEFORE,
    NOW,
    a_document,
    a_drain,
    a_move,
    a_partition,
    a_plan,
    a_situation,
    a_snapshot,
    a_view,
    an_instance,
)
from tests.fakes.kafka import FakeKafka

LONG_AGO = NOW - timedelta(seconds=400)
ALL = (1000, 1001, 1002, 1010)
HEIR = an_instance("brokers-a-0", 2, service_id=1010)
MOVE = a_move("orders-0")


def moving(**about: Any) -> PartitionSeen:
    values: dict[str, Any] = {
        "isr": (1000, 1001, 1002),
        "adding": (1010,),
        "removing": (1000,),
        "leader": 1001,
        "arrived_bytes": (500,),
        "leader_bytes": 1000,
    }
    return a_partition("orders-0", (*MOVE.after, 1000), **{**values, **about})


def still(partition: PartitionSeen) -> dict[Any, Pulse]:
    return {partition.name: felt(None, partition, LONG_AGO)}


def situation(partition: PartitionSeen, *, view: Any = None, drain: bool = True, **about: Any) -> Situation:
    own = {"drain": a_drain()} if drain else {}
    seen = {"kafka": a_snapshot(partition, **{"brokers": ALL, **about}), "pulses": still(partition)}
    plan = {"plan": a_plan([MOVE]), "plan_sha256": "sha"} if drain else {}
    return a_situation(a_view(HEIR, **{**own, **(view or {})}), **seen, **plan)


def test_a_move_whose_target_is_dead_is_to_be_taken_back() -> None:
    verdict = hung_step(situation(moving(), brokers=(1000, 1001, 1002), fenced=(1010,)))
    assert verdict is not None
    (cure,) = verdict.events
    assert isinstance(cure, facts.MoveCureRequested)
    assert (cure.cure, cure.diagnosis, cure.partitions) == ("take_back", "TargetDead", ("orders-0",))


TAKEN = {"moves": MovesView(cured="drain-1", taking_back=("orders-0",), diagnosis="TargetDead", why="it is dead")}


def test_what_is_to_be_taken_back_is_cancelled_and_then_its_target_replaced() -> None:
    dead = {"brokers": (1000, 1001, 1002), "fenced": (1010,)}
    running = hung_step(situation(moving(), view=TAKEN, **dead))
    assert running is not None
    assert running.effects == (CancelMoves((MOVE.name,)),)
    back = a_partition("orders-0", isr=(1000, 1001, 1002))
    over = hung_step(situation(back, view=TAKEN, **dead))
    assert over is not None
    assert [type(e) for e in over.events] == [facts.DrainAbandoned, facts.NodeReplaceRequested]


def test_what_is_below_min_isr_without_the_new_replica_is_never_cancelled() -> None:
    verdict = hung_step(situation(moving(isr=(1001,)), view=TAKEN, brokers=(1000, 1001, 1002), fenced=(1010,)))
    assert verdict is not None
    assert (verdict.effects, verdict.wait and verdict.wait.reason) == ((), "ReassignmentStuck")


def test_a_controller_that_is_stuck_is_restarted_under_the_gate_of_the_quorum() -> None:
    verdict = hung_step(situation(moving(isr=ALL)))
    assert verdict is not None
    cure, restart = verdict.events
    assert isinstance(cure, facts.MoveCureRequested)
    assert isinstance(restart, facts.RestartRequested)
    assert (cure.cure, cure.key, restart.key) == ("restart_controller", "controllers-a-0.g1", "controllers-a-0.g1")


def test_no_controller_is_restarted_while_a_vm_comes_or_goes() -> None:
    arriving = an_instance("controllers-b-0", 2, Phase.LAUNCHED)
    view = {"instances": {**a_view(HEIR).instances, arriving.key: arriving}}
    assert hung_step(situation(moving(isr=ALL), view=view)) is None


def test_no_controller_is_restarted_while_the_cluster_is_paused() -> None:
    assert hung_step(situation(moving(isr=ALL), view={"paused": "lunch"})) is None


def test_moves_of_others_are_never_cured_but_told_after_ten_minutes() -> None:
    young = situation(moving(), drain=False)
    assert hung_step(young) is None
    assert [s.partition.name for s in strangers_moves(young)] == [MOVE.name]
    told = strangers_told(young)
    assert told is not None
    assert not told.status
    old = a_situation(
        young.view,
        kafka=a_snapshot(moving(), brokers=ALL),
        pulses={MOVE.name: felt(None, moving(), NOW - timedelta(seconds=601))},
    )
    told = strangers_told(old)
    assert told is not None
    assert told.status
    assert "orders-0 to [1010, 1001, 1002] for 10 min" in told.message


def test_an_adopted_move_is_not_told() -> None:
    known = situation(moving(), drain=False, view={"moves": MovesView(adopted={"orders-0": "asked by anna"})})
    told = strangers_told(known)
    assert told is not None
    assert not told.status


def test_what_a_person_wants_cancelled_is_cancelled_and_forgotten_once_it_has_ended() -> None:
    asked = {"moves": MovesView(cancelling={"orders-0": "asked by anna"})}
    running = hung_step(situation(moving(), drain=False, view=asked))
    assert running is not None
    assert running.effects == (CancelMoves((MOVE.name,)),)
    over = hung_step(situation(a_partition("orders-0"), drain=False, view=asked))
    assert over is not None
    assert over.events == (facts.MovesSettled(("orders-0",)),)


def test_the_condition_says_why_and_what_next() -> None:
    found = reassignment_hung(situation(moving(), brokers=(1000, 1001, 1002), fenced=(1010,)))
    assert found is not None
    assert (found.status, found.reason) == (True, "TargetDead")
    assert found.message.endswith("Next: kedge moves orders")


def test_a_raised_throttle_stands_whatever_the_plan_promised() -> None:
    raised = MovesView(cured="drain-1", follower_rates={1010: 9_000_000})
    here = situation(moving(), view={"moves": raised})
    kafka = here.seen.kafka
    assert kafka is not None
    throttle = paced(here, a_plan([MOVE]), kafka, (MOVE,), ()).throttle
    assert throttle.follower_bytes_per_s[1010] == 9_000_000
    assert throttle.leader_bytes_per_s[1001] < 9_000_000


def test_a_raised_throttle_is_of_its_drain_alone() -> None:
    raised = MovesView(cured="drain-0", follower_rates={1010: 9_000_000})
    here = situation(moving(), view={"moves": raised})
    kafka = here.seen.kafka
    assert kafka is not None
    assert paced(here, a_plan([MOVE]), kafka, (MOVE,), ()).throttle.follower_bytes_per_s[1010] < 9_000_000


def test_another_server_knows_how_long_a_move_has_stood_still() -> None:
    latest, uid = MemoryLatestStore(), ClusterUid("c0ffee")
    first, partition = MoveWatch(latest), moving()
    first.see(uid, a_snapshot(partition, at=LONG_AGO), leaders_away=False)
    other = MoveWatch(latest).see(uid, a_snapshot(partition), leaders_away=False)
    assert other.pulses[partition.name].grew_at == LONG_AGO


def test_a_cluster_at_rest_writes_nothing_down() -> None:
    latest, uid = MemoryLatestStore(), ClusterUid("c0ffee")
    MoveWatch(latest).see(uid, a_snapshot(a_partition()), leaders_away=False)
    assert latest.of_cluster(uid) == []


def test_elections_are_counted_until_every_leader_is_home() -> None:
    latest, uid = MemoryLatestStore(), ClusterUid("c0ffee")
    watch = MoveWatch(latest)
    watch.asked(uid, BEFORE)
    watch.asked(uid, NOW)
    assert MoveWatch(latest).known(uid).elections == Elections(2, BEFORE, NOW)
    assert watch.see(uid, a_snapshot(at=NOW + timedelta(seconds=1)), leaders_away=False).elections == Elections()


AWAY = a_partition(leader=1001)


def test_an_election_in_vain_is_asked_for_again_only_after_a_while() -> None:
    view = a_view()

    def asked(times: int, ago_s: float) -> bool:
        elections = Elections(times, LONG_AGO, NOW - timedelta(seconds=ago_s))
        return upkeep_step(a_situation(view, kafka=a_snapshot(AWAY), elections=elections)) is not None

    assert [asked(1, 0), asked(4, 7), asked(4, 9), asked(20, 299), asked(20, 300)] == [True, False, True, False, True]


def test_elections_in_vain_are_told_with_their_number() -> None:
    seen = {"kafka": a_snapshot(AWAY), "elections": Elections(5, LONG_AGO, NOW)}
    told = elections_fail(a_situation(a_view(), **seen))
    assert told is not None
    assert told.status
    assert "asked 5 times. orders-0 is led by 1001 instead of 1000" in told.message
    patient = a_view(document=a_document(healing="hungAfter: 1h"))
    early = elections_fail(a_situation(patient, **seen))
    assert early is not None
    assert not early.status


def test_a_topic_list_left_over_is_cleared_though_no_rate_is_set() -> None:
    verdict = upkeep_step(
        a_situation(a_view(), kafka=a_snapshot(a_partition(), throttles=ThrottlesSeen(topics=frozenset({"orders"}))))
    )
    assert verdict is not None
    assert verdict.effects == (ClearThrottles(),)


def test_a_rate_left_on_a_dead_broker_is_found_and_cleared_once_it_is_back() -> None:
    kafka = FakeKafka()
    kafka.add_controller(100)
    for broker, rack in ((1, "a"), (2, "b")):
        kafka.add_broker(broker, rack)
    kafka.set_throttle(ThrottlePlan({1: 1000}, {2: 1000}, {}))
    kafka.stop_broker(2)
    kafka.clear_throttles()
    assert not kafka.snapshot().throttles.any
    kafka.start_broker(2)
    assert kafka.snapshot().throttles.follower_rate == {2: 1000}
    kafka.clear_throttles()
    assert not kafka.snapshot().throttles.any
