"""What each partition costs the CPU of who leads it and of who follows, from what brokers use: nobody measures that."""

from dataclasses import dataclass

import numpy as np

from planner.balance.loads import MeasuredLoads
from planner.drain.model.state import NO_BROKER, ClusterState, Floats

LEADER_IN, LEADER_OUT, FOLLOWER_IN = 0.7, 0.15, 0.15
"""Cruise Control's weights (leader.network.inbound.weight.for.cpu.util and its neighbours): a byte that a leader takes,
that it sends, and that a follower takes."""


@dataclass(frozen=True, slots=True, eq=False)
class BrokerCpu:
    """float64[B] each: what a broker uses of its processors, and how many it has. Of all brokers, or of none."""

    used: Floats
    processors: Floats


def with_cpu(state: ClusterState, measured: MeasuredLoads, cpu: BrokerCpu) -> MeasuredLoads:
    """The loads with a CPU for each broker and what each partition costs: a broker's use is shared out over what it
    leads and follows by bytes. A partition that nobody leads, or of which no write rate is known, costs nothing.
    """
    parts = state.partitions
    write = np.nan_to_num(parts.write_bytes_per_s)
    followers = np.maximum((parts.replicas != NO_BROKER).sum(axis=1) - 1, 0)
    out = write * followers + np.nan_to_num(parts.read_bytes_per_s)
    leads, follows = LEADER_IN * write + LEADER_OUT * out, FOLLOWER_IN * write
    weight = np.zeros(len(state.brokers) + 1)
    np.add.at(weight, parts.leader, leads)
    for column in parts.replicas.T:
        np.add.at(weight, np.where(column == parts.leader, NO_BROKER, column), follows)
    weight[-1] = 0.0
    per_byte = np.zeros(weight.size)
    busy = weight[:-1] > 0
    per_byte[:-1][busy] = cpu.used[busy] / weight[:-1][busy]
    each = per_byte[parts.leader]
    return MeasuredLoads(
        nic_in_bytes_per_s=measured.nic_in_bytes_per_s,
        nic_out_bytes_per_s=measured.nic_out_bytes_per_s,
        cpu=cpu.processors,
        cpu_leading=each * leads,
        cpu_following=each * follows,
        out_bytes_per_s=measured.out_bytes_per_s,
    )
