"""VMs of the simulator, and how a cloud lists them."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache

from agent.wire import DIRECTORY_LOST, Document, FindingReport, LogDirReport, ServiceDocument, ServiceReport
from providers.base import CloudInstance, CloudVolume, InstanceState

BOOT_S = 3.0
START_S = 2.0


@dataclass(slots=True)
class Process:
    """One Kafka process on a VM."""

    document: ServiceDocument
    began_at: float
    ready_at: float
    up: bool = False


@dataclass(slots=True)
class Vm:
    """One VM. What it knows survives a restart of its agent, not its own death."""

    uid: str
    node: str
    generation: int
    intent: str
    zone: str
    address: str
    created_at: float
    made_by: str = ""
    """Intent of the run that made it."""
    place: str = ""
    alive: bool = True
    boots: bool = True
    deaf: bool = False
    cut: str = ""  # one way: `in`, no document comes any more, or `out`, no report arrives
    document: Document | None = None
    bound: bool = False
    seq: int = 0
    process: Process | None = None
    member: Process | None = None
    """The ZooKeeper server beside a broker."""
    spent: set[str] = field(default_factory=set)
    """start ids that were stopped for good."""
    failed: str = ""
    mounted: frozenset[str] = frozenset()
    """Volumes its agent has mounted, attached or not."""
    launched: set[str] = field(default_factory=set)
    """Services a process of which was ever started here: the agent keeps a record of it."""
    told: dict[str, tuple[ServiceDocument, tuple[object, ...], ServiceReport]] = field(default_factory=dict)
    """By service, what its agent last said of it, after what that was made of."""
    key: str = field(init=False)

    def __post_init__(self) -> None:
        self.key = f"{self.node}.g{self.generation}"

    def running(self, service: ServiceDocument) -> Process | None:
        """Its process of this service."""
        return self.member if self.is_beside(service) else self.process

    def runs(self, service: ServiceDocument, process: Process | None) -> None:
        """From now on it is this one."""
        if self.is_beside(service):
            self.member = process
        else:
            self.process = process

    def is_beside(self, service: ServiceDocument) -> bool:
        """Whether it is the second service of a VM, which is a broker's."""
        return service.name == "zookeeper" and self.node.startswith("brokers")

    def service_key(self, service: ServiceDocument) -> str:
        """As `InstanceView.service_key`."""
        return f"{self.key}/{service.name}" if self.is_beside(service) else self.key

    def start_of(self, service: ServiceDocument) -> str:
        """Its start, by a name of its own: both services of a VM number theirs alike."""
        return f"{service.name} {service.start_id}" if self.is_beside(service) else service.start_id

    @property
    def processes(self) -> tuple[Process, ...]:
        """Those it has, the broker's first."""
        return tuple(p for p in (self.process, self.member) if p is not None)


@dataclass(slots=True)
class Illness:
    """What the agent of a VM finds wrong in its service. `lasts`: a new process has it again after a while."""

    finding: str
    since: datetime
    lasts: bool = False
    node: int | None = None
    """As which node the process runs, where that is what is wrong."""


@dataclass(slots=True)
class Attached:
    """The volumes by the VM they are on. Sorted anew where one has changed: every agent asks at every tick."""

    _sorted: tuple[CloudVolume, ...] = ()
    _by_vm: dict[str, dict[str, CloudVolume]] = field(default_factory=dict)

    def on(self, vm: Vm, volumes: Mapping[str, CloudVolume]) -> Mapping[str, CloudVolume]:
        """Those on this VM, by key."""
        there = tuple(volumes.values())
        if there != self._sorted:
            self._sorted, self._by_vm = there, {}
            for volume in there:
                self._by_vm.setdefault(volume.attached_to or "", {})[volume.key] = volume
        return self._by_vm.get(vm.key, {})


