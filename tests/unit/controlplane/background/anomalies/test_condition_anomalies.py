"""What needs a person is told though no other kind of anomaly tells it: conditions, and partitions that fail."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.background.anomalies.evidence import SeenCluster, evidence
from controlplane.cluster.condition_severity import CONDITIONS, Severity, severity_of_anomaly
from controlplane.cluster.view import ClusterView, ConditionView
from planner.anomalies.kinds import Kind, State
from tests.builders import NOW, a_partition, a_snapshot, a_view
from tests.changed_view import changed_view
from tests.unit.controlplane.background.anomalies.test_anomaly_reconciler import Scene
from tests.unit.docs.test_doc_conditions import condition_types

REFUSED = "Terraform refused the plan: quota. Next: kedge resume orders"


def a_condition(reason: str, message: str = "so it is", *, status: bool = True) -> ConditionView:
    return ConditionView(status, reason, message, NOW)


def with_conditions(view: ClusterView | None = None, **conditions: ConditionView) -> ClusterView:
    return replace(view or a_view(), conditions=conditions)


def found_in(view: ClusterView, **seen: Any) -> dict[tuple[Kind, str], str]:
    values: dict[str, Any] = {"kafka": a_snapshot(a_partition()), "slow": (), "now": NOW, **seen}
    return {f.what: f.reason for f in evidence(view, SeenCluster(**values)).findings}


def test_what_waits_for_a_person_is_told_after_two_minutes_with_its_next_step_and_is_over_with_it() -> None:
    scene = Scene(with_conditions(Blocked=a_condition("RunRefused", REFUSED)))
    (first,) = scene.look().open_.values()
    assert (first.kind, first.subject, first.state) == (Kind.CONDITION, "Blocked/RunRefused", State.FOUND)
    assert first.reason == "Terraform refused the plan: quota"
    assert "told in 2 min" in first.words
    (told,) = scene.look(minutes=2).open_.values()
    assert (told.state, told.words) == (State.WAITING, "Next: kedge resume orders")
    scene.fleet.view = with_conditions(Blocked=a_condition("Free", "", status=False))
    (over,) = scene.look(minutes=1).past
    assert (over.state, over.notified) == (State.OVER, True)


def test_what_comes_by_itself_is_told_only_once_nothing_has_gone_on_for_half_an_hour() -> None:
    boots = {"Blocked": a_condition("VmsBoot", "VMs boot")}
    for minutes, told in ((20, False), (40, True)):
        view = changed_view(with_conditions(**boots), progressed_at=NOW - timedelta(minutes=minutes))
        assert ((Kind.CONDITION, "Blocked/VmsBoot") in found_in(view)) is told


def test_a_cluster_that_was_never_converged_tells_what_stands_in_its_way_and_nothing_else() -> None:
    view = changed_view(with_conditions(Blocked=a_condition("RunRefused", REFUSED)), converged=0)
    assert set(found_in(view, kafka=a_snapshot(a_partition(leader=-1)))) == {(Kind.CONDITION, "Blocked/RunRefused")}


def test_a_history_that_cannot_be_read_is_told_and_ends_no_anomaly_of_another_kind() -> None:
    view = changed_view(a_view(), unreadable="event 12 (x): no rule")
    found = evidence(view, SeenCluster(kafka=a_snapshot(a_partition()), slow=(), now=NOW))
    assert [(f.subject, f.reason) for f in found.findings] == [
        ("Unreadable", "its history cannot be read: event 12 (x): no rule")
    ]
    assert found.looked_at == {Kind.CONDITION}
    scene = Scene(view)
    scene.look()
    (told,) = scene.look(minutes=2).open_.values()
    assert told.state is State.WAITING


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        ("Blocked", a_condition("Paused", "ada paused it. Next: kedge resume orders")),
        ("WaitsForWindow", a_condition("Window")),
        ("WaitsForStage", a_condition("FleetOrder")),
        ("Synced", a_condition("Synced")),
        ("Converged", a_condition("Working", status=False)),
        ("AtMinIsr", a_condition("Free", "", status=False)),
        ("MaintenanceScheduled", a_condition("Waiting")),
        ("TopicsDegraded", a_condition("Missing")),
    ],
)
def test_what_is_well_or_told_by_another_kind_is_not_told(name: str, condition: ConditionView) -> None:
    assert all(kind is not Kind.CONDITION for kind, _ in found_in(with_conditions(**{name: condition})))


def test_a_condition_that_is_good_when_true_is_told_when_it_is_false() -> None:
    view = with_conditions(Synced=a_condition("BadSpec", "line 3 is no spec", status=False))
    assert found_in(view)[Kind.CONDITION, "Synced/BadSpec"] == "line 3 is no spec"


def test_partitions_nobody_can_write_are_told_once_by_the_worst() -> None:
    parts = (a_partition("a-0", leader=-1, isr=()), a_partition("b-0", isr=(1000,), min_isr=2), a_partition("c-0"))
    found = found_in(a_view(), kafka=a_snapshot(*parts))
    assert found[Kind.PARTITION_FAILURE, "leaderless"].startswith("1 partition (a-0) without a leader")
    assert found[Kind.PARTITION_FAILURE, "under-min-isr"].startswith("1 partition (b-0) below min ISR")


def test_a_blind_look_says_nothing_of_partitions() -> None:
    assert Kind.PARTITION_FAILURE not in evidence(a_view(), SeenCluster(now=NOW)).looked_at


@pytest.mark.parametrize(
    ("kind", "subject", "severity"),
    [
        ("condition", "AtMinIsr/NoneToSpare", Severity.CRITICAL),
        ("condition", "Unreadable", Severity.CRITICAL),
        ("condition", "WaitsForStage/StageFails", Severity.WARNING),
        ("condition", "OfAnotherRelease/So", Severity.WARNING),
        ("partition-failure", "leaderless", Severity.CRITICAL),
        ("capacity", "brokers-a-0/disk/week", Severity.CRITICAL),
        ("capacity", "brokers-a-0/cpu/week", Severity.WARNING),
        ("goal-violation", "disk", Severity.WARNING),
        ("of-another-release", "x", Severity.WARNING),
    ],
)
def test_each_anomaly_has_a_severity(kind: str, subject: str, severity: Severity) -> None:
    assert severity_of_anomaly(kind, subject) is severity


def test_who_hears_of_warnings_hears_of_what_is_critical_and_not_the_other_way_round() -> None:
    assert Severity.WARNING.covers(Severity.CRITICAL)
    assert not Severity.CRITICAL.covers(Severity.WARNING)


def test_every_condition_that_is_recorded_has_a_row_and_no_other() -> None:
    assert set(condition_types()) == CONDITIONS.keys()
