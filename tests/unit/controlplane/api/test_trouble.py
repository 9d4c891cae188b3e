"""The one sentence that explains a cluster that is not well goes by gravity, and a well cluster has none."""

from datetime import timedelta
from itertools import combinations
from typing import Any

import pytest

from controlplane.api.schemas.clusters import ClusterDetailOut
from controlplane.api.schemas.instances import BesideOut, FindingOut
from controlplane.api.schemas.quorum import QuorumMemberOut, QuorumOut
from controlplane.api.trouble import GRAVE, ITS_TURN, why
from controlplane.cluster.condition_severity import CONDITIONS, Severity
from controlplane.cluster.wait_reasons import Mark, WaitReason, is_for_a_person
from tests.unit.controlplane.cli.cli_world import START, condition, detail, instance
from tests.unit.docs.doc_pages import bare, table_headed, text
from tests.unit.docs.test_doc_conditions import condition_types
from tests.unit.docs.test_doc_findings import agent_findings

KEYS = ("brokers-a-0.g1", "brokers-b-0.g1", "brokers-c-0.g1")
MESSAGE = "as it should not be"

A_NOTE = {
    **{kind: "" for kind, row in CONDITIONS.items() if row.note},
    **{kind: reason for kind, row in CONDITIONS.items() for reason, s in row.reasons.items() if s is Severity.INFO},
}
"""Type of a condition that is no illness, and the reason for which it is none ("": any)."""
ILLNESSES = [t for t in condition_types() if t != "Converged" and A_NOTE.get(t) != ""]


def one_is(**changes: Any) -> ClusterDetailOut:
    """At rest, but for the first VM."""
    status, faults = changes.pop("status", "Converged"), changes.pop("faults", [])
    others = [instance(key) for key in KEYS[1:]]
    return detail(status=status, faults=faults, instances=[instance(KEYS[0], **changes), *others])


def finding(name: str = "disk_full:data", minutes: int = 0) -> FindingOut:
    return FindingOut(name=name, since=START.replace(minute=minutes), message="its numbers")


def a_voter(**changes: Any) -> QuorumOut:
    fields: dict[str, Any] = {"id": 100, "node": "controllers-a-0", "directory_id": "d", "votes": True, "leads": False}
    return QuorumOut(members=[QuorumMemberOut(**{**fields, "lag": 0, "silent_s": 0.1, **changes})])


def bad(kind: str, reason: str = "", message: str = MESSAGE) -> Any:
    """The condition as it is when somebody should know of it."""
    return condition(kind, status=kind != "Synced", reason=reason, message=message)


def note(kind: str) -> Any:
    return bad(kind, reason=A_NOTE[kind], message="of no harm")


def with_conditions(*told: Any, **changes: Any) -> ClusterDetailOut:
    return detail(conditions=[condition("Converged"), *told], **changes)


