"""The real portal over the simulator's fleet, served by a real uvicorn on loopback; time passes as tests say."""

import threading
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import uvicorn
from argon2 import PasswordHasher
from pydantic import SecretBytes, SecretStr

from agent.wire import Report
from controlplane.api.access.accounts import FIRST_USER
from controlplane.api.access.passwords import Passwords
from controlplane.api.access.sessions import begin_session
from controlplane.api.auth import cookie_name, loopback_hosts
from controlplane.api.oidc.binding import OidcBinding
from controlplane.api.oidc.provider import Provider
from controlplane.api.oidc.signin import OidcSignIn
from controlplane.api.services import (
    ClusterServices,
    Fleet,
    PortalServices,
)
from controlplane.background.broker_queries import KafkaQueryService
from controlplane.background.consumer_groups.resets import GroupOffsetService
from controlplane.background.consumer_groups.service import GroupService
from controlplane.background.topic_placement.history import NoPastPlacements, PastPlacements
from controlplane.background.topic_placement.reconciler import PlacementReconciler
from controlplane.background.topic_placement.snapshot import RecordedPlacements
from controlplane.cluster.commands import DeclareCluster, DeclareTopics, PauseCluster
from controlplane.cluster.observed.replica_lag import Replica
from controlplane.cluster.observed.traffic import UNKNOWN, Traffic
from controlplane.cluster.spec_source import fact_of
from controlplane.cluster.views.source import SpecOrigin
from controlplane.commands.admission.judge import SpecJudge
from controlplane.commands.chaos_injection import Harmer
from controlplane.commands.handler import CommandHandler
from controlplane.commands.policies.gate import PolicyGate
from controlplane.commands.policies.store import NoPolicies, Policies
from controlplane.converger.tick.beats import LoopWatch
from controlplane.converger.tick.cluster_tick import new_events
from controlplane.converger.tick.status import ServerLoop
from controlplane.fleet.images.commands import ImageService
from controlplane.fleet.images.state import ImageCache
from controlplane.portal.app import create_app
from controlplane.runtime.listen_addresses import listening
from controlplane.storage.backup import BackupSummary
from controlplane.storage.home import Installation
from controlplane.storage.streams import cluster_stream
from events import facts
from events.clock import utc_now
from events.envelope import Origin, Recorded
from events.ids import ClusterUid, Epoch
from events.spec.model import KafkaClusterDocument
from tests.builders import a_document
from tests.fakes.agent_credentials import MemoryCredentialStore
from tests.fakes.event_store import MemoryEventStore
from tests.fakes.people import people_in_memory
from tests.fakes.placements import MemoryPlacementStore
from tests.fakes.services import access_services, broker_services, fleet_services, operations_services
from tests.fakes.windows import KeptWindows
from tests.sim.failpoints import CrashingStore
from tests.sim.topics import declared, topic_text
from tests.sim.world import UID, World
from tests.waiting import until

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
START_WITHIN_S = 20.0


class EmptyWorld(World):
    """Without the neighbour whose every tick fails."""

    def _poison_a_neighbour(self) -> None:
        return


