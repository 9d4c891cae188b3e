"""A topic's life on real brokers, by the very decisions of the converger: made, grown, set, copied from one replica to
three under throttles, cut back, adopted, deleted with its name.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from controlplane.cluster.commands import DeclareTopics, DeleteTopic
from controlplane.cluster.fold import evolve
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.topics import topic_deleted, topic_news
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.topics.work import names_to_ask, topic_work
from controlplane.converger.situation.observation import Observation, TopicsObserved
from controlplane.converger.situation.ports import Ports
from controlplane.converger.situation.situation import Situation
from controlplane.converger.tick.act import carry_out
from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.errors import KafkaUnavailable
from events.codec import encode
from events.envelope import Recorded
from events.ids import Epoch
from tests.builders import a_view
from tests.kafka_processes import KafkaProcesses
from tests.kafka_topics import create_topic
from tests.sim.topics import declared, topic_text
from tests.waiting import until

pytestmark = pytest.mark.kafka

RACKS = {1000: "a", 1001: "b", 1002: "c"}
WHO: dict[str, Any] = {"name": "orders", "actor": "person:anna", "command_id": "c"}


class Steward:
    """Decides and acts on topics as a tick does, with real metadata and the fold of a stream of its own."""

    def __init__(self, gateway: AdminGateway) -> None:
        self.gateway, self.view = gateway, a_view()
        self.told: list[str] = []
        port: Any = self
        self._ports = Ports(port, port, port, port, port, port, lambda _: gateway, port, "i", port, lambda: Epoch(1))

    def record(self, fact: object) -> None:
        new, at = encode(fact, f"e{self.view.version}"), datetime.now(UTC)
        number = self.view.version + 1
        told = Recorded(number, "s", number, "e", new.type, new.schema, new.data, "a", None, None, 1, at)
        self.view = evolve(self.view, told)
        self.told.append(new.type)
        assert not self.view.history.unreadable, self.view.history.unreadable

    def declare(self, *texts: str) -> None:
        command = DeclareTopics(**WHO, topics=declared(*texts), source="api", path="t.yaml")
        fact = topic_news(self.view, command).fact
        assert fact is not None
        self.record(fact)

    def tick(self) -> None:
        kafka = self.gateway.snapshot()
        asked = names_to_ask(self.view, everything=True)
        configs = self.gateway.topic_configs(asked)
        step = topic_work(self.view, kafka, configs, asked).step
        seen = TopicsObserved(asked, configs, step.names, self.gateway.topic_refusals(step) if step else {})
        for _ in range(20):
            situation = Situation(self.view, Observation(kafka=kafka, topics=seen), datetime.now(UTC))
            decision = decide(situation)
            for fact in decision.events:
                self.record(fact)
            if not decision.events or decision.effects:
                break
        for effect in decision.effects:
            assert carry_out(effect, situation, self._ports) == ""

    def until(self, condition: Callable[[ClusterView], object], what: str) -> None:
        def there() -> bool:
            self.tick()
            return bool(condition(self.view))

        until(there, what, timeout_s=60)

    def settled(self) -> None:
        self.until(lambda view: not view.topics.has_work, "topics as declared")
        assert not self.view.topics.troubles

    def replicas(self, topic: str) -> list[tuple[int, ...]]:
        return [p.replicas for p in self.gateway.snapshot().partitions if p.name.topic == topic]


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaProcesses]:
    root: Path = tmp_path_factory.mktemp("topics")
    kafka = KafkaProcesses(root, controllers=(100,), network="127.0.47")
    try:
        kafka.found(RACKS)
        yield kafka
    finally:
        kafka.close()


@pytest.fixture
def steward(processes: KafkaProcesses) -> Iterator[Steward]:
    dialer = DirectDialer()
    gateway = AdminGateway(dialer, "topics", lambda: processes.bootstrap)

    def live() -> bool:
        try:
            return gateway.snapshot().live_brokers() == set(RACKS)
        except KafkaUnavailable:
            return False

    until(live, "three live brokers", timeout_s=60)
    yield Steward(gateway)
    dialer.close()


def test_a_topic_lives_on_real_brokers_as_it_is_declared(steward: Steward, processes: KafkaProcesses) -> None:
    scratch: dict[str, Any] = {"replicas": 1, "tier": "scratch", "deletionPolicy": "delete"}
    steward.declare(topic_text("life", partitions=2, **scratch, config="{retention.ms: 060000}"))
    steward.settled()
    assert [len(r) for r in steward.replicas("life")] == [1, 1]
    assert steward.gateway.topic_configs(["life"]) == {"life": {"min.insync.replicas": "1", "retention.ms": "60000"}}
    steward.declare(topic_text("life", partitions=4, **scratch, config="{cleanup.policy: compact}"))
    steward.settled()
    assert len(steward.replicas("life")) == 4
    assert steward.gateway.topic_configs(["life"])["life"] == {"cleanup.policy": "compact", "min.insync.replicas": "1"}

    steward.declare(topic_text("life", partitions=4, deletionPolicy="delete", tier="critical"))
    steward.settled()
    racks = [{RACKS[b] for b in replicas} for replicas in steward.replicas("life")]
    assert racks == [{"a", "b", "c"}] * 4
    assert steward.gateway.topic_configs(["life"])["life"]["min.insync.replicas"] == "2"
    assert not steward.gateway.snapshot().throttles.any
    assert {"topics.replication_requested", "topics.replication_ended"} <= set(steward.told)

    steward.declare(topic_text("life", partitions=4, replicas=2, deletionPolicy="delete"))
    steward.settled()
    assert [len(r) for r in steward.replicas("life")] == [2] * 4

    asked = topic_deleted(steward.view, DeleteTopic(**WHO, topic="life", confirm="life", reason="over"))
    steward.record(asked.fact)
    steward.until(lambda view: not view.topics.by_name, "the topic to be gone")
    assert steward.replicas("life") == []


def test_what_was_made_by_hand_is_left_alone_and_a_collision_is_told(
    steward: Steward, processes: KafkaProcesses
) -> None:
    create_topic(processes.bootstrap, "by.hand", partitions=1, rf=1)
    steward.declare(topic_text("by.hand", partitions=2, replicas=1, tier="scratch"))
    steward.declare(topic_text("by_hand"))
    steward.until(lambda view: len(view.topics.troubles) == 2, "both troubles")
    assert {n: t.reason for n, t in steward.view.topics.troubles.items()} == {"by.hand": "Exists", "by_hand": "Refused"}
    assert "collides with existing topic" in steward.view.topics.troubles["by_hand"].message
    assert len(steward.replicas("by.hand")) == 1
