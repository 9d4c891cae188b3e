"""What a surge asks beside the quota before Terraform starts: may the credentials make it, are addresses free? And a
release that deletes a VM before its successor is made: may they make that one?

One to three calls for each such run. What nobody answers stands in nobody's way, and is told: the cloud
knows.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Protocol, runtime_checkable

from providers.base import Place, Resources
from providers.errors import AuthFailed, CloudUnavailable, NotFound, NotPermitted, QuotaExceeded
from providers.finding import Finding

PERMISSIONS, ADDRESSES = "permissions", "addresses"
"""What a finding is about: the first is the credentials' affair, the second that of the network."""


@runtime_checkable
class PreflightCheck(Protocol):
    """An account tells what a surge would stumble over."""

    def look_ahead(self, wanted: Resources, new: Set[str]) -> Iterator[Finding]:
        """About `PERMISSIONS` and `ADDRESSES`: `new` are targets as `instance/b-0.g1`, VMs among them. Changes nothing.

        Where a VM is made by a bind (`Handover`), `new` may be empty: then it is about `PERMISSIONS` alone.

        `well` is None where the cloud does not tell. Raises `ProviderError`.
        """


def check_ahead(provider: PreflightCheck, wanted: Resources, new: Set[str], tell: Callable[[str], None]) -> None:
    """Raises `NotPermitted`, else `QuotaExceeded`, naming all that is in the way; `RateLimited` where that was asked
    too often. `tell` hears what could not be learnt, and why."""
    if not _vms(new):
        return
    if wrong := _in_the_way(provider, wanted, new, tell, "the surge"):
        kind = NotPermitted if any(f.what == PERMISSIONS for f in wrong) else QuotaExceeded
        told = "; ".join(f.told for f in wrong)
        raise kind(f"{wanted.place}: cannot make {', '.join(sorted(new))}; nothing was made. {told}")


def check_successors(
    provider: PreflightCheck, wanted: Resources, leaving: Set[str], tell: Callable[[str], None]
) -> None:
    """Before a release deletes VMs whose successors its bind makes: may the credentials make any? There is room: what
    these had. Raises `NotPermitted`, `RateLimited`; `tell` as above. Without VMs among `leaving` nothing is asked."""
    vms = _vms(leaving)
    if vms and (wrong := _in_the_way(provider, wanted, frozenset(), tell, "the release")):
        told = "; ".join(f.told for f in wrong)
        raise NotPermitted(f"{wanted.place}: nobody could follow {', '.join(vms)}; nothing was deleted. {told}")


def _vms(targets: Set[str]) -> list[str]:
    return sorted(target for target in targets if target.startswith("instance/"))


def _in_the_way(
    provider: PreflightCheck, wanted: Resources, new: Set[str], tell: Callable[[str], None], what: str
) -> list[Finding]:
    wrong: list[Finding] = []
    try:
        for finding in provider.look_ahead(wanted, new):
            if finding.well is None:
                tell(f"{wanted.place}: {finding.what} unknown before {what}: {finding.told}")
            elif not finding.well:
                wrong.append(finding)
    except (AuthFailed, NotPermitted, CloudUnavailable, NotFound) as error:
        tell(f"{wanted.place}: not learnt before {what}: {error}")
    return wrong


def addresses_needed(wanted: Resources, new: Set[str], *, bound_have_own: bool = True) -> Counter[str]:
    """By zone: one for each new VM, but for those bound to a node's address where the cloud gives them that alone, and
    one for each node that is to own an address. Pure."""
    bound = set() if bound_have_own else {b.instance for b in wanted.bindings}
    machines = (i.zone for i in wanted.instances if f"instance/{i.key}" in new and i.key not in bound)
    owned = (a.zone for a in wanted.addresses if f"address/{a.node}" in new)
    return Counter([*machines, *owned])


def of_addresses(free: Mapping[str, tuple[str, int]], needed: Mapping[str, int]) -> Iterator[Finding]:
    """One finding for each network that has too few. `free`: by zone the network and how many are left there, which
    zones of one network share. Pure."""
    by_network: dict[str, int] = {}
    for zone, count in needed.items():
        if zone in free:
            by_network[free[zone][0]] = by_network.get(free[zone][0], 0) + count
    left = dict(free.values())
    for network, count in sorted(by_network.items()):
        if count > left[network]:
            yield Finding(ADDRESSES, False, f"{network}: {count} addresses are needed, {left[network]} are free")


def of_permissions(place: Place, lacks: Callable[[], Iterable[str]]) -> Iterator[Finding]:
    """What the credentials lack, by `lacks`; that they are not told is no obstacle. Raises `RateLimited`."""
    try:
        missing = sorted(lacks())
    except (AuthFailed, NotPermitted, CloudUnavailable, NotFound) as error:
        yield Finding(PERMISSIONS, None, f"{place} does not tell them: {error}")
        return
    if missing:
        yield Finding(PERMISSIONS, False, f"the credentials lack {', '.join(missing)}")
