"""A large fleet behind a real server on loopback: ticked each second, with one cluster in the middle of a roll."""

import gc
import hashlib
import socket
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import uvicorn
from pydantic import SecretBytes, SecretStr

from benchmarks.tick import Fleet
from controlplane.api.access.bindings import EVERYTHING, Binding
from controlplane.api.access.roles import Role
from controlplane.api.access.sessions import begin_session
from controlplane.api.access.users import User
from controlplane.api.auth import cookie_name, loopback_hosts
from controlplane.api.services import ClusterServices, PortalServices
from controlplane.cluster.commands import DeclareCluster, PauseCluster, ResumeCluster
from controlplane.cluster.view import ClusterView
from controlplane.commands.handler import CommandHandler
from controlplane.fleet.cluster_names import holding, take_name
from controlplane.portal.app import create_app
from controlplane.runtime.gc_tuning import ShortWalks
from controlplane.runtime.listen_addresses import KEEP_ALIVE_S
from controlplane.runtime.thread_switching import shorten_turns
from controlplane.storage.agent_credentials import Vm
from controlplane.storage.backup import BackupSummary
from controlplane.storage.home import Installation
from events.clock import utc_now
from events.envelope import Origin
from events.ids import Epoch, IntentId, NodeName
from planner.observed import PartitionSeen, TopicPartition
from tests.fakes.agent_credentials import MemoryCredentialStore
from tests.fakes.people import people_in_memory
from tests.fakes.services import access_services, broker_services, fleet_services, operations_services

CREDENTIAL = "what an agent made"
BROKERS = (1000, 1001, 1002)
ROLLING, AT_REST = "cluster-00000", "cluster-00001"
_WORDS = (
    *("orders", "payments", "clicks", "ledger", "users", "events", "audit", "billing", "search", "stock", "price"),
    *("email", "session", "cart", "view"),
)


def topic_names(count: int, *, salt: int = 0) -> list[str]:
    """Names as people give them: three words out of fifteen and a number."""
    places = range(salt, salt + count)
    return [f"{_WORDS[n % 15]}.{_WORDS[n // 15 % 15]}.{_WORDS[n // 7 % 15]}-{n:06d}" for n in places]


def partitions_of(topics: list[str], each: int) -> tuple[PartitionSeen, ...]:
    """Every partition on three brokers, in sync; each of them leads a third."""
    made = []
    for number, topic in enumerate(topics):
        for place in range(each):
            first = (number + place) % 3
            replicas = BROKERS[first:] + BROKERS[:first]
            name = TopicPartition(topic, place)
            made.append(PartitionSeen(name, replicas[0], replicas, replicas, 2, size_bytes=1_000_000 + number))
    return tuple(made)


class Walks:
    """How long the collector walked the oldest generation at most, in ms of processor time: all threads stand still
    meanwhile, and a busy machine does not change it."""

    def __init__(self) -> None:
        self.longest_ms = 0.0
        self._began = 0.0

    def __call__(self, phase: str, info: Mapping[str, Any]) -> None:
        """A callback of `gc.callbacks`."""
        if phase == "start":
            self._began = time.thread_time()
        elif info["generation"] == 2:
            self.longest_ms = max(self.longest_ms, (time.thread_time() - self._began) * 1000)


class Leads:
    """This server leads."""

    may_act = True

    def held_epoch(self) -> Epoch | None:
        return Epoch(1)


