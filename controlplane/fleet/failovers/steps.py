"""What comes next of a pair: one event to record, or what is waited for. Pure: no clock, no calls.

Whoever acts follows `wanted`, which is what the events say; so a step is the event alone, and a server that dies behind
it goes on as if it had not. Outcomes come before intents.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from controlplane.fleet.failovers.seen import CopySeen, PairSeen, ReplicatorsSeen
from controlplane.fleet.failovers.view import DoorState, OrderView, PairState, PairView
from controlplane.fleet.failovers.wanted import takeover_brokers
from events import failover_facts as facts

_HELD = (PairState.FENCING, PairState.DRAINING, PairState.ALIGNING)
"""Producers are held, and can be let go on where they were."""

_ENDS_KNOWN_WITHIN_S: Final = 15
"""Since clients were shut out: they wait no longer for what a way back alone needs."""

DEFAULT_MAX_LAG_S: Final = 30
DEFAULT_MAX_PAUSE_S: Final = 60


@dataclass(frozen=True, slots=True)
class PairStep:
    """An event that is legal and due."""

    fact: object

    @property
    def is_point_of_no_return(self) -> bool:
        """Whether the order in hand cannot be aborted behind it."""
        return isinstance(self.fact, facts.PromotionRequested)


@dataclass(frozen=True, slots=True)
class PairWait:
    """Nothing is due: why. `needs_person`: nothing but a person, or a repair, ends it."""

    reason: str
    needs_person: bool = False


@dataclass(frozen=True, slots=True)
class _Moment:
    """A pair, what is seen of it, and how many brokers its primary is to have."""

    view: PairView
    seen: PairSeen
    primary_brokers: int | None


Next = PairStep | PairWait


def next_step(view: PairView, seen: PairSeen, primary_brokers: int | None) -> Next:
    """`primary_brokers` as in `wanted`."""
    if view.unreadable:
        return PairWait(f"its events cannot be read: {view.unreadable}", needs_person=True)
    if view.is_withdrawn or not view.name:
        return PairWait("it is no pair", needs_person=True)
    if view.missed:
        return PairWait(f"its events are those of a backup: {view.missed}; withdraw it, and declare it anew", True)
    if seen.missed is not None:
        return PairStep(seen.missed)
    outcome = _door_outcome(view, seen)
    if outcome is not None:
        return PairStep(outcome)
    if view.order is not None and view.order.planned and _holds_producers(view):
        pause_s, most_s = seen.pause_s or 0.0, _max_pause_s(view)
        if pause_s > most_s:
            why = f"producers were held for {pause_s:.0f} s, and {most_s} s are allowed"
            return PairStep(facts.FailoverAbortRequested(view.order.id, view.last_epoch + 1, why))
    placed = _placed(view, seen)
    return placed if placed is not None else _NEXT[view.state](_Moment(view, seen, primary_brokers))


def _placed(view: PairView, seen: PairSeen) -> PairStep | None:
    """A VM that copies, where one is to and can: another one only once every VM is known to copy nothing."""
    found = seen.replicators
    if view.copies is None or found is None or not found.eligible or view.replicator_at in found.eligible:
        return None
    if view.replicator_at:
        return PairStep(facts.ReplicatorPlaced(view.standby, ""))
    return None if found.lacking else PairStep(facts.ReplicatorPlaced(view.standby, found.eligible[0]))


def _holds_producers(view: PairView) -> bool:
    """And nobody knows for how long. What waits for nobody's word any more is ended rather than taken back."""
    return view.state in _HELD or (view.state is PairState.PROMOTING and view.flow is not None)


def _door_outcome(view: PairView, seen: PairSeen) -> object | None:
    """What is known of a door by its last order. An answer to an earlier one proves nothing."""
    for cluster, door in sorted(view.doors.items()):
        told = seen.doors.get(cluster)
        if told is None or told.epoch != door.epoch:
            continue
        if door.state is DoorState.CLOSING and told.is_shut:
            return facts.DoorClosed(cluster, door.epoch, told.proof, told.detail)
        if door.state is DoorState.OPENING and not told.is_shut:
            return facts.DoorOpened(cluster, door.epoch)
    return None


def _seeding(now: _Moment) -> Next:
    view, seen = now.view, now.seen
    door = view.doors[view.standby]
    if not door.is_shut:
        return PairWait(f"the door of the standby is {door.state} by order {door.epoch}, and not proved shut")
    if not view.is_warm:
        return _seeded_cold(now)
    if view.flow is None:
        return _copy(now)
    copy, most_s, runs = seen.copy, _max_lag_s(view), _whether_it_runs(view, seen.replicators)
    if copy is None or copy.lag_s is None:
        return PairWait(f"how far the copy is behind is not known; {runs}")
    if copy.lag_s > most_s:
        return PairWait(f"the copy is {copy.lag_s:.1f} s behind, and {most_s} s are allowed; {runs}")
    if seen.replicators is None or not seen.replicators.is_running:
        return PairWait(runs)
    return PairStep(facts.StandbySeeded(f"the copy is {copy.lag_s:.1f} s behind"))


