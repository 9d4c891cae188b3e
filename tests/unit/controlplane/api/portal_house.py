"""A whole portal on memory stores for tests: real handlers, real fold, real app; no Terraform, no Kafka."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from argon2 import PasswordHasher
from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import SecretBytes, SecretStr

from controlplane.api.access.bindings import Binding
from controlplane.api.access.passwords import Passwords
from controlplane.api.access.sessions import begin_session
from controlplane.api.access.users import User
from controlplane.api.audit.status import TopicStatus
from controlplane.api.audit.store import AuditStore
from controlplane.api.auth import cookie_name, loopback_hosts
from controlplane.api.node_certificates import NodeCertificates
from controlplane.api.oidc.signin import OidcSignIn
from controlplane.api.server_load import ServerLoad
from controlplane.api.services import (
    ClusterServices,
    ConsolePage,
    PortalServices,
    no_console_page,
)
from controlplane.api.user_credentials import UserCredentials
from controlplane.background.broker_queries import KafkaQueryService
from controlplane.background.consumer_groups.resets import GroupOffsetService
from controlplane.background.consumer_groups.service import GroupService
from controlplane.cluster.observed.agent_reports import reports_of
from controlplane.cluster.view import ClusterView
from controlplane.commands.admission.judge import SpecJudge
from controlplane.commands.failovers import FailoverService
from controlplane.commands.handler import CommandHandler
from controlplane.commands.policies.gate import PolicyGate
from controlplane.commands.policies.store import NoPolicies, Policies
from controlplane.converger.situation.ports import Ports
from controlplane.converger.tick.cluster_tick import new_events
from controlplane.converger.tick.loop import Converger
from controlplane.fleet.failovers.state import PairCache
from controlplane.portal.app import create_app
from controlplane.storage.agent_credentials import Vm
from controlplane.storage.backup import BackupSummary
from controlplane.storage.home import Installation
from controlplane.storage.known_credentials import KnownCredentials
from controlplane.storage.streams import cluster_stream
from events import facts
from events.envelope import Origin
from events.ids import ClusterUid, Epoch, NodeName
from events.store import EventStore
from planner.observed import KafkaSnapshot
from planner.rollout.desired import desired_nodes
from providers.price_list import PriceList
from spark.pipeline.status import PipelineStatus
from spark.plan_jobs import PlanningTotals
from tests.fakes.agent_credentials import MemoryCredentialStore
from tests.fakes.asking import Asker
from tests.fakes.audit import MemoryAuditStore
from tests.fakes.cluster_authorities import MemoryClusterAuthorities
from tests.fakes.event_store import MemoryEventStore
from tests.fakes.jobs import MemoryJobStore
from tests.fakes.kafka import FakeKafka
from tests.fakes.latest_values import MemoryLatestStore
from tests.fakes.pending_passwords import MemoryPendingPasswords
from tests.fakes.people import people_in_memory
from tests.fakes.plans import MemoryPlanStore
from tests.fakes.services import NoNetworks, access_services, broker_services, fleet_services, operations_services
from tests.fakes.windows import KeptWindows
from tests.unit.events.spec_texts import ORDERS

TOKEN = "the-token"
PORT = 8428
START = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)

CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


class Lead:
    """A leadership that tests switch."""

    def __init__(self) -> None:
        self.epoch: Epoch | None = Epoch(3)

    def held_epoch(self) -> Epoch | None:
        return self.epoch

    @property
    def may_act(self) -> bool:
        return self.epoch is not None


class Nowhere:
    """A port that must not be used by what is tested here."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the API must not reach for {name}")


