"""VMs that are asked for, that serve, that are lost or taken over: part of a cluster's stream, see `facts`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from events.image_facts import PlannedImage
from events.jvm import JvmChange
from events.registry import fact


@dataclass(frozen=True, slots=True)
class PlannedDisk:
    """What the spec says of a disk beside kind and size; empty, or 0, for what its cloud gives unless told."""

    type: str = ""
    iops: int = 0
    throughput_mib_per_s: int = 0
    kms_key: str = ""


@dataclass(frozen=True, slots=True)
class PlannedVolume:
    """A disk as it was fixed with its intent."""

    key: str
    dir: str
    version: int
    kind: str
    size_gib: int
    directory_id: str
    options: PlannedDisk | None = None
    """None of a disk whose spec said no more than kind and size."""


@dataclass(frozen=True, slots=True)
class PlannedPlace:
    """Where a VM is made, in the words of a pool's `place`."""

    cloud: str
    region: str
    account: str
    network: str


@dataclass(frozen=True, slots=True)
class PlannedMember:
    """The ZooKeeper server that shares a broker's VM and its first disk. It comes and goes with that VM."""

    service_id: int
    directory_id: str
    heap_mib: int


@dataclass(frozen=True, slots=True)
class PlannedInstance:
    """A VM as it was fixed with its intent: frozen for ever from here on.

    `replaces` is the generation whose work it takes over, 0 for none. A controller's successor is created without its
    node's volumes and address and gets them by a release and a bind (`handover`).
    """

    node: str
    generation: int
    pool: str
    rack: str
    index: int
    service: str
    service_id: int
    digest: str
    kafka_version: str
    shape: str
    heap_mib: int
    settings: Mapping[str, str]
    volumes: tuple[PlannedVolume, ...]
    replaces: int
    handover: bool
    config: Mapping[str, str] | None = None
    """The spec's Kafka settings it is made with, where they are not those of the document in force."""
    deferred: bool = False
    """Made by its bind, not by the surge: its cloud gives a node's address or disk to a VM only when that is made."""
    new_disk: bool = False
    """It takes over its node's address and id, and not the disk: that is lost. Its own is new and still empty."""
    new_dirs: tuple[str, ...] = ()
    """Directories whose disk is its own, new and still empty; the others it takes over."""
    image: PlannedImage | None = None
    """The catalogue's revision it is made from, None for the image the cloud's settings name for its Kafka version."""
    place: PlannedPlace | None = None
    """Where it is made, None for the place its pool has in the document in force."""
    spot: bool = False
    """It is pre-emptible: its cloud may take it back at any time."""
    ipv6: bool = False
    """It has an IPv6 address beside its private IPv4 one."""
    relieves: str = ""
    """Key of the controller whose id and vote it takes over, with a disk and an address of its own; "" for nobody's."""
    vm_address: bool = False
    """A controller that is reached at its VM's own address: its cloud lets no address pass on."""
    port: int = 0
    """TCP port a broker serves clients on for life, 0 for that of the document in force at its intent; and for who is
    no broker."""
    cost_tags: Mapping[str, str] | None = None
    """Labels of the spec it is made with as tags, with its disks and its node's address; None for none."""
    member: PlannedMember | None = None
    """The server of the ensemble beside the broker, None for a VM with one service."""
    jvm_options: tuple[str, ...] = ()
    """The spec's options of its service's JVM, over those that its machine or its agent decides."""

    @property
    def key(self) -> str:
        return f"{self.node}.g{self.generation}"


@dataclass(frozen=True, slots=True)
class PlannedSize:
    """That the services of a VM are sized by its machine, and Java's options that go with that; `member_jvm` are those
    of a ZooKeeper server beside a broker."""

    jvm: tuple[str, ...] = ()
    member_jvm: tuple[str, ...] = ()


@fact("surge.requested", schema=1)
@dataclass(frozen=True, slots=True)
class SurgeRequested:
    """These VMs are to be created, nothing else. Broker ids are spent here and never used again.

    `sizes` has those that are sized by their machine, by key; others run as small as every VM once did. `public` are
    keys of those that get a public IPv4 address, as their pool asks for one.
    """

    intent: str
    instances: tuple[PlannedInstance, ...]
    reason: str
    sizes: Mapping[str, PlannedSize] = field(default_factory=dict)
    public: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LaunchedInstance:
    """A VM the cloud reports as running under the intent's tag."""

    key: str
    cloud_id: str
    address: str


