"""What an account may still have: a cloud's limits in one form, and whether VMs and disks that are wanted fit in.

A limit nobody tells is no limit here: the cloud refuses then, in words of its own. Root disks are not counted; their
size is the module's.
"""

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from providers.base import InstanceResource, Place, Resources, VolumeResource
from providers.catalog_file import CatalogFile
from providers.errors import AuthFailed, CloudUnavailable, NotFound, NotPermitted, QuotaExceeded
from providers.finding import Finding

SAMPLE = "small"
"""The neutral size `kedge doctor` asks room for: one VM of it more than there is, as any roll needs."""


class Unit(StrEnum):
    """What a limit counts."""

    VMS = "VMs"
    VCPUS = "vCPUs"
    MEMORY_MIB = "MiB of memory"
    VOLUMES = "volumes"
    DISK_GIB = "GiB of disks"
    ADDRESSES = "addresses"


@dataclass(frozen=True, slots=True)
class AccountQuota:
    """One limit of an account, in one region or in all. `name` is the cloud's own word for it."""

    name: str
    unit: Unit
    limit: float
    used: float
    machines: frozenset[str] | None = None
    """Types it counts, in the cloud's words; None: all of them."""
    spot: bool | None = None
    """Whether it counts pre-emptible VMs alone (True), or all others alone; None: both."""

    @property
    def left(self) -> float:
        """Never below 0: a limit may be lowered under what stands."""
        return max(0.0, self.limit - self.used)


@runtime_checkable
class TellsQuotas(Protocol):
    """An account's limits can be read, in a call or two."""

    def quotas(self, place: Place) -> tuple[AccountQuota, ...]:
        """Limits that VMs and disks of the place count against. Raises `ProviderError`."""


def lacking(quotas: Iterable[AccountQuota], wanted: Resources, new: Set[str], sold: CatalogFile) -> list[str]:
    """What `new` (targets as `instance/b-0.g1`) needs and the account may not have, a sentence each. Pure."""
    machines = [i for i in wanted.instances if f"instance/{i.key}" in new]
    disks = [v for v in wanted.volumes if f"volume/{v.key}" in new and sold.raw["disks"][v.kind]["outlives_vm"]]
    found = []
    for quota in quotas:
        need = _need(quota, machines, disks, sold)
        if need > quota.left:
            found.append(
                f"{quota.name}: {need:g} {quota.unit} more are needed, {quota.left:g} of {quota.limit:g} are left"
            )
    return found


def refuse_what_does_not_fit(
    quotas: Iterable[AccountQuota], wanted: Resources, new: Set[str], sold: CatalogFile
) -> None:
    """Raises `QuotaExceeded` naming each limit that is in the way. Pure."""
    if missing := lacking(quotas, wanted, new, sold):
        raise QuotaExceeded(
            f"{wanted.place}: no room for {', '.join(sorted(new))}; nothing was made. {'; '.join(missing)}"
        )


def check_room(provider: TellsQuotas, wanted: Resources, new: Set[str], sold: CatalogFile) -> None:
    """As `refuse_what_does_not_fit`, with the account's limits as they are now. Raises `RateLimited` too.

    What the account's credentials may not read, or nobody answers, stands in nobody's way: the cloud knows its limits.
    """
    if not new:
        return
    try:
        quotas = provider.quotas(wanted.place)
    except (AuthFailed, NotPermitted, CloudUnavailable, NotFound):
        return
    refuse_what_does_not_fit(quotas, wanted, new, sold)


def findings(place: Place, quotas: Iterable[AccountQuota], sold: CatalogFile) -> Iterator[Finding]:
    """One for each limit: wrong where not even one VM of the smallest size fits in."""
    sample = InstanceResource("sample", 1, "", SAMPLE, "", "", "")
    for quota in quotas:
        need = _need(quota, [sample], [], sold)
        fits = need <= quota.left
        told = f"{quota.used:g} of {quota.limit:g} {quota.unit} are used"
        yield Finding(
            f"{place}: quota {quota.name}",
            fits,
            told
            if fits
            else f"{told}: no room for one VM of size {SAMPLE}, which a roll makes before it takes one away",
            "" if fits else QuotaExceeded.what_next,
        )


def _need(
    quota: AccountQuota, machines: Iterable[InstanceResource], disks: Iterable[VolumeResource], sold: CatalogFile
) -> float:
    types = [sold.machine(i.shape) for i in machines if quota.spot is None or quota.spot == i.spot]
    counted = [t for t in types if quota.machines is None or t.type in quota.machines]
    match quota.unit:
        case Unit.VMS | Unit.ADDRESSES:
            return len(counted)
        case Unit.VCPUS:
            return sum(t.shape.vcpus for t in counted)
        case Unit.MEMORY_MIB:
            return sum(t.shape.memory_mib for t in counted)
        case Unit.VOLUMES:
            return sum(1 for _ in disks)
        case Unit.DISK_GIB:
            return sum(d.size_gib for d in disks)
