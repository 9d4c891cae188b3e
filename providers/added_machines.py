"""Machine types a person adds to the shipped catalogues, in `catalog.yaml` of the home: those with an architecture.

What is in force is that of the home last named (`add_machines_of`), read again when the file changes. A file that makes
no sense adds what it added before: a VM that stands is rendered with its type, and a slip must not stop that.
"""

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from providers.errors import PlaceUnknown
from providers.overrides import FILE_NAME, MachineIn, Overrides, RegionIn, read_overrides

_log = logging.getLogger(__name__)

NEEDED = ("architecture", "vcpus", "memory_mib")
"""Of a type, to be one: images are chosen by the first, quotas and heaps held to the others."""
_UNKNOWN = "unknown"

MachineFigures = Mapping[str, Any]
"""A machine in the words of the shipped catalogues."""


@dataclass(frozen=True, slots=True)
class Added:
    """What a file adds to one cloud: machines by type, and the sources they name."""

    machines: Mapping[str, MachineFigures] = field(default_factory=lambda: MappingProxyType({}))
    sources: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))


NOTHING = Added()


class _Catalogue:
    """One file. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._path: Path | None = None
        self._seen: object = None
        self._added: Mapping[str, Added] = {}

    def name(self, path: Path) -> None:
        with self._lock:
            if path != self._path:
                self._path, self._seen, self._added = path, None, {}

    def of(self, cloud: str) -> Added:
        with self._lock:
            self._read_anew()
            return self._added.get(cloud, NOTHING)

    def _read_anew(self) -> None:
        if self._path is None:
            return
        try:
            found = self._path.stat()
            seen: object = (found.st_mtime_ns, found.st_size)
        except OSError:
            seen = "none"
        if seen == self._seen:
            return
        self._seen = seen
        try:
            self._added = added_by(read_overrides(self._path))
        except PlaceUnknown as error:
            _log.warning("machines of before stay, catalog.yaml is invalid: %s", error)


_IN_FORCE = _Catalogue()


def add_machines_of(home: Path) -> None:
    """From now on types of `catalog.yaml` in that home are sold as well."""
    _IN_FORCE.name((home / FILE_NAME).absolute())


def added_to(cloud: str) -> Added:
    """What is added to the catalogue of a cloud now."""
    return _IN_FORCE.of(cloud)


def added_by(overrides: Overrides) -> Mapping[str, Added]:
    """By cloud. Of a type that several regions tell of the first one's figures count: they are the type's. Pure."""
    found: dict[str, Added] = {}
    for cloud in overrides.root:
        machines: dict[str, MachineFigures] = {}
        sources: dict[str, Mapping[str, str]] = {}
        for region in overrides.regions(cloud):
            told = overrides.region(cloud, region)
            for name, machine in told.machines.items():
                if name not in machines and all(getattr(machine, one) is not None for one in NEEDED):
                    source = f"{FILE_NAME} {region} {machine.vcpus.source if machine.vcpus else ''}"
                    machines[name] = _machine(machine, source)
                    sources[source] = _source(told, machine)
        if machines:
            found[cloud] = Added(MappingProxyType(machines), MappingProxyType(sources))
    return found


def _machine(told: MachineIn, source: str) -> MachineFigures:
    def figure(name: str) -> object:
        given = getattr(told, name)
        if given is None:
            return _UNKNOWN
        return int(given.value) if given.value == int(given.value) else float(given.value)

    return MappingProxyType(
        {
            "architecture": told.architecture,
            "vcpus": figure("vcpus"),
            "memory_mib": figure("memory_mib"),
            "nic_baseline_gbps": figure("nic_baseline_gbps"),
            "nic_burst_gbps": figure("nic_burst_gbps"),
            "own_disk_gb": figure("own_disk_gb"),
            "own_disk_mb_per_s": figure("own_disk_mb_per_s"),
            "source": source,
        }
    )


def _source(told: RegionIn, machine: MachineIn) -> Mapping[str, str]:
    source = told.sources[machine.vcpus.source] if machine.vcpus else next(iter(told.sources.values()))
    return {"what": source.what, "read": source.read.isoformat()}
