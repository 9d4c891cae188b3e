"""What a rebalance is asked to do: one value with policy and figures, so an answer depends on it and the snapshot."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from events.spec.broker_sets import NO_SETS, BrokerSets
from planner.drain.certificate import BandwidthSource
from planner.drain.model.capacity import FigureSource
from planner.observed import TopicPartition
from planner.rebalancing.choice import EVERYTHING, BalanceChoice

BATCH_S = 120.0
"""A batch takes about this long at the promised rates: so long does anything else have to wait for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceRequest:
    """Spread replicas anew over `receivers`. `new`: only these are given anything, up to their share; empty: anybody.

    `read_bytes_per_s`: what consumers fetch of partitions, where it is known. `cpu_used`: the share of its processors
    each broker uses, 0 to 1, and how many it has; CPU is judged where both are known of every broker that is there.
    `demoted`: brokers that are to lead nothing. `choice`: which goals, and what is left out. `sets`: whose topics stay
    where.

    `capacities` as for state files, the first that knows a figure counts. `most_bytes_per_s`: the operator's cap of
    every throttle.
    """

    cluster_uid: str
    rebalance_id: str
    round: int
    receivers: tuple[int, ...]
    capacities: tuple[FigureSource, ...]
    bandwidth_source: BandwidthSource
    new: tuple[int, ...] = ()
    racks: Mapping[int, str] = field(default_factory=dict)
    write_bytes_per_s: Mapping[TopicPartition, int] = field(default_factory=dict)
    write_rates_from: str = ""
    read_bytes_per_s: Mapping[TopicPartition, int] = field(default_factory=dict)
    cpu_used: Mapping[int, float] = field(default_factory=dict)
    processors: Mapping[int, int] = field(default_factory=dict)
    demoted: tuple[int, ...] = ()
    choice: BalanceChoice = EVERYTHING
    sets: BrokerSets = NO_SETS
    most_bytes_per_s: int | None = None
    disk_limit_fraction: float = 0.9
    batch_s: float = BATCH_S
