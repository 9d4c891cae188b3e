"""What a balanced cluster is: each goal with its tolerance and its rank. The defaults are Cruise Control's.

Ranks are in the order of Cruise Control's `default.goals` (docs/goals.md has a row for each).
"""

from dataclasses import dataclass
from enum import StrEnum

MARGIN = 0.9
"""Cruise Control's goals balance to within 0.9 of the stated tolerance, so that a detector with the whole tolerance
does not call at once: threshold t gives mean * (1 +- (t - 1) * 0.9)."""

FEWEST_EXTRA, MOST_EXTRA = 2, 40
"""Replicas of one topic on one broker: the tolerance is never less and never more than this many."""


class Goal(StrEnum):
    """One word per goal. `*_CAPACITY` are ceilings, `BROKER_SETS` and `RACKS` say where replicas are, the others are
    bands around the mean. `BROKER_SETS` has no aim: it holds where a cluster has sets (`planner.balance.in_sets`)."""

    BROKER_SETS = "broker-sets"
    RACKS = "racks"
    REPLICA_CAPACITY = "replica-capacity"
    DISK_CAPACITY = "disk-capacity"
    NIC_IN_CAPACITY = "nic-in-capacity"
    NIC_OUT_CAPACITY = "nic-out-capacity"
    CPU_CAPACITY = "cpu-capacity"
    REPLICAS = "replicas"
    POTENTIAL_NIC_OUT = "potential-nic-out"
    DISK = "disk"
    NIC_IN = "nic-in"
    NIC_OUT = "nic-out"
    CPU = "cpu"
    TOPIC_SPREAD = "topic-spread"
    LEADERS = "leaders"
    LEADER_NIC_IN = "leader-nic-in"


@dataclass(frozen=True, slots=True)
class Aim:
    """`tolerance`: a capacity goal's fraction of the capacity (replicas: their number), a band's threshold t >= 1.

    Hard goals are never given up for soft ones; soft goals weigh less the later they stand.
    """

    goal: Goal
    tolerance: float
    hard: bool = False


Goals = tuple[Aim, ...]

DEFAULT_GOALS: Goals = (
    Aim(Goal.RACKS, 1, hard=True),
    Aim(Goal.REPLICA_CAPACITY, 10_000, hard=True),
    Aim(Goal.DISK_CAPACITY, 0.8, hard=True),
    Aim(Goal.NIC_IN_CAPACITY, 0.8, hard=True),
    Aim(Goal.NIC_OUT_CAPACITY, 0.8, hard=True),
    Aim(Goal.CPU_CAPACITY, 0.7, hard=True),
    Aim(Goal.REPLICAS, 1.10),
    Aim(Goal.POTENTIAL_NIC_OUT, 0.8),
    Aim(Goal.DISK, 1.10),
    Aim(Goal.NIC_IN, 1.10),
    Aim(Goal.NIC_OUT, 1.10),
    Aim(Goal.CPU, 1.10),
    Aim(Goal.TOPIC_SPREAD, 3.00),
    Aim(Goal.LEADERS, 1.10),
    Aim(Goal.LEADER_NIC_IN, 1.10),
)


def aims_by_goal(goals: Goals) -> dict[Goal, Aim]:
    """Raises ValueError for a goal named twice or a tolerance that means nothing."""
    found = {aim.goal: aim for aim in goals}
    if len(found) != len(goals):
        raise ValueError("a goal is named twice: each goal has one tolerance and one rank")
    for aim in goals:
        least = 0.0 if aim.goal in CEILINGS else 1.0
        if not aim.tolerance >= least:
            raise ValueError(f"goal {aim.goal}: tolerance {aim.tolerance} must be at least {least:g}")
    return found


CEILINGS = frozenset(
    {
        Goal.REPLICA_CAPACITY,
        Goal.DISK_CAPACITY,
        Goal.NIC_IN_CAPACITY,
        Goal.NIC_OUT_CAPACITY,
        Goal.CPU_CAPACITY,
        Goal.POTENTIAL_NIC_OUT,
    }
)
