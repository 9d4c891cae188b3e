"""Elections in vain: since when, why, and what keeps Kedge from another controller."""

from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.questions.moves.leaders import displaced_leaders
from controlplane.converger.questions.moves.other_controller import other_controller
from controlplane.converger.questions.moves.stuck_moves import move_policy
from controlplane.converger.situation.situation import Situation
from planner.elections import FailedElections, failed_elections, prescribe_election
from planner.observed import KafkaSnapshot
from planner.stuck_moves import MoveCure

IN_VAIN = 3
"""Elections asked for in vain until it is told: the first may have met metadata that lags."""


def elections_in_vain(situation: Situation, kafka: KafkaSnapshot) -> FailedElections | None:
    """None where every leader is home, or was asked back too seldom, or too lately, to say so."""
    asked, document = situation.seen.moves.elections, situation.view.document
    if asked.asked < IN_VAIN or asked.since is None:
        return None
    lasted_s = situation.seconds_since(asked.since)
    if lasted_s < (document.spec.healing.hung_after_s if document else 0.0):
        return None
    away = displaced_leaders(kafka)
    return failed_elections(kafka, away, asked.asked, lasted_s, asked.refused) if away else None


def why_not_cured(situation: Situation, kafka: KafkaSnapshot) -> str:
    """What keeps Kedge from another controller, in words."""
    if situation.seen.moves.elections.refused:
        return "Every controller would say so: Kedge's user needs the right to Alter the cluster"
    if has_work(situation.view):
        return "No other controller is elected while anything else is in hand"
    cure, words = prescribed_election(situation, kafka)
    if cure is None:
        return words[0].upper() + words[1:]
    if other_controller(situation, kafka, "") is None:
        return "No other controller is elected now: a VM comes or goes, or who would take over is not well"
    return ""


def prescribed_election(situation: Situation, kafka: KafkaSnapshot) -> tuple[MoveCure | None, str]:
    braked = situation.allowance.cures.why_none(situation.now)
    if braked:
        return None, braked
    return prescribe_election(kafka, situation.view.moves.stuck.cures, move_policy(situation))
