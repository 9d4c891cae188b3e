"""What is remembered of running moves and of elections that were asked for: kept in the latest-value table, so that
another server knows how long a move has stood still. It may be lost; then the time counts anew.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from controlplane.storage.latest_values import LatestStore, LatestValue, Subject
from events.ids import ClusterUid
from planner.observed import KafkaSnapshot, TopicPartition
from planner.pulse import MovePulse, felt

MOVE_PULSES = "move-pulses"
"""Kind of the latest-value row, one a cluster, that holds the pulses of its moves and the elections asked for."""

WRITE_EVERY = timedelta(seconds=5)
"""Growth alone is written down no more often than this."""


@dataclass(frozen=True, slots=True)
class Elections:
    """How often leadership was asked back since all preferred replicas led, and when first and last. `refused`: what
    Kafka said where it would not elect at all, the last time."""

    asked: int = 0
    since: datetime | None = None
    asked_at: datetime | None = None
    refused: str = ""


NONE_ASKED = Elections()


@dataclass(frozen=True, slots=True)
class TakenBack:
    """How often a running move was to be taken back, when last, and what Kafka said where it would not, "" where it
    did not say no."""

    asked: int
    asked_at: datetime
    refused: str = ""


@dataclass(frozen=True, slots=True)
class MoveProgress:
    """What is remembered of one cluster. `kept_at` is when that was last written down, `taken_back` (by the move that
    still runs) never is."""

    at: datetime | None = None
    pulses: Mapping[TopicPartition, MovePulse] = field(default_factory=dict)
    elections: Elections = NONE_ASKED
    kept_at: datetime | None = None
    taken_back: Mapping[TopicPartition, TakenBack] = field(default_factory=dict)


_NOTHING = MoveProgress()


class MoveWatch:
    """The pulses of all clusters, by look. Reads the rows of all at the first look, then writes only."""

    def __init__(self, latest: LatestStore) -> None:
        self._latest = latest
        self._known: dict[str, MoveProgress] = {}
        self._has_read = False

    def see(self, uid: ClusterUid, kafka: KafkaSnapshot, *, leaders_away: bool) -> MoveProgress:
        """Takes in a look. Raises StoreUnavailable."""
        known = self.known(uid)
        if known.at == kafka.at:
            return known
        pulses = {p.name: felt(known.pulses.get(p.name), p, kafka.at) for p in kafka.moving()}
        elections = known.elections if leaders_away else NONE_ASKED
        taken_back = {name: tried for name, tried in known.taken_back.items() if name in pulses}
        seen = MoveProgress(kafka.at, pulses, elections, known.kept_at, taken_back)
        return self._keep(uid, known, seen)

    def asked(self, uid: ClusterUid, at: datetime) -> None:
        """Leadership is about to be asked back. Raises StoreUnavailable."""
        known = self.known(uid)
        before = known.elections
        elections = Elections(before.asked + 1, before.since or at, at)
        self._keep(uid, known, replace(known, at=known.at or at, elections=elections))

    def refused(self, uid: ClusterUid, words: str) -> None:
        """Kafka took the last of these requests for one it does not obey. Raises StoreUnavailable."""
        known = self.known(uid)
        self._keep(uid, known, replace(known, elections=replace(known.elections, refused=words)))

    def taken_back(self, uid: ClusterUid, names: Iterable[TopicPartition], at: datetime, refused: str) -> None:
        """Moves were to be taken back, and what Kafka said to it where it would not. Raises StoreUnavailable."""
        known = self.known(uid)
        before = known.taken_back
        now = {n: TakenBack((before[n].asked if n in before else 0) + 1, at, refused) for n in names}
        self._known[uid] = replace(known, taken_back={**before, **now})

    def known(self, uid: ClusterUid) -> MoveProgress:
        """What is remembered, of another server's looks too. Raises StoreUnavailable."""
        if not self._has_read:
            rows = self._latest.of_kind(MOVE_PULSES)
            self._known = {r.subject.cluster_uid: _read(r.value, r.observed_at) for r in rows} | self._known
            self._has_read = True
        return self._known.get(uid, _NOTHING)

    def _keep(self, uid: ClusterUid, before: MoveProgress, now: MoveProgress) -> MoveProgress:
        """Remembers it, and writes it down where that is news: no row is written for a cluster at rest."""
        same = before.pulses.keys() == now.pulses.keys() and before.elections == now.elections
        due = now.at is not None and (now.kept_at is None or now.at - now.kept_at >= WRITE_EVERY)
        if now.at is not None and (not same or (now.pulses and due)):
            row = LatestValue(Subject(MOVE_PULSES, uid, "moves"), _written(now), source="converger", observed_at=now.at)
            self._latest.put(row)
            now = replace(now, kept_at=now.at)
        self._known[uid] = now
        return now


def _written(known: MoveProgress) -> dict[str, Any]:
    asked = known.elections
    return {
        "pulses": [
            {
                "topic": name.topic,
                "partition": name.partition,
                "target": list(pulse.target),
                "arrived_bytes": pulse.arrived_bytes,
                "in_sync": pulse.in_sync,
                "left_bytes": pulse.left_bytes,
                "began": pulse.began.isoformat(),
                "grew_at": pulse.grew_at.isoformat(),
                "closer_at": pulse.closer_at.isoformat(),
            }
            for name, pulse in sorted(known.pulses.items())
        ],
        "elections": {
            "asked": asked.asked,
            "since": asked.since.isoformat() if asked.since else None,
            "asked_at": asked.asked_at.isoformat() if asked.asked_at else None,
            "refused": asked.refused,
        },
    }


def _read(value: Mapping[str, Any], at: datetime) -> MoveProgress:
    pulses = {
        TopicPartition(p["topic"], p["partition"]): MovePulse(
            target=tuple(p["target"]),
            arrived_bytes=p["arrived_bytes"],
            in_sync=p["in_sync"],
            left_bytes=p["left_bytes"],
            began=datetime.fromisoformat(p["began"]),
            grew_at=datetime.fromisoformat(p["grew_at"]),
            closer_at=datetime.fromisoformat(p["closer_at"]),
        )
        for p in value["pulses"]
    }
    asked = value["elections"]
    since, asked_at = _moment(asked["since"]), _moment(asked["asked_at"])
    return MoveProgress(at, pulses, Elections(asked["asked"], since, asked_at, asked.get("refused", "")), at)


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
