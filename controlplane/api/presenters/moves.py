"""What emptying brokers, or a rebalance, would move: as a page shows it and as the API tells it."""

import threading
from dataclasses import dataclass

from controlplane.api.schemas import moves as move_api
from controlplane.api.services import PortalServices
from controlplane.cluster.commands import EvacuateBrokers, RebalanceCluster
from controlplane.cluster.view import ClusterView
from controlplane.cluster.work_in_hand import has_work
from controlplane.commands.deciders.decision import CommandDecision
from controlplane.commands.deciders.lookups import Lookups
from controlplane.commands.deciders.nodes import evacuation_asked
from controlplane.commands.deciders.rebalances import rebalance_asked
from controlplane.commands.previews.moves import MovesPreview, NoPreview, placement_of
from planner.observed import KafkaSnapshot

Moves = EvacuateBrokers | RebalanceCluster

_ONE_AT_A_TIME = threading.Lock()
"""Planning is work for a core: a second person waits for the first."""


def planned(services: PortalServices, view: ClusterView, command: Moves) -> MovesPreview:
    """The plan on the metadata there is. Records nothing. Raises NoPreview."""
    snapshot, traffic = services.fleet.clusters.last_snapshot(view.uid), services.fleet.clusters.traffic(view.uid)
    if snapshot is None:
        raise NoPreview(f"Kafka of {view.name} was not read by this server yet")
    with _ONE_AT_A_TIME:
        from controlplane.commands.previews.move_planning import drain_preview, rebalance_preview

        now = services.clock()
        if isinstance(command, RebalanceCluster):
            return rebalance_preview(view, snapshot, command, traffic=traffic, now=now)
        return drain_preview(view, snapshot, command, traffic=traffic, now=now)


def moves_asked(view: ClusterView, command: Moves, kafka: KafkaSnapshot | None) -> CommandDecision:
    """What the handler would answer now. Raises CommandRefused."""
    if isinstance(command, RebalanceCluster):
        return rebalance_asked(view, command, Lookups(kafka=kafka))
    return evacuation_asked(view, command, Lookups(kafka=kafka))


@dataclass(frozen=True, slots=True)
class MovesLook:
    """What would be recorded, and what would come of it: the plan, or why there is none to show."""

    asked: CommandDecision
    preview: MovesPreview | None
    no_plan: str = ""


def look_of(services: PortalServices, view: ClusterView, command: Moves, asked: CommandDecision) -> MovesLook:
    """The plan for what was asked. Records nothing."""
    try:
        preview = planned(services, view, command)
    except NoPreview as none:
        return MovesLook(asked, None, str(none))
    return MovesLook(_unless_even(view, command, asked, preview), preview)


def _unless_even(view: ClusterView, command: Moves, asked: CommandDecision, preview: MovesPreview) -> CommandDecision:
    """What was asked for; nothing where it is a rebalance that no move would come of, and no work in hand may change
    that before it begins."""
    does_something = preview.course.total_moves or preview.shortfall or has_work(view)
    if does_something or not isinstance(command, RebalanceCluster):
        return asked
    return CommandDecision(None, f"no move would spread the replicas of {view.name} better")


def plan_out(
    services: PortalServices, view: ClusterView, command: Moves, asked: CommandDecision
) -> move_api.MovesPlanOut:
    """The same for a program, with the digest a yes is bound to."""
    snapshot = services.fleet.clusters.last_snapshot(view.uid)
    look = look_of(services, view, command, asked)
    return move_api.MovesPlanOut(
        cluster=view.name,
        changes=look.asked.fact is not None,
        sentence=look.asked.sentence,
        digest=placement_of(view, snapshot, command),
        metadata_at=snapshot.at if snapshot else None,
        no_plan=look.no_plan,
        plan=_course_out(look.preview) if look.preview else None,
    )


def _course_out(preview: MovesPreview) -> move_api.PlannedMovesOut:
    course = preview.course
    return move_api.PlannedMovesOut.like(
        course,
        moves=[move_api.PlannedMoveOut.like(m) for m in course.moves],
        certificate=[list(row) for row in preview.certificate],
        goals=[list(row) for row in preview.goals],
        assumptions=list(preview.assumptions),
        shortfall=preview.shortfall,
    )
