"""What a service is started with where its spec says nothing, by the machine it runs on: one table, `docs/defaults.md`.

Where the figures come from:

- Heaps: half of the memory, as Strimzi has it (50 %, at most 5 GB, for Kafka), and 6 GiB for a large broker, as Apache
  Kafka's page on Java versions has it: what is beyond belongs to the page cache that consumers are served from.
- Flags of the collector: those of `bin/kafka-run-class.sh` and of the same page (LinkedIn's busiest clusters).
- Threads: Kafka's own defaults, 8 and 3, are the least. One I/O thread for each CPU and one network thread for two of
  them are what Amazon MSK advises of machines of 16 CPUs and more; two fetchers are MSK's default.
- Internal topics: Kafka's own 50 partitions, which cannot be made fewer later.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

_GIB = 1024
_REGION_FROM_MIB = 4 * _GIB
"""From here on a heap has 256 regions of 16 MiB or more."""

_SERIAL_BELOW_MIB = _GIB
"""A collector that works beside the program wants memory and CPU of its own."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Figures of a machine type. `memory_mib` in MiB."""

    vcpus: int
    memory_mib: int


@dataclass(frozen=True, slots=True)
class ServiceSize:
    """Of a service on `machine`: `heap_mib` is the Java heap in MiB, `jvm` Java's options beside it, `properties` what
    Kafka is told unless the spec says otherwise. `member_heap_mib`, `member_jvm`: of a ZooKeeper server beside it."""

    machine: Machine
    heap_mib: int
    jvm: tuple[str, ...]
    properties: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    member_heap_mib: int = 0
    member_jvm: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Share:
    """A heap: that part of the memory, in eighths, within these bounds in MiB."""

    eighths: int
    least_mib: int
    most_mib: int

    def of(self, memory_mib: int) -> int:
        return max(self.least_mib, min(self.most_mib, memory_mib * self.eighths // 8))


_HEAPS: Mapping[str, _Share] = MappingProxyType(
    {
        "broker": _Share(4, 256, 6 * _GIB),
        "controller": _Share(4, 128, 4 * _GIB),
        "zookeeper": _Share(4, 128, 2 * _GIB),
    }
)
_MEMBER_HEAP = _Share(1, 128, _GIB)


def service_size(
    service: str,
    machine: Machine,
    *,
    disks: int = 1,
    heap_mib: int = 0,
    member_heap_mib: int = 0,
    with_member: bool = False,
) -> ServiceSize:
    """What a `broker`, `controller` or `zookeeper` is started with on that machine. `disks` are its log directories;
    a heap of the spec (`heap_mib`, `member_heap_mib`; 0 where it names none) goes before the table's. `with_member`:
    a ZooKeeper server shares the machine. Raises `LookupError` for another service."""
    heap_mib = heap_mib or _HEAPS[service].of(machine.memory_mib)
    member_mib = (member_heap_mib or _MEMBER_HEAP.of(machine.memory_mib)) if with_member else 0
    return ServiceSize(
        machine=machine,
        heap_mib=heap_mib,
        jvm=jvm_options(heap_mib, vcpus=machine.vcpus),
        properties=_properties(machine.vcpus, disks) if service == "broker" else MappingProxyType({}),
        member_heap_mib=member_mib,
        member_jvm=jvm_options(member_mib, vcpus=machine.vcpus) if with_member else (),
    )


def jvm_options(heap_mib: int, *, vcpus: int) -> tuple[str, ...]:
    """Java's options for a heap of that many MiB beside its size, which is told by itself."""
    if heap_mib < _SERIAL_BELOW_MIB or vcpus < 2:
        return ("-XX:+UseSerialGC",)
    return (
        "-XX:+UseG1GC",
        "-XX:MaxGCPauseMillis=20",
        "-XX:InitiatingHeapOccupancyPercent=35",
        *(("-XX:G1HeapRegionSize=16M",) if heap_mib >= _REGION_FROM_MIB else ()),
        "-XX:+ExplicitGCInvokesConcurrent",
        "-XX:MetaspaceSize=96m",
        "-XX:MinMetaspaceFreeRatio=50",
        "-XX:MaxMetaspaceFreeRatio=80",
    )


def _properties(vcpus: int, disks: int) -> Mapping[str, str]:
    """Of a broker. All that an agent would lower for a small heap is named, so that the table alone decides."""
    fetchers = 1 if vcpus < 4 else 2 if vcpus < 16 else 4
    values = {
        "background.threads": 10,
        "num.io.threads": max(8, vcpus, disks),
        "num.network.threads": max(3, vcpus // 2),
        "num.recovery.threads.per.data.dir": max(1, min(8, vcpus // disks)),
        "num.replica.fetchers": fetchers,
        "offsets.topic.num.partitions": 50,
        "transaction.state.log.num.partitions": 50,
        "group.initial.rebalance.delay.ms": 3000,
        "log.segment.bytes": 1024**3,
    }
    return MappingProxyType({name: str(value) for name, value in values.items()})
