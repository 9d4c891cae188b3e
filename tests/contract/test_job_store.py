"""Job rows: idempotent by intent, legal steps only, and no write by a server that lost its lease."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from controlplane.storage.job import IllegalJobStep, Job, JobNotFound, JobState, StaleEpoch
from controlplane.storage.job_store import JobStore, SqlJobStore
from events.ids import ClusterUid, Epoch, IntentId
from tests.fakes.jobs import MemoryJobStore
from tests.present import present

SECOND = Epoch(2)

FIRST = Epoch(1)

I1 = IntentId("i1")

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Ticks:
    """Each look at the clock is one second later than the one before."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self, *_: object) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def jobs(engine_or_memory: Engine | None) -> JobStore:
    return MemoryJobStore(Ticks()) if engine_or_memory is None else SqlJobStore(engine_or_memory, now=Ticks())


def create(jobs: JobStore, intent: str = "i1", *, cluster: str = "c1", epoch: int = 1, owner: str = "a") -> Job:
    return jobs.create(IntentId(intent), cluster_uid=ClusterUid(cluster), kind="surge", epoch=Epoch(epoch), owner=owner)


def test_a_job_goes_from_queued_over_running_to_succeeded(jobs: JobStore) -> None:
    queued = create(jobs)
    assert (queued.state, queued.epoch, queued.owner, queued.started_at) == (JobState.QUEUED, 1, "a", None)
    running = jobs.start(I1, epoch=FIRST, owner="a")
    assert running.state is JobState.RUNNING
    assert running.started_at == running.heartbeat_at > queued.created_at
    beaten = jobs.heartbeat(I1, epoch=FIRST)
    assert beaten.heartbeat_at > running.heartbeat_at
    done = jobs.succeed(I1, epoch=FIRST, result={"vms": ["a", "b"], "seconds": 1.5})
    assert done.state is JobState.SUCCEEDED
    assert done.ended_at is not None
    assert jobs.get(I1) == done
    assert present(jobs.get(I1)).result == {"vms": ["a", "b"], "seconds": 1.5}


def test_a_failure_keeps_its_class_and_message(jobs: JobStore) -> None:
    create(jobs)
    jobs.start(I1, epoch=FIRST, owner="a")
    failed = jobs.fail(I1, epoch=FIRST, error_class="retry_later", error_message="quota")
    assert (failed.state, failed.error_class, failed.error_message) == (JobState.FAILED, "retry_later", "quota")
    assert jobs.get(I1) == failed


def test_creating_again_answers_with_the_job_as_it_is(jobs: JobStore) -> None:
    create(jobs)
    running = jobs.start(I1, epoch=FIRST, owner="a")
    assert create(jobs, epoch=9, owner="other") == running


def test_of_ten_creations_at_once_one_job_comes_out(jobs: JobStore) -> None:
    with ThreadPoolExecutor(10) as pool:
        made = list(pool.map(lambda n: create(jobs, owner=f"owner-{n}"), range(10)))
    assert len({job.owner for job in made}) == 1
    assert len(jobs.open_jobs()) == 1


def test_of_ten_starts_at_once_one_wins(jobs: JobStore) -> None:
    create(jobs)

    def start(number: int) -> bool:
        try:
            jobs.start(I1, epoch=FIRST, owner=f"owner-{number}")
        except IllegalJobStep:
            return False
        return True

    with ThreadPoolExecutor(10) as pool:
        assert sum(pool.map(start, range(10))) == 1


def test_the_end_said_twice_is_the_end(jobs: JobStore) -> None:
    create(jobs)
    jobs.start(I1, epoch=FIRST, owner="a")
    done = jobs.succeed(I1, epoch=FIRST, result={"n": 1})
    assert jobs.succeed(I1, epoch=FIRST, result={"n": 1}) == done


@pytest.mark.parametrize(
    "write",
    [
        lambda jobs: jobs.start("i1", epoch=1, owner="a"),
        lambda jobs: jobs.heartbeat("i1", epoch=1),
        lambda jobs: jobs.succeed("i1", epoch=1, result={}),
        lambda jobs: jobs.fail("i1", epoch=1, error_class="x", error_message="y"),
    ],
)
def test_a_stale_epoch_cannot_write(jobs: JobStore, write: Callable[[JobStore], Job]) -> None:
    create(jobs, epoch=1)
    taken = jobs.start(I1, epoch=SECOND, owner="b")
    with pytest.raises(StaleEpoch, match="belongs to epoch 2") as stale:
        write(jobs)
    assert stale.value.epoch == 1
    assert jobs.get(I1) == taken


