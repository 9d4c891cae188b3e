"""Types and prices as Hetzner's API tells them: `GET /server_types`, `/locations` and `/pricing`, net of VAT.

Every type with a price in the region is listed, but for those that are going away. A region of ours is a network zone;
where its locations differ in price, the dearest counts.
"""

from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from providers.base import Place
from providers.catalog_file import sold_by
from providers.hetzner.access import HetznerAccess
from providers.hetzner.errors import translated
from providers.hetzner.settings import HetznerSettings
from providers.overrides import RegionIn

_ARCHITECTURES = {"arm": "arm64", "x86": "x86_64"}


def read_prices(settings_file: Path, place: Place, *, today: date) -> RegionIn:
    """Asks with the token of the place's project. Raises `ProviderError`."""
    client = HetznerAccess(HetznerSettings.read(settings_file), attempts=3).client(place)
    with translated(f"{place}: types and prices"):
        types = client.server_types.get_all()
        locations = client.locations.get_all()
        pricing = client.request(method="GET", url="/pricing")["pricing"]
    here = {str(one.name) for one in locations if one.network_zone == place.region}
    known = sold_by("hetzner").raw["machines"]
    lasting = [one for one in types if one.name in known or _lasts(one, here)]
    told = {
        str(one.name): (
            _ARCHITECTURES.get(str(one.architecture), ""),
            one.cores,
            one.memory,
            one.disk,
            one.prices or [],
        )
        for one in lasting
    }
    return region_prices(told, here, pricing, today=today)


def _lasts(told: Any, here: set[str]) -> bool:
    """Whether it goes on to be made in one of these locations. Where it is told of none, nothing speaks against it."""
    there = [one for one in told.locations or () if one.location.name in here]
    return not there or any(one.deprecation is None for one in there)


def region_prices(
    types: Mapping[str, tuple[str, Any, Any, Any, Iterable[Mapping[str, Any]]]],
    locations: set[str],
    pricing: Mapping[str, Any],
    *,
    today: date,
) -> RegionIn:
    """From answers to figures. `types`: name -> (architecture, cores, memory in GB, disk in GB, prices by
    location). Pure."""
    source = f"hetzner-api-{today}"
    currency = pricing["currency"]
    where = ", ".join(sorted(locations))

    def figure(value: object) -> dict[str, object]:
        return {"value": str(value), "source": source}

    def price(value: object) -> dict[str, object]:
        return {**figure(value), "currency": currency}

    machines: dict[str, dict[str, object]] = {}
    known = sold_by("hetzner").raw["machines"]
    for name, (architecture, cores, memory_gb, disk_gb, prices) in types.items():
        sold = [p for p in prices if p["location"] in locations]
        if name not in known and not (sold and architecture):
            continue
        machines[name] = {
            **({"architecture": architecture} if architecture else {}),
            "vcpus": figure(cores),
            "memory_mib": figure(int(Decimal(str(memory_gb)) * 1024)),
            "own_disk_gb": figure(disk_gb),
        }
        if sold:
            machines[name]["price_per_hour"] = price(max(Decimal(p["price_hourly"]["net"]) for p in sold))
            machines[name]["price_per_month"] = price(max(Decimal(p["price_monthly"]["net"]) for p in sold))
    disks = {
        "persistent": {"price_per_gib_month": price(pricing["volume"]["price_per_gb_month"]["net"])},
        # `disk` is a property of a server type, and the type's price is that of the server with it.
        "ephemeral": {"price_per_gib_month": price(0)},
    }
    addresses: dict[str, object] = {}
    for kind, figure_name in (("ipv6", "ipv6_per_month"), ("ipv4", "public_ipv4_per_month")):
        sold_at = [
            Decimal(one["price_monthly"]["net"])
            for told in pricing.get("primary_ips", ())
            if told["type"] == kind
            for one in told["prices"]
            if one["location"] in locations
        ]
        addresses |= {figure_name: price(max(sold_at))} if sold_at else {}
    what = f"Hetzner API: server_types, locations, pricing; net; the dearest of {where}; own disks are in the type"
    sources = {source: {"what": what, "read": today}}
    told_of = {"sources": sources, "machines": machines, "disks": disks, "addresses": addresses}
    return RegionIn.model_validate(told_of)
