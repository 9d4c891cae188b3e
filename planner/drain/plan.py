"""The drain plan as a value and as canonical bytes: what is stored, hashed, checked and executed."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from planner.drain.certificate import Certificate
from planner.drain.selection import Deferred
from planner.observed import TopicPartition

Engine = Literal["spark", "in-process"]

FORMAT = 1


class PlanUnreadable(ValueError):
    """Stored bytes are not a plan this release can read. What now: compute the plan again."""


@dataclass(frozen=True, slots=True)
class Move:
    """One reassignment. `bytes` is what it copies in all (size x new replicas), as known when planned."""

    topic: str
    partition: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    bytes: int

    @property
    def name(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def added(self) -> tuple[int, ...]:
        return tuple(b for b in self.after if b not in self.before)

    @property
    def removed(self) -> tuple[int, ...]:
        return tuple(b for b in self.before if b not in self.after)


@dataclass(frozen=True, slots=True)
class Batch:
    """Moves (positions in the plan's `moves`) that run together; the next batch waits for all of them."""

    moves: tuple[int, ...]
    bytes: int
    eta_s: float


@dataclass(frozen=True, slots=True)
class DrainPlan:
    """An answer to one drain request. Throttles are broker id -> bytes/s to configure while its moves run.

    `deferred` partitions still sit on outgoing brokers after this plan; a next round takes them.
    """

    drain_id: str
    cluster_uid: str
    engine: Engine
    round: int
    moves: tuple[Move, ...]
    batches: tuple[Batch, ...]
    leader_throttle: Mapping[int, int]
    follower_throttle: Mapping[int, int]
    deferred: tuple[Deferred, ...]
    certificate: Certificate

    def to_bytes(self) -> bytes:
        """Canonical JSON: the same plan gives the same bytes on every machine."""
        return canonical(plan_document(self))

    @classmethod
    def from_bytes(cls, raw: bytes) -> "DrainPlan":
        """Raises PlanUnreadable when the bytes are no plan of this format."""
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
    return {
        "format": FORMAT,
        "drain_id": plan.drain_id,
        "cluster_uid": plan.cluster_uid,
        "engine": plan.engine,
        "round": plan.round,
        "moves": [[m.topic, m.partition, m.before, m.after, m.bytes] for m in plan.moves],
        "batches": [[b.moves, b.bytes, b.eta_s] for b in plan.batches],
        "leader_throttle": {str(b): rate for b, rate in plan.leader_throttle.items()},
        "follower_throttle": {str(b): rate for b, rate in plan.follower_throttle.items()},
        "deferred": [[d.name.topic, d.name.partition, d.reason] for d in plan.deferred],
        "certificate": asdict(plan.certificate),
    }


def plan_from(document: Mapping[str, Any]) -> DrainPlan:
    """The inverse of `plan_document`; raises KeyError, TypeError or ValueError."""
    if document["format"] != FORMAT:
        raise ValueError(f"format {document['format']!r}, this release reads {FORMAT}")
    if document["engine"] not in ("spark", "in-process"):
        raise ValueError(f"unknown engine {document['engine']!r}")
    certificate = dict(document["certificate"])
    certificate["assumptions"] = tuple(certificate["assumptions"])
    return DrainPlan(
        drain_id=str(document["drain_id"]),
        cluster_uid=str(document["cluster_uid"]),
        engine=document["engine"],
        round=int(document["round"]),
        moves=tuple(Move(t, int(p), tuple(b), tuple(a), int(n)) for t, p, b, a, n in document["moves"]),
        batches=tuple(Batch(tuple(moves), int(size), float(eta)) for moves, size, eta in document["batches"]),
        leader_throttle={int(b): int(rate) for b, rate in document["leader_throttle"].items()},
        follower_throttle={int(b): int(rate) for b, rate in document["follower_throttle"].items()},
        deferred=tuple(Deferred(TopicPartition(t, int(p)), str(why)) for t, p, why in document["deferred"]),
        certificate=Certificate(**certificate),
    )
