"""How many vCPUs an account may still run in a region: Service Quotas tells the limits, EC2 what runs.

Limits of the standard families alone are asked for. Others (X, P, G, HPC and so on) have limits of their own, which
stand in nobody's way here: EC2 refuses then, in its own words.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from providers.aws.errors import translated
from providers.aws.inventory import PAGE, running_machines
from providers.base import Place
from providers.catalog_file import CatalogFile
from providers.quota import AccountQuota, Unit

CODES: Mapping[bool, str] = {False: "L-1216C47A", True: "L-34B43A08"}
"""By whether VMs are pre-emptible: "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances" and "All Standard
(A, C, D, H, I, M, R, T, Z) Spot Instance Requests" of Service Quotas, service `ec2`. They count vCPUs."""

_STANDARD = re.compile(r"(a|c|d|h|i|im|is|m|r|t|z)\d")
"""Types of those letters; `im4gn` and `is4gen` are of family I (EC2 User Guide, "Instance types")."""


def read_quotas(ec2: Any, limits: Any, place: Place, sold: CatalogFile, *, account_id: str) -> tuple[AccountQuota, ...]:
    """Both limits with what runs in the region, whoever made it. Raises what the calls may end with."""
    with translated(f"{place}: quota"):
        told = {
            spot: limits.get_service_quota(ServiceCode="ec2", QuotaCode=code)["Quota"] for spot, code in CODES.items()
        }
        used: Counter[bool] = Counter()
        for machine in running_machines(ec2, place, account_id=account_id, page=PAGE):
            if _STANDARD.match(machine["InstanceType"]):
                used[machine.get("InstanceLifecycle") == "spot"] += _vcpus(machine, sold)
    counted = frozenset(type_ for type_ in sold.raw["machines"] if _STANDARD.match(type_))
    return tuple(
        AccountQuota(str(q["QuotaName"]), Unit.VCPUS, float(q["Value"]), float(used[spot]), counted, spot)
        for spot, q in told.items()
    )


def _vcpus(machine: Mapping[str, Any], sold: CatalogFile) -> int:
    """The catalogue's figure; of types it does not have what EC2 tells of the VM itself."""
    known = sold.raw["machines"].get(machine["InstanceType"])
    if known is not None:
        return int(known["vcpus"])
    cores = machine.get("CpuOptions", {})
    return int(cores.get("CoreCount", 0)) * int(cores.get("ThreadsPerCore", 1))
