"""/v1/clusters/NAME: what is asked for single nodes, and whether it would be safe now."""

from typing import Annotated

from fastapi import APIRouter, Query

from controlplane.api.access.caller import Caller
from controlplane.api.cluster_lookup import living
from controlplane.api.given_commands import carry_out
from controlplane.api.paging import BelowNumber, Turning
from controlplane.api.past import At, Past, past_of, past_out
from controlplane.api.presenters.conditions import rebalance_out
from controlplane.api.previewed_commands import carry_out_or_say
from controlplane.api.problems import ApiError
from controlplane.api.request_identity import Heading
from controlplane.api.rolls import rolls_of, rolls_out
from controlplane.api.schemas import (
    commands as command_api,
    messages as message_api,
    nodes as node_api,
)
from controlplane.api.services import Services
from controlplane.cluster.commands import (
    CancelDiskMoves,
    DemoteBrokers,
    FixOffline,
    MoveBetweenDisks,
    ReadmitBrokers,
    ReplaceNode,
    RestartServices,
    UndemoteBrokers,
)
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import AGENT_REPORT, reports_by_key
from controlplane.cluster.views.instances import InstanceView
from controlplane.commands.deciders.disks import disk_moves_asked
from controlplane.commands.deciders.offline import offline_fix_asked
from controlplane.commands.previews.plan import pending_rollout
from controlplane.converger.questions.running.restart_safety import RestartSafety, restart_safety
from controlplane.converger.situation.observation import Observation
from controlplane.converger.situation.situation import Situation
from controlplane.storage.streams import cluster_stream

router = APIRouter(prefix=message_api.API_PREFIX, tags=["nodes"])


@router.post("/clusters/{name}/restart")
def restart(body: node_api.RestartIn, services: Services, head: Heading) -> command_api.CommandOut:
    """Start services anew where they are, one at a time."""
    command = RestartServices(**head, reason=body.reason, brokers=tuple(body.brokers), pool=body.pool)
    return carry_out(services, command)


@router.post("/clusters/{name}/replace")
def replace(body: node_api.ReplaceIn, services: Services, head: Heading) -> command_api.CommandOut:
    """Give one node its next VM."""
    command = ReplaceNode(**head, **body.model_dump(exclude={"disks"}), disks=tuple(body.disks))
    return carry_out(services, command)


@router.post("/clusters/{name}/readmit")
def readmit(body: node_api.BrokersIn, services: Services, head: Heading) -> command_api.CommandOut:
    """Let brokers receive replicas again."""
    command = ReadmitBrokers(**head, reason=body.reason, brokers=tuple(body.brokers))
    return carry_out(services, command)


@router.post("/clusters/{name}/demote")
def demote(body: node_api.BrokersIn, services: Services, head: Heading) -> command_api.CommandOut:
    """Take leadership off brokers, and keep it off them: only the order of replica lists changes."""
    command = DemoteBrokers(**head, reason=body.reason, brokers=tuple(body.brokers))
    return carry_out(services, command)


@router.post("/clusters/{name}/undemote")
def undemote(body: node_api.BrokersIn, services: Services, head: Heading) -> command_api.CommandOut:
    """Let demoted brokers lead again."""
    command = UndemoteBrokers(**head, reason=body.reason, brokers=tuple(body.brokers))
    return carry_out(services, command)


@router.post("/clusters/{name}/fix-offline")
def fix_offline(
    body: node_api.FixOfflineIn, services: Services, rights: Caller, head: Heading
) -> command_api.CommandOut:
    """Make replicas of brokers that do not serve anew on others; with `dry_run` only say what would come of it."""
    command = FixOffline(**head, reason=body.reason, brokers=tuple(body.brokers))
    return carry_out_or_say(services, rights, command, offline_fix_asked, dry_run=body.dry_run)


@router.post("/clusters/{name}/empty-disk")
def empty_disk(body: node_api.EmptyDiskIn, services: Services, rights: Caller, head: Heading) -> command_api.CommandOut:
    """Move what is in a log directory onto the others of its broker; with `dry_run` only say what would come of it."""
    command = MoveBetweenDisks(**head, reason=body.reason, broker=body.broker, disk=body.disk)
    return carry_out_or_say(services, rights, command, disk_moves_asked, dry_run=body.dry_run)


