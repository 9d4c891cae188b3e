"""A whole Kedge on this machine: a real server, Terraform, agents and brokers of the local cloud. Nothing is faked."""

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import psutil

from controlplane.api.schemas import (
    clusters as api,
    conditions as condition_api,
    instances as instance_api,
    specs as spec_api,
)
from controlplane.cli.address import locate
from controlplane.cli.client import Client
from controlplane.cli.errors import CliError
from controlplane.cluster.observed.agent_reports import AGENT_REPORT
from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.errors import KafkaUnavailable
from planner.observed import KafkaSnapshot
from providers import process
from providers.local import machine
from providers.local.config import read_config
from providers.local.faults import Faults
from providers.local.launch import VM_DIR
from providers.local.layout import REGIONS, Layout
from providers.local.machine import Machines
from providers.local.reap import reap
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.frozen import standing_still
from tests.e2e.living_server import START_WITHIN_S, LivingServer
from tests.waiting import patient, until

T = TypeVar("T")

KAFKA_DIR = Path(os.environ.get("KEDGE_KAFKA_DIR", Path(__file__).resolve().parents[2] / ".cache" / "kafka"))
ROLL_WITHIN_S = 150.0
"""Longer than any test should take: other work on the machine must not look like a fault."""
REGION = "local-1"
SETTINGS: Mapping[str, str] = {
    "KEDGE_KAFKA_DIR": str(KAFKA_DIR.absolute()),
    "KEDGE_PLANNER__SPARK_MASTER": "off",
    "KEDGE_LOOP__LOSS_GRACE_S": "2",
    "KEDGE_REST_S": "1",
}
"""Short waits: what a test waits for is the fault, not the pause between two looks."""


