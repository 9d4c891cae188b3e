"""What a region sells and for how much: the shipped catalogue with the figures of `catalog.yaml` laid over it. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from providers.catalog_file import UNKNOWN, VOLUMES_FIGURES, CatalogFile
from providers.figures import HOURS_PER_MONTH, CatalogFigure, Price
from providers.overrides import DiskIn, MachineIn, RegionIn, RootDiskIn
from providers.racks import Racks, racks_in


@dataclass(frozen=True, slots=True)
class MachineOffer:
    """A type. `size` is its neutral name, "" where it has none; a figure is None where nobody read one."""

    type: str
    size: str
    architecture: str
    vcpus: CatalogFigure | None
    memory_mib: CatalogFigure | None
    nic_baseline_gbps: CatalogFigure | None
    nic_burst_gbps: CatalogFigure | None
    own_disk_gb: CatalogFigure | None
    own_disk_mb_per_s: CatalogFigure | None
    volumes_mb_per_s: CatalogFigure | None
    """What all its volumes together reach over the network."""
    price_per_hour: Price | None
    price_per_month: Price | None

    @property
    def monthly(self) -> Price | None:
        """As the cloud says it, else 730 hours."""
        hour = self.price_per_hour
        if self.price_per_month is not None or hour is None:
            return self.price_per_month
        return Price(hour.value * HOURS_PER_MONTH, hour.source, hour.read, hour.currency)

    @property
    def hourly(self) -> Price | None:
        """As the cloud says it, else a 730th of a month."""
        month = self.price_per_month
        if self.price_per_hour is not None or month is None:
            return self.price_per_hour
        return Price(month.value / HOURS_PER_MONTH, month.source, month.read, month.currency)

    def figures(self) -> Iterator[tuple[str, CatalogFigure | None]]:
        """Every figure by name, unknown ones too."""
        for name in _MACHINE_FIGURES:
            yield name, getattr(self, name)
        yield "price_per_hour", self.price_per_hour
        yield "price_per_month", self.price_per_month


@dataclass(frozen=True, slots=True)
class DiskOffer:
    """A kind of disk. `type` is the cloud's own word."""

    kind: str
    type: str
    outlives_vm: bool
    iops: CatalogFigure | None
    bytes_per_s: CatalogFigure | None
    price_per_gib_month: Price | None
    price_per_month_up_to: Mapping[int, Price] = field(default_factory=dict)
    """Where disks are sold by size: of one, by the most GiB it may have."""

    def monthly(self, gib: Decimal) -> Price | None:
        """Of one disk of that size a month; None where nobody read a price, or none that large is sold."""
        if self.price_per_month_up_to:
            sizes = [size for size in self.price_per_month_up_to if size >= gib]
            return self.price_per_month_up_to[min(sizes)] if sizes else None
        each = self.price_per_gib_month
        return each and Price(each.value * gib, each.source, each.read, each.currency)

    def figures(self) -> Iterator[tuple[str, CatalogFigure | None]]:
        """Every figure by name, unknown ones too."""
        yield "iops", self.iops
        yield "bytes_per_s", self.bytes_per_s
        yield "price_per_gib_month", self.price_per_gib_month
        for gib, price in sorted(self.price_per_month_up_to.items()):
            yield f"price_per_month_up_to {gib}", price


@dataclass(frozen=True, slots=True)
class RootDiskOffer:
    """The disk a VM starts from. `in_machine`: its price is the machine's. `gib` is None where its image decides, and
    nobody read what that has."""

    type: str
    in_machine: bool
    gib: CatalogFigure | None
    disk: DiskOffer

    @property
    def monthly(self) -> Price | None:
        """Of one; None where its size or its price is unknown."""
        return self.disk.monthly(self.gib.value) if self.gib is not None else None


@dataclass(frozen=True, slots=True)
class Offers:
    """What one region sells. `unmatched` are types and disk kinds of `catalog.yaml` that the catalogue has not."""

    cloud: str
    region: str
    machines: MappingProxyType[str, MachineOffer]
    disks: MappingProxyType[str, DiskOffer]
    root_disk: RootDiskOffer
    racks: tuple[Racks, ...] = ()
    cross_zone_per_gib: Price | None = None
    egress_per_gib: Price | None = None
    ipv6_per_month: Price | None = None
    public_ipv4_per_month: Price | None = None
    unmatched: tuple[str, ...] = ()

    def machine(self, name: str) -> MachineOffer | None:
        """By neutral size or by the cloud's own name."""
        by_size = (offer for offer in self.machines.values() if offer.size == name)
        return next(by_size, None) or self.machines.get(name)

    def old_figures(self, today: date) -> tuple[str, ...]:
        """Names of figures that were read too long ago, as in `m7g.large price_per_hour`."""
        named = [(offer.type, *f) for offer in self.machines.values() for f in offer.figures()]
        named += [(disk.kind, *f) for disk in self.disks.values() for f in disk.figures()]
        named += [("root disk", "gib", self.root_disk.gib), ("IPv6 address", "a month", self.ipv6_per_month)]
        named += [("public IPv4 address", "a month", self.public_ipv4_per_month)]
        traffic = {"cross_zone_per_gib": self.cross_zone_per_gib, "egress_per_gib": self.egress_per_gib}
        named += [("traffic", *figure) for figure in traffic.items()]
        return tuple(f"{what} {name}" for what, name, figure in named if figure and figure.is_old(today))


