"""What a cloud sells, from `providers/<cloud>/catalog.json`: no figure without a source and a date, else `unknown`."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from providers import added_machines, base, call_budget, errors, given_machines, handover
from providers.catalog import Catalog, DiskKind, Shape, some_of

UNKNOWN = "unknown"

VOLUMES_FIGURES = ("ebs_baseline_mb_per_s", "remote_disk_mb_per_s")
"""What the clouds call the limit of a machine's way to all its volumes."""

_BYTES_PER_GBIT = 1_000_000_000 / 8


@dataclass(frozen=True, slots=True)
class Machine:
    """A type a cloud sells. `architecture` is `arm64` or `x86_64`."""

    type: str
    architecture: str
    shape: Shape


@dataclass(frozen=True, slots=True)
class CatalogFile:
    """One cloud's catalogue. A figure nobody has a source for counts as 0, so that nobody divides by a guess.

    `raw` holds `sources`, `racks` (`providers.racks`), `shapes` (neutral size -> type), `regions.names`, `disks` and
    `machines`; and `handover`
    where that is `none` (`providers.handover`), `spot` with a source where there are pre-emptible VMs, `ipv6` with one,
    and why there is none (`why_not`), or none for who votes (`why_no_voter`); `public_address` in the same words.
    """

    cloud: str
    raw: MappingProxyType[str, Any]

    def with_given(self, given: Iterable[given_machines.GivenMachine]) -> "CatalogFile":
        """With the types a spec gave figures of, where it does not know them."""
        known = self.raw["machines"]
        more = {one.type: one.figures for one in given if one.cloud == self.cloud and one.type not in known}
        if not more:
            return self
        return CatalogFile(self.cloud, MappingProxyType({**self.raw, "machines": {**known, **more}}))

    def machine(self, name: str) -> Machine:
        """The type behind a neutral size or one of the cloud's own names. Raises `PlaceUnknown` with what there is."""
        sizes, known = self.raw["shapes"], self.raw["machines"]
        own = sizes.get(name, name)
        if own not in known:
            there = some_of([*sizes, *known], name)
            raise errors.PlaceUnknown(f"{self.cloud} has no machine {name!r} in the catalogue; it has {there}")
        told = known[own]
        nic = told["nic_baseline_gbps"]
        speed = 0 if nic == UNKNOWN else int(nic * _BYTES_PER_GBIT)
        return Machine(own, told["architecture"], Shape(own, told["vcpus"], told["memory_mib"], nic_bytes_per_s=speed))

    def volumes_bytes_per_s(self, name: str) -> float | None:
        """What all volumes of a machine reach over its network together; None where nobody has a figure. Raises
        `PlaceUnknown`."""
        told = self.raw["machines"][self.machine(name).type]
        return _millions(next((told[key] for key in VOLUMES_FIGURES if key in told), UNKNOWN))

    def own_disks_bytes_per_s(self, name: str) -> float | None:
        """What the disks of the machine itself do together; None where nobody has a figure. Raises `PlaceUnknown`."""
        return _millions(self.raw["machines"][self.machine(name).type].get("own_disk_mb_per_s", UNKNOWN))

    def disk_type(self, kind: str) -> str:
        """The cloud's own word for a disk kind. Raises `PlaceUnknown` naming what there is."""
        if kind not in self.raw["disks"]:
            raise errors.PlaceUnknown(f"{self.cloud} has no disk kind {kind!r}; it has {', '.join(self.raw['disks'])}")
        return str(self.raw["disks"][kind]["type"])

    def call_rate(self) -> call_budget.CallRate | None:
        """How often an account may call (`calls`: burst, per_s, source, and what counts it); None: no figure."""
        told = self.raw.get("calls", UNKNOWN)
        if told == UNKNOWN:
            return None
        by_region, full = bool(told.get("by_region")), bool(told.get("reset_is_full"))
        return call_budget.CallRate(int(told["burst"]), float(told["per_s"]), by_region=by_region, reset_is_full=full)

    def regions(self) -> tuple[str, ...]:
        """Regions there are; whether an account may use them only the cloud knows."""
        return tuple(self.raw["regions"]["names"])

    def catalog(self) -> Catalog:
        """What a spec can ask for: neutral sizes first, then the cloud's own names; disk kinds."""
        names = [*self.raw["shapes"], *self.raw["machines"]]
        disks = {
            kind: DiskKind(
                kind, outlives_vm=d["outlives_vm"], bytes_per_s=0 if (r := d["bytes_per_s"]) == UNKNOWN else r
            )
            for kind, d in self.raw["disks"].items()
        }
        return Catalog(
            self.cloud,
            MappingProxyType({name: self.machine(name).shape for name in names}),
            MappingProxyType(disks),
            regions=self.regions(),
            keeps_addresses=self.raw.get("handover") != handover.Handover.NONE,
            sells_spot="spot" in self.raw,
            no_ipv6=self.raw["ipv6"].get("why_not", ""),
            no_ipv6_voter=self.raw["ipv6"].get("why_no_voter", ""),
            no_public_address=self.raw["public_address"].get("why_not", ""),
            no_public_voter=self.raw["public_address"].get("why_no_voter", ""),
            diskless=frozenset(name for name in names if self._is_diskless(name)),
        )

    def _is_diskless(self, name: str) -> bool:
        told = self.raw["machines"][self.raw["shapes"].get(name, name)]
        return bool(told.get("own_disk_gb", UNKNOWN) == 0)


