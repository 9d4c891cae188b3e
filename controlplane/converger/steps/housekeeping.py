"""What must be so whenever nothing else is in hand: no throttle left over, leadership with the preferred replicas.

An election that is in vain is asked for again, less and less often; meanwhile the rest goes on.
"""

from controlplane.cluster.external_brokers import is_shared
from controlplane.cluster.view import ClusterView
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.questions.moves.leaders import displaced_leaders
from controlplane.converger.questions.moves.placement_work import leaves_leaders
from controlplane.converger.situation.decision import Decision, act
from controlplane.converger.situation.effects import ClearThrottles, ElectPreferred
from controlplane.converger.situation.situation import Situation
from controlplane.runtime.backoff import delay_s


def housekeeping_step(situation: Situation) -> Decision | None:
    """Clears left-over throttles and gives leadership back. Looks only at metadata that is at hand anyway."""
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None or (is_shared(situation.view) and not situation.view.moves.drains):
        return None  # where Kedge has moved nothing, a throttle and an order of leaders are their owner's
    if kafka.throttles.any and not kafka.moving():
        return act("clearing a throttle nobody needs", ClearThrottles())
    displaced = displaced_leaders(kafka)
    if displaced and _is_welcome(situation.view) and _may_ask(situation):
        return act(f"giving leadership of {len(displaced)} partitions back", ElectPreferred(displaced))
    return None


def asks_leaders_back(decision: Decision) -> bool:
    """Whether this is an election of housekeeping, which is counted. One that makes a source lead comes with moves."""
    return any(isinstance(e, ElectPreferred) for e in decision.effects) and len(decision.effects) == 1


def _is_welcome(view: ClusterView) -> bool:
    """Whether leaders are to come home: always, or by the spec only at the end of what Kedge does itself."""
    return not leaves_leaders(view) or bool(view.requests.demotions) or has_work(view)


def _may_ask(situation: Situation) -> bool:
    """Twice at once (metadata lags a moment), then after 2, 4, 8 ... 300 s; at once of another controller."""
    asked, cures = situation.seen.moves.elections, situation.view.moves.stuck.cures
    if asked.asked_at is None or (cures and cures[-1].at > asked.asked_at):
        return True
    return situation.seconds_since(asked.asked_at) >= delay_s(asked.asked - 1)
