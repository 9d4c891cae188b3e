"""Drain and rebalance plans for the converger: on Spark when its worker is up, by the same kernel in this process
when it is not.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

from planner.drain.codec import Answer as DrainAnswer
from planner.drain.infeasible import Infeasible
from planner.drain.plan import DrainPlan, Engine
from planner.drain.request import DrainRequest
from planner.kinds import DRAIN, REBALANCE, Answer, PlanKind, Request
from planner.rebalancing.codec import Answer as RebalanceAnswer
from planner.rebalancing.question import RebalanceQuestion
from spark.supervisor import NotOnSpark, RawAnswer, WorkerSettings, WorkerStatus, WorkerSupervisor

_log = logging.getLogger(__name__)


class PlannerUnavailable(RuntimeError):
    """Spark is required and gave no usable answer. What now: retry later; the message says what stands in the
    way.
    """


@dataclass(frozen=True, slots=True)
class PlanningSettings:
    """`require_spark`: wait for Spark, up to `required_wait_s` in all, and never answer in-process.

    Without `use_spark` no worker is ever started and every plan is made in-process.
    """

    worker: WorkerSettings = field(default_factory=WorkerSettings)
    use_spark: bool = True
    require_spark: bool = False
    required_wait_s: float = 240.0


@dataclass(frozen=True, slots=True)
class PlannedResult(Generic[Request, Answer]):
    """An answer and who gave it. `answer_bytes` is canonical: a plan's are the bytes to store and hash.

    `note` says why it was not Spark, empty when it was.
    """

    request: Request
    answer: Answer
    answer_bytes: bytes
    engine: Engine
    seconds: float
    note: str = ""

    @property
    def plan(self: "PlannedResult[Any, DrainAnswer]") -> DrainPlan | None:
        """A drain's."""
        return self.answer if isinstance(self.answer, DrainPlan) else None

    @property
    def infeasible(self: "PlannedResult[Any, DrainAnswer]") -> Infeasible | None:
        """A drain's."""
        return self.answer if isinstance(self.answer, Infeasible) else None


PlannedDrain = PlannedResult[DrainRequest, DrainAnswer]
PlannedRebalance = PlannedResult[RebalanceQuestion, RebalanceAnswer]


class PlanningService:
    """Thread-safe. `stop` ends the worker and its JVM for certain; use as a context manager where possible."""

    def __init__(self, settings: PlanningSettings | None = None, *, supervisor: WorkerSupervisor | None = None) -> None:
        self._settings = settings or PlanningSettings()
        self._supervisor = supervisor or WorkerSupervisor(self._settings.worker)
        self._note = ""

    def __enter__(self) -> "PlanningService":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def warm_up(self) -> None:
        """Start the worker in the background (its session takes 7 to 18 s), if Spark is used. Returns at once."""
        if self._settings.use_spark:
            self._supervisor.start()

    def status(self) -> WorkerStatus:
        return self._supervisor.status()

    def why_not_spark(self) -> str | None:
        """Why the last plan was not made on Spark, "" where it was or none was made; None where no Spark is used."""
        return self._note if self._settings.use_spark else None

    def wait_until_ready(self, timeout_s: float) -> bool:
        """True once Spark can answer, False when the time is over before."""
        self.warm_up()
        return self._supervisor.wait_until_ready(timeout_s)

    def plan(self, request: DrainRequest) -> PlannedDrain:
        """One drain. Calls from several threads at once share a Spark job."""
        return self.plan_many((request,))[0]

    def plan_many(self, requests: Sequence[DrainRequest]) -> tuple[PlannedDrain, ...]:
        """An answer per drain, in order, from one Spark job; in-process when Spark is not up or lost
        mid-plan.

        Raises PlannerUnavailable, with `require_spark` only. Blocks for seconds: call it from a job.
        """
        return self._planned(DRAIN, requests)

    def balance(self, question: RebalanceQuestion) -> PlannedRebalance:
        """One rebalance, as `plan`. Those that wait share a Spark job of their own, behind the drains that wait."""
        return self._planned(REBALANCE, (question,))[0]

    def stop(self) -> None:
        """End the worker, its JVM and its scratch files. Later plans are made in-process."""
        self._supervisor.stop()

    def _planned(
        self, kind: PlanKind[Request, Answer], requests: Sequence[Request]
    ) -> tuple[PlannedResult[Request, Answer], ...]:
        if not requests:
            return ()
        if not self._settings.use_spark:
            return tuple(
                _in_process(kind, request, "Spark is off (KEDGE_PLANNER__SPARK_MASTER)") for request in requests
            )
        self.warm_up()
        started = time.monotonic()
        try:
            required = self._settings.require_spark
            raw = self._insisted(kind, requests) if required else self._supervisor.answers(kind, requests)
        except NotOnSpark as why:
            self._note = str(why)
            return tuple(_in_process(kind, request, self._note) for request in requests)
        seconds = time.monotonic() - started
        judged = [self._judged(kind, request, found, seconds) for request, found in zip(requests, raw, strict=True)]
        self._note = next((plan.note for plan in judged if plan.note), "")
        return tuple(judged)

    def _insisted(self, kind: PlanKind[Request, Any], requests: Sequence[Request]) -> list[RawAnswer]:
        """Until Spark answers: a job lost with its worker is tried again on the next one."""
        deadline = time.monotonic() + self._settings.required_wait_s
        why = "it did not start in time"
        while self._supervisor.wait_until_ready(max(0.0, deadline - time.monotonic())):
            try:
                return self._supervisor.answers(kind, requests)
            except NotOnSpark as lost:
                why = str(lost)
            if time.monotonic() > deadline or self._supervisor.pause(1.0):
                break
        raise PlannerUnavailable(
            f"Spark is required for {kind.name} plans and gave none within {self._settings.required_wait_s:.0f} s: "
            f"{why}; Spark is {self.status()}. Try again later, or allow in-process plans"
        )

    def _judged(
        self, kind: PlanKind[Request, Answer], request: Request, found: RawAnswer, seconds: float
    ) -> PlannedResult[Request, Answer]:
        """Spark's answer, when it answers this very request and its own second check found nothing."""
        try:
            answer = kind.from_bytes(found.answer_bytes)
        except (ValueError, KeyError) as error:
            return self._distrusted(kind, request, f"it cannot be read: {error}")
        if kind.answers(answer) != kind.asked(request):
            return self._distrusted(kind, request, "it answers another request")
        if found.violations:
            return self._distrusted(kind, request, f"it breaks rules: {'; '.join(found.violations)}")
        return PlannedResult(request, answer, found.answer_bytes, "spark", seconds)

    def _distrusted(
        self, kind: PlanKind[Request, Answer], request: Request, why: str
    ) -> PlannedResult[Request, Answer]:
        if self._settings.require_spark:
            _, asked, _ = kind.asked(request)
            raise PlannerUnavailable(f"Spark's answer to {kind.name} {asked} is refused: {why}")
        return _in_process(kind, request, f"Spark's answer is refused: {why}")


def balanced(planning: PlanningService, question: RebalanceQuestion) -> RebalanceAnswer:
    """The answer to one rebalance; the log says why when it is not Spark's."""
    result = planning.balance(question)
    if result.note:
        _log.warning("rebalance %s was planned in-process: %s", question.request.rebalance_id, result.note)
    return result.answer


def _in_process(kind: PlanKind[Request, Answer], request: Request, why: str) -> PlannedResult[Request, Answer]:
    started = time.monotonic()
    answer = kind.solve(request, "in-process")
    return PlannedResult(request, answer, kind.to_bytes(answer), "in-process", time.monotonic() - started, why)
