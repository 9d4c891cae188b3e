"""Which order counts: the one that is kept, or the one that came. Pure."""

from dataclasses import dataclass, replace

from agent.door.order import DoorAccess, DoorOrder


@dataclass(frozen=True, slots=True)
class KeptOrder:
    """On disk: the last order that was followed, and the boot it was followed in."""

    order: DoorOrder
    boot_id: str


def counting(order: DoorOrder | None, kept: KeptOrder | None, boot_id: str, *, is_confirmed: bool) -> DoorOrder | None:
    """The order that counts; None, and one of the state NONE, where this VM has no door."""
    if kept is None and (order is None or order.state is DoorAccess.NONE):
        return order  # also after a boot: whoever left its pair needs no server to let clients in
    newest = order if order is not None and (kept is None or order.epoch >= kept.order.epoch) else None
    if newest is not None and is_confirmed:
        return newest
    # Of what the server did not say since the boot only that counts which lets nobody in.
    goes_on = kept is not None and kept.boot_id == boot_id and kept.order.state is DoorAccess.OPEN
    counts = newest or (kept.order if kept is not None else None)
    assert counts is not None
    is_the_same = kept is not None and counts.epoch == kept.order.epoch and counts.state is DoorAccess.OPEN
    return replace(counts, state=DoorAccess.OPEN if goes_on and is_the_same else DoorAccess.SHUT)
