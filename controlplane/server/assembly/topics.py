"""Builds what knows the topics of the fleet beside the ticks: their names, and where their partitions are."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Engine

from controlplane.background.topic_names.index import LOOK_EVERY, TopicIndex
from controlplane.background.topic_placement.reconciler import PlacementReconciler
from controlplane.background.topic_placement.store import SqlPlacementStore
from controlplane.fleet.ports import SeenFleet
from controlplane.runtime.polling import Leadership, Polled, Poller
from controlplane.storage.latest_values import LatestStore
from events.clock import Clock
from events.ids import Epoch

_TOPIC_NAMES, _TOPIC_PLACEMENTS = "topic-names", "topic-placements"


@dataclass(frozen=True, slots=True)
class TopicRoom:
    """What is asked, and what records for it. Nothing is started."""

    index: TopicIndex
    poller: Poller


def topics_of(
    engine: Engine,
    *,
    fleet: SeenFleet,
    latest: LatestStore,
    leadership: Leadership,
    epoch: Callable[[], Epoch | None],
    clock: Clock,
) -> TopicRoom:
    index, store = TopicIndex(fleet, latest, clock), SqlPlacementStore(engine)
    polled: dict[str, Polled] = {
        _TOPIC_NAMES: index,
        _TOPIC_PLACEMENTS: PlacementReconciler(fleet, store, latest, epoch),
    }
    every_s = dict.fromkeys(polled, LOOK_EVERY.total_seconds())
    poller = Poller(polled, every_s, leadership=leadership, stop=threading.Event())
    return TopicRoom(index, poller)
