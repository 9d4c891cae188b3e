"""What is to be done about topics, by what is declared and what is seen; also when there are thousands of them."""

from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView, ConditionView
from controlplane.cluster.views.running_settings import Before, RestartView
from controlplane.cluster.views.topics import TopicsView, TopicView
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.topics.work import ASKED, BATCH, TopicWork, names_to_ask, topic_work
from controlplane.converger.situation.effects import ChangeTopics
from controlplane.converger.situation.observation import TopicsObserved
from controlplane.converger.situation.situation import Situation
from events import facts
from events.topic_facts import TopicDeclaration, TopicsChangeRequested, TopicsTroubled
from planner.observed import KafkaSnapshot
from tests.builders import BEFORE, NOW, a_document, a_partition, a_situation, a_snapshot, a_view, an_instance


def a_topic(name: str, **overrides: Any) -> TopicView:
    values = {
        "partitions": 1, "replicas": 3, "config": {}, "tier": "standard", "owner": "", "deletion_policy": "retain",
        "on_loss": "tell", "labels": {},
    }  # fmt: skip
    owned = overrides.pop("owned", False)
    declared = TopicDeclaration(name=name, **{**values, **overrides})
    return TopicView(declared, "api", "t.yaml", "", BEFORE, owned=owned)


def with_topics(*topics: TopicView, **overrides: Any) -> ClusterView:
    by_name = MappingProxyType({t.name: t for t in topics})
    pending = frozenset(by_name)
    return a_view(topics=TopicsView(by_name, pending), **overrides)


def work(view: ClusterView, snapshot: KafkaSnapshot, **configs: dict[str, str]) -> TopicWork:
    return topic_work(view, snapshot, configs, frozenset(view.topics.by_name))


def test_replicas_of_a_new_topic_stand_in_a_rack_each_and_share_the_leading() -> None:
    found = work(with_topics(a_topic("a", partitions=6)), a_snapshot(brokers=(1000, 1001, 1002)))
    placed = found.step.create["a"].partitions
    assert all(len(set(replicas)) == 3 for replicas in placed)
    assert sorted(replicas[0] for replicas in placed) == [1000, 1000, 1001, 1001, 1002, 1002]


def test_a_topic_waits_for_a_rack_without_a_broker_rather_than_double_up() -> None:
    view = with_topics(a_topic("a", replicas=2))
    found = work(view, a_snapshot(brokers=(1000, 1001), fenced=(1002,)))
    assert not found.troubles
    found = work(with_topics(a_topic("a", replicas=3)), a_snapshot(brokers=(1000, 1001), fenced=(1002,)))
    assert found.troubles["a"].reason == "TooFewBrokers"
    same_rack = replace(a_snapshot().brokers[1001], rack="a")
    squeezed = a_snapshot(brokers=(1000, 1001), fenced=(1002,))
    squeezed = replace(squeezed, brokers={**squeezed.brokers, 1001: same_rack})
    assert work(view, squeezed).troubles["a"].reason == "TooFewRacks"


def test_min_isr_rises_only_once_enough_replicas_are_in_sync_and_falls_at_once() -> None:
    behind = a_partition("a-0", isr=(1000,), min_isr=1, configured_min_isr=1)
    rising = with_topics(a_topic("a", owned=True, config={"min.insync.replicas": "2", "retention.ms": "5"}))
    found = work(rising, a_snapshot(behind), a={})
    assert found.step.configure == {"a": {"retention.ms": "5"}}
    assert found.troubles["a"].reason == "MinIsrWaits"
    falling = with_topics(a_topic("a", owned=True, config={"min.insync.replicas": "1"}))
    found = work(falling, a_snapshot(replace(behind, min_isr=2, configured_min_isr=2)), a={"min.insync.replicas": "2"})
    assert found.step.configure == {"a": {"min.insync.replicas": "1"}}


def _hastes(**overrides: Any) -> ClusterView:
    topic = a_topic("a", owned=True, replicas=2, config={"min.insync.replicas": "2"})
    return with_topics(topic, **overrides)


@pytest.mark.parametrize(
    "view",
    [
        _hastes(restarts={"brokers-a-0.g1": RestartView("brokers-a-0.g1", 2, BEFORE, False, Before({}, {}))}),
        _hastes(orders={"brokers-a-0.g1": NOW - timedelta(seconds=44)}),
        a_view(an_instance("brokers-a-0", 1, phase=Phase.FENCING), topics=_hastes().topics),
        a_view(an_instance("brokers-a-0", 1, lost_at=BEFORE), topics=_hastes().topics),
        a_view(an_instance("brokers-a-0", 2, service_id=1010), topics=_hastes().topics),
        _hastes(recycling=1, document=a_document(version="4.2.0")),
    ],
    ids=["a restart", "an order on its way", "a stop", "a lost VM", "a predecessor serves on", "a roll"],
)
def test_min_isr_of_a_topic_is_not_raised_beside_what_may_take_a_replica_away(view: ClusterView) -> None:
    """An agent that is slow stops its broker by an order whose gate saw the lower value (P1)."""
    whole = a_snapshot(a_partition("a-0", (1000, 1001), min_isr=1, configured_min_isr=1))
    found = work(view, whole, a={"min.insync.replicas": "1"})
    assert not found.step
    assert found.troubles["a"].reason == "MinIsrWaits"


