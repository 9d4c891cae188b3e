"""Topics whose replication factor a person changed: what is refused, what begins, and how it ends."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.cluster.commands import CancelReplicationFactor, ChangeReplicationFactor, CommandRefused
from controlplane.cluster.folds.topics import RULES
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.decision import CommandDecision
from controlplane.commands.deciders.factors import factor_asked, factor_cancelled
from controlplane.commands.deciders.lookups import NOTHING, Lookups
from controlplane.converger.situation.decision import Decision
from controlplane.converger.steps.moves.factors import factor_step
from events.topic_facts import (
    ReplicationEnded,
    ReplicationFactorEnded,
    ReplicationFactorRequested,
    TopicDeclaration,
    TopicsDeclared,
)
from planner.observed import PartitionSeen
from tests.builders import NOW, a_partition, a_situation
from tests.unit.controlplane.converger.steps.moves.test_placements import a_cluster, a_look, begun

ASKED = ReplicationFactorRequested(("clicks",), 3, "asked by anna: it matters")
TWO = tuple(a_partition(f"clicks-{n}", (1000, 1001), size_bytes=1000) for n in range(3))


def told(*happened: object) -> ClusterView:
    view = a_cluster("")
    for fact in happened:
        view = RULES[type(fact)](view, fact, NOW)
    return view


def stepped(view: ClusterView, *parts: PartitionSeen, **more: Any) -> Decision | None:
    return factor_step(a_situation(view, kafka=a_look(*(parts or TWO), **more)))


def asked(view: ClusterView, factor: int, *, topic: str = "clicks", below: bool = False, **of: Any) -> CommandDecision:
    command = ChangeReplicationFactor(
        name="orders",
        actor="person:anna",
        command_id="c1",
        reason="it matters",
        topics=(topic,),
        factor=factor,
        below_min_isr=below,
    )
    kafka = of.get("kafka", a_look(*TWO))
    return factor_asked(view, command, Lookups(kafka=kafka) if kafka is not None else NOTHING)


def ended(decision: Decision | None) -> ReplicationFactorEnded:
    assert decision is not None
    (fact,) = decision.events
    assert isinstance(fact, ReplicationFactorEnded)
    return fact


def test_what_would_come_of_it_is_told_and_recorded() -> None:
    decision = asked(a_cluster(""), 3)
    assert decision.fact == ASKED
    assert decision.sentence == (
        "topic clicks get 3 replicas, in small throttled batches: 3 partitions to change, 2.9 KiB to copy"
    )
    assert asked(told(ASKED), 3).fact is None
    assert asked(told(ASKED), 4).fact is not None, "the last word holds"


def test_a_batch_begins_at_rest_and_the_next_one_after_it_until_all_have_them() -> None:
    view = told(ASKED)
    batch = begun(stepped(view))
    assert (batch.cause, batch.bytes) == ("factor", 0), "a person's wish counts against no budget"
    assert all(move.after[:2] == (1000, 1001) for move in batch.moves)
    assert begun(stepped(view)) == batch, "planned anew after a crash, it is the same"
    moving = RULES[type(batch)](view, batch, NOW)
    assert stepped(moving) is None, "it is followed above"
    over = RULES[ReplicationEnded](moving, ReplicationEnded(batch.batch, 3, "3 of 3 moves done"), NOW)
    there = tuple(replace(p, replicas=(1000, 1001, 1002), isr=(1000, 1001, 1002)) for p in TWO)
    fact = ended(stepped(over, *there))
    assert (fact.topics, fact.reason) == (("clicks",), "every partition has 3 replicas")
    assert RULES[type(fact)](over, fact, NOW).topics.factors == {}


def test_nothing_begins_while_a_broker_is_down_or_somebody_moves() -> None:
    waits = stepped(told(ASKED), brokers=(1000, 1001, 1002, 1003, 1004))
    assert waits is not None
    assert not waits.events
    assert "0 of 3 partitions have 3 replicas; a broker is down" in waits.sentence
    moving = a_partition("other-0", (1000, 1001), adding=(1002,))
    again = stepped(told(ASKED), *TWO, moving)
    assert again is not None
    assert not again.events


def test_a_declaration_that_comes_meanwhile_wins() -> None:
    one = TopicDeclaration("clicks", 3, 2, None, "standard", "", "retain", "tell", {})
    fact = ended(stepped(told(ASKED, TopicsDeclared((one,), "api", "", ""))))
    assert fact.reason == "a document declares 2 replicas now"


def test_a_topic_that_is_gone_ends_it() -> None:
    assert ended(stepped(told(ASKED), a_partition("other-0"))).reason == "there is no such topic any more"


def test_what_can_never_be_had_is_given_up_with_what_is_missing() -> None:
    fact = ended(stepped(told(replace(ASKED, factor=7))))
    assert fact.reason == "given up: 7 replicas need 7 brokers that may receive, there are 6"


def test_a_declared_topic_is_refused_with_the_way() -> None:
    one = TopicDeclaration("clicks", 3, 2, None, "standard", "", "retain", "tell", {})
    with pytest.raises(CommandRefused, match=r"declared with 2 replicas by `git:teams` \(topics.yaml\)") as refused:
        asked(told(TopicsDeclared((one,), "git:teams", "topics.yaml", "ab")), 3)
    assert refused.value.code == "declared-topic"
    assert "Change `replicas` of its document" in refused.value.what_next


@pytest.mark.parametrize(
    ("topic", "factor", "code"), [("audit", 3, "no-topic"), ("clicks", 0, "replicas"), ("clicks", 7, "no-place")]
)
def test_what_cannot_be_is_refused(topic: str, factor: int, code: str) -> None:
    with pytest.raises(CommandRefused) as refused:
        asked(a_cluster(""), factor, topic=topic)
    assert refused.value.code == code


def test_fewer_replicas_than_min_isr_need_a_word_and_as_many_are_told() -> None:
    three = a_look(a_partition("clicks-0", (1000, 1001, 1002), min_isr=2))
    with pytest.raises(CommandRefused, match=r"min.insync.replicas 2") as refused:
        asked(a_cluster(""), 1, kafka=three)
    assert refused.value.code == "below-min-isr"
    assert asked(a_cluster(""), 1, below=True, kafka=three).fact is not None
    assert "can then spare no broker" in asked(a_cluster(""), 2, kafka=three).sentence


def test_without_metadata_nobody_knows() -> None:
    with pytest.raises(CommandRefused, match="is not known"):
        asked(a_cluster(""), 3, kafka=None)


def test_a_partition_that_would_refuse_writes_while_it_moves_is_left() -> None:
    alone = replace(a_partition("clicks-0", (1000,), min_isr=1), configured_min_isr=2)
    with pytest.raises(CommandRefused, match="would refuse writes while it moves"):
        asked(a_cluster(""), 2, kafka=a_look(alone))


def cancelled(view: ClusterView, *topics: str) -> CommandDecision:
    command = CancelReplicationFactor(
        name="orders", actor="person:anna", command_id="c2", reason="enough", topics=topics
    )
    return factor_cancelled(view, command)


def test_it_is_cancelled_by_name_or_all_of_it() -> None:
    both = told(ASKED, replace(ASKED, topics=("views",)))
    assert cancelled(both, "views").fact == ReplicationFactorEnded(("views",), "asked by anna: enough")
    everything = cancelled(both).fact
    assert isinstance(everything, ReplicationFactorEnded)
    assert everything.topics == ("clicks", "views")
    assert cancelled(a_cluster("")).fact is None
    with pytest.raises(CommandRefused, match="no replication factor was asked"):
        cancelled(both, "audit")
