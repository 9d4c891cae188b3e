"""What `kedge doctor` asks Azure: permissions, group, subnets, images, sizes, usage. Nothing is changed."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from azure.core.exceptions import HttpResponseError
from azure.core.rest import HttpRequest

from providers.azure import access, errors, permissions, settings
from providers.base import Place
from providers.catalog_file import sold_by
from providers.errors import NotFound, ProviderError
from providers.finding import Finding, looked_at
from providers.quota import AccountQuota, Unit, findings

COMPUTE_API, NETWORK_API = "2026-04-01", "2026-03-01"
_IMAGES_API, _GALLERIES_API = "2026-04-01", "2025-03-03"
_GROUPS_API, _PERMISSIONS_API = "2022-09-01", "2022-04-01"

_CORRECT = "Correct azure.yaml."
_GRANT = "Assign the role of docs/clouds/policies/azure.json to the identity, on the resource group and the networks."
_FREE = "Free addresses in that subnet or give the zone another one."
_ELSEWHERE = "Choose another region, or ask Azure for these sizes."

_SIZE = re.compile(r"^Standard_(?P<letters>[A-Z]+)\d+(?P<more>[a-z]*)_?(?P<version>v\d+)?$")

_Look = Callable[[], tuple[bool | None, str]]


def examine_region(clients: access.Clients, place: Place, region: settings.AzureRegion) -> Iterator[Finding]:
    """A finding for permissions, for what azure.yaml names in the region, and for each limit."""
    group = f"/subscriptions/{clients.account_id}/resourceGroups/{region.resource_group}"
    yield looked_at(f"{place}: resource group", _group(clients, place, group), _CORRECT)
    yield _permissions(clients, place, group)
    for name, zone in sorted(region.zones.items()):
        yield looked_at(f"{place}: subnet of {name}", _subnet(clients, place, zone), _FREE)
    if not region.images:
        yield Finding(f"{place}: images", False, "azure.yaml names none", "Name one for each Kafka version in use.")
    for version, by in sorted(region.images.items()):
        for architecture, image in sorted(by.items()):
            what = f"{place}: image of {version} for {architecture}"
            yield looked_at(what, _image(clients, what, image), _CORRECT)
    yield looked_at(f"{place}: sizes", _sizes(clients, place), _ELSEWHERE)
    yield from findings(place, read_quotas(clients, place), sold_by("azure"))


def read_quotas(clients: access.Clients, place: Place) -> tuple[AccountQuota, ...]:
    """The subscription's limits in the region that VMs count against; one call. Raises `ProviderError`."""
    with errors.translated(f"{place}: usage"):
        told = list(clients.listed(f"Microsoft.Compute/locations/{place.region}/usages", COMPUTE_API))
    return quotas_in(told)


def lacking_to_make(clients: access.Clients, place: Place, region: settings.AzureRegion) -> tuple[str, ...]:
    """Operations of a surge that the identity lacks on the resource group; one call. Raises `ProviderError`."""
    group = f"/subscriptions/{clients.account_id}/resourceGroups/{region.resource_group}"
    return permissions.lacking(_permissions_on(clients, f"{place}: permissions", group), permissions.TO_MAKE)


def free_addresses(clients: access.Clients, place: Place, subnets: Iterable[str]) -> dict[str, int]:
    """By subnet's id in lower case, of those that are there; a call for each network. Raises `ProviderError`."""
    wanted = {s.lower() for s in subnets}
    free: dict[str, int] = {}
    for network in sorted({s.rpartition("/subnets/")[0] for s in subnets}):
        told = _get(clients, f"{place}: {network}", f"{network}/usages", NETWORK_API)
        free |= {str(u["id"]).lower(): int(u["limit"] - u["currentValue"]) for u in told["value"]}
    return {subnet: left for subnet, left in free.items() if subnet in wanted}


