"""A topic by a part of its name, over the metadata of many clusters. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from planner.observed import KafkaSnapshot


@dataclass(frozen=True, slots=True)
class TopicHit:
    """A topic, and the cluster it is in."""

    topic: str
    cluster: str


@dataclass(frozen=True, slots=True)
class TopicsFound:
    """The first `hits`, and how many there are of them all."""

    hits: tuple[TopicHit, ...]
    count: int


def topics_found(held: Iterable[tuple[str, KafkaSnapshot]], text: str, *, most: int) -> TopicsFound:
    """Topics with the text in their name, those that begin with it first, then by name and cluster. Case is not looked
    at. `held`: names of clusters with their metadata. Nothing is found for an empty text."""
    wanted = text.strip().lower()
    if not wanted:
        return TopicsFound((), 0)
    found = [
        TopicHit(topic, cluster)
        for cluster, snapshot in held
        for topic in {p.name.topic for p in snapshot.partitions}
        if wanted in topic.lower()
    ]
    found.sort(key=lambda hit: (not hit.topic.lower().startswith(wanted), hit.topic, hit.cluster))
    return TopicsFound(tuple(found[:most]), len(found))
