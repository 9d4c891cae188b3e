"""A roll as rows: one for each node, with the stages its old and its new VM go through. A fold of the events. Pure."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from controlplane.storage.streams import cluster_stream
from events.envelope import Recorded
from events.ids import ClusterUid
from events.store import EventStore
from planner.engines import planned_by

STAGES = ("create", "join", "drain", "linger", "stop", "hand over", "delete")
"""What a replaced broker goes through: its successor is made and joins, then the old one is emptied and goes. A node
whose disk and address pass to the successor is not drained but handed over."""

LAST_OF_PEOPLE = 8
_REMEMBERED = 500
_OURSELVES = "converger"


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of one node. `state` is done, active, failed or waiting."""

    name: str
    began_at: datetime | None = None
    ended_at: datetime | None = None
    failed: bool = False

    @property
    def state(self) -> str:
        if self.failed:
            return "failed"
        if self.ended_at is not None:
            return "done"
        return "active" if self.began_at is not None else "waiting"

    def seconds(self, now: datetime) -> float | None:
        """How long it took, or has taken so far; None where it has not begun."""
        return None if self.began_at is None else max(0.0, ((self.ended_at or now) - self.began_at).total_seconds())


@dataclass(frozen=True, slots=True)
class NodeRoll:
    """What became of one node in a roll: `change` is create, replace, remove, restart or hand over."""

    node: str
    change: str
    old: str = ""
    new: str = ""
    stages: Mapping[str, Stage] = field(default_factory=dict)
    note: str = ""
    hands_over: bool = False
    """The successor joins only once it has been given the disk and the address."""
    done_at: datetime | None = None

    @property
    def is_done(self) -> bool:
        return self.done_at is not None

    @property
    def is_begun(self) -> bool:
        return any(s.began_at for s in self.stages.values())

    @property
    def active(self) -> Stage | None:
        """The stage in hand."""
        return next((s for s in self.stages.values() if s.state in ("active", "failed")), None)


@dataclass(frozen=True, slots=True)
class Roll:
    """The roll in hand, or the last one: from its start to its end."""

    generation: int = 0
    reason: str = ""
    began_at: datetime | None = None
    ended_at: datetime | None = None
    aborted: str = ""
    nodes: Mapping[str, NodeRoll] = field(default_factory=dict)
    drains: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    intents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By intent of a run, the instances it is about."""
    moved_bytes: int = 0
    """What its drains had to copy, batch by batch, as far as those began."""

    @property
    def done(self) -> int:
        return sum(node.is_done for node in self.nodes.values())

    @property
    def step(self) -> int:
        """The number of the step in hand, counted from 1."""
        return min(self.done + 1, len(self.nodes))


def after(roll: Roll, event: Recorded) -> Roll:
    """The roll after one more event; others leave it as it is. Total: an event that does not fit is passed over."""
    rule = _RULES.get(event.type)
    return roll if rule is None else rule(roll, event)


def fold(events: Iterable[Recorded], roll: Roll | None = None) -> Roll:
    """The last roll of a stream."""
    roll = roll or Roll()
    for event in events:
        roll = after(roll, event)
    return roll


@dataclass(frozen=True, slots=True)
class Story:
    """What a stream comes to as far as it was read: its last roll, and what people and git last did, oldest first."""

    version: int = 0
    roll: Roll = Roll()
    people: tuple[Recorded, ...] = ()


class Rolls:
    """The stories of clusters, kept as far as they were read: a page reads only what is new. Only saves work."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: OrderedDict[ClusterUid, Story] = OrderedDict()

    def of(self, uid: ClusterUid, version: int) -> Story:
        """The story as far as the view of that version goes, or further. Raises StoreUnavailable."""
        with self._lock:
            story = self._known.get(uid, Story())
        if story.version >= version:
            return story
        fresh = self._store.read_stream(cluster_stream(uid), story.version)
        if not fresh:
            return story
        people = (*story.people, *(e for e in fresh if not e.actor.startswith(_OURSELVES)))
        story = Story(fresh[-1].version, fold(fresh, story.roll), people[-LAST_OF_PEOPLE:])
        with self._lock:
            if story.version >= self._known.get(uid, Story()).version:
                self._known[uid] = story
                self._known.move_to_end(uid)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return story


def node_of(key: str) -> str:
    """`brokers-a-0.g3` is an instance of `brokers-a-0`."""
    return key.rpartition(".g")[0]


