"""Neutral machine shapes and disk kinds: a spec says `small`, each cloud says what that is.

Throughput figures are the sustained ones, in bytes per second: drain plans divide by them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType

from providers.errors import PlaceUnknown

EPHEMERAL = "ephemeral"
"""The disk kind that goes with its VM; every other kind outlives it."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A machine size. `nic_bytes_per_s` is what the network interface sustains in one direction."""

    name: str
    vcpus: int
    memory_mib: int
    nic_bytes_per_s: int


@dataclass(frozen=True, slots=True)
class DiskKind:
    """A kind of disk. `outlives_vm` is false for disks that are gone with their machine."""

    name: str
    outlives_vm: bool
    bytes_per_s: int


@dataclass(frozen=True, slots=True)
class Misfit:
    """A part of a pool its cloud does not have: `field` is `region`, `cloud` or one of the pool's own."""

    field: str
    message: str
    fix: str


@dataclass(frozen=True, slots=True)
class Catalog:
    """What one cloud offers, by neutral name."""

    cloud: str
    shapes: MappingProxyType[str, Shape]
    disks: MappingProxyType[str, DiskKind]
    regions: tuple[str, ...] = ()
    """Empty where a region is whatever the person who runs the cloud calls it; then no place is judged here."""
    keeps_addresses: bool = True
    """Whether a node's address can pass to the node's next VM (`providers.handover`), without which no ZooKeeper server
    can ever be replaced, and a controller only by one at another address."""
    sells_spot: bool = False
    """Whether it has pre-emptible VMs."""
    no_ipv6: str = ""
    """Why its VMs get no IPv6 address, "" where they may have one; `no_ipv6_voter` why those of a quorum get none."""
    no_ipv6_voter: str = ""
    no_public_address: str = ""
    """Why none of its VMs can ask for a public IPv4 address, and `no_public_voter` why those of a quorum cannot."""
    no_public_voter: str = ""
    diskless: frozenset[str] = frozenset()
    """Machines that are known to have no disk of their own. Of others nobody has a figure, or they have one."""

    def misfits(
        self,
        region: str,
        machine: str,
        alternatives: Sequence[str] = (),
        *,
        controllers: int = 0,
        ensemble: bool = False,
        spot: bool = False,
        ipv6: bool = False,
        public_address: bool = False,
        disk: str = "",
    ) -> Iterator[Misfit]:
        """What of a place cannot be had there. `controllers` is how many there are in the pool, 0 for none of them;
        `ensemble` says that it is of ZooKeeper servers; `disk` is the kind of its disks."""
        stays = f"an address of {self.cloud} stays with its VM"
        if ensemble and not self.keeps_addresses:
            message = f"{stays}: a ZooKeeper server there could never be replaced"
            yield Misfit("cloud", message, "Put them into a cloud whose addresses pass on (docs/clouds.md).")
        if controllers == 1 and not self.keeps_addresses:
            message = f"{stays}: the only controller there could never be replaced"
            yield Misfit("cloud", message, "Write `size: 3`, or a cloud whose addresses pass on (docs/clouds.md).")
        if spot and not self.sells_spot:
            yield Misfit("spot", f"{self.cloud} has no pre-emptible VMs", "Leave `spot` out.")
        without = self.no_ipv6 or (self.no_ipv6_voter if controllers or ensemble else "")
        if ipv6 and without:
            yield Misfit("ipv6", f"no IPv6 here: {without}", "Leave `ipv6` out.")
        private = self.no_public_address or (self.no_public_voter if controllers or ensemble else "")
        if public_address and private:
            message = f"no public address to ask for here: {private}"
            yield Misfit("publicAddress", message, "Leave `publicAddress` out.")
        if not self.regions:
            return
        if region not in self.regions:
            yield Misfit("region", f"{self.cloud} has no region {region!r}", f"Use one of: {', '.join(self.regions)}.")
            return
        for field, name in (("machine", machine), *(("alternatives", other) for other in alternatives)):
            if name not in self.shapes:
                yield self._no_machine(field, name)
            elif disk == EPHEMERAL and name in self.diskless:
                yield self._no_disk(field, name)

    def _no_machine(self, field: str, machine: str) -> Misfit:
        figures = f"{{type: {machine}, architecture: x86_64, cpus: 8, memoryMib: 65536, networkMbps: 12500}}"
        fix = (
            f"It has {some_of(self.shapes, machine)}. Or give its figures: in the pool, `machineFigures: [{figures}]` "
            "with its own (docs/spec.md); or, for all clusters, by "
            f"`kedge machines refresh {self.cloud}`, which lists what the cloud sells; or in catalog.yaml of the "
            "home of the server: `architecture`, `vcpus` and `memory_mib`, best `nic_baseline_gbps` too (docs/costs.md)"
        )
        return Misfit(field, f"the catalogue of {self.cloud} has no machine {machine!r}", fix)

    def _no_disk(self, field: str, machine: str) -> Misfit:
        message = f"{machine!r} of {self.cloud} has no disk of its own, and the pool's are `ephemeral`"
        there = some_of([name for name in self.shapes if name not in self.diskless], machine)
        return Misfit(field, message, f"Write `kind: persistent`{f', or one of: {there}' if there else ''}.")

    def shape(self, name: str) -> Shape:
        """Raises `PlaceUnknown` naming what there is."""
        if name not in self.shapes:
            raise PlaceUnknown(f"{self.cloud} has no machine shape {name!r}; it has {some_of(self.shapes, name)}")
        return self.shapes[name]

    def disk(self, kind: str) -> DiskKind:
        """Raises `PlaceUnknown` naming what there is."""
        if kind not in self.disks:
            raise PlaceUnknown(f"{self.cloud} has no disk kind {kind!r}; it has {', '.join(self.disks)}")
        return self.disks[kind]


def some_of(names: Iterable[str], like: str) -> str:
    """All names in words; of very many those most like the one that was asked for, and how many others there are."""
    known = list(names)
    if len(known) <= _MOST_NAMED:
        return ", ".join(known)
    near = get_close_matches(like, known, n=_NAMED_OF_MANY, cutoff=0.0)
    return f"{', '.join(near)}, and {len(known) - len(near)} others (`kedge machines list`)"


_MOST_NAMED, _NAMED_OF_MANY = 60, 10