class PeoplesStore:
    """The world's store for what people do: they do not crash the server and act under no epoch."""

    def __init__(self, store: CrashingStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def append(self, *args: Any, **more: Any) -> list[Recorded]:
        return MemoryEventStore.append(self._store, *args, **more)


class Unread:
    """The world's clusters on a server that does not read their Kafka itself."""

    def __init__(self, read: Any) -> None:
        self._read = read

    def __getattr__(self, name: str) -> Any:
        return getattr(self._read, name)

    def last_snapshot(self, uid: ClusterUid) -> None:
        """See Fleet."""

    def traffic(self, uid: ClusterUid) -> Traffic:
        """See Fleet."""
        return UNKNOWN

    def behind(self, uid: ClusterUid) -> Mapping[Replica, datetime]:
        """See Fleet."""
        return {}


class Leads:
    """This server leads."""

    may_act = True

    def held_epoch(self) -> Epoch | None:
        return Epoch(1)


@dataclass
class LivingPortal:
    """`world` is the fleet; `play` lets its time run in a thread. `password` is that of the first user."""

    world: World = field(default_factory=lambda: World())
    empty: bool = False
    """Leaves out the simulator's second cluster."""
    provider: OidcBinding | None = None
    """Who people may sign in by."""
    policies: Policies = field(default_factory=NoPolicies)
    reads_kafka: bool = True
    """Without it this is a server that does not lead: of Kafka it has what `record` has recorded."""
    lake: PastPlacements = field(default_factory=NoPastPlacements)
    harm: Harmer = lambda view, chaos: None
    """Lends hands that do nothing."""
    port: int = 0
    """Of loopback; 0: any that is free."""

    def __post_init__(self) -> None:
        if self.empty:
            self.world = EmptyWorld()
        self.world.machines.report_type = Report  # pages read what is written down
        self._turn = threading.Lock()
        self._playing = threading.Event()
        self._ended = threading.Event()
        self.people = people_in_memory(passwords=Passwords(CHEAP))
        self.windows = KeptWindows()
        self.watch = LoopWatch(self.world.clock)
        self._placements = MemoryPlacementStore()
        self.door = listening("127.0.0.1", self.port)
        port = self.door.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        snapshot_of = self.world.converger.last_snapshot
        self._commands = CommandHandler(
            PeoplesStore(self.world.store),
            last_snapshot=snapshot_of,
            new_uid=lambda: UID,
            judge=SpecJudge(gate=PolicyGate(self.policies)),
        )
        self.services = PortalServices(
            store=self.world.store,
            clock=utc_now if self.provider else self.world.clock,  # a real provider goes by the real time
            operations=operations_services(
                version="1.2.3",
                leadership=Leads(),
                planner_state=lambda: "in-process",
                backup=_no_backup,
                loop=self._loop(),
            ),
            access=access_services(
                installation=Installation("0123456789abcdef", SecretBytes(b"server key"), SecretStr("the-token")),
                hosts=loopback_hosts("127.0.0.1", port),
                credentials=MemoryCredentialStore(),
                people=self.people,
                oidc=OidcSignIn(Provider(self.provider), self.people.oidc, SecretBytes(b"server key"))
                if self.provider
                else None,
            ),
            cluster=ClusterServices(
                latest=self.world.latest,
                commands=self._commands,
                progress=lambda view: "",
                brake=self.world.converger.brake_on,
                wake=lambda uid: None,
                harm=self.harm,
                judge=SpecJudge(gate=PolicyGate(self.policies)),
            ),
            fleet=fleet_services(
                clusters=self._fleet(),
                images=self._images(),
            ),
            brokers=broker_services(
                group_offsets=GroupOffsetService(
                    lambda view: self.world.kafka, lambda view: nullcontext(self.world.kafka)
                ),
                groups=GroupService(self.world.latest, lambda view: self.world.kafka, self.world.clock),
                kafka_queries=KafkaQueryService(lambda view: self.world.kafka, self.world.clock),
                windows=self.windows,
                placements=RecordedPlacements(self._placements, self.world.latest, self.world.clock),
                past_placements=self.lake,
            ),
        )
        self.password = self.people.first_password(self.world.clock())
        self.app = create_app(self.services)
        self._server = uvicorn.Server(uvicorn.Config(self.app, log_level="warning", lifespan="off"))
        self._threads = [
            threading.Thread(target=self._server.run, kwargs={"sockets": [self.door]}, daemon=True),
            threading.Thread(target=self._run, daemon=True),
        ]

    def _fleet(self) -> Fleet:
        read: Any = self.world.converger
        return read if self.reads_kafka else Unread(read)

    def _images(self) -> ImageService:
        """A catalogue beside the world, with one flagged revision that the cluster does not follow."""
        service = ImageService(
            MemoryEventStore(),
            ImageCache(),
            lambda: self.world.converger.views(),
            lambda view: "",
            lambda: None,
            self.world.clock,
        )
        images = (facts.RegionImage("local", "local-1", "any", "r1"),)
        wanted = facts.ImagePublished("4.1.1", 1, images, "", "", "critical", "CVE-2026-1", "Debian 12.9")
        service.publish(wanted, actor="person:ada", command_id="first")
        return service

    def _loop(self) -> ServerLoop:
        return ServerLoop(
            server="host-1:4711:ab12",
            interval_s=5.0,
            store=self.world.store,
            jobs=self.world.jobs,
            ticked=self.world.converger,
            watch=self.watch,
            timers={},
            progress={},
        )

    def _tick(self) -> None:
        with self._turn, self.watch.beat(None) as beating:
            beating.ticked(self.world.tick())

    def start(self) -> "LivingPortal":
        for thread in self._threads:
            thread.start()
        until(lambda: self._server.started, "the portal starts", timeout_s=START_WITHIN_S)
        return self

    def stop(self) -> None:
        self._ended.set()
        self._playing.set()
        self.app.state.feed.close()
        self._server.should_exit = True
        for thread in self._threads:
            thread.join(timeout=20)

    def sign_in(self, context: "BrowserContext") -> None:
        """As the first user, by the cookie of a session."""
        cookie, _ = begin_session(self.people.sessions, FIRST_USER, self.services.clock())
        name = cookie_name(self.services.access.installation.id)
        context.add_cookies([{"name": name, "value": cookie, "url": self.url}])

    def wait_for_listener(self) -> None:
        """Until an open page has its live stream."""
        until(lambda: self.app.state.tailer.listeners, "a page listens", timeout_s=START_WITHIN_S)

    def drop_streams(self) -> None:
        """Ends every live stream, as a server does that goes away; new ones are taken at once."""
        tailer = self.app.state.tailer
        tailer.close()
        until(lambda: not tailer.listeners, "nobody listens any more", timeout_s=5)
        tailer._closing = False

    def play(self) -> None:
        """Time runs: ten ticks a second."""
        self._playing.set()

    def hold(self) -> None:
        """Time stands still."""
        self._playing.clear()
        with self._turn:
            pass

    def ticks(self, count: int) -> None:
        """So many ticks at once."""
        for _ in range(count):
            self._tick()

    def ticks_until(self, happened: Callable[[], object], *, at_most: int = 400) -> None:
        """As many ticks at once as it takes: a page has all the time it needs to show what it has come to."""
        for _ in range(at_most):
            if happened():
                return
            self._tick()
        raise AssertionError(f"it has not happened within {at_most} ticks")

    def has_recorded(self, kind: str) -> bool:
        """Whether there is an event of that type of the cluster."""
        return any(recorded.type == kind for recorded in self.world.store.read_stream(cluster_stream(UID)))

    def converge(self, **spec: Any) -> None:
        """Declares the cluster and lets it come to rest, with some topics in it."""
        with self._turn:
            self._declare(a_document(**spec))
            self.world.converge()

    def roll(self, **spec: Any) -> None:
        """Declares a change; nothing happens until time runs."""
        with self._turn:
            self._declare(a_document(**spec))

    def pause(self, reason: str) -> None:
        """What an operator types; it is recorded when this returns."""
        with self._turn:
            self._commands.handle(
                PauseCluster(name="orders", actor="person:ada", command_id=uuid.uuid4().hex, reason=reason)
            )

    def fill(self, *topics: str, partitions: int = 12) -> None:
        """Topics of three replicas and 50 MB a partition."""
        with self._turn:
            for topic in topics:
                self.world.kafka.create_topic(
                    topic, partitions=partitions, rf=3, min_isr=2, bytes_per_partition=50_000_000
                )
            self.world.tick()

    def crowd(self, topic: str, *brokers: int) -> None:
        """All partitions of a topic on these brokers, led by the first of them: there is something to be spread."""
        with self._turn:
            kafka = self.world.kafka
            there = [p.name for p in kafka.snapshot().partitions if p.name.topic == topic]
            assert kafka.reassign(dict.fromkeys(there, brokers)) == {}
        self.ticks_until(lambda: not kafka.snapshot().moving())

    def record(self) -> None:
        """What the server that reads Kafka writes down of where topics are."""
        with self._turn:
            PlacementReconciler(self.world.converger, self._placements, self.world.latest, lambda: Epoch(1)).poll()

    def comes_from_git(self) -> None:
        """From here on the spec of `orders` is a file's of a repository."""
        stream = cluster_stream(UID)
        origin = SpecOrigin(
            "git:teams", "https://git.example.org/specs.git", "main", "orders.yaml", "c0ffee" * 6, "Ada"
        )
        with self._turn:
            view = self._commands.current("orders")
            PeoplesStore(self.world.store).append(
                stream,
                new_events(stream, view.version, [fact_of(origin)]),
                expected_version=view.version,
                origin=Origin("gitsync"),
            )

    def declare_topic(self, name: str, **spec: Any) -> None:
        """As a file of the topic does, and a tick that makes it."""
        command = DeclareTopics(
            name="orders",
            actor="person:ada",
            command_id=uuid.uuid4().hex,
            topics=declared(topic_text(name, **spec)),
            source="api",
        )
        with self._turn:
            self._commands.handle(command)
            self.world.tick()

    def _declare(self, document: KafkaClusterDocument) -> None:
        command = DeclareCluster(
            name=document.metadata.name,
            actor="person:ada",
            command_id=uuid.uuid4().hex,
            document=document,
            source="orders.yaml",
        )
        self._commands.handle(command)
        self.world.disturbed()

    def _run(self) -> None:
        while not self._ended.is_set():
            self._playing.wait()
            if self._ended.is_set():
                return
            self._tick()
            time.sleep(0.1)


def _no_backup(_: object) -> BackupSummary:
    raise OSError("no backup here")
