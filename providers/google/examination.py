"""What `kedge doctor` asks Google: permissions, zones, subnetworks, images, types, quota. Nothing is changed."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from providers.base import Place
from providers.catalog_file import sold_by
from providers.errors import ProviderError
from providers.finding import Finding, looked_at
from providers.google.access import GoogleAccess
from providers.google.errors import translated
from providers.google.permissions import needed
from providers.quota import AccountQuota, Unit, findings

_CORRECT = "Correct google.yaml."
_GRANT = "Grant them to the service account, as the role of docs/clouds/policies/google.yaml does."
_ARCHITECTURES = {"ARM64": "arm64", "X86_64": "x86_64"}

_UNITS = {"INSTANCES": Unit.VMS, "SSD_TOTAL_GB": Unit.DISK_GIB}
"""Quotas of a region by their metric (compute.v1, `AccountQuota.metric`); pd-balanced disks count as SSD."""

_SPOT = "PREEMPTIBLE_CPUS"
"""Pre-emptible VMs of all families count against it, where an account has it (Google documentation, "Spot VMs")."""

_SHARED_FAMILIES = ("e2", "n1", "f1", "g1")
"""Types that count as `CPUS`; every other family has a metric of its own (Google documentation, "CPU quotas")."""


def examine_region(access: GoogleAccess, place: Place) -> Iterator[Finding]:
    """A finding for permissions, and for what google.yaml names in the region, and each quota."""
    region, project = access.settings.region(place), access.settings.account(place).project
    yield _permissions(access, place)
    there = _ask(access, place, "Regions", f"{place}: region", {"project": project, "region": place.region})
    zones = {_last(z) for z in there.zones}
    for zone in sorted(region.subnetworks):
        if zone not in zones:
            yield Finding(f"{place}: zone {zone}", False, f"{place.region} has {', '.join(sorted(zones))}", _CORRECT)
    for path in sorted(set(region.subnetworks.values())):
        yield looked_at(f"{place}: subnetwork {_last(path)}", _subnetwork(access, place, path), _CORRECT)
    if not region.images:
        yield Finding(f"{place}: images", False, "google.yaml names none", "Name one for each Kafka version in use.")
    for version, by in sorted(region.images.items()):
        for architecture, path in sorted(by.items()):
            what = f"{place}: image of {version} for {architecture}"
            yield looked_at(what, _image(access, place, what, architecture, path), _CORRECT)
    for zone in sorted(zones & region.subnetworks.keys()):
        yield looked_at(f"{place}: types in {zone}", _types(access, place, project, zone), "Choose another zone.")
    yield from findings(place, quotas_in(there), sold_by("google"))


def read_quotas(access: GoogleAccess, place: Place) -> tuple[AccountQuota, ...]:
    """Those of the region that VMs and disks count against; one call. Raises `ProviderError`."""
    project = access.settings.account(place).project
    region = _ask(access, place, "Regions", f"{place}: quota", {"project": project, "region": place.region})
    return quotas_in(region)


def quotas_in(region: Any) -> tuple[AccountQuota, ...]:
    """Of a region as the SDK gives it. Pure."""
    found = []
    spot = next((told for told in region.quotas if told.metric == _SPOT), None)
    own = spot is not None and spot.limit > 0
    kept = False if own else None  # without a limit of their own pre-emptible VMs count as all others do
    for told in region.quotas:
        metric = str(told.metric)
        if (unit := _UNITS.get(metric)) is not None:
            found.append(AccountQuota(metric, unit, told.limit, told.usage))
        elif metric == "CPUS" or re.fullmatch(r"[A-Z]\d[A-Z]?_CPUS", metric):
            found.append(AccountQuota(metric, Unit.VCPUS, told.limit, told.usage, _types_of(metric), spot=kept))
        elif metric == _SPOT and own:
            found.append(AccountQuota(metric, Unit.VCPUS, told.limit, told.usage, spot=True))
    return tuple(found)


def _types_of(metric: str) -> frozenset[str]:
    own = metric.removesuffix("_CPUS").lower()
    families = _SHARED_FAMILIES if metric == "CPUS" else (own,)
    return frozenset(t for t in sold_by("google").raw["machines"] if t.partition("-")[0] in families)


def _permissions(access: GoogleAccess, place: Place) -> Finding:
    what, wanted = f"{place}: permissions", needed()
    try:
        held = access.permissions(place, wanted)
    except ProviderError as error:
        return Finding(what, None, f"the project does not tell them: {error}")
    missing = sorted(set(wanted) - held)
    if missing:
        return Finding(what, False, f"the credentials lack {', '.join(missing)}", _GRANT)
    return Finding(what, True, f"all {len(wanted)} that are needed")


def _subnetwork(access: GoogleAccess, place: Place, path: str) -> Callable[[], tuple[bool | None, str]]:
    def look() -> tuple[bool | None, str]:
        words = path.split("/")
        request = {"project": words[1], "region": words[3], "subnetwork": words[5]}
        found = _ask(access, place, "Subnetworks", f"{place}: {path}", request)
        return True, f"{found.ip_cidr_range}; Google does not tell how many of its addresses are free"

    return look


def _image(
    access: GoogleAccess, place: Place, what: str, architecture: str, path: str
) -> Callable[[], tuple[bool | None, str]]:
    def look() -> tuple[bool | None, str]:
        words = path.split("/")
        found = _ask(access, place, "Images", what, {"project": words[1], "image": words[4]})
        # An image made without a word on it says nothing: Google then takes it for any type.
        is_for = _ARCHITECTURES.get(str(found.architecture), "nobody said what")
        fits = is_for in (architecture, "nobody said what")
        return fits and found.status == "READY", f"{words[4]} is for {is_for} and {str(found.status).lower()}"

    return look


def _types(access: GoogleAccess, place: Place, project: str, zone: str) -> Callable[[], tuple[bool | None, str]]:
    def look() -> tuple[bool | None, str]:
        sizes = sold_by("google").raw["shapes"]
        for own in sizes.values():
            request = {"project": project, "zone": zone, "machine_type": own}
            _ask(access, place, "MachineTypes", f"{place}: {own} in {zone}", request)
        return True, ", ".join(f"{size} {own}" for size, own in sizes.items())

    return look


def _ask(access: GoogleAccess, place: Place, kind: str, what: str, request: dict[str, str]) -> Any:
    with translated(what):
        return access.client(place, kind).get(request=request, **access.how(place))


def _last(path: str) -> str:
    return path.rpartition("/")[2]
