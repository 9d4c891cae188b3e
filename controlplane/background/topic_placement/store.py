"""Placements of topics as rows: one of each topic, written when it changes. They may be lost; the next look brings them
back.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from sqlalchemy import Engine, delete, select
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from controlplane.storage.tables import TOPIC_PLACEMENT
from events.engine import reading, writing
from events.ids import ClusterUid

_KEYS_PER_QUERY = 300


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """One topic as it was recorded. `changed_at`: the look that found its placement to be another one."""

    topic: str
    sha256: str
    packed: bytes
    changed_at: datetime


class PlacementStore(Protocol):
    """Contract: tests/contract/test_placement_store.py. All verbs may raise StoreUnavailable."""

    def keep(self, uid: ClusterUid, changed: Sequence[TopicRecord], gone: Collection[str], at: datetime) -> None:
        """Writes what changed and takes out what is gone, in one transaction. A record that is newer stays."""

    def hashes(self, uid: ClusterUid) -> Mapping[str, str]:
        """The hash of each topic of a cluster, without the bytes."""

    def records(self, uid: ClusterUid, topics: Collection[str] | None = None) -> list[TopicRecord]:
        """These topics of a cluster, or every one, by name."""

    def clusters(self) -> frozenset[ClusterUid]:
        """Those of which there is anything."""

    def drop(self, uid: ClusterUid) -> None:
        """Takes out a whole cluster."""


class SqlPlacementStore:
    """A `PlacementStore`: records as rows of `topic_placement`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def keep(self, uid: ClusterUid, changed: Sequence[TopicRecord], gone: Collection[str], at: datetime) -> None:
        if not changed and not gone:
            return
        named = sorted(gone)
        with writing(self._engine) as transaction:
            if changed:
                # Both dialects know the same clause, by two classes.
                kind = sqlite_insert if transaction.dialect.name == "sqlite" else postgresql_insert
                insert = kind(TOPIC_PLACEMENT)
                fresh = {name: insert.excluded[name] for name in ("sha256", "packed", "changed_at")}
                is_newer = TOPIC_PLACEMENT.c.changed_at <= insert.excluded.changed_at
                upsert = insert.on_conflict_do_update(
                    index_elements=["cluster_uid", "topic"], set_=fresh, where=is_newer
                )
                # In one order, so that two writers cannot wait for each other.
                transaction.execute(upsert, [_values(uid, r) for r in sorted(changed, key=lambda r: r.topic)])
            for start in range(0, len(named), _KEYS_PER_QUERY):
                its = TOPIC_PLACEMENT.c.topic.in_(named[start : start + _KEYS_PER_QUERY])
                is_older = TOPIC_PLACEMENT.c.changed_at <= at
                transaction.execute(delete(TOPIC_PLACEMENT).where(TOPIC_PLACEMENT.c.cluster_uid == uid, its, is_older))

    def hashes(self, uid: ClusterUid) -> Mapping[str, str]:
        wanted = select(TOPIC_PLACEMENT.c.topic, TOPIC_PLACEMENT.c.sha256)
        with reading(self._engine) as connection:
            rows = connection.execute(wanted.where(TOPIC_PLACEMENT.c.cluster_uid == uid))
            return {row.topic: row.sha256 for row in rows}

    def records(self, uid: ClusterUid, topics: Collection[str] | None = None) -> list[TopicRecord]:
        its = select(TOPIC_PLACEMENT).where(TOPIC_PLACEMENT.c.cluster_uid == uid)
        named = sorted(topics or ())
        starts = range(0, len(named), _KEYS_PER_QUERY)
        asked = [its.where(TOPIC_PLACEMENT.c.topic.in_(named[start : start + _KEYS_PER_QUERY])) for start in starts]
        with reading(self._engine) as connection:
            rows = [row for wanted in ([its] if topics is None else asked) for row in connection.execute(wanted)]
        found = [TopicRecord(r.topic, r.sha256, bytes(r.packed), r.changed_at) for r in rows]
        return sorted(found, key=lambda record: record.topic)  # databases order names by rules of their own

    def clusters(self) -> frozenset[ClusterUid]:
        with reading(self._engine) as connection:
            rows = connection.execute(select(TOPIC_PLACEMENT.c.cluster_uid).distinct())
            return frozenset(ClusterUid(row.cluster_uid) for row in rows)

    def drop(self, uid: ClusterUid) -> None:
        with writing(self._engine) as transaction:
            transaction.execute(delete(TOPIC_PLACEMENT).where(TOPIC_PLACEMENT.c.cluster_uid == uid))


def _values(uid: ClusterUid, record: TopicRecord) -> dict[str, object]:
    return {
        "cluster_uid": uid,
        "topic": record.topic,
        "sha256": record.sha256,
        "packed": record.packed,
        "changed_at": record.changed_at,
    }
