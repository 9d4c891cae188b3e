"""The bounds once more, one 0/1 or linear program per question and a variable per partition, copy and broker."""

from itertools import combinations

import numpy as np
from scipy.optimize import LinearConstraint, milp

from planner.drain.model.state import NO_BROKER, BrokerState, ClusterState


def legal_placements(state: ClusterState, row: int) -> list[tuple[int, ...]]:
    """Every set of targets for the leaving replicas of a partition that H1 and H2 allow."""
    rack, may = state.brokers.rack, state.brokers.may_receive
    held = [b for b in state.partitions.replicas[row].tolist() if b != NO_BROKER]
    stays = [b for b in held if may[b]]
    needed = min(len({rack[b] for b in held}), len(set(rack[may].tolist())))
    free = [b for b in np.flatnonzero(may).tolist() if b not in stays]
    chosen = combinations(free, len(held) - len(stays))
    return [c for c in chosen if len({rack[b] for b in (*stays, *c)}) >= needed]


def leaving_rows(state: ClusterState) -> list[int]:
    parts = state.partitions
    return np.flatnonzero(
        (state.brokers.must_empty[parts.replicas] & (parts.replicas != NO_BROKER)).any(axis=1)
    ).tolist()


def _solve(state: ClusterState, makespan_s: float | None) -> float:
    """Fractions over whole placements per partition: min T, or min D at a given T."""
    brokers, size = state.brokers, state.partitions.size_bytes
    columns = [(row, choice) for row in leaving_rows(state) for choice in legal_placements(state, row)]
    used = np.zeros(len(brokers))
    for row, replicas in enumerate(state.partitions.replicas.tolist()):
        for broker in replicas:
            if broker != NO_BROKER:
                used[broker] += size[row]
    count = len(columns)
    cost = np.zeros(count + 1)
    cost[-1] = 1.0
    rows, low, high = [], [], []
    for row in leaving_rows(state):
        rows.append([float(r == row) for r, _ in columns] + [0.0])
        low.append(1.0)
        high.append(1.0)
    for broker in np.flatnonzero(brokers.may_receive).tolist():
        takes = [float(size[r]) * (broker in choice) for r, choice in columns]
        if makespan_s is None:
            rows.append([*takes, -brokers.ingress_bytes_per_s[broker]])
            high.append(0.0)
            low.append(-np.inf)
            continue
        rows += [[*takes, 0.0], [*takes, -float(brokers.disk_bytes[broker])]]
        high += [makespan_s * brokers.ingress_bytes_per_s[broker] * (1 + 1e-9), -used[broker]]
        low += [-np.inf, -np.inf]
    answer = milp(cost, constraints=LinearConstraint(np.array(rows), low, high), bounds=(0, np.inf))
    return float(answer.x[-1]) if answer.status == 0 else float("inf")


def ingress_s(state: ClusterState) -> float:
    return _solve(state, None)


def least_fill(state: ClusterState, makespan_s: float) -> float:
    return _solve(state, makespan_s)


def egress_s(state: ClusterState) -> float:
    """Fractions of each partition's copies per source in sync and not dead."""
    parts, brokers = state.partitions, state.brokers
    columns, equal = [], []
    for row in leaving_rows(state):
        copies = sum(brokers.must_empty[b] for b in parts.replicas[row].tolist() if b != NO_BROKER)
        if parts.size_bytes[row]:
            equal.append((row, float(parts.size_bytes[row] * copies)))
            for broker, good in zip(parts.replicas[row].tolist(), parts.in_sync[row].tolist(), strict=True):
                if good and broker != NO_BROKER and brokers.state[broker] != BrokerState.DEAD:
                    columns.append((row, broker))
    if not equal:
        return 0.0
    matrix = [[float(r == row) for r, _ in columns] + [0.0] for row, _ in equal]
    low = [size for _, size in equal]
    high = list(low)
    for broker in range(len(brokers)):
        matrix.append([float(b == broker) for _, b in columns] + [-brokers.egress_bytes_per_s[broker]])
        low.append(-np.inf)
        high.append(0.0)
    cost = np.zeros(len(columns) + 1)
    cost[-1] = 1.0
    answer = milp(cost, constraints=LinearConstraint(np.array(matrix), low, high), bounds=(0, np.inf))
    return float(answer.x[-1]) if answer.status == 0 else float("inf")


def leader_count(state: ClusterState) -> int:
    """0/1: every partition one leader among the brokers it keeps or may legally come to."""
    able = state.brokers.may_receive
    columns, rows = [], []
    for row, replicas in enumerate(state.partitions.replicas.tolist()):
        may = {b for b in replicas if b != NO_BROKER and able[b]}
        if row in leaving_rows(state):
            may |= {b for choice in legal_placements(state, row) for b in choice}
        columns += [(row, b) for b in sorted(may)]
        rows += [row] if may else []
    if not rows:
        return 0
    matrix = [[float(r == row) for r, _ in columns] + [0.0] for row in rows]
    matrix += [[float(b == broker) for _, b in columns] + [-1.0] for broker in range(len(state.brokers))]
    low = [1.0] * len(rows) + [-np.inf] * len(state.brokers)
    high = [1.0] * len(rows) + [0.0] * len(state.brokers)
    cost = np.zeros(len(columns) + 1)
    cost[-1] = 1.0
    answer = milp(
        cost,
        constraints=LinearConstraint(np.array(matrix), low, high),
        integrality=np.ones(len(cost)),
        bounds=(0, np.inf),
    )
    return round(answer.fun)