@pytest.mark.parametrize("name", agent_findings())
def test_every_finding_of_an_agent_explains_a_cluster_that_nothing_else_is_said_of(name: str) -> None:
    assert why(one_is(findings=[finding(name)])) == f"brokers-a-0.g1: {name}: its numbers"


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (one_is(lost=True), "brokers-a-0.g1: the cloud says that its VM is gone"),
        (one_is(reported_state="failed"), "broker 1000 (brokers-a-0.g1) is failed by its agent's word"),
        (
            one_is(reported_state="failed", reported_message="its disk is another directory's"),
            "broker 1000 (brokers-a-0.g1) is failed by its agent's word: its disk is another directory's",
        ),
        (
            one_is(reported_state="failed", findings=[finding("directory_lost:data")]),
            "brokers-a-0.g1: directory_lost:data: its numbers",
        ),
        (
            one_is(beside=BesideOut(service_id=101, votes=True, reported_state="failed")),
            "zookeeper 101 (brokers-a-0.g1) is failed by its agent's word",
        ),
        (
            one_is(kafka_state="fenced"),
            "broker 1000 (brokers-a-0.g1) is away: Kafka holds it fenced: it serves nobody; its agent says running",
        ),
        (
            one_is(kafka_state="absent", report_age_s=400.0),
            "broker 1000 (brokers-a-0.g1) is away: Kafka does not have it registered; its agent has been silent for "
            "400 s",
        ),
        (
            one_is(kafka_state="serves", report_age_s=400.0),
            "broker 1000 (brokers-a-0.g1): its agent has been silent for 400 s",
        ),
        (detail(under_min_isr=1), "1 partition is below its min ISR: it refuses writes of acks=all"),
        (detail(under_replicated=1), "1 partition has replicas that are not in sync"),
        (detail(under_min_isr=2), "2 partitions are below their min ISR: they refuse writes of acks=all"),
        (
            detail(under_min_isr=2, leaderless=1),
            "1 partition has no leader: nobody can write to it or read it",
        ),
        (
            one_is(lost=True).model_copy(update={"under_min_isr": 2}),
            "2 partitions are below their min ISR: they refuse writes of acks=all (broker 1000 (brokers-a-0.g1) away)",
        ),
        (detail(under_replicated=3), "3 partitions have replicas that are not in sync"),
        (
            detail(quorum=a_voter(lag=400, silent_s=12)),
            "controller 100 (controllers-a-0) does not keep up with the quorum: 400 records behind, silent for 12.0 s",
        ),
        (
            detail(status="Unreadable", sentence="an event of a newer release", under_min_isr=7),
            "Unreadable: an event of a newer release",
        ),
        (detail(status="Held", sentence=""), "Held: nothing is done on this cluster"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_whatever_makes_a_cluster_unhealthy_is_said(said: ClusterDetailOut, sentence: str) -> None:
    assert why(said) == sentence


def test_a_fault_on_purpose_hides_nothing_of_what_it_harms() -> None:
    fault = {"status": "Working", "faults": ["pause of brokers-a-0.g1, asked by ada: over in 1 min"]}
    away = "broker 1000 (brokers-a-0.g1) is away: Kafka holds it fenced: it serves nobody; its agent says running"
    assert why(one_is(kafka_state="fenced", status="Working")) == "", "a roll stops services on purpose"
    assert why(one_is(kafka_state="fenced", **fault).model_copy(update={"faults_alone": True})) == away
    assert why(detail(under_replicated=3, faults_alone=True, **fault)).startswith("3 partitions have replicas")


@pytest.mark.parametrize("kind", ILLNESSES)
def test_every_condition_that_is_no_note_explains_a_cluster_that_nothing_else_is_said_of(kind: str) -> None:
    assert why(with_conditions(bad(kind))) == f"{kind}: {MESSAGE}"


@pytest.mark.parametrize("kind", A_NOTE)
def test_a_note_is_no_reason_of_a_well_cluster(kind: str) -> None:
    """A cluster on another machine type, since the cloud had no other, was not well for months."""
    assert kind in condition_types()
    assert why(with_conditions(note(kind))) == ""


@pytest.mark.parametrize(
    ("harmless", "kind"), [(harmless, kind) for harmless in A_NOTE for kind in ILLNESSES if kind != harmless]
)
def test_no_note_however_old_hides_a_condition(harmless: str, kind: str) -> None:
    old = note(harmless).model_copy(update={"since": START - timedelta(days=90)})
    assert why(with_conditions(old, bad(kind))) == f"{kind}: {MESSAGE}"


@pytest.mark.parametrize("kind", [t for t in condition_types() if t not in ("Converged", "Synced")])
def test_partitions_that_refuse_writes_are_told_whichever_condition_stands(kind: str) -> None:
    """7 partitions below their min ISR and a VM that is gone were explained by a setting somebody had adopted."""
    told = why(with_conditions(bad(kind), under_min_isr=7, instances=one_is(lost=True).instances))
    assert told.startswith("7 partitions are below their min ISR")


@pytest.mark.parametrize("kind", [t for t in ILLNESSES if t not in GRAVE])
def test_a_vm_that_is_gone_is_told_before_conditions_that_are_not_grave(kind: str) -> None:
    told = with_conditions(bad(kind), instances=one_is(lost=True).instances)
    assert why(told) == "brokers-a-0.g1: the cloud says that its VM is gone"


@pytest.mark.parametrize("kind", GRAVE)
def test_grave_conditions_are_conditions_and_go_before_vms_and_others(kind: str) -> None:
    assert kind in condition_types()
    others = [bad(other) for other in ILLNESSES if other not in GRAVE]
    told = with_conditions(*others, bad(kind, message="grave"), instances=one_is(lost=True).instances)
    assert why(told) == f"{kind}: grave"


def test_of_two_grave_conditions_the_graver_is_told_whatever_is_older() -> None:
    for first, second in combinations(GRAVE, 2):
        old = bad(second).model_copy(update={"since": START - timedelta(days=9)})
        assert why(with_conditions(old, bad(first, message="the worse"))) == f"{first}: the worse"


def test_what_waits_for_a_person_goes_before_grave_conditions_and_after_refused_writes() -> None:
    told = [bad("Ailing"), condition("Blocked", reason="NoRoom", message="no room. Next: kedge apply -f orders.yaml")]
    assert why(with_conditions(*told)) == "Blocked: no room"
    assert why(with_conditions(*told, under_min_isr=1)).startswith("1 partition is below its min ISR")


def test_what_ends_by_itself_goes_after_brokers_by_name() -> None:
    waits = condition("Blocked", reason="BrokerDown", message="replicas are out of sync")
    assert why(with_conditions(bad("Ailing"), waits)) == f"Ailing: {MESSAGE}"
    away = one_is(kafka_state="fenced", report_age_s=300.0).instances
    told = why(with_conditions(waits, status="Blocked", instances=away))
    assert told.startswith("broker 1000 (brokers-a-0.g1) is away")
    assert why(with_conditions(bad("CloudDrift"), waits)) == "Blocked: replicas are out of sync"


def test_a_service_that_is_stopped_on_purpose_is_no_reason() -> None:
    restarting = condition("Blocked", reason="Restart", message="broker 1000 is not back yet")
    stopped = one_is(reported_state="stopped", kafka_state="fenced").instances
    assert why(with_conditions(restarting, status="Blocked", instances=stopped)).startswith("Blocked: broker 1000")
    assert why(detail(status="Working", instances=stopped)) == ""


def test_who_paused_it_knows_and_is_told_what_goes_wrong_meanwhile() -> None:
    paused = [condition("Blocked", reason="Paused", message="paused by ada"), bad("Paused")]
    assert why(with_conditions(*paused, bad("Ailing"))) == f"Ailing: {MESSAGE}"
    assert why(with_conditions(*paused)) == "Blocked: paused by ada"


def test_a_note_that_needs_somebody_is_none() -> None:
    assert why(with_conditions(bad("WaitsForStage", reason="StageFails"))) == f"WaitsForStage: {MESSAGE}"
    assert why(with_conditions(bad("MaintenanceScheduled", reason="Waiting"))) == f"MaintenanceScheduled: {MESSAGE}"


@pytest.mark.parametrize("kind", ITS_TURN)
def test_work_that_is_not_begun_is_explained_by_what_it_waits_for(kind: str) -> None:
    waits = bad(kind, message="for Sunday")
    assert why(with_conditions(waits, status="Working")) == f"{kind}: for Sunday"
    assert why(with_conditions(waits, bad("CloudDrift"), status="Working")) == f"CloudDrift: {MESSAGE}"


def test_of_findings_the_oldest_is_told_with_how_many_more() -> None:
    two = one_is(findings=[finding("deadlock", 3), finding("heap_full", 1)])
    assert why(two) == "brokers-a-0.g1: heap_full: its numbers (and 1 finding more)"


@pytest.mark.parametrize(
    "said",
    [
        one_is(),
        one_is(reported_state=""),
        one_is(phase="draining", lost=False, status="Working", reported_state="stopped"),
        one_is(kafka_state="serves"),
        one_is(report_age_s=90.0),
        detail(status="Working", under_replicated=7),
        detail(under_min_isr=None, under_replicated=None),
        detail(quorum=a_voter()),
        detail(quorum=a_voter(votes=False, lag=9000)),
        with_conditions(*(condition(t, status=t == "Synced") for t in condition_types() if t != "Converged")),
    ],
    ids=lambda one: f"{one.status} {one.under_replicated}",
)
def test_without_cause_nothing_is_explained(said: ClusterDetailOut) -> None:
    assert why(said) == ""


def test_who_ends_a_wait_is_as_operators_read_it() -> None:
    rows = table_headed(text("docs/operating.md"), "reason")
    marked = {bare(row[0]) for row in rows if "**person" in row[2]}
    assert marked == {reason for reason in WaitReason if reason.has(Mark.PERSON)}
    once_given_up = {bare(row[0]) for row in rows if "**person" in "".join(row[3:])}
    assert once_given_up == {reason for reason in WaitReason if reason.has(Mark.PERSON_ONCE_GIVEN_UP)}


def test_a_run_that_fails_is_for_a_person_once_it_is_not_tried_again() -> None:
    assert not is_for_a_person("RunFailed", "Terraform failed, again in 8 s")
    assert is_for_a_person("RunFailed", "Terraform failed 6 times. Next: kedge resume orders")
