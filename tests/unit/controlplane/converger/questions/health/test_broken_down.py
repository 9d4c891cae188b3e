"""What is seen of brokers that are there and do not serve: who is unhealthy, who is told, and who is left alone."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.observed.health import WELL, HealthSeen
from controlplane.cluster.views.chaos import ChaosView
from controlplane.cluster.views.healing import SwitchView
from controlplane.cluster.views.running_settings import Before, ReplaceView, RestartView
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.health.broken_down import broken_ailments, broker_away, exits_of
from controlplane.converger.questions.health.prescriptions import health_of
from controlplane.converger.situation.observation import InventorySeen
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.health.healing import healing_step
from controlplane.converger.tick.health_watch import STEADY, UNSEEN, HealthWatch
from events import facts
from planner.breakdown import Absence
from planner.healing import Cure, PastCure
from planner.observed import BrokerSeen, KafkaSnapshot
from providers.base import InstanceState
from tests.builders import (
    NOW,
    a_cloud_instance,
    a_document,
    a_partition,
    a_report,
    a_situation,
    a_snapshot,
    a_view,
    an_instance,
)
from tests.changed_view import changed_view

UNHEALTHY = "brokers-b-0.g1"
BROKER = 1001
LONG = timedelta(minutes=6)
PARTITIONS = [a_partition(f"orders-{n}", isr=(1000, 1002)) for n in range(3)]
AWAY = a_snapshot(*PARTITIONS, brokers=(1000, 1002), fenced=(BROKER,))
SERVES = a_snapshot(*(a_partition(f"orders-{n}") for n in range(3)))


def seen_away(
    *,
    view: Any = None,
    kafka: KafkaSnapshot = AWAY,
    absence: Absence | None = None,
    told: ReportSeen | None = None,
    **seen: Any,
) -> Situation:
    """Broker 1001 is away for six minutes; all others are well, and the cloud says that every VM runs."""
    view = view or a_view()
    since = NOW - LONG
    there = absence or Absence(since, NOW)
    reports: dict[str, ReportSeen] = {i.key: a_report(i) for i in view.alive()}
    if told is not None:
        reports[UNHEALTHY] = told
    health = HealthSeen(misregistered={BROKER: there.since}, away={UNHEALTHY: there})
    listed = {i.key: a_cloud_instance(i) for i in view.alive()}
    values: dict[str, Any] = {
        "kafka": kafka,
        "reports": reports,
        "health": health,
        "inventory": InventorySeen(NOW, listed),
    }
    return a_situation(view, **{**values, **seen})


def running(**about: Any) -> ReportSeen:
    return a_report(an_instance("brokers-b-0"), **about)


def looping(**about: Any) -> Situation:
    absence = Absence(NOW - LONG, NOW, exits_then=2, exits=9, exited_at=NOW - timedelta(seconds=20))
    return seen_away(absence=absence, told=about.pop("told", running(state="failed")), **about)


def silent(**about: Any) -> Situation:
    said = running(received_at=NOW - LONG)
    return seen_away(told=said, **about)


def found(situation: Situation) -> list[tuple[str, str]]:
    return [(a.key, a.finding) for a in broken_ailments(situation)]


def begun(situation: Situation) -> dict[str, Any]:
    decision = healing_step(situation)
    assert decision is not None
    return {type(e).__name__: e for e in decision.events}


# --- the three ----------------------------------------------------------------------------------------------------


def test_a_broker_that_runs_and_is_fenced_is_restarted_and_gets_a_new_vm_where_that_did_not_last() -> None:
    assert found(seen_away()) == [(UNHEALTHY, "registration_wrong")]
    events = begun(seen_away())
    assert events["HealingRequested"].cure == "restart"
    assert events["RestartRequested"].key == UNHEALTHY
    before = PastCure("brokers-b-0", "registration_wrong", Cure.RESTART, NOW - timedelta(hours=1))
    again = begun(seen_away(view=a_view(cures=(before,))))
    assert again["HealingRequested"].cure == "replace"
    assert again["NodeReplaceRequested"].key == UNHEALTHY


def test_one_that_stands_still_for_so_long_that_its_port_takes_no_connection_is_restarted_too() -> None:
    hung = running(state="starting", hangs=True, since=NOW, message="10.0.0.9:9092 does not accept connections yet")
    assert found(seen_away(told=hung)) == [(UNHEALTHY, "registration_wrong")]


def test_a_broker_in_another_rack_is_restarted_too() -> None:
    strange = {**SERVES.brokers, BROKER: BrokerSeen(BROKER, "z", False, "host-1001", 9092)}
    situation = seen_away(kafka=replace(SERVES, brokers=strange), health=HealthSeen(misregistered={BROKER: NOW - LONG}))
    assert found(situation) == [(UNHEALTHY, "registration_wrong")]


def test_a_broker_that_ends_again_and_again_gets_a_new_vm() -> None:
    assert found(looping()) == [(UNHEALTHY, "crash_loop")]
    events = begun(looping())
    assert events["HealingRequested"].cure == "replace"
    assert events["NodeReplaceRequested"] == facts.NodeReplaceRequested(UNHEALTHY, "healing of crash_loop")


def test_a_broker_nobody_hears_gets_a_successor_on_a_disk_of_its_own() -> None:
    assert found(silent()) == [(UNHEALTHY, "unreachable")]
    events = begun(silent())
    assert events["NodeReplaceRequested"] == facts.NodeReplaceRequested(
        UNHEALTHY, "healing of unreachable", new_disk=True
    )


def test_a_replacement_is_prescribed_once() -> None:
    asked = a_view(to_replace={UNHEALTHY: ReplaceView("healing of unreachable", True, NOW)})
    assert found(silent(view=asked)) == found(looping(view=asked)) == found(seen_away(view=asked)) == []


# --- who is being emptied ---------------------------------------------------------------------------------------------

DRAINING = a_view(
    an_instance("brokers-b-0", 1, Phase.DRAINING), to_replace={UNHEALTHY: ReplaceView("asked for by anna", False, NOW)}
)
ONLY_COPY = a_snapshot(
    *PARTITIONS, a_partition("scratch-0", (BROKER,), leader=-1, min_isr=1), brokers=(1000, 1002), fenced=(BROKER,)
)


def test_nothing_waits_for_one_that_is_being_emptied_while_others_have_all_it_has() -> None:
    for situation in (seen_away(view=DRAINING), looping(view=DRAINING)):
        health, told = health_of(situation), broker_away(situation)
        assert (health.prescriptions, health.refusals, told and told.status) == ((), (), False)


def test_one_that_is_being_emptied_and_stands_still_is_restarted_and_gets_no_second_new_vm() -> None:
    """It has the only copy of something, and its drain waited for that for ever."""
    situation = seen_away(view=DRAINING, kafka=ONLY_COPY)
    (prescribed,) = health_of(situation).prescriptions
    assert (prescribed.ailment.key, prescribed.cure) == (UNHEALTHY, Cure.RESTART)
    before = PastCure("brokers-b-0", "registration_wrong", Cure.RESTART, NOW - timedelta(hours=1))
    health = health_of(seen_away(view=changed_view(DRAINING, cures=(before,)), kafka=ONLY_COPY))
    assert health.prescriptions == ()
    (refused,) = health.refusals
    assert refused.reason == (
        "the restart 60 min ago did not last, and it is being emptied: no new VM would have what it has"
    )


def test_one_that_is_being_emptied_and_ends_again_and_again_is_told_with_what_waits_for_it() -> None:
    told = broker_away(looping(view=DRAINING, kafka=ONLY_COPY))
    assert told is not None
    assert (told.status, told.reason) == (True, "CrashLoop")
    assert "it is being emptied, and what nobody else has in sync waits until it serves" in told.message
    assert health_of(looping(view=DRAINING, kafka=ONLY_COPY)).prescriptions == ()


# --- and who is left alone ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["", "broker-failure"])
def test_nobody_is_cured_where_a_person_switched_it_off(kind: str) -> None:
    view = a_view(switches={kind: SwitchView(on=False, until=None, reason="a look", at=NOW)})
    assert found(silent(view=view)) == found(looping(view=view)) == found(seen_away(view=view)) == []
    told = broker_away(silent(view=view))
    assert told is not None
    assert "healing of broker-failure is off: a look" in told.message


def test_a_broker_that_is_away_for_a_shorter_time_is_left_alone() -> None:
    short = NOW - timedelta(minutes=4)
    fresh = HealthSeen(away={UNHEALTHY: Absence(short, NOW)})
    assert found(silent(health=fresh)) == []
    just_silent = running(received_at=short)
    assert found(seen_away(told=just_silent, health=HealthSeen(away={UNHEALTHY: Absence(NOW - LONG, NOW)}))) == []


def test_a_spec_may_have_another_grace() -> None:
    view = a_view(document=a_document(healing="lostAfter: 10m"))
    assert found(silent(view=view)) == []


def test_a_broker_that_starts_for_long_is_on_its_way() -> None:
    assert found(seen_away(told=running(state="starting"))) == []
    assert broker_away(seen_away(told=running(state="starting"))).status is False  # type: ignore[union-attr]


def test_a_disk_that_belongs_to_somebody_else_is_for_people() -> None:
    """Its agent refuses to start it: no process has ended."""
    refused = running(state="failed", message="belongs to somebody else: broker.id is '1999', should be '1001'")
    assert found(seen_away(told=refused)) == []


def test_a_disk_without_room_is_for_people() -> None:
    full = {"name": "data", "total_bytes": 10**9, "free_bytes": 4096, "partitions": 3}
    assert found(looping(told=running(state="failed", log_dirs=[full]))) == []


def test_what_is_asked_of_it_explains_itself() -> None:
    going = a_view(an_instance("brokers-b-0", 1, Phase.FENCING))
    assert found(silent(view=going)) == []
    restart = RestartView(UNHEALTHY, 1, NOW, False, Before(None, None), new_settings=False)
    assert found(silent(view=a_view(restarts={UNHEALTHY: restart}))) == []


@pytest.mark.parametrize(
    ("about", "words"),
    [
        (
            {"kafka": a_snapshot(*PARTITIONS, brokers=(1000,), fenced=(BROKER, 1002))},
            "broker 1002 does not serve either",
        ),
        ({"inventory": None}, "the cloud does not tell how its VM is"),
        ({"inventory": InventorySeen(NOW)}, "the cloud's listing does not name its VM"),
        (
            {
                "inventory": InventorySeen(
                    NOW, {UNHEALTHY: a_cloud_instance(an_instance("brokers-b-0"), state=InstanceState.STOPPING)}
                )
            },
            "its VM is stopping, by the cloud's word",
        ),
    ],
)
def test_a_vm_nobody_hears_waits_for_what_is_not_known(about: Mapping[str, Any], words: str) -> None:
    situation = silent(**about)
    assert found(situation) == []
    told = broker_away(situation)
    assert told is not None
    assert (told.status, told.reason) == (True, "Unreachable")
    assert words in told.message
    assert "Next: kedge replace orders brokers-b-0" in told.message


def test_a_vm_is_not_taken_for_unreachable_while_another_agent_is_silent_too() -> None:
    situation = silent()
    other = a_report(an_instance("brokers-a-0"), received_at=NOW - timedelta(seconds=40))
    situation = silent(reports={**situation.seen.reports, "brokers-a-0.g1": other})
    assert found(situation) == []


def test_old_metadata_and_none_replace_nobody() -> None:
    late = NOW + timedelta(seconds=31)
    assert found(silent(now=late)) == []
    assert found(silent(kafka=None)) == []
    assert broker_away(silent(kafka=None)) is None


def test_many_that_are_registered_wrong_share_a_cause() -> None:
    kafka = a_snapshot(*PARTITIONS, brokers=(1000,), fenced=(BROKER, 1002))
    both = HealthSeen(
        misregistered={BROKER: NOW - LONG, 1002: NOW - LONG},
        away={UNHEALTHY: Absence(NOW - LONG, NOW), "brokers-c-0.g1": Absence(NOW - LONG, NOW)},
    )
    assert found(seen_away(kafka=kafka, health=both)) == []


# --- the condition ------------------------------------------------------------------------------------------------


def test_it_is_told_with_what_is_done_and_when() -> None:
    told = broker_away(silent(health=HealthSeen(away={UNHEALTHY: Absence(NOW - timedelta(minutes=2), NOW)})))
    assert told is not None
    assert told.message == (
        f"{UNHEALTHY} (broker {BROKER}) is not served by Kafka, and its agent is not heard, since "
        f"{NOW - timedelta(minutes=2):%H:%M:%S} UTC: it gets a new VM at {NOW + timedelta(minutes=3):%H:%M:%S} UTC, "
        "unless it serves until then"
    )
    no_vms = a_view(document=a_document(healing="replace: false"))
    assert "(healing.replace)" in broker_away(looping(view=no_vms)).message  # type: ignore[union-attr]


def test_it_is_over_once_the_broker_serves_and_says_nothing_of_a_well_cluster() -> None:
    assert broker_away(silent(kafka=SERVES)).status is False  # type: ignore[union-attr]
    told = broker_away(a_situation(a_view(), kafka=SERVES))
    assert told is not None
    assert not told.status
    decision = decide(a_situation(a_view(), kafka=SERVES))
    assert not [e for e in decision.events if isinstance(e, facts.ConditionChanged) and e.type == "BrokerAway"]


# --- what is remembered -------------------------------------------------------------------------------------------


def later(kafka: KafkaSnapshot, seconds: float) -> KafkaSnapshot:
    return replace(kafka, at=kafka.at + timedelta(seconds=seconds))


def test_a_broker_is_away_from_the_first_look_that_lacks_it() -> None:
    watch, view = HealthWatch(), a_view()
    assert watch.see(view, AWAY, working=False).away == {UNHEALTHY: Absence(NOW, NOW)}
    assert watch.see(view, later(AWAY, 60), working=True).away[UNHEALTHY].since == NOW
    assert watch.is_suspicious(view.uid)


def test_one_that_is_back_for_seconds_is_still_away_and_over_after_a_minute() -> None:
    watch, view = HealthWatch(), a_view()
    watch.see(view, AWAY, working=False)
    assert watch.see(view, later(SERVES, 20), working=False).away
    assert watch.is_suspicious(view.uid)
    assert watch.see(view, later(AWAY, 40), working=False).away[UNHEALTHY].since == NOW
    assert watch.see(view, later(SERVES, 40 + STEADY.total_seconds()), working=False).away == {}
    assert not watch.is_suspicious(view.uid)


def test_what_nobody_looked_at_for_long_counts_anew() -> None:
    watch, view = HealthWatch(), a_view()
    watch.see(view, AWAY, working=False)
    again = later(AWAY, UNSEEN.total_seconds() + 1)
    seen = watch.see(view, again, working=False)
    assert (seen.away[UNHEALTHY].since, seen.misregistered[BROKER]) == (again.at, again.at)


@pytest.mark.parametrize(("fault", "key"), [("pause", UNHEALTHY), ("split", "brokers-a-0.g1")])
def test_no_time_counts_while_people_bring_it_about(fault: str, key: str) -> None:
    chaos = ChaosView("chaos-1", fault, (key,), "a game", NOW, 600)
    watch, view = HealthWatch(), a_view(chaos={"chaos-1": chaos})
    assert watch.see(view, AWAY, working=True).away == {}
    assert found(seen_away(health=HealthSeen(misregistered={BROKER: NOW - LONG}))) == []
    assert watch.see(a_view(), later(AWAY, 5), working=False).away[UNHEALTHY].since == NOW + timedelta(seconds=5)


def test_the_next_vm_of_the_same_id_is_not_taken_for_the_one_before() -> None:
    watch, view = HealthWatch(), a_view()
    watch.see(view, AWAY, working=False)
    successor = an_instance("brokers-b-0", 2)
    seen = watch.see(a_view(successor), later(AWAY, 30), working=False)
    assert seen.away[successor.key].since == NOW + timedelta(seconds=30)


def test_how_often_processes_ended_is_taken_from_young_words_of_brokers_alone() -> None:
    view = a_view()
    reports = {
        UNHEALTHY: running(state="failed", metrics={"unexpected_exits": 4.0}),
        "brokers-a-0.g1": a_report(
            an_instance("brokers-a-0"), received_at=NOW - LONG, metrics={"unexpected_exits": 9.0}
        ),
        "brokers-c-0.g1": a_report(an_instance("brokers-c-0")),
    }
    assert exits_of(view, reports, NOW) == {UNHEALTHY: 4}
    watch = HealthWatch()
    assert watch.hear(view.uid, {UNHEALTHY: 4}, NOW) is WELL
    watch.see(view, AWAY, working=False)
    assert watch.hear(view.uid, {UNHEALTHY: 4, "brokers-a-0.g1": 9}, NOW).away[UNHEALTHY].exits_then == 4
    assert watch.hear(view.uid, {UNHEALTHY: 6}, NOW).away[UNHEALTHY].ends_again_and_again(NOW)
