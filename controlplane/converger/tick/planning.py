"""Drain and rebalance plans for the converger: on Spark when its worker is up, by the same kernel in this process
when it is not.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Generic

from planner.drain.codec import Answer as DrainAnswer
from planner.drain.infeasible import Infeasible
from planner.drain.plan import DrainPlan, Engine
from planner.drain.request import DrainRequest
from planner.kinds import DRAIN, REBALANCE, Answer, PlanKind, PlanTask, Request
from planner.rebalancing.codec import Answer as RebalanceAnswer
from planner.rebalancing.question import RebalanceQuestion
from spark.plan_jobs import Away, NotOnSpark, PlanningTotals, RawAnswer
from spark.supervisor import WorkerSettings, WorkerStatus, WorkerSupervisor

_log = logging.getLogger(__name__)

IN_PROCESS_AT_ONCE = 4
"""Plans the server makes at once itself; the others wait."""


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
        self._notes: dict[str, str] = {}
        self._counting = threading.Lock()
        self._in_process: Counter[Away] = Counter()
        self._solving = threading.Semaphore(IN_PROCESS_AT_ONCE)

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

    def why_not_spark(self, cluster_uid: str) -> str | None:
        """Why the last plan of that cluster was not made on Spark, "" where it was or none was made; None where no
        Spark is used."""
        with self._counting:
            return self._notes.get(cluster_uid, "") if self._settings.use_spark else None

    def why_waiting(self) -> str:
        """What plans wait for where they have to be Spark's: "Spark is starting". "" where it is up, or not needed."""
        status = self.status()
        waits = self._settings.use_spark and self._settings.require_spark and status.state != "ready"
        return f"Spark is {status}" if waits else ""

    def totals(self) -> PlanningTotals | None:
        """How planning did since the server began; None where no Spark is used."""
        if not self._settings.use_spark:
            return None
        with self._counting:
            counted = dict(self._in_process)
        return PlanningTotals(self._supervisor.totals(), counted, self._settings.require_spark)

    def wait_until_ready(self, timeout_s: float) -> bool:
        """True once Spark can answer, False when the time is over before."""
        self.warm_up()
        return self._supervisor.wait_until_ready(timeout_s)

    def plan(self, request: DrainRequest) -> PlannedDrain:
        """One drain. Calls from several threads at once share a Spark job."""
        return self.plan_many((request,))[0]

    def plan_many(self, requests: Sequence[DrainRequest]) -> tuple[PlannedDrain, ...]:
        """An answer per drain, in order, from one Spark job. What Spark does not answer is planned in-process.

        Raises PlannerUnavailable, with `require_spark` only. Blocks for seconds: call it from a job.
        """
        return self._planned(DRAIN, requests)

    def balance(self, question: RebalanceQuestion) -> PlannedRebalance:
        """One rebalance, as `plan`, in one job with the drains that wait."""
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
            why = NotOnSpark("Spark is off (KEDGE_PLANNER__SPARK_MASTER)", "off")
            return tuple(self._in_process_plan(kind, request, why) for request in requests)
        self.warm_up()
        started = time.monotonic()
        tasks = [PlanTask(kind, request) for request in requests]
        found = self._insisted(tasks) if self._settings.require_spark else self._asked(tasks)
        seconds = time.monotonic() - started
        judged = tuple(self._judged(kind, request, raw, seconds) for request, raw in zip(requests, found, strict=True))
        with self._counting:
            for result in judged:
                uid, _, _ = kind.asked(result.request)
                self._notes.pop(uid, None)
                if result.note:
                    self._notes[uid] = result.note
        return judged

    def _asked(self, tasks: Sequence[PlanTask]) -> list[RawAnswer | NotOnSpark]:
        """Each one's answer, or why Spark gave it none."""
        try:
            answers = self._supervisor.ask(tasks)
        except NotOnSpark as why:
            return [why] * len(tasks)
        return [_answer_or_why(answer) for answer in answers]

    def _insisted(self, tasks: Sequence[PlanTask]) -> list[RawAnswer | NotOnSpark]:
        """Until Spark answers: what its worker took along is tried again on the next one. Raises PlannerUnavailable."""
        deadline = time.monotonic() + self._settings.required_wait_s
        found: list[RawAnswer | NotOnSpark] = [NotOnSpark("it did not start in time", "not ready")] * len(tasks)
        while self._supervisor.wait_until_ready(max(0.0, deadline - time.monotonic())):
            left = [n for n, one in enumerate(found) if isinstance(one, NotOnSpark)]
            for n, one in zip(left, self._asked([tasks[n] for n in left]), strict=True):
                found[n] = one
            lost = [one for one in found if isinstance(one, NotOnSpark)]
            if not lost:
                return found
            if time.monotonic() > deadline or self._supervisor.pause(1.0):
                break
        why = next(one for one in found if isinstance(one, NotOnSpark))
        raise PlannerUnavailable(
            f"Spark is required for {tasks[0].kind.name} plans and gave none within "
            f"{self._settings.required_wait_s:.0f} s: {why}; Spark is {self.status()}. It is tried again; or allow "
            "in-process plans (planner.require_spark)"
        )

    def _judged(
        self, kind: PlanKind[Request, Answer], request: Request, found: RawAnswer | NotOnSpark, seconds: float
    ) -> PlannedResult[Request, Answer]:
        """Spark's answer, when it answers this very request and its own second check found nothing."""
        if isinstance(found, NotOnSpark):
            return self._in_process_plan(kind, request, found)
        if found.failure:
            return self._distrusted(kind, request, f"the planner failed: {found.failure.splitlines()[-1]}")
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
        return self._in_process_plan(kind, request, NotOnSpark(f"Spark's answer is refused: {why}", "refused"))

    def _in_process_plan(
        self, kind: PlanKind[Request, Answer], request: Request, why: NotOnSpark
    ) -> PlannedResult[Request, Answer]:
        """A few at a time: they take the server's own memory and processors."""
        if why.away != "off":
            with self._counting:
                self._in_process[why.away] += 1
        with self._solving:
            return _in_process(kind, request, str(why))


def balanced(planning: PlanningService, question: RebalanceQuestion) -> RebalanceAnswer:
    """The answer to one rebalance; the log says why when it is not Spark's."""
    result = planning.balance(question)
    if result.note:
        _log.warning("rebalance %s was planned in-process: %s", question.request.rebalance_id, result.note)
    return result.answer


def _answer_or_why(answer: "Future[RawAnswer]") -> RawAnswer | NotOnSpark:
    try:
        return answer.result()
    except NotOnSpark as why:
        return why


def _in_process(kind: PlanKind[Request, Answer], request: Request, why: str) -> PlannedResult[Request, Answer]:
    started = time.monotonic()
    answer = kind.solve(request, "in-process")
    return PlannedResult(request, answer, kind.to_bytes(answer), "in-process", time.monotonic() - started, why)