def offers(shipped: CatalogFile, region: str, override: RegionIn) -> Offers:
    """The catalogue of a cloud with one region's figures laid over it, figure by figure."""
    known, disks = shipped.raw["machines"], shipped.raw["disks"]
    sizes = {own: size for size, own in shipped.raw["shapes"].items()}
    machines = {t: _machine(shipped, override, t, sizes.get(t, "")) for t in known}
    unmatched = [*(t for t in override.machines if t not in known), *(k for k in override.disks if k not in disks)]
    sold = {kind: _disk(shipped, override, kind) for kind in disks}
    return Offers(
        shipped.cloud,
        region,
        MappingProxyType(machines),
        MappingProxyType(sold),
        _root_disk(shipped, override, sold),
        racks_in(shipped),
        override.price(override.traffic.cross_zone_per_gib),
        override.price(override.traffic.egress_per_gib),
        override.price(override.addresses.ipv6_per_month),
        override.price(override.addresses.public_ipv4_per_month),
        tuple(unmatched),
    )


_MACHINE_FIGURES: Mapping[str, tuple[str, ...]] = {
    "vcpus": ("vcpus",),
    "memory_mib": ("memory_mib",),
    "nic_baseline_gbps": ("nic_baseline_gbps",),
    "nic_burst_gbps": ("nic_burst_gbps",),
    "own_disk_gb": ("own_disk_gb", "plan_storage_gb"),
    "own_disk_mb_per_s": ("own_disk_mb_per_s",),
    "volumes_mb_per_s": VOLUMES_FIGURES,
}
"""Figure -> its names in the shipped catalogues."""


def _machine(shipped: CatalogFile, override: RegionIn, own: str, size: str) -> MachineOffer:
    told: Mapping[str, Any] = shipped.raw["machines"][own]
    over = override.machines.get(own, MachineIn())
    figures = {
        name: override.figure(getattr(over, name)) or _shipped(shipped, told, names)
        for name, names in _MACHINE_FIGURES.items()
    }
    return MachineOffer(
        own,
        size,
        told["architecture"],
        **figures,
        price_per_hour=override.price(over.price_per_hour),
        price_per_month=override.price(over.price_per_month),
    )


def _disk(shipped: CatalogFile, override: RegionIn, kind: str) -> DiskOffer:
    told: Mapping[str, Any] = shipped.raw["disks"][kind]
    over = override.disks.get(kind, DiskIn())
    return DiskOffer(
        kind,
        told["type"],
        told["outlives_vm"],
        override.figure(over.iops) or _shipped(shipped, told, ("iops",)),
        override.figure(over.bytes_per_s) or _shipped(shipped, told, ("bytes_per_s",)),
        override.price(over.price_per_gib_month),
        _by_size(override, over),
    )


def _by_size(override: RegionIn, over: DiskIn | RootDiskIn) -> Mapping[int, Price]:
    told = {gib: override.price(price) for gib, price in over.price_per_month_up_to.items()}
    return MappingProxyType({gib: price for gib, price in told.items() if price is not None})


def _root_disk(shipped: CatalogFile, override: RegionIn, sold: Mapping[str, DiskOffer]) -> RootDiskOffer:
    told: Mapping[str, Any] = shipped.raw["root_disk"]
    over, same = override.root_disk, next((d for d in sold.values() if d.type == told["type"]), None)
    own, by_size = override.price(over.price_per_gib_month), _by_size(override, over)
    if same is not None and own is None and not by_size:
        own, by_size = same.price_per_gib_month, same.price_per_month_up_to
    disk = DiskOffer("root", told["type"], False, None, None, own, by_size)
    gib = override.figure(over.gib) or _shipped(shipped, told, ("gib",))
    return RootDiskOffer(told["type"], told["in_machine"], gib, disk)


def _shipped(shipped: CatalogFile, told: Mapping[str, Any], names: tuple[str, ...]) -> CatalogFigure | None:
    """Shipped prices are all unknown: they differ by region, which a shipped figure does not tell."""
    value = next((told[name] for name in names if name in told), UNKNOWN)
    if value == UNKNOWN:
        return None
    source = shipped.raw["sources"][told["source"]]
    return CatalogFigure(Decimal(str(value)), source["what"], date.fromisoformat(source["read"]))
