"""The planning service around a worker that misbehaves. No Spark here: a fake worker speaks the same frames."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from controlplane.converger.tick.planning import PlannedDrain, PlannerUnavailable, PlanningService, PlanningSettings
from planner.drain.plan import DrainPlan
from planner.drain.solve import solve
from spark.process import WorkerProcess
from spark.supervisor import WorkerSettings, WorkerSupervisor
from tests.present import present
from tests.unit.planner.drain.drain_cases import request, roll, scale_down
from tests.unit.planner.rebalancing.rebalance_cases import question
from tests.waiting import until

FAKE = Path(__file__).with_name("fake_worker.py")
Start = Callable[..., PlanningService]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    services: list[PlanningService] = []

    def started(behaviour: str, *, ready: bool = True, require_spark: bool = False, **worker: float) -> PlanningService:
        state = tmp_path / "state"
        state.mkdir(exist_ok=True)
        settings = WorkerSettings(
            scratch=tmp_path / "scratch",
            log=tmp_path / "log",
            command=(sys.executable, str(FAKE), behaviour, str(state)),
            **{"first_backoff_s": 0.05, **worker},  # type: ignore[arg-type]
        )
        service = PlanningService(PlanningSettings(worker=settings, require_spark=require_spark, required_wait_s=20))
        services.append(service)
        if ready:
            assert service.wait_until_ready(30), service.status()
        return service

    yield started
    for service in services:
        service.stop()


def lives(tmp_path: Path) -> list[int]:
    return [int(p.read_text()) for p in sorted((tmp_path / "state").glob("life-*"))]


def jobs(tmp_path: Path) -> list[str]:
    """What the worker was given, job by job: a kind, and of how many requests."""
    return (tmp_path / "state" / "jobs").read_text().splitlines()


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def assert_in_process(result: PlannedDrain, why: str) -> None:
    assert result.engine == "in-process"
    assert why in result.note
    assert result.plan is not None
    assert result.plan.engine == "in-process"
    assert result.plan == solve(result.request)


def test_a_ready_worker_answers(start: Start) -> None:
    asked = roll()[1]
    result = start("well").plan(asked)
    assert (result.engine, result.note) == ("spark", "")
    assert result.answer_bytes == solve(asked, engine="spark").to_bytes()  # type: ignore[union-attr]


def test_garbage_on_stdout_is_harmless(start: Start, tmp_path: Path) -> None:
    assert start("well").plan(roll()[1]).engine == "spark"
    assert b"-Xgarbage" in (tmp_path / "log").read_bytes()


def test_before_spark_is_up_the_kernel_answers_here(start: Start) -> None:
    service = start("never ready", ready=False)
    began = time.monotonic()
    assert_in_process(service.plan(roll()[1]), "Spark is ")
    assert time.monotonic() - began < 10


def test_a_refusal_is_an_answer(start: Start) -> None:
    seen, _ = roll()
    result = start("well").plan(request(seen, outgoing=(1000,), targets=(1001,)))
    assert result.plan is None
    assert result.infeasible is not None
    assert result.engine == "spark"


def test_a_worker_killed_mid_plan_is_replaced_and_the_plan_is_made_here(start: Start, tmp_path: Path) -> None:
    service = start("dies once mid-plan")
    assert_in_process(service.plan(roll()[1]), "is gone")
    assert service.wait_until_ready(30)
    assert service.plan(roll()[1]).engine == "spark"
    assert len(lives(tmp_path)) == 2


def test_a_hung_worker_is_given_up_and_killed(start: Start, tmp_path: Path) -> None:
    service = start("hangs", plan_timeout_s=0.5)
    assert_in_process(service.plan(roll()[1]), "no plan from Spark within")
    assert present(service.totals()).in_process == {"timeout": 1}
    assert until(lambda: not is_running(lives(tmp_path)[0]))


def test_a_job_that_takes_too_long_is_cancelled_and_the_worker_lives_on(start: Start, tmp_path: Path) -> None:
    service = start("stands still", plan_timeout_s=0.5)
    for _ in range(2):
        assert_in_process(service.plan(roll()[1]), "no plan from Spark within")
    assert len(lives(tmp_path)) == 1
    totals = present(service.totals())
    assert (totals.jobs.jobs, totals.jobs.failed, totals.in_process) == (2, 2, {"timeout": 2})


def test_one_cluster_that_fails_costs_no_other_its_plan(start: Start) -> None:
    failed, *others = start("first fails").plan_many([roll()[1], scale_down()[1], roll()[1]])
    assert_in_process(failed, "ZeroDivisionError: 0")
    assert [result.engine for result in others] == ["spark", "spark"]


def test_a_silent_worker_is_given_up(start: Start) -> None:
    assert_in_process(start("hangs", silence_timeout_s=0.6).plan(roll()[1]), "silent")


def test_a_worker_that_sends_no_frames_is_given_up(start: Start) -> None:
    assert_in_process(start("not a frame").plan(roll()[1]), "is gone")


def test_a_failed_job_leaves_the_worker_up(start: Start, tmp_path: Path) -> None:
    service = start("job fails")
    for _ in range(2):
        assert_in_process(service.plan(roll()[1]), "Py4JJavaError: stage 3")
    assert len(lives(tmp_path)) == 1


def test_a_session_that_cannot_start_is_told_and_tried_again(start: Start, tmp_path: Path) -> None:
    service = start("no session", ready=False)
    service.warm_up()
    assert until(lambda: len(lives(tmp_path)) > 1)
    assert until(lambda: "no Java" in service.status().reason)


@pytest.mark.parametrize(
    ("behaviour", "why"), [("breaks rules", "fewer racks than before"), ("unreadable", "cannot be read")]
)
def test_an_answer_that_does_not_hold_is_refused(start: Start, behaviour: str, why: str) -> None:
    assert_in_process(start(behaviour).plan(roll()[1]), why)


def test_an_answer_to_another_request_is_refused(start: Start) -> None:
    seen, asked = scale_down()
    other = request(seen, drain_id="d2", outgoing=asked.outgoing, targets=asked.targets)
    for result in start("turned").plan_many([asked, other]):
        assert_in_process(result, "another request")


def test_many_clusters_go_in_one_job(start: Start, tmp_path: Path) -> None:
    results = start("well").plan_many([roll()[1], scale_down()[1], roll()[1]])
    assert [r.engine for r in results] == ["spark"] * 3
    assert jobs(tmp_path) == ["drain 3"]


def test_what_clusters_ask_in_one_tick_goes_in_one_job(start: Start, tmp_path: Path) -> None:
    """A tick asks for them one after another, each on a thread of its own: drains and rebalances alike."""
    service = start("well")
    engines: list[str] = []
    asks = [lambda: service.plan(roll()[1]).engine] * 20 + [lambda: service.balance(question()).engine] * 10
    threads = [threading.Thread(target=lambda ask=ask: engines.append(ask())) for ask in asks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert engines == ["spark"] * 30
    assert jobs(tmp_path) == ["drain 20, rebalance 10"]
    last = present(service.totals()).jobs.last
    assert last is not None
    assert (last.drains, last.rebalances, last.error) == (20, 10, "")
    assert present(service.totals()).in_process == {}


def test_callers_that_wait_share_the_next_job(start: Start, tmp_path: Path) -> None:
    service = start("slow")
    found: list[PlannedDrain] = []
    threads = [threading.Thread(target=lambda: found.append(service.plan(roll()[1]))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sizes = [int(line.split()[1]) for line in jobs(tmp_path)]
    assert sum(sizes) == 6
    assert len(sizes) < 4
    assert all(r.engine == "spark" for r in found)


def test_required_spark_is_waited_for_and_tried_again(start: Start, tmp_path: Path) -> None:
    result = start("dies once mid-plan", ready=False, require_spark=True).plan(roll()[1])
    assert result.engine == "spark"
    assert len(lives(tmp_path)) == 2


def test_required_spark_that_never_comes_is_an_error_that_says_so(start: Start) -> None:
    service = start("no session", ready=False)
    insisting = PlanningService(
        PlanningSettings(require_spark=True, required_wait_s=0.3), supervisor=service._supervisor
    )
    with pytest.raises(PlannerUnavailable, match="Spark is required"):
        insisting.plan(roll()[1])


def test_required_spark_never_accepts_an_answer_that_breaks_rules(start: Start) -> None:
    with pytest.raises(PlannerUnavailable, match="fewer racks"):
        start("breaks rules", require_spark=True).plan(roll()[1])


def test_stopping_ends_every_process_of_the_worker(start: Start, tmp_path: Path) -> None:
    service = start("children")
    pids = [*lives(tmp_path), int((tmp_path / "state" / "child").read_text())]
    assert all(is_running(pid) for pid in pids)
    assert os.getpgid(pids[1]) != os.getpgid(pids[0])
    service.stop()
    assert not any(is_running(pid) for pid in pids)
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize(("behaviour", "graces"), [("never ready", [0.0]), ("well", [3.0])])
def test_a_worker_that_is_still_starting_is_not_asked_to_stop_and_waited_for(
    tmp_path: Path, behaviour: str, graces: list[float]
) -> None:
    """Found by servers that took 3 s longer to stop while their Spark was starting: it reads nothing until it is up."""
    (tmp_path / "state").mkdir()
    given: list[float] = []

    class Noting(WorkerProcess):
        def stop(self, *, grace_s: float = 5.0) -> None:
            given.append(grace_s)
            super().stop(grace_s=grace_s)

    command = (sys.executable, str(FAKE), behaviour, str(tmp_path / "state"))
    supervisor = WorkerSupervisor(WorkerSettings(scratch=tmp_path / "scratch", command=command), launch=Noting.start)
    supervisor.start()
    assert until(lambda: bool(lives(tmp_path)))
    assert supervisor.wait_until_ready(30 if behaviour == "well" else 0) is (behaviour == "well")
    supervisor.stop()
    assert given == graces
    assert not any(is_running(pid) for pid in lives(tmp_path))


@pytest.mark.parametrize(
    ("behaviour", "longest_s", "status"),
    [
        ("never ready", 60.0, "backing off: no Spark session: its start has not got on for 2 s"),
        ("starts slowly", 3.0, "backing off: no Spark session within 3 s"),
        ("starts slowly", 60.0, "ready"),
    ],
)
def test_a_start_is_given_up_once_it_stands_still_and_not_because_the_machine_is_busy(
    tmp_path: Path, behaviour: str, longest_s: float, status: str
) -> None:
    """A demo gave up at load 40: "Spark is not up after 180 s"."""
    (tmp_path / "state").mkdir()
    command = (sys.executable, str(FAKE), behaviour, str(tmp_path / "state"))
    settings = WorkerSettings(
        scratch=tmp_path / "scratch",
        command=command,
        start_timeout_s=2.0,
        longest_start_s=longest_s,
        first_backoff_s=60.0,
    )
    supervisor = WorkerSupervisor(settings)
    supervisor.start()
    try:
        assert until(lambda: str(supervisor.status()) == status, timeout_s=30)
    finally:
        supervisor.stop()


def test_a_dead_worker_leaves_no_children_behind(start: Start, tmp_path: Path) -> None:
    service = start("children")
    worker, child = lives(tmp_path)[0], int((tmp_path / "state" / "child").read_text())
    os.kill(worker, 9)
    assert until(lambda: not is_running(child))
    assert service.wait_until_ready(30)


def test_a_caller_in_the_middle_is_answered_when_the_service_stops(start: Start) -> None:
    service = start("hangs")
    found: list[PlannedDrain] = []
    caller = threading.Thread(target=lambda: found.append(service.plan(roll()[1])))
    caller.start()
    time.sleep(0.3)
    service.stop()
    caller.join(20)
    assert_in_process(found[0], "stop")


def test_a_stopped_service_still_plans_here(start: Start) -> None:
    service = start("well")
    service.stop()
    assert_in_process(service.plan(roll()[1]), "stopped")


def test_scratch_of_killed_servers_is_removed(start: Start, tmp_path: Path) -> None:
    gone = tmp_path / "scratch" / "kedge-planner-4194304-x"  # above the largest process id of Linux
    mine = tmp_path / "scratch" / f"kedge-planner-{os.getpid()}-kept"
    gone.mkdir(parents=True)
    mine.mkdir()
    start("well")
    assert not gone.exists()
    assert mine.exists()


def test_nothing_asked_is_nothing_started(start: Start, tmp_path: Path) -> None:
    assert start("well", ready=False).plan_many([]) == ()
    assert lives(tmp_path) == []


def test_plans_of_both_engines_differ_in_the_engine_only(start: Start) -> None:
    seen, asked = scale_down()
    del seen
    there, here = start("well").plan(asked).plan, solve(asked)
    assert isinstance(here, DrainPlan)
    assert there is not None
    assert replace(there, engine=here.engine) == here
    assert (there.engine, here.engine) == ("spark", "in-process")
