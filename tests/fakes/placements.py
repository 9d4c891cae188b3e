"""Placements of topics in memory."""

import threading
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from controlplane.background.topic_placement.store import TopicRecord
from events.ids import ClusterUid


class MemoryPlacementStore:
    """Records of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[ClusterUid, dict[str, TopicRecord]] = {}

    def keep(self, uid: ClusterUid, changed: Sequence[TopicRecord], gone: Collection[str], at: datetime) -> None:
        """See PlacementStore."""
        with self._lock:
            kept = self._kept.setdefault(uid, {})
            for record in changed:
                if record.topic not in kept or kept[record.topic].changed_at <= record.changed_at:
                    kept[record.topic] = record
            for topic in gone:
                if topic in kept and kept[topic].changed_at <= at:
                    del kept[topic]

    def hashes(self, uid: ClusterUid) -> Mapping[str, str]:
        """See PlacementStore."""
        return {record.topic: record.sha256 for record in self.records(uid)}

    def records(self, uid: ClusterUid, topics: Collection[str] | None = None) -> list[TopicRecord]:
        """See PlacementStore."""
        with self._lock:
            kept = sorted(self._kept.get(uid, {}).items())
        return [record for topic, record in kept if topics is None or topic in topics]

    def clusters(self) -> frozenset[ClusterUid]:
        """See PlacementStore."""
        with self._lock:
            return frozenset(uid for uid, kept in self._kept.items() if kept)

    def drop(self, uid: ClusterUid) -> None:
        """See PlacementStore."""
        with self._lock:
            self._kept.pop(uid, None)