def _whether_it_runs(view: PairView, found: ReplicatorsSeen | None) -> str:
    if found is None:
        return "nobody knows which VM could copy"
    if not view.replicator_at:
        lacking = next(iter(sorted(found.lacking.items())), None)
        why = f"{lacking[0]}: {lacking[1]}" if lacking is not None else "no broker of the standby serves"
        return f"no VM copies yet: {why}"
    return f"the replicator at {view.replicator_at} {'runs' if found.is_running else 'does not run'}"


def _seeded_cold(now: _Moment) -> Next:
    declaration, build = now.view.declaration, now.seen.standby
    standby = declaration.document.spec.standby if declaration is not None else None
    if standby is None:
        return PairWait("how many brokers a cold standby has is not declared", needs_person=True)
    if build is None:
        return PairWait("how many brokers the standby has is not known")
    if build.brokers < standby.size:
        return PairWait(f"the standby has {build.brokers} brokers, and is to wait with {standby.size}")
    return PairStep(facts.StandbySeeded(f"{build.brokers} brokers"))


def _copy(now: _Moment) -> Next:
    if now.view.may_diverge:
        return _judge(now)
    build = now.seen.standby
    if build is None:
        return PairWait("what the standby has is not known")
    if build.topics_left:
        return PairWait(f"{len(build.topics_left)} topics of the primary are not on the standby as they are there")
    if (end := _end_of_replicator(now)) is not None:
        return end  # it would write down how far it came over where the next one is to begin
    if now.seen.seeds is None:
        return PairWait("where the copy to the standby goes on is not known")
    return PairStep(facts.CopyRequested(dict(now.seen.seeds)))


def _judge(now: _Moment) -> Next:
    """Whether the old primary has what the new one has not, which nobody who copied to it would ever find out."""
    ended, seen = now.view.ended, now.seen.only_there
    only_there = ended.only_there if ended is not None else {}
    if ended is not None and not only_there and seen is not None:
        return PairStep(facts.DivergenceJudged(ended.id, dict(seen)))
    way = "withdraw the pair, delete its topics once nobody wants what only they have, and declare the pair anew"
    if only_there:
        name, count = max(only_there.items(), key=lambda one: one[1])
        more = f", and of {len(only_there) - 1} more partitions" if len(only_there) > 1 else ""
        has = f"the old primary has up to {count} records of {name}{more} that the new one has not"
        return PairWait(f"{has}: {way}", needs_person=True)
    why = "whether the old primary has records that the new one has not is not known: its brokers have not told"
    return PairWait(f"{why}; if they never will, {way}", needs_person=True)


def _standby(now: _Moment) -> Next:
    return PairWait("nobody asked for a failover", needs_person=True)


def _preparing(now: _Moment) -> Next:
    view, build = now.view, now.seen.standby
    if now.seen.obstacles:
        return PairWait(f"the standby is not ready: {', '.join(now.seen.obstacles)}", needs_person=True)
    if build is None:
        return PairWait("what the standby has is not known")
    wanted = takeover_brokers(view, now.primary_brokers)
    if not view.is_warm and wanted is None:
        return PairWait("how many brokers the standby needs is not known: the primary's are not")
    left = [f"{build.brokers} of {wanted} brokers"] if wanted is not None and build.brokers < wanted else []
    left += [f"{len(build.topics_left)} topics without leaders or replicas in sync"] if build.topics_left else []
    left += _copy_troubles(view, now.seen) if view.is_warm and _order(view).planned else []
    left += [] if build.has_own_ids else ["producer ids that may be the other cluster's"]
    if left:
        return PairWait(f"the standby is not ready: {', '.join(left)}", needs_person=not build.has_own_ids)
    detail = f"{build.brokers} brokers, {build.topics} topics with leaders and replicas in sync, own producer ids"
    return PairStep(facts.StandbyReady(_order(view).id, detail))


def _copy_troubles(view: PairView, seen: PairSeen) -> list[str]:
    """Why a planned failover would hold producers for longer than they are to be held."""
    if trouble := copy_trouble(view, seen):
        return [trouble]
    silent = set(seen.replicators.lacking) - {view.replicator_at} if seen.replicators is not None else set()
    return [f"agents that do not say whether they copy: {', '.join(sorted(silent))}"] if silent else []


def copy_trouble(view: PairView, seen: PairSeen) -> str:
    """Why the copy of a warm pair is not such that the standby soon has every record, "" where it is."""
    copy, most_s = seen.copy, _max_lag_s(view)
    if copy is None or copy.lag_s is None:
        return "how far the copy is behind is not known"
    if copy.lag_s > most_s:
        return f"the copy is {copy.lag_s:.1f} s behind, and {most_s} s are allowed"
    runs = seen.replicators is not None and seen.replicators.is_running
    return "" if runs else _whether_it_runs(view, seen.replicators)


def _flipping(now: _Moment) -> Next:
    return _names(now, now.view.standby)


