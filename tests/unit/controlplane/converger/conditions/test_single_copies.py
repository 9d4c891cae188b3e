"""`SingleCopies`: a topic with one replica that was made beside Kedge is told, by name."""

from dataclasses import replace

import pytest

from controlplane.api.trouble import is_note
from controlplane.cluster.view import ConditionView
from controlplane.cluster.views.topics import TopicsView, TopicView
from controlplane.converger.conditions.changes import condition_changes
from controlplane.converger.conditions.single_copies import single_copies
from controlplane.converger.situation.decision import Decision
from events import facts
from tests.builders import BEFORE, a_document, a_partition, a_situation, a_snapshot, a_view

ALONE, SAFE = a_partition("clicks-0", (1000,)), a_partition("orders-0")


def _told(*partitions: object, **view: object) -> facts.ConditionChanged | None:
    return single_copies(a_situation(a_view(**view), kafka=a_snapshot(*partitions)))  # type: ignore[arg-type]


def test_a_topic_made_outside_with_one_replica_is_told_by_name() -> None:
    found = _told(ALONE, SAFE)
    assert found is not None
    assert (found.status, found.reason) == (True, "Undeclared")
    assert found.message.startswith("clicks has one replica, and nobody declared that")
    assert found.message.endswith("Next: kedge topics orders")
    assert is_note(found.type, found.reason)


def test_many_are_counted_and_the_first_are_named() -> None:
    found = _told(*(a_partition(f"t{n}-0", (1000,)) for n in range(7)))
    assert found is not None
    assert "t0, t1, t2, t3, t4 and 2 more have one replica" in found.message


def test_whole_topics_and_kedges_own_are_quiet() -> None:
    found = _told(SAFE, a_partition("__kedge_heartbeats-0", (1000,)))
    assert found is not None
    assert not found.status


def test_a_partition_that_is_being_moved_off_its_broker_has_the_replicas_it_is_to_have() -> None:
    found = _told(replace(a_partition("clicks-0", (1000, 1001)), adding=(1001,), removing=(1000,)))
    assert found is not None
    assert found.status


@pytest.mark.parametrize("replicas", [1, 3])
def test_a_declared_topic_is_not_told_here_with_as_many_as_declared_or_fewer(replicas: int) -> None:
    declared = facts.TopicDeclaration("clicks", 1, replicas, {}, "scratch", "", "retain", "recreate", {})
    topics = TopicsView(by_name={"clicks": TopicView(declared, "api", "", "", BEFORE)})
    found = _told(ALONE, topics=topics)
    assert found is not None
    assert not found.status


def test_a_spec_that_asks_for_one_replica_is_not_told() -> None:
    for document in (a_document(config=", config: {default.replication.factor: 1}"), a_document(brokers=1, zones="a")):
        found = _told(ALONE, document=document)
        assert found is not None
        assert not found.status


def test_without_fresh_metadata_nothing_is_said() -> None:
    assert single_copies(a_situation(a_view(), kafka=None)) is None


def test_another_topic_is_a_change_and_the_same_is_none() -> None:
    first = _told(ALONE)
    assert first is not None
    view = a_view()
    for partitions, changes in (((ALONE,), 0), ((ALONE, a_partition("views-0", (1001,))), 1)):
        known = replace(
            view, conditions={**view.conditions, first.type: ConditionView(True, first.reason, first.message, BEFORE)}
        )
        told = condition_changes(a_situation(known, kafka=a_snapshot(*partitions)), Decision("at rest"))
        assert len([one for one in told if one.type == "SingleCopies"]) == changes