@router.post("/clusters/{name}/even-disks")
def even_disks(body: node_api.EvenDisksIn, services: Services, rights: Caller, head: Heading) -> command_api.CommandOut:
    """Even out the disks of a broker; with `dry_run` only say what would come of it."""
    command = MoveBetweenDisks(**head, reason=body.reason, broker=body.broker)
    return carry_out_or_say(services, rights, command, disk_moves_asked, dry_run=body.dry_run)


@router.post("/clusters/{name}/disk-moves/cancel")
def cancel_disk_moves(body: node_api.CancelDiskMovesIn, services: Services, head: Heading) -> command_api.CommandOut:
    """What moves ends, nothing more begins, what moved stays."""
    return carry_out(services, CancelDiskMoves(**head, reason=body.reason, broker=body.broker))


@router.get(
    "/clusters/{name}/restart-check", responses={409: {"description": "its Kafka was not read yet by this server"}}
)
def restart_check(name: str, services: Services) -> node_api.RestartCheckOut:
    """Whether each service may be started anew now, and which partitions are in the way."""
    view = living(services, name)
    kafka = services.fleet.clusters.last_snapshot(view.uid)
    if kafka is None:
        then = "Try again when its brokers are up: `kedge describe` says what it waits for."
        raise ApiError(409, "kafka-unknown", f"Kafka of {name} was not read yet by this server", next_step=then)
    reports = reports_by_key(services.cluster.latest.of_cluster(view.uid, AGENT_REPORT))
    situation = Situation(view, Observation(kafka=kafka, reports=reports), services.clock())
    serving = sorted((i for i in view.alive() if i.phase is Phase.JOINED and not i.lost), key=lambda i: i.service_id)
    return node_api.RestartCheckOut(
        cluster=name,
        metadata_age_s=max(0.0, (services.clock() - kafka.at).total_seconds()),
        services=[_safety_out(i, restart_safety(situation, kafka, i)) for i in serving],
    )


@router.get("/clusters/{name}/rolls")
def rolls(
    name: str,
    services: Services,
    turn: Turning,
    after: BelowNumber = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
    at: At = "",
) -> node_api.RollsOut:
    """The rolls of the cluster as its events have them, the newest first, with the steps of each.

    With `at`, a position of the log or a time, as they were then.
    """
    if at:
        out = _past_rolls(
            past_of(services, name, at), services.brokers.past_placements.hint, after=after, limit=limit + 1
        )
        return out.model_copy(update={"rolls": turn.page(out.rolls, lambda roll: roll.number, limit)})
    view = living(services, name)
    found = rolls_of(services.store.read_stream(cluster_stream(view.uid)))
    pending = pending_rollout(view, services.fleet.clusters.last_snapshot(view.uid))
    said = services.fleet.clusters.said(view.uid)
    shown = rolls_out(found, pending, now=services.clock(), after=after, limit=limit + 1)
    return node_api.RollsOut(
        cluster=name,
        sentence=said.sentence if said else "",
        rolls=turn.page(shown, lambda roll: roll.number, limit),
        rebalance=rebalance_out(view),
        total=len(found),
    )


def _past_rolls(past: Past, placement: str, *, after: int, limit: int) -> node_api.RollsOut:
    found = rolls_of(past.events)
    return node_api.RollsOut(
        cluster=past.view.name,
        sentence="",
        rolls=rolls_out(found, pending_rollout(past.view, None), now=past.at, after=after, limit=limit),
        rebalance=rebalance_out(past.view),
        total=len(found),
        past=past_out(past, placement),
    )


def _safety_out(instance: InstanceView, safety: RestartSafety) -> node_api.RestartSafetyOut:
    return node_api.RestartSafetyOut(
        key=instance.key,
        service=instance.planned.service,
        service_id=instance.service_id,
        rack=instance.planned.rack,
        safe=safety.is_safe,
        reason=safety.gate.reason,
        waits_for=safety.waits.reason if safety.waits else "",
        blocking=[
            node_api.BlockingPartitionOut.like(
                b.partition, topic=b.partition.name.topic, partition=b.partition.name.partition, why=b.why
            )
            for b in safety.blocking
        ],
        next=safety.waits.next_command if safety.waits else "",
    )
