"""Goals as numbers: per broker and figure the band, the ceiling and what a breach weighs."""

from dataclasses import dataclass

import numpy as np

from planner.balance.goals import FEWEST_EXTRA, MARGIN, MOST_EXTRA, Aim, Goal, Goals, aims_by_goal
from planner.balance.loads import FIGURES, Figure, Loads
from planner.balance.shares import COUNTED, even_share, topic_share
from planner.drain.model.state import NO_BROKER, Bools, ClusterState, Floats, Int64s

CEILING_OF = {
    Goal.REPLICA_CAPACITY: Figure.REPLICAS,
    Goal.DISK_CAPACITY: Figure.DISK,
    Goal.NIC_IN_CAPACITY: Figure.NIC_IN,
    Goal.NIC_OUT_CAPACITY: Figure.NIC_OUT,
    Goal.CPU_CAPACITY: Figure.CPU,
    Goal.POTENTIAL_NIC_OUT: Figure.POTENTIAL_OUT,
}
BAND_OF = {
    Goal.REPLICAS: Figure.REPLICAS,
    Goal.DISK: Figure.DISK,
    Goal.NIC_IN: Figure.NIC_IN,
    Goal.NIC_OUT: Figure.NIC_OUT,
    Goal.CPU: Figure.CPU,
    Goal.LEADERS: Figure.LEADERS,
    Goal.LEADER_NIC_IN: Figure.LEADER_IN,
}
HARD_WEIGHT = 1e4
RANK_STEP = 1.1
"""A soft goal weighs this much more than the next one (Cruise Control's priority weight)."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BalanceLimits:
    """`low`, `high`: float64[B, 8], the tightest soft or hard band; `ceiling`: float64[B, 8], hard only; inf = none.

    `mean`: float64[B, 8], the even share, also the scale of a breach. `weight`: float64[8]. `topic_low`,
    `topic_high`: int64[T, R] replicas of a topic on a broker of each rack, `topic_weight` 0 without that goal.
    `racks_kept`: whether replicas are to be spread over more racks than now. `leadless`: bool[B], what is to lead
    nothing.
    """

    low: Floats
    high: Floats
    ceiling: Floats
    mean: Floats
    weight: Floats
    topic_low: Int64s
    topic_high: Int64s
    topic_weight: float
    racks_kept: bool
    leadless: Bools


def limits_of(
    state: ClusterState, loads: Loads, goals: Goals, total: Floats, leadless: Bools | None = None
) -> BalanceLimits:
    """`total`: float64[B, 8] borne now. Shares are among the brokers that may receive and of what they bear. To
    `leadless` no leadership may go, whatever the goals."""
    aims = aims_by_goal(goals)
    spread = Goal.RACKS in aims
    demoted = np.zeros(len(state.brokers), dtype=np.bool_) if leadless is None else leadless
    mean = even_share(state, loads, total, by_rack=spread, leadless=demoted)
    low, high = np.full(mean.shape, -np.inf), np.full(mean.shape, np.inf)
    ceiling, weight = np.full(mean.shape, np.inf), np.zeros(FIGURES)
    for rank, aim in enumerate(goals):
        soft = RANK_STEP ** (len(goals) - rank)
        figure = CEILING_OF.get(aim.goal, BAND_OF.get(aim.goal))
        if figure is None or not loads.known[figure]:
            continue
        weight[figure] = max(weight[figure], soft)
        least, most = band(aim, figure, loads.capacity[:, figure], mean[:, figure])
        if figure is Figure.CPU:
            least = np.where(demoted, -np.inf, least)  # following alone costs little
        low[:, figure] = np.maximum(low[:, figure], least)
        high[:, figure] = np.minimum(high[:, figure], most)
        if aim.hard:
            ceiling[:, figure] = np.minimum(ceiling[:, figure], most)
    low[demoted, Figure.LEADERS] = -np.inf
    high[demoted, Figure.LEADERS] = ceiling[demoted, Figure.LEADERS] = 0.0
    topic_low, topic_high = topic_band(state, aims.get(Goal.TOPIC_SPREAD), by_rack=spread)
    rank_of = {aim.goal: rank for rank, aim in enumerate(goals)}
    topic = Goal.TOPIC_SPREAD in aims
    return BalanceLimits(
        low=low,
        high=high,
        ceiling=ceiling,
        mean=mean,
        weight=weight,
        topic_low=topic_low,
        topic_high=topic_high,
        topic_weight=RANK_STEP ** (len(goals) - rank_of[Goal.TOPIC_SPREAD]) if topic else 0.0,
        racks_kept=spread,
        leadless=demoted,
    )


def band(aim: Aim, figure: Figure, capacity: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """Least and most per broker: float64[B] each, -inf and inf where there is no such side."""
    none = np.full(mean.shape, -np.inf)
    if aim.goal == Goal.REPLICA_CAPACITY:
        return none, np.full(mean.shape, float(aim.tolerance))
    if aim.goal in CEILING_OF:
        return none, capacity * aim.tolerance
    if aim.goal == Goal.LEADER_NIC_IN:
        return none, mean * aim.tolerance
    part = (aim.tolerance - 1) * MARGIN
    if figure in COUNTED:
        return np.floor(mean * (1 - part) + 1e-9), np.ceil(mean * (1 + part) - 1e-9)
    return mean * (1 - part), mean * (1 + part)


def topic_band(state: ClusterState, aim: Aim | None, *, by_rack: bool) -> tuple[Int64s, Int64s]:
    """Least and most replicas of a topic on one broker of each rack: int64[T, R] each."""
    mean = topic_share(state, topic_counts(state), by_rack=by_rack)
    if aim is None:
        return np.zeros(mean.shape, dtype=np.int64), np.full(mean.shape, 2**31 - 1, dtype=np.int64)
    gap = np.clip(mean * (aim.tolerance - 1) * MARGIN, FEWEST_EXTRA, MOST_EXTRA)
    least = np.floor(np.maximum(mean - gap, 0) + 1e-9).astype(np.int64)
    return least, np.ceil(mean + gap - 1e-9).astype(np.int64)


def topic_counts(state: ClusterState) -> Int64s:
    """int64[T, B]: replicas of each topic on each broker."""
    return counted(state, state.partitions.replicas)


def counted(state: ClusterState, replicas: object) -> Int64s:
    """As `topic_counts`, under another placement (int32[P, W])."""
    lists = np.asarray(replicas)
    brokers = len(state.brokers)
    row, column = np.nonzero(lists != NO_BROKER)
    code = state.partitions.topic[row].astype(np.int64) * brokers + lists[row, column]
    counts = np.bincount(code, minlength=len(state.partitions.topics) * brokers)
    return counts.astype(np.int64).reshape(len(state.partitions.topics), brokers)
