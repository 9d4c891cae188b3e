"""The smallest drain there is, to warm a session with: its plan loads, or compiles, every kernel of the planner."""

import numpy as np

from planner.drain.arrays import BrokerTable, ClusterModel
from planner.drain.request import Bandwidth, DrainRequest


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
