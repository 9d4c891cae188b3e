"""What comes next of a pair: one event to record, or what is waited for. Pure: no clock, no calls.

Whoever acts follows `wanted`, which is what the events say; so a step is the event alone, and a server that dies behind
it goes on as if it had not. Outcomes come before intents.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from controlplane.fleet.failovers.seen import CopySeen, PairSeen
from controlplane.fleet.failovers.view import DoorState, OrderView, PairState, PairView
from controlplane.fleet.failovers.wanted import takeover_brokers
from events import failover_facts as facts

_HELD = (PairState.FENCING, PairState.DRAINING, PairState.ALIGNING)
"""Producers are held, and can be let go on where they were."""

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
    if view.order is not None and view.order.planned and view.state in _HELD:
        pause_s, most_s = seen.pause_s or 0.0, _max_pause_s(view)
        if pause_s > most_s:
            why = f"producers were held for {pause_s:.0f} s, and {most_s} s are allowed"
            return PairStep(facts.FailoverAbortRequested(view.order.id, view.last_epoch + 1, why))
    return _NEXT[view.state](_Moment(view, seen, primary_brokers))


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
    copy, most_s = seen.copy, _max_lag_s(view)
    if copy is None or copy.lag_s is None:
        return PairWait("how far the copy is behind is not known")
    if not copy.is_running or copy.lag_s > most_s:
        state = "runs" if copy.is_running else "does not run"
        return PairWait(f"the copy is {copy.lag_s:.1f} s behind, and {most_s} s are allowed; its replicator {state}")
    return PairStep(facts.StandbySeeded(f"the copy is {copy.lag_s:.1f} s behind"))


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
    if now.view.may_diverge and not _keeps_divergence(now.view):
        why = "the old primary may have records that the new one has not: its topics are copied anew once a person has"
        return PairWait(f"{why} confirmed their deletion, or `divergence: keep` is declared", needs_person=True)
    if now.seen.seeds is None:
        return PairWait("where the copy to the standby goes on is not known")
    return PairStep(facts.CopyRequested(dict(now.seen.seeds)))


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
    left += [] if build.has_own_ids else ["producer ids that may be the other cluster's"]
    if left:
        return PairWait(f"the standby is not ready: {', '.join(left)}", needs_person=not build.has_own_ids)
    detail = f"{build.brokers} brokers, {build.topics} topics with leaders and replicas in sync, own producer ids"
    return PairStep(facts.StandbyReady(_order(view).id, detail))


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
    if copy is None or copy.drained_partitions is None:
        return PairWait(f"the standby has not every record: {_behind(copy)}")
    return PairStep(facts.PairDrained(_order(now.view).id, copy.drained_partitions))


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
    order, copy = _order(now.view), now.seen.copy
    if not order.replicator_stops:
        return PairStep(facts.ReplicatorStopRequested(order.id))
    if copy is None or copy.is_running:
        return PairWait("the replicator has not ended, or nobody has told so")
    return PairStep(facts.ReplicatorStopped(order.id, "every process of it has ended"))


def _reversing(now: _Moment) -> Next:
    return _seeding(now)


def _aborting(now: _Moment) -> Next:
    view, order = now.view, _order(now.view)
    door = view.doors[view.primary]
    if view.flow is not None and order.replicator_stops:
        return _replicator_ends(now)
    if order.names_lead_to != view.primary:
        return _names(now, view.primary)
    if door.state is not DoorState.OPEN:
        return PairWait(f"the door of the primary is {door.state} by order {door.epoch}")
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


def _keeps_divergence(view: PairView) -> bool:
    declaration = view.declaration
    return declaration is not None and declaration.document.spec.failover.divergence == "keep"


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
