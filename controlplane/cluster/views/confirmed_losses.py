"""VMs that a listing calls gone, and whether that is believed, as values. Part of `controlplane.cluster.view`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class LossesView:
    """`doubted` are keys of VMs that are said to be gone and are not believed to be, since `doubted_at`, `racks` those
    that are gone with them. `confirmed`: what a person said of some is true, for as long as the listing says it."""

    doubted: tuple[str, ...] = ()
    racks: tuple[str, ...] = ()
    doubted_at: datetime | None = None
    confirmed: frozenset[str] = frozenset()
