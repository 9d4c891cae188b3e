"""How uneven a cluster is, goal by goal, by the figures a plan is made on (`KnownLoad`): cheap enough for every look at
it, so that a search is only begun for cause.

A rebalance begins over an outer edge, the threshold of the spec, and aims at the optimiser's bands (goals.py), which
end at 9 % around the mean. What the last one could not better is remembered, goal by goal: it sets nothing in motion
again until it is half a threshold worse. What is within the bands, or cannot be helped, does neither.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from events.spec.broker_sets import NO_SETS, BrokerSets
from planner.balance.goals import CEILINGS, DEFAULT_GOALS, Aim, Goal, Goals
from planner.balance.limits import BAND_OF, CEILING_OF, counted, topic_band, topic_counts
from planner.balance.loads import Figure, Loads, borne, loads_of
from planner.balance.shares import even_share, topic_share
from planner.drain.model.state import Bools, ClusterState, Floats, Int32s
from planner.observed import KafkaSnapshot, TopicPartition
from planner.rebalancing.choice import EVERYTHING, BalanceChoice
from planner.rebalancing.known_load import NO_LOAD, KnownLoad
from planner.rebalancing.light_state import light_measured, light_state, rows_of_lists

CEILING_PERCENT = 5.0
"""A ceiling is a limit of the machine: its outer edge is this far above it, whatever the threshold of the spec."""

LEAST_KNOWN = 0.95
"""Traffic is judged where the write rate of so many partitions is known: an unknown one would count as idle."""

LEADERS_ALONE = BalanceChoice(goals=(str(Goal.RACKS), str(Goal.LEADERS)))
"""How many each one leads, of what its rack can hold."""

Lists = Mapping[TopicPartition, Sequence[int]]
Deviations = Mapping[str, float]
"""By the name of a goal, percent."""


def imbalance_percent(kafka: KafkaSnapshot, receivers: Collection[int], load: KnownLoad = NO_LOAD) -> float:
    """The largest of `deviations`; 0.0 with fewer than two receivers or nothing to share."""
    return max(deviations(kafka, receivers, load).values(), default=0.0)


def deviations(
    kafka: KafkaSnapshot,
    receivers: Collection[int],
    load: KnownLoad = NO_LOAD,
    *,
    choice: BalanceChoice = EVERYTHING,
    after: Lists | None = None,
    sets: BrokerSets = NO_SETS,
) -> Deviations:
    """Of each goal that can be judged, how far the broker furthest from it is, in percent of its even share; of a
    ceiling, in percent above it. `racks` and `broker-sets` are not among them: replicas are moved apart, and home, on
    their own (docs/placement.md). With `sets`, each set is judged by itself, and the worst of them counts.

    What no spread can avoid is not counted: one whole log (or what one partition adds) of each figure, and what racks
    of unequal size make of a share (`planner.balance.shares`). A broker that `choice` excludes may have less. `after`:
    replica lists of partitions that will have moved by then.
    """
    if not sets:
        return _deviations(kafka, kafka, receivers, load, choice=choice, after=after or {})
    found: dict[str, float] = {}
    for name in sorted({sets.set_of(b) for b in receivers}):
        mine = [b for b in receivers if sets.set_of(b) == name]
        for goal, percent in _deviations(
            kafka, _of_set(kafka, sets, name), mine, load, choice=choice, after=after or {}
        ).items():
            found[goal] = max(found.get(goal, 0.0), percent)
    return found


def _of_set(kafka: KafkaSnapshot, sets: BrokerSets, name: str) -> KafkaSnapshot:
    """What weighs on the brokers of a set: its own partitions, and those that are not at home."""
    own = {topic for topic in kafka.by_topic if sets.of_topic(topic) == name}
    on = {b for b in kafka.brokers if sets.set_of(b) == name}
    parts = tuple(p for p in kafka.partitions if p.name.topic in own or not on.isdisjoint(p.target))
    return replace(kafka, partitions=parts)


def _deviations(
    whole: KafkaSnapshot,
    kafka: KafkaSnapshot,
    receivers: Collection[int],
    load: KnownLoad,
    *,
    choice: BalanceChoice,
    after: Lists,
) -> Deviations:
    """`whole`: the cluster by which it is judged what is known."""
    brokers, goals = tuple(sorted(receivers)), choice.aims()
    aims = tuple(aim for aim in goals if aim.goal is not Goal.RACKS)
    if len(brokers) < 2:
        return {str(a.goal): 0.0 for a in aims if not why_unknown(whole, brokers, load, a.goal)}
    state = light_state(kafka, brokers, load)
    loads = _loads(state, brokers, load)
    lists = _lists(state, kafka, after)
    total = borne(loads, lists, lists[:, 0])
    by_rack = any(aim.goal is Goal.RACKS for aim in goals)
    leadless = np.isin(state.brokers.id, sorted(load.demoted))
    excluded = np.isin(state.brokers.id, choice.exclude_brokers)
    mean = even_share(state, loads, total, by_rack=by_rack, leadless=leadless)
    able = state.brokers.may_receive
    found = {}
    for aim in aims:
        if why_unknown(whole, brokers, load, aim.goal):
            continue
        if aim.goal is Goal.TOPIC_SPREAD:
            percent = _topics(state, aim, lists, by_rack=by_rack)
        elif aim.goal in CEILINGS:
            percent = _above(aim, total[able], loads.capacity[able])
        else:
            judged = able & ~leadless if aim.goal is Goal.CPU else able
            percent = _apart(aim, total[judged], mean[judged], loads, may_lack=excluded[judged])
        found[str(aim.goal)] = round(100 * percent, 1)
    return found


def over_edge(found: Deviations, threshold: float, left: Deviations | None = None) -> Deviations:
    """The goals that call for a rebalance, worst first. `threshold`: the outer edge, percent. `left`: what the last
    rebalance could not better."""
    known = left or {}
    over = {name: p for name, p in found.items() if p > allowed_percent(name, threshold, known)}
    return dict(sorted(over.items(), key=lambda item: (-item[1], item[0])))


def allowed_percent(goal: str, threshold: float, left: Deviations) -> float:
    """How far from a goal a cluster may be before a rebalance begins."""
    edge = min(threshold, CEILING_PERCENT) if goal in CEILINGS else threshold
    stuck = left.get(goal, 0.0)
    return max(edge, stuck + edge / 2) if stuck else edge


def not_judged(
    kafka: KafkaSnapshot, receivers: Collection[int], load: KnownLoad, goals: Goals = DEFAULT_GOALS
) -> Mapping[str, str]:
    """By the name of a goal, which figure of it is not known."""
    brokers = tuple(sorted(receivers))
    reasons = ((aim.goal, why_unknown(kafka, brokers, load, aim.goal)) for aim in goals if aim.goal is not Goal.RACKS)
    return {str(goal): why for goal, why in reasons if why}


def why_unknown(kafka: KafkaSnapshot, brokers: Sequence[int], load: KnownLoad, goal: Goal) -> str:
    """Which figure of the goal is not known, "" where it can be judged."""
    figure = CEILING_OF.get(goal, BAND_OF.get(goal))
    if figure is Figure.CPU:
        judged = sum(b in load.cpu_used and load.processors.get(b, 0) > 0 for b in brokers)
        if judged < len(brokers) or not brokers:
            return f"CPU of {len(brokers) - judged} of {len(brokers)} brokers"
    if goal is Goal.DISK_CAPACITY:
        judged = sum(b in kafka.log_dirs and kafka.log_dirs[b].total_bytes > 0 for b in brokers)
        return "" if judged == len(brokers) else f"the disk of {len(brokers) - judged} of {len(brokers)} brokers"
    if figure not in _TRAFFIC:
        return ""
    count = len(kafka.partitions)
    rated = len(load.write_bytes_per_s)
    if rated < count * LEAST_KNOWN or not rated:
        return f"what is written to {count - min(rated, count)} of {count} partitions"
    read = len(load.read_bytes_per_s)
    if figure in (Figure.NIC_OUT, Figure.POTENTIAL_OUT) and read < count * LEAST_KNOWN:
        return f"what is read of {count - min(read, count)} of {count} partitions"
    if goal in CEILINGS and figure is not Figure.CPU:
        nics = load.nic_in_bytes_per_s if goal is Goal.NIC_IN_CAPACITY else load.nic_out_bytes_per_s
        return "" if any(b in nics for b in brokers) else "the network of the brokers"
    return ""


_TRAFFIC = (Figure.NIC_IN, Figure.NIC_OUT, Figure.POTENTIAL_OUT, Figure.LEADER_IN, Figure.CPU)
"""Of partitions; CPU is shared out over them by what is written."""


def _loads(state: ClusterState, brokers: tuple[int, ...], load: KnownLoad) -> Loads:
    loads = loads_of(state, light_measured(state, brokers, load))
    disk = loads.capacity[:, Figure.DISK]
    capacity = loads.capacity.copy()
    capacity[:, Figure.DISK] = np.where(disk > 0, disk, np.inf)
    return replace(loads, capacity=capacity)


def _lists(state: ClusterState, kafka: KafkaSnapshot, after: Lists) -> Int32s:
    if not after:
        return state.partitions.replicas
    row = {int(b): n for n, b in enumerate(state.brokers.id)}
    return rows_of_lists((after.get(p.name, p.target) for p in kafka.partitions), row)


def _apart(aim: Aim, amount: Floats, mean: Floats, loads: Loads, *, may_lack: Bools) -> float:
    """`amount`, `mean`: float64[N, 8] of the brokers that count; `may_lack`: bool[N], those that receive nothing."""
    figure = BAND_OF[aim.goal]
    each = loads.following[:, figure] + np.maximum(loads.leading[:, figure], 0.0)
    share, off = mean[:, figure], amount[:, figure] - mean[:, figure]
    off = off if aim.goal is Goal.LEADER_NIC_IN else np.where(may_lack, off, np.abs(off))
    off = off - float(each.max(initial=0.0))
    due = share > 0
    return max(0.0, float((off[due] / share[due]).max(initial=0.0)))


def _above(aim: Aim, amount: Floats, capacity: Floats) -> float:
    figure = CEILING_OF[aim.goal]
    most = capacity[:, figure] * aim.tolerance
    if aim.goal is Goal.REPLICA_CAPACITY:
        most = np.full(len(amount), float(aim.tolerance))
    bound = np.isfinite(most) & (most > 0)
    return max(0.0, float((amount[bound, figure] / most[bound] - 1).max(initial=0.0)))


def _topics(state: ClusterState, aim: Aim, lists: Int32s, *, by_rack: bool) -> float:
    """How far outside its band the worst pair of topic and broker is, by the topic's mean on a broker."""
    able = state.brokers.may_receive
    racks = state.brokers.rack[able]
    low, high = (edge[:, racks] for edge in topic_band(state, aim, by_rack=by_rack))
    mean = np.maximum(topic_share(state, topic_counts(state), by_rack=by_rack)[:, racks], 1.0)
    count = counted(state, lists)[:, able]
    outside = np.maximum(count - high, low - count) / mean
    return max(0.0, float(outside.max(initial=0.0)))