def _started(roll: Roll, event: Recorded) -> Roll:
    data = event.data
    if roll.generation == data["generation"] and roll.ended_at is None and roll.nodes:
        nodes = dict(roll.nodes)
        for change in ("create", "replace", "remove"):
            for node in data[change]:
                nodes.setdefault(node, NodeRoll(node, change))
        return replace(roll, nodes=nodes)
    nodes = {node: NodeRoll(node, change) for change in ("create", "replace", "remove") for node in data[change]}
    return Roll(data["generation"], data["reason"], event.recorded_at, nodes=nodes)


def _surge_requested(roll: Roll, event: Recorded) -> Roll:
    for planned in event.data["instances"]:
        key = f"{planned['node']}.g{planned['generation']}"
        old = f"{planned['node']}.g{planned['replaces']}" if planned["replaces"] else ""
        roll = _touch(roll, planned["node"], "replace" if old else "create", new=key, old=old)
        roll = _begin(roll, planned["node"], "create", event)
        found = replace(roll.nodes[planned["node"]], hands_over=planned["handover"] and bool(old))
        roll = replace(roll, nodes={**roll.nodes, planned["node"]: found})
    return roll


def _surge_completed(roll: Roll, event: Recorded) -> Roll:
    for launched in event.data["instances"]:
        node = node_of(launched["key"])
        roll = _end(roll, node, "create", event)
        found = roll.nodes.get(node)
        if found is not None and not found.hands_over:
            roll = _begin(roll, node, "join", event)
    return roll


def _joined(roll: Roll, event: Recorded) -> Roll:
    node = node_of(event.data["key"])
    roll = _end(roll, node, "join", event)
    found = roll.nodes.get(node)
    is_whole = found is not None and found.change == "create"
    return _finish(roll, node, event) if is_whole else roll


def _join_failed(roll: Roll, event: Recorded) -> Roll:
    return _fail(roll, node_of(event.data["key"]), "join", event, event.data["reason"])


def _drain_requested(roll: Roll, event: Recorded) -> Roll:
    keys = tuple(event.data["keys"])
    change = "evacuate" if event.data.get("stays") else "remove"
    for key in keys:
        roll = _touch(roll, node_of(key), change, old=key)
        roll = _begin(roll, node_of(key), "drain", event)
    return replace(roll, drains={**roll.drains, event.data["drain"]: keys})


def _drain_planned(roll: Roll, event: Recorded) -> Roll:
    data = event.data
    for key in roll.drains.get(data["drain"], ()):
        roll = _note(roll, node_of(key), f"{data['moves']} moves {planned_by(data['engine'])}")
    return roll


def _batch_started(roll: Roll, event: Recorded) -> Roll:
    return replace(roll, moved_bytes=roll.moved_bytes + event.data["bytes"])


def _drain_failed(roll: Roll, event: Recorded) -> Roll:
    for key in roll.drains.get(event.data["drain"], ()):
        roll = _note(roll, node_of(key), event.data["reason"])
    return roll


def _drained(roll: Roll, event: Recorded) -> Roll:
    for key in event.data["keys"]:
        node = node_of(key)
        roll = _begin(_end(roll, node, "drain", event), node, "linger", event)
    return roll


def _evacuated(roll: Roll, event: Recorded) -> Roll:
    for key in event.data["keys"]:
        node = node_of(key)
        roll = _finish(_end(roll, node, "drain", event), node, event)
    return roll


def _fence_requested(roll: Roll, event: Recorded) -> Roll:
    for key in event.data["keys"]:
        node = node_of(key)
        roll = _begin(_end(roll, node, "linger", event), node, "stop", event)
    return roll


def _fenced(roll: Roll, event: Recorded) -> Roll:
    return _end(roll, node_of(event.data["key"]), "stop", event)


def _retire_requested(roll: Roll, event: Recorded) -> Roll:
    keys = tuple(event.data["keys"])
    for key in keys:
        roll = _begin(roll, node_of(key), "delete", event)
    return replace(roll, intents={**roll.intents, event.data["intent"]: keys})


def _retire_completed(roll: Roll, event: Recorded) -> Roll:
    for key in roll.intents.get(event.data["intent"], ()):
        node = node_of(key)
        roll = _end(roll, node, "delete", event)
        found = roll.nodes.get(node)
        if found is not None and found.change == "remove":
            roll = _finish(roll, node, event)
    return roll


def _replaced(roll: Roll, event: Recorded) -> Roll:
    return _finish(_touch(roll, event.data["node"], "replace", old=event.data["old"]), event.data["node"], event)


def _released(roll: Roll, event: Recorded) -> Roll:
    return _begin(roll, node_of(event.data["key"]), "hand over", event)


