"""Looks after agents beside the ticks, by the leader alone: records what came of orders, and gives the next ones.

What is told to a VM is in its cluster's history, so a server that leads after another goes on where that was.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from controlplane.background.agent_upgrades.fold import AgentReleases, Release, folded
from controlplane.background.agent_upgrades.order import ReleaseProgress, UpgradeOrders, UpgradingCluster, next_asks
from controlplane.background.agent_upgrades.status import blocked_by, outcome_of, processes_of, vm_of
from controlplane.background.rounds import Round
from controlplane.cluster.observed.agent_reports import AGENT_REPORT, ReportSeen, reports_by_key
from controlplane.cluster.view import ClusterView
from controlplane.fleet.freezes.state import FreezeCache
from controlplane.fleet.images.choice import stage
from controlplane.fleet.ports import FreshFleet
from controlplane.storage.latest_values import LatestStore
from controlplane.storage.streams import AGENTS, cluster_stream
from events import codec, envelope, errors, facts, ids
from events.clock import Clock
from events.store import EventStore

_log = logging.getLogger(__name__)

MOST_QUERIES = 500
"""Clusters whose reports are read at a time; who is through is not looked at again until something of it changes."""

REST = timedelta(minutes=10)
"""After which one that is through is looked at again: agents may be changed by hand."""

Order = facts.AgentUpgradeRequested | facts.AgentUpgraded | facts.AgentUpgradeFailed


@dataclass
class AgentUpgradeReconciler:
    """`poll` is one look. `soak`: what the first VM, and each stage, is watched for before the next ones are asked."""

    store: EventStore
    latest: LatestStore
    fleet: FreshFleet
    epoch: Callable[[], ids.Epoch | None]
    clock: Clock
    soak: timedelta
    at_once: int
    freezes: FreezeCache = field(default_factory=FreezeCache)
    asked: UpgradeOrders = field(default_factory=lambda: UpgradeOrders({}))
    """What the last look came to."""
    _fold: AgentReleases = field(default_factory=AgentReleases)
    _through: dict[str, tuple[int, str, datetime]] = field(default_factory=dict)
    """Uid -> stream version and agents' version at which every VM of it was found through, and when."""

    def fold(self) -> AgentReleases:
        """As of now. Raises StoreUnavailable."""
        self._fold = folded(self._fold, self.store.read_stream(AGENTS, self._fold.version))
        return self._fold

    def poll(self) -> None:
        """One look over the fleet. Raises EventsError, RoundIncomplete among them."""
        fold = self.fold()
        if not fold.releases:
            return
        self.fleet.catch_up()
        this_round = Round("agents")
        self._look(fold, this_round)
        this_round.close()

    def _look(self, fold: AgentReleases, this_round: Round) -> None:
        now = self.clock()
        views = [v for v in self.fleet.views() if v.document is not None and not v.deleted and not v.requests.tombstone]
        views.sort(key=lambda v: (stage(v), v.name))
        heard = False
        for view in views:
            if _in_hand(view):
                with this_round.apart(view.name):
                    heard = self._hear(view, now) or heard
        if heard:
            return  # the next look goes by what was recorded
        release = fold.wanted
        if release is None:
            self.asked = UpgradeOrders({})
            return
        members, seen = self._members(views, release, now, this_round)
        progress = _progress(views, release, fold.resumed_at)
        self.asked = next_asks(members, progress, now, soak=self.soak, at_once=self.at_once)
        for view in views:
            if view.uid in self.asked.asks:
                key = self.asked.asks[view.uid]
                with this_round.apart(view.name):
                    self._record(view, _request(view, key, release, seen[view.uid][key]))

    def _hear(self, view: ClusterView, now: datetime) -> bool:
        reports = self._reports(view)
        heard = (outcome_of(view.vms.agent_orders[key], reports.get(key), now) for key in _in_hand(view))
        found = next((fact for fact in heard if fact is not None), None)
        return found is not None and self._record(view, found)

    def _members(
        self, views: Iterable[ClusterView], release: Release, now: datetime, this_round: Round
    ) -> tuple[list[UpgradingCluster], dict[str, dict[str, ReportSeen]]]:
        """Those that are not through, as far as the first stage with any goes."""
        found: list[UpgradingCluster] = []
        seen: dict[str, dict[str, ReportSeen]] = {}
        queries = 0
        for view in views:
            if found and stage(view) > found[0].stage:
                break
            if self._is_through(view, release, now):
                continue
            blocked = blocked_by(view, self.freezes.left(now), now)
            if blocked or queries >= MOST_QUERIES:
                why = blocked or "it is looked at next"
                found.append(UpgradingCluster(view.uid, view.name, stage(view), in_hand=_in_hand(view), blocked=why))
                continue
            queries += 1
            # Whether it is through is not known where its reports cannot be read: its stage is not left behind.
            member: UpgradingCluster | None = UpgradingCluster(
                view.uid, view.name, stage(view), blocked="what its agents said cannot be read"
            )
            with this_round.apart(view.name):
                seen[view.uid] = self._reports(view)
                member = _member(view, seen[view.uid], release, now)
            if member is not None:
                found.append(member)
            elif not _soaks(view, release, now, self.soak):
                self._through[view.uid] = view.version, release.version, now
        return found, seen

    def _is_through(self, view: ClusterView, release: Release, now: datetime) -> bool:
        known = self._through.get(view.uid)
        return known is not None and known[:2] == (view.version, release.version) and now - known[2] < REST

    def _reports(self, view: ClusterView) -> dict[str, ReportSeen]:
        return reports_by_key(self.latest.of_cluster(view.uid, AGENT_REPORT))

    def _record(self, view: ClusterView, fact: Order) -> bool:
        """Whether it was recorded: somebody else may have been first, then the next look sees what that was."""
        epoch = self.epoch()
        if epoch is None:
            return False
        stream = cluster_stream(view.uid)
        event = codec.encode(fact, ids.derived_id("agent-order", stream, str(view.version), repr(fact)))
        try:
            origin = envelope.Origin(actor="agents", epoch=epoch)
            self.store.append(stream, [event], expected_version=view.version, origin=origin)
        except errors.StreamConflict as conflict:
            _log.info("%s: %s", view.name, conflict)
            return False
        return True


