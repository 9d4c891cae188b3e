"""From what the loop's service and the log hold to what the API and the pages say. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime

from controlplane.api.event_log import FoundEvents, uid_of
from controlplane.api.presenters.clusters import event_out
from controlplane.api.presenters.metric_pipeline import pipeline_out
from controlplane.api.schemas import loop as api
from controlplane.api.schemas.plan_jobs import PlanJobOut, PlanJobsOut
from controlplane.api.server_load import LoadFigures
from controlplane.api.services import HeldLeadership
from controlplane.cluster.view import ClusterView
from controlplane.converger.tick.beats import Beat
from controlplane.converger.tick.failing_ticks import Poisoned
from controlplane.converger.tick.status import JobStatus, LoopStatus
from controlplane.runtime.polling import Looked
from events.envelope import Recorded
from events.ids import ClusterUid
from spark.plan_jobs import PlanningTotals

UNREADABLE = "its history cannot be read: "
NAMED = 5
"""Ids of VMs that are told; of others only how many."""

LATE_BEATS = 3
"""So many intervals without a beat of all clusters are late: a beat waits for the one before it."""


def loop_out(
    status: LoopStatus,
    leadership: HeldLeadership,
    views: Sequence[ClusterView],
    load: LoadFigures,
    *,
    now: datetime,
) -> api.LoopOut:
    """Everything, with clusters by their names."""
    names = {view.uid: view.name for view in views}
    return api.LoopOut.like(
        status,
        leader=leadership.may_act,
        epoch=leadership.held_epoch() or 0,
        late=_is_late(status, now),
        beats_ever=status.count,
        beats=[_beat_out(b) for b in status.beats],
        timers=[_timer_out(of, looked) for of, polls in status.timers.items() for looked in polls],
        jobs=[_job_out(status, names) for status in status.jobs],
        poisoned=[*_unreadable(views), *(_poison_out(p, names) for p in status.poisoned)],
        unclaimed=_unclaimed(status, views),
        load=load_out(load),
        metrics=pipeline_out(status.pipeline, names, now=now) if status.pipeline is not None else None,
        plans=plan_jobs_out(status.plans) if status.plans is not None else None,
    )


def plan_jobs_out(totals: PlanningTotals) -> PlanJobsOut:
    """What was planned on Spark, and what was not."""
    jobs, last = totals.jobs, totals.jobs.last
    return PlanJobsOut(
        required=totals.required,
        jobs=jobs.jobs,
        failed=jobs.failed,
        clusters=jobs.clusters,
        most=jobs.most,
        last=PlanJobOut(**asdict(last)) if last is not None else None,
        in_process={away: count for away, count in sorted(totals.in_process.items()) if count},
    )


def load_out(load: LoadFigures) -> api.LoadOut:
    """What a process has in hand."""
    trouble = load.database
    return api.LoadOut.like(
        load,
        agents_fit=load.budget.agents,
        nearly_full=load.is_nearly_full,
        connections_fit=load.budget.connections,
        descriptors_limit=load.budget.limit,
        shed=[api.ShedOut(who=who, why=why, count=count) for (who, why), count in sorted(load.shed.items())],
        database_problem=trouble.why if trouble is not None else "",
        database_since=trouble.since if trouble is not None else None,
        troubles=[
            api.TroubleOut(task=t.task, count=t.count, error=t.error, at=t.at, since=t.since) for t in load.troubles
        ],
    )


def log_out(found: FoundEvents, names: Mapping[ClusterUid, str]) -> api.LogOut:
    """A page of the log."""
    return api.LogOut.like(found, events=[log_event_out(e, names) for e in found.events])


def log_event_out(event: Recorded, names: Mapping[ClusterUid, str]) -> api.LogEventOut:
    """One event with the name of its cluster."""
    uid = uid_of(event.stream)
    cluster = names.get(uid, "") if uid is not None else ""
    return api.LogEventOut(**event_out(event).model_dump(), stream=event.stream, cluster=cluster)


def _is_late(status: LoopStatus, now: datetime) -> bool:
    last = status.last_at
    return last is not None and (now - last).total_seconds() > LATE_BEATS * status.interval_s


def _beat_out(beat: Beat) -> api.BeatOut:
    return api.BeatOut.like(
        beat,
        seconds=round(beat.seconds, 4),
        clusters=beat.report.clusters,
        events=beat.report.events,
        effects=beat.report.effects,
        failures=beat.report.failures,
    )


def _timer_out(of: str, looked: Looked) -> api.TimerOut:
    return api.TimerOut.like(looked, of=of, last_at=looked.at, seconds=round(looked.seconds, 4))


def _job_out(status: JobStatus, names: Mapping[ClusterUid, str]) -> api.JobOut:
    job = status.job
    error = ": ".join(part for part in (job.error_class, job.error_message) if part)
    return api.JobOut.like(
        job,
        id=job.intent_id,
        cluster=names.get(job.cluster_uid, job.cluster_uid),
        state=job.state.value,
        progress=status.progress,
        error=error,
    )


def _poison_out(found: Poisoned, names: Mapping[ClusterUid, str]) -> api.PoisonOut:
    return api.PoisonOut.like(found, cluster=names.get(found.uid, found.uid), next_at=found.until)


def _unclaimed(status: LoopStatus, views: Sequence[ClusterView]) -> list[api.UnclaimedOut]:
    """Nobody touches those. While this server is behind the log it may only not have read of their cluster yet."""
    known = {view.uid for view in views if not view.deleted}
    return [
        api.UnclaimedOut(place=t.place, uid=t.uid, name=t.name, vms=len(t.ids), ids=list(t.ids[:NAMED]), at=t.at)
        for t in status.tagged
        if t.uid not in known and not status.lag
    ]


def _unreadable(views: Sequence[ClusterView]) -> list[api.PoisonOut]:
    """Nothing is done to those until a person has looked: they are never tried again by themselves."""
    return [
        api.PoisonOut(
            cluster=v.name or v.uid,
            uid=v.uid,
            error=UNREADABLE + v.history.unreadable,
            failures=0,
            since=None,
            next_at=None,
        )
        for v in views
        if v.history.unreadable and not v.deleted
    ]
