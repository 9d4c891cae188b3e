"""Job rows: idempotent by intent, legal steps only, and no write by a server that lost its lease."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from controlplane.storage.job import IllegalJobStep, JobNotFound, JobState, StaleEpoch
from controlplane.storage.job_store import JobStore, SqlJobStore
from tests.fakes.jobs import MemoryJobStore

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Ticks:
    """Each look at the clock is one second later than the one before."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self, *_: object) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def jobs(engine_or_memory) -> JobStore:
    return MemoryJobStore(Ticks()) if engine_or_memory is None else SqlJobStore(engine_or_memory, now=Ticks())


def create(jobs: JobStore, intent: str = "i1", *, cluster: str = "c1", epoch: int = 1, owner: str = "a"):
    return jobs.create(intent, cluster_uid=cluster, kind="surge", epoch=epoch, owner=owner)


def test_a_job_goes_from_queued_over_running_to_succeeded(jobs):
    queued = create(jobs)
    assert (queued.state, queued.epoch, queued.owner, queued.started_at) == (JobState.QUEUED, 1, "a", None)
    running = jobs.start("i1", epoch=1, owner="a")
    assert running.state is JobState.RUNNING
    assert running.started_at == running.heartbeat_at > queued.created_at
    beaten = jobs.heartbeat("i1", epoch=1)
    assert beaten.heartbeat_at > running.heartbeat_at
    done = jobs.succeed("i1", epoch=1, result={"vms": ["a", "b"], "seconds": 1.5})
    assert done.state is JobState.SUCCEEDED
    assert done.ended_at is not None
    assert jobs.get("i1") == done
    assert jobs.get("i1").result == {"vms": ["a", "b"], "seconds": 1.5}


def test_a_failure_keeps_its_class_and_message(jobs):
    create(jobs)
    jobs.start("i1", epoch=1, owner="a")
    failed = jobs.fail("i1", epoch=1, error_class="retry_later", error_message="quota")
    assert (failed.state, failed.error_class, failed.error_message) == (JobState.FAILED, "retry_later", "quota")
    assert jobs.get("i1") == failed


def test_creating_again_answers_with_the_job_as_it_is(jobs):
    create(jobs)
    running = jobs.start("i1", epoch=1, owner="a")
    assert create(jobs, epoch=9, owner="other") == running


def test_of_ten_creations_at_once_one_job_comes_out(jobs):
    with ThreadPoolExecutor(10) as pool:
        made = list(pool.map(lambda n: create(jobs, owner=f"owner-{n}"), range(10)))
    assert len({job.owner for job in made}) == 1
    assert len(jobs.open_jobs()) == 1


def test_of_ten_starts_at_once_one_wins(jobs):
    create(jobs)

    def start(number: int) -> bool:
        try:
            jobs.start("i1", epoch=1, owner=f"owner-{number}")
        except IllegalJobStep:
            return False
        return True

    with ThreadPoolExecutor(10) as pool:
        assert sum(pool.map(start, range(10))) == 1


def test_the_end_said_twice_is_the_end(jobs):
    create(jobs)
    jobs.start("i1", epoch=1, owner="a")
    done = jobs.succeed("i1", epoch=1, result={"n": 1})
    assert jobs.succeed("i1", epoch=1, result={"n": 1}) == done


@pytest.mark.parametrize(
    "write",
    [
        lambda jobs: jobs.start("i1", epoch=1, owner="a"),
        lambda jobs: jobs.heartbeat("i1", epoch=1),
        lambda jobs: jobs.succeed("i1", epoch=1, result={}),
        lambda jobs: jobs.fail("i1", epoch=1, error_class="x", error_message="y"),
    ],
)
def test_a_stale_epoch_cannot_write(jobs, write):
    create(jobs, epoch=1)
    taken = jobs.start("i1", epoch=2, owner="b")
    with pytest.raises(StaleEpoch, match="belongs to epoch 2") as stale:
        write(jobs)
    assert stale.value.epoch == 1
    assert jobs.get("i1") == taken


def test_a_later_epoch_cannot_go_on_with_a_job_that_runs(jobs):
    create(jobs)
    jobs.start("i1", epoch=1, owner="a")
    with pytest.raises(IllegalJobStep):
        jobs.heartbeat("i1", epoch=2)


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
def test_steps_the_state_machine_does_not_know_are_refused(jobs, before, step):
    create(jobs)
    if before != "queued":
        jobs.start("i1", epoch=1, owner="a")
    if before == "succeeded":
        jobs.succeed("i1", epoch=1, result={})
    if before == "failed":
        jobs.fail("i1", epoch=1, error_class="x", error_message="y")
    job = jobs.get("i1")
    with pytest.raises(IllegalJobStep, match=before):
        step(jobs)
    assert jobs.get("i1") == job


def test_a_job_that_was_never_created_is_not_found(jobs):
    assert jobs.get("nothing") is None
    with pytest.raises(JobNotFound, match="nothing"):
        jobs.start("nothing", epoch=1, owner="a")


def test_jobs_are_listed_by_cluster_and_by_being_open_oldest_first(jobs):
    for number, cluster in enumerate(["c1", "c2", "c1", "c1"]):
        create(jobs, f"i{number}", cluster=cluster)
    jobs.start("i0", epoch=1, owner="a")
    jobs.succeed("i0", epoch=1, result={})
    jobs.start("i2", epoch=1, owner="a")
    jobs.start("i3", epoch=1, owner="a")
    jobs.fail("i3", epoch=1, error_class="x", error_message="y")
    assert [job.intent_id for job in jobs.of_cluster("c1")] == ["i0", "i2", "i3"]
    assert [job.intent_id for job in jobs.open_jobs()] == ["i1", "i2"]


def test_the_newest_jobs_are_told_whatever_became_of_them(jobs):
    for number in range(4):
        create(jobs, f"i{number}")
    jobs.fail("i3", epoch=1, error_class="x", error_message="y")
    assert [job.intent_id for job in jobs.newest(3)] == ["i3", "i2", "i1"]
    assert len(jobs.newest(100)) == 4


def test_a_job_that_has_ended_can_be_forgotten_and_made_again(jobs):
    create(jobs)
    with pytest.raises(IllegalJobStep):
        jobs.forget("i1", epoch=1)
    jobs.start("i1", epoch=1, owner="a")
    jobs.fail("i1", epoch=1, error_class="X", error_message="y")
    with pytest.raises(StaleEpoch):
        jobs.forget("i1", epoch=0)
    jobs.forget("i1", epoch=2)
    jobs.forget("i1", epoch=2)
    assert jobs.get("i1") is None
    assert create(jobs, epoch=2).state is JobState.QUEUED
