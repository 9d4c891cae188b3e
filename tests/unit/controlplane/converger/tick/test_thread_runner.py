"""Long acts on threads: how they end is written to the job store, whoever has been taken over writes nothing."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.jobs import job_seen
from controlplane.cluster.views.intents import IntentView
from controlplane.converger.questions.clouds.rendering import terraform_run
from controlplane.converger.tick.act import drain_request
from controlplane.converger.tick.runner import ThreadRunner
from controlplane.storage.job import JobState, StaleEpoch
from events.errors import StoreUnavailable
from events.ids import ClusterUid, Epoch, IntentId
from planner.drain.infeasible import Infeasible
from planner.drain.plan import DrainPlan
from planner.drain.solve import solve
from planner.observed import KafkaSnapshot
from planner.rebalancing.ask import answered
from planner.rebalancing.plan import RebalancePlan
from planner.rebalancing.question import RebalanceQuestion
from providers.base import TerraformRun
from providers.errors import AuthFailed, CloudUnavailable, RunInterrupted
from tests.builders import BEFORE, a_drain, a_move, a_partition, a_plan, a_snapshot, a_view, an_instance
from tests.fakes.jobs import MemoryJobStore
from tests.fakes.plans import MemoryPlanStore
from tests.unit.planner.rebalancing import rebalance_cases

WAIT_S = 10.0
JOB = IntentId("i.0")
ONE, TWO = Epoch(1), Epoch(2)


def _run() -> TerraformRun:
    view = a_view(an_instance("brokers-a-0", 2, Phase.REQUESTED))
    intent = IntentView("i", "surge", ("brokers-a-0.g2",), BEFORE)
    return terraform_run(view, intent, installation_id="t", boot_data=lambda _: "", gone=frozenset())


KAFKA: KafkaSnapshot = a_snapshot(a_partition("orders-0"), brokers=(1000, 1001, 1002, 1010))
REQUEST = drain_request(
    a_view(an_instance("brokers-a-0", 1, Phase.DRAINING), an_instance("brokers-a-0", 2)), a_drain(), KAFKA
)


class Workshop:
    """A runner whose Terraform and planner are the test's."""

    def __init__(
        self,
        terraform: Callable[..., None] | None = None,
        plan: Callable[..., Any] = solve,
        *,
        balance: Callable[..., Any] = answered,
        leads: Callable[[Epoch], bool] = lambda _epoch: True,
    ) -> None:
        self.jobs = MemoryJobStore()
        self.plans = MemoryPlanStore()
        self.woken = threading.Event()
        self.calls: list[str] = []
        self._terraform = terraform or (lambda *_: None)
        self.runner = ThreadRunner(
            self.jobs,
            self.plans,
            owner="one",
            run_terraform=self._called,
            solve=plan,
            balance=balance,
            wake=lambda _uid: self.woken.set(),
            leads=leads,
            look_s=0.01,
        )

    def _called(self, run: TerraformRun, tell: Callable[[str], None], stop: threading.Event) -> dict[str, str]:
        self.calls.append(run.intent_id)
        self._terraform(run, tell, stop)
        return {i.key: f"i-{i.key}" for i in run.resources.instances}

    def ended(self, job: IntentId = JOB) -> Any:
        assert self.woken.wait(WAIT_S)
        return self.jobs.get(job)


@pytest.fixture
def workshops() -> Iterator[Callable[..., Workshop]]:
    made: list[Workshop] = []

    def make(*args: Any, **kwargs: Any) -> Workshop:
        made.append(Workshop(*args, **kwargs))
        return made[-1]

    yield make
    for workshop in made:
        workshop.runner.stop()


Workshops = Callable[..., Workshop]


def _fails(error: Exception) -> Callable[..., None]:
    def act(*_: object) -> None:
        raise error

    return act


def test_a_run_that_ends_well_is_recorded_and_wakes_its_cluster(workshops: Workshops) -> None:
    shop = workshops()
    shop.runner.terraform(JOB, _run(), epoch=ONE)
    job = shop.ended()
    assert (job.state, job.kind, job.cluster_uid, job.owner) == (JobState.SUCCEEDED, "terraform-surge", "c0ffee", "one")


