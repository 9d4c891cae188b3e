"""The fleet's brake and the back-off, derived from events alone."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.cure_budget import FleetCures
from controlplane.converger.situation.decision import Decision
from controlplane.converger.tick.fleet_brake import MAX_IMAGE_FAILURES, FleetBrake, is_counted
from controlplane.runtime.backoff import CAP_S, delay_s
from controlplane.storage.streams import cluster_stream, cluster_uid_of
from events import facts
from events.codec import encode
from events.envelope import Recorded
from events.ids import ClusterUid
from planner.maintenance import FINDING as MAINTENANCE
from tests.builders import NOW, a_document, a_planned, a_view, an_instance


def _told(brake: FleetBrake, *history: tuple[str, object]) -> FleetBrake:
    for number, (uid, fact) in enumerate(history, start=1):
        new = encode(fact, f"e{number}")
        stream = cluster_stream(ClusterUid(uid))
        brake.take_in(Recorded(number, stream, 1, "e", new.type, new.schema, new.data, "t", None, None, 1, NOW))
    return brake


def _surge(version: str = "4.2.0") -> facts.SurgeRequested:
    return facts.SurgeRequested("i", (a_planned("brokers-a-0", 2, kafka_version=version),), "roll")


FAILED = facts.JoinFailed("brokers-a-0.g2", "late")
FOUNDED = facts.RecycleCompleted(1)
AT_REST = a_view(uid="r")
WANTS = a_view(uid="d", generation=2, document=a_document(version="4.2.0"))


def _rolling(uid: str, **overrides: Any) -> ClusterView:
    return a_view(uid=uid, **{"recycling": 2, **overrides})


ABORTED = facts.RecycleAborted("second thoughts")


def test_an_aborted_cluster_keeps_its_place_until_it_rests() -> None:
    brake = _told(FleetBrake(max_rolling=1), ("a", ABORTED))
    going = an_instance("brokers-a-0", 2, Phase.LAUNCHED)
    brake.look_at([_rolling("a", aborting="oh", version=21), WANTS])
    assert brake.allowance(WANTS).may_roll, "it rests in what it is"
    brake.note(a_view(going, uid="a", recycling=2, aborting="oh", version=22))
    assert not brake.allowance(WANTS).may_roll, "its successor is still being taken back"


def test_an_aborted_cluster_that_is_resumed_waits_for_a_place_like_a_beginner() -> None:
    brake = _told(FleetBrake(max_rolling=1), ("a", ABORTED))
    resumed = _rolling("a", version=21)
    brake.look_at([resumed, _rolling("b")])
    assert not brake.allowance(resumed).may_roll
    brake.look_at([resumed])
    assert brake.allowance(resumed).may_roll
    _told(brake, ("a", _surge()))
    brake.look_at([replace(resumed, version=22), WANTS])
    assert not brake.allowance(WANTS).may_roll, "it rolls again"


def test_a_paused_cluster_keeps_its_place() -> None:
    brake = FleetBrake(max_rolling=1)
    brake.look_at([_rolling("a", paused="lunch"), WANTS])
    assert not brake.allowance(WANTS).may_roll


def test_a_deleted_cluster_keeps_nothing() -> None:
    brake = FleetBrake(max_rolling=1)
    brake.look_at([_rolling("a"), WANTS])
    brake.look_at([WANTS])
    assert brake.allowance(WANTS).may_roll


def test_an_older_view_is_not_counted_again() -> None:
    brake = FleetBrake(max_rolling=1)
    brake.note(_rolling("a", version=30))
    brake.note(a_view(uid="a", version=29))
    assert not brake.allowance(WANTS).may_roll


def test_so_many_clusters_may_roll_and_no_more() -> None:
    brake = FleetBrake(max_rolling=2)
    brake.look_at([_rolling("a"), WANTS])
    assert brake.allowance(WANTS).may_roll
    brake.look_at([_rolling("a"), _rolling("b"), WANTS])
    held = brake.allowance(WANTS)
    assert not held.may_roll
    assert held.reason == "2 clusters are rolling (orders, orders), at most 2 may"


def test_who_rolls_may_go_on() -> None:
    brake = FleetBrake(max_rolling=1)
    brake.look_at([_rolling("a"), _rolling("b")])
    assert brake.allowance(_rolling("a")).may_roll


def test_a_cluster_that_is_only_being_born_rolls_nothing() -> None:
    brake = FleetBrake(max_rolling=1)
    brake.look_at([a_view(uid="a", recycling=1, converged=0)])
    assert brake.allowance(WANTS).may_roll


def test_an_image_that_failed_twice_stops_everywhere_until_a_person_resumes() -> None:
    failures = [("a", FOUNDED), ("b", FOUNDED), ("a", _surge()), ("a", FAILED), ("b", _surge()), ("b", FAILED)]
    brake = _told(FleetBrake(), *failures)
    assert brake.failed_images["4.2.0"] == MAX_IMAGE_FAILURES
    held = brake.allowance(WANTS)
    assert not held.may_roll
    assert held.reason.startswith("2 replacements with Kafka 4.2.0 failed in the fleet; `kedge resume`")
    assert brake.allowance(a_view(uid="e", generation=2)).may_roll, "another image is not held"
    assert _told(brake, ("b", facts.ClusterResumed("mended"))).allowance(WANTS).may_roll


def test_a_build_of_ones_own_that_fails_stops_no_cluster_with_apaches_own_of_that_version() -> None:
    sha256 = "c" * 64
    config = f", distribution: {{url: 'file:///srv/kafka.tgz', sha256: '{sha256}'}}"
    image = facts.PlannedImage("", {}, "file:///srv/kafka.tgz", sha256)
    surge = facts.SurgeRequested("i", (a_planned("brokers-a-0", 2, kafka_version="4.2.0", image=image),), "roll")
    brake = _told(
        FleetBrake(), ("a", FOUNDED), ("b", FOUNDED), ("a", surge), ("a", FAILED), ("b", surge), ("b", FAILED)
    )
    assert brake.allowance(WANTS).may_roll
    own = a_view(uid="e", generation=2, document=a_document(version="4.2.0", config=config))
    assert brake.allowance(own).reason.startswith("2 replacements with Kafka 4.2.0 of cccccccccccc failed in the fleet")


def test_a_founding_whose_vms_fail_holds_no_other_cluster_back_however_many_they_are() -> None:
    brake = _told(FleetBrake(), ("a", _surge()), ("a", FAILED), ("a", FAILED), ("a", FAILED))
    assert brake.allowance(WANTS).may_roll


def test_two_foundings_that_fail_are_a_sign_that_the_image_is_broken() -> None:
    brake = _told(FleetBrake(), ("a", _surge()), ("a", FAILED), ("b", _surge()), ("b", FAILED), ("b", FAILED))
    assert brake.allowance(WANTS).reason.startswith("2 foundings with Kafka 4.2.0 failed in the fleet; `kedge resume`")
    assert brake.allowance(a_view(uid="e", generation=2)).may_roll, "another image is not held"


def test_a_failed_founding_and_a_failed_replacement_are_one_sign_each() -> None:
    brake = _told(FleetBrake(), ("a", _surge()), ("a", FAILED), ("b", FOUNDED), ("b", _surge()), ("b", FAILED))
    assert brake.allowance(WANTS).reason.startswith("1 replacement and 1 founding with Kafka 4.2.0 failed")


@pytest.mark.parametrize(
    "end",
    [facts.RecycleCompleted(1), facts.ClusterDeleted(retained=False), facts.ClusterResumed("it was the subnet")],
    ids=["is-through", "is-given-up", "is-looked-at"],
)
def test_a_founding_holds_nobody_back_any_more_once_it(end: object) -> None:
    failures = [("a", _surge()), ("a", FAILED), ("b", _surge()), ("b", FAILED)]
    assert not _told(FleetBrake(), *failures).allowance(WANTS).may_roll
    assert _told(FleetBrake(), *failures, ("b", end)).allowance(WANTS).may_roll


def test_a_deleted_cluster_whose_roll_failed_forgives_nothing() -> None:
    """The image is as broken as it was, and nobody has looked."""
    failures = [("b", FOUNDED), ("b", _surge()), ("b", FAILED), ("b", FAILED)]
    brake = _told(FleetBrake(), *failures, ("b", facts.ClusterDeleted(retained=False)))
    assert not brake.allowance(WANTS).may_roll


def test_a_resume_of_an_uninvolved_cluster_forgives_nothing() -> None:
    failures = [("a", _surge()), ("a", FAILED), ("b", _surge()), ("b", FAILED)]
    brake = _told(FleetBrake(), *failures, ("c", facts.ClusterResumed("by the way")))
    assert not brake.allowance(WANTS).may_roll


UNHEALTHY = facts.HealingRequested("brokers-a-0.g1", "brokers-a-0", "deadlock", "restart", "a fresh process")
STUCK = facts.MoveCureRequested("drain-1", "restart_controller", "ControllerStuck", ("orders-0",), "it ends nothing")
SLOW = facts.MoveCureRequested("drain-1", "raise_throttle", "ThrottleTooLow", ("orders-0",), "it is raised")
PASSED_OVER = facts.ElectionCureRequested("restart_controller", "LeadersAway", 3, "asked 5 times")


def test_so_many_cures_begin_in_the_fleet_in_a_day_and_no_more() -> None:
    brake = _told(FleetBrake(cures=FleetCures(3)), ("a", UNHEALTHY), ("b", STUCK), ("a", SLOW))
    assert brake.allowance(AT_REST).cures.why_none(NOW) == ""
    held = _told(brake, ("c", PASSED_OVER)).allowance(AT_REST).cures.why_none(NOW)
    assert held.startswith("3 cures in 3 clusters within a day are the most the fleet begins by itself")
    assert brake.allowance(WANTS).cures.why_none(NOW) == held, "whether it has work in hand or not"
    assert brake.allowance(AT_REST).cures.why_none(NOW + timedelta(hours=23)) == held
    assert brake.allowance(AT_REST).cures.why_none(NOW + timedelta(hours=24)) == ""


def test_a_resume_of_a_cluster_that_was_cured_lets_the_fleet_cure_again() -> None:
    brake = _told(
        FleetBrake(cures=FleetCures(2)), ("a", UNHEALTHY), ("b", UNHEALTHY), ("c", facts.ClusterResumed("by the way"))
    )
    assert brake.allowance(AT_REST).cures.why_none(NOW)
    assert not _told(brake, ("b", facts.ClusterResumed("it was a host"))).allowance(AT_REST).cures.why_none(NOW)


def test_a_cure_is_counted_while_nobody_else_can_take_the_last_one() -> None:
    assert is_counted(Decision("", events=(UNHEALTHY,)))
    assert is_counted(Decision("", events=(PASSED_OVER,)))
    assert not is_counted(Decision("", events=(SLOW,)))
    announced = facts.HealingRequested("brokers-a-0.g1", "brokers-a-0", MAINTENANCE, "replace", "its host goes down")
    assert not is_counted(Decision("", events=(announced,)))


def test_other_events_are_not_even_decoded() -> None:
    brake = FleetBrake()
    brake.take_in(Recorded(1, "cluster-a", 1, "e", "cluster.teleported", 9, {}, "t", None, None, 1, NOW))
    assert not brake.failed_images


@pytest.mark.parametrize(
    ("failures", "seconds"), [(-1, 0), (0, 0), (1, 2), (2, 4), (5, 32), (8, 256), (9, CAP_S), (5000, CAP_S)]
)
def test_the_back_off_doubles_up_to_its_cap(failures: int, seconds: float) -> None:
    assert delay_s(failures) == seconds


def test_a_stream_is_named_by_the_uid_and_back() -> None:
    assert cluster_uid_of(cluster_stream(ClusterUid("c0ffee"))) == "c0ffee"
    assert cluster_uid_of("fleet") is None
    assert cluster_uid_of("name-orders") is None