class PortalHouse:
    """`url` answers from `open` to `close`. `cookies` are of people who may everything."""

    def __init__(self, directory: Path, *, clusters: int, topics: int, partitions: int, people: int = 1) -> None:
        self.fleet = Fleet(directory, clusters, partitions=partitions_of(topic_names(topics), partitions), rest_s=60.0)
        self._door = socket.create_server(("127.0.0.1", 0), backlog=1024)
        port = self._door.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._people = people_in_memory()
        self.credentials = MemoryCredentialStore()
        converger = self.fleet.converger
        self._commands = CommandHandler(self.fleet.store, last_snapshot=converger.last_snapshot)
        self.services = PortalServices(
            store=self.fleet.store,
            clock=utc_now,
            operations=operations_services(
                version="benchmark",
                leadership=Leads(),
                planner_state=lambda: "in-process",
                backup=_no_backup,
            ),
            access=access_services(
                installation=Installation("0123456789abcdef", SecretBytes(b"server key"), SecretStr("the-token")),
                hosts=loopback_hosts("127.0.0.1", port),
                credentials=self.credentials,
                people=self._people,
            ),
            cluster=ClusterServices(
                latest=self.fleet.latest,
                commands=self._commands,
                progress=lambda view: "",
                brake=converger.brake_on,
                wake=lambda uid: None,
            ),
            fleet=fleet_services(converger),
            brokers=broker_services(),
        )
        self.cookies = [self._signed_in(f"user{n}") for n in range(people)]
        self.app = create_app(self.services)
        config = uvicorn.Config(
            self.app, log_level="warning", lifespan="off", access_log=False, timeout_keep_alive=KEEP_ALIVE_S
        )
        self._server = uvicorn.Server(config)
        self._ended = threading.Event()
        self.ticks = 0
        self.most_in_a_tick = 0
        """Clusters looked at in one tick, since it opened."""
        self.walks = Walks()
        self._turn_s = sys.getswitchinterval()
        shorten_turns()  # as `kedge server` does, and so is the next
        self._short_walks = ShortWalks().begin()
        gc.callbacks.append(self.walks)
        self._threads = [
            threading.Thread(target=self._server.run, kwargs={"sockets": [self._door]}, daemon=True),
            threading.Thread(target=self._tick, daemon=True),
        ]

    def open(self, *, within_s: float = 30.0) -> "PortalHouse":
        """Reads every cluster once, begins a roll, and serves."""
        converger = self.fleet.converger
        converger.catch_up()
        converger.tick()
        gc.collect()  # a server is a while old when the crowd comes
        self.walks.longest_ms = 0.0
        self._take_names()
        self._roll()
        for thread in self._threads:
            thread.start()
        deadline = time.monotonic() + within_s
        while not self._server.started:
            if time.monotonic() > deadline:
                raise RuntimeError("the server does not start")
            time.sleep(0.05)
        return self

    def close(self) -> None:
        """Ends the server and the ticks."""
        self._ended.set()
        gc.callbacks.remove(self.walks)
        self._short_walks.end()
        sys.setswitchinterval(self._turn_s)
        self.app.state.feed.close()
        self._server.should_exit = True
        for thread in self._threads:
            if thread.is_alive():
                thread.join(timeout=60)
        self.fleet.converger.close()
        self.fleet.engine.dispose()

    def change(self, turn: int) -> None:
        """One event on a cluster at rest, which open pages are told of: it is paused and, in the next turn, resumed."""
        kind = PauseCluster if turn % 2 else ResumeCluster
        self._commands.handle(kind(name=AT_REST, actor="person:user0", command_id=f"turn-{turn}", reason="turn"))

    def agents(self, count: int) -> list[dict[str, str]]:
        """So many VMs with what their agents show and ask for."""
        digest = hashlib.sha256(CREDENTIAL.encode()).hexdigest()
        found: list[dict[str, str]] = []
        for view in self.fleet.converger.views():
            for instance in view.alive():
                if len(found) == count:
                    return found
                vm = Vm(view.uid, NodeName(instance.node), instance.planned.generation)
                self.credentials.enroll(vm, credential_sha256=digest, intent_id=IntentId("i"))
                found.append({"cluster": view.uid, "node": instance.node, "generation": str(vm.generation)})
        return found

    def _take_names(self) -> None:
        """The fleet's history is written in bulk, without the streams of names by which commands find clusters."""
        for name in (ROLLING, AT_REST):
            take_name(self.fleet.store, holding(self.fleet.store, name), self._view(name).uid, Origin("person:user0"))

    def _view(self, name: str) -> ClusterView:
        return next(v for v in self.fleet.converger.views() if v.name == name)

    def _roll(self) -> None:
        view = self._view(ROLLING)
        if view.document is None:
            raise RuntimeError(f"{ROLLING} has no document")
        spec = view.document.spec
        kafka = spec.kafka.model_copy(update={"version": "4.2.0"})
        document = view.document.model_copy(update={"spec": spec.model_copy(update={"kafka": kafka})})
        command = DeclareCluster(
            name=ROLLING, actor="person:user0", command_id="roll", document=document, source="benchmark.yaml"
        )
        self._commands.handle(command)

    def _tick(self) -> None:
        while not self._ended.wait(1.0):
            report = self.fleet.converger.tick()
            self.most_in_a_tick = max(self.most_in_a_tick, report.clusters)
            self.ticks += 1

    def _signed_in(self, name: str) -> str:
        self._people.users.add(User(name, "no password", False, utc_now()))
        self._people.users.bind(Binding(f"user:{name}", Role.ADMIN, EVERYTHING))
        cookie, _ = begin_session(self._people.sessions, name, utc_now())
        return f"{cookie_name('0123456789abcdef')}={cookie}"


def _no_backup(_: object) -> BackupSummary:
    raise OSError("no backup here")
