"""The long acts of a cluster, as the job store knows them."""

from collections.abc import Mapping
from datetime import datetime

from controlplane.cluster.observed.jobs import JobSeen, job_seen
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.moves.rebalance_requests import rebalance_job_id
from controlplane.converger.questions.rolls.plan_ahead import foreseen_drain, plan_job_id
from controlplane.converger.steps.clouds.intents import job_id
from controlplane.storage.job_store import JobStore
from events.ids import IntentId


def jobs_of(view: ClusterView, jobs: JobStore, now: datetime) -> Mapping[str, JobSeen]:
    """By id: runs of open intents, and plans that are being made."""
    wanted = [job_id(i) for i in view.intents.values()]
    if view.moves.drain is not None and not view.moves.drain.plan.sha256:
        wanted.append(plan_job_id(view.moves.drain))
    elif (foreseen := foreseen_drain(view, now)) is not None:
        wanted.append(plan_job_id(foreseen))
    if view.moves.rebalance is not None and not view.moves.rebalance.plan.sha256:
        wanted.append(rebalance_job_id(view.moves.rebalance))
    found = ((w, jobs.get(IntentId(w))) for w in wanted)
    return {w: job_seen(job) for w, job in found if job is not None}