@pytest.mark.parametrize("min_isr", ["2", None], ids=["of its own", "the cluster's"])
def test_a_topic_that_can_spare_no_replica_is_not_made_on_a_broker_that_may_be_about_to_stop(
    min_isr: str | None,
) -> None:
    """The gate of that stop has not seen it: with two replicas and min ISR 2 it would fall below it by our hand."""
    config = {"min.insync.replicas": min_isr} if min_isr else {}
    topic = a_topic("a", replicas=2, config=config)
    document = a_document(config=", config: {min.insync.replicas: 2}")
    told = {"orders": {"brokers-a-0.g1": NOW - timedelta(seconds=44)}, "document": document}
    restarting = {"restarts": {"brokers-a-0.g1": RestartView("brokers-a-0.g1", 2, BEFORE, False, Before({}, {}))}}
    for about in (told, {**restarting, "document": document}):
        found = work(with_topics(topic, **about), a_snapshot())
        assert not found.step
        assert not found.troubles
        with_room = a_topic("a", replicas=3, config=config)
        assert work(with_topics(with_room, **about), a_snapshot()).step.create
    grown = replace(topic, owned=True, declared=replace(topic.declared, partitions=2))
    there = a_snapshot(a_partition("a-0", (1000, 1001), min_isr=2, configured_min_isr=2))
    assert not work(with_topics(grown, **told), there, a=dict(config)).step
    assert work(with_topics(grown, document=document), there, a=dict(config)).step.grow


def test_min_isr_of_a_topic_is_raised_at_rest_and_while_a_roll_waits_for_its_window() -> None:
    whole = a_snapshot(a_partition("a-0", (1000, 1001), min_isr=1, configured_min_isr=1))
    waits = ConditionView(True, "Window", "waits for its window", BEFORE)
    obeyed = NOW - timedelta(seconds=46)
    resting = _hastes(recycling=1, document=a_document(version="4.2.0"), conditions={"WaitsForWindow": waits})
    for view in (_hastes(), _hastes(orders={"brokers-a-0.g1": obeyed}), resting):
        assert work(view, whole, a={"min.insync.replicas": "1"}).step.configure == {"a": {"min.insync.replicas": "2"}}


def test_a_broker_that_is_away_counts_for_no_isr_though_kafka_has_not_noticed() -> None:
    whole = a_snapshot(a_partition("a-0", (1000, 1001), min_isr=1, configured_min_isr=1))
    view, has = _hastes(), {"a": {"min.insync.replicas": "1"}}
    found = topic_work(view, whole, has, frozenset(view.topics.by_name), away=(1001,))
    assert found.troubles["a"].reason == "MinIsrWaits"


def test_min_isr_falls_in_a_roll_but_not_under_a_partition_without_a_leader() -> None:
    """Kafka forgets the ELR with each change of it, which is all that a partition without a leader has."""
    view = with_topics(a_topic("a", owned=True, replicas=2, config={"min.insync.replicas": "1"}), recycling=1)
    behind = a_partition("a-0", (1000, 1001), isr=(1000,), min_isr=2, configured_min_isr=2)
    falling = {"a": {"min.insync.replicas": "1"}}
    assert work(view, a_snapshot(behind), a={"min.insync.replicas": "2"}).step.configure == falling
    headless = replace(behind, isr=(), leader=-1)
    found = work(view, a_snapshot(headless), a={"min.insync.replicas": "2"})
    assert not found.step
    assert found.troubles["a"].reason == "MinIsrWaits"


def test_values_kafka_reads_alike_are_no_difference() -> None:
    view = with_topics(a_topic("a", owned=True, config={"cleanup.policy": "compact, delete", "retention.ms": "060"}))
    found = work(view, a_snapshot(a_partition("a-0")), a={"cleanup.policy": "compact,delete", "retention.ms": "60"})
    assert not found.step
    assert found.settled == {"a"}


def test_what_is_not_ours_is_not_touched() -> None:
    view = with_topics(a_topic("a", partitions=3, config={"retention.ms": "5"}))
    found = work(view, a_snapshot(a_partition("a-0")), a={"cleanup.policy": "compact"})
    assert not found.step
    assert found.troubles["a"].reason == "Exists"
    assert "1 partitions, not 3" in found.troubles["a"].message


def test_an_unknown_configuration_is_not_taken_for_none() -> None:
    view = with_topics(a_topic("a", owned=True, config={"retention.ms": "5"}))
    assert not work(view, a_snapshot(a_partition("a-0"))).step


