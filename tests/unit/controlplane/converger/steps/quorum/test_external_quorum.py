"""A static quorum of others: nobody joins it, and it is made dynamic where the spec asks and nothing is missing."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.external import ExternalBrokerView, ExternalView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.commands.previews.external import NO_WAY_BACK
from controlplane.commands.previews.plan import preview
from controlplane.converger.ladder.decide import decide
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.effects import RaiseFeature
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.quorum.external import why_it_stays_static
from controlplane.kafka.features import KRAFT, METADATA
from events import facts
from planner.observed import FeatureSeen, KafkaSnapshot, QuorumSeen, VoterSeen
from planner.rollout.windows import Freeze
from tests.builders import BEFORE, NOW, a_situation, a_snapshot, a_view
from tests.changed_view import changed_view
from tests.external_clusters import CLUSTER_ID, THEIRS, an_external_document
from tests.fakes.kafka_parts import NO_DIRECTORY

VOTERS = (9, 10, 11)
STATIC: Mapping[str, FeatureSeen] = {METADATA: FeatureSeen(27, 7, 27), KRAFT: FeatureSeen(0, 0, 1)}
RAISED: Mapping[str, FeatureSeen] = {**STATIC, KRAFT: FeatureSeen(1, 0, 1)}


def a_quorum(
    *late: int, leader: int = 9, directories: Mapping[int, str] | None = None, silent_s: float = 12.0
) -> QuorumSeen:
    known = directories or {}
    members = [
        VoterSeen(v, known.get(v, NO_DIRECTORY), 0, True, silent_s=silent_s if v in late else 0.2) for v in VOTERS
    ]
    return QuorumSeen(leader, 4, (*members, VoterSeen(1, "of-a-broker", 0, False)))


def a_cluster(*, asks: str = "dynamic", ours: int = 0, voters: tuple[int, ...] = VOTERS, **seen: Any) -> Situation:
    """Theirs alone, taken on; `seen` is what Kafka shows of it."""
    document = an_external_document(voters=voters, quorum=asks, ours=ours)
    view = a_view(document=document, generation=2, controller_ids={}, node_addresses={})
    external = document.spec.external
    assert external is not None
    told = {c.id: facts.FoundingVoter(f"external-{c.id}", c.id, c.host, c.port, "") for c in external.controllers}
    there = {b: ExternalBrokerView(b, rack, f"theirs-{b}.example:9092") for b, rack in THEIRS.items()}
    view = replace(
        view,
        instances={},
        external=ExternalView(CLUSTER_ID, there),
        quorum=replace(view.quorum, founding=facts.QuorumFounded(CLUSTER_ID, "4.1", tuple(told.values())), voters=told),
    )
    return a_situation(view, kafka=a_snapshot(**{**shown(), **seen}))


def shown() -> dict[str, Any]:
    return {"brokers": tuple(THEIRS), "cluster_id": CLUSTER_ID, "quorum": a_quorum(), "features": STATIC}


def kafka_of(situation: Situation) -> KafkaSnapshot:
    assert situation.seen.kafka is not None
    return situation.seen.kafka


def after(situation: Situation, **recorded: Any) -> Situation:
    return replace(situation, view=changed_view(situation.view, **recorded))


def waits_with(decision: Decision) -> str:
    assert not decision.effects
    assert not any(isinstance(e, facts.FinalisationRequested | facts.RecycleStarted) for e in decision.events)
    return decision.wait.reason if decision.wait else ""


def test_it_is_asked_first_and_kafka_after_that() -> None:
    situation = a_cluster()
    (asked,) = decide(situation).events
    assert asked == facts.FinalisationRequested(
        KRAFT, 1, "asked for in the spec; all 3 voters keep up, 3 brokers serve"
    )
    assert decide(after(situation, finalising=(KRAFT, 1))).effects == (RaiseFeature(KRAFT, 1),)


def test_it_is_over_once_each_voter_is_told_with_its_directory() -> None:
    two_known = {9: "dir-9", 10: "dir-10"}
    waiting = a_cluster(features=RAISED, ours=3)
    for known in ({}, two_known):
        kafka = replace(kafka_of(waiting), quorum=a_quorum(directories=known))
        decision = decide(replace(waiting, seen=replace(waiting.seen, kafka=kafka)))
        assert waits_with(decision) == "QuorumGate"
    kafka = replace(kafka_of(waiting), quorum=a_quorum(directories={**two_known, 11: "dir-11"}))
    situation = replace(waiting, seen=replace(waiting.seen, kafka=kafka))
    assert decide(situation).events == (facts.FeatureFinalised(KRAFT, 1),)
    (begun,) = decide(after(situation, finalised={KRAFT: 1})).events
    assert isinstance(begun, facts.RecycleStarted), "the pool is made"


def test_what_somebody_else_raised_is_recorded_and_nothing_is_asked_of_kafka() -> None:
    situation = a_cluster(features=RAISED)
    kafka = replace(kafka_of(situation), quorum=a_quorum(directories=dict.fromkeys(VOTERS, "d")))
    assert decide(replace(situation, seen=replace(situation.seen, kafka=kafka))).events == (
        facts.FeatureFinalised(KRAFT, 1),
    )


@pytest.mark.parametrize("ours", [0, 3])
def test_nothing_is_raised_that_the_spec_does_not_ask_for(ours: int) -> None:
    situation = after(a_cluster(asks="as-found", ours=ours), finalising=(KRAFT, 1))
    decision = decide(situation)
    if ours:
        assert waits_with(decision) == "ExternalQuorumStatic"
        assert decision.wait is not None
        assert "quorum: dynamic" in decision.wait.next_command
    else:
        assert decision.events == (facts.RecycleCompleted(2),), "watched as it is"


@pytest.mark.parametrize(
    ("seen", "reason", "words"),
    [
        ({"quorum": a_quorum(11)}, "QuorumGate", "1 of 3 voters do not keep up: 11 is 0 records behind, silent"),
        ({"quorum": a_quorum(11, silent_s=2.5)}, "QuorumGate", "silent for 2.5 s"),
        ({"quorum": a_quorum(leader=-1)}, "QuorumGate", "the quorum has no leader"),
        ({"fenced": (2,)}, "BrokerDown", "broker 2 (rack c) is down"),
        ({"brokers": (1, 2, 3, 7), "fenced": (7,)}, "FinalisationBlocked", "broker 7 registered and not serving"),
        (
            {"features": {**STATIC, KRAFT: FeatureSeen(0, 0, 0, limited_by=(3,))}},
            "FinalisationBlocked",
            "broker 3 does not support kraft.version 1",
        ),
        ({"features": {**STATIC, METADATA: FeatureSeen(25, 7, 27)}}, "ExternalQuorumStatic", "finalised at 25 there"),
        ({"features": {METADATA: FeatureSeen(19, 1, 19)}}, "ExternalQuorumStatic", "from 4.1 on"),
        ({"voters": (9, 10)}, "ExternalMismatch", "the quorum's voters are 9, 10, 11"),
    ],
)
def test_nothing_may_be_missing_while_it_is_raised(seen: dict[str, Any], reason: str, words: str) -> None:
    for recorded in ({}, {"finalising": (KRAFT, 1)}):
        decision = decide(after(a_cluster(**seen), **recorded))
        assert waits_with(decision) == reason
        assert words in decision.sentence


def test_who_cannot_read_kafka_waits() -> None:
    situation = a_cluster(ours=3)
    assert waits_with(decide(replace(situation, seen=replace(situation.seen, kafka=None)))) == "KafkaUnknown"


def test_it_waits_for_the_end_of_a_freeze() -> None:
    situation = after(a_cluster(), converged=1)
    frozen = replace(situation, freezes=(Freeze(begins=BEFORE, ends=NOW + timedelta(hours=1), reason="year's end"),))
    decision = decide(frozen)
    assert waits_with(decision) == "Freeze"
    assert WaitReason.WINDOW not in decision.sentence


def test_once_it_is_recorded_nothing_is_looked_at_any_more() -> None:
    view = changed_view(a_cluster().view, finalised={KRAFT: 1}, converged=2)
    decision = decide(a_situation(view, kafka=None))
    assert (decision.events, decision.effects, decision.wait) == ((), (), None)


def _plan(view: ClusterView, snapshot: KafkaSnapshot | None, **asked: Any) -> tuple[list[str], tuple[str, ...]]:
    document = an_external_document(voters=VOTERS, **asked)
    told = preview(view, document, snapshot=snapshot)
    return [p.name for p in told.rollout.phases], told.warnings


def test_a_plan_shows_the_step_first_and_that_there_is_no_way_back() -> None:
    situation = a_cluster(asks="as-found")
    for snapshot in (kafka_of(situation), None):
        names, warnings = _plan(situation.view, snapshot, quorum="dynamic", ours=3)
        assert names[0] == "make the quorum of others dynamic, kraft.version 1 (no way back after this step)"
        assert len(names) > 1, "then the pool"
        assert NO_WAY_BACK in warnings


def test_a_plan_says_what_a_pool_waits_for() -> None:
    situation = a_cluster(asks="as-found")
    names, warnings = _plan(situation.view, kafka_of(situation), ours=3)
    assert not any("dynamic" in name for name in names)
    assert any("write `quorum: dynamic` under `spec.external`" in w for w in warnings)
    old = replace(kafka_of(situation), features={**STATIC, METADATA: FeatureSeen(25, 7, 25)})
    _, warnings = _plan(situation.view, old, quorum="dynamic")
    assert f"the quorum stays static, and no VM is made before it is dynamic: {why_it_stays_static(old)}" in warnings
    assert NO_WAY_BACK not in warnings


def test_a_plan_says_nothing_of_a_quorum_that_is_dynamic() -> None:
    situation = a_cluster(features=RAISED)
    for view in (situation.view, changed_view(situation.view, finalised={KRAFT: 1})):
        names, warnings = _plan(view, kafka_of(situation), quorum="dynamic", ours=3)
        assert not any("dynamic" in text for text in (*names, *warnings))