def quotas_in(usages: Iterable[Mapping[str, Any]]) -> tuple[AccountQuota, ...]:
    """Of "Usage - List": `cores`, `virtualMachines`, and the family of each size of the catalogue. Pure."""
    families: dict[str, set[str]] = {}
    for size in sold_by("azure").raw["machines"]:
        families.setdefault(family_of(size).lower(), set()).add(size)
    found = []
    for usage in usages:
        name, limit, used = str(usage["name"]["value"]), float(usage["limit"]), float(usage["currentValue"])
        if name.lower() == "cores":
            found.append(AccountQuota(name, Unit.VCPUS, limit, used, spot=False))
        elif name.lower() == "lowprioritycores":
            found.append(AccountQuota(name, Unit.VCPUS, limit, used, spot=True))
        elif name.lower() == "virtualmachines":
            found.append(AccountQuota(name, Unit.VMS, limit, used))
        elif name.lower() in families:
            found.append(AccountQuota(name, Unit.VCPUS, limit, used, frozenset(families[name.lower()]), spot=False))
    return tuple(found)


def family_of(size: str) -> str:
    """`standardDSv5Family` of `Standard_D2s_v5`, as usages name it; empty for a name of another form."""
    told = _SIZE.match(size)
    return f"standard{told['letters']}{told['more'].upper()}{told['version'] or ''}Family" if told else ""


def _group(clients: access.Clients, place: Place, group: str) -> _Look:
    def look() -> tuple[bool | None, str]:
        _get(clients, f"{place}: {group}", group, _GROUPS_API)
        return True, group.rpartition("/")[2]

    return look


def _permissions(clients: access.Clients, place: Place, group: str) -> Finding:
    what = f"{place}: permissions"
    try:
        told = _permissions_on(clients, what, group)
    except ProviderError as error:
        return Finding(what, None, f"Azure does not tell them: {error}")
    if missing := permissions.lacking(told):
        return Finding(what, False, f"on the resource group they lack {', '.join(missing)}", _GRANT)
    return Finding(what, True, f"all {len(permissions.needed())} that are needed on the resource group")


def _permissions_on(clients: access.Clients, what: str, group: str) -> Sequence[Mapping[str, Any]]:
    told = _get(clients, what, f"{group}/providers/Microsoft.Authorization/permissions", _PERMISSIONS_API)
    found: Sequence[Mapping[str, Any]] = told["value"]
    return found


def _subnet(clients: access.Clients, place: Place, zone: settings.AzureZone) -> _Look:
    def look() -> tuple[bool | None, str]:
        free = free_addresses(clients, place, [zone.subnet])
        if zone.subnet.lower() not in free:
            raise NotFound(f"{place}: there is no {zone.subnet}")
        left = free[zone.subnet.lower()]
        return left > 0, f"{left} free addresses"

    return look


def _image(clients: access.Clients, what: str, image: str) -> _Look:
    def look() -> tuple[bool | None, str]:
        api = _GALLERIES_API if "/galleries/" in image else _IMAGES_API
        told = _get(clients, what, image, api)
        state = str(told.get("properties", {}).get("provisioningState"))
        return state == "Succeeded", f"{image.rpartition('/')[2]} is {state}; for which processor is not told with it"

    return look


def _sizes(clients: access.Clients, place: Place) -> _Look:
    def look() -> tuple[bool | None, str]:
        with errors.translated(f"{place}: sizes"):
            told = clients.listed(f"Microsoft.Compute/locations/{place.region}/vmSizes", COMPUTE_API)
            there = {str(one["name"]) for one in told}
        sizes = sold_by("azure").raw["shapes"]
        missing = sorted(set(sizes.values()) - there)
        if missing:
            return False, f"the region has no {', '.join(missing)}"
        return True, ", ".join(f"{size} {own}" for size, own in sizes.items())

    return look


def _get(clients: access.Clients, what: str, path: str, api: str) -> Mapping[str, Any]:
    client = clients.network if "/Microsoft.Network/" in path else clients.compute
    with errors.translated(what):
        answer = client.send_request(HttpRequest("GET", f"{{endpoint}}{path}?api-version={api}"))
        try:
            answer.raise_for_status()
        except HttpResponseError as error:
            if errors.is_not_there(error):
                raise NotFound(f"{what}: there is no {path}") from error
            raise
        told: Mapping[str, Any] = answer.json()
        return told
