"""Sizes and prices as DigitalOcean's API tells them: `GET /v2/sizes`, in US dollars. It tells no price of volumes.

Every size of the region that can be had is listed, but for those with graphics processors. The API tells no
architecture, since all Droplets are x86-64 (DigitalOcean, "Droplet Features")."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from providers import base, catalog_file, made_from, overrides
from providers.digitalocean.access import DigitaloceanAccess
from providers.digitalocean.errors import translated
from providers.digitalocean.settings import DigitaloceanSettings

_PAGE = 200


def read_prices(settings_file: Path, place: base.Place, *, today: date) -> overrides.RegionIn:
    """Asks with the token of the place's team. Raises `ProviderError`."""
    client = DigitaloceanAccess(DigitaloceanSettings.read(settings_file), attempts=3).client(place)
    with translated(f"{place}: sizes and prices"):
        return region_prices(list(_sizes(client)), place.region, today=today)


def region_prices(sizes: Iterable[Mapping[str, Any]], region: str, *, today: date) -> overrides.RegionIn:
    """From answers to figures of the sizes that are made in a region. Pure."""
    source = f"digitalocean-api-{today}"

    def figure(value: object) -> dict[str, object]:
        return {"value": str(value), "source": source}

    def price(value: object) -> dict[str, object]:
        return {**figure(value), "currency": "USD"}

    known = catalog_file.sold_by("digitalocean").raw["machines"]
    machines = {
        str(size["slug"]): {
            "architecture": made_from.X86_64,
            "vcpus": figure(size["vcpus"]),
            "memory_mib": figure(size["memory"]),
            "own_disk_gb": figure(size["disk"]),
            "price_per_hour": price(size["price_hourly"]),
            "price_per_month": price(size["price_monthly"]),
        }
        for size in sizes
        if region in size["regions"] and (size["slug"] in known or _is_for_kafka(size))
    }
    # `disk` is a property of a size, and the size's price is that of the Droplet with it.
    disks = {"ephemeral": {"price_per_gib_month": price(0)}} if machines else {}
    what = "DigitalOcean API: sizes; own disks are in the size; prices of volumes are not told there"
    sources = {source: {"what": what, "read": today}}
    return overrides.RegionIn.model_validate({"sources": sources, "machines": machines, "disks": disks})


def _is_for_kafka(size: Mapping[str, Any]) -> bool:
    return size.get("available") is True and "gpu_info" not in size and not str(size["slug"]).startswith("gpu-")


def _sizes(client: Any) -> Iterator[Mapping[str, Any]]:
    """Every size; a page that is not full is the last one."""
    page = 1
    while True:
        told = client.sizes.list(per_page=_PAGE, page=page)["sizes"]
        yield from told
        if len(told) < _PAGE:
            return
        page += 1
