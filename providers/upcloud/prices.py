"""Plans and prices as UpCloud's API tells them: `GET /1.3/plan`, `/1.3/price`, in credits of one cent, an hour.

Every plan is listed, but for those with graphics processors. The API tells no architecture: all servers are x86-64. It
names no currency either; a credit is a euro cent (UpCloud's own figures, as several clients of the API read them).
"""

from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from providers import base, catalog_file, figures, made_from, overrides
from providers.upcloud import access, calls, errors, settings

_CENTS = Decimal(100)


def read_prices(settings_file: Path, place: base.Place, *, today: date) -> overrides.RegionIn:
    """Asks with the credentials of the place's account. Raises `ProviderError`."""
    api = access.UpcloudAccess(settings.UpcloudSettings.read(settings_file), calls.Pauses()).api(place)
    with errors.translated(f"{place}: plans and prices"):
        plans = api.get_request("/plan")["plans"]["plan"]
        zones = api.get_request("/price")["prices"]["zone"]
    here: Mapping[str, Any] = next((zone for zone in zones if zone["name"] == place.region), {})
    return region_prices(plans, here, today=today)


def region_prices(plans: Iterable[Mapping[str, Any]], zone: Mapping[str, Any], *, today: date) -> overrides.RegionIn:
    """From answers to figures; `zone` is that zone's part of the price list, empty where it has none. Pure."""
    source = f"upcloud-api-{today}"

    def figure(value: object) -> dict[str, object]:
        return {"value": str(value), "source": source}

    def price(value: Decimal) -> dict[str, object]:
        return {**figure(value.normalize()), "currency": "EUR"}

    machines: dict[str, dict[str, object]] = {}
    for plan in plans:
        name = str(plan["name"])
        if name.startswith("GPU-") or plan.get("gpu_amount"):
            continue
        machines[name] = {
            "architecture": made_from.X86_64,
            "vcpus": figure(plan["core_number"]),
            "memory_mib": figure(plan["memory_amount"]),
        }
        if (hourly := _euros(zone.get(f"server_plan_{name}"))) is not None:
            machines[name]["price_per_hour"] = price(hourly)
    disks: dict[str, dict[str, object]] = {}
    tier = catalog_file.sold_by("upcloud").disk_type("persistent")
    if (hourly := _euros(zone.get(f"storage_{tier}"))) is not None:
        disks["persistent"] = {"price_per_gib_month": price(hourly * figures.HOURS_PER_MONTH)}
    what = "UpCloud API: plan, price; credits of one euro cent an hour; storage an hour times 730"
    sources = {source: {"what": what, "read": today}}
    return overrides.RegionIn.model_validate({"sources": sources, "machines": machines, "disks": disks})


def _euros(told: Mapping[str, Any] | None) -> Decimal | None:
    """Of one piece for an hour; None where it is not sold there."""
    if not told or not told.get("amount"):
        return None
    return Decimal(str(told["price"])) / Decimal(str(told["amount"])) / _CENTS
