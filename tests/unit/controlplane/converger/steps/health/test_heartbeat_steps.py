"""Heartbeats as the converger sees them: who beats whom, when partitions are placed, and when a silence is told."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.wire import HeartbeatReport
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import (
    AGENT_FINDINGS,
    ReportSeen,
    keep_report,
    unhealthy_clusters,
)
from controlplane.cluster.observed.health import HealthSeen
from controlplane.cluster.observed.report_pace import STALE_AFTER
from controlplane.cluster.view import ClusterView, EvacuationView
from controlplane.cluster.views.running_settings import Before, RestartView
from controlplane.converger.conditions.heartbeats import heartbeats_silent
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.documents import document_for
from controlplane.converger.questions.moves.stuck_moves import foreign_moves
from controlplane.converger.questions.services.heartbeats import heartbeats_for
from controlplane.converger.situation.effects import ChangeTopics, Reassign
from controlplane.converger.steps.health.heartbeats import ASK_AGAIN, places_heartbeats
from events.ids import ClusterUid
from events.spec.health import Health
from planner.heartbeats import HEARTBEAT_TOPIC
from tests.builders import (
    BEFORE,
    NOW,
    a_document,
    a_partition,
    a_report,
    a_situation,
    a_snapshot,
    a_view,
    an_instance,
    an_observation,
)
from tests.fakes.latest_values import MemoryLatestStore

PLACED = tuple(
    a_partition(f"{HEARTBEAT_TOPIC}-{n}", replicas, min_isr=1)
    for n, replicas in enumerate([(1000, 1001, 1002), (1001, 1002, 1000), (1002, 1000, 1001)])
)


def beating(*instances: Any, **overrides: Any) -> ClusterView:
    """`orders` with heartbeats on."""
    document = a_document()
    spec = document.spec.model_copy(update={"health": Health(heartbeats=True)})
    return a_view(*instances, document=document.model_copy(update={"spec": spec}), **overrides)


def targets(view: ClusterView, key: str) -> list[int]:
    found = heartbeats_for(view, view.instances[key])
    return [t.broker for t in found.targets] if found else []


# --- who beats whom ----------------------------------------------------------------------------------------------


def test_heartbeats_are_off_unless_the_spec_wants_them() -> None:
    document = document_for(a_view(), "brokers-a-0.g1", epoch=1)
    assert document is not None
    assert document.heartbeats is None


def test_each_broker_is_looked_at_by_the_agent_of_the_next_rack() -> None:
    view = beating()
    assert {k: targets(view, f"brokers-{k}-0.g1") for k in "abc"} == {"a": [1002], "b": [1000], "c": [1001]}
    document = document_for(view, "brokers-b-0.g1", epoch=1)
    assert document is not None
    assert document.heartbeats is not None
    (target,) = document.heartbeats.targets
    assert (document.heartbeats.topic, target.address, target.port) == (
        HEARTBEAT_TOPIC,
        "address-of-brokers-a-0.g1",
        9092,
    )


def test_controllers_look_at_nobody() -> None:
    view = beating()
    assert heartbeats_for(view, view.instances["controllers-a-0.g1"]) is None


def test_every_broker_is_looked_at_once_also_where_racks_differ_in_size() -> None:
    view = beating(an_instance("brokers-a-1"), an_instance("brokers-a-2"), an_instance("brokers-b-1"))
    watched = [b for i in view.brokers() for b in targets(view, i.key)]
    assert sorted(watched) == sorted(i.service_id for i in view.brokers())
    for i in view.brokers():
        racks = {view.instances[k].planned.rack for k in view.instances if i.service_id in targets(view, k)}
        assert racks == {"abc"["abc".index(i.planned.rack) - 2]}


def test_a_broker_that_is_alone_is_looked_at_by_nobody() -> None:
    view = beating(without=("brokers-b-0.g1", "brokers-c-0.g1"))
    assert targets(view, "brokers-a-0.g1") == []


def test_who_leaves_or_is_to_be_empty_is_not_looked_at() -> None:
    view = beating(
        an_instance("brokers-a-0", 1, Phase.DRAINING),
        evacuations={"brokers-b-0.g1": EvacuationView("asked", BEFORE)},
    )
    assert {b for i in view.brokers() for b in targets(view, i.key)} == set()


# --- placement ---------------------------------------------------------------------------------------------------


def test_partitions_are_made_beside_whatever_else_is_done() -> None:
    decision = decide(a_situation(beating()))
    (made,) = decision.effects
    assert isinstance(made, ChangeTopics)
    assert [r[0] for r in made.step.create[HEARTBEAT_TOPIC].partitions] == [1000, 1001, 1002]
    assert decision.sentence == "converged at generation 1: 6 VMs; partitions of the heartbeats: 3 made"
    assert places_heartbeats(decision)


def test_nothing_is_done_once_every_broker_leads_one_and_without_the_wish() -> None:
    assert decide(a_situation(beating(), kafka=a_snapshot(*PLACED))).effects == ()
    assert decide(a_situation(a_view())).effects == ()


def test_a_partition_that_is_led_by_a_second_time_goes_to_the_broker_that_has_none() -> None:
    kafka = a_snapshot(PLACED[0], PLACED[1], a_partition(f"{HEARTBEAT_TOPIC}-2", (1001, 1000, 1002), min_isr=1))
    (moved,) = decide(a_situation(beating(), kafka=kafka)).effects
    assert isinstance(moved, Reassign)
    ((name, replicas),) = moved.targets.items()
    assert (str(name), replicas[0]) == (f"{HEARTBEAT_TOPIC}-2", 1002)


@pytest.mark.parametrize(
    "overrides",
    [
        {"paused": "for lunch"},
        {"converged": 0},
        {"held": "adopted"},
        {"restarts": {"brokers-a-0.g1": RestartView("brokers-a-0.g1", 1, NOW, False, Before(None, None))}},
    ],
)
def test_nothing_is_placed_while_the_cluster_is_held_new_or_at_work(overrides: dict[str, Any]) -> None:
    assert not places_heartbeats(decide(a_situation(beating(**overrides))))


def test_what_kafka_refuses_is_asked_for_again_but_not_at_once() -> None:
    view = beating()
    soon = HealthSeen(heartbeats_asked_at=NOW - timedelta(seconds=2))
    late = HealthSeen(heartbeats_asked_at=NOW - ASK_AGAIN)
    assert decide(a_situation(view, health=soon)).effects == ()
    assert places_heartbeats(decide(a_situation(view, health=late)))


def test_placement_is_looked_at_only_when_metadata_was_just_read() -> None:
    old = a_snapshot(at=NOW - timedelta(seconds=20))
    assert decide(a_situation(beating(), kafka=old)).effects == ()


def test_its_moves_are_not_foreign() -> None:
    kafka = a_snapshot(replace(PLACED[0], adding=(1002,)))
    assert foreign_moves(a_situation(beating(), kafka=kafka)) == ()


# --- silence -----------------------------------------------------------------------------------------------------


def silent(seconds: float, view: ClusterView | None = None, *, broker: int = 1000, **seen: Any) -> Any:
    """The condition, where the agent of the next rack has heard nothing through that broker for so long."""
    view = view or beating()
    watcher = view.instances["brokers-b-0.g1"]
    told = HeartbeatReport(broker=broker, beats=0, silent_s=seconds, problem="not taken: timed out")
    reports = dict(an_observation(view).reports)
    report = reports[watcher.key].report.model_copy(update={"heartbeats": (told,)})
    reports[watcher.key] = ReportSeen(report, seen.pop("received_at", NOW))
    reports |= seen.pop("reports", {})
    return heartbeats_silent(a_situation(view, **{"kafka": a_snapshot(*PLACED), **seen}, reports=reports))


def test_a_broker_that_is_silent_is_told_with_who_says_so_for_how_long_and_why() -> None:
    found = silent(45)
    assert (found.type, found.status, found.reason) == ("HeartbeatsSilent", True, "Silent")
    assert found.message == (
        "no heartbeat through broker 1000 (brokers-a-0.g1) has come back for 45 s, by the agent of brokers-b-0.g1: "
        "not taken: timed out. Next: kedge describe orders"
    )


def test_a_short_silence_is_none_and_old_words_are_not_believed() -> None:
    assert not silent(20).status
    assert not silent(45, received_at=NOW - STALE_AFTER - timedelta(seconds=1)).status


def test_what_kedge_does_to_the_broker_itself_is_no_silence() -> None:
    restarting = RestartView("brokers-a-0.g1", 1, NOW, False, Before(None, None))
    assert not silent(45, beating(restarts={restarting.key: restarting})).status
    assert not silent(45, beating(an_instance("brokers-a-0", 1, Phase.DRAINING))).status
    other = RestartView("brokers-c-0.g1", 1, NOW, False, Before(None, None))
    assert silent(45, beating(restarts={other.key: other})).status, "another one's restart explains nothing"


def test_a_broker_is_not_blamed_for_the_time_before_it_served() -> None:
    started = a_report(an_instance("brokers-a-0"), since=NOW - timedelta(seconds=10))
    assert not silent(45, reports={"brokers-a-0.g1": started}).status
    down = a_report(an_instance("brokers-a-0"), "starting", since=NOW - timedelta(seconds=10))
    assert silent(45, reports={"brokers-a-0.g1": down}).status, "nobody asked it to start anew"


def test_a_broker_that_has_no_partition_yet_is_not_silent() -> None:
    assert not silent(45, kafka=a_snapshot(*PLACED[1:])).status
    assert silent(45, kafka=None).status, "where nobody answers, the silence stands"


def test_a_silence_has_the_reports_read_and_a_spec_without_heartbeats_hears_none() -> None:
    assert not silent(45, a_view()).status
    for seconds, told in ((45.0, True), (5.0, False)):
        latest = MemoryLatestStore()
        report = a_report(an_instance("brokers-b-0")).report
        beats = HeartbeatReport(broker=1000, beats=0, silent_s=seconds)
        keep_report(latest, ClusterUid("c1"), "k", report.model_copy(update={"heartbeats": (beats,)}), NOW)
        assert (unhealthy_clusters(latest.of_kind(AGENT_FINDINGS), NOW) == frozenset({"c1"})) is told
