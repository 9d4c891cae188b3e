"""Faults brought about on purpose, inside VMs: an ability that only some clouds have."""

from enum import StrEnum
from typing import Protocol, runtime_checkable

from providers.base import Place


class Harm(StrEnum):
    """What can be done to one VM. The last three end by themselves after their time."""

    KILL_BROKER = "kill-broker"
    KILL_AGENT = "kill-agent"
    KILL_VM = "kill-vm"
    PAUSE = "pause"
    LOSE_VOLUME = "lose-volume"
    FULL_DISK = "full-disk"


@runtime_checkable
class HarmsVms(Protocol):
    """A cloud whose VMs can be harmed from outside."""

    def harm(self, place: Place, instance: str, harm: Harm, for_s: float) -> None:
        """Does it at once. What lasts ends after `for_s`, whatever becomes of us. Raises `CannotHarm`."""
        ...


class CannotHarm(Exception):
    """This VM cannot be harmed like that. What now: give up, or choose another fault."""
