"""The names of every cluster's topics, ready to be searched, on every server: the one that leads reads them off Kafka's
metadata and records them when they change; others, and a leader that has just started, take what is recorded.
"""

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from controlplane.background.rounds import Round
from controlplane.background.topic_names.record import hash_of, keep_names, kept_hashes, kept_names
from controlplane.background.topic_names.store import ClusterTopics, TopicsFound, topics_found
from controlplane.cluster.view import ClusterView
from controlplane.fleet.ports import SeenFleet
from controlplane.storage.latest_values import LatestStore
from events.clock import Clock
from events.ids import ClusterUid
from planner.observed import KafkaSnapshot

LOOK_EVERY = timedelta(seconds=5)
"""Between two looks at what other servers recorded."""

PATTERN_S = 2.0
"""For a regular expression, which is looked for name by name."""

_MOST_READ = 3
"""Clusters whose names one search reads again."""


@dataclass(frozen=True, slots=True)
class _IndexedCluster:
    """A cluster's topics, the hash of its names, and the metadata they come from: None where they were recorded."""

    topics: ClusterTopics
    sha256: str
    seen: KafkaSnapshot | None = None


@dataclass(frozen=True, slots=True)
class Searched:
    """What was found, and how far the search saw: clusters whose names are as once recorded, and those without any."""

    found: TopicsFound
    recorded: int
    unread: int


class TopicIndex:
    """Thread-safe. A search reads no row and no partition of a cluster that has not changed since the last one."""

    def __init__(self, fleet: SeenFleet, latest: LatestStore, clock: Clock) -> None:
        self._fleet, self._latest, self._clock = fleet, latest, clock
        self._lock = threading.Lock()
        self._known: dict[ClusterUid, _IndexedCluster] = {}
        self._looked_at: datetime | None = None

    def search(self, views: Iterable[ClusterView], text: str, *, most: int) -> Searched:
        """Topics of these clusters alone. Raises StoreUnavailable."""
        asked = list(views)
        known = self._at_hand(asked)
        held = [(v.name, known[v.uid].topics) for v in asked if v.uid in known]
        recorded = sum(v.uid in known and known[v.uid].seen is None for v in asked)
        until_s = time.monotonic() + PATTERN_S
        found = topics_found(held, text, most=most, is_late=lambda: time.monotonic() > until_s)
        return Searched(found, recorded, len(asked) - len(held))

    def poll(self) -> None:
        """One round over the fleet, by the leader: names that have changed are recorded. Raises StoreUnavailable,
        RoundIncomplete."""
        this_round = Round("names of topics")
        living = [v for v in self._fleet.views() if not v.deleted]
        known = self._taken(living)
        kept = kept_hashes(self._latest)
        for view in living:
            one = known.get(view.uid)
            if one is not None and one.seen is not None and kept.get(view.uid) != one.sha256:
                with this_round.apart(view.name):
                    keep_names(self._latest, view.uid, one.topics.names, one.seen.at)
        with self._lock:
            for gone in self._known.keys() - {v.uid for v in living}:
                del self._known[gone]
        this_round.close()

    def _at_hand(self, views: list[ClusterView]) -> dict[ClusterUid, _IndexedCluster]:
        """For whoever searches: nobody waits for names that are read again while there are older ones of each cluster,
        and nobody reads more than a few; the next round does."""
        known = dict(self._known)
        stale = [v for v in views if v.uid not in known or known[v.uid].seen is not self._fleet.last_snapshot(v.uid)]
        lacking = [v for v in views if v.uid not in known]
        if lacking:
            return self._taken(views)
        recorded = any(one.seen is None for one in known.values())
        if (stale or recorded) and self._lock.acquire(blocking=False):
            self._lock.release()
            return self._taken([*stale[:_MOST_READ], *(v for v in views if known[v.uid].seen is None)])
        return known

    def _taken(self, views: list[ClusterView]) -> dict[ClusterUid, _IndexedCluster]:
        """What is known of these clusters, after a look at what is new of them."""
        with self._lock:
            unseen = [view.uid for view in views if not self._is_seen(view.uid)]
            if unseen and self._is_time_to_look():
                kept = kept_hashes(self._latest)
                for uid in unseen:
                    self._take_kept(uid, kept.get(uid))
            return dict(self._known)

    def _is_seen(self, uid: ClusterUid) -> bool:
        """Takes the names off the metadata this server holds; False where it holds none."""
        snapshot, known = self._fleet.last_snapshot(uid), self._known.get(uid)
        if snapshot is None:
            return False
        if known is None or known.seen is not snapshot:
            names = {p.name.topic for p in snapshot.partitions}
            if known is None or len(names) != len(known.topics.names) or not names.issuperset(known.topics.names):
                topics = ClusterTopics.of(names)
                known = _IndexedCluster(topics, hash_of(topics.names))
            self._known[uid] = _IndexedCluster(known.topics, known.sha256, snapshot)
        return True

    def _is_time_to_look(self) -> bool:
        now = self._clock()
        if self._looked_at is not None and timedelta(0) <= now - self._looked_at < LOOK_EVERY:
            return False
        self._looked_at = now
        return True

    def _take_kept(self, uid: ClusterUid, sha256: str | None) -> None:
        known = self._known.get(uid)
        if sha256 is None or (known is not None and known.sha256 == sha256):
            return
        names = kept_names(self._latest, uid)
        if names is not None:
            topics = ClusterTopics.of(names)
            self._known[uid] = _IndexedCluster(topics, hash_of(topics.names))