@fact("surge.completed", schema=1)
@dataclass(frozen=True, slots=True)
class SurgeCompleted:
    """All VMs of the intent run, by the inventory's word. `node_addresses` are those that belong to nodes."""

    intent: str
    instances: tuple[LaunchedInstance, ...]
    node_addresses: Mapping[str, str]


@fact("machine.substituted", schema=1)
@dataclass(frozen=True, slots=True)
class MachineSubstituted:
    """The cloud had no capacity: VMs that do not exist yet are made as another machine of their pool's list.

    `machines`: instance key -> machine from now on.
    """

    intent: str
    machines: Mapping[str, str]
    reason: str


@fact("run.failed", schema=1)
@dataclass(frozen=True, slots=True)
class RunFailed:
    """A Terraform run of an intent failed; the intent stands and is tried again with back-off."""

    intent: str
    error: str
    message: str
    retryable: bool


@dataclass(frozen=True, slots=True)
class MeasuredVolume:
    """What a volume did when it was new and empty, bytes/s of large requests, one direction at a time."""

    write_bytes_per_s: float
    read_bytes_per_s: float


@fact("instance.joined", schema=1)
@dataclass(frozen=True, slots=True)
class InstanceJoined:
    """The service serves: a broker is unfenced, a controller has caught up with the quorum. `measured`: volumes of its
    that its agent measured, by key."""

    key: str
    service_id: int
    measured: Mapping[str, MeasuredVolume] = field(default_factory=dict)


@fact("instance.join_failed", schema=1)
@dataclass(frozen=True, slots=True)
class JoinFailed:
    """The deadline passed without the service serving. The VM is given up. `superseded`: it is for a spec that is not
    in force any more, so that it counts as no failed try."""

    key: str
    reason: str
    superseded: bool = False


@fact("instance.takeover_failed", schema=1)
@dataclass(frozen=True, slots=True)
class TakeoverFailed:
    """A VM that was given the id and the disks of a lost broker does not serve from them. It counts as that broker from
    here on, and is replaced: by one of another id, with new disks, to which is copied what others have in sync."""

    key: str
    reason: str


@fact("instance.reconfigured", schema=1)
@dataclass(frozen=True, slots=True)
class InstanceReconfigured:
    """Kafka refuses what this VM, which has not joined, was told: it is told the spec in force, by another start.

    `config` are the spec's settings that changed for it and `told` the properties its service is started with that did;
    None takes one away. `heap_mib` is 0 where the Java heap stays, `jvm_options` None where those of its JVM do.
    """

    key: str
    start: int
    config: Mapping[str, str | None]
    told: Mapping[str, str | None]
    reason: str
    heap_mib: int = 0
    jvm_options: tuple[str, ...] | None = None
    security: str = ""
    """As in `RestartRequested`."""

    @property
    def jvm(self) -> JvmChange:
        return JvmChange(self.heap_mib, self.jvm_options)


@fact("instance.lost", schema=1)
@dataclass(frozen=True, slots=True)
class InstanceLost:
    """The cloud answered for this very id: gone, and nobody of us asked for it."""

    key: str
    reason: str


# --- taken over without a history -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SpentNode:
    """What a node has used up for ever: the highest generation, and the highest version of a volume. 0 for none."""

    node: str
    generation: int
    volume_version: int


@fact("cluster.adopted", schema=1)
@dataclass(frozen=True, slots=True)
class ClusterAdopted:
    """The history is lost, the cluster runs: it is taken over as it was found, and held until a person resumes it.

    `found_by` says, in words, what was read. `next_broker_id` and `spent` are above everything that may have been used
    before. `reached`: what runs is what the document asks for, to the finalised feature levels.
    """

    found_by: str
    next_broker_id: int
    spent: tuple[SpentNode, ...]
    node_addresses: Mapping[str, str]
    reached: bool


@fact("instance.adopted", schema=1)
@dataclass(frozen=True, slots=True)
class InstanceAdopted:
    """A VM that was found by its tags. `planned` says what is known of it; `phase` where it stands in its life.

    `intent` is the one in its tag, so its boot data renders as before; `starts` the last start its agent was told of;
    `public`: it was made with a public IPv4 address, as a pool asked for one.
    """

    planned: PlannedInstance
    intent: str
    cloud_id: str
    address: str
    phase: str
    starts: int
    bound: bool
    drained: bool
    size: PlannedSize | None = None
    public: bool = False