def _in_hand(view: ClusterView) -> tuple[str, ...]:
    if not view.vms.agent_orders:
        return ()
    return tuple(i.key for i in view.alive() if (o := view.vms.agent_orders.get(i.key)) is not None and o.is_open)


def _member(
    view: ClusterView, reports: dict[str, ReportSeen], release: Release, now: datetime
) -> UpgradingCluster | None:
    """None where all VMs are through, or cannot be upgraded."""
    vms = [vm_of(i, view.vms.agent_orders.get(i.key), reports.get(i.key), release, now) for i in view.alive()]
    behind = tuple(vm.key for vm in vms if vm.state in ("behind", "failed"))
    in_hand = tuple(vm.key for vm in vms if vm.state == "asked")
    silent = next((f"{vm.key}: {vm.why}" for vm in vms if vm.state == "silent"), "")
    if not (behind or in_hand or silent):
        return None
    return UpgradingCluster(view.uid, view.name, stage(view), behind, in_hand, silent)


def _soaks(view: ClusterView, release: Release, now: datetime, soak: timedelta) -> bool:
    return any(at + soak > now for at in _done(view, release))


def _done(view: ClusterView, release: Release) -> Iterable[datetime]:
    orders = view.vms.agent_orders.values()
    return (o.done_at for o in orders if o.done_at is not None and o.asked.version == release.version)


def _progress(views: Iterable[ClusterView], release: Release, resumed_at: datetime | None) -> ReleaseProgress:
    done: dict[int, tuple[datetime, ...]] = {}
    failed = []
    for view in views:
        if not view.vms.agent_orders:
            continue
        done[stage(view)] = (*done.get(stage(view), ()), *_done(view, release))
        there = {i.key for i in view.alive()}
        for key, order in sorted(view.vms.agent_orders.items()):
            at = order.failed_at
            forgiven = at is None or (resumed_at is not None and at <= resumed_at)
            if not forgiven and order.asked.version == release.version and key in there:
                failed.append(f"{key} of {view.name}: {order.problem}")
    return ReleaseProgress(done, tuple(failed))


def _request(view: ClusterView, key: str, release: Release, seen: ReportSeen) -> facts.AgentUpgradeRequested:
    fact = release.fact
    # Of the stream's version: no VM is ever given the same order twice.
    order = f"{release.version}-{view.version + 1}"
    return facts.AgentUpgradeRequested(order, key, fact.version, fact.public_key, fact.builds, processes_of(seen))