def test_a_later_epoch_cannot_go_on_with_a_job_that_runs(jobs: JobStore) -> None:
    create(jobs)
    jobs.start(I1, epoch=FIRST, owner="a")
    with pytest.raises(IllegalJobStep):
        jobs.heartbeat(I1, epoch=SECOND)


@pytest.mark.parametrize(
    ("before", "step"),
    [
        ("queued", lambda jobs: jobs.succeed("i1", epoch=1, result={})),
        ("queued", lambda jobs: jobs.heartbeat("i1", epoch=1)),
        ("running", lambda jobs: jobs.start("i1", epoch=1, owner="a")),
        ("succeeded", lambda jobs: jobs.start("i1", epoch=1, owner="a")),
        ("succeeded", lambda jobs: jobs.fail("i1", epoch=1, error_class="x", error_message="y")),
        ("failed", lambda jobs: jobs.succeed("i1", epoch=1, result={})),
        ("failed", lambda jobs: jobs.start("i1", epoch=1, owner="a")),
    ],
)
def test_steps_the_state_machine_does_not_know_are_refused(
    jobs: JobStore, before: str, step: Callable[[JobStore], Job]
) -> None:
    create(jobs)
    if before != "queued":
        jobs.start(I1, epoch=FIRST, owner="a")
    if before == "succeeded":
        jobs.succeed(I1, epoch=FIRST, result={})
    if before == "failed":
        jobs.fail(I1, epoch=FIRST, error_class="x", error_message="y")
    job = jobs.get(I1)
    with pytest.raises(IllegalJobStep, match=before):
        step(jobs)
    assert jobs.get(I1) == job


def test_a_job_that_was_never_created_is_not_found(jobs: JobStore) -> None:
    assert jobs.get(IntentId("nothing")) is None
    with pytest.raises(JobNotFound, match="nothing"):
        jobs.start(IntentId("nothing"), epoch=FIRST, owner="a")


def test_jobs_are_listed_by_cluster_and_by_being_open_oldest_first(jobs: JobStore) -> None:
    for number, cluster in enumerate(["c1", "c2", "c1", "c1"]):
        create(jobs, f"i{number}", cluster=cluster)
    jobs.start(IntentId("i0"), epoch=FIRST, owner="a")
    jobs.succeed(IntentId("i0"), epoch=FIRST, result={})
    jobs.start(IntentId("i2"), epoch=FIRST, owner="a")
    jobs.start(IntentId("i3"), epoch=FIRST, owner="a")
    jobs.fail(IntentId("i3"), epoch=FIRST, error_class="x", error_message="y")
    assert [job.intent_id for job in jobs.of_cluster(ClusterUid("c1"))] == ["i0", "i2", "i3"]
    assert [job.intent_id for job in jobs.open_jobs()] == ["i1", "i2"]


def test_the_newest_jobs_are_told_whatever_became_of_them(jobs: JobStore) -> None:
    for number in range(4):
        create(jobs, f"i{number}")
    jobs.fail(IntentId("i3"), epoch=FIRST, error_class="x", error_message="y")
    assert [job.intent_id for job in jobs.newest(3)] == ["i3", "i2", "i1"]
    assert len(jobs.newest(100)) == 4


def test_a_job_that_has_ended_can_be_forgotten_and_made_again(jobs: JobStore) -> None:
    create(jobs)
    with pytest.raises(IllegalJobStep):
        jobs.forget(I1, epoch=FIRST)
    jobs.start(I1, epoch=FIRST, owner="a")
    jobs.fail(I1, epoch=FIRST, error_class="X", error_message="y")
    with pytest.raises(StaleEpoch):
        jobs.forget(I1, epoch=Epoch(0))
    jobs.forget(I1, epoch=SECOND)
    jobs.forget(I1, epoch=SECOND)
    assert jobs.get(I1) is None
    assert create(jobs, epoch=2).state is JobState.QUEUED
