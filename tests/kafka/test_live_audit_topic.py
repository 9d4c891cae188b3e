"""The audit in a topic of a real broker: whole, in order, and resumed by what is there."""

import json
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from controlplane.api.audit.binding import AuditTopicBinding
from controlplane.api.audit.entry import Entry, Outcome
from controlplane.api.audit.relay import AuditRelay
from controlplane.api.audit.topic import AuditNotSent, AuditTopicForeign, KafkaAuditTopic
from tests.fakes.audit import MemoryAuditStore
from tests.kafka_processes import KafkaProcesses
from tests.kafka_topics import create_topic

pytestmark = pytest.mark.kafka


class Leads:
    may_act = True


def a_trail(count: int, who: str = "ada") -> MemoryAuditStore:
    store = MemoryAuditStore()
    for number in range(count):
        store.append(an_entry(f"{who} {number}"))
    return store


def an_entry(who: str) -> Entry:
    at = datetime(2026, 1, 1, 12, tzinfo=UTC)
    return Entry(at, who, "session", "127.0.0.1", "POST /v1/clusters", "declare", "orders", Outcome.DONE, 200)


def written(one_broker: KafkaProcesses, topic: str) -> list[tuple[str, dict[str, Any]]]:
    """Key and document of every record of its partition 0."""
    consumer = Consumer({"bootstrap.servers": ",".join(one_broker.bootstrap), "group.id": "test", "log_level": 0})
    try:
        at = TopicPartition(topic, 0, 0)
        _, end = consumer.get_watermark_offsets(at, 10)
        consumer.assign([at])
        found = consumer.consume(end, timeout=20) if end else []
        return [((m.key() or b"").decode(), json.loads(m.value() or b"")) for m in found]
    finally:
        consumer.close()


def a_relay(one_broker: KafkaProcesses, store: MemoryAuditStore, topic: str) -> AuditRelay:
    binding = AuditTopicBinding(bootstrap=tuple(one_broker.bootstrap), topic=topic)
    return AuditRelay(store, KafkaAuditTopic(binding), Leads(), binding.where)


def test_the_audit_is_in_the_topic_in_order_and_another_server_goes_on_behind_it(one_broker: KafkaProcesses) -> None:
    create_topic(one_broker.bootstrap, "audit", partitions=3, rf=1)
    store = a_trail(40)
    first = a_relay(one_broker, store, "audit")
    first.poll()
    first.close()
    store.append(an_entry("grace"))
    second = a_relay(one_broker, store, "audit")
    second.poll()
    second.close()
    found = written(one_broker, "audit")
    assert [key for key, _ in found] == [str(n) for n in range(1, 42)]
    assert [told["position"] for _, told in found] == list(range(1, 42))
    assert found[-1][1]["who"] == "grace"
    assert all(b[1]["previous"] == a[1]["sha256"] for a, b in pairwise(found))


def test_a_topic_of_another_audit_or_of_something_else_gets_nothing(one_broker: KafkaProcesses) -> None:
    create_topic(one_broker.bootstrap, "another", partitions=1, rf=1)
    a_relay(one_broker, a_trail(3, who="others"), "another").poll()
    with pytest.raises(AuditTopicForeign, match="another installation"):
        a_relay(one_broker, a_trail(5), "another").poll()
    assert len(written(one_broker, "another")) == 3
    create_topic(one_broker.bootstrap, "orders", partitions=1, rf=1)
    producer = Producer({"bootstrap.servers": ",".join(one_broker.bootstrap), "log_level": 0})
    producer.produce("orders", b"an order", partition=0)
    assert producer.flush(10) == 0
    with pytest.raises(AuditTopicForeign, match="not an entry of an audit"):
        a_relay(one_broker, a_trail(1), "orders").poll()


def test_a_topic_that_is_not_there_is_not_made(one_broker: KafkaProcesses) -> None:
    relay = a_relay(one_broker, a_trail(1), "absent")
    with pytest.raises(AuditNotSent, match="absent at"):
        relay.poll()
    relay.close()
    admin = AdminClient({"bootstrap.servers": ",".join(one_broker.bootstrap), "log_level": 0})
    assert "absent" not in admin.list_topics(timeout=10).topics
