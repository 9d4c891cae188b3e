"""What follows from a pair's events alone for whoever acts: doors, the name, the copy, the standby's size. Pure. A
server that was restored from its events wants the same."""

from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.fleet.failovers.view import DoorState, PairState, PairView
from events.spec.failover_model import ColdStandby

_LETTING_IN = (DoorState.OPEN, DoorState.OPENING)


@dataclass(frozen=True, slots=True)
class DoorOrder:
    """What agents of a cluster are told of its door. They follow no order of an earlier epoch than their last one, and
    a VM that boots lets nobody in before it has heard the last one."""

    is_open: bool
    epoch: int


@dataclass(frozen=True, slots=True)
class PairWants:
    """`names_lead_to`: by uid. `copies`: from that cluster to that one, None for no copy. `brokers`: of a cold standby;
    None where its own document says it."""

    doors: Mapping[str, DoorOrder]
    names_lead_to: str
    copies: tuple[str, str] | None
    brokers: int | None


def wants_of(view: PairView, primary_brokers: int | None) -> PairWants:
    """`primary_brokers`: how many the primary is to have, for a standby that takes over as large as that; None unknown.
    A pair that stands still, or was withdrawn, wants nothing anew: what acts for it stands still."""
    if view.stands_still or view.is_withdrawn or not view.name:
        return PairWants({}, "", None, None)
    return PairWants(
        doors={cluster: DoorOrder(door.state in _LETTING_IN, door.epoch) for cluster, door in view.doors.items()},
        names_lead_to=view.names_lead_to,
        copies=view.copies,
        brokers=standby_brokers(view, primary_brokers),
    )


def standby_brokers(view: PairView, primary_brokers: int | None) -> int | None:
    """Brokers of a cold standby by the step in hand: few while it waits, enough from an order on until it is over."""
    standby = _cold(view)
    if standby is None:
        return None
    is_growing = view.order is not None and view.state is not PairState.ABORTING
    return takeover_brokers(view, primary_brokers) if is_growing else standby.size


def takeover_brokers(view: PairView, primary_brokers: int | None) -> int | None:
    """Brokers of a cold standby as it takes over; None where that is unknown, and of a warm one."""
    standby = _cold(view)
    return None if standby is None else standby.resize_to or primary_brokers


def _cold(view: PairView) -> ColdStandby | None:
    return view.declaration.document.spec.standby if view.declaration is not None else None
