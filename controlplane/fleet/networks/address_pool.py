"""Addresses for networks, out of one pool for the whole fleet. Pure: what is taken is what was recorded."""

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Network

SUBNETS = 16
"""A zone's subnet is a sixteenth of its network, by a number it keeps (terraform/README.md)."""


class PoolExhausted(Exception):
    """No network of that size is free. What now: give up until a person widens the pool or a network is removed."""


class TooManyZones(Exception):
    """A network has sixteen subnets and each zone keeps its own for ever. What now: another network."""


def next_cidr(pool: IPv4Network, prefix: int, taken: Iterable[IPv4Network]) -> IPv4Network:
    """The lowest network of `prefix` bits in the pool that overlaps nothing taken. Raises `PoolExhausted`."""
    if prefix < pool.prefixlen:
        raise PoolExhausted(f"a network of /{prefix} is larger than the pool {pool}")
    for at, room in _gaps(pool, prefix, taken):
        if room:
            return IPv4Network((at, prefix))
    raise PoolExhausted(f"the pool {pool} has no /{prefix} left")


def free_networks(pool: IPv4Network, prefix: int, taken: Iterable[IPv4Network]) -> int:
    """How many networks of that size are left, as they would be given one after the other."""
    return sum(room for _, room in _gaps(pool, prefix, taken)) if prefix >= pool.prefixlen else 0


def _gaps(pool: IPv4Network, prefix: int, taken: Iterable[IPv4Network]) -> Iterator[tuple[int, int]]:
    """Where nothing is taken, from below: the first address a network of that size can have, and how many fit."""
    size = 1 << (32 - prefix)
    at, end = int(pool.network_address), int(pool.broadcast_address)
    for first, last in sorted((int(n.network_address), int(n.broadcast_address)) for n in taken if n.overlaps(pool)):
        yield at, max(0, first - at) // size
        # Behind it, at the next multiple of the size.
        at = max(at, -(-(last + 1) // size) * size)
    yield at, max(0, end + 1 - at) // size


def numbered(zones: Iterable[str], known: Mapping[str, int]) -> dict[str, int]:
    """Each zone with the number of its subnet: known ones keep theirs, new ones get the lowest free.

    Raises `TooManyZones`.
    """
    numbers = dict(known)
    for zone in sorted(set(zones) - known.keys()):
        free = next((n for n in range(SUBNETS) if n not in numbers.values()), None)
        if free is None:
            raise TooManyZones(f"zone {zone} would be the network's seventeenth; it has {', '.join(sorted(numbers))}")
        numbers[zone] = free
    return numbers
