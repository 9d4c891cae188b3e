"""Long acts on threads of their own: Terraform runs and plan computations. How they end is written to the job store.

A job whose server died stays `running` in the store; the next epoch fails it as `RunInterrupted` (`reclaim`), and the
open intent is tried again. That is safe: every run is idempotent by intent id, and Terraform dies with its parent. A
server that lives on without its lease interrupts its runs: whoever leads then waits for their state to be free.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any

from controlplane.converger.tick.run_pool import RunPool
from controlplane.storage.job import IllegalJobStep, StaleEpoch
from controlplane.storage.job_store import JobStore
from controlplane.storage.log_context import logged
from controlplane.storage.plan_store import PlanStore
from events.errors import StoreUnavailable
from events.ids import ClusterUid, Epoch, IntentId
from planner.drain.check import check
from planner.drain.infeasible import Infeasible
from planner.drain.plan import DrainPlan
from planner.drain.request import DrainRequest
from planner.observed import KafkaSnapshot
from planner.rebalancing.check import check as check_rebalance
from planner.rebalancing.plan import RebalancePlan, Unplanned
from planner.rebalancing.question import RebalanceQuestion, question_of
from planner.rebalancing.request import RebalanceRequest
from providers import audits, base, errors, networks

_log = logging.getLogger(__name__)

Progress = Callable[[str], None]
RunTerraform = Callable[[base.TerraformRun, Progress, threading.Event], Mapping[str, str]]
"""Returns instance key -> the cloud's id, of what the run was to make and the state has."""
RunNetwork = Callable[[networks.NetworkRun, Progress, threading.Event], Mapping[str, Any]]
"""Returns the settings the network's module gives, empty after its removal."""
RunAudit = Callable[[audits.Audit, Progress, threading.Event], Mapping[str, Any]]
"""Returns what was found, as JSON."""
Solve = Callable[[DrainRequest], DrainPlan | Infeasible]
Balance = Callable[[RebalanceQuestion], RebalancePlan | Unplanned]
Work = Callable[[threading.Event], Mapping[str, Any]]

HEARTBEAT_S = 5.0
PLANNING_THREADS = 64
"""Clusters whose plans can be waited for at once: so many go into one job of Spark. Their threads wait there."""

LOOK_S = 1.0
"""How often a running job is asked whether its server still leads. Far below a lease term, and it costs no call."""


def _not_built(*_: object) -> Mapping[str, Any]:
    raise LookupError("this server was built without a way to do that")


