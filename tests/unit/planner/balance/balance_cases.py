"""Small clusters for the tests of rebalancing, and an exact solver that knows nothing of the search."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from planner.balance.goals import Goals
from planner.balance.limits import limits_of
from planner.balance.loads import Figure, MeasuredLoads, borne, led_now, loads_of
from planner.drain.model.plan import Schedule
from planner.drain.model.state import NO_BROKER, BrokerState, ClusterState
from planner.drain.replay.run import replay
from planner.drain.replay.violation import Violation
from tests.unit.planner.drain.judge_cases import cluster, padded

ACTIVE, OUTGOING, NEW, DEAD = BrokerState.ACTIVE, BrokerState.OUTGOING, BrokerState.NEW, BrokerState.DEAD


def topics_apart(state: ClusterState, topic: Sequence[int], names: tuple[str, ...]) -> ClusterState:
    code = np.array(topic, dtype=np.int32)
    number = np.array([int((code[:i] == code[i]).sum()) for i in range(code.size)], dtype=np.int32)
    return replace(state, partitions=replace(state.partitions, topics=names, topic=code, partition=number))


def healthy(racks: str, replicas: Sequence[Sequence[int]], **more: object) -> ClusterState:
    more.setdefault("disk", 10**6)
    more.setdefault("egress", 10.0)
    return cluster(racks, [ACTIVE] * len(racks), replicas, **more)  # type: ignore[arg-type]


def broken_rules(state: ClusterState, schedule: Schedule) -> tuple[Violation, ...]:
    return replay(state, schedule).violations


def applied(state: ClusterState, schedule: Schedule) -> ClusterState:
    """The cluster when the plan is through and the preferred election has run."""
    parts = state.partitions
    width = max(parts.replicas.shape[1], schedule.after.shape[1] if len(schedule) else 0)
    lists = np.full((len(parts), width), NO_BROKER, dtype=np.int32)
    lists[:, : parts.replicas.shape[1]] = parts.replicas
    in_sync = np.zeros(lists.shape, dtype=np.bool_)
    in_sync[:, : parts.in_sync.shape[1]] = parts.in_sync
    lists[schedule.row] = NO_BROKER
    lists[schedule.row, : schedule.after.shape[1]] = schedule.after
    in_sync[schedule.row] = lists[schedule.row] != NO_BROKER
    leader = led_now(replace(state, partitions=replace(parts, replicas=lists, in_sync=in_sync)))
    return replace(state, partitions=replace(parts, replicas=lists, in_sync=in_sync, leader=leader))


def least_bytes_exactly(state: ClusterState, goals: Goals) -> float | None:
    """The fewest bytes of any placement within the disk and replica bands, by HiGHS; None where there is none.

    One binary per partition and broker; racks distinct where they are now; no leaders (they cost nothing here).
    """
    parts, count, brokers = state.partitions, len(state.partitions), len(state.brokers)
    loads = loads_of(state, MeasuredLoads())
    limits = limits_of(state, loads, goals, borne(loads, parts.replicas, parts.leader))
    cost = np.repeat(parts.size_bytes.astype(float), brokers)
    rows, low, high = [], [], []
    for p in range(count):
        row = np.zeros(count * brokers)
        row[p * brokers : (p + 1) * brokers] = 1
        held = [int(b) for b in parts.replicas[p] if b != NO_BROKER]
        cost[[p * brokers + b for b in held]] = 0
        rows, low, high = [*rows, row], [*low, len(held)], [*high, len(held)]
        for rack in range(len(state.brokers.racks)):
            mine = np.zeros(count * brokers)
            mine[[p * brokers + int(b) for b in np.flatnonzero(state.brokers.rack == rack)]] = 1
            rows, low, high = [*rows, mine], [*low, 0], [*high, 1]
    for figure in (Figure.REPLICAS, Figure.DISK):
        for b in range(brokers):
            row = np.zeros(count * brokers)
            row[b::brokers] = loads.following[:, figure]
            rows.append(row)
            low.append(limits.low[b, figure])
            high.append(limits.high[b, figure])
    answer = milp(
        cost,
        constraints=LinearConstraint(csr_array(np.array(rows)), np.array(low) - 1e-9, np.array(high) + 1e-9),
        integrality=np.ones(cost.size),
        bounds=Bounds(0, 1),
    )
    return float(answer.fun) if answer.status == 0 else None


__all__ = ["ACTIVE", "DEAD", "NEW", "OUTGOING", "cluster", "padded"]
