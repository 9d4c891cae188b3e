"""Hung moves in a tick: whose they are, what is recorded, and what survives another server."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.moves import MoveWatch, TakenBack
from controlplane.cluster.views.healing import SwitchView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.stuck_moves import DeposedController, StuckMovesView
from controlplane.converger.conditions.stuck_moves import foreign_moves_condition, reassignment_hung
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.moves.pacing import paced
from controlplane.converger.questions.moves.stuck_moves import foreign_moves
from controlplane.converger.situation.effects import CancelMoves, ClearThrottles, Reassign, ReelectController
from controlplane.converger.situation.situation import Allowance, Situation
from controlplane.converger.steps.housekeeping import housekeeping_step
from controlplane.converger.steps.moves.stuck_moves import stuck_moves_step
from controlplane.converger.steps.quorum.controller_cure import STANDS
from controlplane.kafka.throttle import ThrottlePlan
from events import facts
from events.ids import ClusterUid
from planner.healing import Cure, PastCure
from planner.observed import ThrottlesSeen
from planner.pulse import felt
from tests.builders import (
    BEFORE,
    NOW,
    a_document,
    a_partition,
    a_plan,
    a_situation,
    a_snapshot,
    a_view,
    a_zookeeper_document,
    an_instance,
)
from tests.fakes.kafka import FakeKafka
from tests.fakes.latest_values import MemoryLatestStore
from tests.unit.controlplane.converger.steps.moves.stuck_moves_scene import (
    A_MIGRATION,
    ALL,
    BRAKED,
    LONG_AGO,
    MOVE,
    REIGN,
    SUCCESSOR,
    moving,
    quorum_with,
    situation,
    zookeeper_view,
)


def test_a_move_whose_target_is_dead_is_to_be_taken_back() -> None:
    decision = stuck_moves_step(situation(moving(), brokers=(1000, 1001, 1002), fenced=(1010,)))
    assert decision is not None
    (cure,) = decision.events
    assert isinstance(cure, facts.MoveCureRequested)
    assert (cure.cure, cure.diagnosis, cure.partitions) == ("take_back", "TargetDead", ("orders-0",))
    assert cure.brokers == (1010,)


CURED = StuckMovesView(
    cured="drain-1",
    cured_at=LONG_AGO,
    taking_back=("orders-0",),
    brokers=(1010,),
    diagnosis="TargetDead",
    why="it is dead",
)
TAKEN: dict[str, Any] = {"stuck": CURED}
BACK = a_partition("orders-0", isr=(1000, 1001, 1002))
DEAD = {"brokers": (1000, 1001, 1002), "fenced": (1010,)}


def test_what_is_to_be_taken_back_is_cancelled_and_then_its_target_replaced() -> None:
    running = stuck_moves_step(situation(moving(), view=TAKEN, **DEAD))
    assert running is not None
    assert running.effects == (CancelMoves((MOVE.name,)),)
    over = stuck_moves_step(situation(BACK, view=TAKEN, **DEAD))
    assert over is not None
    postponed, healing, replacing = over.events
    assert isinstance(postponed, facts.DrainAbandoned)
    assert isinstance(healing, facts.HealingRequested)
    assert (healing.key, healing.finding, healing.cure) == (SUCCESSOR.key, "target_dead", "replace")
    assert isinstance(replacing, facts.NodeReplaceRequested)
    assert replacing.key == SUCCESSOR.key


def replanned(here: Situation) -> str:
    """The reason with which the drain is planned again, and nobody replaced."""
    decision = stuck_moves_step(here)
    assert decision is not None
    (again,) = decision.events
    assert isinstance(again, facts.DrainPlanFailed)
    return again.reason


def test_whoever_was_diagnosed_is_replaced_and_nobody_that_is_down_by_chance() -> None:
    """1010 is back; 1001, another target, is started anew by its agent at this moment."""
    there = {"brokers": (1000, 1002, 1010), "fenced": (1001,)}
    assert "new VM" not in replanned(situation(BACK, view=TAKEN, **there))
    unnamed = {"stuck": replace(CURED, brokers=())}
    assert "new VM" not in replanned(situation(BACK, view=unnamed, **DEAD)), "as older events have it"


FOUR_CURES = tuple(PastCure("brokers-c-0", "deadlock", Cure.RESTART, NOW - timedelta(hours=n)) for n in (9, 8, 7, 6))


@pytest.mark.parametrize(
    ("view", "seen", "words"),
    [
        pytest.param({"cures": FOUR_CURES}, DEAD, "4 cures in a day are the most this cluster gets", id="cap"),
        pytest.param({"document": a_document(healing="replace: false")}, DEAD, "allows no replace", id="spec"),
        pytest.param(
            {"switches": {"broker-failure": SwitchView(False, None, "a test", BEFORE)}}, DEAD, "is off", id="switch"
        ),
        pytest.param({}, {"brokers": (1000, 1002), "fenced": (1001, 1010)}, "racks a, b are down at once", id="split"),
    ],
)
def test_a_dead_target_gets_a_new_vm_as_any_cure_is_given(view: Any, seen: Any, words: str) -> None:
    why = replanned(situation(BACK, view={**TAKEN, **view}, **seen))
    assert "brokers-a-0.g2 gets no new VM: " in why
    assert words in why


def test_a_dead_target_gets_no_new_vm_while_its_whole_rack_is_away() -> None:
    beside = an_instance("brokers-a-0", service_id=1000)
    view = {**TAKEN, "instances": {**a_view(beside, SUCCESSOR).instances}}
    why = replanned(situation(BACK, view=view, brokers=(1001, 1002), fenced=(1000, 1010)))
    assert "no broker of rack a serves: that may be a split" in why


def test_a_dead_target_gets_no_new_vm_once_the_fleet_has_had_its_cures_of_the_day() -> None:
    here = replace(situation(BACK, view=TAKEN, **DEAD), allowance=Allowance(cures=BRAKED))
    assert "are the most the fleet begins by itself" in replanned(here)


def test_what_is_below_min_isr_without_the_new_replica_is_never_cancelled() -> None:
    decision = stuck_moves_step(situation(moving(isr=(1001,)), view=TAKEN, brokers=(1000, 1001, 1002), fenced=(1010,)))
    assert decision is not None
    assert (decision.effects, decision.wait and decision.wait.reason) == ((), "ReassignmentStuck")


SPARE = an_instance("brokers-a-1", service_id=1003)
DEAD_SO_FAR = {"brokers": (1000, 1001, 1002, 1003), "fenced": (1010,)}


def with_spare(successor: InstanceView = SUCCESSOR, **view: Any) -> dict[str, Any]:
    """A fourth broker, which has no replica of the partition."""
    return {**TAKEN, "instances": {**a_view(successor, SPARE).instances}, **view}


def test_a_target_whose_vm_is_gone_is_the_drains_affair_though_its_moves_may_not_be_taken_back() -> None:
    lost = an_instance("brokers-a-0", 2, service_id=1010, lost_at=NOW - timedelta(seconds=900))
    here = situation(moving(isr=(1001,)), view=with_spare(lost), **DEAD_SO_FAR)
    assert stuck_moves_step(here) is None
    decision = decide(here)
    assert decision.effects == (Reassign({MOVE.name: (1003, 1001, 1002)}),)


def test_what_may_not_be_taken_back_goes_to_a_broker_that_serves_and_is_seen_through_there() -> None:
    here = situation(moving(isr=(1001,)), view=with_spare(), **DEAD_SO_FAR)
    decision = stuck_moves_step(here)
    assert decision is not None
    assert decision.effects == (Reassign({MOVE.name: (1003, 1001, 1002)}),)
    there = a_partition(
        "orders-0", (1003, 1001, 1002, 1000), isr=(1001,), adding=(1003,), removing=(1000,), leader=1001
    )
    copying = stuck_moves_step(situation(there, view=with_spare(), **DEAD_SO_FAR))
    assert copying is not None
    assert (copying.effects, copying.wait and copying.wait.reason) == ((), "DrainMoves")


def test_a_controller_that_is_stuck_is_restarted_under_the_gate_of_the_quorum() -> None:
    decision = stuck_moves_step(situation(moving(isr=ALL)))
    assert decision is not None
    cure, restart = decision.events
    assert isinstance(cure, facts.MoveCureRequested)
    assert isinstance(restart, facts.RestartRequested)
    assert (cure.cure, cure.key, restart.key) == ("restart_controller", "controllers-a-0.g1", "controllers-a-0.g1")


def test_in_zookeeper_mode_the_brokers_elect_another_controller_in_place_of_the_stuck_one() -> None:
    decision = stuck_moves_step(situation(moving(isr=ALL), view=zookeeper_view(), **REIGN))
    assert decision is not None
    cure, election = decision.events
    assert isinstance(cure, facts.MoveCureRequested)
    assert (cure.cure, cure.diagnosis, cure.key) == ("reelect_controller", "ControllerStuck", "")
    assert isinstance(election, facts.ControllerElectionRequested)
    assert (election.controller, election.epoch) == (1001, 7)


@pytest.mark.parametrize(
    ("view", "seen"),
    [
        pytest.param({}, {"quorum": quorum_with(lag=10**6)}, id="a server of the ensemble lags"),
        pytest.param({}, {"quorum": quorum_with(silent_s=99.0)}, id="a server of the ensemble is silent"),
        pytest.param({}, {"controller": -1}, id="a controller is being elected"),
        pytest.param({}, {"controller_epoch": -1}, id="ZooKeeper was not asked"),
        pytest.param({"paused": "lunch"}, {}, id="paused"),
        pytest.param({"migration": A_MIGRATION}, {}, id="it migrates to KRaft"),
        pytest.param({"document": a_zookeeper_document(healing="restart: false")}, {}, id="the spec allows none"),
        pytest.param({"intents": {"i": None}}, {}, id="a VM comes or goes"),
    ],
)
def test_no_election_of_a_controller_is_begun_while_it_could_do_harm(
    view: dict[str, Any], seen: dict[str, Any]
) -> None:
    assert stuck_moves_step(situation(moving(isr=ALL), view=zookeeper_view(**view), **{**REIGN, **seen})) is None


def test_no_other_controller_is_had_once_the_fleet_has_had_its_cures_of_the_day() -> None:
    here = replace(situation(moving(isr=ALL)), allowance=Allowance(cures=BRAKED))
    assert stuck_moves_step(here) is None
    told = reassignment_hung(here)
    assert told is not None
    assert "1 cures in 1 clusters within a day are the most the fleet begins by itself" in told.message


def test_the_election_that_was_asked_for_is_held_once_and_only_in_place_of_whom_it_names() -> None:
    asked = DeposedController(1001, 7, BEFORE, "it ends nothing")
    view = zookeeper_view(stuck=StuckMovesView(deposed=asked))
    still = stuck_moves_step(situation(a_partition("orders-0"), drain=False, view=view, **REIGN))
    assert still is not None
    assert still.effects == (ReelectController(1001, 7),)
    for later in ({"controller_epoch": 8}, {"controller": 1002}, {"quorum": quorum_with(silent_s=99.0)}):
        seen = {**REIGN, **later}
        assert stuck_moves_step(situation(a_partition("orders-0"), drain=False, view=view, **seen)) is None
    old = zookeeper_view(stuck=StuckMovesView(deposed=replace(asked, asked_at=NOW - STANDS)))
    assert stuck_moves_step(situation(a_partition("orders-0"), drain=False, view=old, **REIGN)) is None


def test_no_controller_is_restarted_while_a_vm_comes_or_goes() -> None:
    arriving = an_instance("controllers-b-0", 2, Phase.LAUNCHED)
    view = {"instances": {**a_view(SUCCESSOR).instances, arriving.key: arriving}}
    assert stuck_moves_step(situation(moving(isr=ALL), view=view)) is None


def test_no_controller_is_restarted_while_the_cluster_is_paused() -> None:
    assert stuck_moves_step(situation(moving(isr=ALL), view={"paused": "lunch"})) is None


def test_moves_of_others_are_never_cured_but_told_after_ten_minutes() -> None:
    young = situation(moving(), drain=False)
    assert stuck_moves_step(young) is None
    assert [s.partition.name for s in foreign_moves(young)] == [MOVE.name]
    told = foreign_moves_condition(young)
    assert told is not None
    assert not told.status
    old = a_situation(
        young.view,
        kafka=a_snapshot(moving(), brokers=ALL),
        pulses={MOVE.name: felt(None, moving(), NOW - timedelta(seconds=601))},
    )
    told = foreign_moves_condition(old)
    assert told is not None
    assert told.status
    assert "orders-0 to [1010, 1001, 1002] for 10 min" in told.message


def test_an_adopted_move_is_not_told() -> None:
    known = situation(moving(), drain=False, view={"stuck": StuckMovesView(adopted={"orders-0": "asked by anna"})})
    told = foreign_moves_condition(known)
    assert told is not None
    assert not told.status


def test_what_a_person_wants_cancelled_is_cancelled_and_forgotten_once_it_has_ended() -> None:
    asked = {"stuck": StuckMovesView(cancelling={"orders-0": "asked by anna"})}
    running = stuck_moves_step(situation(moving(), drain=False, view=asked))
    assert running is not None
    assert running.effects == (CancelMoves((MOVE.name,)),)
    over = stuck_moves_step(situation(a_partition("orders-0"), drain=False, view=asked))
    assert over is not None
    assert over.events == (facts.MovesSettled(("orders-0",)),)


def refused(asked: int, ago_s: float) -> dict[str, Any]:
    """The move was to be taken back so often, last so many seconds ago, and Kafka will not."""
    tried = TakenBack(asked, NOW - timedelta(seconds=ago_s), "Kafka refused to take moves back: denied")
    return {"taken_back": {MOVE.name: tried}}


def test_a_cancel_that_kafka_refuses_is_asked_for_less_and_less_and_holds_nothing_up() -> None:
    view = {"stuck": StuckMovesView(cancelling={"orders-0": "asked by anna"})}
    assert stuck_moves_step(situation(moving(), drain=False, view=view, **refused(3, 7))) is None
    again = stuck_moves_step(situation(moving(), drain=False, view=view, **refused(3, 8)))
    assert again is not None
    assert again.effects == (CancelMoves((MOVE.name,)),)
    told = foreign_moves_condition(situation(moving(), drain=False, view=view, **refused(3, 7)))
    assert told is not None
    assert (told.status, told.reason) == (True, "Refused")
    assert "Kafka refused to take moves back: denied" in told.message


def test_a_hung_move_that_kafka_does_not_take_back_is_waited_for_with_its_words() -> None:
    decision = stuck_moves_step(situation(moving(), view=TAKEN, **DEAD, **refused(20, 299)))
    assert decision is not None
    assert (decision.effects, decision.wait and decision.wait.reason) == ((), "TakingBack")
    assert "Kafka refused to take moves back: denied" in decision.sentence


def test_how_often_a_move_was_to_be_taken_back_is_forgotten_once_it_has_ended() -> None:
    watch, uid, partition = MoveWatch(MemoryLatestStore()), ClusterUid("c0ffee"), moving()
    watch.see(uid, a_snapshot(partition, at=LONG_AGO), leaders_away=False)
    watch.taken_back(uid, [partition.name], LONG_AGO, "")
    watch.taken_back(uid, [partition.name], BEFORE, "no")
    assert watch.see(uid, a_snapshot(partition), leaders_away=False).taken_back == {
        partition.name: TakenBack(2, BEFORE, "no")
    }
    later = a_snapshot(a_partition("orders-0"), at=NOW + timedelta(seconds=1))
    assert watch.see(uid, later, leaders_away=False).taken_back == {}


def test_the_condition_says_why_and_what_next() -> None:
    found = reassignment_hung(situation(moving(), brokers=(1000, 1001, 1002), fenced=(1010,)))
    assert found is not None
    assert (found.status, found.reason) == (True, "TargetDead")
    assert found.message.endswith("Next: kedge moves orders")


def test_a_raised_throttle_stands_whatever_the_plan_promised() -> None:
    raised = StuckMovesView(cured="drain-1", follower_rates={1010: 9_000_000})
    here = situation(moving(), view={"stuck": raised})
    kafka = here.seen.kafka
    assert kafka is not None
    throttle = paced(here, a_plan([MOVE]), kafka, (MOVE,), ()).throttle
    assert throttle.follower_bytes_per_s[1010] == 9_000_000
    assert throttle.leader_bytes_per_s[1001] < 9_000_000


def test_a_raised_throttle_is_of_its_drain_alone() -> None:
    raised = StuckMovesView(cured="drain-0", follower_rates={1010: 9_000_000})
    here = situation(moving(), view={"stuck": raised})
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


def test_a_topic_list_left_over_is_cleared_though_no_rate_is_set() -> None:
    decision = housekeeping_step(
        a_situation(a_view(), kafka=a_snapshot(a_partition(), throttles=ThrottlesSeen(topics=frozenset({"orders"}))))
    )
    assert decision is not None
    assert decision.effects == (ClearThrottles(),)


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