class ThreadRunner:
    """A `Runner` and `AuditRunner` of jobs on a few threads. `owner` names this server process."""

    def __init__(
        self,
        jobs: JobStore,
        plans: PlanStore,
        *,
        owner: str,
        run_terraform: RunTerraform,
        solve: Solve,
        balance: Balance,
        wake: Callable[[str], None],
        leads: Callable[[Epoch], bool] = lambda _epoch: True,
        look_s: float = LOOK_S,
        terraform_runs: int = 4,
        runs_of_account: int = 4,
        planning_threads: int = PLANNING_THREADS,
        run_network: RunNetwork = _not_built,
        run_audit: RunAudit = _not_built,
    ) -> None:
        """`leads`: whether this server still acts under that epoch, as far as it knows without asking anybody."""
        self._jobs = jobs
        self._plans = plans
        self._owner = owner
        self._run_terraform = run_terraform
        self._run_network = run_network
        self._run_audit = run_audit
        self._solve = solve
        self._balance = balance
        self._wake = wake
        self._leads = leads
        self._look_s = look_s
        self._stops: set[threading.Event] = set()
        """One of each job that waits or runs: set once, when it is to end early."""
        self._runs = RunPool(runs=terraform_runs, of_account=runs_of_account)
        # How many audits run at once is their reconciler's business; no run ever waits for one.
        self._audits = ThreadPoolExecutor(terraform_runs, thread_name_prefix="audit")
        self._planners = ThreadPoolExecutor(planning_threads, thread_name_prefix="planning")
        # Threads of their own: a roll's drain does not wait for the plan of a rebalance.
        self._balancers = ThreadPoolExecutor(planning_threads, thread_name_prefix="balancing")
        self.progress: dict[str, str] = {}

    def terraform(self, job_id: str, run: base.TerraformRun, *, epoch: Epoch) -> None:
        self._submit(
            self._turn_of(job_id, run.resources.place),
            job_id,
            run.resources.cluster_uid,
            f"terraform-{run.kind}",
            epoch,
            lambda stop: self._terraform(job_id, run, stop),
        )

    def network(self, job_id: str, run: networks.NetworkRun, *, epoch: Epoch) -> None:
        """See NetworkRunner. Its row stands under the network's key, as a cluster's does under its uid."""

        def work(stop: threading.Event) -> Mapping[str, Any]:
            return {"settings": dict(self._run_network(run, self._teller(job_id), stop))}

        self._submit(self._turn_of(job_id, run.place), job_id, run.key, str(run.kind), epoch, work)

    def audit(self, job_id: str, audit: audits.Audit, *, epoch: Epoch) -> None:
        self._submit(
            self._audits.submit,
            job_id,
            audit.of,
            "audit",
            epoch,
            lambda stop: self._run_audit(audit, self._teller(job_id), stop),
        )

    def planning(self, job_id: str, request: DrainRequest, snapshot: KafkaSnapshot, *, epoch: Epoch) -> None:
        self._submit(
            self._planners.submit,
            job_id,
            request.cluster_uid,
            "drain-plan",
            epoch,
            lambda _: self._plan(request, snapshot),
        )

    def balancing(self, job_id: str, request: RebalanceRequest, snapshot: KafkaSnapshot, *, epoch: Epoch) -> None:
        self._submit(
            self._balancers.submit,
            job_id,
            request.cluster_uid,
            "rebalance-plan",
            epoch,
            lambda _: planned_rebalance(request, snapshot, self._plans, self._balance),
        )

    def reclaim(self, epoch: Epoch) -> int:
        """Fails the open jobs of earlier epochs, whose server is gone. Returns how many."""
        stale = [j for j in self._jobs.open_jobs() if j.epoch < epoch]
        for job in stale:
            self._jobs.fail(
                job.intent_id, epoch=epoch, error_class="RunInterrupted", error_message=f"server {job.owner} is gone"
            )
        return len(stale)

    def end_runs(self) -> None:
        """Interrupts Terraform and waits until its states are saved. No run begins after this."""
        for stop in list(self._stops):
            stop.set()
        self._runs.shutdown()
        self._audits.shutdown(wait=True, cancel_futures=True)

    def stop(self) -> None:
        """Asks running jobs to end and waits for them. Interrupted runs are resumed by the next server."""
        for stop in list(self._stops):
            stop.set()
        self._runs.shutdown()
        for pool in (self._audits, self._planners, self._balancers):
            pool.shutdown(wait=True, cancel_futures=True)

    def _submit(
        self,
        begin: Callable[[Callable[[], None]], object],
        job_id: str,
        cluster_uid: str,
        kind: str,
        epoch: Epoch,
        work: Work,
    ) -> None:
        intent, uid = IntentId(job_id), ClusterUid(cluster_uid)
        created = self._jobs.create(intent, cluster_uid=uid, kind=kind, epoch=epoch, owner=self._owner)
        if created.owner == self._owner and created.epoch == epoch and created.started_at is None:
            stop = threading.Event()
            self._stops.add(stop)
            begin(partial(self._carry, intent, uid, kind, epoch, work, stop))

    def _turn_of(self, job_id: str, place: base.Place) -> Callable[[Callable[[], None]], None]:
        """Begins a run of a place once its account has room; until then its progress says what it waits for."""

        def begin(work: Callable[[], None]) -> None:
            waits = self._runs.submit(f"{place.cloud}/{place.account}", work)
            if waits:
                self.progress.setdefault(job_id, waits)

        return begin

    def _carry(
        self, job_id: IntentId, uid: ClusterUid, kind: str, epoch: Epoch, work: Work, stop: threading.Event
    ) -> None:
        self.progress.pop(job_id, None)
        with logged(cluster_uid=uid, intent=job_id, job=kind):
            self._work(job_id, uid, epoch, work, stop)

    def _work(self, job_id: IntentId, uid: ClusterUid, epoch: Epoch, work: Work, stop: threading.Event) -> None:
        ended = threading.Event()
        try:
            self._jobs.start(job_id, epoch=epoch, owner=self._owner)
            if not self._leads(epoch):
                stop.set()
            watch = partial(copy_context().run, self._watch, job_id, epoch, stop, ended)
            threading.Thread(target=watch, daemon=True).start()
            result = work(stop)
            self._jobs.succeed(job_id, epoch=epoch, result=result)
        except (StaleEpoch, IllegalJobStep) as lost:
            _log.warning("job %s was taken over: %s", job_id, lost)
        except Exception as error:  # noqa: BLE001 - a job's end must be recorded whatever ended it
            if not isinstance(error, errors.ProviderError | InfeasibleDrain | NoRebalance):
                _log.exception("job %s failed", job_id)
            self._fail(job_id, epoch, error)
        finally:
            ended.set()
            self._stops.discard(stop)
            self.progress.pop(job_id, None)
            self._wake(uid)

    def _fail(self, job_id: IntentId, epoch: Epoch, error: Exception) -> None:
        name = "Infeasible" if isinstance(error, InfeasibleDrain) else type(error).__name__
        try:
            self._jobs.fail(job_id, epoch=epoch, error_class=name, error_message=str(error))
        except (StaleEpoch, IllegalJobStep, StoreUnavailable) as lost:
            # Left as running: the next epoch reclaims it.
            _log.warning("the end of job %s could not be recorded: %s", job_id, lost)

    def _watch(self, job_id: IntentId, epoch: Epoch, stop: threading.Event, ended: threading.Event) -> None:
        """Beats while the job runs; has it end early, once, when this server does not lead any more."""
        beat_at_s = time.monotonic() + HEARTBEAT_S
        while not ended.wait(self._look_s):
            leads = self._leads(epoch)
            if leads and time.monotonic() >= beat_at_s:
                beat_at_s = time.monotonic() + HEARTBEAT_S
                leads = self._beat(job_id, epoch)
            if not leads:
                _log.warning("job %s is interrupted: this server does not lead any more", job_id)
                stop.set()
                return

    def _beat(self, job_id: IntentId, epoch: Epoch) -> bool:
        """False when the job was taken over."""
        try:
            self._jobs.heartbeat(job_id, epoch=epoch)
        except (StaleEpoch, IllegalJobStep):
            return False
        except Exception as error:  # noqa: BLE001 - who watches has to see, too, that this server leads no more
            _log.warning("no heartbeat for job %s: %s", job_id, error)
        return True

    def _terraform(self, job_id: str, run: base.TerraformRun, stop: threading.Event) -> Mapping[str, Any]:
        return {"instances": dict(self._run_terraform(run, self._teller(job_id), stop))}

    def _teller(self, job_id: str) -> Progress:
        return partial(self.progress.__setitem__, job_id)

    def _plan(self, request: DrainRequest, snapshot: KafkaSnapshot) -> Mapping[str, Any]:
        answer = self._solve(request)
        if isinstance(answer, Infeasible):
            raise InfeasibleDrain(answer.message)
        violations = check(answer, snapshot, request)
        if violations:
            raise PlanRefused(
                f"{len(violations)} rules broken, first: {violations[0].subject}: {violations[0].message}"
            )
        return summary(answer, self._plans.put(answer.to_bytes()))