def test_a_run_whose_account_is_full_says_what_it_waits_for(workshops: Workshops) -> None:
    going = threading.Event()
    shop = workshops(lambda *_: going.wait(WAIT_S))
    jobs = [IntentId(f"i.{n}") for n in range(5)]
    for job in jobs:
        shop.runner.terraform(job, _run(), epoch=ONE)
    assert "4 of account local/default are in hand" in shop.runner.progress[jobs[-1]]
    going.set()
    shop.runner.stop()
    assert [shop.jobs.get(job).state for job in jobs[:4]] == [JobState.SUCCEEDED] * 4
    assert jobs[0] not in shop.runner.progress


@pytest.mark.parametrize(
    ("error", "retryable"),
    [(CloudUnavailable("no answer"), True), (AuthFailed("expired"), False), (ZeroDivisionError("a bug"), True)],
    ids=lambda x: type(x).__name__ if isinstance(x, Exception) else "",
)
def test_the_class_of_a_failure_says_whether_to_try_again(
    workshops: Workshops, error: Exception, retryable: bool
) -> None:
    shop = workshops(_fails(error))
    shop.runner.terraform(JOB, _run(), epoch=ONE)
    seen = job_seen(shop.ended())
    assert (seen.state, seen.error, seen.retryable) == ("failed", type(error).__name__, retryable)
    assert str(error) in seen.message


def test_the_same_job_is_run_once(workshops: Workshops) -> None:
    shop = workshops()
    shop.runner.terraform(JOB, _run(), epoch=ONE)
    shop.ended()
    shop.runner.terraform(JOB, _run(), epoch=ONE)
    shop.runner.stop()
    assert shop.calls == ["i"]


def test_progress_is_told_while_it_runs_and_forgotten_after(workshops: Workshops) -> None:
    told, go_on = threading.Event(), threading.Event()

    def creating(_run: TerraformRun, tell: Callable[[str], None], _stop: threading.Event) -> None:
        tell("creating 1 of 2")
        told.set()
        assert go_on.wait(WAIT_S)

    shop = workshops(creating)
    shop.runner.terraform(JOB, _run(), epoch=ONE)
    assert told.wait(WAIT_S)
    assert shop.runner.progress == {JOB: "creating 1 of 2"}
    go_on.set()
    shop.ended()
    assert shop.runner.progress == {}


def test_a_new_epoch_fails_the_jobs_of_a_server_that_is_gone(workshops: Workshops) -> None:
    shop = workshops()
    shop.jobs.create(JOB, cluster_uid=ClusterUid("c0ffee"), kind="terraform-surge", epoch=ONE, owner="another")
    shop.jobs.start(JOB, epoch=ONE, owner="another")
    assert shop.runner.reclaim(ONE) == 0
    assert shop.runner.reclaim(TWO) == 1
    job = shop.jobs.get(JOB)
    assert job is not None
    assert (job.state, job.error_class, job.error_message) == (
        JobState.FAILED,
        "RunInterrupted",
        "server another is gone",
    )
    assert job_seen(job).retryable
    with pytest.raises(StaleEpoch):
        shop.jobs.succeed(JOB, epoch=ONE, result={})


@pytest.mark.parametrize("ends", ["well", "badly"])
def test_a_runner_that_was_taken_over_writes_nothing(workshops: Workshops, ends: str) -> None:
    began, go_on = threading.Event(), threading.Event()

    def slow(*_: object) -> None:
        began.set()
        assert go_on.wait(WAIT_S)
        if ends == "badly":
            raise CloudUnavailable("killed")

    shop = workshops(slow)
    shop.runner.terraform(JOB, _run(), epoch=ONE)
    assert began.wait(WAIT_S)
    shop.jobs.fail(JOB, epoch=TWO, error_class="RunInterrupted", error_message="server one is gone")
    go_on.set()
    job = shop.ended()
    assert (job.state, job.epoch, job.error_class) == (JobState.FAILED, TWO, "RunInterrupted")


def test_a_job_somebody_else_has_is_not_run_beside_them(workshops: Workshops) -> None:
    shop = workshops()
    shop.jobs.create(JOB, cluster_uid=ClusterUid("c0ffee"), kind="terraform-surge", epoch=ONE, owner="another")
    shop.runner.terraform(JOB, _run(), epoch=ONE)
    shop.runner.stop()
    assert shop.calls == []


