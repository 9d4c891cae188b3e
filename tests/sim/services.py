"""What runs on the VMs of the simulated cloud: an agent on each that obeys documents, and the services it starts."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from agent import wire
from agent.wire import Document, PacketFilterReport, Report, ServiceDocument
from agent.wire_versions import NEWEST_WIRE_VERSION
from controlplane.cluster.observed.agent_reports import keep_report
from controlplane.converger.questions.quorum.protocol import PROTOCOL
from controlplane.storage.latest_values import LatestStore
from events.ids import ClusterUid
from providers.base import CloudVolume
from providers.handover import Handover
from tests.fakes.kafka import FakeKafka
from tests.sim.breakdowns import Breakdowns
from tests.sim.certificates import SimCertificates
from tests.sim.client_latency import ClientLatency
from tests.sim.endpoints import endpoints_of, not_found
from tests.sim.ensemble import SimEnsemble
from tests.sim.evidence import Evidence, Violation
from tests.sim.metadatawork import MetadataWork
from tests.sim.reports import report_of
from tests.sim.vms import BOOT_S, START_S, Attached, Illness, Process, Vm, too_old
from tests.sim.wrong_identities import WrongIdentities

Documents = Callable[[str, str], Document | None]
"""(cluster uid, instance key) -> desired document: the server's answer to an agent."""

USUAL_DISK_BYTES = 100 * 10**9
AGENT_S = 2.0


def path_of(directory: str) -> str:
    """Where a broker with several disks has one of them."""
    return f"/volumes/{directory}/kafka"


