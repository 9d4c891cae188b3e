"""/v1/clusters/NAME: the moves that run, and faults brought about on purpose."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query

from controlplane.api.cluster_lookup import living
from controlplane.api.given_commands import carry_out
from controlplane.api.paging import MOST_ON_A_PAGE, Most, Turning
from controlplane.api.problems import ApiError
from controlplane.api.request_identity import Heading
from controlplane.api.schemas import (
    chaos as chaos_api,
    commands as command_api,
    messages as message_api,
)
from controlplane.api.services import PortalServices, Services
from controlplane.background.game_days.full_health import full_health
from controlplane.cluster.commands import AdoptMoves, CommandHead, InjectChaos, TakeBackMoves
from controlplane.cluster.view import ChaosView, ClusterView
from controlplane.commands.chaos_injection import recorded_and_done
from planner.observed import KafkaSnapshot, PartitionSeen
from planner.pulse import MovePulse
from planner.stuck_moves import MoveContext, hung_moves
from providers.errors import ProviderError
from providers.harm import CannotHarm

router = APIRouter(prefix=message_api.API_PREFIX, tags=["chaos"])

AfterMove = Annotated[
    str,
    Query(max_length=260, pattern=r"^(.+-[0-9]{1,9})?$", description="the last of the page before as TOPIC-PARTITION"),
]


@router.get("/clusters/{name}/moves", responses={409: {"description": "its Kafka was not read yet by this server"}})
def moves(
    name: str, services: Services, turn: Turning, after: AfterMove = "", limit: Most = MOST_ON_A_PAGE
) -> chaos_api.MovesOut:
    """The reassignments that run, by topic and partition: whose they are, how old, and why one hangs.

    `after` need not run any more: moves end between two pages.
    """
    view = living(services, name)
    kafka = services.fleet.clusters.last_snapshot(view.uid)
    if kafka is None or view.document is None:
        then = "Try again when its brokers are up: `kedge describe` says what it waits for."
        raise ApiError(409, "kafka-unknown", f"Kafka of {name} was not read yet by this server", next_step=then)
    pulses = services.fleet.clusters.last_moves(view.uid).pulses
    around = MoveContext(services.fleet.clusters.traffic(view.uid).write_bytes_per_s)
    patience = timedelta(seconds=view.document.spec.healing.hung_after_s)
    hung = {h.name: h.sentence for h in hung_moves(kafka, pulses, around, patience)}
    running = {(p.name.topic, p.name.partition): p for p in kafka.moving()}
    left = [running[place] for place in sorted(running) if place > _place_of(after)]
    page = turn.page(left, lambda p: p.name, limit)
    return chaos_api.MovesOut(
        cluster=name,
        metadata_age_s=_age_s(services, kafka),
        moves=[_move_out(view, kafka, p, pulses.get(p.name), hung.get(p.name, "")) for p in page],
    )


def _place_of(after: str) -> tuple[str, int]:
    topic, _, number = after.rpartition("-")
    return topic, int(number or -1)


@router.post("/clusters/{name}/moves/take-back")
def take_back(body: chaos_api.MovesIn, services: Services, head: Heading) -> command_api.CommandOut:
    """Have moves that no plan of Kedge names go back to the replicas before."""
    partitions = tuple(body.partitions)
    command = TakeBackMoves(**head, reason=body.reason, partitions=partitions)
    return carry_out(services, command)


@router.post("/clusters/{name}/moves/adopt")
def adopt(body: chaos_api.MovesIn, services: Services, head: Heading) -> command_api.CommandOut:
    """Moves of others are known: waited for, and not told any more."""
    partitions = tuple(body.partitions)
    command = AdoptMoves(**head, reason=body.reason, partitions=partitions)
    return carry_out(services, command)


@router.post("/clusters/{name}/chaos")
def inject(body: chaos_api.ChaosIn, services: Services, head: Heading) -> chaos_api.ChaosOut:
    """Bring about a fault. It is recorded first, then done."""
    living(services, head["name"])
    return brought_about(services, injection(head, body))


@router.get("/clusters/{name}/health")
def health(name: str, services: Services) -> chaos_api.HealthOut:
    """Whether the cluster is in full health, by the last look of this server and its agents' last words."""
    view = living(services, name)
    kafka = services.fleet.clusters.last_snapshot(view.uid)
    seen = full_health(view, kafka, services.cluster.latest)
    return chaos_api.HealthOut.like(
        seen,
        cluster=name,
        healthy=seen.is_full,
        metadata_age_s=_age_s(services, kafka) if kafka else None,
        open=[_chaos_out(c, "") for c in view.requests.chaos.values()],
        head=view.version,
    )


def injection(head: CommandHead, asked: chaos_api.ChaosIn) -> InjectChaos:
    """The command for what somebody asked for, on a page or as a program."""
    return InjectChaos(**head, **asked.model_dump(exclude={"vms"}), keys=tuple(asked.vms))


def brought_about(services: PortalServices, command: InjectChaos) -> chaos_api.ChaosOut:
    """A fault: recorded, then done, once however often the command is sent. Raises CommandRefused, ApiError."""
    try:
        done = recorded_and_done(services.cluster.commands, services.cluster.harm, command)
    except (CannotHarm, ProviderError) as error:
        raise ApiError(409, "cannot-harm", str(error), next_step="Choose another fault.") from error
    if done.chaos is None:
        title = f"{command.fault} of {command.name} is over"
        raise ApiError(409, "chaos-over", title, next_step=f"kedge events {command.name}")
    services.cluster.wake(done.view.uid)
    return _chaos_out(done.chaos, done.sentence)


def _move_out(
    view: ClusterView, kafka: KafkaSnapshot, partition: PartitionSeen, pulse: MovePulse | None, hung: str
) -> chaos_api.MoveOut:
    name = str(partition.name)
    leaving = view.moves.drain.outgoing if view.moves.drain else ()
    return chaos_api.MoveOut(
        topic=partition.name.topic,
        partition=partition.name.partition,
        replicas=list(partition.replicas),
        target=list(partition.target),
        isr=list(partition.isr),
        of_kedge=view.moves.rebalance is not None or bool(set(leaving) & set(partition.replicas)),
        age_s=(kafka.at - pulse.began).total_seconds() if pulse else None,
        still_s=(kafka.at - pulse.grew_at).total_seconds() if pulse else None,
        asked=view.moves.stuck.cancelling.get(name, "") or view.moves.stuck.adopted.get(name, ""),
        hung=hung,
    )


def _chaos_out(chaos: ChaosView, sentence: str) -> chaos_api.ChaosOut:
    return chaos_api.ChaosOut.like(
        chaos,
        chaos=chaos.id,
        vms=list(chaos.keys),
        sentence=sentence or f"{chaos.fault} of {', '.join(chaos.keys)}, {chaos.reason}",
    )


def _age_s(services: PortalServices, kafka: KafkaSnapshot) -> float:
    return max(0.0, (services.clock() - kafka.at).total_seconds())