def test_an_end_that_cannot_be_written_leaves_the_job_to_the_next_epoch(
    workshops: Workshops, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = workshops(_fails(CloudUnavailable("no answer")))

    def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("locked")

    monkeypatch.setattr(shop.jobs, "fail", away)
    shop.runner.terraform(JOB, _run(), epoch=ONE)
    assert shop.ended().state is JobState.RUNNING
    monkeypatch.undo()
    assert shop.runner.reclaim(TWO) == 1


def test_a_stop_asks_what_runs_to_end_and_waits_for_it(workshops: Workshops) -> None:
    began = threading.Event()

    def until_told(_run: TerraformRun, _tell: object, stop: threading.Event) -> None:
        began.set()
        assert stop.wait(WAIT_S)

    shop = workshops(until_told)
    shop.runner.terraform(JOB, _run(), epoch=ONE)
    assert began.wait(WAIT_S)
    shop.runner.stop()
    assert shop.ended().state is JobState.SUCCEEDED


# --- a lost lease -----------------------------------------------------------------------------------------------------


def _until_told(began: threading.Event) -> Callable[..., None]:
    def run(_run: TerraformRun, _tell: object, stop: threading.Event) -> None:
        began.set()
        assert stop.wait(WAIT_S), "nobody interrupted it"
        raise RunInterrupted("asked to stop; its state is saved")

    return run


def test_a_server_that_leads_no_more_interrupts_what_it_runs(workshops: Workshops) -> None:
    began, leading = threading.Event(), {ONE}
    shop = workshops(_until_told(began), leads=lambda epoch: epoch in leading)
    shop.runner.terraform(JOB, _run(), epoch=ONE)
    assert began.wait(WAIT_S)
    leading.clear()
    seen = job_seen(shop.ended())
    assert (seen.state, seen.error, seen.retryable) == ("failed", "RunInterrupted", True)


def test_the_next_epoch_of_the_same_server_interrupts_the_run_of_the_last_one(workshops: Workshops) -> None:
    began, leading = threading.Event(), {ONE}
    shop = workshops(_until_told(began), leads=lambda epoch: epoch in leading)
    shop.runner.terraform(JOB, _run(), epoch=ONE)
    assert began.wait(WAIT_S)
    shop.runner.reclaim(TWO)
    leading.symmetric_difference_update({ONE, TWO})
    assert shop.ended().epoch == TWO


def test_a_lost_lease_stops_only_the_runs_of_its_epoch(workshops: Workshops) -> None:
    began, leading = threading.Event(), {ONE, TWO}
    shop = workshops(_until_told(began), leads=lambda epoch: epoch in leading)
    shop.runner.terraform(JOB, _run(), epoch=ONE)
    shop.runner.terraform("j.0", _run(), epoch=TWO)
    assert began.wait(WAIT_S)
    leading.discard(ONE)
    shop.ended()
    assert [j.intent_id for j in shop.jobs.open_jobs()] == ["j.0"]


def test_a_run_that_waited_for_a_thread_begins_as_one_that_is_to_stop(workshops: Workshops) -> None:
    told: list[bool] = []
    shop = workshops(lambda _run, _tell, stop: told.append(stop.is_set()), leads=lambda _epoch: False)
    shop.runner.terraform(JOB, _run(), epoch=ONE)
    shop.ended()
    assert told == [True]


# --- planning ---------------------------------------------------------------------------------------------------------


def test_a_plan_is_judged_stored_and_summed_up(workshops: Workshops) -> None:
    solve(REQUEST)  # loads the planner's libraries, which may take longer than a job is waited for
    shop = workshops()
    shop.runner.planning(JOB, REQUEST, KAFKA, epoch=ONE)
    job = shop.ended()
    assert (job.state, job.kind) == (JobState.SUCCEEDED, "drain-plan")
    body = shop.plans.get(job.result["sha256"])
    assert body is not None
    plan = DrainPlan.from_bytes(body)
    assert [(m.before, set(m.after)) for m in plan.moves] == [((1000, 1001, 1002), {1010, 1001, 1002})]
    assert (job.result["moves"], job.result["batches"], job.result["engine"]) == (1, 1, "in-process")


def test_a_plan_the_judge_refuses_is_not_stored(workshops: Workshops) -> None:
    wrong = a_plan([a_move("orders-0", after=(1001, 1001, 1002))])
    shop = workshops(plan=lambda _request: wrong)
    shop.runner.planning(JOB, REQUEST, KAFKA, epoch=ONE)
    job = shop.ended()
    assert (job.state, job.error_class) == (JobState.FAILED, "PlanRefused")
    assert shop.plans.get("sha") is None


def test_an_impossible_drain_is_no_failure_to_try_again(workshops: Workshops) -> None:
    def impossible(_request: object) -> Infeasible:
        answer = solve(_too_full())
        assert isinstance(answer, Infeasible)
        return answer

    shop = workshops(plan=impossible)
    shop.runner.planning(JOB, REQUEST, KAFKA, epoch=ONE)
    seen = job_seen(shop.ended())
    assert (seen.state, seen.error, seen.retryable) == ("failed", "Infeasible", False)
    assert seen.message


def test_a_plan_of_a_rebalance_is_judged_stored_and_summed_up_with_its_engine(workshops: Workshops) -> None:
    shop = workshops(balance=lambda asked: answered(asked, engine="spark"))
    shop.runner.balancing(JOB, rebalance_cases.asked(new=rebalance_cases.NEW), rebalance_cases.seen(), epoch=ONE)
    job = shop.ended()
    assert (job.state, job.kind, job.result["engine"]) == (JobState.SUCCEEDED, "rebalance-plan", "spark")
    body = shop.plans.get(job.result["sha256"])
    assert body is not None
    assert len(RebalancePlan.from_bytes(body).copies.moves) == job.result["moves"] > 0


def test_a_rebalance_that_the_judge_refuses_is_not_stored_whichever_engine_planned_it(workshops: Workshops) -> None:
    def careless(asked: RebalanceQuestion) -> Any:
        plan = answered(asked, engine="spark")
        assert isinstance(plan, RebalancePlan)
        return replace(plan, copies=replace(plan.copies, into={}))

    shop = workshops(balance=careless)
    shop.runner.balancing(JOB, rebalance_cases.asked(), rebalance_cases.seen(), epoch=ONE)
    job = shop.ended()
    assert (job.state, job.error_class) == (JobState.FAILED, "PlanRefused")
    assert "has no throttle in" in job.error_message


def test_a_rebalance_that_gives_to_others_than_those_chosen_is_not_stored(workshops: Workshops) -> None:
    shop = workshops(balance=lambda asked: answered(replace(asked, request=replace(asked.request, new=()))))
    shop.runner.balancing(JOB, rebalance_cases.asked(new=(1003,)), rebalance_cases.seen(), epoch=ONE)
    job = shop.ended()
    assert (job.state, job.error_class) == (JobState.FAILED, "PlanRefused")
    assert "may receive nothing" in job.error_message


def test_a_cluster_no_rebalance_can_be_planned_on_fails_with_what_is_missing(workshops: Workshops) -> None:
    shop = workshops()
    shop.runner.balancing(JOB, rebalance_cases.unplannable().request, rebalance_cases.seen(), epoch=ONE)
    seen = job_seen(shop.ended())
    assert (seen.state, seen.error, seen.retryable) == ("failed", "NoRebalance", True)
    assert "has not told how large its disk is" in seen.message


def test_a_drain_does_not_wait_for_the_threads_of_rebalances(workshops: Workshops) -> None:
    solve(REQUEST)
    free = threading.Event()

    def waits(asked: RebalanceQuestion) -> Any:
        free.wait(WAIT_S)
        return answered(asked)

    shop = workshops(balance=waits)
    for number in range(8):
        job = f"rebalance.{number}"
        shop.runner.balancing(job, rebalance_cases.asked(), rebalance_cases.seen(), epoch=ONE)
    shop.runner.planning(JOB, REQUEST, KAFKA, epoch=ONE)
    assert shop.ended().state == JobState.SUCCEEDED
    free.set()


def _too_full() -> Any:
    """Two brokers cannot hold three replicas."""
    small = a_snapshot(a_partition("orders-0"), brokers=(1000, 1001, 1002))
    view = a_view(an_instance("brokers-a-0", 1, Phase.DRAINING))
    return drain_request(view, a_drain(successors={}, targets=(1001, 1002)), small)
