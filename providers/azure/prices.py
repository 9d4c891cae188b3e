"""Sizes as Azure lists them for the subscription (Resource SKUs), and prices as its public list has them (Retail Prices
API): consumption, Linux, in US dollars, before any agreement.

Every size is listed that the subscription may have in the region, without graphics processors. The price list wants no
credentials. Premium SSDs are sold by size tier: a disk is billed as the smallest tier that holds it.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import requests

from providers.azure.access import AzureAccess
from providers.azure.errors import translated
from providers.azure.settings import AzureSettings
from providers.base import Place
from providers.catalog_file import sold_by
from providers.errors import CloudUnavailable, RateLimited
from providers.overrides import RegionIn

_LIST = "https://prices.azure.com"
_LIMITS = (3.0, 10.0)
_MOST_PAGES = 500
_SKUS_API = "2021-07-01"
_ARCHITECTURES = {"x64": "x86_64", "Arm64": "arm64"}
_MIB_PER_GIB = 1024
_THROTTLED = 429

_OTHERS = ("windows", "spot", "low priority", "cloudservices")
"""Words of items that are not a Linux VM on demand: in the product's, the SKU's or the meter's name."""

TIERS_GIB: Mapping[str, int] = {
    "P1": 4,
    "P2": 8,
    "P3": 16,
    "P4": 32,
    "P6": 64,
    "P10": 128,
    "P15": 256,
    "P20": 512,
    "P30": 1024,
    "P40": 2048,
    "P50": 4096,
    "P60": 8192,
    "P70": 16384,
    "P80": 32767,
}
"""GiB of each size of a Premium SSD (Azure documentation, "Azure managed disk types", Premium SSD size)."""

Item = Mapping[str, Any]


def read_prices(settings_file: Path, place: Place, *, today: date) -> RegionIn:
    """Asks with the credentials of the place's subscription, and the public list. Raises `ProviderError`."""
    settings = AzureSettings.read(settings_file)
    settings.region(place)
    with translated(f"{place}: sizes"):
        query = quote(f"location eq '{place.region}'", safe="")
        clients = AzureAccess(settings, attempts=3).clients(place)
        sizes = list(clients.listed("Microsoft.Compute/skus", _SKUS_API, f"&$filter={query}"))
    base = str(settings.endpoint_url).rstrip("/") if settings.endpoint_url else _LIST
    with requests.Session() as session:
        items: dict[str, list[Item]] = {}
        for item in _items(session, base, f"{place}: prices", _of_machines(place)):
            items.setdefault(str(item.get("armSkuName", "")), []).append(item)
        disks = list(_items(session, base, f"{place}: prices of disks", _of_disks(place)))
    return region_prices(sizes, items, disks, today=today)


def region_prices(
    sizes: Iterable[Item], items: Mapping[str, Iterable[Item]], disks: Iterable[Item] = (), *, today: date
) -> RegionIn:
    """From answers to figures. `items` by type. A price is taken only where all items agree on it. Pure."""
    source = f"azure-api-{today}"
    known = sold_by("azure").raw["machines"]
    machines = {
        str(size["name"]): figures
        for size in sizes
        if size.get("resourceType") == "virtualMachines" and (figures := _figures(size, source))
    }
    for size, told in items.items():
        amounts = {Decimal(str(i["retailPrice"])) for i in told if _is_on_demand(i)}
        if len(amounts) == 1 and (size in known or size in machines):
            amount = {"value": str(amounts.pop()), "currency": "USD", "source": source}
            machines.setdefault(size, {})["price_per_hour"] = amount
    tiers = {gib: {"value": str(v), "currency": "USD", "source": source} for gib, v in _tiers(disks).items()}
    what = (
        "Azure: resource SKUs; Retail Prices API: consumption, Linux; Premium SSD by size; without the subscription's "
        "agreement"
    )
    return RegionIn.model_validate(
        {
            "sources": {source: {"what": what, "read": today}},
            "machines": machines,
            "disks": {"persistent": {"price_per_month_up_to": tiers}} if tiers else {},
        }
    )


def _tiers(items: Iterable[Item]) -> dict[int, Decimal]:
    """Price of a disk a month by the most GiB of its tier, of tiers whose items agree."""
    found: dict[int, set[Decimal]] = {}
    for item in items:
        tier = str(item.get("skuName", "")).removesuffix(" LRS")
        is_disk = item.get("meterName") in (f"{tier} LRS Disk", f"{tier} Disks")
        is_price = item.get("type") == "Consumption" and item.get("currencyCode") == "USD"
        if tier in TIERS_GIB and is_disk and is_price and item.get("unitOfMeasure") == "1/Month":
            found.setdefault(TIERS_GIB[tier], set()).add(Decimal(str(item["retailPrice"])))
    return {gib: amounts.pop() for gib, amounts in sorted(found.items()) if len(amounts) == 1}


def _figures(size: Item, source: str) -> dict[str, object]:
    """Of a size the subscription may have there, empty for another one. What is not told is left out."""
    told = {str(one["name"]): str(one["value"]) for one in size.get("capabilities") or ()}
    architecture = _ARCHITECTURES.get(told.get("CpuArchitectureType", ""))
    is_barred = any(one.get("type") == "Location" for one in size.get("restrictions") or ())
    if architecture is None or is_barred or told.get("GPUs", "0") != "0" or not {"vCPUs", "MemoryGB"} <= told.keys():
        return {}
    figures = {"vcpus": told["vCPUs"], "memory_mib": int(Decimal(told["MemoryGB"]) * _MIB_PER_GIB)}
    return {
        "architecture": architecture,
        **{name: {"value": str(value), "source": source} for name, value in figures.items()},
    }


def _is_on_demand(item: Item) -> bool:
    names = " ".join(str(item.get(n, "")) for n in ("productName", "skuName", "meterName")).lower()
    return (
        item.get("type") == "Consumption"
        and item.get("unitOfMeasure") == "1 Hour"
        and item.get("currencyCode") == "USD"
        and not any(word in names for word in _OTHERS)
    )


def _of_machines(place: Place) -> str:
    """Every size in the region: some thousands, a hundred to a page."""
    return f"serviceName eq 'Virtual Machines' and priceType eq 'Consumption' and armRegionName eq '{place.region}'"


def _of_disks(place: Place) -> str:
    return (
        f"serviceName eq 'Storage' and priceType eq 'Consumption' "
        f"and armRegionName eq '{place.region}' and productName eq 'Premium SSD Managed Disks'"
    )


def _items(session: requests.Session, base: str, what: str, wanted: str) -> Iterator[Item]:
    address, query = f"{base}/api/retail/prices", {"$filter": wanted, "currencyCode": "USD"}
    for _ in range(_MOST_PAGES):
        page = _page(session, address, query, what)
        yield from page["Items"]
        address, query = str(page.get("NextPageLink") or ""), {}
        if not address:
            return
    raise CloudUnavailable(f"{what}: the price list does not end after {_MOST_PAGES} pages")


def _page(session: requests.Session, address: str, query: Mapping[str, str], what: str) -> Mapping[str, Any]:
    try:
        answer = session.get(address, params=query, timeout=_LIMITS)
        if answer.status_code == _THROTTLED:
            raise RateLimited(f"{what}: the price list is asked too often")
        answer.raise_for_status()
        told: Mapping[str, Any] = answer.json()
    except (requests.RequestException, ValueError) as error:
        raise CloudUnavailable(f"{what}: {error}") from error
    return told
