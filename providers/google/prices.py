"""Prices as Google's catalogue of SKUs has them (Cloud Billing API): on demand, in US dollars, before any agreement.

A machine is sold as cores and as memory, a SKU each; its price is their sum. A type with disks of its own is left
without a price: those are a third SKU. The API must be enabled in the project; no role is needed for it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from providers.base import Place
from providers.catalogfile import sold_by
from providers.errors import CloudUnavailable
from providers.google.access import Access
from providers.google.settings import GoogleSettings
from providers.overrides import RegionIn

COMPUTE_ENGINE = "6F81-5844-456A"
"""The service's id in the catalogue (Cloud Billing documentation)."""

_PAGE = 5000
_MOST_PAGES = 40
_MIB_PER_GIB = 1024
_NANO = Decimal(1_000_000_000)

_SKU = re.compile(r"^(?P<family>[A-Z]\d+[A-Z]?)(?: AMD| Arm)? Instance (?P<part>Core|Ram) running in ")
"""As `N2D AMD Instance Core running in Belgium`; `Spot Preemptible ..` and `Commitment ..` begin otherwise."""
_BALANCED = re.compile(r"^Balanced PD Capacity(?: in .*)?$")

Sku = Mapping[str, Any]


def read_prices(settings_file: Path, place: Place, *, today: date) -> RegionIn:
    """Asks with the credentials of the place's project. Raises `ProviderError`."""
    access = Access(GoogleSettings.read(settings_file), attempts=3)
    access.settings.region(place)
    access.prove(place)
    return region_prices(_skus(access, place), place.region, today=today)


def region_prices(skus: Iterable[Sku], region: str, *, today: date) -> RegionIn:
    """From SKUs to figures of a region. A part with two prices has none. Pure."""
    source = f"google-billing-{today}"
    parts: dict[tuple[str, str], set[Decimal]] = {}
    for sku in skus:
        if region not in sku.get("serviceRegions", ()) or sku["category"].get("usageType") != "OnDemand":
            continue
        described, amount = str(sku["description"]), _amount(sku)
        if amount is None:
            continue
        if found := _SKU.match(described):
            parts.setdefault((found["family"].lower(), found["part"]), set()).add(amount)
        elif _BALANCED.match(described):
            parts.setdefault(("pd-balanced", "GiB"), set()).add(amount)
    priced = {part: amounts.pop() for part, amounts in parts.items() if len(amounts) == 1}

    def price(value: Decimal) -> dict[str, object]:
        return {"value": str(value.normalize()), "currency": "USD", "source": source}

    machines: dict[str, dict[str, object]] = {}
    for name, told in sold_by("google").raw["machines"].items():
        family = name.partition("-")[0]
        core, ram = priced.get((family, "Core")), priced.get((family, "Ram"))
        if core is not None and ram is not None and told["own_disk_gb"] == 0:
            hourly = core * told["vcpus"] + ram * Decimal(told["memory_mib"]) / _MIB_PER_GIB
            machines[name] = {"price_per_hour": price(hourly)}
    balanced = priced.get(("pd-balanced", "GiB"))
    disks = {"persistent": {"price_per_gib_month": price(balanced)}} if balanced is not None else {}
    what = "Cloud Billing API: SKUs of Compute Engine, on demand: cores and memory of a type added up; pd-balanced"
    return RegionIn.model_validate(
        {"sources": {source: {"what": what, "read": today}}, "machines": machines, "disks": disks}
    )


def _amount(sku: Sku) -> Decimal | None:
    """Of one unit in dollars: of the last tier, the earlier ones being what is free."""
    pricing = sku.get("pricingInfo") or ()
    rates = pricing[-1]["pricingExpression"].get("tieredRates") if pricing else None
    if not rates:
        return None
    money = rates[-1]["unitPrice"]
    if money.get("currencyCode") != "USD":
        return None
    return Decimal(str(money.get("units") or 0)) + Decimal(money.get("nanos") or 0) / _NANO


def _skus(access: Access, place: Place) -> Iterator[Sku]:
    token = ""
    for _ in range(_MOST_PAGES):
        query = {"currencyCode": "USD", "pageSize": str(_PAGE), **({"pageToken": token} if token else {})}
        page = access.billing(place, f"/v1/services/{COMPUTE_ENGINE}/skus", query)
        yield from page.get("skus", ())
        token = str(page.get("nextPageToken") or "")
        if not token:
            return
    raise CloudUnavailable(f"{place}: the catalogue of SKUs does not end after {_MOST_PAGES} pages")
