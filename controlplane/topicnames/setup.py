"""Builds the index of topic names and what keeps it up to date."""

import threading
from dataclasses import dataclass

from controlplane.fleets import SeenFleet
from controlplane.latest import LatestStore
from controlplane.poller import Leadership, Poller
from controlplane.topicnames.index import LOOK_EVERY, TopicIndex
from events.clock import Clock

_TOPIC_NAMES = "topic-names"


@dataclass(frozen=True, slots=True)
class TopicNames:
    """The index, and what looks for it. Nothing is started."""

    index: TopicIndex
    poller: Poller


def topic_names_of(*, fleet: SeenFleet, latest: LatestStore, leadership: Leadership, clock: Clock) -> TopicNames:
    """The index over the fleet."""
    index = TopicIndex(fleet, latest, clock)
    every = {_TOPIC_NAMES: LOOK_EVERY.total_seconds()}
    poller = Poller({_TOPIC_NAMES: index}, every, leadership=leadership, stop=threading.Event())
    return TopicNames(index, poller)
