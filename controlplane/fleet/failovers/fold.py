"""The fold of a pair's stream. Pure and total: an event that cannot be placed makes the history `unreadable`, and what
comes after it does not count.

Once a standby is seeded, at most one of the two doors is not proved shut, whatever the order of events: two events open
a door, `PromotionRequested` and `FailoverAbortRequested`, and each is legal only while the other door is shut.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from controlplane.fleet.failovers.view import (
    ABORTABLE,
    Door,
    DoorState,
    EndedOrder,
    OrderView,
    PairDeclaration,
    PairState,
    PairView,
)
from events import failover_facts as facts
from events.codec import decode
from events.envelope import Recorded
from events.errors import EventsError
from events.spec.conversion import UnknownApiVersion, failover_from_data


class IllegalStep(Exception):
    """The event is not legal as the pair stands: why."""


def evolve(view: PairView, recorded: Recorded) -> PairView:
    """The pair after one event of its stream."""
    if view.unreadable:
        return replace(view, version=recorded.version)
    try:
        fact = decode(recorded)
        changed = _timed(after(view, fact), view, recorded)
        declaration = _declaration(view, fact, recorded)
        return replace(changed, version=recorded.version, declaration=declaration)
    except (EventsError, IllegalStep, ValidationError, UnknownApiVersion) as error:
        why = f"event {recorded.version} ({recorded.type}): {error}"
        return replace(view, version=recorded.version, unreadable=why)


def after(view: PairView, fact: object) -> PairView:
    """The pair after that fact. Raises IllegalStep; who decides asks before anything is recorded."""
    rule = RULES.get(type(fact))
    if rule is None:
        raise IllegalStep(f"a pair knows no {type(fact).__name__}")
    return rule(view, fact)


def _timed(view: PairView, before: PairView, recorded: Recorded) -> PairView:
    """An order of a door is as old as the event that gave it, whatever came of it since."""
    doors = {}
    for cluster, door in view.doors.items():
        old = before.doors.get(cluster)
        is_old = old is not None and old.epoch == door.epoch
        doors[cluster] = replace(door, at=old.at if old is not None and is_old else recorded.recorded_at)
    return replace(view, doors=MappingProxyType(doors))


def _declaration(view: PairView, fact: object, recorded: Recorded) -> PairDeclaration | None:
    """What is declared behind that fact. Raises ValidationError and UnknownApiVersion for what is no document."""
    if isinstance(fact, facts.PairUndeclared):
        return None if view.declaration is None else replace(view.declaration, undeclared=fact.commit)
    if not isinstance(fact, facts.FailoverDeclared | facts.PairSpecChanged) or not fact.document:
        return view.declaration
    return PairDeclaration(
        document=failover_from_data(fact.document),
        generation=1 + (view.declaration.generation if view.declaration is not None else 0),
        by=recorded.actor,
        at=recorded.recorded_at,
        source=fact.source,
        path=fact.path,
        commit=fact.commit,
    )


def _declared(view: PairView, e: facts.FailoverDeclared) -> PairView:
    _need(not view.name and not view.is_withdrawn, "the pair was declared before, or withdrawn")
    _need(e.primary != e.standby, "a cluster does not take over from itself")
    doors = {e.primary: Door(DoorState.OPEN, 0), e.standby: Door(DoorState.CLOSING, 1)}
    return replace(
        view,
        name=e.pair,
        primary=e.primary,
        standby=e.standby,
        is_warm=e.mode == "warm",
        doors=MappingProxyType(doors),
        names_lead_to=e.primary,
        last_epoch=1,
    )


def _spec_changed(view: PairView, e: facts.PairSpecChanged) -> PairView:
    _need(bool(view.name) and not view.is_withdrawn, "no pair was declared, or it was withdrawn")
    _need(view.order is None, "an order is in hand, by the document of before")
    return view


def _undeclared(view: PairView, e: facts.PairUndeclared) -> PairView:
    _need(bool(view.name) and not view.is_withdrawn, "no pair was declared, or it was withdrawn")
    return view


def _withdrawn(view: PairView, e: facts.PairWithdrawn) -> PairView:
    """Legal of one that was registered and never declared, too: its clusters are free then."""
    _need(not view.is_withdrawn, "it was withdrawn before")
    _need(view.is_at_rest or bool(view.missed), "an order is in hand")
    return replace(view, is_withdrawn=True, doors=MappingProxyType({}), flow=None, replicator_at="")


def _copy_requested(view: PairView, e: facts.CopyRequested) -> PairView:
    _in(view, PairState.SEEDING, PairState.REVERSING)
    _need(view.is_warm and view.flow is None, "nothing is to be copied, or it is already")
    _need(view.doors[view.standby].is_shut, "the standby's door is not shut")
    _need(not view.may_diverge, "the standby may have records that the primary has not")
    flow = (view.primary, view.standby)
    return replace(view, state=PairState.SEEDING, flow=flow, flows=view.flows + 1, replicator_at="")


def _placed(view: PairView, e: facts.ReplicatorPlaced) -> PairView:
    """One VM at a time: it goes elsewhere by way of nowhere, which gives whoever records it the time for a proof."""
    _in(view, *PairState)
    _need(view.copies is not None and e.cluster == view.standby, "nothing is copied to that cluster")
    _need(not e.key or not view.replicator_at, f"{view.replicator_at} is to copy")
    return replace(view, replicator_at=e.key)


def _seeded(view: PairView, e: facts.StandbySeeded) -> PairView:
    _in(view, PairState.SEEDING)
    _need(view.doors[view.standby].is_shut, "the standby's door is not shut")
    _need(view.flow is not None or not view.is_warm, "nothing is copied to it")
    return replace(view, state=PairState.STANDBY)


def _requested(view: PairView, e: facts.FailoverRequested) -> PairView:
    """Also of a primary that is gone while it was to be led back to: nobody opens its door. A replicator that was to
    end is not begun anew then."""
    before = view.order
    _in(view, PairState.STANDBY, *((PairState.ABORTING,) if not e.planned else ()))
    took_over_flip = before is not None and before.names_lead_to != view.primary
    stops = before is not None and before.replicator_stops and view.flow is not None
    order = OrderView(e.order, e.planned, view.last_epoch + 1, took_over_flip=took_over_flip, replicator_stops=stops)
    return replace(view, state=PairState.PREPARING, order=order)


def _ready(view: PairView, e: facts.StandbyReady) -> PairView:
    _of_order(view, e.order, PairState.PREPARING)
    return replace(view, state=PairState.FLIPPING)


def _flip_requested(view: PairView, e: facts.NamesFlipRequested) -> PairView:
    order = _of_order(view, e.order, PairState.FLIPPING, PairState.ABORTING)
    _need(e.to == _led_to(view), "the name is to lead elsewhere")
    return replace(view, names_lead_to=e.to, order=replace(order, names_lead_to=""))


def _flipped(view: PairView, e: facts.NamesFlipped) -> PairView:
    order = _of_order(view, e.order, PairState.FLIPPING, PairState.ABORTING)
    _need(e.to == view.names_lead_to == _led_to(view), "the name was not to lead there")
    state = PairState.FENCING if view.state is PairState.FLIPPING else view.state
    return replace(view, state=state, order=replace(order, names_lead_to=e.to))


def _close_requested(view: PairView, e: facts.DoorCloseRequested) -> PairView:
    _of_order(view, e.order, PairState.FENCING)
    _need(e.cluster == view.primary, "it is the primary's door that is closed")
    return _with_door(view, e.cluster, DoorState.CLOSING, _next(view, e.epoch))


def _closed(view: PairView, e: facts.DoorClosed) -> PairView:
    door = view.doors.get(e.cluster)
    if door is None:
        raise IllegalStep(f"{e.cluster} is not of the pair")
    _need(e.epoch <= view.last_epoch, "no order has that epoch")
    if door.state is not DoorState.CLOSING or e.epoch != door.epoch:
        return view  # an answer to an earlier order, which another one has overtaken, or a second one
    view = _with_door(view, e.cluster, DoorState.CLOSED, e.epoch)
    if view.state is not PairState.FENCING or view.order is None:
        return view
    drains = view.is_warm and view.order.planned
    return replace(view, state=PairState.DRAINING if drains else PairState.PROMOTING)


def _drained(view: PairView, e: facts.PairDrained) -> PairView:
    order = _of_order(view, e.order, PairState.DRAINING)
    return replace(view, state=PairState.ALIGNING, order=replace(order, ends=e.topics))


def _align_requested(view: PairView, e: facts.OffsetsAlignRequested) -> PairView:
    order = _of_order(view, e.order, PairState.ALIGNING)
    return replace(view, order=replace(order, aligns=True))


def _aligned(view: PairView, e: facts.OffsetsAligned) -> PairView:
    order = _of_order(view, e.order, PairState.ALIGNING)
    _need(order.aligns, "nobody was to align them")
    return replace(view, state=PairState.PROMOTING)


def _stop_requested(view: PairView, e: facts.ReplicatorStopRequested) -> PairView:
    order = _of_order(view, e.order, PairState.PROMOTING)
    _need(not order.is_promoted and view.flow is not None, "nothing is copied")
    return replace(view, order=replace(order, replicator_stops=True))


def _stopped(view: PairView, e: facts.ReplicatorStopped) -> PairView:
    order = _of_order(view, e.order, PairState.PROMOTING, PairState.ABORTING)
    _need(order.replicator_stops, "nobody was to stop it")
    return replace(view, flow=None, replicator_at="", order=replace(order, ends=e.topics or order.ends))


def _promotion_requested(view: PairView, e: facts.PromotionRequested) -> PairView:
    order = _of_order(view, e.order, PairState.PROMOTING)
    _need(e.cluster == view.standby and not order.is_promoted, "it is the standby that is promoted, and once")
    shut = view.doors[view.primary]
    _need(shut.is_shut and shut.epoch >= order.first_epoch, "the primary's door is not shut since this order")
    _need(view.flow is None, "the replicator may still write to it")
    view = _with_door(view, e.cluster, DoorState.OPENING, _next(view, e.epoch))
    return replace(view, order=replace(order, is_promoted=True))


def _opened(view: PairView, e: facts.DoorOpened) -> PairView:
    door = view.doors.get(e.cluster)
    if door is None:
        raise IllegalStep(f"{e.cluster} is not of the pair")
    _need(e.epoch <= view.last_epoch, "no order has that epoch")
    if door.state is not DoorState.OPENING or e.epoch != door.epoch:
        return view
    return _with_door(view, e.cluster, DoorState.OPEN, e.epoch)


def _promoted(view: PairView, e: facts.PairPromoted) -> PairView:
    order = _of_order(view, e.order, PairState.PROMOTING)
    _need(order.is_promoted and view.doors[view.standby].state is DoorState.OPEN, "its door is not open")
    state = PairState.REVERSING if view.is_warm else PairState.SEEDING
    is_drained = view.is_warm and order.planned
    return replace(
        view,
        state=state,
        primary=view.standby,
        standby=view.primary,
        order=None,
        ended=EndedOrder(order.id, is_promoted=True, ends=order.ends),
        may_diverge=view.is_warm and not is_drained,
    )


def _judged(view: PairView, e: facts.DivergenceJudged) -> PairView:
    _in(view, PairState.REVERSING)
    ended = view.ended
    if ended is None or ended.id != e.order:
        raise IllegalStep(f"{e.order} is not the last order")
    _need(view.may_diverge and not ended.only_there, "nothing is to be judged, or it was before")
    return replace(view, may_diverge=bool(e.only_there), ended=replace(ended, only_there=e.only_there))


def _abort_requested(view: PairView, e: facts.FailoverAbortRequested) -> PairView:
    order = _of_order(view, e.order, *ABORTABLE)
    _need(not order.is_promoted, "the promotion was requested: the way back is a failback")
    _need(view.doors[view.standby].is_shut, "the standby's door is not shut")
    _next(view, e.epoch)
    if view.doors[view.primary].epoch >= order.first_epoch:
        view = _with_door(view, view.primary, DoorState.OPENING, e.epoch)
    # What this order did not touch needs nobody's answer to be as it was.
    led_to = view.primary if view.names_lead_to == view.primary and not order.took_over_flip else ""
    return replace(view, state=PairState.ABORTING, order=replace(order, names_lead_to=led_to), last_epoch=e.epoch)


def _aborted(view: PairView, e: facts.FailoverAborted) -> PairView:
    order = _of_order(view, e.order, PairState.ABORTING)
    _need(view.doors[view.primary].state is DoorState.OPEN, "the primary's door is not open")
    _need(order.names_lead_to == view.primary, "the name does not lead to the primary yet")
    _need(view.flow is None or not order.replicator_stops, "the replicator was to stop, and has not")
    return replace(view, state=PairState.SEEDING, order=None, ended=EndedOrder(order.id, is_promoted=False))


def _missed(view: PairView, e: facts.EpochsMissed) -> PairView:
    _need(bool(view.name) and not view.is_withdrawn, "no pair was declared, or it was withdrawn")
    missed = f"{e.key} keeps order {e.epoch} of a door, and the last one here is {view.last_epoch}"
    return replace(view, missed=view.missed or missed, last_epoch=max(view.last_epoch, e.epoch))


def _led_to(view: PairView) -> str:
    """Where the name belongs by the step in hand."""
    return view.primary if view.state is PairState.ABORTING else view.standby


def _with_door(view: PairView, cluster: str, state: DoorState, epoch: int) -> PairView:
    doors = MappingProxyType({**view.doors, cluster: Door(state, epoch)})
    return replace(view, doors=doors, last_epoch=max(view.last_epoch, epoch))


def _next(view: PairView, epoch: int) -> int:
    _need(epoch == view.last_epoch + 1, f"its epoch is {epoch}, after {view.last_epoch}")
    return epoch


def _in(view: PairView, *states: PairState) -> None:
    _need(bool(view.name), "no pair was declared")
    _need(not view.is_withdrawn, "the pair was withdrawn")
    _need(not view.missed, view.missed)
    _need(view.state in states, f"the pair is {view.state}")


def _of_order(view: PairView, order: str, *states: PairState) -> OrderView:
    _in(view, *states)
    if view.order is None or view.order.id != order:
        raise IllegalStep(f"{order} is not the order in hand")
    return view.order


def _need(holds: bool, why: str) -> None:
    if not holds:
        raise IllegalStep(why)


RULES: Mapping[type, Callable[[PairView, Any], PairView]] = {
    facts.FailoverDeclared: _declared,
    facts.PairSpecChanged: _spec_changed,
    facts.PairUndeclared: _undeclared,
    facts.PairWithdrawn: _withdrawn,
    facts.CopyRequested: _copy_requested,
    facts.ReplicatorPlaced: _placed,
    facts.StandbySeeded: _seeded,
    facts.FailoverRequested: _requested,
    facts.StandbyReady: _ready,
    facts.NamesFlipRequested: _flip_requested,
    facts.NamesFlipped: _flipped,
    facts.DoorCloseRequested: _close_requested,
    facts.DoorClosed: _closed,
    facts.PairDrained: _drained,
    facts.OffsetsAlignRequested: _align_requested,
    facts.OffsetsAligned: _aligned,
    facts.ReplicatorStopRequested: _stop_requested,
    facts.ReplicatorStopped: _stopped,
    facts.PromotionRequested: _promotion_requested,
    facts.DoorOpened: _opened,
    facts.PairPromoted: _promoted,
    facts.DivergenceJudged: _judged,
    facts.FailoverAbortRequested: _abort_requested,
    facts.FailoverAborted: _aborted,
    facts.EpochsMissed: _missed,
}