class Services:
    """The VMs of one place, each with its agent, and all that befalls what runs on them."""

    def __init__(self, kafka: FakeKafka, latest: LatestStore, clock: Callable[[], datetime]) -> None:
        self.kafka = kafka
        self._latest = latest
        self._clock = clock
        self._documents: Documents = lambda _uid, _key: None
        self.seconds = 0.0
        self.vms: dict[str, Vm] = {}
        self.buried: dict[str, Vm] = {}
        self.volumes: dict[str, CloudVolume] = {}
        self.attached = Attached()
        self.report_type: type[Report] = Report
        self.documents_known = NEWEST_WIRE_VERSION
        """Highest version of documents that agents tell they take."""
        self.filters: dict[str, PacketFilterReport] = {}
        """What agents tell of the packet filter of their VM, by its key."""
        self.addresses: dict[str, str] = {}
        """By node; of one that moves, the last that was made."""
        self.evidence = Evidence()
        self.disk_bytes: dict[int, int] = {}
        """Broker id -> size of the disk it is born with, where that is not the usual one."""
        self.starts = 0
        """Kafka processes that came up, ever."""
        self.broker_ids: dict[int, str] = {}
        self.controller_ids: set[int] = set()
        self.outage = False
        self.fatal: dict[str, str] = {}
        """Settings no process comes up with."""
        self.refused: dict[str, str] = {}
        """Settings that Kafka itself refuses: a controller is not even formatted with them, a broker ends at once."""
        self.refused_options: dict[str, str] = {}
        """Options no JVM starts with, and its words against each."""
        self.refused_on: set[str] = set()
        """VMs that is so on, by key; empty: on all of them."""
        self.largest_heap_mib = 0
        """No process comes up with a larger heap: the VM has no more; 0 where every VM is large enough."""
        self.unwell: set[str] = set()
        """Services that never come up, by `Vm.service_key`."""
        self.blank: dict[str, datetime] = {}
        """Volumes, and single directories, that have lost what was on them, or never had anything."""
        self.formatted: set[str] = set()
        """Of controllers, those a process ran on."""
        self.illnesses: dict[str, Illness] = {}
        """By instance key; of a server beside a broker by its own (`Vm.service_key`)."""
        self.metadata: MetadataWork | None = None
        """How brokers come on with metadata, where that is of interest."""
        self.latency: ClientLatency | None = None
        """What clients wait for, where that is of interest."""
        self.breakdowns = Breakdowns()
        self.wrong_identities = WrongIdentities()
        self.certificates: SimCertificates | None = None
        """Of clusters whose nodes speak TLS."""
        self.had_volumes: dict[int, set[str]] = {}
        """By broker, what it was last started on."""
        self.dead_volumes: set[str] = set()
        """Volumes that the cloud lists as any other, and on which no Kafka comes up any more."""
        self.failed_disks: dict[int, datetime] = {}
        """Brokers one of whose disks has failed, and since when."""
        self.ensemble_id = ""
        """The cluster id that is in ZooKeeper."""
        self.ensemble = SimEnsemble()
        """What else is, on the way to TLS, and who finds whom by it."""
        self.protocols: dict[int, str] = {}
        """ZooKeeper mode: what each broker was last started with."""
        self.taken_back: dict[str, wire.PreemptionReport] = {}
        """What the cloud says of hosts, by instance key."""
        self.handover = Handover.REBIND
        """What this cloud can do with a node's address; with `DELETE_FIRST`, and its disks."""

    # --- faults -----------------------------------------------------------------------------------------------

    def power_cut(self, key: str) -> None:
        """The VM dies at once. Its volume stays where it was, and is empty where nothing ever ran on it."""
        vm = self.vms[key]
        vm.alive = False
        if vm.node in self.addresses and not (vm.process is not None and vm.process.up):
            mine = (v.key for v in self.volumes.values() if v.attached_to == key)
            self.blank |= {v: self._clock() for v in mine if v not in self.formatted}
        self._power_off(vm)

    def wake(self, key: str) -> None:
        """A VM that was retired comes back as it was: the agent starts what its last document said."""
        vm = self.buried[key]
        if vm.process is not None:
            raise Violation(f"a retired VM would start {vm.process.document.start_id} again")

    def stop_process(self, key: str, *, beside: bool = False) -> None:
        """The Kafka process dies, or the ZooKeeper server `beside` it; the agent will start it again."""
        vm = self.vms[key]
        if (process := vm.member if beside else vm.process) is not None:
            self._stop(process.document, graceful=False)
            vm.runs(process.document, None)

    # --- time: agents obey their documents ----------------------------------------------------------------------

    def advance(self, seconds: float, documents: Documents) -> None:
        """Lets every agent look at its document, act on it and report."""
        self.seconds += seconds
        self._documents = documents
        for vm in list(self.vms.values()):
            if vm.alive and vm.boots and not vm.deaf and self.seconds - vm.created_at >= BOOT_S + AGENT_S:
                vm.document = vm.document if vm.cut == "in" else documents(vm.uid, vm.key)
                self._agent(vm, vm.document)
            elif vm.alive:
                self._rise(vm)  # what was begun comes up, though nobody hears of it

    def _agent(self, vm: Vm, document: Document | None) -> None:
        services, told, now = document.services if document else (), self.taken_back.get(vm.key), self._clock()
        if told and told.deadline and told.deadline - now <= timedelta(seconds=45):
            # As agents do, so that it can be started again.
            self._power_off(vm, graceful=True, cause=f"the cloud, which takes back {vm.key}")
        else:
            for service in services:
                self._obey(vm, service)
            self._mount(vm, services)
            self._rise(vm)
        vm.seq += 1
        report = report_of(self, vm, services, now)
        if vm.cut != "out":
            keep_report(self._latest, ClusterUid(vm.uid), vm.key, report, now)

    def _mount(self, vm: Vm, services: Sequence[ServiceDocument]) -> None:
        """As `agent.disks`: what is given back is unmounted once nobody runs on it."""
        attached = self.attached.on(vm, self.volumes).keys()
        if not services:
            vm.mounted &= attached
            return
        kept = {d.volume for s in services if not s.gives_volumes or vm.running(s) for d in s.log_dirs}
        vm.mounted = frozenset(kept & attached)

    def _obey(self, vm: Vm, service: ServiceDocument) -> None:
        process, spent = vm.running(service), vm.start_of(service)
        if service.state == "stopped":
            if process is not None:
                self._stop_as_told(vm, process.document)
            vm.runs(service, None)
            vm.spent.add(spent)
            return
        if spent in vm.spent or not self.is_equipped(vm, service):
            return
        if process is not None and process.document.start_id != service.start_id:
            # A restart: the old process stops in order first, and is over for good.
            self._stop_as_told(vm, process.document, graceful=process.up)
            vm.spent.add(vm.start_of(process.document))
            vm.runs(service, None)
            return
        if self.refused_configuration(vm, service):
            # A broker's agent formats by itself, and Kafka says no when it is started.
            vm.launched |= {service.name} if service.name == "broker" else set()
            return
        self._refuse_to_format_data(vm, service)
        if self.has_lost(service) or vm.service_key(service) in self.unwell or self.breakdowns.holds(vm, self.seconds):
            return
        held = self.certificates if process is None and service.tls is not None else None
        if held is not None and not held.obtain(vm, service):
            return
        if process is None and not self.wrong_identities.refuses(vm, service):
            vm.launched.add(service.name)
            vm.runs(service, Process(service, self.seconds, self.seconds + START_S))

    def _rise(self, vm: Vm) -> None:
        for process in vm.processes:
            service = process.document
            fatal = self.fatal.items() & service.settings.items() or 0 < self.largest_heap_mib < service.heap_mib
            dead = any(d.volume in self.dead_volumes for d in service.log_dirs)
            if process.up or fatal or dead or self.seconds < process.ready_at:
                continue
            if not self.breakdowns.ends(vm, process, self.seconds):
                process.up = True
                self.starts += 1
                self._start(vm, service)

    def refused_configuration(self, vm: Vm, service: ServiceDocument) -> str:
        """Kafka's words against its settings, or its JVM's against its options; "" where they take them. A ZooKeeper
        server is told no settings."""
        named = sorted(self.refused.items() & service.settings.items())
        if self.refused_on and vm.key not in self.refused_on:
            return ""
        said = next((self.refused_options[o] for o in service.jvm_options if o in self.refused_options), "")
        if said:
            return said
        return f"java.lang.IllegalArgumentException: requirement failed: {named[0][0]}" if named else ""

    def has_lost(self, service: ServiceDocument) -> bool:
        """Whether a directory of it is empty that was not, or that nobody calls fresh."""
        gone = [d for d in service.log_dirs if d.volume in self.blank or d.directory_id in self.blank]
        return any(not d.fresh or d.volume in self.formatted or d.directory_id in self.blank for d in gone)

    def _refuse_to_format_data(self, vm: Vm, service: ServiceDocument) -> None:
        """What the control plane calls fresh is formatted where it is empty, but by an agent that knows better."""
        lost = [d.volume for d in service.log_dirs if d.fresh and d.volume in self.blank and d.volume in self.formatted]
        if lost and service.name not in vm.launched:
            raise Violation(f"{vm.key} would format {lost[0]}, which held data and has lost it")

    def lose_member(self, key: str) -> None:
        """The directory of the server beside a broker is gone; the broker has all it had."""
        lost = [p.document.log_dirs[0].directory_id for p in self.vms[key].processes[1:]]
        self.blank |= dict.fromkeys(lost, self._clock())
        self.stop_process(key, beside=True)

    def lose_volume(self, key: str, directory: str = "") -> None:
        """What the service of this VM has kept there is gone; the volume itself is there. Kafka stops over it."""
        vm = self.vms[key]
        if vm.process is None:
            raise Violation(f"{key} has no service to lose its disk")
        lost = [d.volume for d in vm.process.document.log_dirs if directory in ("", d.name)]
        self.blank |= dict.fromkeys(lost, self._clock())
        self.stop_process(key)

    def is_equipped(self, vm: Vm, service: ServiceDocument) -> bool:
        """Whether it has the disks, and the address, that the service needs."""
        attached = self.attached.on(vm, self.volumes)
        needs_address = service.name != "broker" and self.handover is not Handover.NONE and not vm.is_beside(service)
        return all(d.volume in attached for d in service.log_dirs) and (vm.bound or not needs_address)

    @property
    def are_well(self) -> bool:
        """Whether no VM is dead, the cloud answers, and there is no illness that something may be done about."""
        is_unhealthy = any(not illness.finding.startswith("disk_") for illness in self.illnesses.values())
        told = (s for vm in self.vms.values() if vm.document for s in vm.document.services if s.state == "running")
        is_hurt = any(v.key in self.blank for v in self.volumes.values()) or any(self.has_lost(s) for s in told)
        is_hurt |= any(self.kafka.serves(broker) for broker in self.failed_disks)
        is_hurt |= bool(self.breakdowns.frozen or self.breakdowns.looping or self.wrong_identities.among(self.vms))
        is_hurt |= self.metadata is not None and self.metadata.is_trouble
        is_hurt |= not self.taken_back.keys().isdisjoint(self.vms)
        return all(vm.alive for vm in self.vms.values()) and not self.outage and not is_unhealthy and not is_hurt

    def become_unhealthy(self, key: str, finding: str, *, lasts: bool = False) -> None:
        """From now on the agent of this VM finds that."""
        self.illnesses[key] = Illness(finding, self._clock(), lasts)

    def fail_disk(self, key: str, directory: str) -> None:
        """One of the disks of a broker fails under it; whoever has that disk later finds it failed, too."""
        broker = self._broker_on(key)
        self.kafka.fail_dir(broker, path_of(directory))
        self.failed_disks.setdefault(broker, self._clock())
        if not self.kafka.is_running(broker):
            self.stop_process(key)

    def _home_volume(self, service: ServiceDocument) -> str:
        """The first volume a broker ever had, for as long as it takes over any of those it had before."""
        now, had = {d.volume for d in service.log_dirs}, self.had_volumes.get(service.node_id, set())
        self.had_volumes[service.node_id] = now
        return self.broker_ids[service.node_id] if now & had else service.log_dirs[0].volume

    def _broker_on(self, key: str) -> int:
        process = self.vms[key].process
        if process is None:
            raise Violation(f"{key} has no service to lose a disk")
        return process.document.node_id

    def _start(self, vm: Vm, service: ServiceDocument) -> None:
        serves = self.kafka.migration.starts(service)
        self._find_one_another(vm.uid, service)
        name = vm.service_key(service)
        illness = self.illnesses.pop(name, None)
        if illness is not None and illness.lasts:
            self.illnesses[name] = Illness(illness.finding, self._clock(), lasts=True)
        if service.name == "broker":
            self._start_broker(vm, service, serves)
        else:
            self._start_controller(vm, service)
        self.kafka.migration.progress()

    def _find_one_another(self, uid: str, service: ServiceDocument) -> None:
        """Of the whole cluster, once that service runs."""
        running = [p.document for vm in self.vms.values() if vm.alive and vm.uid == uid for p in vm.processes if p.up]
        lost = self.ensemble.not_found(service, running) if service.ensemble else ""
        if service.voters:  # both of one that migrates
            lost = lost or not_found(service, running, self.kafka.migration.home_of("controller").leader)
        if lost:
            raise Violation(lost)

    def _start_broker(self, vm: Vm, service: ServiceDocument, serves: bool) -> None:
        self._speak(vm, service)
        owner = self.broker_ids.get(service.node_id)
        volume = self._home_volume(service)
        protocol = {PROTOCOL: service.protocol_version} if service.is_zookeeper_mode else {}
        self.kafka.settings.files[service.node_id] = {**service.settings, **protocol}
        self.evidence.homes.setdefault(service.node_id, set()).add(volume)
        if owner is None:
            self.broker_ids[service.node_id] = volume
            self._add_broker(service)
            return
        for disk in service.log_dirs:
            if disk.fresh and len(service.log_dirs) > 1:
                self.kafka.renew_dir(service.node_id, path_of(disk.name))
                self.failed_disks.pop(service.node_id, None)
        if serves:
            self.wrong_identities.starts(self, vm, service, self._clock())

    def _start_controller(self, vm: Vm, service: ServiceDocument) -> None:
        self._refuse_two(vm, service)
        directory, home = service.log_dirs[0].directory_id, self.kafka.migration.home_of(service.name)
        if home.directory_of(service.node_id) == directory:
            home.start_controller(service.node_id, version=service.kafka_version)
            home.listens(service.node_id, endpoints_of(service))
            return
        if not service.log_dirs[0].fresh:
            raise Violation(f"{vm.key} starts on an empty directory that nobody called fresh")
        self.controller_ids.add(service.node_id)
        self.formatted.update(d.volume for d in service.log_dirs)
        founder, version = service.founder, service.kafka_version
        if founder and home is self.kafka and home.found(self._first_quorum(service)):  # not of a migration
            self.ensemble_id = ""
        home.add_controller(service.node_id, voter=founder, version=version, directory_id=directory)
        home.listens(service.node_id, endpoints_of(service))

    def _first_quorum(self, service: ServiceDocument) -> dict[int, str]:
        """Its members, with their directories. A server of an ensemble is not told of the others' directories."""
        if service.voters:
            return {v.id: v.directory_id for v in service.voters}
        told = [d.services[0] for vm in self.vms.values() if (d := self._documents(vm.uid, vm.key)) and d.services]
        named = {member.id for member in service.ensemble}
        return {s.node_id: s.log_dirs[0].directory_id for s in told if s.name == service.name and s.node_id in named}

    def _add_broker(self, service: ServiceDocument) -> None:
        several = tuple(path_of(d.name) for d in service.log_dirs) if len(service.log_dirs) > 1 else ()
        self.kafka.add_broker(
            service.node_id,
            service.rack,
            version=service.kafka_version,
            disk_bytes=self.disk_bytes.get(service.node_id, USUAL_DISK_BYTES * len(service.log_dirs)),
            log_dirs=several or ("/data",),
        )

    def _refuse_two(self, vm: Vm, service: ServiceDocument) -> None:
        """Two controllers of one id are never up together: both would answer for the one vote."""
        others = (v for v in self.vms.values() if v is not vm and v.alive)
        for other, document in ((v, p.document) for v in others for p in v.processes if p.up):
            if document.name == service.name and document.node_id == service.node_id:
                raise Violation(f"{vm.key} and {other.key} both run controller {service.node_id}")

    def _speak(self, vm: Vm, service: ServiceDocument) -> None:
        """ZooKeeper mode: a broker needs the cluster's id to be there, and others that understand what it speaks."""
        if not service.is_zookeeper_mode:
            return
        if self.ensemble_id != service.cluster_id:
            raise Violation(f"{vm.key} starts while ZooKeeper holds the id {self.ensemble_id or 'of nobody'}")
        if old := too_old(self.vms.values(), service.protocol_version):
            raise Violation(f"{vm.key} starts with protocol {service.protocol_version} beside Kafka {old[0]}")
        self.protocols[service.node_id] = service.protocol_version

    def _stop_as_told(self, vm: Vm, service: ServiceDocument, *, graceful: bool = True) -> None:
        if service.name == "broker" and graceful:
            self._refuse_to_hang(vm)
        cause = self.breakdowns.cause_of_stop(vm.key, service.node_id) if service.name == "broker" else ""
        self._stop(service, graceful=graceful, cause=cause)

    def _refuse_to_hang(self, vm: Vm) -> None:
        """A broker's shutdown in order waits for who keeps its metadata: until it is killed, where nobody does."""
        documents = (self._documents(v.uid, v.key) for v in self.vms.values() if v.alive and v.uid == vm.uid)
        told = [s.state for d in documents if d is not None for s in d.services if s.name != "broker"]
        if told and "running" not in told:
            raise Violation(f"{vm.key} is to stop in order while all its controllers are told to stop, too")

    def _stop(self, service: ServiceDocument, *, graceful: bool, cause: str = "") -> None:
        self.kafka.migration.stops(service, graceful=graceful)
        if service.name != "broker":
            self.kafka.migration.home_of(service.name).stop_controller(service.node_id)
        elif not graceful:
            self.kafka.kill_broker(service.node_id)
        elif self.kafka.is_running(service.node_id) and not self.kafka.stop_broker(service.node_id, cause=cause):
            raise Violation(f"broker {service.node_id} was unregistered while it ran and hangs now")
        self.kafka.migration.progress()

    def _power_off(self, vm: Vm, *, graceful: bool = False, cause: str = "") -> None:
        for process in vm.processes:
            if process.up:
                self._stop(process.document, graceful=graceful, cause=cause)
        vm.process = vm.member = None