def _names(now: _Moment, to: str) -> Next:
    """The pair's name leads to that cluster, or is about to."""
    view, names = now.view, now.seen.names
    if view.names_lead_to != to:
        return PairStep(facts.NamesFlipRequested(_order(view).id, to))
    if names is None:
        return PairWait("where the pair's name leads is not known")
    if names.lead_to != to:
        return PairWait("not every name server tells the new address")
    if not names.is_settled:
        return PairWait("answers of before the flip are still kept by clients")
    return PairStep(facts.NamesFlipped(_order(view).id, to))


def _fencing(now: _Moment) -> Next:
    view, order = now.view, _order(now.view)
    door = view.doors[view.primary]
    if door.state is not DoorState.CLOSING:
        return PairStep(facts.DoorCloseRequested(order.id, view.primary, view.last_epoch + 1))
    why = f"the door of the primary is not proved shut by order {door.epoch}: by its agents, the cloud, or a person"
    return PairWait(why, needs_person=not order.planned)


def _draining(now: _Moment) -> Next:
    copy = now.seen.copy
    if copy is None or copy.drained is None:
        return PairWait(f"the standby has not every record: {_behind(copy)}")
    partitions = sum(len(topic.primary) for topic in copy.drained.values())
    return PairStep(facts.PairDrained(_order(now.view).id, partitions, copy.drained))


def _aligning(now: _Moment) -> Next:
    order = _order(now.view)
    if not order.aligns:
        return PairStep(facts.OffsetsAlignRequested(order.id))
    if now.seen.aligned is None:
        return PairWait("offsets of groups are not on the standby yet")
    return PairStep(facts.OffsetsAligned(order.id, dict(now.seen.aligned)))


def _promoting(now: _Moment) -> Next:
    view, order = now.view, _order(now.view)
    if view.flow is not None:
        return _replicator_ends(now)
    if not order.is_promoted:
        return PairStep(facts.PromotionRequested(order.id, view.standby, view.last_epoch + 1))
    door = view.doors[view.standby]
    if door.state is not DoorState.OPEN:
        return PairWait(f"the door of the new primary is {door.state} by order {door.epoch}")
    return PairStep(facts.PairPromoted(order.id))


def _replicator_ends(now: _Moment) -> Next:
    order = _order(now.view)
    if not order.replicator_stops:
        return PairStep(facts.ReplicatorStopRequested(order.id))
    if (wait := _end_of_replicator(now)) is not None:
        return wait
    ends, pause_s = now.seen.ends, now.seen.pause_s or 0.0
    if not order.planned and ends is None and pause_s < _ENDS_KNOWN_WITHIN_S:
        return PairWait("how much was copied is not known yet, which the way back needs")
    stopped = facts.ReplicatorStopped(order.id, "every process of it has ended", dict(ends or {}))
    return PairStep(stopped)


def _end_of_replicator(now: _Moment) -> PairWait | None:
    """Why it is not known that nothing is copied to the standby; None where it is."""
    found, order = now.seen.replicators, now.view.order
    if found is None:
        return PairWait("whether a replicator has ended is not known")
    if not found.lacking:
        return None
    (key, why), *others = sorted(found.lacking.items())
    more = f", nor at {len(others)} others" if others else ""
    reason = f"the replicator is not known to have ended at {key}: {why}{more}"
    return PairWait(reason, needs_person=order is not None and not order.planned)


def _reversing(now: _Moment) -> Next:
    return _seeding(now)


def _aborting(now: _Moment) -> Next:
    view, order = now.view, _order(now.view)
    door = view.doors[view.primary]
    if order.names_lead_to != view.primary:
        return _names(now, view.primary)
    if door.state is not DoorState.OPEN:
        return PairWait(f"the door of the primary is {door.state} by order {door.epoch}")
    if view.flow is not None and order.replicator_stops:  # last: clients go on without it
        return _replicator_ends(now)
    return PairStep(facts.FailoverAborted(order.id))


def _order(view: PairView) -> OrderView:
    if view.order is None:
        raise ValueError(f"the pair {view.name} is {view.state} without an order")
    return view.order


def _behind(copy: CopySeen | None) -> str:
    if copy is None:
        return "how far it is behind is not known"
    left = sum(copy.lag_records.values())
    return f"{left} records are left" if left else "its ends or last records are not those of the primary"


def _max_lag_s(view: PairView) -> int:
    replication = view.declaration.document.spec.replication if view.declaration is not None else None
    return replication.max_lag if replication is not None else DEFAULT_MAX_LAG_S


def _max_pause_s(view: PairView) -> int:
    return view.declaration.document.spec.failover.max_pause if view.declaration is not None else DEFAULT_MAX_PAUSE_S


_NEXT: Mapping[PairState, Callable[[_Moment], Next]] = {
    PairState.SEEDING: _seeding,
    PairState.STANDBY: _standby,
    PairState.PREPARING: _preparing,
    PairState.FLIPPING: _flipping,
    PairState.FENCING: _fencing,
    PairState.DRAINING: _draining,
    PairState.ALIGNING: _aligning,
    PairState.PROMOTING: _promoting,
    PairState.REVERSING: _reversing,
    PairState.ABORTING: _aborting,
}
