"""What the demo reports, from recorded events alone: who was replaced, how long each phase took, what was idle."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from controlplane.api.schemas.clusters import EventOut


@dataclass(frozen=True, slots=True)
class Replaced:
    """One swapped VM. Seconds count from intent to outcome; a phase an instance does not have is 0."""

    node: str
    service: str
    old_id: int
    new_id: int
    bytes: int
    surge_s: float
    drain_s: float
    retire_s: float


@dataclass(frozen=True, slots=True)
class ReportedPlan:
    """One drain plan as its event carries it."""

    engine: str
    moves: int
    bytes: int
    certificate: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReportedRebalance:
    """One rebalance as its plan was recorded. `rates`: which write rates it knew, in words; "" for none."""

    engine: str
    moves: int
    bytes: int
    rates: str


@dataclass(frozen=True, slots=True)
class RollReport:
    """One piece of work, first event to last. `busy_s` is the union of all times something physical went on."""

    generation: int
    wall_s: float
    busy_s: float

    @property
    def overhead_ratio(self) -> float:
        """Share of the roll in which no instance boots, no replica copies, no broker stops and no wait is asked for."""
        return max(0.0, 1.0 - self.busy_s / self.wall_s) if self.wall_s > 0 else 0.0


def replaced(events: Sequence[EventOut]) -> list[Replaced]:
    """Every `replacement.completed`, in order."""
    story = _Instances(events)
    return [story.replaced(e.data["node"], e.data["old"], e.data["new"]) for e in _of(events, "replacement.completed")]


def planned(events: Sequence[EventOut]) -> list[ReportedPlan]:
    """Every drain plan, in order."""
    return [
        ReportedPlan(e.data["engine"], e.data["moves"], e.data["bytes"], e.data["certificate"])
        for e in _of(events, "drain.planned")
    ]


def rebalanced(events: Sequence[EventOut]) -> list[ReportedRebalance]:
    """Every rebalance plan, in order."""
    return [
        ReportedRebalance(
            e.data["engine"],
            e.data["moves"],
            e.data["bytes"],
            next((line for line in e.data.get("assumptions", ()) if line.startswith("write rates of ")), ""),
        )
        for e in _of(events, "rebalance.planned")
    ]


def roll(events: Sequence[EventOut], generation: int) -> RollReport:
    """The roll towards a generation. Raises ValueError when it has not begun or not ended."""
    begins = [e for e in _of(events, "recycle.started") if e.data["generation"] == generation]
    ends = [e for e in _of(events, "recycle.completed") if e.data["generation"] == generation]
    if not begins or not ends:
        raise ValueError(f"generation {generation} has no whole roll in the history")
    first, last = begins[0].at, ends[-1].at
    within = [e for e in events if first <= e.at <= last]
    spans = [(max(a, first), min(b, last)) for a, b in _busy(within) if b > first and a < last]
    return RollReport(generation, (last - first).total_seconds(), _union_s(spans))


def _busy(events: Sequence[EventOut]) -> Iterable[tuple[datetime, datetime]]:
    """Times in which a VM or service boots, data copies, a service stops, or a policy's wait runs."""
    opened: dict[tuple[str, str], datetime] = {}
    for event in events:
        for kind, key in _ends(event):
            # A node's name ends what any of its instances began.
            for which in [w for w in opened if w[0] == kind and key in (w[1], _node(w[1]))]:
                yield opened.pop(which), event.at
        for kind, key in _begins(event):
            opened[(kind, key)] = event.at


def _begins(event: EventOut) -> Iterable[tuple[str, str]]:
    data = event.data
    match event.type:
        case "surge.requested":
            return [("boot", f"{i['node']}.g{i['generation']}") for i in data["instances"]]
        case "bind.completed":
            return [("start", "controller")]
        case "drain.batch_started":
            return [("copy", data["drain"])]
        case "instance.drained":
            return [("linger", k) for k in data["keys"]]
        case "instance.fence_requested":
            return [("stop", k) for k in data["keys"]]
        case "restart.requested":
            return [("restart", data["key"])]
        case "replacement.completed":
            return [("soak", "cluster")]
        case _:
            return []


def _ends(event: EventOut) -> Iterable[tuple[str, str]]:
    data = event.data
    match event.type:
        case "instance.joined":
            return [("boot", data["key"]), ("start", "controller")]
        case "instance.drained":
            return [("copy", data["drain"])]
        case "instance.fence_requested":
            # A controller's successor has booted once its agent has reported: then its predecessor is stopped.
            return [("linger", k) for k in data["keys"]] + [("boot", _node(k)) for k in data["keys"]]
        case "instance.fenced":
            return [("stop", data["key"])]
        case "restart.completed":
            return [("restart", data["key"])]
        case "finalisation.requested" | "protocol.raised":
            return [("soak", "cluster")]
        case "surge.requested":
            # Work went on: what looked like a soak was none.
            return []
        case _:
            return []


def _node(key: str) -> str:
    """The node of an instance key `<node>.g<generation>`."""
    return key.rpartition(".")[0]


def _union_s(spans: Iterable[tuple[datetime, datetime]]) -> float:
    total, reached = 0.0, None
    for begin, end in sorted(spans):
        start = begin if reached is None or begin > reached else reached
        if end > start:
            total += (end - start).total_seconds()
            reached = end
    return total


def _of(events: Sequence[EventOut], kind: str) -> list[EventOut]:
    return [e for e in events if e.type == kind]


class _Instances:
    """What the events say of each instance."""

    def __init__(self, events: Sequence[EventOut]) -> None:
        self._planned: dict[str, Mapping[str, Any]] = {}
        self._at: dict[tuple[str, str], datetime] = {}
        self._bytes: dict[str, int] = {}
        for event in events:
            self._take_in(event)

    def replaced(self, node: str, old: str, new: str) -> Replaced:
        before, after = self._planned[old], self._planned[new]
        return Replaced(
            node=node,
            service=after["service"],
            old_id=before["service_id"],
            new_id=after["service_id"],
            bytes=self._bytes.get(old, 0),
            surge_s=self._between("surge", new, "joined", new),
            drain_s=self._between("drain", old, "drained", old),
            retire_s=self._between("fence", old, "retired", old),
        )

    def _take_in(self, event: EventOut) -> None:
        data = event.data
        match event.type:
            case "surge.requested":
                for planned_instance in data["instances"]:
                    key = f"{planned_instance['node']}.g{planned_instance['generation']}"
                    self._planned[key] = planned_instance
                    self._at["surge", key] = event.at
            case "instance.joined":
                self._at["joined", data["key"]] = event.at
            case "drain.requested":
                for key in data["keys"]:
                    self._at.setdefault(("drain", key), event.at)
            case "instance.drained":
                for key in data["keys"]:
                    self._at["drained", key] = event.at
                    self._bytes[key] = self._bytes.get(key, 0) + data["bytes"] // len(data["keys"])
            case "instance.fence_requested":
                for key in data["keys"]:
                    self._at["fence", key] = event.at
            case "replacement.completed":
                self._at["retired", data["old"]] = event.at
            case _:
                return

    def _between(self, begin: str, key: str, end: str, other: str) -> float:
        first, last = self._at.get((begin, key)), self._at.get((end, other))
        return round((last - first).total_seconds(), 1) if first and last else 0.0
