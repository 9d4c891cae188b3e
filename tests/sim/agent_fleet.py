"""A fleet of clusters at rest whose agents upgrade themselves as they are told: the real reconciler, service and
fold."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from pydantic import SecretBytes

from agent.wire import Report, ServiceReport, UpgradeReport
from controlplane.background.agent_upgrades.reconciler import AgentUpgradeReconciler
from controlplane.background.agent_upgrades.service import AgentReleaseService, Offered
from controlplane.background.agent_upgrades.signing import AgentSigner
from controlplane.cluster.fold import evolve
from controlplane.cluster.observed.agent_reports import keep_report
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.conditions.agents import agents_condition
from controlplane.converger.questions.documents import document_for
from controlplane.fleet.freezes.state import FreezeCache
from controlplane.storage.streams import cluster_stream
from events import facts
from events.codec import encode
from events.envelope import Origin, Recorded
from events.ids import ClusterUid, Epoch, derived_id
from planner.rollout.windows import Freeze
from tests.builders import NOW, a_document, a_situation, a_view
from tests.changed_view import changed_view
from tests.fakes.event_store import MemoryEventStore
from tests.fakes.latest_values import MemoryLatestStore

PLATFORM = "cp311-x86_64"
STEP = timedelta(seconds=5)


@dataclass
class SimAgent:
    """One VM's agent: it does what the document says in the next step, unless it is told to fail."""

    version: str = "0.1.0"
    platform: str = PLATFORM
    is_able: bool = True
    is_silent: bool = False
    fails: dict[str, str] = field(default_factory=dict)
    """Version -> what it says instead of becoming it."""
    restarts_kafka: bool = False
    upgrade: UpgradeReport = field(init=False)
    pid: int = 4711
    seq: int = 0

    def __post_init__(self) -> None:
        self.upgrade = UpgradeReport(platform=self.platform)

    def follow(self, order: Any) -> None:
        if order is None or order.id == self.upgrade.order or not self.is_able or self.is_silent:
            return
        problem = self.fails.get(order.version, "")
        if not problem:
            self.version = order.version
            self.pid += self.restarts_kafka
        state = "failed" if problem else "done"
        self.upgrade = UpgradeReport(platform=self.platform, order=order.id, state=state, problem=problem)


