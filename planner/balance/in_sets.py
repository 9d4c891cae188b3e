"""Rebalance where topics stay within sets of brokers: replicas outside of theirs come home, then each set is balanced
by itself, as nothing may pass between two of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from events.spec.broker_sets import BrokerSets, set_words
from planner.balance.answer import Answer, Balanced, GoalReport, Missing, Range, Shortfall
from planner.balance.bound import bytes_moved
from planner.balance.goals import Goal, Goals
from planner.balance.homes import house, largest_first, yard_of
from planner.balance.loads import Figure, Loads, MeasuredLoads, borne, led_now, loads_of
from planner.balance.rebalance import UNMEASURED, add_brokers, changed, rebalance
from planner.balance.release import schedule_of
from planner.balance.rows import rows_of
from planner.balance.scoreboard import room_of
from planner.drain.model.state import NO_BROKER, NOWHERE, Bools, BrokerState, ClusterState, Int32s, Int64s
from planner.drain.solver.demand import distinct_racks
from planner.heartbeats import HEARTBEAT_TOPIC


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTerms:
    """What a rebalance is asked, as `planner.balance.rebalance` has it; `onto`: these alone receive. `brings_home`:
    whether replicas outside of their set are brought there."""

    goals: Goals
    brings_home: bool = True
    measured: MeasuredLoads = UNMEASURED
    excluded_topics: frozenset[str] = frozenset()
    excluded_brokers: Sequence[int] = ()
    demoted: Sequence[int] = ()
    onto: Sequence[int] = ()


def rebalance_in_sets(state: ClusterState, terms: SetTerms) -> Answer:
    """Bring each set of the state within the goals. No replica leaves its set, whatever the goals.

    Where they are brought home, and unless only chosen brokers receive, replicas outside of their set come first, where
    no rack is lost by it and a disk has room; what cannot come is a Shortfall that names the set. Raises ValueError as
    `rebalance`.
    """
    homes = _homes(state, state.sets)
    brings = terms.brings_home and not terms.onto
    home = _brought_home(state, homes, terms) if brings else state.partitions.replicas.copy()
    within = _at_home(state, home)
    parts = [_SetPart(number, name, _balanced(within, homes, number, terms)) for number, name in enumerate(homes.names)]
    parts = [part for part in parts if part.best is not None]
    lists = home.copy()
    for part in parts:
        plan = part.balanced.schedule
        rows = _rows(within, homes, part.number)[plan.row]
        lists[rows] = NO_BROKER
        lists[rows, : plan.after.shape[1]] = plan.after[:, : lists.shape[1]]
    strays = _strays(state, homes, lists)
    own = _report(state, homes, strays, asked=brings)
    best = Balanced(
        schedule=schedule_of(state, *changed(state, lists), assumptions=_assumptions(parts)),
        goals=(*((own,) if own else ()), *_merged(parts)),
        bytes_moved=bytes_moved(state, lists),
        bytes_bound=_bound(state, homes, home, parts),
        leader_changes=int((_leaders(state, lists) != state.partitions.leader).sum()),
        left=_left(parts, within, homes),
    )
    short = [part.answer for part in parts if isinstance(part.answer, Shortfall)]
    if own is not None and not own.met:
        stuck = tuple(int(row) for row in np.flatnonzero(strays.any(axis=1)))
        return Shortfall(message=own.why, missing=Missing("brokers", 1, "brokers to that set"), stuck=stuck, best=best)
    return replace(short[0], best=best) if short else best


@dataclass(frozen=True, slots=True, eq=False)
class _Homes:
    """`broker`: int32[B], `partition`: int32[P], numbers into `names`; -1: a partition that may be anywhere."""

    names: tuple[str, ...]
    broker: Int32s
    partition: Int32s


@dataclass(frozen=True, slots=True, eq=False)
class _SetPart:
    number: int
    name: str
    answer: Answer | None

    @property
    def best(self) -> Balanced | None:
        return self.answer.best if isinstance(self.answer, Shortfall) else self.answer

    @property
    def balanced(self) -> Balanced:
        if self.best is None:
            raise ValueError(f"{set_words(self.name)} has no plan")
        return self.best


def _homes(state: ClusterState, sets: BrokerSets) -> _Homes:
    of_broker = [sets.set_of(b) for b in state.brokers.id.tolist()]
    of_topic = [None if t == HEARTBEAT_TOPIC else sets.of_topic(t) for t in state.partitions.topics]
    names = tuple(sorted({*of_broker, *(s for s in of_topic if s is not None)}))
    code = {name: n for n, name in enumerate(names)}
    topic = np.array([-1 if s is None else code[s] for s in of_topic], dtype=np.int32)
    return _Homes(names, np.array([code[s] for s in of_broker], dtype=np.int32), topic[state.partitions.topic])


def _strays(state: ClusterState, homes: _Homes, lists: Int32s) -> Bools:
    """bool[P, W]: replicas on brokers outside of their set."""
    where = np.append(homes.broker, np.int32(-1))[lists]
    away: Bools = (lists != NO_BROKER) & (homes.partition[:, None] >= 0) & (where != homes.partition[:, None])
    return away


def _brought_home(state: ClusterState, homes: _Homes, terms: SetTerms) -> Int32s:
    """int32[P, W]: the lists with each stray replaced in its place by a broker of its set, where one can take it."""
    parts, brokers = state.partitions, state.brokers
    held = parts.replicas != NO_BROKER
    strays = _strays(state, homes, parts.replicas)
    leaving = (np.append(brokers.must_empty, False)[parts.replicas] & held).any(axis=1)
    excluded = np.isin(parts.topic, [i for i, topic in enumerate(parts.topics) if topic in terms.excluded_topics])
    able = strays.any(axis=1) & (parts.in_sync | ~held).all(axis=1) & (parts.leader >= 0) & ~leaving & ~excluded
    lists = np.where(strays & able[:, None], NO_BROKER, parts.replicas).astype(np.int64)
    loads: Loads = loads_of(state, terms.measured)
    yard = yard_of(state, loads, lists, room_of(state, borne(loads, parts.replicas, parts.leader)[:, Figure.DISK]))
    takes = brokers.may_receive.copy()
    takes[rows_of(state, terms.excluded_brokers)] = False
    racks = distinct_racks(brokers.rack, parts.replicas, held).astype(np.int64)
    wanted = held.sum(axis=1).astype(np.int64)
    done = np.zeros(len(parts), dtype=np.bool_)
    for number in range(len(homes.names)):
        rows = np.flatnonzero(able & (homes.partition == number)).astype(np.int64)
        if rows.size:
            open_ = takes & (homes.broker == number)
            done |= house(yard, largest_first(yard.size, rows), wanted, racks, open_)
    after: Int32s = np.where(done[:, None], yard.lists, parts.replicas).astype(np.int32)
    return after


def _at_home(state: ClusterState, lists: Int32s) -> ClusterState:
    """The state as it is once those have come home: in sync, led by who led, else by the first."""
    parts = state.partitions
    moved = (lists != parts.replicas).any(axis=1)
    keeps = (lists == led_now(state)[:, None]).any(axis=1)
    leader = np.where(moved & ~keeps, lists[:, 0], parts.leader).astype(np.int32)
    in_sync = np.where(moved[:, None], lists != NO_BROKER, parts.in_sync)
    dirs = state.log_dirs
    if dirs is not None:
        located = np.where(lists == parts.replicas, dirs.located, NOWHERE).astype(np.int32)
        dirs = replace(dirs, located=located)
    return replace(state, partitions=replace(parts, replicas=lists, leader=leader, in_sync=in_sync), log_dirs=dirs)


def _rows(state: ClusterState, homes: _Homes, number: int) -> Int64s:
    """int64[N]: partitions of the set, and others that weigh on its brokers."""
    on = (np.append(homes.broker, np.int32(-1))[state.partitions.replicas] == number).any(axis=1)
    return np.flatnonzero(on | (homes.partition == number)).astype(np.int64)


def _balanced(state: ClusterState, homes: _Homes, number: int, terms: SetTerms) -> Answer | None:
    """The set by itself: nobody else receives, and nothing else moves. None where nobody of it is to receive."""
    mine = homes.broker == number
    takers = [b for b in terms.onto if b not in terms.excluded_brokers]
    onto = np.intersect1d(rows_of(state, takers), np.flatnonzero(mine))
    if not (state.brokers.may_receive & mine).any() or (terms.onto and not onto.size):
        return None
    rows = _rows(state, homes, number)
    foreign = homes.partition[rows] != number
    part = _of(state, rows, np.where(mine, state.brokers.state, BrokerState.OUTGOING).astype(np.int8))
    names = np.array(state.partitions.topics, dtype=np.object_)
    away = frozenset(names[np.unique(part.partitions.topic[foreign])].tolist()) | terms.excluded_topics
    measured = _measured_of(terms.measured, rows)
    if terms.onto:
        ids = state.brokers.id[onto].tolist()
        return add_brokers(part, ids, terms.goals, measured=measured, excluded_topics=away, demoted=terms.demoted)
    return rebalance(
        part, terms.goals, measured=measured, excluded_topics=away, excluded_brokers=terms.excluded_brokers,
        demoted=terms.demoted,
    )  # fmt: skip


def _of(state: ClusterState, rows: Int64s, broker_state: object) -> ClusterState:
    """The state of those partitions alone, with brokers in these states."""
    p, dirs = state.partitions, state.log_dirs
    return replace(
        state,
        brokers=replace(state.brokers, state=np.asarray(broker_state, dtype=np.int8)),
        partitions=replace(
            p,
            topic=p.topic[rows],
            partition=p.partition[rows],
            replicas=p.replicas[rows],
            in_sync=p.in_sync[rows],
            leader=p.leader[rows],
            min_isr=p.min_isr[rows],
            size_bytes=p.size_bytes[rows],
            write_bytes_per_s=p.write_bytes_per_s[rows],
            read_bytes_per_s=p.read_bytes_per_s[rows],
        ),
        log_dirs=None if dirs is None else replace(dirs, located=dirs.located[rows]),
    )


def _measured_of(measured: MeasuredLoads, rows: Int64s) -> MeasuredLoads:
    return replace(
        measured,
        cpu_leading=None if measured.cpu_leading is None else measured.cpu_leading[rows],
        cpu_following=None if measured.cpu_following is None else measured.cpu_following[rows],
        out_bytes_per_s=None if measured.out_bytes_per_s is None else measured.out_bytes_per_s[rows],
    )


def _leaders(state: ClusterState, lists: Int32s) -> Int32s:
    same = lists[:, 0] == state.partitions.replicas[:, 0]
    return np.where(same, led_now(state), lists[:, 0]).astype(np.int32)


def _report(state: ClusterState, homes: _Homes, strays: Bools, *, asked: bool) -> GoalReport | None:
    """The row of `broker-sets`: partitions with a replica outside of their set; None where nobody asked for it."""
    if not asked:
        return None
    none = Range(float("nan"), float("nan"))
    left: Bools = np.asarray(strays.any(axis=1))
    return GoalReport(
        goal=Goal.BROKER_SETS,
        hard=True,
        before=none,
        after=none,
        band=none,
        broken_before=int(_strays(state, homes, state.partitions.replicas).any(axis=1).sum()),
        broken_after=int(left.sum()),
        why="; ".join(_whys(state, homes, left)),
    )


def _whys(state: ClusterState, homes: _Homes, left: Bools) -> Iterator[str]:
    """One sentence a set that does not get all of its replicas."""
    parts, brokers = state.partitions, state.brokers
    held = (parts.replicas != NO_BROKER).sum(axis=1)
    for number, name in enumerate(homes.names):
        rows = np.flatnonzero(left & (homes.partition == number))
        if not rows.size:
            continue
        able = brokers.may_receive & (homes.broker == number)
        wanted, there = int(held[rows].max()), int(able.sum())
        racks = int(np.unique(brokers.rack[able]).size)
        spans = int(distinct_racks(brokers.rack, parts.replicas[rows], parts.replicas[rows] != NO_BROKER).max())
        if there < wanted:
            why = f"has {there} brokers that may receive, {wanted} replicas need {wanted}"
        elif racks < spans:
            why = f"has brokers in {racks} racks that may receive, {spans} racks would be lost"
        else:
            why = "has no broker that can take them now: a disk is full, or a replica is out of sync or left alone"
        topic = parts.topics[int(parts.topic[rows[0]])]
        yield f"{set_words(name)} {why} ({rows.size} partitions, of topic {topic} for one)"


def _merged(parts: Sequence[_SetPart]) -> tuple[GoalReport, ...]:
    """Each goal over all sets: how many are out of it together, the widest range."""
    rows: dict[Goal, list[tuple[str, GoalReport]]] = {}
    for part in parts:
        for report in part.balanced.goals:
            rows.setdefault(report.goal, []).append((part.name, report))
    return tuple(_one(goal, found) for goal, found in rows.items())


def _one(goal: Goal, found: Sequence[tuple[str, GoalReport]]) -> GoalReport:
    reports = [report for _, report in found]

    def widest(ranges: Sequence[Range]) -> Range:
        return Range(float(np.fmin.reduce([r.least for r in ranges])), float(np.fmax.reduce([r.most for r in ranges])))

    return GoalReport(
        goal=goal,
        hard=reports[0].hard,
        before=widest([r.before for r in reports]),
        after=widest([r.after for r in reports]),
        band=widest([r.band for r in reports]),
        broken_before=sum(r.broken_before for r in reports),
        broken_after=sum(r.broken_after for r in reports),
        why="; ".join(f"{set_words(name)}: {r.why}" for name, r in found if r.why),
    )


def _bound(state: ClusterState, homes: _Homes, home: Int32s, parts: Sequence[_SetPart]) -> float:
    """Each replica that comes home is copied; a set with none of those has the bound of its own plan."""
    came = home != state.partitions.replicas
    total = float((came.sum(axis=1) * state.partitions.size_bytes).sum())
    busy = set(homes.partition[came.any(axis=1)].tolist())
    return total + sum(part.balanced.bytes_bound for part in parts if part.number not in busy)


def _assumptions(parts: Sequence[_SetPart]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line for part in parts for line in part.balanced.schedule.assumptions))


def _left(parts: Sequence[_SetPart], state: ClusterState, homes: _Homes) -> tuple[tuple[int, str], ...]:
    left = {
        int(rows[row]): why
        for part in parts
        for rows in [_rows(state, homes, part.number)]
        for row, why in part.balanced.left
        if homes.partition[rows[row]] == part.number
    }
    return tuple(sorted(left.items()))
