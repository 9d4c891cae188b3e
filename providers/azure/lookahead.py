"""What a surge would stumble over on Azure: a call for permissions, one for each network."""

from collections.abc import Iterator, Set

from providers.azure.access import Clients
from providers.azure.examination import free_addresses, lacking_to_make
from providers.azure.settings import AzureRegion
from providers.base import Resources
from providers.finding import Finding
from providers.preflight import addresses_needed, of_addresses, of_permissions


def look_ahead(clients: Clients, wanted: Resources, new: Set[str], region: AzureRegion) -> Iterator[Finding]:
    """What the identity lacks on the resource group, and subnets without room: a VM bound to its node's interface has
    no other."""
    place = wanted.place
    yield from of_permissions(place, lambda: lacking_to_make(clients, place, region))
    needed = addresses_needed(wanted, new, bound_have_own=False)
    subnets = {zone: region.zones[zone].subnet for zone in needed if zone in region.zones}
    left = free_addresses(clients, place, subnets.values())
    yield from of_addresses({z: (s, left[s.lower()]) for z, s in subnets.items() if s.lower() in left}, needed)
