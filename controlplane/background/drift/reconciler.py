"""Starts the audits that are due and keeps what they find. Polled by the leader alone, apart from the ticks.

An audit changes nothing, so there is no intent and no event: a job row while it runs, a latest-value row afterwards. A
server that dies loses an audit and no more: its row is failed by the next epoch, and the audit is made again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

from controlplane.background.drift.schedule import is_due
from controlplane.background.rounds import Round
from controlplane.cluster.observed import cloud_drift
from controlplane.cluster.observed.network_audits import AUDIT, NetworkAtRest
from controlplane.cluster.places import places_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.work_in_hand import has_work
from controlplane.fleet.ports import FoldedFleet
from controlplane.storage.job import Job, JobState
from controlplane.storage.job_store import JobStore
from controlplane.storage.latest_values import LatestStore
from events.clock import Clock
from events.ids import ClusterUid, Epoch, IntentId, derived_id
from providers.audits import Audit, CloudAudit, NetworkAudit
from providers.base import Place, Resources


class AuditRunner(Protocol):
    """Starts audits and returns at once; how they end is read from the job store."""

    def audit(self, job_id: str, audit: Audit, *, epoch: Epoch) -> None:
        """The job row exists when this returns."""


@dataclass(frozen=True, slots=True)
class DriftPorts:
    """What the reconciler reaches the world through."""

    fleet: FoldedFleet
    jobs: JobStore
    latest: LatestStore
    runner: AuditRunner
    existing: Callable[[ClusterView, Place], Resources]
    """All that stands of a cluster in a place."""
    clock: Clock
    epoch: Callable[[], Epoch]
    networks: Callable[[], Sequence[NetworkAtRest]] = lambda: ()
    """Those Kedge made and that stand."""


@dataclass(frozen=True, slots=True)
class _Due:
    """A state whose turn has come. `audit` makes what is asked, for a job with that id."""

    uid: ClusterUid
    place: str
    is_free: Callable[[], bool]
    audit: Callable[[str], Audit]


@dataclass(slots=True)
class _Memory:
    """As of one epoch: who led before may have noted more."""

    epoch: Epoch
    noted: dict[ClusterUid, dict[str, cloud_drift.AuditNoted]]
    started: dict[str, tuple[ClusterUid, str]] = field(default_factory=dict)
    networks: dict[Place, ClusterUid] = field(default_factory=dict)
    """Keys of the networks that stand, by their place."""


class DriftReconciler:
    """`every` is the time between two audits of one state, `at_once` how many run together."""

    def __init__(self, ports: DriftPorts, *, every: timedelta, at_once: int) -> None:
        self._ports = ports
        self._every = every
        self._at_once = at_once
        self._memory: _Memory | None = None

    def noted(self, view: ClusterView) -> cloud_drift.Noted:
        """The last audits of a cluster by place, and of its networks by `network_label`, from memory: empty before the
        first look, and where another leads."""
        memory = self._memory
        if memory is None:
            return {}
        own = memory.noted.get(view.uid, {})
        if not memory.networks:
            return own
        keys = ((place, memory.networks.get(place)) for place in places_of(view))
        shared = {
            cloud_drift.network_label(p): n for p, key in keys if key and (n := memory.noted.get(key, {}).get(str(p)))
        }
        return {**own, **shared} if shared else own

    def poll(self) -> None:
        """Keeps what has ended, starts what is due. Raises LostLeadership, StoreUnavailable, RoundIncomplete."""
        memory, now, this_round = self._remembered(), self._ports.clock(), Round("audits")
        in_hand = self._ports.jobs.open_jobs()
        self._harvest(memory, {str(job.intent_id) for job in in_hand}, this_round)
        room = self._at_once - sum(job.kind == AUDIT for job in in_hand)
        busy = {job.cluster_uid for job in in_hand}
        asked = cloud_drift.asked_audits(self._ports.latest)
        for due in self._due(memory, asked, now):
            if room <= 0:
                break
            with this_round.apart(f"{due.uid} ({due.place})"):
                if due.uid not in busy and due.is_free():
                    busy.add(due.uid)
                    room -= self._start(memory, due)
        this_round.close()

    def _remembered(self) -> _Memory:
        epoch = self._ports.epoch()
        if self._memory is None or self._memory.epoch != epoch:
            self._memory = _Memory(epoch, cloud_drift.all_audits(self._ports.latest))
        return self._memory

    def _due(self, memory: _Memory, asked: Mapping[ClusterUid, datetime], now: datetime) -> Iterator[_Due]:
        """Networks, which many share, then those that were asked for; a network is asked for with any cluster in it."""
        views, networks = self._ports.fleet.views(), self._ports.networks()
        memory.networks = {n.made_by.place: ClusterUid(n.made_by.key) for n in networks}
        of_places = _asked_places(views, asked) if networks else {}
        for network in networks:
            key, place, at = ClusterUid(network.made_by.key), network.made_by.place, network.settled_at
            asked_at = of_places.get(place)
            if network.at_rest and self._is_due(memory, key, place, now, settled_at=at, asked_at=asked_at):
                yield _of_network(network)
        for view in sorted(views, key=lambda v: v.uid not in asked) if asked else views:
            if view.deleted or view.document is None or view.history.progressed_at is None:
                continue
            at, asked_at = view.history.progressed_at, asked.get(view.uid)
            for place in places_of(view):
                if self._is_due(memory, view.uid, place, now, settled_at=at, asked_at=asked_at):
                    yield _of_cluster(self._ports, view, place)

    def _is_due(
        self,
        memory: _Memory,
        uid: ClusterUid,
        place: Place,
        now: datetime,
        *,
        settled_at: datetime,
        asked_at: datetime | None,
    ) -> bool:
        name = str(place)
        noted = memory.noted.get(uid, {}).get(name)
        return is_due(uid, name, noted, now=now, every=self._every, settled_at=settled_at, asked_at=asked_at)

    def _start(self, memory: _Memory, due: _Due) -> bool:
        """True when it runs. What an earlier server left of the same audit is kept first."""
        job_id = audit_job_id(due.uid, due.place)
        memory.started[job_id] = (due.uid, due.place)
        left = self._ports.jobs.get(IntentId(job_id))
        if left is not None:
            self._keep(memory, left)
            return False
        self._ports.runner.audit(job_id, due.audit(job_id), epoch=self._ports.epoch())
        return True

    def _harvest(self, memory: _Memory, in_hand: set[str], this_round: Round) -> None:
        for job_id in [one for one in memory.started if one not in in_hand]:
            uid, place = memory.started[job_id]
            with this_round.apart(f"{uid} ({place})"):
                job = self._ports.jobs.get(IntentId(job_id))
                if job is None:
                    del memory.started[job_id]
                elif job.ended_at is not None:
                    self._keep(memory, job)

    def _keep(self, memory: _Memory, job: Job) -> None:
        """The row first, then the job goes: whatever is killed in between, it is kept twice and lost never."""
        uid, place = memory.started.pop(str(job.intent_id))
        before = memory.noted.get(uid, {}).get(place)
        noted = _noted_of(job, before)
        cloud_drift.keep_audit(self._ports.latest, uid, place, noted)
        memory.noted.setdefault(uid, {})[place] = noted
        self._ports.jobs.forget(job.intent_id, epoch=self._ports.epoch())


def audit_job_id(uid: str, place: str) -> str:
    """One row for each state, however often it is audited."""
    return derived_id(AUDIT, uid, place)


def _noted_of(job: Job, before: cloud_drift.AuditNoted | None) -> cloud_drift.AuditNoted:
    at = job.started_at or job.created_at  # what is changed while it runs may have been missed
    if job.state is JobState.SUCCEEDED:
        result = job.result or {}
        return cloud_drift.AuditNoted(
            at, at, int(result["resources"]), cloud_drift.DRIFTS.validate_python(result["drifts"])
        )
    error = job.error_message or job.error_class or "nobody knows why"
    if before is None:
        return cloud_drift.AuditNoted(at, error=error)
    return cloud_drift.AuditNoted(at, before.at, before.resources, before.drifts, error)


def _asked_places(views: Sequence[ClusterView], asked: Mapping[ClusterUid, datetime]) -> dict[Place, datetime]:
    """Places of clusters whose audit was asked for, and when last."""
    found: dict[Place, datetime] = {}
    for view in views if asked else ():
        if (at := asked.get(view.uid)) is not None:
            found |= {place: max(at, found.get(place, at)) for place in places_of(view)}
    return found


def _of_cluster(ports: DriftPorts, view: ClusterView, place: Place) -> _Due:
    return _Due(
        view.uid,
        str(place),
        is_free=lambda: not has_work(view),
        audit=lambda job_id: CloudAudit(job_id, ports.existing(view, place)),
    )


def _of_network(network: NetworkAtRest) -> _Due:
    run = network.made_by
    return _Due(
        ClusterUid(run.key),
        str(run.place),
        is_free=lambda: True,
        audit=lambda job_id: NetworkAudit(job_id, replace(run, intent_id=job_id)),
    )
