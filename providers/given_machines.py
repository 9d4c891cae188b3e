"""Machine types as a cluster's specs gave their figures. They count where no catalogue knows the type, nowhere else: a
figure with a source goes before one without."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Provisioners of the local cloud load this, and nothing of a spec: they start by the dozen.
    from events.spec.model import KafkaClusterDocument, Pool

SOURCE = "the spec"
_UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class GivenMachine:
    """A type of one cloud. `network_mbps`: None where it was not given."""

    cloud: str
    type: str
    architecture: str
    vcpus: int
    memory_mib: int
    network_mbps: int | None = None

    @property
    def figures(self) -> Mapping[str, Any]:
        """In the words of the shipped catalogues."""
        figures = {
            "architecture": self.architecture,
            "vcpus": self.vcpus,
            "memory_mib": self.memory_mib,
            "nic_baseline_gbps": _UNKNOWN if self.network_mbps is None else self.network_mbps / 1000,
            "nic_burst_gbps": _UNKNOWN,
            "own_disk_gb": _UNKNOWN,
            "own_disk_mb_per_s": _UNKNOWN,
            "source": SOURCE,
        }
        return MappingProxyType(figures)


def given_by_pool(pool: "Pool") -> tuple[GivenMachine, ...]:
    """The types a pool gives figures of."""
    return tuple(
        GivenMachine(pool.place.cloud, one.type, one.architecture, one.cpus, one.memory_mib, one.network_mbps)
        for one in pool.machine_figures
    )


def given_by(document: "KafkaClusterDocument") -> tuple[GivenMachine, ...]:
    """The types a spec gives figures of; of one that several pools tell of the last one's."""
    return newest(one for pool in document.spec.pools for one in given_by_pool(pool))


def newest(given: Iterable[GivenMachine]) -> tuple[GivenMachine, ...]:
    """Each type once, as it was last given."""
    return tuple({(one.cloud, one.type): one for one in given}.values())


def find_given(given: Iterable[GivenMachine], cloud: str, machine: str) -> GivenMachine | None:
    """The figures of one type of a cloud, None where nobody gave any."""
    return next((one for one in given if (one.cloud, one.type) == (cloud, machine)), None)


def differing(known: Mapping[str, Any], given: GivenMachine) -> Iterator[tuple[str, object, object]]:
    """Figures a catalogue has otherwise: what, as the catalogue has it, as it was given. What one of them does not tell
    contradicts nobody."""
    words = {"architecture": "processor", "vcpus": "CPUs", "memory_mib": "memory in MiB", "nic_baseline_gbps": "Gbit/s"}
    for name, word in words.items():
        theirs, ours = known[name], given.figures[name]
        if _UNKNOWN not in (theirs, ours) and theirs != ours:
            yield word, theirs, ours
