"""From a spec to the nodes it asks for: durable slots named `<pool>-<zone>-<index>`, spread evenly over the zones."""

import hashlib
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from events.instance_facts import PlannedDisk
from events.jvm import Jvm
from events.spec.client_security import ClientSecurity, client_security
from events.spec.digest import digest_of, digest_with_disk, service_settings, static_inputs
from events.spec.model import Disk, KafkaClusterDocument, Pool
from events.spec.settings import spec_config
from events.spec.storage_rules import grows_in_place
from planner.rollout.machine_sizes import ServiceSize

DEFAULT_HEAP_MIB: Mapping[str, int] = {"broker": 256, "controller": 128, "zookeeper": 128}


@dataclass(frozen=True, slots=True)
class DesiredDisks:
    """The disks of a node: `count` of one kind and size each, with a log directory on every one."""

    kind: str
    gib: int
    count: int = 1
    options: PlannedDisk | None = None
    """What else the spec says of each disk, None where that is nothing."""
    grows: bool = False
    """They can become larger where they are."""

    @property
    def room_gib(self) -> int:
        """What they have together."""
        return self.gib * self.count


@dataclass(frozen=True, slots=True)
class DesiredListeners:
    """What a process is started with beside the Kafka settings and what is Java's, in `words` that differ when it does.

    `security` is the same as a value where nodes speak TLS, else None: there others are taken on by a restart in place.
    """

    words: str = ""
    security: ClientSecurity | None = None


@dataclass(frozen=True, slots=True)
class DesiredAddresses:
    """What addresses its VM has beside its private IPv4 one."""

    ipv6: bool = False
    public: bool = False
    """A public IPv4 address."""


@dataclass(frozen=True, slots=True)
class DesiredNode:
    """One slot the spec asks for. `digest` is a short name of all that its instance is made with."""

    node: str
    pool: str
    rack: str
    index: int
    service: str
    digest: str
    kafka_version: str
    shape: str
    disks: DesiredDisks
    jvm: Jvm
    """What its service is to be started with. The options are no part of the digest: they are compared as they are."""
    settings: Mapping[str, str]
    fixed: str = ""
    """Digest of the static inputs alone."""
    heap: str = ""
    """What the spec says of the heap, as the digest has it: `None` where it says nothing."""
    listeners: DesiredListeners = DesiredListeners()
    place: str = ""
    """Where its instance lives, as `cloud/account/region`. No part of the digest: it is compared as it is."""
    fixed_at: Callable[[int], str] | None = field(default=None, compare=False, repr=False)
    """`fixed` if the spec said another size of the disk, in GiB."""
    spot: bool = False
    """Its VM is pre-emptible."""
    addresses: DesiredAddresses = DesiredAddresses()
    member_heap_mib: int = 0
    """Java heap of the ZooKeeper server that shares the broker's VM, 0 where none does."""
    size: ServiceSize | None = None
    """What its machine decides, of a cluster whose nodes are sized by it (`sized`)."""

    @property
    def heap_mib(self) -> int:
        """Java heap of its service."""
        return self.jvm.heap_mib

    def sized(self, size: ServiceSize) -> "DesiredNode":
        """The same node, started with what its machine decides where the spec says nothing. No part of the digest: a
        table that a release changes makes no other VM."""
        settings = self.settings if self.service == "zookeeper" else {**size.properties, **self.settings}
        return replace(
            self,
            jvm=replace(self.jvm, heap_mib=size.heap_mib),
            member_heap_mib=size.member_heap_mib,
            settings=dict(sorted(settings.items())),
            size=size,
        )

    def digest_with(self, config: Mapping[str, str], disk_gib: int | None = None) -> str:
        """The digest its instance would have if the spec's Kafka settings, and the size of its disk, were these."""
        return self._digest_of(config, disk_gib, self.heap)

    def digests_with_heap(self, config: Mapping[str, str], disk_gib: int | None, heap_mib: int) -> tuple[str, str]:
        """The same, were its heap another: the spec may have named that, or have said nothing and got the default."""
        return self._digest_of(config, disk_gib, repr(heap_mib)), self._digest_of(config, disk_gib, repr(None))

    def _digest_of(self, config: Mapping[str, str], disk_gib: int | None, heap: str) -> str:
        fixed = self.fixed
        if disk_gib is not None and disk_gib != self.disks.gib and self.fixed_at is not None:
            fixed = self.fixed_at(disk_gib)
        return _digest(fixed, _read_by(self.service, config), _process(heap, self.listeners.words))


