"""Records where the partitions of every topic are, by the server that reads Kafka: a row where one changed, and for
each cluster a row with the time of the look. Sizes, which change at every look, are a row a cluster every ten minutes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from controlplane.background.rounds import Round
from controlplane.background.topic_placement.packed import hash_of, packed, packed_sizes, shape_of, text_of
from controlplane.background.topic_placement.store import PlacementStore, TopicRecord
from controlplane.fleet.ports import SeenFleet
from controlplane.storage.latest_values import LatestStore, LatestValue, Subject
from events.ids import ClusterUid, Epoch
from planner.observed import KafkaSnapshot, PartitionSeen

READINGS = "topic-looks"
"""Kind of the latest values with the time of the look at each cluster, and when rows of it were written last."""

SIZES = "topic-sizes"
"""Kind of the latest values with the sizes of all partitions of each cluster."""
SIZES_EVERY = timedelta(minutes=10)

_SUBJECT = "topics"


@dataclass(frozen=True, slots=True)
class _Recorded:
    """A cluster as this server has recorded it: the look, the shape of each topic, and which look wrote rows last."""

    at: datetime
    shapes: Mapping[str, int]
    written_at: datetime
    sized_at: datetime


class PlacementReconciler:
    """`Polled` by the leader. What it knows to be written counts for its epoch alone: another server may have led.

    `epoch`: that which this server leads in, None while it does not.
    """

    def __init__(
        self, fleet: SeenFleet, store: PlacementStore, latest: LatestStore, epoch: Callable[[], Epoch | None]
    ) -> None:
        self._fleet, self._store, self._latest, self._epoch = fleet, store, latest, epoch
        self._known: dict[ClusterUid, _Recorded] = {}
        self._known_in: Epoch | None = None

    def poll(self) -> None:
        """One round over the fleet: a cluster that was not looked at since costs nothing. Raises StoreUnavailable,
        RoundIncomplete."""
        epoch, this_round = self._epoch(), Round("placements of topics")
        if epoch is None:
            return
        views = [v for v in self._fleet.views() if not v.deleted]
        if epoch != self._known_in:
            self._known, self._known_in = {}, epoch
            for gone in self._store.clusters() - {v.uid for v in views}:
                self._store.drop(gone)
        rows: list[LatestValue] = []
        for view in views:
            with this_round.apart(view.name):
                rows += self._look(view.uid)
        self._latest.put_all(rows)
        for gone in self._known.keys() - {v.uid for v in views}:
            self._store.drop(gone)
            del self._known[gone]
        this_round.close()

    def _look(self, uid: ClusterUid) -> Iterator[LatestValue]:
        snapshot, known = self._fleet.last_snapshot(uid), self._known.get(uid)
        if snapshot is None or (known is not None and known.at == snapshot.at):
            return
        known = self._known[uid] = self._recorded(uid, snapshot, known)
        if known.sized_at == snapshot.at:
            yield LatestValue(Subject(SIZES, uid, _SUBJECT), {"sizes": packed_sizes(snapshot)}, "kafka", snapshot.at)
        times = {"written_at": known.written_at.isoformat(), "sized_at": known.sized_at.isoformat()}
        yield LatestValue(
            Subject(READINGS, uid, _SUBJECT), {"cluster_id": snapshot.cluster_id, **times}, "kafka", snapshot.at
        )

    def _recorded(self, uid: ClusterUid, snapshot: KafkaSnapshot, known: _Recorded | None) -> _Recorded:
        """Writes what is not as it was."""
        topics = snapshot.by_topic
        shapes = {topic: shape_of(parts) for topic, parts in topics.items()}
        if known is None:
            kept = self._store.hashes(uid)
            found = [_record(topic, parts, snapshot.at) for topic, parts in topics.items()]
            changed = [record for record in found if kept.get(record.topic) != record.sha256]
            gone = kept.keys() - topics.keys()
        else:
            others = [topic for topic, shape in shapes.items() if known.shapes.get(topic) != shape]
            changed = [_record(topic, topics[topic], snapshot.at) for topic in others]
            gone = known.shapes.keys() - topics.keys()
        self._store.keep(uid, changed, gone, snapshot.at)
        # The first look of an epoch says that it wrote: the leader before may have done so and told nobody any more.
        written_at = sized_at = snapshot.at
        if known is not None and not changed and not gone:
            written_at = known.written_at
        if known is not None and snapshot.at - known.sized_at < SIZES_EVERY:
            sized_at = known.sized_at
        return _Recorded(snapshot.at, shapes, written_at, sized_at)


def look_of(latest: LatestStore, uid: ClusterUid) -> LatestValue | None:
    """The newest look at a cluster, whoever looked. Raises StoreUnavailable."""
    return latest.get(Subject(READINGS, uid, _SUBJECT))


def sizes_of(latest: LatestStore, uid: ClusterUid) -> LatestValue | None:
    """The sizes of a cluster's partitions that were recorded last. Raises StoreUnavailable."""
    return latest.get(Subject(SIZES, uid, _SUBJECT))


def _record(topic: str, partitions: Sequence[PartitionSeen], at: datetime) -> TopicRecord:
    text = text_of(partitions)
    return TopicRecord(topic, hash_of(text), packed(text), at)