def too_old(vms: Iterable[Vm], protocol: str) -> list[str]:
    """Versions of brokers that are up and do not understand this `inter.broker.protocol.version`."""
    there = [v.process.document for v in vms if v.alive and v.process and v.process.up]
    wanted = [int(n) for n in protocol.split(".")]
    versions = [s.kafka_version for s in there if s.name == "broker"]
    return [v for v in versions if [int(n) for n in v.split(".")[:2]] < wanted]


def voting_on(vms: Mapping[str, Vm], keys: Iterable[str], voters: Mapping[int, str]) -> list[str]:
    """Brokers that go though the server of the ensemble beside them runs and votes, in words."""
    there = [(vm.key, vm.member.document) for k in keys if (vm := vms.get(k)) and vm.alive and vm.member]
    voting = [(k, d) for k, d in there if voters.get(d.node_id) == d.log_dirs[0].directory_id]
    return [f"{key} goes, and server {document.node_id} on it votes" for key, document in voting]


def knowing_too_few(
    vms: Mapping[str, Vm], voters: Collection[int], hosts: Callable[[int], int], *, beside: Collection[str]
) -> list[str]:
    """Brokers with replicas (`hosts`: how many, by id) that run away from the servers of their ensemble, which are all
    on the VMs of others, and that were told of no more of these voters than may fail at once. `beside` are keys of
    brokers whose own server stays: it may have ended a moment ago, and its agent has it back."""
    there = [v for v in vms.values() if v.alive and v.process and v.process.up]
    if not any(v.member for v in there):
        return []
    away = {v.key: v.process.document for v in there if v.key not in beside and v.process}
    serving = {key: d for key, d in away.items() if d.name == "broker" and d.is_zookeeper_mode and hosts(d.node_id)}
    told = {key: {m.id for m in d.ensemble} for key, d in serving.items()}
    return sorted(key for key, ids in told.items() if len(ids.intersection(voters)) <= (len(voters) - 1) // 2)


def listed(vm: Vm, now: float) -> CloudInstance:
    state = InstanceState.RUNNING if vm.boots and now - vm.created_at >= BOOT_S else InstanceState.PENDING
    return _instance(f"vm-{vm.key}", vm.uid, vm.node, vm.generation, vm.intent, vm.zone, state, vm.address)


# At every tick a world lists the same VMs and measures the same disks: what says the same is made once.
_instance = lru_cache(maxsize=1024)(CloudInstance)
_log_dir = lru_cache(maxsize=1024)(LogDirReport)


def moved(volume: CloudVolume, to: str | None) -> CloudVolume:
    return replace(volume, attached_to=to)


def lost_directories(service: ServiceDocument, blank: Mapping[str, datetime]) -> tuple[FindingReport, ...]:
    """What the agent finds of a service that does not start. `blank`: volumes and directories that hold nothing, and
    since when."""
    lost = ((d, blank.get(d.volume) or blank.get(d.directory_id)) for d in service.log_dirs)
    return tuple(
        FindingReport(
            name=f"{DIRECTORY_LOST}:{d.name}" if service.name == "broker" else DIRECTORY_LOST,
            since=since,
            message=f"volume {d.volume} has no meta.properties",
        )
        for d, since in lost
        if since is not None
    )


def findings_of(illness: Illness | None, failed: datetime | None, at: datetime) -> tuple[FindingReport, ...]:
    """What an agent finds wrong at that time in a service that runs. `failed`: since when one of its disks has."""
    found = Illness("log_dir_failed", failed) if failed is not None else illness
    if found is None or found.since > at:
        return ()
    numbers = {} if found.node is None else {"node": float(found.node)}
    return (FindingReport(name=found.finding, since=found.since, message="as simulated", numbers=numbers),)


def file_systems(attached: Mapping[str, CloudVolume], service: ServiceDocument) -> tuple[LogDirReport, ...]:
    """Those of what is attached, by key, which grow with their volumes."""
    sizes = [(d.name, attached[d.volume].size_gib * 2**30) for d in service.log_dirs if d.volume in attached]
    return tuple([_log_dir(name=name, total_bytes=size, free_bytes=size, partitions=0) for name, size in sizes])
