"""Faults brought about on purpose, inside VMs: an ability that only some clouds have."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from providers.base import Place


class Harm(StrEnum):
    """What can be done to one VM. From `PAUSE` on they end by themselves after their time."""

    KILL_BROKER = "kill-broker"
    KILL_ZOOKEEPER = "kill-zookeeper"
    KILL_AGENT = "kill-agent"
    KILL_VM = "kill-vm"
    PAUSE = "pause"
    LOSE_VOLUME = "lose-volume"
    FULL_DISK = "full-disk"
    SLOW_DISK = "slow-disk"
    SPLIT = "split"
    PACKET_LOSS = "packet-loss"


class Way(StrEnum):
    """Which packets of a VM a fault of its network is about."""

    BOTH = "both"
    IN = "in"
    OUT = "out"


@dataclass(frozen=True, slots=True)
class Manner:
    """How it is done, for harms that know more than one way.

    `everyone`: `split` cuts the VM off from all others; else from these `addresses` and, with `control_plane`, from the
    machine of the server. `loss` is a share of packets from 0 to 1.
    """

    everyone: bool = True
    addresses: tuple[str, ...] = ()
    control_plane: bool = False
    way: Way = Way.BOTH
    loss: float = 0.0
    bytes_per_s: int = 0


PLAIN = Manner()


@runtime_checkable
class HarmsVms(Protocol):
    """A cloud whose VMs can be harmed from outside."""

    def harm(self, place: Place, instance: str, harm: Harm, for_s: float, manner: Manner = PLAIN) -> None:
        """Does it at once. What lasts ends after `for_s`, whatever becomes of us. Raises `CannotHarm`."""


class CannotHarm(Exception):
    """This VM cannot be harmed like that. What now: give up, or choose another fault.

    `begun`: something of it may have been done all the same, here or to another VM of the same fault.
    """

    def __init__(self, message: str, *, begun: bool = False) -> None:
        super().__init__(message)
        self.begun = begun