def _bind_requested(roll: Roll, event: Recorded) -> Roll:
    node = node_of(event.data["key"])
    roll = roll if "hand over" in _stages_of(roll, node) else _begin(roll, node, "hand over", event)
    return replace(roll, intents={**roll.intents, event.data["intent"]: (event.data["key"],)})


def _bound(roll: Roll, event: Recorded) -> Roll:
    for key in roll.intents.get(event.data["intent"], ()):
        roll = _begin(_end(roll, node_of(key), "hand over", event), node_of(key), "join", event)
    return roll


def _restart_requested(roll: Roll, event: Recorded) -> Roll:
    node = node_of(event.data["key"])
    roll = _touch(roll, node, "restart", old=event.data["key"])
    return _begin(roll, node, "stop", event)


def _restarted(roll: Roll, event: Recorded) -> Roll:
    node = node_of(event.data["key"])
    if event.data.get("given_up"):
        return _note(roll, node, "no start brings it back: it gets a new VM")
    return _finish(_end(roll, node, "stop", event), node, event)


def _run_failed(roll: Roll, event: Recorded) -> Roll:
    for node, found in roll.nodes.items():
        if found.active is not None and found.active.name in ("create", "delete"):
            roll = _note(roll, node, event.data["message"])
    return roll


def _aborted(roll: Roll, event: Recorded) -> Roll:
    return replace(roll, aborted=event.data["reason"]) if roll.ended_at is None else roll


def _completed(roll: Roll, event: Recorded) -> Roll:
    return replace(roll, ended_at=event.recorded_at)


def _touch(roll: Roll, node: str, change: str, *, old: str = "", new: str = "") -> Roll:
    """The row of a node; one nobody announced is added: a lost VM is replaced in the middle of things."""
    found = roll.nodes.get(node) or NodeRoll(node, change)
    if new and new != found.new:
        found = replace(found, new=new, stages={}, done_at=None, note="")
    found = replace(found, old=old or found.old)
    return replace(roll, nodes={**roll.nodes, node: found})


def _begin(roll: Roll, node: str, stage: str, event: Recorded) -> Roll:
    return _stage(roll, node, Stage(stage, event.recorded_at))


def _end(roll: Roll, node: str, stage: str, event: Recorded) -> Roll:
    found = roll.nodes.get(node)
    if found is None or stage not in found.stages:
        return roll
    return _stage(roll, node, replace(found.stages[stage], ended_at=event.recorded_at))


def _fail(roll: Roll, node: str, stage: str, event: Recorded, why: str) -> Roll:
    found = roll.nodes.get(node)
    if found is None:
        return roll
    began = found.stages.get(stage, Stage(stage, event.recorded_at))
    return _note(_stage(roll, node, replace(began, ended_at=event.recorded_at, failed=True)), node, why)


def _stage(roll: Roll, node: str, stage: Stage) -> Roll:
    found = roll.nodes.get(node)
    if found is None:
        return roll
    stages = {**found.stages, stage.name: stage}
    return replace(roll, nodes={**roll.nodes, node: replace(found, stages=stages)})


def _stages_of(roll: Roll, node: str) -> Mapping[str, Stage]:
    found = roll.nodes.get(node)
    return found.stages if found is not None else {}


def _note(roll: Roll, node: str, text: str) -> Roll:
    found = roll.nodes.get(node)
    return roll if found is None else replace(roll, nodes={**roll.nodes, node: replace(found, note=text)})


def _finish(roll: Roll, node: str, event: Recorded) -> Roll:
    found = roll.nodes.get(node)
    if found is None:
        return roll
    return replace(roll, nodes={**roll.nodes, node: replace(found, done_at=event.recorded_at, note="")})


_RULES = {
    "recycle.started": _started,
    "recycle.completed": _completed,
    "cluster.aborted": _aborted,
    "surge.requested": _surge_requested,
    "surge.completed": _surge_completed,
    "instance.joined": _joined,
    "instance.join_failed": _join_failed,
    "instance.takeover_failed": _join_failed,
    "drain.requested": _drain_requested,
    "drain.planned": _drain_planned,
    "drain.batch_started": _batch_started,
    "drain.plan_failed": _drain_failed,
    "drain.abandoned": _drain_failed,
    "instance.drained": _drained,
    "evacuation.completed": _evacuated,
    "instance.fence_requested": _fence_requested,
    "instance.fenced": _fenced,
    "retire.requested": _retire_requested,
    "retire.completed": _retire_completed,
    "replacement.completed": _replaced,
    "release.requested": _released,
    "bind.requested": _bind_requested,
    "bind.completed": _bound,
    "restart.requested": _restart_requested,
    "restart.completed": _restarted,
    "restart.reverted": _restarted,
    "run.failed": _run_failed,
}
