"""A server that lost its lease interrupts its Terraform once; whoever leads next finds a whole state and goes on."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from controlplane.converger.tick.runner import ThreadRunner
from controlplane.storage.job import Job, JobState
from events.ids import Epoch, IntentId
from planner.drain.solve import solve
from planner.rebalancing.ask import answered
from providers import process
from providers.base import InstanceState, TerraformRun
from tests.fakes.jobs import MemoryJobStore
from tests.fakes.plans import MemoryPlanStore
from tests.fakes.resources import attachment, instance, resources, surge, volume
from tests.terraform.conftest import Bench

pytestmark = pytest.mark.terraform

WANTED = resources(instance("b-0"), volume("b-0"), attachment("b-0.g1", "b-0.data.v1"))
ONE, TWO = Epoch(1), Epoch(2)
WAIT_S = 30.0


@dataclass
class Servers:
    """Two servers on one job store and one state; `leading` holds the epoch that may act."""

    bench: Bench
    jobs: MemoryJobStore = field(default_factory=MemoryJobStore)
    leading: set[Epoch] = field(default_factory=lambda: {ONE})
    started: list[ThreadRunner] = field(default_factory=list)

    def start(self, owner: str) -> ThreadRunner:
        runner = ThreadRunner(
            self.jobs,
            MemoryPlanStore(),
            owner=owner,
            run_terraform=self._run,
            solve=solve,
            balance=answered,
            wake=lambda _: None,
            leads=self.leading.__contains__,
            look_s=0.05,
        )
        self.started.append(runner)
        return runner

    def wait(self, job: str, ended: Callable[[Job], bool]) -> Job:
        def is_so() -> bool:
            found = self.jobs.get(IntentId(job))
            return found is not None and ended(found)

        wait_for(is_so)
        found = self.jobs.get(IntentId(job))
        assert found is not None
        return found

    def _run(self, run: TerraformRun, _tell: Any, stop: threading.Event) -> Mapping[str, str]:
        return self.bench.execute(run, stop=stop).instances


@pytest.fixture
def servers(bench: Bench) -> Iterator[Servers]:
    made = Servers(bench)
    yield made
    for runner in made.started:
        runner.stop()


def wait_for(condition: Callable[[], bool]) -> None:
    assert process.wait_until(condition, timeout_s=WAIT_S), "not in time"


def in_creation(bench: Bench) -> bool:
    path = bench.vm_dir("b-0.g1") / "vm.json"
    return path.exists() and json.loads(path.read_text())["launched"] is None


def test_on_a_lost_lease_terraform_saves_its_state_and_the_successor_finishes(servers: Servers) -> None:
    bench = servers.bench
    bench.cloud.faults.set_vm("slow_create_s", {"*": 60})
    first, second = servers.start("first"), servers.start("second")
    first.terraform("i.0", surge(WANTED), epoch=ONE)
    wait_for(partial(in_creation, bench))
    servers.leading.clear()
    lost = servers.wait("i.0", lambda job: job.state is JobState.FAILED)
    assert (lost.error_class, "its state is saved" in str(lost.error_message)) == ("RunInterrupted", True)
    assert bench.terraform_processes() == (), "neither Terraform nor a provisioner is left"
    held = json.loads(bench.state().path.read_text())
    assert "volume" in {r["name"] for r in held["resources"]}, "what was done before is in the state"

    bench.cloud.faults.clear()
    servers.leading.add(TWO)
    second.terraform("i.1", surge(WANTED), epoch=TWO)
    servers.wait("i.1", lambda job: job.state is JobState.SUCCEEDED)
    assert bench.vm("b-0.g1").state is InstanceState.RUNNING
    assert bench.vm("b-0.g1").volumes == ("b-0.data.v1",)


def test_a_successor_that_does_not_wait_is_kept_out_until_the_first_run_has_ended(servers: Servers) -> None:
    bench = servers.bench
    bench.cloud.faults.set_vm("slow_create_s", {"*": 60})
    first, second = servers.start("first"), servers.start("second")
    first.terraform("i.0", surge(WANTED), epoch=ONE)
    wait_for(partial(in_creation, bench))
    servers.leading.add(TWO)
    second.terraform("i.1", surge(WANTED), epoch=TWO)
    refused = servers.wait("i.1", lambda job: job.state is JobState.FAILED)
    assert refused.error_class == "RunInProgress"
    servers.leading.discard(ONE)
    assert servers.wait("i.0", lambda job: job.state is JobState.FAILED).error_class == "RunInterrupted"
