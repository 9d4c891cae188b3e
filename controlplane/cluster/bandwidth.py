"""What a machine's network carries, as its cloud's catalogue says, else the cluster's specs; what neither says is
unknown, never 0."""

from collections.abc import Iterable

from events.quantities import MIB
from providers.catalogs import catalog
from providers.errors import PlaceUnknown
from providers.given_machines import GivenMachine

CLIENTS_KEEP = 0.25
"""Share of a broker's bandwidth a drain leaves to clients (`DrainRequest.client_fraction`)."""

ASSUMED_BYTES_PER_S = 100 * MIB
"""What plans divide by where neither the catalogue nor `rollout.throttleMibPerS` has a figure. They say so."""


def nic_bytes_per_s(cloud: str, machine: str, given: Iterable[GivenMachine] = ()) -> int | None:
    """Sustained bytes/s one way; None for what neither the catalogue nor the specs (`given`) have."""
    try:
        return catalog(cloud, given).shape(machine).nic_bytes_per_s or None
    except PlaceUnknown:
        return None


def usable_bytes_per_s(cloud: str, machine: str, cap_mib_per_s: int | None, given: Iterable[GivenMachine] = ()) -> int:
    """What a broker may be planned with. Where the figure is unknown: as much as leaves the spec's throttle after the
    clients' share, else `ASSUMED_BYTES_PER_S`.
    """
    known = nic_bytes_per_s(cloud, machine, given)
    if known is not None:
        return known
    return int(cap_mib_per_s * MIB / (1 - CLIENTS_KEEP)) if cap_mib_per_s else ASSUMED_BYTES_PER_S
