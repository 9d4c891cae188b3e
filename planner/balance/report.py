"""Each goal before and after a plan, and where one is missed, why."""

import numpy as np

from planner.balance.answer import GoalReport, Missing, Range
from planner.balance.goals import Aim, Goal, Goals
from planner.balance.limits import BAND_OF, CEILING_OF, BalanceLimits, band, counted
from planner.balance.loads import Figure, Loads
from planner.drain.model.state import NO_BROKER, ClusterState, Floats, Int32s, Int64s
from planner.drain.solver.demand import distinct_racks

NOTHING = Range(float("nan"), float("nan"))
UNMEASURED = "not judged: nobody measured it"
EDGE = 1e-9
NETWORK = (Goal.NIC_IN_CAPACITY, Goal.NIC_OUT_CAPACITY, Goal.POTENTIAL_NIC_OUT)


def reports(
    state: ClusterState,
    loads: Loads,
    limits: BalanceLimits,
    goals: Goals,
    *,
    before: Floats,
    after: Floats,
    replicas: Int32s,
) -> tuple[GoalReport, ...]:
    """`before`, `after`: float64[B, 8] borne; `replicas`: int32[P, W] after."""
    made = []
    for aim in goals:
        if aim.goal == Goal.RACKS:
            made.append(_racks(state, aim, replicas))
        elif aim.goal == Goal.TOPIC_SPREAD:
            made.append(_topics(state, limits, aim, replicas))
        else:
            made.append(_figure(state, loads, limits, aim, before, after))
    return tuple(made)


def _figure(
    state: ClusterState, loads: Loads, limits: BalanceLimits, aim: Aim, before: Floats, after: Floats
) -> GoalReport:
    figure = CEILING_OF[aim.goal] if aim.goal in CEILING_OF else BAND_OF[aim.goal]
    if not loads.known[figure]:
        return _without_range(aim, 0, 0, UNMEASURED)
    able = state.brokers.may_receive
    unjudged = _unjudged(aim, loads.capacity[able, figure])
    if aim.goal in NETWORK:
        able = able & np.isfinite(loads.capacity[:, figure])
        if not able.any():
            return _without_range(aim, 0, 0, unjudged)
    mean, capacity = limits.mean[able, figure], loads.capacity[able, figure]
    low, high = band(aim, figure, capacity, mean)
    if figure is Figure.CPU:
        low = np.where(limits.leadless[able], -np.inf, low)
    unit = np.ones(mean.shape) if aim.goal == Goal.REPLICA_CAPACITY else capacity if aim.goal in CEILING_OF else mean
    unit = np.where(unit > 0, unit, 1.0)
    was, now = before[able, figure], after[able, figure]
    broken = _outside(now, low, high, mean)
    return GoalReport(
        goal=aim.goal,
        hard=aim.hard,
        before=_range(was / unit),
        after=_range(now / unit),
        band=Range(float((low / unit).max(initial=-np.inf)), float((high / unit).min(initial=np.inf))),
        broken_before=_outside(was, low, high, mean),
        broken_after=broken,
        why=_why(figure, now, low, high, loads) if broken else unjudged,
    )


def _unjudged(aim: Aim, capacity: Floats) -> str:
    """Of how many brokers nobody knows the network, whose ceilings then bind nobody."""
    unknown = int(np.isinf(capacity).sum()) if aim.goal in NETWORK else 0
    return f"not judged: the network of {unknown} of {capacity.size} brokers is not known" if unknown else ""


def _outside(amount: Floats, low: Floats, high: Floats, mean: Floats) -> int:
    return int(((amount > high + EDGE * mean) | (amount < low - EDGE * mean)).sum())


def _range(values: Floats) -> Range:
    return Range(float(values.min(initial=np.inf)), float(values.max(initial=-np.inf)))


def _why(figure: Figure, now: Floats, low: Floats, high: Floats, loads: Loads) -> str:
    """A proof where there is one, else how far the search came."""
    name = figure.name.lower().replace("_", " ")
    if now.sum() > high.sum() * (1 + EDGE):
        return f"impossible: all brokers together bear {now.sum():.4g} of {name}, {high.sum():.4g} is allowed"
    largest = (loads.following[:, figure] + loads.leading[:, figure]).max(initial=0.0)
    if largest > high.max(initial=0.0):
        return f"impossible: one partition alone has {largest:.4g} of {name}, a broker may bear {high.max():.4g}"
    worst = max(float((now - high).max(initial=0.0)), float((low - now).max(initial=0.0)))
    return f"a broker stays {worst:.4g} outside: no move, exchange or change of leader helps without a worse breach"


def _racks(state: ClusterState, aim: Aim, replicas: Int32s) -> GoalReport:
    before = int(narrow(state, state.partitions.replicas).sum())
    after = int(narrow(state, replicas).sum())
    why = f"{after} partitions found no broker with room in another rack, or may not be copied now"
    return _without_range(aim, before, after, why if after else "")


def _without_range(aim: Aim, before: int, after: int, why: str) -> GoalReport:
    """A goal that is counted and has no figure per broker, or none that was measured."""
    return GoalReport(
        goal=aim.goal,
        hard=aim.hard,
        before=NOTHING,
        after=NOTHING,
        band=NOTHING,
        broken_before=before,
        broken_after=after,
        why=why,
    )


def narrow(state: ClusterState, replicas: Int32s) -> Int64s:
    """bool[P]: lists that span fewer racks than they could: min(replicas, racks with a broker that may receive)."""
    rack = state.brokers.rack
    left = int(np.unique(rack[state.brokers.may_receive]).size)
    held = replicas != NO_BROKER
    narrow_: Int64s = distinct_racks(rack, replicas, held) < np.minimum(held.sum(axis=1), left)
    return narrow_


def _topics(state: ClusterState, limits: BalanceLimits, aim: Aim, replicas: Int32s) -> GoalReport:
    able = state.brokers.may_receive
    racks = state.brokers.rack[able]

    def outside(lists: Int32s) -> int:
        counts = counted(state, lists)[:, able]
        return int(((counts < limits.topic_low[:, racks]) | (counts > limits.topic_high[:, racks])).sum())

    after = outside(replicas)
    why = f"{after} pairs of topic and broker stay outside: no move helps without a worse breach"
    return _without_range(aim, outside(state.partitions.replicas), after, why if after else "")


def missing_for(state: ClusterState, loads: Loads, limits: BalanceLimits, report: GoalReport, after: Floats) -> Missing:
    """The smallest thing that would let a missed hard goal be met, by the sum over all brokers; at least one broker."""
    if report.goal == Goal.RACKS:
        return Missing("rack", 1, "a broker with room in a rack that these partitions do not use")
    figure = CEILING_OF.get(report.goal, BAND_OF.get(report.goal))
    if figure is None:
        return Missing("brokers", 1, "a broker that can take replicas of these topics")
    able = state.brokers.may_receive
    short = float(after[able, figure].sum() - limits.high[able, figure].sum())
    each = float(np.median(limits.high[able, figure])) if able.any() else 0.0
    if short <= 0 or not each > 0:
        return Missing("brokers", 1, f"a broker like the others: {report.goal} cannot be met with the brokers there")
    count = int(np.ceil(short / each - EDGE))
    if figure == Figure.REPLICAS:
        return Missing("brokers", count, f"{count} brokers: each may hold {each:.0f} replicas")
    aim = each / float(np.median(loads.capacity[able, figure]))
    amount = short / aim
    return Missing("capacity", amount, f"{amount:.4g} more of {report.goal} ({count} brokers like the others)")
