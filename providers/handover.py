"""How a node's address and disks pass from one of its VMs to the next: each cloud declares which way it has."""

from enum import StrEnum
from typing import Protocol, runtime_checkable


class Handover(StrEnum):
    """What a cloud can do with an address that belongs to a node.

    `REBIND`: it is taken from a VM and bound to the next while both stand. `DELETE_FIRST`: it goes with its VM, so the
    old VM is deleted before the new one gets it. `NONE`: it stays with its VM for good; the next VM has another one.
    """

    REBIND = "rebind"
    DELETE_FIRST = "delete-first"
    NONE = "none"


@runtime_checkable
class DeclaresHandover(Protocol):
    """A cloud that says which way it has. Who does not say so rebinds."""

    def handover(self) -> Handover: ...


def handover_of(provider: object) -> Handover:
    """The way of a provider."""
    return provider.handover() if isinstance(provider, DeclaresHandover) else Handover.REBIND
