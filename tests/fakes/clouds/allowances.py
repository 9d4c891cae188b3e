"""What the fakes say of an account's limits and of what a region sells: the same words as the vendors' documents."""

from collections.abc import Iterable, Mapping
from typing import Any

Body = dict[str, Any]

_METRICS = (("CPUS", 72.0), ("N2D_CPUS", 24.0), ("INSTANCES", 720.0), ("SSD_TOTAL_GB", 2048.0), ("NETWORKS", 20.0))

_FAMILIES = {"standardDSv5Family": "Total DSv5", "standardESv5Family": "Total ESv5"}

SIZES = ("g-2vcpu-8gb", "g-4vcpu-16gb", "g-8vcpu-32gb")


def google_region(name: str, zones: Iterable[str], base: str, used: Mapping[str, float], path: str) -> Body:
    """`Region` of compute.v1; `used` by metric."""
    here = [f"{base}{path.split('/regions/')[0]}/zones/{z}" for z in zones if z.rpartition("-")[0] == name]
    quotas = [{"metric": m, "limit": limit, "usage": float(used.get(m, 0))} for m, limit in _METRICS]
    return {"status": "UP", "zones": here, "quotas": quotas}


def azure_usages(machines: int, limits: Mapping[str, int]) -> list[Body]:
    """`ListUsagesResult.value`: each VM of the fake counts as four cores."""
    named = {"cores": "Total Regional vCPUs", "virtualMachines": "Virtual Machines", **_FAMILIES}
    return [
        {
            "unit": "Count",
            "currentValue": machines * (1 if name == "virtualMachines" else 4),
            "limit": limits.get(name, 100),
            "name": {"value": name, "localizedValue": words},
        }
        for name, words in named.items()
    ]


def azure_sizes(names: Iterable[str]) -> list[Body]:
    """`VirtualMachineSizeListResult.value`."""
    return [
        {
            "name": name,
            "numberOfCores": 2,
            "osDiskSizeInMB": 1047552,
            "resourceDiskSizeInMB": 0,
            "memoryInMB": 8192,
            "maxDataDiskCount": 4,
        }
        for name in names
    ]


def digitalocean_image(number: int, regions: Iterable[str]) -> Body:
    """A snapshot of the team."""
    return {
        "id": number,
        "name": f"kafka-{number}",
        "type": "snapshot",
        "distribution": "Debian",
        "slug": None,
        "public": False,
        "regions": list(regions),
        "created_at": "2026-11-22T06:00:00Z",
        "min_disk_size": 25,
        "size_gigabytes": 2.34,
        "description": "",
        "tags": [],
        "status": "available",
        "error_message": "",
    }


def upcloud_account(username: str, limits: Mapping[str, int]) -> Body:
    """`GET /1.3/account`; limits as in the API documentation's example."""
    told = {"cores": 200, "memory": 1048576, "networks": 100, "public_ipv4": 100, "storage_maxiops": 10240}
    return {"account": {"credits": 1.0, "username": username, "resource_limits": {**told, **limits}}}


def upcloud_zones(names: Iterable[str]) -> Body:
    return {"zones": {"zone": [{"id": n, "description": n.upper(), "public": "yes"} for n in names]}}


def upcloud_plans(names: Iterable[str]) -> Body:
    return {"plans": {"plan": [{"name": n, "core_number": 2, "memory_amount": 4096} for n in names]}}
