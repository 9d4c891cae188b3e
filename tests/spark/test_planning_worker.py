"""The real worker: a process with a session of its own, kept warm, replaced when killed, ended for certain."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from controlplane.converger.tick.planning import PlannedDrain, PlannedRebalance, PlanningService, PlanningSettings
from planner.drain.solve import solve
from planner.rebalancing.ask import answered
from spark.supervisor import WorkerSettings
from tests.unit.planner.drain.drain_cases import roll, scale_down
from tests.unit.planner.rebalancing.rebalance_cases import question
from tests.waiting import until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("planner")


@pytest.fixture(scope="module")
def service(scratch: Path) -> Iterator[PlanningService]:
    settings = WorkerSettings(master="local[2]", scratch=scratch, log=scratch / "log", first_backoff_s=0.2)
    with PlanningService(PlanningSettings(worker=settings)) as service:
        assert service.wait_until_ready(150), service.status()
        yield service


def descendants(pid: int) -> list[psutil.Process]:
    return [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]


def test_a_warm_worker_plans_many_clusters_on_spark(service: PlanningService) -> None:
    results = service.plan_many([roll()[1], scale_down()[1]])
    assert [(r.engine, r.note) for r in results] == [("spark", "")] * 2
    for result in results:
        assert result.plan == solve(result.request, engine="spark")
    balanced = service.balance(question())
    assert (balanced.engine, balanced.note) == ("spark", "")
    assert balanced.answer == answered(question(), engine="spark")


def test_a_worker_killed_mid_plan_is_made_up_for_and_leaves_no_java(service: PlanningService) -> None:
    assert service.wait_until_ready(150)
    pid = service.status().pid
    assert pid is not None
    family = descendants(pid)
    assert any("java" in p.name() for p in family)
    os.kill(pid, signal.SIGSTOP)  # it will not answer before the kill
    found: list[PlannedDrain] = []
    balanced: list[PlannedRebalance] = []
    callers = (
        threading.Thread(target=lambda: found.append(service.plan(roll()[1]))),
        threading.Thread(target=lambda: balanced.append(service.balance(question()))),
    )
    for caller in callers:
        caller.start()
    time.sleep(0.5)
    assert not found
    assert not balanced
    os.kill(pid, signal.SIGKILL)
    for caller in callers:
        caller.join(60)
    assert found[0].engine == balanced[0].engine == "in-process"
    assert found[0].plan == solve(found[0].request)
    assert balanced[0].answer == answered(question())
    _, alive = psutil.wait_procs(family, timeout=20)
    assert alive == []


def test_the_worker_comes_back_and_ends_without_a_trace(service: PlanningService, scratch: Path) -> None:
    assert service.wait_until_ready(150), service.status()
    assert service.plan(roll()[1]).engine == "spark"
    pid = service.status().pid
    assert pid is not None
    family = descendants(pid)
    service.stop()
    _, alive = psutil.wait_procs(family, timeout=10)
    assert alive == []
    assert [p.name for p in scratch.iterdir() if p.is_dir()] == []


SERVER = """
import sys, time
from pathlib import Path
from controlplane.converger.tick.planning import PlanningService, PlanningSettings
from spark.supervisor import WorkerSettings
scratch = Path(sys.argv[1])
service = PlanningService(PlanningSettings(worker=WorkerSettings(scratch=scratch, log=scratch / "log2")))
service.warm_up()
while service.status().pid is None:
    time.sleep(0.05)
print(service.status().pid, flush=True)
time.sleep(600)
"""


def test_a_server_killed_takes_its_worker_and_its_java_along(scratch: Path) -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(scratch)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    assert server.stdout is not None
    worker = psutil.Process(int(server.stdout.readline()))
    until(lambda: any("java" in p.name() for p in worker.children(recursive=True)), "Java runs", timeout_s=60)
    family = descendants(worker.pid)
    server.kill()
    server.wait()
    server.stdout.close()
    _, alive = psutil.wait_procs(family, timeout=30)
    assert alive == []