@dataclass
class House:
    """`client` speaks as a person with the token."""

    store: EventStore = field(default_factory=MemoryEventStore)
    now: datetime = START
    progress: str = ""
    woken: list[str] = field(default_factory=list)
    snapshots: dict[ClusterUid, KafkaSnapshot] = field(default_factory=dict)
    public_hosts: frozenset[str] = frozenset()
    audit: AuditStore = field(default_factory=MemoryAuditStore)
    oidc: OidcSignIn | None = None
    policies: Policies = field(default_factory=NoPolicies)
    prices: Callable[[], PriceList] = PriceList
    console_page: ConsolePage = no_console_page
    audit_topic: TopicStatus | None = None
    load: ServerLoad = field(default_factory=ServerLoad)
    pipeline: PipelineStatus | None = None
    plans: PlanningTotals | None = None
    """How metrics are read."""
    filter_rules: str = ""
    """Of VMs that filter packets themselves."""
    request_id: Callable[[], str] = lambda: "0123456789abcdef"
    """Of every request the same, unless a test says otherwise: so answers to two of them can be compared."""
    remembers_agents: bool = False
    """Whether agents that were known a moment ago are answered without gate and routes."""

    def __post_init__(self) -> None:
        if isinstance(self.store, MemoryEventStore):
            self.store._clock = lambda: self.now
        self.latest = MemoryLatestStore()
        self.credentials = MemoryCredentialStore(lambda: self.now)
        known = self._known_agents = KnownCredentials(self.credentials) if self.remembers_agents else None
        self.authorities = MemoryClusterAuthorities(lambda: self.now)
        self.user_passwords = MemoryPendingPasswords()
        self.lead = Lead()
        self.pairs = PairCache()
        self.converger = Converger(_ports(self), pairs=self.pairs)
        self.converger._observer._brokers.snapshots = self.snapshots  # type: ignore[assignment]
        self.backups: list[Path] = []
        self.kafka = FakeKafka(clock=lambda: self.now)
        self.windows = KeptWindows()
        self.failovers = FailoverService(
            self.store,
            self.pairs,
            CommandHandler(self.store).current,
            self.converger.views,
            self.converger.catch_up,
        )
        gate = PolicyGate(self.policies, self.converger)
        judge = SpecJudge(gate=gate, clients_must_avoid=NoNetworks().pool().cidr)
        self.services = PortalServices(
            store=self.store,
            clock=lambda: self.now,
            operations=operations_services(
                version="1.2.3",
                leadership=self.lead,
                planner_state=lambda: "starting",
                backup=self._backup,
                load=self.load,
                pipeline=lambda: self.pipeline,
                plans=lambda: self.plans,
            ),
            access=access_services(
                installation=Installation("inst", SecretBytes(b"server key"), SecretStr(TOKEN)),
                hosts=loopback_hosts("127.0.0.1", PORT),
                credentials=known or self.credentials,
                known_agents=known,
                people=people_in_memory(passwords=Passwords(CHEAP), clock=lambda: self.now),
                public_hosts=self.public_hosts,
                audit=self.audit,
                oidc=self.oidc,
                request_id=self.request_id,
                audit_topic=lambda: self.audit_topic,
                node_certificates=NodeCertificates(self.store, self.authorities, lambda: self.now),
                user_credentials=UserCredentials(self.user_passwords, self.authorities, lambda: self.now),
            ),
            cluster=ClusterServices(
                latest=self.latest,
                commands=CommandHandler(
                    self.store,
                    last_snapshot=self.converger.last_snapshot,
                    judge=judge,
                    reports=lambda uid: reports_of(self.latest, uid),
                    clock=lambda: self.now,
                    paired=lambda view: self.pairs.pairs().pair_of(view.uid),
                ),
                judge=judge,
                progress=lambda view: self.progress,
                brake=self.converger.brake_on,
                wake=self.woken.append,
                console_page=lambda view, instance: self.console_page(view, instance),
                packet_filter=lambda view, instance: self.filter_rules,
            ),
            fleet=fleet_services(
                clusters=self.converger,
                prices=self.prices,
                failovers=self.failovers,
            ),
            brokers=broker_services(
                group_offsets=GroupOffsetService(lambda view: self.kafka, lambda view: nullcontext(self.kafka)),
                windows=self.windows,
                groups=GroupService(self.latest, lambda view: self.kafka, lambda: self.now),
                kafka_queries=KafkaQueryService(lambda view: self.kafka, lambda: self.now),
            ),
        )
        self.app: FastAPI = create_app(self.services, reports_every_s=0)
        self.services = self.app.state.services
        self.client = self.client_with({"Authorization": f"Bearer {TOKEN}"})

    def client_with(self, headers: dict[str, str]) -> TestClient:
        url = f"http://127.0.0.1:{PORT}"
        return Asker(self.app, base_url=url, headers=headers, raise_server_exceptions=False)

    def agent(self, vm: Vm, credential: str) -> TestClient:
        instance = f"{vm.cluster_uid}/{vm.node}.g{vm.generation}"
        return self.client_with({"Authorization": f"Bearer {credential}", "X-Kedge-Instance": instance})

    def browser(self, name: str = "ada", *bindings: Binding, csrf: bool = True) -> TestClient:
        """A browser of a person who has signed in, with these roles. Pages are asked for as browsers do."""
        people = self.services.access.people
        people.users.add(User(name, people.passwords.hashed("a good password"), False, self.now))
        for one in bindings:
            people.users.bind(replace(one, subject=f"user:{name}"))
        cookie, session = begin_session(people.sessions, name, self.now)
        shown = {"X-CSRF-Token": session.csrf} if csrf else {}
        client = self.client_with({"Accept": "text/html", **shown})
        client.cookies.set(cookie_name("inst"), cookie)
        client.follow_redirects = False
        return client

    def forget_agents(self) -> None:
        """As a server that was started anew."""
        if self._known_agents is not None:
            self._known_agents._kept.clear()

    def pass_time(self, **by: float) -> None:
        self.now += timedelta(**by)

    def apply(self, text: str = ORDERS, **extra: object) -> dict[str, Any]:
        response = self.client.post("/v1/apply", json={"text": text, "file": "orders.yaml", **extra})
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        return answer

    def view(self, name: str = "orders") -> ClusterView:
        self.converger.catch_up()
        return next(v for v in self.converger.views() if v.name == name and not v.deleted)

    def record(self, *events: object, name: str = "orders") -> ClusterView:
        """Appends facts to the stream of a living cluster, as a tick would."""
        view = self.view(name)
        stream = cluster_stream(view.uid)
        self.store.append(
            stream,
            new_events(stream, view.version, events),
            expected_version=view.version,
            origin=Origin("converger", epoch=3),
        )
        self.converger.catch_up()
        found = self.converger.view(view.uid)
        assert found is not None
        assert not found.history.unreadable, found.history.unreadable
        return found

    def surge(self, *planned: facts.PlannedInstance, intent: str = "intent-1") -> ClusterView:
        return self.record(facts.SurgeRequested(intent, planned, "test"))

    def launch(self, *planned: facts.PlannedInstance, intent: str = "intent-1") -> ClusterView:
        """Requests VMs and says that they run."""
        self.surge(*planned, intent=intent)
        launched = tuple(
            facts.LaunchedInstance(p.key, f"vm-{p.key}", f"127.64.0.{index}") for index, p in enumerate(planned, 10)
        )
        return self.record(facts.SurgeCompleted(intent, launched, {}))

    def join(self, *planned: facts.PlannedInstance, intent: str = "intent-1") -> ClusterView:
        self.launch(*planned, intent=intent)
        return self.record(*(facts.InstanceJoined(p.key, p.service_id) for p in planned))

    def _backup(self, path: Path) -> BackupSummary:
        path.write_text("backup")
        self.backups.append(path)
        return BackupSummary(self.now, self.store.head(), {}, "0" * 64)


