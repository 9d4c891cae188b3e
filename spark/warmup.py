"""The smallest requests there are, to warm a session with: their plans load, or compile, every kernel they need."""

import numpy as np

from planner.drain.arrays import BrokerTable, ClusterModel
from planner.drain.model.capacity import Capacity, FigureOrigin, FigureSource
from planner.drain.request import Bandwidth, DrainRequest
from planner.observed import LogDirsSeen, PartitionSeen, TopicPartition
from planner.rebalancing.question import RebalanceQuestion, planned_on
from planner.rebalancing.request import RebalanceRequest


def tiny_request() -> DrainRequest:
    """One partition from broker 1 to broker 2."""
    one = np.array([0], dtype=np.int32)
    sizes = np.array([1, 1], dtype=np.int64)
    return DrainRequest(
        cluster_uid="warm-up",
        drain_id="warm-up",
        round=1,
        outgoing=(1,),
        targets=(2,),
        bandwidth=Bandwidth(1_000_000, "assumed"),
        cluster=ClusterModel(
            topics=("t",),
            topic=one,
            partition=one,
            leader=one + 1,
            replicas=np.array([[1]], dtype=np.int32),
            isr=np.array([[1]], dtype=np.int32),
            min_isr=one + 1,
            moving=np.array([False]),
            size_bytes=sizes[:1],
            write_bytes_per_s=sizes[:1],
            brokers=BrokerTable(
                id=np.array([1, 2], dtype=np.int32),
                rack=np.array([0, 0], dtype=np.int32),
                racks=("",),
                live=np.array([True, True]),
                total_bytes=sizes * 10**9,
                free_bytes=sizes * 10**9,
                log_bytes=sizes,
            ),
        ),
    )


def tiny_rebalance() -> RebalanceQuestion:
    """Twelve partitions on brokers 1 and 2, of which broker 3 is due a share."""
    disk, size, rate = 10**9, 10**6, 1e6
    partitions = tuple(
        PartitionSeen(TopicPartition("t", n), 1 + n % 2, (1 + n % 2, 2 - n % 2), (1, 2), 1, size_bytes=size)
        for n in range(12)
    )
    told = {b: len(partitions) if b < 3 else 0 for b in (1, 2, 3)}
    request = RebalanceRequest(
        cluster_uid="warm-up",
        rebalance_id="warm-up",
        round=1,
        receivers=(1, 2, 3),
        capacities=(
            FigureSource(
                origin=FigureOrigin.GIVEN,
                everyone=Capacity(disk_bytes=disk, ingress_bytes_per_s=rate, egress_bytes_per_s=rate),
            ),
        ),
        bandwidth_source="assumed",
    )
    cluster = planned_on(
        brokers=dict.fromkeys((1, 2, 3), ("", False)),
        partitions=partitions,
        log_dirs={b: LogDirsSeen(count, count * size, disk, disk - count * size) for b, count in told.items()},
    )
    return RebalanceQuestion(request, cluster)