def planned_rebalance(
    request: RebalanceRequest, snapshot: KafkaSnapshot, plans: PlanStore, balance: Balance
) -> Mapping[str, Any]:
    """Has it planned, and read by the independent judge, and stores it. Returns what the event carries. Raises
    NoRebalance, PlanRefused, and what `balance` raises.
    """
    plan = balance(question_of(request, snapshot))
    if isinstance(plan, Unplanned):
        raise NoRebalance(plan.message)
    violations = check_rebalance(
        plan.copies,
        snapshot,
        receivers=request.new or request.receivers,
        disk_limit_fraction=request.disk_limit_fraction,
        sets=request.sets,
    )
    if violations:
        raise PlanRefused(f"{len(violations)} rules broken, first: {violations[0]}")
    return {
        "sha256": plans.put(plan.to_bytes()),
        "engine": plan.copies.engine,
        "moves": len(plan.copies.moves),
        "bytes": sum(m.bytes for m in plan.copies.moves),
        "batches": len(plan.copies.checkpoints),
        "imbalance_before": plan.imbalance_before,
        "imbalance_after": plan.imbalance_after,
        "uneven_before": dict(plan.uneven_before),
        "uneven_after": dict(plan.uneven_after),
        "assumptions": list(plan.copies.certificate.assumptions),
        "goals": {g.goal: [g.broken_before, g.broken_after] for g in plan.goals if g.broken_before or g.broken_after},
    }


class InfeasibleDrain(Exception):
    """No plan exists; the message names the smallest thing to add. Give up until something changes."""


class NoRebalance(Exception):
    """The metadata is no state that can be planned on; the message says what is missing. Plan again then."""


class PlanRefused(Exception):
    """The independent judge refused the computed plan. Plan again; a bug if it repeats."""


def summary(plan: DrainPlan, sha256: str) -> dict[str, Any]:
    """What the event of a plan carries."""
    return {
        "sha256": sha256,
        "engine": plan.engine,
        "moves": len(plan.moves),
        "bytes": sum(m.bytes for m in plan.moves),
        "batches": len(plan.checkpoints),
        "certificate": plan.certificate.document(),
    }