def test_replicas_shrink_one_at_a_time_and_never_to_fewer_in_sync_than_writes_need() -> None:
    view = with_topics(a_topic("a", owned=True, replicas=1))
    full = a_partition("a-0", min_isr=1, configured_min_isr=1)
    assert [m.after for m in work(view, a_snapshot(full), a={}).moves] == [(1000, 1001)]
    lagging = replace(full, isr=(1000, 1002))
    assert [m.after for m in work(view, a_snapshot(lagging), a={}).moves] == [(1000, 1002)]
    needed = replace(full, isr=(1000,), min_isr=2, configured_min_isr=2)
    found = work(view, a_snapshot(needed), a={})
    assert not found.moves
    assert found.troubles["a"].reason == "ReplicasWait"


def test_new_replicas_go_where_least_is_stored() -> None:
    view = with_topics(a_topic("a", owned=True, replicas=2))
    stored = a_partition("full-0", (1001,), size_bytes=10**6)
    single = a_partition("a-0", (1000,), min_isr=1, configured_min_isr=1)
    moves = work(view, a_snapshot(single, stored), a={}).moves
    assert [(m.before, m.after) for m in moves] == [((1000,), (1000, 1002))]


def test_a_disk_without_room_is_told_and_gets_nothing() -> None:
    view = with_topics(a_topic("a", owned=True, replicas=2))
    huge = a_partition("a-0", (1000,), min_isr=1, configured_min_isr=1, size_bytes=10**12)
    found = work(view, a_snapshot(huge), a={})
    assert not found.moves
    assert "MiB" in found.troubles["a"].message


def test_a_copy_that_would_stop_writes_is_not_begun() -> None:
    """RF 1 under min ISR 2 takes writes at rest, and not while a second replica is copied."""
    view = with_topics(a_topic("a", owned=True, replicas=3, config={"min.insync.replicas": "2"}))
    single = a_partition("a-0", (1000,), min_isr=1, configured_min_isr=2)
    found = work(view, a_snapshot(single), a={"min.insync.replicas": "2"})
    assert not found.moves
    assert "would refuse writes" in found.troubles["a"].message


def _decided(view: ClusterView, snapshot: KafkaSnapshot, refusals: dict[str, str] | None = None) -> Any:
    asked = names_to_ask(view, everything=False)
    step = topic_work(view, snapshot, {}, asked).step
    seen = TopicsObserved(asked, {}, step.names, refusals or {})
    return decide(a_situation(view, kafka=snapshot, topics=seen))


def test_what_kafka_refuses_is_told_of_that_topic_and_the_others_go_on() -> None:
    view = with_topics(a_topic("a"), a_topic("b"))
    decision = _decided(view, a_snapshot(), {"a": "Topic 'a' collides"})
    assert isinstance(decision.events[0], TopicsTroubled)
    assert [(t.name, t.reason) for t in decision.events[0].troubles] == [("a", "Refused")]
    troubles = MappingProxyType({"a": decision.events[0].troubles[0]})
    told = replace(view, topics=replace(view.topics, troubles=troubles, pending=frozenset({"b"})))
    decision = _decided(told, a_snapshot(), {"a": "Topic 'a' collides"})
    assert isinstance(decision.events[0], TopicsChangeRequested)
    assert decision.events[0].create == ("b",)


@pytest.mark.parametrize("state", [{"paused": "lunch"}, {"held": "adopted"}, {"tombstone": "gone"}, {"converged": 0}])
def test_nothing_is_begun_while_the_cluster_is_paused_held_dying_or_not_born(state: dict[str, Any]) -> None:
    decision = _decided(with_topics(a_topic("a"), **state), a_snapshot())
    assert not any(isinstance(e, TopicsChangeRequested) for e in decision.events)
    assert not any(isinstance(e, ChangeTopics) for e in decision.effects)


def test_stale_metadata_changes_no_topic() -> None:
    view = with_topics(a_topic("a"))
    seen = TopicsObserved(frozenset({"a"}), {}, frozenset({"a"}))
    old = replace(a_snapshot(), at=BEFORE)
    situation = Situation(view, a_situation(view, kafka=old, topics=seen).seen, NOW)
    assert not any(isinstance(e, facts.TopicsDeclared | TopicsChangeRequested) for e in decide(situation).events)


def test_of_five_thousand_topics_a_small_batch_is_changed_at_a_time() -> None:
    topics = [a_topic(f"t{n:04}", owned=n >= 1000) for n in range(5000)]
    snapshot = a_snapshot(*(a_partition(f"t{n:04}-0") for n in range(1000, 5000)))
    view = with_topics(*topics)
    asked = names_to_ask(view, everything=False)
    assert len(asked) == ASKED
    assert asked == frozenset(f"t{n:04}" for n in range(ASKED)), "what is to be made goes first"
    found = topic_work(view, snapshot, {f"t{n:04}": {} for n in range(5000)}, frozenset(view.topics.by_name))
    assert len(found.step.create) == BATCH
    assert len(found.settled) == 4000