class AgentFleet:
    """Clusters by name with the stage of each. `step` lets agents and the reconciler act; time goes on by itself."""

    def __init__(self, *, soak_s: float = 60.0, at_once: int = 2, **stages: str) -> None:
        self.now = NOW
        self.story: list[str] = []
        self.store, self.latest = MemoryEventStore(lambda: self.now), MemoryLatestStore()
        self.by_uid: dict[str, ClusterView] = {}
        self.agents: dict[tuple[str, str], SimAgent] = {}
        self.position = 0
        for name, stage in stages.items():
            self.declare(name, stage)
        self.leads = True
        self.reconciler = AgentUpgradeReconciler(
            self.store,
            self.latest,
            self,
            lambda: Epoch(1) if self.leads else None,
            lambda: self.now,
            soak=timedelta(seconds=soak_s),
            at_once=at_once,
        )
        self.service = AgentReleaseService(self.reconciler, AgentSigner(SecretBytes(b"server key")))
        self._commands = 0

    def declare(self, name: str, stage: str, **changes: Any) -> None:
        document = a_document()
        metadata = document.metadata.model_copy(update={"name": name, "labels": {"stage": stage}})
        document = document.model_copy(update={"metadata": metadata})
        view = a_view(uid=ClusterUid(name), name=name, version=0, document=document, **changes)
        self.by_uid[name] = view
        for instance in view.alive():
            self.agents[(name, instance.key)] = SimAgent()

    def views(self) -> list[ClusterView]:
        return sorted(self.by_uid.values(), key=lambda v: v.name)

    def catch_up(self) -> None:
        for recorded in self.store.read_all(self.position):
            self.position = recorded.position
            self.story.append(self._line(recorded))
            uid = recorded.stream.removeprefix("cluster-")
            if uid in self.by_uid:
                self.by_uid[uid] = evolve(self.by_uid[uid], recorded)
                assert not self.by_uid[uid].history.unreadable

    def publish(self, version: str, *platforms: str) -> str:
        wanted = platforms or (PLATFORM,)
        builds = [Offered(p, f"https://mirror.example/{version}-{p}", f"{len(version):064x}", 9) for p in wanted]
        return self.service.publish(version, builds, notes="", actor="person:anna", command_id=self._command())

    def withdraw(self, version: str, reason: str) -> str:
        return self.service.withdraw(version, reason=reason, actor="person:anna", command_id=self._command())

    def resume(self, reason: str) -> str:
        return self.service.resume(reason=reason, actor="person:anna", command_id=self._command())

    def append(self, name: str, fact: object) -> None:
        """Something else happens to a cluster."""
        view = self.by_uid[name]
        event = encode(fact, derived_id("test", name, str(view.version)))
        self.store.append(cluster_stream(view.uid), [event], expected_version=view.version, origin=Origin("person:bob"))

    def step(self, times: int = 1) -> None:
        for _ in range(times):
            self.now += STEP
            for view in self.views():
                for instance in view.alive():
                    self._tick(view, instance)
            before = self.reconciler.asked.waits
            if self.leads:
                self.reconciler.poll()
            self.catch_up()
            waits = self.reconciler.asked.waits
            if waits and waits != before and " soak" not in before:
                self.story.append(f"             {waits}")

    def until(self, *versions: str, within: int = 400) -> None:
        """Until every agent that can is one of these versions, and nothing is in hand."""
        for _ in range(within):
            self.step()
            orders = [o for v in self.views() for o in v.vms.agent_orders.values()]
            if all(a.version in versions for a in self.agents.values() if a.is_able) and not any(
                o.is_open for o in orders
            ):
                return
        raise AssertionError("\n".join(self.story[-20:]))

    def versions(self, name: str) -> Sequence[str]:
        return [agent.version for (cluster, _), agent in sorted(self.agents.items()) if cluster == name]

    def condition(self, name: str) -> facts.ConditionChanged | None:
        return agents_condition(a_situation(self.by_uid[name], now=self.now))

    def freeze(self, *frozen: Freeze) -> None:
        self.reconciler.freezes = FreezeCache(frozen)

    def _tick(self, view: ClusterView, instance: InstanceView) -> None:
        agent = self.agents[(view.name, instance.key)]
        document = document_for(view, instance.key, epoch=1)
        agent.follow(document.agent if document else None)
        if agent.is_silent:
            return
        agent.seq += 1
        service = ServiceReport(name=instance.planned.service, state="running", start_id="s", pid=agent.pid, since=NOW)
        report = Report(
            cluster_uid=view.uid,
            node=instance.node,
            generation=instance.planned.generation,
            boot_id="boot",
            seq=agent.seq,
            at=self.now,
            agent_version=agent.version,
            epoch=1,
            services=(service,),
            upgrade=agent.upgrade if agent.is_able else None,
        )
        keep_report(self.latest, view.uid, instance.key, report, self.now)

    def _command(self) -> str:
        self._commands += 1
        return f"command-{self._commands}"

    def _line(self, recorded: Recorded) -> str:
        data = dict(recorded.data)
        shown = " ".join(f"{k}={data[k]}" for k in ("version", "key", "order", "reason") if data.get(k))
        at = int((recorded.recorded_at - NOW).total_seconds())
        return f"{recorded.stream.removeprefix('cluster-'):8}{at:5} s  {recorded.type:24} {shown}"


def at(seconds: float) -> datetime:
    """A moment of the fleet's time."""
    return NOW + timedelta(seconds=seconds)


def paused(fleet: AgentFleet, name: str, reason: str) -> None:
    """The cluster is paused, as its history would have it."""
    fleet.by_uid[name] = changed_view(fleet.by_uid[name], paused=reason)
