"""Rows of long acts. A tick starts or looks at a job and never waits; the row says who runs it and that it is alive."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, Protocol

from sqlalchemy import ColumnElement, Connection, Engine, Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from controlplane.storage.job import (
    OPEN_STATES,
    IllegalJobStep,
    Job,
    JobNotFound,
    JobState,
    move,
    refuse_stale,
)
from controlplane.storage.tables import JOB
from events.engine import database_time, reading, writing
from events.ids import ClusterUid, Epoch, IntentId

Step = Callable[[Job, datetime], Job]


class JobStore(Protocol):
    """Contract: tests/contract/test_job_store.py. All writes raise StaleEpoch, IllegalTransition, JobNotFound."""

    def create(self, intent_id: IntentId, *, cluster_uid: ClusterUid, kind: str, epoch: Epoch, owner: str) -> Job:
        """Queues a job; returns the existing one, unchanged, when the intent has one already."""

    def start(self, intent_id: IntentId, *, epoch: Epoch, owner: str) -> Job:
        """queued -> running."""

    def heartbeat(self, intent_id: IntentId, *, epoch: Epoch) -> Job:
        """The runner is alive. Legal while running."""

    def succeed(self, intent_id: IntentId, *, epoch: Epoch, result: Mapping[str, Any]) -> Job:
        """running -> succeeded. Repeating it changes nothing."""

    def fail(self, intent_id: IntentId, *, epoch: Epoch, error_class: str, error_message: str) -> Job:
        """queued or running -> failed. Repeating it changes nothing."""

    def forget(self, intent_id: IntentId, *, epoch: Epoch) -> None:
        """Removes a job that has ended and whose outcome is kept elsewhere; nothing where there is none."""

    def get(self, intent_id: IntentId) -> Job | None:
        """The job of an intent."""

    def of_cluster(self, cluster_uid: ClusterUid) -> list[Job]:
        """All jobs of a cluster, oldest first."""

    def open_jobs(self) -> list[Job]:
        """All queued and running jobs, oldest first."""

    def newest(self, limit: int) -> list[Job]:
        """The jobs that are kept, whatever became of them, newest first, at most `limit`."""


class JobSteps:
    """What each verb of a `JobStore` does to a job, for both stores; they differ in where the job is kept."""

    def _change(self, intent_id: IntentId, step: Step) -> Job:
        raise NotImplementedError

    def start(self, intent_id: IntentId, *, epoch: Epoch, owner: str) -> Job:
        return self._change(
            intent_id,
            lambda job, now: move(job, JobState.RUNNING, epoch, owner=owner, started_at=now, heartbeat_at=now),
        )

    def heartbeat(self, intent_id: IntentId, *, epoch: Epoch) -> Job:

        def beat(job: Job, now: datetime) -> Job:
            refuse_stale(job, epoch)
            if job.state is not JobState.RUNNING or job.epoch != epoch:
                raise IllegalJobStep(job, JobState.RUNNING)
            return replace(job, heartbeat_at=now)

        return self._change(intent_id, beat)

    def succeed(self, intent_id: IntentId, *, epoch: Epoch, result: Mapping[str, Any]) -> Job:
        return self._change(
            intent_id,
            lambda job, now: move(job, JobState.SUCCEEDED, epoch, ended_at=now, heartbeat_at=now, result=dict(result)),
        )

    def fail(self, intent_id: IntentId, *, epoch: Epoch, error_class: str, error_message: str) -> Job:
        return self._change(
            intent_id,
            lambda job, now: move(
                job,
                JobState.FAILED,
                epoch,
                ended_at=now,
                heartbeat_at=now,
                error_class=error_class,
                error_message=error_message,
            ),
        )


class SqlJobStore(JobSteps):
    """A `JobStore` of rows. `now` reads the database's clock; tests put theirs in. Verbs may raise StoreUnavailable."""

    def __init__(self, engine: Engine, *, now: Callable[[Connection], datetime] = database_time) -> None:
        self._engine = engine
        self._now = now

    def create(self, intent_id: IntentId, *, cluster_uid: ClusterUid, kind: str, epoch: Epoch, owner: str) -> Job:
        try:
            with writing(self._engine) as transaction:
                known = _locked(transaction, intent_id)
                if known is not None:
                    return known
                now = self._now(transaction)
                fresh = Job(intent_id, cluster_uid, kind, JobState.QUEUED, epoch, owner, now, now)
                transaction.execute(insert(JOB).values(asdict(fresh)))
                return fresh
        except IntegrityError:
            # Created by another thread between our look and our insert.
            known = self.get(intent_id)
            if known is None:
                raise
            return known

    def forget(self, intent_id: IntentId, *, epoch: Epoch) -> None:
        with writing(self._engine) as transaction:
            job = _locked(transaction, intent_id)
            if job is not None:
                refuse_unended(job, epoch)
                transaction.execute(delete(JOB).where(JOB.c.intent_id == intent_id))

    def get(self, intent_id: IntentId) -> Job | None:
        found = self._select(JOB.c.intent_id == intent_id)
        return found[0] if found else None

    def of_cluster(self, cluster_uid: ClusterUid) -> list[Job]:
        return self._select(JOB.c.cluster_uid == cluster_uid)

    def open_jobs(self) -> list[Job]:
        return self._select(JOB.c.state.in_(OPEN_STATES))

    def newest(self, limit: int) -> list[Job]:
        wanted = select(JOB).order_by(JOB.c.created_at.desc(), JOB.c.intent_id.desc()).limit(limit)
        with reading(self._engine) as connection:
            return [_job(row) for row in connection.execute(wanted)]

    def _select(self, condition: ColumnElement[bool]) -> list[Job]:
        wanted = select(JOB).where(condition).order_by(JOB.c.created_at, JOB.c.intent_id)
        with reading(self._engine) as connection:
            return [_job(row) for row in connection.execute(wanted)]

    def _change(self, intent_id: IntentId, step: Step) -> Job:
        with writing(self._engine) as transaction:
            job = _locked(transaction, intent_id)
            if job is None:
                raise JobNotFound(intent_id)
            changed = step(job, self._now(transaction))
            if changed is not job:
                transaction.execute(update(JOB).where(JOB.c.intent_id == intent_id).values(asdict(changed)))
            return changed


def refuse_unended(job: Job, epoch: Epoch) -> None:
    refuse_stale(job, epoch)
    if job.state in OPEN_STATES:
        raise IllegalJobStep(job, job.state)


def _locked(transaction: Connection, intent_id: IntentId) -> Job | None:
    row = transaction.execute(select(JOB).where(JOB.c.intent_id == intent_id).with_for_update()).one_or_none()
    return None if row is None else _job(row)


def _job(row: Row[Any]) -> Job:
    return Job(**{**row._mapping, "state": JobState(row.state)})
