"""What `kedge doctor` asks UpCloud: zone, network, templates, plans, limits of the account. Nothing is changed."""

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from providers.base import Place
from providers.catalog_file import sold_by
from providers.errors import NotFound
from providers.finding import Finding, looked_at
from providers.quota import AccountQuota, Unit, findings
from providers.upcloud.calls import Calls
from providers.upcloud.errors import UpcloudAnswerError, translated
from providers.upcloud.settings import UpcloudRegion

_PAGE = 100
_CORRECT = "Correct upcloud.yaml."
_FREE = "Widen `node_addresses` in upcloud.yaml, within the network and outside its DHCP."
_RANGE = "Write the network's own range as `network_range` in upcloud.yaml: VMs let in whoever is in it."
_ELSEWHERE = "Choose another zone, or name plans that are sold."
_RIGHTS = "A sub-account needs the permissions of docs/clouds/upcloud.md."

_Look = Callable[[], tuple[bool | None, str]]


def examine_region(api: Calls, place: Place, region: UpcloudRegion) -> Iterator[Finding]:
    """A finding for what upcloud.yaml names in the region, and for each limit of the account."""
    yield Finding(f"{place}: permissions", None, "UpCloud tells a sub-account nothing of its own; it may read", _RIGHTS)
    yield looked_at(f"{place}: zone", _zone(api, place), _ELSEWHERE)
    yield looked_at(f"{place}: network", _network(api, place, region), _FREE)
    yield looked_at(f"{place}: who gets in", _filter(api, place, region), _RANGE)
    if region.server_group:
        yield looked_at(f"{place}: server group", _group(api, place, region.server_group), _CORRECT)
    if not region.images:
        yield Finding(f"{place}: images", False, "upcloud.yaml names none", "Name one for each Kafka version in use.")
    for version, template in sorted(region.images.items()):
        yield looked_at(f"{place}: template of {version}", _template(api, place, template), _CORRECT)
    yield looked_at(f"{place}: plans", _plans(api, place), _ELSEWHERE)
    yield from findings(place, read_quotas(api, place), sold_by("upcloud"))


def read_quotas(api: Calls, place: Place) -> tuple[AccountQuota, ...]:
    """Limits of the account, all zones together, against all its servers and storages. Raises `ProviderError`."""
    with translated(f"{place}: limits"):
        limits = api.get_request("/account")["account"].get("resource_limits") or {}
        servers = list(api.pages("/server", ("servers", "server"), (), size=_PAGE))
        storages = list(api.pages("/storage/private", ("storages", "storage"), (), size=_PAGE))
    return quotas_in(limits, servers, storages)


def quotas_in(
    limits: Mapping[str, Any], servers: Iterable[Mapping[str, Any]], storages: Iterable[Mapping[str, Any]]
) -> tuple[AccountQuota, ...]:
    """Of `resource_limits` ("Get account information"), those that VMs and our disks count against. Pure."""
    servers, storages = list(servers), list(storages)
    used = {
        "cores": (Unit.VCPUS, sum(int(s["core_number"]) for s in servers)),
        "memory": (Unit.MEMORY_MIB, sum(int(s["memory_amount"]) for s in servers)),
        "storage_maxiops": (Unit.DISK_GIB, sum(int(s["size"]) for s in storages if s.get("tier") == "maxiops")),
    }
    return tuple(
        AccountQuota(name, unit, float(limits[name]), n) for name, (unit, n) in used.items() if limits.get(name)
    )


def _zone(api: Calls, place: Place) -> _Look:
    def look() -> tuple[bool | None, str]:
        with translated(f"{place}: zones"):
            zones = {str(z["id"]): z for z in api.get_request("/zone")["zones"]["zone"]}
        if place.region not in zones:
            return False, f"there is no zone {place.region}; there is {', '.join(sorted(zones))}"
        return True, str(zones[place.region].get("description", place.region))

    return look


def _network(api: Calls, place: Place, region: UpcloudRegion) -> _Look:
    def look() -> tuple[bool | None, str]:
        told = _get(api, f"{place}: network {region.network}", f"/network/{region.network}")["network"]
        if told["zone"] != place.region:
            return False, f"{region.network} is in {told['zone']}"
        with translated(f"{place}: addresses"):
            addresses = api.get_request("/ip_address")["ip_addresses"]["ip_address"]
        ours = ipaddress.ip_network(region.node_addresses)
        used = sum(1 for a in addresses if ":" not in a["address"] and ipaddress.ip_address(a["address"]) in ours)
        free = ours.num_addresses - used
        return free > 0, f"{free} free addresses for nodes"

    return look


def _filter(api: Calls, place: Place, region: UpcloudRegion) -> _Look:
    """A range that is too narrow keeps members out, one that is too wide lets foreign addresses in."""

    def look() -> tuple[bool | None, str]:
        if region.network_range is None:
            return None, "VMs filter nothing: whoever is in the network, or is routed to it, reaches every port"
        told = _get(api, f"{place}: network {region.network}", f"/network/{region.network}")["network"]
        ranges = {str(one["address"]) for one in told["ip_networks"]["ip_network"] if one["family"] == "IPv4"}
        if ranges != {region.network_range}:
            return False, f"`network_range` is {region.network_range}, the network has {', '.join(sorted(ranges))}"
        clients = ", ".join(region.clients) or "no clients"
        return True, f"VMs let in {region.network_range}, and to brokers {clients}"

    return look


def _group(api: Calls, place: Place, group: str) -> _Look:
    def look() -> tuple[bool | None, str]:
        told = _get(api, f"{place}: server group {group}", f"/server-group/{group}")["server_group"]
        policy = str(told.get("anti_affinity"))
        return policy != "no", f"anti-affinity {policy}"

    return look


def _template(api: Calls, place: Place, template: str) -> _Look:
    def look() -> tuple[bool | None, str]:
        told = _get(api, f"{place}: template {template}", f"/storage/{template}")["storage"]
        here = told.get("zone") in (None, place.region)
        return told["type"] == "template" and told["state"] == "online" and here, (
            f"{template} is a {told['type']}, {told['state']}, in {told.get('zone', 'every zone')}"
        )

    return look


def _plans(api: Calls, place: Place) -> _Look:
    def look() -> tuple[bool | None, str]:
        with translated(f"{place}: plans"):
            there = {str(one["name"]) for one in api.get_request("/plan")["plans"]["plan"]}
        sizes = sold_by("upcloud").raw["shapes"]
        missing = sorted(set(sizes.values()) - there)
        if missing:
            return False, f"UpCloud has no {', '.join(missing)}"
        return True, ", ".join(f"{size} {own}" for size, own in sizes.items())

    return look


def _get(api: Calls, what: str, path: str) -> Any:
    with translated(what):
        try:
            return api.get_request(path)
        except UpcloudAnswerError as error:
            if error.status == 404:
                raise NotFound(f"{what}: {error.message} ({error.code})") from error
            raise
