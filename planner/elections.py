"""Elections that nobody wins: what that looks like, and whether the cluster gets another controller for it. Pure.

Kafka was asked, again and again, to let first replicas lead that are live and in sync, and they do not. Brokers cannot
refuse that: the controller has another picture of them, or does nothing at all. A request that Kafka itself refuses, to
somebody without that right, is none of it: every controller would.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from planner.observed import KafkaSnapshot, TopicPartition
from planner.quantities import human_seconds
from planner.stuck_moves import (
    MoveCure,
    MovePolicy,
    PastMoveCure,
    active_controller,
    controller_cure,
    other_controller_words,
    why_no_cure,
    why_no_other_controller,
)


class ElectionTrouble(StrEnum):
    """The value is the reason of the condition `ElectionsFail`."""

    NO_LEADER = "NoLeader"
    PASSED_OVER = "BrokerPassedOver"
    LEADERS_AWAY = "LeadersAway"
    REFUSED = "Refused"


@dataclass(frozen=True, slots=True)
class FailedElections:
    """`sentence` has an example, and the numbers."""

    partitions: int
    trouble: ElectionTrouble
    sentence: str


def failed_elections(
    kafka: KafkaSnapshot, away: Sequence[TopicPartition], asked: int, lasted_s: float, refused: str = ""
) -> FailedElections:
    """What is known of `away` (at least one), partitions not led by their first replica though it is live and in sync;
    their leaders were asked back `asked` times in `lasted_s`. `refused`: what Kafka said where it would not elect."""
    found = [kafka.by_name[name] for name in away]
    leaderless = [p for p in found if p.leader < 0]
    wanted = sorted({p.replicas[0] for p in found})
    vain = f"asked {asked} times in {human_seconds(lasted_s)}"
    if leaderless:
        p = leaderless[0]
        words = f"{len(leaderless)} partitions have no leader though their first replica is in sync; {vain}. "
        return FailedElections(
            len(away), ElectionTrouble.NO_LEADER, f"{words}{p.name} has nobody, broker {p.replicas[0]} is there"
        )
    if refused:
        words = f"{len(away)} partitions are not led by their first replica; {vain}. {refused}"
        return FailedElections(len(away), ElectionTrouble.REFUSED, words)
    p = found[0]
    words = f"{len(away)} partitions are not led by their first replica though it is in sync; {vain}. "
    words += f"{p.name} is led by {p.leader} instead of {p.replicas[0]}"
    if len(wanted) == 1 and not any(q.leader == wanted[0] for q in kafka.partitions):
        controller = active_controller(kafka)
        words += f", and broker {wanted[0]} leads nothing at all: controller {controller} passes it over"
        return FailedElections(len(away), ElectionTrouble.PASSED_OVER, words)
    return FailedElections(len(away), ElectionTrouble.LEADERS_AWAY, words)


def prescribe_election(
    kafka: KafkaSnapshot, past: Sequence[PastMoveCure], policy: MovePolicy
) -> tuple[MoveCure | None, str]:
    """The cure, another controller, and its words; or None and why there is none now. `past`: of moves and elections,
    which count together."""
    refused = why_no_cure(past, policy, kafka.at) or why_no_other_controller(policy)
    return (None, refused) if refused else (controller_cure(kafka), other_controller_words(kafka))