class LivingCluster:
    """One server, one local cloud, one cluster. Everything lies below `home` and goes with `close`."""

    def __init__(
        self, home: Path, *, spec: ClusterSpec | None = None, settings: Mapping[str, str] | None = None
    ) -> None:
        self.home = home
        self.cloud = home / "local"
        self.faults = Faults(self.cloud)
        self.spec = spec or ClusterSpec()
        self.settings = {**SETTINGS, **(settings or {})}
        self.server = LivingServer(home, self.settings)
        self.others: list[LivingServer] = []
        self.client = Client(lambda: locate({"KEDGE_HOME": str(home)}, home), actor="e2e", sleep=time.sleep)
        self._dialer = DirectDialer()
        self._bootstrap: list[str] = []
        self.uid = ""

    # --- its life -----------------------------------------------------------------------------------------------

    def open(self, *, within_s: float = 120) -> None:
        """Starts the server, declares the cluster and waits until it is there."""
        self.start_server()
        self.uid = self.declare(self.spec).uid
        self.converged(within_s=within_s)

    def start_server(self) -> None:
        """Starts the server (again) and waits until it answers and leads."""
        self.server.start()
        self.until(lambda: self.leads(self.server), "the server leads", timeout_s=patient(START_WITHIN_S))

    def restart_server(self) -> None:
        """kill -9, then a new one on the same home."""
        self.server.kill()
        self.start_server()

    def serve_with(self, settings: Mapping[str, str]) -> None:
        """The server runs with these settings from now on, started again if they are others."""
        wanted = {**SETTINGS, **settings}
        if wanted == self.settings:
            return
        self.server.stop()
        self.settings, self.server = wanted, LivingServer(self.home, wanted)
        self.start_server()

    def is_whole(self) -> bool:
        """Whether the next test finds a cluster at rest."""
        try:
            return self.server.is_up and self.detail().status == "Converged"
        except CliError:
            return False

    def another_server(self) -> LivingServer:
        """A second server on the same home and database, started and listening."""
        other = LivingServer(self.home, self.settings, name=f"server-{len(self.others) + 2}")
        self.others.append(other)
        other.start()
        return other

    def leads(self, server: LivingServer) -> bool:
        """Whether this very server answers and leads."""
        assert server.is_up, f"the server ended:\n{server.tail()}"
        try:
            return server.listens() and self.client.version(timeout_s=2).leader
        except CliError:
            return False

    def close(self) -> list[str]:
        """Ends everything, whatever state it is in. Returns the processes that should not have been there any more."""
        self.client.close()
        self._dialer.close()
        for server in (self.server, *self.others):
            server.stop()
        reap(self.cloud)
        strays = self._strays()
        for stray in strays:
            stray.kill()
        return [f"{p.pid}: {' '.join(p.cmdline())[:120]}" for p in strays]

    # --- what a person does and sees ----------------------------------------------------------------------------

    def declare(self, spec: ClusterSpec) -> spec_api.AppliedOut:
        """Applies the spec; does not wait."""
        applied = self.client.apply(spec_api.ApplyIn(text=spec.text(), file="living.yaml", message="e2e"))
        assert applied.ok, applied.problems
        self.spec = spec
        return applied.applied[0]

    def roll(self, *pools: str) -> int:
        """Declares a change that replaces the VMs of these pools. Returns the position before it."""
        before = self.head()
        self.declare(replace(self.spec.rolled(*pools), throttle_mib_per_s=64))
        return before

    def roll_slowly(self, pool: str) -> int:
        """Rolls one pool under a throttle that leaves some seconds to act mid-drain; returns once moves run."""
        before = self.head()
        self.declare(replace(self.spec.rolled(pool), throttle_mib_per_s=4))
        self.event("drain.batch_started", before)
        self.moving()
        return before

    def detail(self) -> api.ClusterDetailOut:
        return self.client.cluster(self.spec.name)

    def bootstrap(self) -> list[str]:
        """Where clients find the cluster; while no server answers, where they last did."""
        with suppress(CliError):
            listed = self.client.endpoints(self.spec.name).bootstrap
            # The tests' own DNS server is not this machine's resolver.
            self._bootstrap = [a for a in listed if not self.spec.dns or not a.startswith(self.spec.dns)]
        return self._bootstrap

    def instance(self, node: str, *, phase: str = "joined") -> instance_api.InstanceOut:
        """The node's only instance in that phase."""
        found = [i for i in self.detail().instances if i.node == node and i.phase == phase]
        assert len(found) == 1, f"{node}: {[(i.key, i.phase) for i in self.detail().instances]}"
        return found[0]

    def next_instance(self, node: str) -> str:
        """Key the node's next VM will have."""
        surges = [e for e in self.events() if e.type == "surge.requested"]
        asked = [i["generation"] for e in surges for i in e.data["instances"] if i["node"] == node]
        return f"{node}.g{max(asked) + 1}"

    def run_state(self, intent: str) -> str:
        """State of the newest try of an intent's run, "" before the first."""
        tries = sorted((job, state) for job, (_, state) in self.jobs().items() if job.startswith(f"{intent}."))
        return tries[-1][1] if tries else ""

    def head(self) -> int:
        """Global position of the newest event."""
        return self.client.events(self.spec.name, tail=1).head

    def events(self, after: int = 0) -> list[api.EventOut]:
        """The cluster's history after a position."""
        found: list[api.EventOut] = []
        while True:
            page = self.client.events(self.spec.name, after=found[-1].position if found else after, limit=500)
            found.extend(page.events)
            if len(page.events) < 500:
                return found

    # --- waiting ------------------------------------------------------------------------------------------------

    def until(self, look: Callable[[], T | None], what: str, *, timeout_s: float, every_s: float = 0.1) -> T:
        """See `living_server.until`; a failure tells the cluster's last sentence and the end of the log."""
        return until(look, what, timeout_s=timeout_s, every_s=every_s, told=self._told)

    def event(self, kind: str, after: int, *, within_s: float = ROLL_WITHIN_S, where: str = "") -> api.EventOut:
        """The first event of a type after a position; with `where`, whose data names that."""

        def look() -> api.EventOut | None:
            found = (e for e in self.events(after) if e.type == kind and where in json.dumps(e.data))
            return next(found, None)

        return self.until(look, f"an event {kind} {where}", timeout_s=within_s, every_s=0.05)

    def says(self, words: str, *, within_s: float = ROLL_WITHIN_S) -> str:
        """The cluster's sentence, once it has these words."""

        def look() -> str | None:
            sentence = self.detail().sentence
            return sentence if words in sentence else None

        return self.until(look, f"the sentence to say {words!r}", timeout_s=within_s)

    def blocked(self, reason: str, *, within_s: float = ROLL_WITHIN_S) -> condition_api.ConditionOut:
        """The condition `Blocked`, once it has that reason."""

        def look() -> condition_api.ConditionOut | None:
            found = (c for c in self.detail().conditions if c.type == "Blocked" and c.status and c.reason == reason)
            return next(found, None)

        return self.until(look, f"the condition Blocked={reason}", timeout_s=within_s)

    def converged(self, *, within_s: float = ROLL_WITHIN_S) -> api.ClusterDetailOut:
        """Waits until the cluster is as declared and nothing is in hand."""

        def look() -> api.ClusterDetailOut | None:
            detail = self.detail()
            done = detail.converged_generation == detail.generation and detail.status == "Converged"
            return detail if done and all(i.phase == "joined" for i in detail.instances) else None

        return self.until(look, "the cluster to converge", timeout_s=patient(within_s), every_s=0.2)

    def moving(self, *, within_s: float = 30.0) -> KafkaSnapshot:
        """Kafka's metadata, once a reassignment runs."""

        def look() -> KafkaSnapshot | None:
            snapshot = self.snapshot()
            return snapshot if snapshot.moving() else None

        return self.until(look, "a move to run", timeout_s=within_s, every_s=0.05)

    # --- Kafka, the cloud and the database, past the server ------------------------------------------------------

    def kafka(self) -> AdminGateway:
        """A person's own way to Kafka, beside the server's."""
        # What brokers understand is asked once for each connection: those of another release get one of their own.
        return AdminGateway(self._dialer, f"e2e, {self.spec.version}", self.bootstrap)

    def snapshot(self) -> KafkaSnapshot:
        """Metadata as Kafka tells it now; asked again while a broker has just gone."""

        def look() -> KafkaSnapshot | None:
            try:
                return self.kafka().snapshot()
            except KafkaUnavailable:
                return None

        return self.until(look, "Kafka to answer", timeout_s=30)

    def voters(self) -> dict[int, str]:
        """By id of a controller that votes, the directory it votes from."""
        return {m.id: m.directory_id for m in self.snapshot().quorum.members if m.is_voter}

    def snapshot_at(self, bootstrap: list[str]) -> KafkaSnapshot:
        """The same of a cluster at these addresses, whoever runs it."""
        return AdminGateway(self._dialer, f"at {bootstrap[0]}", lambda: bootstrap).snapshot()

    def vm(self, key: str) -> Path:
        """Directory of a VM, in whichever region it is."""
        found = (Layout(self.cloud, region).vm(self.uid, key) for region in REGIONS)
        return next((vm for vm in found if vm.exists()), Layout(self.cloud, REGION).vm(self.uid, key))

    def vms(self) -> set[str]:
        """Keys of the VMs the cloud has, dead or alive, in all its regions."""
        return {key for region in REGIONS for key in self.vms_in(region)}

    def vms_in(self, region: str) -> set[str]:
        """Those of one region."""
        return {path.parent.name for path in (self.cloud / region / "instances" / self.uid).glob("*/vm.json")}

    def pids(self, key: str) -> list[int]:
        """Processes of a VM."""
        return [pid for pid, vm in process.carrying(VM_DIR).items() if vm == str(self.vm(key))]

    def running(self, key: str, main: str) -> list[psutil.Process]:
        """Processes of a VM that run this class."""
        return [p for pid in self.pids(key) if main in (p := psutil.Process(pid)).cmdline()]

    def power_cut(self, key: str) -> None:
        assert machine.power_cut(self.vm(key)) > 0, f"{key} had no process"

    def power_on(self, key: str) -> None:
        """Of a VM that lost its power: it starts with the same disks, as with its host."""
        config, vm = read_config(self.cloud), self.vm(key)
        assert config is not None
        Machines(Layout(self.cloud, vm.parents[2].name), config).power_on(self.uid, key)

    def lose_directory(self, key: str, directory: str = "data", of: str = "kafka") -> None:
        """What Kafka, or ZooKeeper, keeps on that volume is gone, all at once: file by file, brokers make some anew."""
        kept = (self.vm(key) / "volumes" / directory / of).resolve()
        kept.rename(self.home / f"lost-{kept.parent.name}")

    @contextmanager
    def frozen(self, key: str) -> Iterator[None]:
        """The VM stands still for the length of the block: the cloud says running, nobody hears of it."""
        with standing_still(self.pids(key)):
            yield

    def jobs(self) -> dict[str, tuple[str, str]]:
        """Every long act on record: intent -> (kind, state)."""
        with closing(sqlite3.connect(f"file:{self.home / 'kedge.db'}?mode=ro", uri=True, timeout=5)) as database:
            rows = database.execute("SELECT intent_id, kind, state FROM job").fetchall()
        return {intent: (kind, state) for intent, kind, state in rows}

    def free_bytes(self, key: str) -> int:
        """What the VM's agent last reported as free on its volumes."""
        return sum(d["free_bytes"] for s in self._services(key) for d in s["log_dirs"])

    def figures(self, key: str) -> dict[str, float]:
        """What the VM's agent last reported of its service's metrics."""
        return {name: value for s in self._services(key) for name, value in s["metrics"].items()}

    def _services(self, key: str) -> list[dict[str, Any]]:
        with closing(sqlite3.connect(f"file:{self.home / 'kedge.db'}?mode=ro", uri=True, timeout=5)) as database:
            row = database.execute("SELECT value FROM latest WHERE kind = ? AND subject = ?", (AGENT_REPORT, key))
            services: list[dict[str, Any]] = json.loads(row.fetchone()[0])["services"]
        return services

    def _strays(self) -> list[psutil.Process]:
        """Processes that were started with this home, or a VM in it, in their environment."""
        found = []
        for candidate in psutil.process_iter():
            try:
                if str(self.home) in " ".join(candidate.environ().values()) and candidate.pid != os.getpid():
                    found.append(candidate)
            except psutil.Error:
                continue
        return found

    def _told(self) -> str:
        try:
            detail = self.detail()
            story = "\n".join(f"  {e.type} {json.dumps(e.data)[:160]}" for e in self.events()[-15:])
            said = f"{detail.sentence}\n{[(i.key, i.phase) for i in detail.instances]}\n{story}"
        except CliError as error:
            said = str(error)
        return f"{said}\n--- {self.server.log}\n{self.server.tail()}"
