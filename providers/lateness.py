"""How long a VM may stand in a cloud before its listings have it: until then nobody may conclude that it was not made.

A run that was killed, or whose call failed, may have made a VM no state knows. The next try lists the place and imports
what it finds. Where a cloud would make the same VM twice, a listing that does not have it yet is how twins come about.
"""

from typing import Protocol, runtime_checkable

UNLISTED_S = 30.0
"""Ours: no vendor gives a figure. "After couple of seconds then it actually listed" (digitalocean/pydo#468, confirmed
there by another user, who proposes to wait 30 s); EC2's guide, "Eventual consistency", has one ask again after a couple
of seconds and, if need be, for minutes. It costs a wait after a run that failed, and only then."""


@runtime_checkable
class ListsLate(Protocol):
    """A cloud that takes a second VM of the same name, and whose listings may not have the first one yet."""

    def unlisted_s(self) -> float: ...


def unlisted_s(provider: object) -> float:
    """Seconds to leave a place alone after a run there that may have made something. 0 where names are taken once."""
    return provider.unlisted_s() if isinstance(provider, ListsLate) else 0.0
