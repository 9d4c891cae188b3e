"""Long acts on simulated time: Terraform runs and plans that end when the simulated clock says so."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from controlplane.converger.tick.runner import InfeasibleDrain, NoRebalance, PlanRefused, planned_rebalance, summary
from controlplane.storage.job import Job
from events.ids import ClusterUid, Epoch, IntentId
from planner.drain.check import check
from planner.drain.infeasible import Infeasible
from planner.drain.request import DrainRequest
from planner.drain.solve import solve
from planner.kinds import REBALANCE
from planner.observed import KafkaSnapshot
from planner.rebalancing.plan import RebalancePlan, Unplanned
from planner.rebalancing.question import RebalanceQuestion
from planner.rebalancing.request import RebalanceRequest
from providers.base import TerraformRun
from providers.errors import ProviderError

if TYPE_CHECKING:
    from tests.sim.world import World

RUN_S, PLAN_S = 2.0, 1.0

BATCH_S = 10.0
"""Batches of rebalances are short, so that stories have several."""


@dataclass(slots=True)
class _Due:
    at: float
    job_id: str
    epoch: Epoch
    work: Callable[[], dict[str, Any]]


class SimRunner:
    """Jobs that end when simulated time says so. A job of a dead server never ends; its half-done work may stay."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._due: list[_Due] = []
        self._done: list[tuple[float, partial[Job]]] = []
        """What is over and not told yet, and when it is."""

    def terraform(self, job_id: str, run: TerraformRun, *, epoch: Epoch) -> None:
        world = self._world
        world.points.reach(f"before run {run.kind}")
        world.saw(f"run {run.kind}", int(epoch))
        self._enqueue(job_id, run.resources.cluster_uid, RUN_S, epoch, lambda: world.terraform(run))
        world.points.reach(f"after run {run.kind} started")

    def planning(self, job_id: str, request: DrainRequest, snapshot: KafkaSnapshot, *, epoch: Epoch) -> None:
        self._enqueue(job_id, request.cluster_uid, PLAN_S, epoch, lambda: self._plan(request, snapshot))

    def balancing(self, job_id: str, request: RebalanceRequest, snapshot: KafkaSnapshot, *, epoch: Epoch) -> None:
        plans, request = self._world.plans, replace(request, batch_s=BATCH_S)
        self._enqueue(
            job_id,
            request.cluster_uid,
            PLAN_S,
            epoch,
            lambda: dict(planned_rebalance(request, snapshot, plans, _balanced)),
        )

    def advance(self) -> None:
        for due in [d for d in self._due if d.at <= self._world.seconds]:
            self._due.remove(due)
            job = IntentId(due.job_id)
            try:
                result = due.work()
            except (InfeasibleDrain, NoRebalance, PlanRefused, ProviderError, RuntimeError) as error:
                name = "Infeasible" if isinstance(error, InfeasibleDrain) else type(error).__name__
                told = partial(self._world.jobs.fail, job, epoch=due.epoch, error_class=name, error_message=str(error))
            else:
                told = partial(self._world.jobs.succeed, job, epoch=due.epoch, result=result)
            self._done.append((self._world.seconds + self._world.told_late_s, told))
        for at, told in [d for d in self._done if d[0] <= self._world.seconds]:
            self._done.remove((at, told))
            told()

    def _enqueue(self, job_id: str, uid: str, seconds: float, epoch: Epoch, work: Callable[[], dict[str, Any]]) -> None:
        job = self._world.jobs.create(
            IntentId(job_id), cluster_uid=ClusterUid(uid), kind="sim", epoch=epoch, owner="sim"
        )
        if job.started_at is None:
            self._world.jobs.start(IntentId(job_id), epoch=epoch, owner="sim")
            self._due.append(_Due(self._world.seconds + seconds, job_id, epoch, work))

    def _plan(self, request: DrainRequest, snapshot: KafkaSnapshot) -> dict[str, Any]:
        answer = solve(request)
        if isinstance(answer, Infeasible):
            raise InfeasibleDrain(answer.message)
        violations = check(answer, snapshot, request)
        if violations:
            raise PlanRefused(str(violations[0]))
        return summary(answer, self._world.plans.put(answer.to_bytes()))


def _balanced(question: RebalanceQuestion) -> RebalancePlan | Unplanned:
    return REBALANCE.solve(question, "in-process")
