"""Which plans share a job, which have one of their own, and what becomes of one that takes too long."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from planner.kinds import DRAIN, REBALANCE, PlanTask
from spark.plan_jobs import ALONE_ABOVE, GATHER_MOST_S, GATHER_S, NotOnSpark, PlanJobs, RunningJob, WaitingTask

AT = datetime(2026, 1, 1, tzinfo=UTC)


def waiting(*, since: float = 0.0, partitions: int = 10, drain: bool = True) -> WaitingTask:
    kind = DRAIN if drain else REBALANCE
    return WaitingTask(PlanTask(replace(kind, size=lambda _: partitions), "a request"), since)


def jobs(*tasks: WaitingTask) -> PlanJobs:
    return PlanJobs(timeout_s=60.0, waiting=list(tasks))


def sent(found: PlanJobs, now: float) -> list[RunningJob]:
    return list(found.due(now, AT))


def test_drains_and_rebalances_that_are_asked_in_one_tick_share_a_job() -> None:
    asked = [waiting(since=0.01 * n, drain=n % 2 == 0) for n in range(8)]
    found = jobs(*asked)
    assert sent(found, 0.08) == [], "more may come"
    (job,) = sent(found, 0.08 + GATHER_S)
    assert job.tasks == tuple(asked)
    assert found.waiting == []


def test_a_tick_that_goes_on_asking_does_not_keep_the_first_waiting_for_ever() -> None:
    found = jobs(waiting(since=0.0), waiting(since=GATHER_MOST_S))
    assert len(sent(found, GATHER_MOST_S)) == 1


def test_a_large_cluster_keeps_no_other_waiting() -> None:
    large, small = waiting(partitions=ALONE_ABOVE + 1), waiting()
    found = jobs(large, small)
    assert [job.tasks for job in sent(found, 1.0)] == [(large,), (small,)]
    found.waiting.append(waiting(since=1.0))
    assert len(sent(found, 2.0)) == 1, "beside both"
    found.waiting.append(waiting(since=2.0))
    assert sent(found, 3.0) == [], "two jobs of many run"
    assert found.ended(2) is not None
    assert len(sent(found, 3.0)) == 1


def test_of_large_clusters_drains_go_first() -> None:
    balance, drain = waiting(partitions=10**6, drain=False), waiting(partitions=10**6)
    found = jobs(balance, waiting(partitions=10**6, drain=False), drain)
    assert [job.tasks[0] for job in sent(found, 1.0)] == [drain, balance]


def test_a_job_that_is_late_is_told_once_and_once_more_if_it_does_not_end() -> None:
    found = jobs(waiting())
    (job,) = sent(found, 1.0)
    assert found.overdue(60.0) == []
    assert [late.cancelled for late in found.overdue(61.1)] == [False]
    assert found.overdue(61.2) == []
    assert [late.cancelled for late in found.overdue(80.0)] == [True]
    assert found.ended(job.number) is not None


def test_with_the_worker_everybody_is_told() -> None:
    running, late = waiting(), waiting(since=1.0)
    found = jobs(running)
    assert sent(found, 1.0)
    found.waiting.append(late)
    found.refuse_all(NotOnSpark("the worker is gone"))
    for one in (running, late):
        with pytest.raises(NotOnSpark, match="is gone"):
            one.answer.result(0)
    assert (found.waiting, found.running) == ([], {})
