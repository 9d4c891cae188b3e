"""What a server acts and looks with: clouds, brokers, the planner, and the threads that carry long acts."""

import logging
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Engine

from controlplane.cluster.gateways import Gateways, judged
from controlplane.cluster.server_identities import ServerIdentities
from controlplane.converger.tick.inventory import ListedInventory
from controlplane.converger.tick.lake_rates import with_lake_figures, with_lake_rates
from controlplane.converger.tick.planning import PlanningService, PlanningSettings, balanced
from controlplane.converger.tick.run_pool import runs_by_memory
from controlplane.converger.tick.runner import ThreadRunner
from controlplane.converger.tick.scheduler import Bell
from controlplane.runtime.redaction import redacted
from controlplane.server.assembly.core import Ground
from controlplane.server.assembly.drift import run_audit
from controlplane.server.assembly.networks import run_network
from controlplane.server.assembly.terraform_states import SharedClouds, still_in_force
from controlplane.server.clouds import Clouds
from controlplane.server.settings import Settings
from controlplane.server.telemetry_in_force import telemetry_in_force
from controlplane.server.terraform_runs import module_root, run_terraform
from controlplane.storage.home_binding import HTTP, homes_of
from events.clock import utc_now
from planner.drain.infeasible import Infeasible
from planner.drain.plan import DrainPlan
from planner.drain.request import DrainRequest
from planner.rebalancing.plan import RebalancePlan, Unplanned
from planner.rebalancing.question import RebalanceQuestion
from providers.networks import MadeNetworks
from spark.supervisor import WorkerSettings

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Hands:
    """`bell` wakes the loop when something of theirs has ended."""

    bell: Bell
    clouds: SharedClouds
    planning: PlanningService
    runner: ThreadRunner
    gateways: Gateways
    inventory: ListedInventory


def hands_of(ground: Ground, networks: MadeNetworks) -> Hands:
    """Nothing runs but thread pools that wait. `networks` says what Kedge's own network at a place is made of."""
    settings, bell = ground.settings, Bell()
    clouds = SharedClouds(
        Clouds(settings, ground.installation.id, networks=networks), partial(_homes, ground.engine, settings)
    )
    planning = _planning(settings)
    return Hands(
        bell=bell,
        clouds=clouds,
        planning=planning,
        runner=_runner(ground, bell, clouds, planning),
        gateways=judged(
            settings.allow.brokers_allowed,
            server_key=ground.installation.server_key,
            identities=ServerIdentities(ground.cluster_authorities, client_files=settings.kafka.client_properties),
        ),
        inventory=ListedInventory(clouds, utc_now),
    )


def _planning(settings: Settings) -> PlanningService:
    worker = WorkerSettings(
        master=settings.planner.spark_master,
        scratch=settings.home / "spark",
        log=settings.home / "spark.log",
        redact=redacted,
    )
    return PlanningService(
        PlanningSettings(
            worker=worker, use_spark=settings.planner.uses_spark, require_spark=settings.planner.require_spark
        )
    )


def _runner(ground: Ground, bell: Bell, clouds: SharedClouds, planning: PlanningService) -> ThreadRunner:
    settings, candidate, storage = ground.settings, ground.candidate, ground.storage
    in_force = partial(still_in_force, ground.engine, storage)
    files = module_root(settings), clouds, storage.states, in_force
    return ThreadRunner(
        ground.jobs,
        ground.plans,
        owner=candidate.owner,
        run_terraform=partial(run_terraform, settings, clouds, storage.states, in_force),
        run_network=partial(run_network, *files),
        run_audit=partial(run_audit, *files),
        solve=partial(_solve, planning, telemetry_in_force(settings).lake),
        balance=partial(_balance, planning, telemetry_in_force(settings).lake),
        wake=partial(bell.ring, at_once=True),
        leads=lambda epoch: candidate.held_epoch() == epoch,
        terraform_runs=settings.terraform.runs or runs_by_memory(),
        runs_of_account=settings.terraform.runs_per_account,
    )


def _homes(engine: Engine, settings: Settings) -> int:
    """How many homes share the database: one, where no other could have joined."""
    return len(homes_of(engine)) if settings.terraform.state == HTTP else 1


def _solve(planning: PlanningService, lake: str, request: DrainRequest) -> DrainPlan | Infeasible:
    result = planning.plan(with_lake_rates(request, lake, now=utc_now()) if lake else request)
    if result.note:
        _log.warning("drain %s was planned in-process: %s", request.drain_id, result.note)
    return result.answer


def _balance(planning: PlanningService, lake: str, question: RebalanceQuestion) -> RebalancePlan | Unplanned:
    return balanced(planning, with_lake_figures(question, lake, now=utc_now()) if lake else question)
