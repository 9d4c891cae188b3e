"""The one sentence that explains a cluster that is not well, where no condition says it; and none without cause."""

from typing import Any

import pytest

from controlplane.cli.trouble import why
from controlplane.portal.quorumschemas import QuorumMemberOut, QuorumOut
from controlplane.portal.schemas import ClusterDetailOut, FindingOut
from tests.unit.controlplane.cli.cli_world import START, World, condition, detail, instance
from tests.unit.docs.test_doc_findings import agent_findings

KEYS = ("brokers-a-0.g1", "brokers-b-0.g1", "brokers-c-0.g1")


def one_is(**changes: Any) -> ClusterDetailOut:
    """At rest, but for the first VM."""
    status = changes.pop("status", "Converged")
    return detail(status=status, instances=[instance(KEYS[0], **changes), *(instance(k) for k in KEYS[1:])])


def finding(name: str = "disk_full:data", minutes: int = 0) -> FindingOut:
    return FindingOut(name=name, since=START.replace(minute=minutes), message="its numbers")


def a_voter(**changes: Any) -> QuorumOut:
    fields: dict[str, Any] = {"id": 100, "node": "controllers-a-0", "directory_id": "d", "votes": True, "leads": False}
    return QuorumOut(members=[QuorumMemberOut(**{**fields, "lag": 0, "silent_s": 0.1, **changes})])


@pytest.mark.parametrize("name", agent_findings())
def test_every_finding_of_an_agent_explains_a_cluster_that_nothing_else_is_said_of(world: World, name: str) -> None:
    world.server.on("GET", "/clusters/orders", one_is(findings=[finding(name)]))
    (line,) = [line for line in world.run("describe", "orders").stdout.splitlines() if line.startswith("Why:")]
    assert line.split(None, 1)[1].strip() == f"brokers-a-0.g1: {name}: its numbers"


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (one_is(lost=True), "brokers-a-0.g1: the cloud says that its VM is gone"),
        (one_is(reported_state="failed"), "broker 1000 (brokers-a-0.g1) is failed by its agent's word"),
        (
            one_is(reported_state="failed", reported_message="its disk is another directory's"),
            "broker 1000 (brokers-a-0.g1) is failed by its agent's word: its disk is another directory's",
        ),
        (detail(under_min_isr=2), "2 partitions are below their min ISR: they refuse writes of acks=all"),
        (detail(under_replicated=3), "3 partitions have replicas that are not in sync"),
        (
            detail(quorum=a_voter(lag=400, silent_s=12)),
            "controller 100 (controllers-a-0) does not keep up with the quorum: 400 records behind, silent for 12.0 s",
        ),
        (
            detail(status="Unreadable", sentence="an event of a newer release"),
            "Unreadable: an event of a newer release",
        ),
        (detail(status="Held", sentence=""), "Held: nothing is done on this cluster"),
    ],
    ids=["lost", "down", "down and why", "below min ISR", "out of sync", "late controller", "unreadable", "held"],
)
def test_whatever_makes_a_cluster_unhealthy_is_said(said: ClusterDetailOut, sentence: str) -> None:
    assert why(said) == sentence


def test_the_gravest_goes_first_and_a_condition_before_all() -> None:
    bad = one_is(findings=[finding("deadlock", 3), finding("heap_full", 1)], reported_state="failed")
    assert why(bad) == "brokers-a-0.g1: heap_full: its numbers (and 1 findings more)", "the one that is there longest"
    assert why(bad.model_copy(update={"under_min_isr": 1})).startswith("1 partitions are below their min ISR")
    told = [condition("Converged"), condition("Blocked", message="no room")]
    assert why(bad.model_copy(update={"conditions": told})) == "Blocked: no room"


@pytest.mark.parametrize(
    "said",
    [
        one_is(),
        one_is(reported_state=""),
        one_is(phase="draining", lost=False, status="Working", reported_state="stopped"),
        detail(status="Working", under_replicated=7),
        detail(under_min_isr=None, under_replicated=None),
        detail(quorum=a_voter()),
        detail(quorum=a_voter(votes=False, lag=9000)),
    ],
    ids=["well", "not heard yet", "on its way out", "a roll", "unknown", "quorum", "an observer"],
)
def test_without_cause_nothing_is_explained(said: ClusterDetailOut) -> None:
    assert why(said) == ""
