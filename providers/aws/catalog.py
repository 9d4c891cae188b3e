"""AWS's machines, disks and regions from `catalog.json`: no figure without a source and a date, else `unknown`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from providers.catalog import Catalog, DiskKind, Shape
from providers.errors import PlaceUnknown

UNKNOWN = "unknown"

_FILE = Path(__file__).with_name("catalog.json")
_BYTES_PER_GBIT = 1_000_000_000 / 8


@dataclass(frozen=True, slots=True)
class Machine:
    """A type EC2 sells. `architecture` is EC2's word: `arm64` or `x86_64`."""

    type: str
    architecture: str
    shape: Shape


def machine(name: str) -> Machine:
    """The type behind a neutral size or one of EC2's own names. Raises `PlaceUnknown` naming what there is."""
    known, sizes = _machines(), _read()["shapes"]
    found = known.get(sizes.get(name, name))
    if found is None:
        raise PlaceUnknown(f"aws has no machine {name!r} in the catalogue; it has {', '.join([*sizes, *known])}")
    return found


def regions() -> tuple[str, ...]:
    """Regions of the ordinary partition; whether an account has them enabled only AWS knows."""
    return tuple(_read()["regions"]["names"])


@cache
def aws_catalog() -> Catalog:
    """What a spec can ask for: neutral sizes first, then EC2's own names; disk kinds.

    A disk whose throughput is not known counts as 0 bytes per second, so nobody divides by a guess.
    """
    named = {
        **{size: machine(size).shape for size in _read()["shapes"]},
        **{k: m.shape for k, m in _machines().items()},
    }
    disks = {
        kind: DiskKind(kind, outlives_vm=d["outlives_vm"], bytes_per_s=0 if (r := d["bytes_per_s"]) == UNKNOWN else r)
        for kind, d in _read()["disks"].items()
    }
    return Catalog("aws", MappingProxyType(named), MappingProxyType(disks), regions=regions())


@cache
def _machines() -> Mapping[str, Machine]:
    return {
        name: Machine(
            name,
            m["architecture"],
            Shape(name, m["vcpus"], m["memory_mib"], nic_bytes_per_s=int(m["nic_baseline_gbps"] * _BYTES_PER_GBIT)),
        )
        for name, m in _read()["machines"].items()
    }


@cache
def _read() -> dict[str, Any]:
    value: dict[str, Any] = json.loads(_FILE.read_text())
    return value
