"""What a document says about metrics, and that it says nothing unless the setting is on."""

import json

from agent.wire import Document
from controlplane.api.documents import offer
from controlplane.background.metric_pipeline.topic import MetricsTo
from events.ids import Epoch
from spark.metrics.topic import TOPIC, TOPIC_CONFIG
from tests.builders import a_view

EPOCH = Epoch(3)


def told(key: str, *, metrics: bool) -> Document:
    return Document.model_validate_json(
        offer(a_view(), key, epoch=EPOCH, metrics=MetricsTo() if metrics else None).body
    )


def test_brokers_are_told_where_metrics_go_only_when_asked_for() -> None:
    topic = told("brokers-a-0.g1", metrics=True).metrics
    assert topic is not None
    assert (topic.name, topic.replication, topic.config, topic.bootstrap) == (TOPIC, 3, TOPIC_CONFIG, "")
    assert told("brokers-a-0.g1", metrics=False).metrics is None
    assert told("controllers-a-0.g1", metrics=True).metrics is None


def test_a_vm_that_filters_packets_is_told_its_rules_and_an_older_agent_can_read_it() -> None:
    plain = offer(a_view(), "brokers-a-0.g1", epoch=EPOCH)
    first, second = (offer(a_view(), "brokers-a-0.g1", epoch=EPOCH, packet_filter=rules) for rules in ("some", "other"))
    assert Document.model_validate_json(first.body).packet_filter == "some"
    assert len({plain.etag, first.etag, second.etag}) == 3
    content = json.loads(first.body)
    del content["packet_filter"]
    assert Document.model_validate(content) == Document.model_validate_json(plain.body)


def test_turning_metrics_on_is_a_new_document_and_an_older_agent_can_read_it() -> None:
    on, off = (offer(a_view(), "brokers-a-0.g1", epoch=EPOCH, metrics=metrics) for metrics in (MetricsTo(), None))
    assert on.etag != off.etag
    content = json.loads(on.body)
    del content["metrics"]  # what an agent that does not know the key sees
    assert Document.model_validate(content) == Document.model_validate_json(off.body)
