"""What people ask of agents: publish a version, look how far the fleet is, withdraw one, go on after a failure."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Protocol

from controlplane.background.agent_upgrades.fold import AgentReleases, Release
from controlplane.background.agent_upgrades.reconciler import AgentUpgradeReconciler
from controlplane.background.agent_upgrades.signing import AgentSigner, SigningKeyRefused
from controlplane.background.agent_upgrades.status import UpgradingVm, blocked_by, vm_of
from controlplane.cluster.commands import CommandRefused
from controlplane.cluster.observed.agent_reports import AGENT_REPORT, ReportSeen, reports_by_key
from controlplane.cluster.view import ClusterView
from controlplane.fleet.images.choice import stage
from controlplane.fleet.stream_command import recorded_once
from controlplane.storage.latest_values import LatestValue
from controlplane.storage.streams import AGENTS
from events import facts
from events.envelope import Origin
from events.ids import ClusterUid, derived_id
from events.quantities import counted
from planner.rollout.fleet_order import stage_word


@dataclass(frozen=True, slots=True)
class Offered:
    """A build as it is offered for publishing: it is not fetched, VMs judge what they get by its SHA-256."""

    platform: str
    url: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ClusterAgents:
    """The VMs of one cluster. `waits` says why none of them is asked now."""

    name: str
    stage: str
    vms: tuple[UpgradingVm, ...]
    waits: str = ""


@dataclass(frozen=True, slots=True)
class AgentReleaseStatus:
    """All releases, newest first; the one every VM is to run; and how far each cluster is."""

    releases: tuple[Release, ...] = ()
    wanted: Release | None = None
    clusters: tuple[ClusterAgents, ...] = ()
    waits: str = ""
    """What the upgrade as a whole waits for, as this server last looked."""


class Agents(Protocol):
    """What people ask of agents; `AgentReleaseService` is one."""

    def status(self) -> AgentReleaseStatus: ...

    def publish(self, version: str, builds: Sequence[Offered], *, notes: str, actor: str, command_id: str) -> str: ...

    def withdraw(self, version: str, *, reason: str, actor: str, command_id: str) -> str: ...

    def resume(self, *, reason: str, actor: str, command_id: str) -> str: ...


@dataclass(frozen=True, slots=True)
class AgentReleaseService:
    """Safe to call from many threads and from several servers."""

    reconciler: AgentUpgradeReconciler
    signer: AgentSigner
    ring: Callable[[], None] = field(default=lambda: None)
    """Asks for a look soon."""

    def status(self) -> AgentReleaseStatus:
        """As of now; the reports of the whole fleet in one read."""
        reconciler = self.reconciler
        fold, now = reconciler.fold(), reconciler.clock()
        release, releases = fold.wanted, tuple(reversed(fold.releases))
        if release is None:
            return AgentReleaseStatus(releases, waits=fold.unreadable)
        clusters = []
        for view, reports in self._heard():
            vms = tuple(
                vm_of(i, view.vms.agent_orders.get(i.key), reports.get(i.key), release, now) for i in view.alive()
            )
            left = any(vm.state in ("behind", "failed") for vm in vms)
            waits = blocked_by(view, reconciler.freezes.left(now), now) if left else ""
            clusters.append(ClusterAgents(view.name, stage_word(stage(view)), vms, waits))
        return AgentReleaseStatus(releases, release, tuple(clusters), fold.unreadable or reconciler.asked.waits)

    def publish(self, version: str, builds: Sequence[Offered], *, notes: str, actor: str, command_id: str) -> str:
        """Signs and publishes. The same builds under the same version again change nothing. Raises `CommandRefused`."""
        offered = sorted(builds, key=lambda b: b.platform)
        if len({b.platform for b in offered}) != len(offered):
            raise CommandRefused("agent-builds-twice", f"agent {version} has two builds of one platform")
        try:
            key = self.signer.public_key()
            signed = tuple(_built(self.signer, version, b) for b in offered)
        except SigningKeyRefused as error:
            raise CommandRefused("agent-key-refused", str(error)) from error

        left = self._left_out({b.platform for b in offered})

        def decide(fold: AgentReleases) -> tuple[object | None, str]:
            known = fold.of(version)
            if known is None:
                there = ", ".join(b.platform for b in offered)
                words = f"agent {version} is published for {there}; one VM is upgraded first (`kedge agents`){left}"
                return facts.AgentPublished(version, key, signed, notes), words
            if known.fact.builds == signed and not known.withdrawn:
                return None, f"agent {version} is published already, since {known.at:%Y-%m-%d}"
            raise CommandRefused(
                "agent-version-taken",
                f"agent {version} was published before{' and withdrawn' if known.withdrawn else ''}, and what is "
                "published never changes",
                "Publish it under another version.",
            )

        return self._record(decide, actor, command_id)

    def _heard(self) -> Iterator[tuple[ClusterView, dict[str, ReportSeen]]]:
        """Clusters by stage and name, with the last report of each agent; those of the whole fleet in one read."""
        reconciler = self.reconciler
        reconciler.fleet.catch_up()
        reports: dict[ClusterUid, list[LatestValue]] = defaultdict(list)
        for row in reconciler.latest.of_kind(AGENT_REPORT):
            reports[row.subject.cluster_uid].append(row)
        views = [v for v in reconciler.fleet.views() if v.document is not None and not v.deleted]
        for view in sorted(views, key=lambda v: (stage(v), v.name)):
            yield view, reports_by_key(reports[view.uid])

    def _left_out(self, offered: Set[str]) -> str:
        """VMs whose agents are of another platform, in words for whoever publishes; "" where there are none."""
        found: dict[str, list[str]] = defaultdict(list)
        for view, reports in self._heard():
            for instance in view.alive():
                seen = reports.get(instance.key)
                if seen is not None and (upgrade := seen.report.upgrade) and upgrade.platform not in offered:
                    found[upgrade.platform].append(view.name)
        missing = [
            f"it has no build for {platform}, so {counted(len(names), 'VM')} of {', '.join(sorted(set(names)))} "
            f"{'keeps its' if len(names) == 1 else 'keep their'} agent"
            for platform, names in sorted(found.items())
        ]
        return "".join(f"; {one}" for one in missing)

    def withdraw(self, version: str, *, reason: str, actor: str, command_id: str) -> str:
        """No VM is to run it any more. Idempotent. Raises `CommandRefused`."""

        def decide(fold: AgentReleases) -> tuple[object | None, str]:
            known = fold.of(version)
            if known is None:
                there = ", ".join(r.version for r in fold.releases[-10:]) or "none"
                raise CommandRefused("agent-not-found", f"there is no agent {version!r}; there is {there}")
            if known.withdrawn:
                return None, f"agent {version} was withdrawn already: {known.withdrawn}"
            before = next((r for r in reversed(fold.releases) if not r.withdrawn and r.version != version), None)
            back = f"VMs go to {before.version}" if before else "no other one is there: VMs keep what they run"
            return facts.AgentWithdrawn(version, reason), f"agent {version} is withdrawn; {back}"

        return self._record(decide, actor, command_id)

    def resume(self, *, reason: str, actor: str, command_id: str) -> str:
        """The VMs whose upgrade failed are asked again, and the others after them. Raises `CommandRefused`."""
        words = "the upgrade of agents goes on; VMs that failed are asked again"
        return self._record(lambda _: (facts.AgentRolloutResumed(reason), words), actor, command_id)

    def _record(self, decide: Callable[[AgentReleases], tuple[object | None, str]], actor: str, command_id: str) -> str:
        return recorded_once(
            self.reconciler.store,
            AGENTS,
            look=self._look,
            decide=decide,
            event_id=derived_id("agents-command", command_id),
            origin=Origin(actor, command_id=command_id),
            known=lambda _: "asked for already",
            recorded=lambda _: self.ring(),
        )

    def _look(self) -> AgentReleases:
        fold = self.reconciler.fold()
        if fold.unreadable:
            raise CommandRefused("agents-unreadable", f"what was published cannot be read: {fold.unreadable}")
        return fold


def _built(signer: AgentSigner, version: str, build: Offered) -> facts.AgentBuilt:
    signature = signer.sign(version, build.platform, build.sha256)
    return facts.AgentBuilt(build.platform, build.url, build.sha256, build.size_bytes, signature)
