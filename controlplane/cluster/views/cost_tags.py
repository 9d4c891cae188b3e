"""The part of the view that cost tags of a VM, of its disks and its node's address are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class CostTagsView:
    """`tags` are carried, by a run that ended well. `asked` are to be carried, by one that is open or that failed."""

    tags: Mapping[str, str] = field(default_factory=dict)
    asked: Mapping[str, str] | None = None
    dropped: tuple[str, ...] = ()
    """Keys that the run of `asked` takes off."""
    failed_at: datetime | None = None
    error: str = ""

    @property
    def may_have(self) -> frozenset[str]:
        """Keys of cost tags it may carry: a run that failed may have come half-way."""
        return frozenset({*self.tags, *(self.asked or ()), *self.dropped})
