"""Since when replicas are out of sync, from look to look at Kafka, in memory: Kafka itself does not tell. If it is lost
the time counts anew, so what is told is when this server first saw it.
"""

from collections.abc import Mapping
from datetime import datetime

from events.ids import ClusterUid
from planner.observed import KafkaSnapshot, TopicPartition

Replica = tuple[TopicPartition, int]
"""A partition, and the broker whose replica of it is meant."""

_NONE: Mapping[Replica, datetime] = {}


class BehindWatch:
    """Of all clusters; a look at one that is in sync costs nothing beyond seeing that."""

    def __init__(self) -> None:
        self._read_at: dict[ClusterUid, datetime] = {}
        self._since: dict[ClusterUid, Mapping[Replica, datetime]] = {}

    def see(self, uid: ClusterUid, kafka: KafkaSnapshot) -> None:
        """Takes in a look; the same one again changes nothing."""
        if self._read_at.get(uid) == kafka.at:
            return
        self._read_at[uid] = kafka.at
        behind, before = kafka.under_replicated(), self._since.get(uid, _NONE)
        if not behind:
            self._since.pop(uid, None)
            return
        # One that is just arriving has not fallen behind: it was never there.
        missing = [(p.name, r) for p in behind for r in p.replicas if r not in p.isr and r not in p.adding]
        self._since[uid] = {replica: before.get(replica, kafka.at) for replica in missing}

    def since(self, uid: ClusterUid) -> Mapping[Replica, datetime]:
        """Replicas out of sync at the last look, and the look that first found each so."""
        return self._since.get(uid, _NONE)
