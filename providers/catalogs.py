"""What each cloud offers, by neutral name: the local one as written here, the others by their files."""

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

from events.quantities import MIB
from providers.catalog import EPHEMERAL, Catalog, DiskKind, Shape
from providers.catalog_file import CatalogFile, catalog_file
from providers.errors import PlaceUnknown
from providers.given_machines import GivenMachine


def catalog(cloud: str, given: Iterable[GivenMachine] = ()) -> Catalog:
    """The catalogue of a cloud, with types that a spec gave figures of where it does not know them. Raises
    `PlaceUnknown`."""
    if cloud in _CATALOGS:
        return _with_given(_CATALOGS[cloud], given)
    kept = catalog_file(cloud)
    if kept is None:
        raise PlaceUnknown(f"no catalogue for cloud {cloud!r}; there is {', '.join(_CATALOGS)}")
    return _with_given(_made_once(kept), given)


def _made_once(kept: CatalogFile) -> Catalog:
    """Asked for each broker in every tick, and a home may add a thousand types: made anew when the file is."""
    known = _MADE.get(kept.cloud)
    if known is None or known[0] is not kept:
        known = _MADE[kept.cloud] = kept, kept.catalog()
    return known[1]


_MADE: dict[str, tuple[CatalogFile, Catalog]] = {}


def _with_given(kept: Catalog, given: Iterable[GivenMachine]) -> Catalog:
    shapes = {
        one.type: Shape(one.type, one.vcpus, one.memory_mib, nic_bytes_per_s=(one.network_mbps or 0) * _BYTES_PER_MBIT)
        for one in given
        if one.cloud == kept.cloud and one.type not in kept.shapes
    }
    return replace(kept, shapes=MappingProxyType({**kept.shapes, **shapes})) if shapes else kept


def _catalog(cloud: str, shapes: tuple[Shape, ...], disks: tuple[DiskKind, ...]) -> Catalog:
    return Catalog(
        cloud=cloud,
        shapes=MappingProxyType({s.name: s for s in shapes}),
        disks=MappingProxyType({d.name: d for d in disks}),
        no_ipv6="the addresses of `local` are loopback ones of this machine",
        no_public_address="VMs of `local` are processes of one machine, in loopback addresses or one private bridge",
    )


_BYTES_PER_MBIT = 1_000_000 // 8

_CATALOGS = {
    # Sizes of `local` are promises nobody enforces: they give plans something to divide by on one machine.
    "local": _catalog(
        "local",
        (
            Shape("small", vcpus=1, memory_mib=1024, nic_bytes_per_s=100 * MIB),
            Shape("medium", vcpus=2, memory_mib=2048, nic_bytes_per_s=200 * MIB),
            Shape("large", vcpus=4, memory_mib=4096, nic_bytes_per_s=400 * MIB),
        ),
        (
            DiskKind("persistent", outlives_vm=True, bytes_per_s=200 * MIB),
            DiskKind(EPHEMERAL, outlives_vm=False, bytes_per_s=400 * MIB),
        ),
    ),
}
