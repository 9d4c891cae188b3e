"""What a cloud may tell beyond its listing when a history has to be rebuilt; each is asked for, none is required."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from providers.base import Place


@dataclass(frozen=True, slots=True)
class AgentTrace:
    """What lies on the disk of a VM: the text of its boot data and of the last document its agent took.

    Empty for what is not there, or damaged. Neither holds the agent's credential.
    """

    boot_data: str = ""
    document: str = ""


@runtime_checkable
class ReadsAgents(Protocol):
    """Can look at the disks of VMs without asking their agents."""

    def agent_traces(self, place: Place) -> Mapping[str, AgentTrace]:
        """By cloud id, of every VM of this installation. Raises what `list_place` does."""


@runtime_checkable
class RemembersTheGone(Protocol):
    """Knows of every VM it ever had, also of those that were terminated long ago."""

    def spent_generations(self, place: Place) -> Mapping[tuple[str, str], int]:
        """(cluster uid, node) -> highest generation there ever was. Raises what `list_place` does."""


@runtime_checkable
class SeesForeignVms(Protocol):
    """Can tell that other installations have VMs there."""

    def foreign_vms(self, place: Place) -> Mapping[str, int]:
        """Installation id -> VMs. Raises what `list_place` does."""
