"""Which order counts: the one that is kept, or the one that came. Pure."""

from dataclasses import dataclass, replace

from agent.door.order import DoorAccess, OrderedDoor


@dataclass(frozen=True, slots=True)
class KeptOrder:
    """On disk: the last order that was followed, and the boot it was followed in. `is_barred`: the server has not said
    it since that boot, and so nobody is let in by it."""

    order: OrderedDoor
    boot_id: str
    is_barred: bool = False

    @property
    def access(self) -> DoorAccess:
        """What is to be in force."""
        return DoorAccess.SHUT if self.is_barred else self.order.state


def counting(
    order: OrderedDoor | None, kept: KeptOrder | None, boot_id: str, *, is_confirmed: bool
) -> tuple[KeptOrder | None, str]:
    """What counts, None where this VM has no door; and why `order` is not followed, "" where it is, or waits for the
    server's word."""
    if kept is None:
        if order is None or order.state is DoorAccess.NONE:
            return None, ""  # also after a boot: whoever left its pair needs no server to let clients in
        return KeptOrder(order, boot_id, is_barred=not is_confirmed), ""
    refused = _refused(order, kept.order)
    if order is not None and not refused:
        shuts = order.pair == kept.order.pair and order.state is DoorAccess.SHUT
        if is_confirmed or (shuts and order.epoch > kept.order.epoch):
            return KeptOrder(order, boot_id), ""
    # Of what the server did not say since the boot only that counts which lets nobody in.
    return (kept if kept.boot_id == boot_id else replace(kept, boot_id=boot_id, is_barred=True)), refused


def _refused(order: OrderedDoor | None, kept: OrderedDoor) -> str:
    """A server that was restored from a backup, or is frozen, knows less than this VM."""
    if order is None or order.pair != kept.pair:
        return ""
    if order.epoch < kept.epoch:
        return f"an order of epoch {order.epoch} came after one of {kept.epoch}; it is not followed"
    if order.epoch == kept.epoch and order.state is not kept.state:
        return f"epoch {order.epoch} was {kept.state} before, and is {order.state} now; it is not followed"
    return ""
