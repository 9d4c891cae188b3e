"""Changes of specs go through the fleet stage by stage: keeps what earlier stages have in hand, answers who waits.

A cluster waits for those of earlier stages that have one of its own changes in hand, the same field and the same value:
for their end, and for their soak after it. Nothing is kept of the last stage, for which nobody waits, and nothing is
worked out before somebody asks.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from controlplane.cluster.folds.spec_order import UNHEALTHY, changes_in_hand, soak_of, speaks_against
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.spec_order import SpecChange
from controlplane.fleet.images.choice import stage
from events.ids import ClusterUid
from planner.rollout.fleet_order import PRODUCTION, FleetMember, waits_for

_NAMED = 3


@dataclass(frozen=True, slots=True)
class StageWait:
    """Who goes before a cluster, in words; `fails`: somebody of them does not come on without a person."""

    words: str
    fails: bool


class SpecOrderCache:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._views: dict[ClusterUid, ClusterView] = {}
        self._moved: set[ClusterUid] = set()
        """Whose changes are not looked up again yet."""
        self._changes: dict[ClusterUid, frozenset[SpecChange]] = {}
        self._by_change: dict[SpecChange, set[ClusterUid]] = {}

    def note(self, view: ClusterView) -> None:
        """A cluster is as `view` has it."""
        gone = view.document is None or view.deleted or bool(view.requests.tombstone) or stage(view) == PRODUCTION
        if gone and view.uid not in self._views:
            return
        with self._lock:
            known = self._views.get(view.uid)
            if known is not None and known.version >= view.version:
                return
            self._moved.add(view.uid)
            if gone:
                self._views.pop(view.uid, None)
            else:
                self._views[view.uid] = view

    def waits(self, view: ClusterView, now: datetime) -> StageWait | None:
        """What keeps the cluster from its changes now, None where nothing does. Windows and waivers are not asked."""
        wanted, mine = changes_in_hand(view), stage(view)
        if not wanted or mine == 0:
            return None
        with self._lock:
            self._look_up()
            found = {uid: self._views[uid] for change in wanted for uid in self._by_change.get(change, ())}
        earlier = [v for v in found.values() if v.uid != view.uid and stage(v) < mine]
        stages = {other.uid: _member(other, wanted, view, now) for other in earlier}
        self._forget(wanted, (uid for uid, (m, _) in stages.items() if m.is_through(now)))
        members = stages.values()
        blocking = waits_for(mine, (m for m, _ in members), now)
        if not blocking:
            return None
        more = f" and {len(blocking) - _NAMED} more" if len(blocking) > _NAMED else ""
        fails = any(failing for _, failing in members)
        return StageWait(f"{_named(wanted)} waits for {'; '.join(blocking[:_NAMED])}{more}", fails)

    def _forget(self, wanted: frozenset[SpecChange], through: Iterable[ClusterUid]) -> None:
        """Whoever is through with a change stays so until it moves: a fleet that rolls asks for everybody, often."""
        done = set(through)
        if not done:
            return
        with self._lock:
            for change in wanted:
                self._leave(change, {u for u in done - self._moved if not _took_back(self._views[u], change)})

    def _leave(self, change: SpecChange, uids: set[ClusterUid]) -> None:
        left = self._by_change.pop(change, set()) - uids
        if left:
            self._by_change[change] = left

    def _look_up(self) -> None:
        for uid in self._moved:
            for change in self._changes.pop(uid, ()):
                self._leave(change, {uid})
            view = self._views.get(uid)
            known = _known_of(view) if view is not None else frozenset()
            if known:
                self._changes[uid] = known
            for change in known:
                self._by_change.setdefault(change, set()).add(uid)
        self._moved.clear()


def _known_of(view: ClusterView) -> frozenset[SpecChange]:
    past = view.declaration.spec_order
    return changes_in_hand(view).union(past.since, past.taken_back) if past is not None else frozenset()


def _member(
    other: ClusterView, wanted: frozenset[SpecChange], waiting: ClusterView, now: datetime
) -> tuple[FleetMember, bool]:
    """How far another cluster is with the same changes, and whether it takes a person to get it further."""
    name, rank, soak = other.name, stage(other), soak_of(other)
    in_hand = changes_in_hand(other) & wanted
    if in_hand:
        stuck = _stuck(other)
        begun = "rolls to it" if other.roll.recycling == other.generation else "has not begun"
        return FleetMember(name, rank, soak=soak, state=stuck or begun), bool(stuck)
    past = other.declaration.spec_order
    assert past is not None, "it was found by what it reached, or took back"
    back = [c for c in wanted if c in past.taken_back and _later(past.taken_back[c], waiting)]
    if back:
        return FleetMember(name, rank, soak=soak, state=f"took {_named(back)} back before it was reached"), True
    reached = max((past.since[c] for c in wanted if c in past.since), default=None)
    if reached is None:
        return FleetMember(name, rank, reached_at=now - soak, soak=soak), False
    unhealthy = sorted(
        t for t in UNHEALTHY if t in other.conditions and speaks_against(other.conditions[t], reached, soak)
    )
    if unhealthy:
        condition = other.conditions[unhealthy[0]]
        return FleetMember(
            name, rank, soak=soak, state=f"has it and is not well: {unhealthy[0]}, {condition.reason}"
        ), True
    lost = [i.key for i in other.alive() if i.lost_at is not None and i.lost_at <= reached + soak]
    if lost:
        return FleetMember(name, rank, soak=soak, state=f"has it and replaces {lost[0]}"), False
    return FleetMember(name, rank, soak=soak, reached_at=reached), False


def _took_back(view: ClusterView, change: SpecChange) -> bool:
    return view.declaration.spec_order is not None and change in view.declaration.spec_order.taken_back


def _later(taken_back: datetime, waiting: ClusterView) -> bool:
    """Whoever declares the same after that knows of it, and means it."""
    return waiting.declaration.declared_at is None or waiting.declaration.declared_at <= taken_back


def _stuck(view: ClusterView) -> str:
    """Why it does not come to its end by itself, "" where it does."""
    if view.requests.held or view.requests.paused:
        return f"is {'held' if view.requests.held else 'paused'}: {view.requests.held or view.requests.paused}"
    if view.document is not None and view.document.spec.rollout.pause:
        return "is paused by its spec"
    if view.roll.join_failures:
        return f"fails: {view.roll.join_failures} new VMs in a row did not join"
    if (failing := view.conditions.get("TickFailing")) is not None and failing.status:
        return f"fails at each tick: {failing.reason}"
    blocked = view.conditions.get("Blocked")
    waits_for_a_person = blocked is not None and blocked.status and "Next: " in blocked.message
    return f"is blocked: {blocked.reason}" if blocked is not None and waits_for_a_person else ""


def _named(wanted: Iterable[SpecChange]) -> str:
    names = sorted(map(str, wanted))
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")
