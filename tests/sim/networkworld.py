"""A small world for networks alone: a cloud of networks, people who declare and remove, and a server that may die.

Reconciler, fold and decisions are the real ones; Terraform is a run that takes three ticks and can be killed.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Network
from typing import Any

from controlplane.cluster.commands import CommandRefused
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.places import declared_places, places_of
from controlplane.cluster.view import ClusterView, empty_view
from controlplane.fleet.networks.commands import NetworkService
from controlplane.fleet.networks.decide import AddressPool
from controlplane.fleet.networks.fold import NetworksView
from controlplane.fleet.networks.reconciler import NetworkPorts, NetworkReconciler
from events.envelope import NewEvent, Origin, Recorded
from events.ids import ClusterUid, Epoch, IntentId
from events.spec.network import NetworkSpec, OverlaySpec
from providers.base import CloudInstance, InstanceState, Listing, Place
from providers.errors import Offence, ProviderError, UnsafeChange
from providers.networks import USUAL_PORTS, FirewallPorts, NetworkRun, NetworkRunKind, PortClients
from tests.builders import a_document, an_instance
from tests.changed_view import changed_view
from tests.fakes.event_store import MemoryEventStore
from tests.fakes.jobs import MemoryJobStore

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
TICK_S = 1.0
RUN_TICKS = 3
POOL = AddressPool(IPv4Network("10.64.0.0/16"), 20)


class Crash(Exception):
    """The server is killed here."""


@dataclass
class MadeNetwork:
    """A network as the cloud has it; half of one is without settings."""

    cidr: str
    zones: set[str] = field(default_factory=set)
    clients: set[str] = field(default_factory=set)
    ports: FirewallPorts = USUAL_PORTS
    port_clients: PortClients = ()
    servers: set[str] = field(default_factory=set)
    peers: dict[str, str] = field(default_factory=dict)
    """CIDR -> id of the network that had it when it was let in."""


@dataclass
class _Running:
    run: NetworkRun
    epoch: Epoch
    left: int = RUN_TICKS


class CrashingStore(MemoryEventStore):
    """Dies before or after it records."""

    def __init__(self, clock: Callable[[], datetime], point: Callable[[str], None]) -> None:
        super().__init__(clock)
        self._point = point

    def append(
        self,
        stream: str,
        events: Sequence[NewEvent],
        *,
        expected_version: int,
        origin: Origin,
    ) -> list[Recorded]:
        self._point("before an append")
        recorded = super().append(stream, events, expected_version=expected_version, origin=origin)
        self._point("after an append")
        return recorded


class NetworkWorld:
    """`crash_at`: the point, counted from 1, at which the server dies once; 0 for never."""

    def __init__(self, *, crash_at: int = 0, pool: AddressPool = POOL) -> None:
        self.seconds = 0.0
        self.points = 0
        self.crash_at = crash_at
        self.pool = pool
        self.store = CrashingStore(self.clock, self._point)
        self.jobs = MemoryJobStore(clock=self.clock)
        self.cloud: dict[str, MadeNetwork] = {}
        self.clusters: dict[str, ClusterView] = {}
        self.left_vms: list[CloudInstance] = []
        self.refuse: ProviderError | None = None
        self.refuse_removals: ProviderError | None = None
        self.dials_from: Callable[[], tuple[str, ...] | None] | None = None
        """Where the server dials brokers from; None in worlds in which it dials none."""
        self.running: dict[str, _Running] = {}
        self.story: list[str] = []
        self.epoch = Epoch(0)
        self._asked = self._told = 0
        self.start_server()

    # People

    def declare(
        self,
        name: str,
        *,
        region: str = "r1",
        account: str = "main",
        network: str = "default",
        zones: Collection[str] = ("a",),
        clients: Collection[str] = (),
        port: int = 9092,
        mode: str = "kraft",
        tls: bool = False,
        own: Collection[str] | None = None,
        overlay: int = 0,
        public: bool = False,
    ) -> None:
        """A cluster with one zone list, in a cloud whose networks are Kedge's. Its VMs stay where they are."""
        document = a_document(name=name)
        place = {"cloud": "aws", "region": region, "account": account, "network": network, "zones": tuple(zones)}
        asked = {"public_address": public}
        pools = tuple(
            p.model_copy(update={"place": p.place.model_copy(update=place), **asked}) for p in document.spec.pools
        )
        tunnels = NetworkSpec(overlay=OverlaySpec(type="wireguard", port=overlay)) if overlay else NetworkSpec()
        access = document.spec.access.model_copy(update={"clients": tuple(clients)})
        kafka = document.spec.kafka.model_copy(update={"mode": mode})
        alone = tuple(own) if own is not None else None
        listener = document.spec.listeners[0].model_copy(update={"port": port, "clients": alone})
        security = document.spec.security.model_copy(update={"internal": "tls" if tls else "plaintext"})
        parts = {"pools": pools, "access": access, "kafka": kafka, "listeners": (listener,), "security": security}
        spec = document.spec.model_copy(update={**parts, "network": tunnels})
        there = self.clusters[name].instances if name in self.clusters else {}
        view = replace(empty_view(f"uid-{name}"), name=name, document=document.model_copy(update={"spec": spec}))
        self.clusters[name] = replace(view, instances=there)
        more = ("" if port == 9092 else f", port {port}") + ("" if mode == "kraft" else f", mode {mode}")
        self._tell(f"{name} is declared in {network} of {account}/{region}, zones {', '.join(zones)}{more}")

    def boot(self, name: str, port: int) -> None:
        """A broker of it stands, at that port; the one before it is retired."""
        vm = replace(an_instance("brokers-a-0"), place=places_of(self.clusters[name])[0], port=port)
        self.clusters[name] = replace(self.clusters[name], instances={vm.key: vm})
        self._tell(f"{name} has its broker at port {port}")

    def delete(self, name: str, *, retain: bool = False) -> None:
        """The cluster is gone; with `retain` a VM of it stands on."""
        view = self.clusters[name]
        self.clusters[name] = changed_view(view, deleted=True)
        if retain:
            vm = CloudInstance("i-1", view.uid, "brokers-a-0", 1, "x", "a", InstanceState.RUNNING, "10.64.0.9")
            self.left_vms.append(vm)
        self._tell(f"{name} is deleted" + (", its VM stands" if retain else ""))

    def move(self, name: str, *, region: str, **told: Any) -> None:
        """The cluster's spec names another region; a VM of it stands where it was, until it `arrives`."""
        before = self.clusters[name]
        (place,) = places_of(before)
        vm = replace(an_instance("brokers-a-0"), place=place)
        self.declare(name, region=region, **told)
        self.clusters[name] = replace(self.clusters[name], generation=2, instances={vm.key: vm})

    def join(self, name: str) -> None:
        """A VM of it stands where it moves to; that where it comes from stands as well."""
        view = self.clusters[name]
        vm = replace(an_instance("brokers-a-0", generation=2), place=places_of(view)[0])
        self.clusters[name] = replace(view, instances={**view.instances, vm.key: vm})
        self._tell(f"{name} has a VM in {vm.place}")

    def arrive(self, name: str) -> None:
        """The last VM where it came from is retired, and nothing rolls any more."""
        view = self.clusters[name]
        left = {k: i for k, i in view.instances.items() if i.place != declared_places(view)[0]}
        gone = {k: replace(i, phase=Phase.RETIRED, since=self.clock()) for k, i in left.items()}
        self.clusters[name] = changed_view(view, instances={**view.instances, **gone}, converged=view.generation)
        self._tell(f"{name} has moved")

    def remove(self, name: str, *, account: str = "", region: str = "") -> str:
        """A person asks; what they are told, or why it is refused."""
        return self._ask("removes", self.service.remove, name, account, region)

    def repair(self, name: str) -> str:
        """The same, for a repair."""
        return self._ask("repairs", self.service.repair, name, "", "")

    def _ask(self, what: str, ask: Callable[..., str], name: str, account: str, region: str) -> str:
        """A request whose server dies is sent again, under the same id."""
        self._asked += 1
        order = {"account": account, "region": region, "reason": "", "actor": "person:anna"}
        if what == "removes":
            order["confirm"] = name
        try:
            told = ask(name, command_id=f"c{self._asked}", **order)
        except CommandRefused as refused:
            told = f"refused: {refused}"
        except Crash as crash:
            self._tell(f"the server dies {crash}")
            self.start_server()
            told = getattr(self.service, ask.__name__)(name, command_id=f"c{self._asked}", **order)
        self._tell(f"anna {what} {name}: {told}")
        return told

    # The server

    def start_server(self) -> None:
        """A new process with an empty memory; what the last one ran died with it."""
        self.epoch = Epoch(self.epoch + 1)
        self.running.clear()
        for job in self.jobs.open_jobs():
            if job.epoch < self.epoch:
                self.jobs.fail(job.intent_id, epoch=self.epoch, error_class="RunInterrupted", error_message="gone")
        dials_from = self.dials_from
        ports = NetworkPorts(
            store=self.store,
            jobs=self.jobs,
            runner=self,
            makes_network=lambda place: place.cloud == "aws",
            list_place=self._listing,
            installation_id="test",
            clock=self.clock,
            epoch=lambda: self.epoch,
            filters_packets=lambda place: place.account == "filtering",
            servers=(lambda pool: dials_from()) if dials_from is not None else None,
        )
        self.reconciler = NetworkReconciler(ports, self.pool)
        self._position = 0
        self.catch_up()
        self.service = NetworkService(self.store, self.reconciler, lambda: list(self.clusters.values()), self.catch_up)

    def network(self, job_id: str, run: NetworkRun, *, epoch: Epoch) -> None:
        """See NetworkRunner."""
        self._point("before a run")
        self.jobs.create(
            IntentId(job_id), cluster_uid=ClusterUid(run.key), kind=str(run.kind), epoch=epoch, owner="server"
        )
        self._point("after its row")
        self.jobs.start(IntentId(job_id), epoch=epoch, owner="server")
        self.running[job_id] = _Running(run, epoch)

    def tick(self) -> None:
        """One tick of the server and of what it runs; a crash is a new server."""
        self.seconds += TICK_S
        try:
            self._work()
            self.catch_up()
            self.reconciler.tick(list(self.clusters.values()))
        except Crash as crash:
            self._tell(f"the server dies {crash}")
            self.start_server()
        self.catch_up()
        self.judge()

    def settle(self, ticks: int = 40) -> None:
        for _ in range(ticks):
            self.tick()

    def catch_up(self) -> None:
        for recorded in self.store.read_all(self._position):
            self._position = recorded.position
            self.reconciler.take_in(recorded)
            if recorded.position > self._told:
                self._told = recorded.position
                data = {k: v for k, v in recorded.data.items() if k != "id" and v not in ("", [], ())}
                self._tell(f"  {recorded.type} {recorded.data['id']}: {data}")

    @property
    def view(self) -> NetworksView:
        return self.reconciler.view()

    def waits(self, name: str) -> tuple[str, ...]:
        return tuple(one.sentence for one in self.reconciler.waits_for(self.clusters[name]))

    def clock(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    # What must hold

    def judge(self) -> None:
        """After each tick: no address twice, and nothing is taken from under a cluster."""
        ranges = [IPv4Network(n.cidr) for n in self.cloud.values()]
        assert all(not a.overlaps(b) for i, a in enumerate(ranges) for b in ranges[i + 1 :]), ranges
        taken = self.view.taken()
        assert all(not a.overlaps(b) for i, a in enumerate(taken) for b in taken[i + 1 :]), taken
        for view in self.clusters.values():
            if not view.deleted and not self.reconciler.waits_for(view):
                network = self.view.at(next(iter(self.reconciler.wants([view]))))
                assert network is not None
                assert network.id in self.cloud, f"{view.name} was told a network that is gone"
                for broker in view.brokers():
                    assert view.port_of(broker) in self.cloud[network.id].ports.brokers, f"{view.name}: shut out"
        existing = {n.id for n in self.view.existing()}
        assert set(self.cloud) <= existing, f"{set(self.cloud) - existing}: made, and nobody knows"
        assert not self.view.unreadable, self.view.unreadable
        self._judge_apart()

    def _judge_apart(self) -> None:
        """Where VMs stand on both sides of a move, and one may be made, each side lets the other in. Nobody lets in
        who was given the addresses of a network that is gone."""
        for view in self.clusters.values():
            there = [n for place in places_of(view) if (n := self.view.at(place)) is not None]
            there = [n for n in there if n.place.account != "filtering"]
            if view.deleted or len(there) < 2 or self.reconciler.waits_for(view):
                continue
            for one in there:
                lacking = {str(n.cidr) for n in there if n.id != one.id} - self.cloud[one.id].peers.keys()
                assert not lacking, f"{view.name}: {one.place} shuts {lacking} out"
        owners = {str(n.cidr): n.id for n in self.view.existing()}
        for network in self.cloud.values():
            for cidr, owner in network.peers.items():
                assert owners.get(cidr, owner) == owner, f"{network.cidr} lets in {owners[cidr]} for {owner}"

    def judge_settled(self) -> None:
        """Once all is quiet: every living cluster has its network, as its spec says, and there is no other."""
        for place, want in self.reconciler.wants(self.clusters.values()).items():
            network = self.view.at(place)
            assert network is not None, place
            assert network.is_ready, network
            assert network.work is None, network
            there = self.cloud[network.id]
            assert want.zones <= there.zones
            assert want.clients == there.clients
            assert want.ports == there.ports
            assert want.access({}, known=network.access).port_clients == there.port_clients
            assert set(want.access(self.view.cidrs()).peers) == there.peers.keys()
            assert there.cidr == str(network.cidr)

    # The cloud

    def _work(self) -> None:
        for job_id, one in list(self.running.items()):
            one.left -= 1
            if one.left == 1:
                self._half(one.run)
                self._point("in the middle of a run")
            if one.left == 0:
                del self.running[job_id]
                self._end(job_id, one)

    def _half(self, run: NetworkRun) -> None:
        if run.kind in (NetworkRunKind.MAKE, NetworkRunKind.GROW) and self.refuse is None:
            self.cloud.setdefault(run.key, MadeNetwork(run.cidr))
        elif run.kind is NetworkRunKind.REMOVE and run.key in self.cloud:
            self.cloud[run.key].zones.clear()

    def _end(self, job_id: str, one: _Running) -> None:
        run = one.run
        error = self._refused(run)
        if error is not None:
            self.jobs.fail(
                IntentId(job_id), epoch=one.epoch, error_class=type(error).__name__, error_message=str(error)
            )
            return
        if run.kind is NetworkRunKind.REMOVE:
            self.cloud.pop(run.key, None)
        else:
            made = self.cloud.setdefault(run.key, MadeNetwork(run.cidr))
            assert made.cidr == run.cidr
            made.zones |= set(run.zones)
            made.clients = set(run.clients)
            made.servers = set(run.servers)
            made.ports, made.port_clients = run.ports, run.port_clients
            owners = {str(n.cidr): n.id for n in self.view.existing()}
            made.peers = {peer: owners.get(peer, "nobody") for peer in run.peers}
        self._point("before its end is told")
        result = {"settings": {"subnets": sorted(run.zones)}}
        self.jobs.succeed(IntentId(job_id), epoch=one.epoch, result=result)

    def _refused(self, run: NetworkRun) -> ProviderError | None:
        """What the cloud, or the guard of the run, says no with."""
        if run.kind is NetworkRunKind.REMOVE:
            return self.refuse_removals
        made = self.cloud.get(run.key)
        if made is not None and run.kind is NetworkRunKind.GROW and made.clients != set(run.clients):
            return UnsafeChange(run.intent_id, [Offence("a rule", "the plan would delete it; making only creates")])
        if self.refuse is not None and run.kind is NetworkRunKind.ACCESS and made is not None:
            made.clients |= set(run.clients)  # half of the change is made
        return self.refuse

    def _listing(self, place: Place) -> Listing:
        return Listing(place, self.clock(), tuple(self.left_vms))

    def _point(self, where: str) -> None:
        self.points += 1
        if self.points == self.crash_at:
            raise Crash(where)

    def _tell(self, line: str) -> None:
        self.story.append(f"{self.seconds:5.0f}s {line}")
