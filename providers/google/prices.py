"""Types as Compute Engine lists them in the zones of a region, and prices as Google's catalogue of SKUs has them (Cloud
Billing API): on demand, in US dollars, before any agreement.

Every type is listed that is not going away and has no processor beside its CPUs, with the architecture Google tells of
it; without one it is left out. A machine is sold as cores and as memory, a SKU each; its price is their sum. A type
with disks of its own is left without a price: those are a third SKU. The billing API must be enabled in the project; no
role is needed for it, and `compute.machineTypes.list` for the types.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from providers import base, catalog_file, errors, overrides
from providers.google.access import GoogleAccess
from providers.google.errors import translated
from providers.google.settings import GoogleSettings

COMPUTE_ENGINE = "6F81-5844-456A"
"""The service's id in the catalogue (Cloud Billing documentation)."""

_PAGE = 5000
_MOST_PAGES = 40
_MIB_PER_GIB = 1024
_NANO = Decimal(1_000_000_000)

_SKU = re.compile(r"^(?P<family>[A-Z]\d+[A-Z]?)(?: AMD| Arm)? Instance (?P<part>Core|Ram) running in ")
"""As `N2D AMD Instance Core running in Belgium`; `Spot Preemptible ..` and `Commitment ..` begin otherwise."""
_BALANCED = re.compile(r"^Balanced PD Capacity(?: in .*)?$")

_ARCHITECTURES = {"ARM64": "arm64", "X86_64": "x86_64"}
_LOCAL_SSD_GB = 375
"""Of one partition of a local SSD (Google, "About Local SSD disks")."""

Sku = Mapping[str, Any]
MachineType = Mapping[str, Any]
"""A type: name, architecture, vcpus, memory_mib, own_disk_gb."""


def read_prices(settings_file: Path, place: base.Place, *, today: date) -> overrides.RegionIn:
    """Asks with the credentials of the place's project. Raises `ProviderError`."""
    access = GoogleAccess(GoogleSettings.read(settings_file), attempts=3)
    region = access.settings.region(place)
    access.prove(place)
    types = [told for zone in sorted(region.subnetworks) for told in _types(access, place, zone)]
    return region_prices(_skus(access, place), types, place.region, today=today)


def region_prices(skus: Iterable[Sku], types: Iterable[MachineType], region: str, *, today: date) -> overrides.RegionIn:
    """From SKUs and types to figures of a region. A part with two prices has none. Pure."""
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

    def figure(value: object) -> dict[str, object]:
        return {"value": str(value), "source": source}

    machines: dict[str, dict[str, object]] = {}
    listed = {str(told["name"]): told for told in types}
    for name, told in listed.items():
        machines[name] = {
            "architecture": told["architecture"],
            **{one: figure(told[one]) for one in ("vcpus", "memory_mib", "own_disk_gb")},
        }
    for name, told in {**listed, **catalog_file.sold_by("google").raw["machines"]}.items():
        family = name.partition("-")[0]
        core, ram = priced.get((family, "Core")), priced.get((family, "Ram"))
        if core is not None and ram is not None and told["own_disk_gb"] == 0:
            hourly = core * told["vcpus"] + ram * Decimal(told["memory_mib"]) / _MIB_PER_GIB
            machines[name] = {**machines.get(name, {}), "price_per_hour": price(hourly)}
    balanced = priced.get(("pd-balanced", "GiB"))
    disks = {"persistent": {"price_per_gib_month": price(balanced)}} if balanced is not None else {}
    what = (
        "Compute Engine: machineTypes; Cloud Billing API: SKUs on demand, cores and memory of a type added up; "
        "pd-balanced"
    )
    return overrides.RegionIn.model_validate(
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


def _types(access: GoogleAccess, place: base.Place, zone: str) -> Iterator[MachineType]:
    """Those of a zone, in the words of the shipped catalogue. What Google does not tell the architecture of is none."""
    request = {"project": access.settings.account(place).project, "zone": zone}
    with translated(f"{place}: types in {zone}"):
        for told in access.client(place, "MachineTypes").list(request=request, **access.how(place)):
            architecture = _ARCHITECTURES.get(str(told.architecture), "")
            if architecture and not told.accelerators and not told.deprecated.state:
                yield {
                    "name": told.name,
                    "architecture": architecture,
                    "vcpus": told.guest_cpus,
                    "memory_mib": told.memory_mb,
                    "own_disk_gb": _LOCAL_SSD_GB * told.bundled_local_ssds.partition_count,
                }


def _skus(access: GoogleAccess, place: base.Place) -> Iterator[Sku]:
    token = ""
    for _ in range(_MOST_PAGES):
        query = {"currencyCode": "USD", "pageSize": str(_PAGE), **({"pageToken": token} if token else {})}
        page = access.billing(place, f"/v1/services/{COMPUTE_ENGINE}/skus", query)
        yield from page.get("skus", ())
        token = str(page.get("nextPageToken") or "")
        if not token:
            return
    raise errors.CloudUnavailable(f"{place}: the catalogue of SKUs does not end after {_MOST_PAGES} pages")
