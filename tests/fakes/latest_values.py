"""Latest values in memory."""

import threading
from collections.abc import Sequence
from dataclasses import replace

from controlplane.storage.latest_values import KeptObservation, LatestValue, Renewal, Subject, in_order, supersede
from events.ids import ClusterUid


class MemoryLatestStore:
    """Observations of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[Subject, KeptObservation] = {}

    def put(self, observation: LatestValue) -> bool:
        """See LatestStore."""
        return self.put_all([observation]) == 1

    def put_all(self, observations: Sequence[LatestValue]) -> int:
        """See LatestStore."""
        with self._lock:
            news = 0
            for observation in observations:
                kept = supersede(self._kept.get(observation.subject), observation)
                if kept is not None:
                    self._kept[observation.subject] = kept
                    news += 1
            return news

    def renew_all(self, renewals: Sequence[Renewal]) -> int:
        """See LatestStore."""
        with self._lock:
            renewed_n = 0
            for one in renewals:
                kept = self._kept.get(one.subject)
                if kept is None or kept.observation.boot_id != one.boot_id or (kept.observation.seq or 0) >= one.seq:
                    continue
                if kept.observation.value.get("digest") != one.digest:
                    continue
                renewed_n += 1
                renewed = replace(kept.observation, observed_at=one.observed_at, seq=one.seq)
                self._kept[one.subject] = replace(kept, observation=renewed)
            return renewed_n

    def get(self, subject: Subject) -> LatestValue | None:
        """See LatestStore."""
        with self._lock:
            kept = self._kept.get(subject)
            return None if kept is None else kept.observation

    def of_cluster(self, cluster_uid: ClusterUid, kind: str | None = None) -> list[LatestValue]:
        """See LatestStore."""
        with self._lock:
            return in_order(
                kept.observation
                for subject, kept in self._kept.items()
                if subject.cluster_uid == cluster_uid and kind in (None, subject.kind)
            )

    def of_kind(self, kind: str) -> list[LatestValue]:
        """See LatestStore."""
        with self._lock:
            return in_order(kept.observation for subject, kept in self._kept.items() if subject.kind == kind)
