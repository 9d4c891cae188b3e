"""What clouds sell, from the price list to what the API and the command line say. Pure."""

from collections.abc import Iterable
from datetime import date
from typing import Any

from controlplane.api.schemas import machines as api
from providers.figures import CatalogFigure, Price, is_old
from providers.offers import DiskOffer, MachineOffer, Offers, RootDiskOffer
from providers.racks import Racks


def regions_out(found: Iterable[Offers], today: date) -> list[api.MachinesOfRegionOut]:
    """All of them, with ages as of today."""
    return [_of_region(offers, today) for offers in found]


def place_of(item: api.MachinesOfRegionOut) -> str:
    """How a page of the list names one: `aws/eu-west-1`, or `aws` where there is no region."""
    return f"{item.cloud}/{item.region}" if item.region else item.cloud


def _of_region(offers: Offers, today: date) -> api.MachinesOfRegionOut:
    return api.MachinesOfRegionOut(
        cloud=offers.cloud,
        region=offers.region or None,
        machines=[_machine(one, today) for one in offers.machines.values()],
        disks=[_disk(one, today) for one in offers.disks.values()],
        root_disk=_root_disk(offers.root_disk, today),
        racks=[_racks(one, today) for one in offers.racks],
        cross_zone_per_gib=_price(offers.cross_zone_per_gib, today),
        egress_per_gib=_price(offers.egress_per_gib, today),
        ipv6_per_month=_price(offers.ipv6_per_month, today),
        public_ipv4_per_month=_price(offers.public_ipv4_per_month, today),
        old=list(offers.old_figures(today)),
        unmatched=list(offers.unmatched),
    )


def _machine(one: MachineOffer, today: date) -> api.MachineOut:
    return api.MachineOut(
        type=one.type,
        size=one.size or None,
        architecture=one.architecture,
        vcpus=_figure(one.vcpus, today),
        memory_mib=_figure(one.memory_mib, today),
        nic_baseline_gbps=_figure(one.nic_baseline_gbps, today),
        nic_burst_gbps=_figure(one.nic_burst_gbps, today),
        own_disk_gb=_figure(one.own_disk_gb, today),
        own_disk_mb_per_s=_figure(one.own_disk_mb_per_s, today),
        volumes_mb_per_s=_figure(one.volumes_mb_per_s, today),
        price_per_hour=_price(one.price_per_hour, today),
        price_per_month=_price(one.price_per_month, today),
    )


def _disk(one: DiskOffer, today: date) -> api.DiskOut:
    return api.DiskOut.like(
        one,
        iops=_figure(one.iops, today),
        bytes_per_s=_figure(one.bytes_per_s, today),
        price_per_gib_month=_price(one.price_per_gib_month, today),
        price_per_month_up_to={
            gib: shown for gib, price in sorted(one.price_per_month_up_to.items()) if (shown := _price(price, today))
        },
    )


def _root_disk(one: RootDiskOffer, today: date) -> api.RootDiskOut:
    price = None if one.in_machine else _price(one.monthly, today)
    return api.RootDiskOut(type=one.type, in_machine=one.in_machine, gib=_figure(one.gib, today), price_per_month=price)


def _racks(one: Racks, today: date) -> api.RacksOut:
    return api.RacksOut.like(one, kind=str(one.kind), zones=one.zones or None, **_age(one.read, today))


def _figure(figure: CatalogFigure | None, today: date) -> api.FigureOut | None:
    return None if figure is None else api.FigureOut.like(figure, value=_plain(figure), **_age(figure.read, today))


def _price(price: Price | None, today: date) -> api.PriceOut | None:
    return None if price is None else api.PriceOut.like(price, value=_plain(price), **_age(price.read, today))


def _age(read: date, today: date) -> dict[str, Any]:
    return {"age_days": (today - read).days, "old": is_old(read, today)}


def _plain(figure: CatalogFigure) -> str:
    return f"{figure.value.normalize():f}"