def broker(node: str = "brokers-a-0", number: int = 1000, **changes: Any) -> facts.PlannedInstance:
    """A broker as an intent would fix it."""
    fixed: dict[str, Any] = {
        "node": node,
        "generation": 1,
        "pool": "brokers",
        "rack": node.split("-")[1],
        "index": 0,
        "service": "broker",
        "service_id": number,
        "digest": "d1",
        "kafka_version": "4.1.1",
        "shape": "medium",
        "heap_mib": 256,
        "settings": {},
        "volumes": (facts.PlannedVolume(f"{node}.data.v1", "data", 1, "persistent", 100, "dir"),),
        "replaces": 0,
        "handover": False,
    }
    return facts.PlannedInstance(**{**fixed, **changes})


def three_brokers() -> Sequence[facts.PlannedInstance]:
    return [broker(f"brokers-{zone}-0", 1000 + number) for number, zone in enumerate("abc")]


def brokers_as_declared(view: ClusterView) -> Sequence[facts.PlannedInstance]:
    """The same three, of which the spec in force wants nothing else."""
    assert view.document is not None
    wanted = {n.node: n.digest for n in desired_nodes(view.document)}
    return [replace(planned, digest=wanted[planned.node]) for planned in three_brokers()]


def vm_of(view: ClusterView, planned: facts.PlannedInstance) -> Vm:
    return Vm(view.uid, NodeName(planned.node), planned.generation)


def _ports(house: House) -> Ports:
    return Ports(
        store=house.store,
        jobs=MemoryJobStore(),
        plans=MemoryPlanStore(),
        latest=house.latest,
        inventory=Nowhere(),
        runner=Nowhere(),
        kafka=lambda view: Nowhere(),
        boot_data=lambda uid, node, generation, intent: "",
        installation_id="inst",
        clock=lambda: house.now,
        epoch=lambda: Epoch(3),
    )
