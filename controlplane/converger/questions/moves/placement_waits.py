"""Why replicas that are not where they should be are not moved now."""

from datetime import datetime

from controlplane.cluster.external_brokers import is_shared
from controlplane.cluster.healing_switches import why_not
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.rebalances import spent_bytes
from controlplane.converger.questions.moves.placement_work import corrects, placement_spec
from controlplane.converger.questions.moves.rebalance_requests import day_budget_bytes
from controlplane.converger.questions.moves.replication import others_are_whole
from controlplane.converger.questions.windows import as_windows
from controlplane.converger.situation.placement import PlacementSeen
from controlplane.converger.situation.situation import Situation
from controlplane.runtime.quantities import moment_to_minute
from planner.anomalies.kinds import Kind
from planner.drain.plan import Move
from planner.observed import KafkaSnapshot
from planner.quantities import human_bytes
from planner.rollout.windows import UnknownZone, next_opening, open_at


def why_no_repair(situation: Situation, kafka: KafkaSnapshot) -> str:
    """Why no replica is made anew now, "" when one may be."""
    if is_shared(situation.view):
        return "others run a part of the cluster"
    off = "" if situation.view.requests.offline else why_not(situation.view, Kind.BROKER_FAILURE, situation.now)
    return off or unrest(situation, kafka)


def why_apart_waits(situation: Situation, seen: PlacementSeen, kafka: KafkaSnapshot) -> str:
    """Why nothing is moved apart now, "" when something may be: what the spec says, then the time, then the cluster."""
    view, now = situation.view, situation.now
    if not corrects(view):
        return "nothing is moved without being asked, as `balance.placement.correct` is false"
    off = why_not(view, Kind.GOAL_VIOLATION, now)
    if off:
        return off
    closed = _closed(view, now)
    if closed:
        return closed
    if seen.spread.moves and not within_budget(situation, seen.spread.moves):
        return f"the day's {human_bytes(day_budget_bytes(view))} (`balance.perDayGib`) are begun"
    return unrest(situation, kafka)


def unrest(situation: Situation, kafka: KafkaSnapshot) -> str:
    """Without a figure that changes: it stands in a condition."""
    if kafka.moving():
        return "somebody moves replicas, which is waited for"
    whole = others_are_whole(situation.view, kafka)
    return "" if whole else "a broker is down or a replica is out of sync, which goes first"


def _closed(view: ClusterView, now: datetime) -> str:
    windows = as_windows(placement_spec(view).windows)
    if not windows:
        return ""
    try:
        if open_at(windows, now):
            return ""
        opens = next_opening(windows, now)
    except UnknownZone as error:
        return f"{error}; nobody can say when its window opens"
    return f"its window opens at {moment_to_minute(opens)}" if opens is not None else "its window never opens"


def within_budget(situation: Situation, moves: tuple[Move, ...]) -> tuple[Move, ...]:
    """As many of them, in their order, as the day has left; one that is larger than a whole day's goes alone."""
    limit = day_budget_bytes(situation.view)
    if not limit:
        return moves
    spent = spent_bytes(situation.view.moves.rebalance_spent, situation.now)
    fitting: list[Move] = []
    for move in moves:
        size = move.bytes
        if spent + size > limit and (spent or size <= limit):
            continue
        fitting.append(move)
        spent += size
    return tuple(fitting)
