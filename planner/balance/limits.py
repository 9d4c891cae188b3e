"""Goals as numbers: per broker and figure the band, the ceiling and what a breach weighs."""

from dataclasses import dataclass

import numpy as np

from planner.balance.goals import FEWEST_EXTRA, MARGIN, MOST_EXTRA, Aim, Goal, Goals, aims_by_goal
from planner.balance.loads import FIGURES, Figure, Loads
from planner.drain.model.state import NOBODY, Bools, ClusterState, Floats, Int64s

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
COUNTED = (Figure.REPLICAS, Figure.LEADERS)
"""Whole numbers per broker, shared out evenly; the others in proportion to the capacity."""

HARD_WEIGHT = 1e4
RANK_STEP = 1.1
"""A soft goal weighs this much more than the next one (Cruise Control's priority weight)."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Limits:
    """`low`, `high`: float64[B, 8], the tightest soft or hard band; `ceiling`: float64[B, 8], hard only; inf = none.

    `mean`: float64[B, 8], the even share, also the scale of a breach. `weight`: float64[8]. `topic_low`,
    `topic_high`: int64[T] replicas of a topic per broker, `topic_weight` 0 without that goal. `racks_kept`: whether
    replicas are to be spread over more racks than now.
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


def limits_of(state: ClusterState, loads: Loads, goals: Goals, total: Floats) -> Limits:
    """`total`: float64[B, 8] borne now. Shares are among the brokers that may receive and of what they bear."""
    aims = aims_by_goal(goals)
    able = state.brokers.may_receive
    mean = even_share(loads, able, total)
    low, high = np.full(mean.shape, -np.inf), np.full(mean.shape, np.inf)
    ceiling, weight = np.full(mean.shape, np.inf), np.zeros(FIGURES)
    for rank, aim in enumerate(goals):
        soft = RANK_STEP ** (len(goals) - rank)
        figure = CEILING_OF.get(aim.goal, BAND_OF.get(aim.goal))
        if figure is None or not loads.known[figure]:
            continue
        weight[figure] = max(weight[figure], soft)
        least, most = band(aim, figure, loads.capacity[:, figure], mean[:, figure])
        low[:, figure] = np.maximum(low[:, figure], least)
        high[:, figure] = np.minimum(high[:, figure], most)
        if aim.hard:
            ceiling[:, figure] = np.minimum(ceiling[:, figure], most)
    topic_low, topic_high = topic_band(state, able, aims.get(Goal.TOPIC_SPREAD))
    rank_of = {aim.goal: rank for rank, aim in enumerate(goals)}
    topic = Goal.TOPIC_SPREAD in aims
    return Limits(
        low=low,
        high=high,
        ceiling=ceiling,
        mean=mean,
        weight=weight,
        topic_low=topic_low,
        topic_high=topic_high,
        topic_weight=RANK_STEP ** (len(goals) - rank_of[Goal.TOPIC_SPREAD]) if topic else 0.0,
        racks_kept=Goal.RACKS in aims,
    )


def even_share(loads: Loads, able: Bools, total: Floats) -> Floats:
    """float64[B, 8]: what each broker would bear if all that able brokers bear were spread by capacity."""
    mean = np.zeros(total.shape)
    count = max(int(able.sum()), 1)
    for figure in range(FIGURES):
        amount, capacity = total[able, figure].sum(), loads.capacity[:, figure]
        if figure in COUNTED or figure == Figure.LEADER_IN or not np.isfinite(capacity[able]).all():
            mean[:, figure] = amount / count
        elif capacity[able].sum() > 0:
            mean[:, figure] = amount * capacity / capacity[able].sum()
    return mean


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


def topic_band(state: ClusterState, able: Bools, aim: Aim | None) -> tuple[Int64s, Int64s]:
    """Least and most replicas of a topic on one broker: int64[T] each."""
    topics = len(state.partitions.topics)
    if aim is None:
        return np.zeros(topics, dtype=np.int64), np.full(topics, 2**31 - 1, dtype=np.int64)
    mean = topic_counts(state)[:, able].sum(axis=1) / max(int(able.sum()), 1)
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
    row, column = np.nonzero(lists != NOBODY)
    code = state.partitions.topic[row].astype(np.int64) * brokers + lists[row, column]
    counts = np.bincount(code, minlength=len(state.partitions.topics) * brokers)
    return counts.astype(np.int64).reshape(len(state.partitions.topics), brokers)