def desired_nodes(document: KafkaClusterDocument) -> tuple[DesiredNode, ...]:
    """All nodes of the spec, pool by pool, in a stable order.

    Worked out once for each document object: a fleet at rest asks every tick, and its documents never change.
    """
    key = id(document)
    known = _WORKED_OUT.get(key)
    if known is not None and known[0]() is document:
        return known[1]
    nodes = tuple(node for pool in document.spec.pools for node in _nodes_of(document, pool))
    _WORKED_OUT[key] = (weakref.ref(document, lambda _: _WORKED_OUT.pop(key, None)), nodes)
    return nodes


_WORKED_OUT: dict[int, tuple[weakref.ref[KafkaClusterDocument], tuple[DesiredNode, ...]]] = {}
"""By identity: documents compare by their whole content, which costs as much as the work it would save."""


def _nodes_of(document: KafkaClusterDocument, pool: Pool) -> list[DesiredNode]:
    settings, config = service_settings(document, pool), spec_config(document, pool.name)
    inputs, heap, listeners = static_inputs(document, pool.name), repr(pool.heap_mib), listeners_in_digest(document)
    fixed = digest_of(inputs)
    service = "broker" if pool.is_broker else pool.services[0]
    digest = _digest(fixed, _read_by(service, config), _process(heap, listeners))
    zones = pool.place.zones
    return [
        DesiredNode(
            node=f"{pool.name}-{zones[number % len(zones)]}-{number // len(zones)}",
            pool=pool.name,
            rack=zones[number % len(zones)],
            index=number // len(zones),
            service=service,
            digest=digest,
            kafka_version=document.spec.kafka.version,
            shape=pool.machine,
            disks=DesiredDisks(
                kind=pool.disk.kind,
                gib=pool.disk.size_gib,
                count=pool.disk.count,
                options=disk_options(pool.disk),
                grows=grows_in_place(pool),
            ),
            jvm=Jvm(pool.heap_mib or DEFAULT_HEAP_MIB[service], tuple(pool.jvm_options)),
            settings=settings,
            fixed=fixed,
            heap=heap,
            listeners=DesiredListeners(listeners, client_security(document, service)),
            place=pool.place.name,
            fixed_at=partial(digest_with_disk, inputs),
            spot=pool.spot,
            addresses=DesiredAddresses(pool.ipv6, pool.public_address),
            member_heap_mib=(pool.zookeeper_heap_mib or DEFAULT_HEAP_MIB["zookeeper"]) if pool.has_members else 0,
        )
        for number in range(pool.size)
    ]


def disk_options(disk: Disk) -> PlannedDisk | None:
    """What a spec says of a disk beside kind, size and number."""
    options = PlannedDisk(disk.type or "", disk.iops or 0, disk.throughput_mib_per_s or 0, disk.kms_key or "")
    return options if options != PlannedDisk() else None


def _read_by(service: str, config: Mapping[str, str]) -> Mapping[str, str]:
    """The Kafka settings a service is started with: a ZooKeeper server knows none."""
    return {} if service == "zookeeper" else config


def listeners_in_digest(document: KafkaClusterDocument) -> str:
    """As digests have them. How clients prove themselves is added where they have to: others keep their digests."""
    told = [f", {one.name} {one.authentication.type}" for one in document.spec.listeners if one.asks]
    return repr(document.spec.listeners) + "".join(told)


def _process(heap: str, listeners: str) -> str:
    return f"{heap}, {listeners}"


def _digest(fixed: str, config: Mapping[str, str], process: str) -> str:
    """Of the static inputs, and of what a running process is started with."""
    return hashlib.sha256(f"{fixed} ({sorted(config.items())!r}, {process})".encode()).hexdigest()[:12]
