"""The drain plan as a value and as canonical bytes: what is stored, hashed, checked and executed."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.drain.certificate import Certificate, certificate_from
from planner.drain.plan_format1 import as_format2
from planner.drain.selection import Deferred
from planner.engines import Engine as Engine
from planner.observed import TopicPartition

FORMAT = 2


class PlanUnreadable(ValueError):
    """Stored bytes are not a plan this release can read. What now: compute the plan again."""


@dataclass(frozen=True, slots=True)
class Move:
    """One entry: a partition's replicas before and after, both in preferred order.

    `bytes` is what it copies in all (size x new replicas), as known when planned. `source` is the replica to be read,
    which leads while the copy runs; None: whoever leads then. An entry that adds nobody only changes the order.
    `log_dirs`: the directory each of `added` goes to, "" where Kafka chooses; empty: it does so for all.
    """

    topic: str
    partition: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    bytes: int
    source: int | None = None
    log_dirs: tuple[str, ...] = ()

    @property
    def name(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def added(self) -> tuple[int, ...]:
        return tuple(b for b in self.after if b not in self.before)

    @property
    def removed(self) -> tuple[int, ...]:
        return tuple(b for b in self.before if b not in self.after)

    @property
    def sourced(self) -> tuple[int, ...]:
        """The replicas of before with the source first: how it stands once the source has been put in charge."""
        if self.source is None or self.source not in self.before:
            return self.before
        return (self.source, *(b for b in self.before if b != self.source))


@dataclass(frozen=True, slots=True)
class Port:
    """One broker in one direction. `slots`: copies at once, None = any number.

    `promised_bytes_per_s`: what the copies together reach there, as the certificate counts. `quota_bytes_per_s`: the
    throttle to configure for that. `floor_bytes_per_s`: a throttle below it may leave copies nothing beside traffic
    in sync, so that they never end.
    """

    slots: int | None
    promised_bytes_per_s: int
    quota_bytes_per_s: int
    floor_bytes_per_s: int


@dataclass(frozen=True, slots=True)
class DrainPlan:
    """An answer to one drain request. `moves` stand in release order (docs/planning.md); a checkpoint is a number of
    them, and the rest can be left undone from there.

    `into` and `out`: broker id -> what it may take and give; every broker that may serve or receives has one.
    `deferred` partitions still sit on outgoing brokers after this plan; a next round takes them.
    """

    drain_id: str
    cluster_uid: str
    engine: Engine
    round: int
    moves: tuple[Move, ...]
    checkpoints: tuple[int, ...]
    into: Mapping[int, Port]
    out: Mapping[int, Port]
    deferred: tuple[Deferred, ...]
    certificate: Certificate

    @property
    def leader_throttle(self) -> Mapping[int, int]:
        """Bytes/s to configure on brokers that serve copies."""
        return {b: port.quota_bytes_per_s for b, port in self.out.items()}

    @property
    def follower_throttle(self) -> Mapping[int, int]:
        """Bytes/s to configure on brokers that receive."""
        return {b: port.quota_bytes_per_s for b, port in self.into.items()}

    def stretch(self, number: int) -> tuple[Move, ...]:
        """The moves between checkpoint `number` - 1 and checkpoint `number`, counted from 0."""
        ends = (0, *self.checkpoints)
        return self.moves[ends[number] : ends[number + 1]]

    def to_bytes(self) -> bytes:
        """Canonical JSON: the same plan gives the same bytes on every machine."""
        return canonical(plan_document(self))

    @classmethod
    def from_bytes(cls, raw: bytes) -> "DrainPlan":
        """Raises PlanUnreadable when the bytes are no plan of this format or of the one before."""
        try:
            return plan_from(json.loads(raw))
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise PlanUnreadable(f"stored drain plan ({len(raw)} bytes) cannot be read: {error!r}") from error

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.to_bytes()).hexdigest()


def canonical(document: Mapping[str, Any]) -> bytes:
    """JSON with sorted keys and no spaces. NaN and infinities are refused: JSON has none."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def plan_document(plan: DrainPlan) -> dict[str, Any]:
    """Moves are rows, not objects: a plan may hold hundreds of thousands."""
    named = [[n, *m.log_dirs] for n, m in enumerate(plan.moves) if m.log_dirs]
    return {
        **({"log_dirs": named} if named else {}),
        "format": FORMAT,
        "drain_id": plan.drain_id,
        "cluster_uid": plan.cluster_uid,
        "engine": plan.engine,
        "round": plan.round,
        "moves": [[m.topic, m.partition, m.before, m.after, m.bytes, m.source] for m in plan.moves],
        "checkpoints": plan.checkpoints,
        "into": _ports_document(plan.into),
        "out": _ports_document(plan.out),
        "deferred": [[d.name.topic, d.name.partition, d.reason] for d in plan.deferred],
        "certificate": plan.certificate.document(),
    }


def plan_from(document: Mapping[str, Any]) -> DrainPlan:
    """The inverse of `plan_document`; raises KeyError, TypeError or ValueError."""
    if document["format"] == 1:
        return plan_from(as_format2(document))
    if document["format"] != FORMAT:
        raise ValueError(f"format {document['format']!r}, this release reads 1 and {FORMAT}")
    log_dirs = {int(n): tuple(map(str, paths)) for n, *paths in document.get("log_dirs", ())}
    return DrainPlan(
        drain_id=str(document["drain_id"]),
        cluster_uid=str(document["cluster_uid"]),
        engine=engine_from(document["engine"]),
        round=int(document["round"]),
        moves=tuple(_move(log_dirs.get(n, ()), *row) for n, row in enumerate(document["moves"])),
        checkpoints=tuple(int(n) for n in document["checkpoints"]),
        into=_ports(document["into"]),
        out=_ports(document["out"]),
        deferred=deferred_from(document["deferred"]),
        certificate=certificate_from(document["certificate"]),
    )


def engine_from(name: Any) -> Engine:
    if name not in ("spark", "in-process"):
        raise ValueError(f"unknown engine {name!r}")
    engine: Engine = name
    return engine


def deferred_from(rows: Any) -> tuple[Deferred, ...]:
    return tuple(Deferred(TopicPartition(t, int(p)), str(why)) for t, p, why in rows)


def _move(
    log_dirs: tuple[str, ...],
    topic: str,
    partition: int,
    before: list[int],
    after: list[int],
    size: int,
    source: int | None,
) -> Move:
    return Move(topic, int(partition), tuple(before), tuple(after), int(size), source, log_dirs)


def _ports_document(ports: Mapping[int, Port]) -> dict[str, list[int | None]]:
    return {
        str(b): [p.slots, p.promised_bytes_per_s, p.quota_bytes_per_s, p.floor_bytes_per_s] for b, p in ports.items()
    }


def _ports(document: Mapping[str, Any]) -> dict[int, Port]:
    return {
        int(b): Port(slots, int(rate), int(quota), int(floor)) for b, (slots, rate, quota, floor) in document.items()
    }
