"""Topics as they were: what was declared then, beside where the metric lake saw their partitions. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from controlplane.api.past import Past, past_out
from controlplane.api.presenters.topics import topic_out
from controlplane.api.schemas import topics as topic_api

if TYPE_CHECKING:
    from spark.metrics.placement import Held, WindowPlacement


@dataclass(frozen=True, slots=True)
class BrokerThen:
    """How many replicas a broker held then, and how many of these partitions it led at some time of the window."""

    broker: int
    replicas: int
    led: int


def past_topics_out(
    past: Past, placement: "WindowPlacement", *, part: str = "", after: str = "", most: int | None = None
) -> topic_api.TopicsOut:
    """A page of the topics with `part` in their name: declared then, or seen by the lake. None is told with its
    partitions: one alone is."""
    seen = {topic for topic, _ in placement.by_partition}
    names = sorted(name for name in {*seen, *past.view.topics.by_name} if part in name)
    topics = [topic_out(past.view, name, None) for name in [n for n in names if n > after][:most]]
    out = past_out(past, placement.reason)
    return topic_api.TopicsOut(cluster=past.view.name, metadata_age_s=None, topics=topics, total=len(names), past=out)


def past_topic_out(past: Past, placement: "WindowPlacement", topic: str) -> topic_api.TopicOut | None:
    """One topic with its partitions of then; None where neither the log nor the lake knows it."""
    placed = partitions_then(placement, topic)
    if not placed and topic not in past.view.topics.by_name:
        return None
    rows = [
        topic_api.PlacedThenOut(
            partition=number, brokers=list(held.brokers), led_by=list(held.led_by), log_bytes=held.log_bytes
        )
        for number, held in placed.items()
    ]
    out = topic_out(past.view, topic, None)
    return out.model_copy(update={"past": past_out(past, placement.reason), "placed": rows})


def partitions_then(placement: "WindowPlacement", topic: str) -> Mapping[int, "Held"]:
    """Those of one topic, by number."""
    return {number: held for (name, number), held in sorted(placement.by_partition.items()) if name == topic}


def brokers_then(placement: "WindowPlacement") -> list[BrokerThen]:
    """Every broker that told anything or was told of, by id."""
    held = Counter(broker for one in placement.by_partition.values() for broker in one.brokers)
    led = Counter(broker for one in placement.by_partition.values() for broker in one.led_by)
    return [BrokerThen(b, held[b], led[b]) for b in sorted({*placement.brokers, *held})]