def _millions(rate: Any) -> float | None:
    return None if rate == UNKNOWN else float(rate) * 1e6


def catalog_file(cloud: str, given: Iterable[given_machines.GivenMachine] = ()) -> CatalogFile | None:
    """The catalogue of a cloud, with types the home adds and those a spec gave figures of; None where there is none.
    A shipped figure is not theirs to change, nor one with a source the spec's."""
    kept = _with_added(cloud)
    return kept.with_given(given) if kept is not None else None


def _with_added(cloud: str) -> CatalogFile | None:
    shipped, added = _shipped(cloud), added_machines.added_to(cloud)
    if shipped is None:
        return None
    known = _LAID.get(cloud)
    if known is None or known[0] is not added:
        known = _LAID[cloud] = added, _laid(shipped, added)
    return known[1]


_LAID: dict[str, tuple[added_machines.Added, CatalogFile]] = {}
"""What a home adds stays the same object until its file changes: it is laid over the shipped figures once."""


def _laid(shipped: CatalogFile, added: added_machines.Added) -> CatalogFile:
    if not added.machines.keys() - shipped.raw["machines"].keys():
        return shipped
    machines = {**added.machines, **shipped.raw["machines"]}
    sources = {**added.sources, **shipped.raw["sources"]}
    return CatalogFile(shipped.cloud, MappingProxyType({**shipped.raw, "machines": machines, "sources": sources}))


def shipped_types(cloud: str) -> frozenset[str]:
    """Types of the shipped catalogue alone; none for a cloud without one."""
    shipped = _shipped(cloud)
    return frozenset(shipped.raw["machines"]) if shipped is not None else frozenset()


@cache
def _shipped(cloud: str) -> CatalogFile | None:
    """Read once."""
    path = Path(__file__).parent / cloud / "catalog.json"
    return CatalogFile(cloud, MappingProxyType(json.loads(path.read_text()))) if path.is_file() else None


def machine_of(cloud: str, instance: base.InstanceResource) -> Machine:
    """What a VM is made as: by the catalogue, else by the figures its cluster's specs gave. Raises `PlaceUnknown`."""
    return sold_by(cloud, (instance.given,) if instance.given is not None else ()).machine(instance.shape)


def sold_by(cloud: str, given: Iterable[given_machines.GivenMachine] = ()) -> CatalogFile:
    """The catalogue of a cloud, as `catalog_file`. Raises `PlaceUnknown` where there is none."""
    found = catalog_file(cloud, given)
    if found is None:
        raise errors.PlaceUnknown(f"no catalogue for cloud {cloud!r}")
    return found
