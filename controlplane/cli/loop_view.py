"""How the loop does, as people read it: this server, clusters in trouble, jobs, timers, the last beats."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.console import RenderableType
from rich.text import Text

from controlplane.api.schemas.loop import BeatOut, JobOut, LoadOut, LoopOut, PoisonOut, TimerOut, UnclaimedOut
from controlplane.api.schemas.metric_pipeline import MetricPipelineOut
from controlplane.api.schemas.plan_jobs import PlanJobsOut
from controlplane.cli.tables import listing
from controlplane.runtime.quantities import ago, human_seconds
from controlplane.runtime.styled_text import styled
from events.quantities import counted

SHOWN_BEATS = 10
_STATE_STYLE = {"running": "cyan", "succeeded": "green", "failed": "red"}

_Row = list[Text | str]


def loop_lines(status: LoopOut, *, now: datetime, everything: bool) -> Iterator[RenderableType]:
    """What needs a person first. Jobs that have ended, and beats before the last ten, with `everything` alone."""
    yield from _server(status, now)
    yield ""
    if status.poisoned:
        headers = ["CLUSTERS WHOSE TICKS FAIL", "SINCE", "IN A ROW", "NEXT LOOK", "ERROR"]
        yield listing(headers, [_poison(p, now) for p in status.poisoned])
    else:
        yield "no cluster's ticks fail"
    if status.unclaimed:
        yield ""
        headers = ["VMS OF CLUSTERS THIS SERVER DOES NOT HAVE", "CLUSTER", "VMS", "IDS", "LISTED"]
        yield listing(headers, [_unclaimed(u, now) for u in status.unclaimed])
    jobs = [j for j in status.jobs if everything or j.ended_at is None]
    ended = len(status.jobs) - len(jobs)
    yield ""
    if jobs:
        headers = ["JOB", "CLUSTER", "STATE", "AGE", "TOOK", "SERVER", "EPOCH", "IN WORDS"]
        yield listing(headers, [_job(j, now) for j in jobs])
    else:
        yield "no job is open" if status.jobs else "no job is kept"
    if ended:
        yield styled(f"{counted(ended, 'job')} that ended: --all", "dim")
    if status.timers:
        yield ""
        yield listing(["TIMER", "NAME", "EVERY", "LAST LOOK", "TOOK", "NEXT", "IN WORDS"], _timers(status.timers, now))
    if status.beats:
        yield ""
        beats = status.beats if everything else status.beats[:SHOWN_BEATS]
        yield listing(["BEAT", "OF", "TOOK", "CLUSTERS", "EVENTS", "EFFECTS", "FAILED", "PROBLEM"], _beats(beats, now))


def _server(status: LoopOut, now: datetime) -> Iterator[RenderableType]:
    yield f"server         {status.server or '-'}"
    yield f"leader         {_leader(status)}"
    lag = f"{counted(status.lag, 'event')} behind the log" if status.lag else "not behind the log"
    yield styled(f"position       {status.position} of {status.head}, {lag}", "yellow" if status.lag else "")
    last = status.beats[0].at if status.beats else None
    beating = f"{ago(last, now)}, every {human_seconds(status.interval_s)}"
    yield styled(f"last beat      {beating}{': it is late' if status.late else ''}", "red" if status.late else "")
    slowest = max((b.seconds for b in status.beats), default=0.0)
    yield f"beats          {status.beats_ever} since it began, slowest of the last {len(status.beats)} {slowest:.3f} s"
    if status.load is not None:
        yield from _load(status.load, now)
    if status.plans is not None:
        yield from _plans(status.plans, now)
    if status.metrics is not None:
        yield from _metrics(status.metrics, now)


def _load(load: LoadOut, now: datetime) -> Iterator[RenderableType]:
    room = f"{load.agents} of {load.agents_fit} that fit {load.descriptors_limit} open files"
    yield styled(f"agents         {room}", "yellow" if load.nearly_full else "")
    opened = ", ".join(f"{count} of {who}" for who, count in sorted(load.connections.items()) if count)
    yield f"connections    {opened or 'none'}; {load.threads_busy} of {load.threads} threads busy"
    if load.shed:
        shed = ", ".join(f"{s.count} of {s.who} ({s.why})" for s in load.shed)
        yield styled(f"sent away      {shed}", "yellow")
    if load.database_since is not None:
        yield styled(
            f"database       no write kept since {ago(load.database_since, now)}: {load.database_problem}", "red"
        )
    for trouble in load.troubles:
        if trouble.since is not None:
            yield styled(f"fails          {trouble.task}, since {ago(trouble.since, now)}: {trouble.error}", "red")


def _plans(told: PlanJobsOut, now: datetime) -> Iterator[RenderableType]:
    required = ", required" if told.required else ""
    yield f"plans          {counted(told.jobs, 'job')} of Spark, {counted(told.clusters, 'plan')}{required}"
    if (last := told.last) is not None:
        kinds = ", ".join(counted(n, kind) for n, kind in ((last.drains, "drain"), (last.rebalances, "rebalance")) if n)
        size = f"{kinds}, {counted(last.partitions, 'partition')}, {last.seconds:.1f} s"
        ended = f": {last.error}" if last.error else f", {last.refused} refused" if last.refused else ""
        yield styled(f"               last {ago(last.at, now)}: {size}{ended}", "red" if ended else "")
    if told.in_process:
        why = ", ".join(f"{count} ({away})" for away, count in told.in_process.items())
        yield styled(f"               in-process, as Spark gave none: {why}", "yellow")


def _metrics(told: MetricPipelineOut, now: datetime) -> Iterator[RenderableType]:
    state = f"{told.state} since {ago(told.since, now)}{f': {told.reason}' if told.reason else ''}"
    restarts = f", {counted(told.restarts, 'restart')}" if told.restarts else ""
    yield styled(f"metrics        {state}{restarts}", "red" if told.problem else "")
    if told.problem and not told.reason:
        yield styled(f"               {told.problem}", "red")
    for stream in told.streams:
        at = ago(stream.batch_at, now) if stream.batch_at is not None else "none yet"
        behind = f", {stream.behind} behind" if stream.behind else ""
        yield f"               {stream.name}: {stream.state}, last batch {at}{behind}"


def _leader(status: LoopOut) -> str:
    if status.leader:
        return f"this server, epoch {status.epoch}"
    if status.epoch:
        return f"this server, epoch {status.epoch}: it waits for the previous leader to expire"
    return "another server, or none"


def _poison(found: PoisonOut, now: datetime) -> _Row:
    since = ago(found.since, now) if found.since else "-"
    after = _ahead(found.next_at, now) if found.next_at else "by a person"
    return [styled(found.cluster, "red"), since, str(found.failures or "-"), after, found.error]


def _unclaimed(found: UnclaimedOut, now: datetime) -> _Row:
    more = f" and {found.vms - len(found.ids)} more" if found.vms > len(found.ids) else ""
    whose = f"{found.name} ({found.uid})" if found.name else found.uid
    return [styled(found.place, "yellow"), whose, str(found.vms), ", ".join(found.ids) + more, ago(found.at, now)]


def _job(job: JobOut, now: datetime) -> _Row:
    state = styled(job.state, _STATE_STYLE.get(job.state, "dim"))
    server = job.owner.rpartition(":")[0] or job.owner
    words = job.progress or job.error or "-"
    return [job.kind, job.cluster, state, ago(job.created_at, now), _took(job, now), server, str(job.epoch), words]


def _took(job: JobOut, now: datetime) -> str:
    if job.started_at and job.ended_at:
        return human_seconds(round((job.ended_at - job.started_at).total_seconds()))
    return f"alive {ago(job.heartbeat_at, now)}" if job.started_at else "-"


def _timers(timers: Sequence[TimerOut], now: datetime) -> Iterator[_Row]:
    for t in timers:
        took = f"{t.seconds:.3f} s" if t.last_at else "-"
        words = styled(t.problem, "red") if t.problem else t.note or "-"
        yield [t.of, t.name, human_seconds(t.every_s), ago(t.last_at, now), took, _ahead(t.next_at, now), words]


def _beats(beats: Sequence[BeatOut], now: datetime) -> Iterator[_Row]:
    for b in beats:
        of = "read along" if not b.led else "all" if b.rung is None else f"{b.rung} that rang"
        counts = [str(count) for count in (b.clusters, b.events, b.effects, b.failures)]
        yield [ago(b.at, now), of, f"{b.seconds:.3f} s", *counts, styled(b.problem, "red") if b.problem else "-"]


def _ahead(then: datetime | None, now: datetime) -> str:
    if then is None:
        return "-"
    left_s = (then - now).total_seconds()
    return f"in {human_seconds(round(left_s))}" if left_s >= 1 else "now"
