"""What is said of VMs that a cloud's listing calls gone: part of a cluster's stream, see `facts`."""

from dataclasses import dataclass

from events.registry import fact


@fact("losses.doubted", schema=1)
@dataclass(frozen=True, slots=True)
class LossesDoubted:
    """The listing says that these VMs are gone, and too much is gone with them to be believed without a person.

    No keys: the listing shows them again, or nothing of it is in doubt any more.
    """

    keys: tuple[str, ...]
    racks: tuple[str, ...]


@fact("losses.confirmed", schema=1)
@dataclass(frozen=True, slots=True)
class LossesConfirmed:
    """A person says that these VMs, which a listing called gone and Kedge did not believe, are gone indeed."""

    keys: tuple[str, ...]
    racks: tuple[str, ...]
    reason: str
