"""The cluster as the arrays a plan is made on, straight from the metadata: without the document and its checks, which
cost too much for every look. Bandwidths, sync and log directories are left out: shares do not depend on them.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from planner.balance.cpu import BrokerCpu, with_cpu
from planner.balance.loads import MeasuredLoads
from planner.drain.arrays import padded
from planner.drain.model.hardware import Hardware, unknown_hardware
from planner.drain.model.observed import brokers_of
from planner.drain.model.state import NO_BROKER, Brokers, BrokerState, ClusterState, Floats, Int32s, Partitions
from planner.observed import KafkaSnapshot, PartitionSeen
from planner.rebalancing.known_load import KnownLoad


def light_state(kafka: KafkaSnapshot, receivers: tuple[int, ...], load: KnownLoad) -> ClusterState:
    """`receivers` may receive, all others are to be emptied. Who leads is who is to lead: an election for the moment is
    no imbalance. A disk nobody told of is 0."""
    ids = sorted(brokers_of(kafka) | {*receivers})
    row = {broker: n for n, broker in enumerate(ids)}
    racks = [_rack(kafka, b) for b in ids]
    names = tuple(sorted(set(racks)))
    able = frozenset(receivers)
    parts = kafka.partitions
    topics = tuple(sorted({p.name.topic for p in parts}))
    code = {topic: n for n, topic in enumerate(topics)}
    replicas = rows_of_lists((p.target for p in parts), row)
    zero = np.zeros(len(ids))
    return ClusterState(
        brokers=Brokers(
            id=np.array(ids, dtype=np.int32),
            rack=np.array([names.index(r) for r in racks], dtype=np.int32),
            racks=names,
            state=np.array([BrokerState.ACTIVE if b in able else BrokerState.OUTGOING for b in ids], dtype=np.int8),
            disk_bytes=np.array([_disk(kafka, b) for b in ids], dtype=np.int64),
            ingress_bytes_per_s=zero,
            egress_bytes_per_s=zero,
        ),
        partitions=Partitions(
            topics=topics,
            topic=np.array([code[p.name.topic] for p in parts], dtype=np.int32),
            partition=np.array([p.name.partition for p in parts], dtype=np.int32),
            replicas=replicas,
            in_sync=replicas != NO_BROKER,
            leader=np.array([row.get(_leader(p), NO_BROKER) for p in parts], dtype=np.int32),
            min_isr=np.ones(len(parts), dtype=np.int32),
            size_bytes=np.array([p.size_bytes for p in parts], dtype=np.int64),
            write_bytes_per_s=np.array([load.write_bytes_per_s.get(p.name, np.nan) for p in parts], dtype=np.float64),
            read_bytes_per_s=np.array([load.read_bytes_per_s.get(p.name, np.nan) for p in parts], dtype=np.float64),
        ),
        disk_limit=1.0,
        flow_bytes_per_s=1.0,
        hardware=_hardware(ids, load),
    )


def rows_of_lists(lists: Iterable[Sequence[int]], row: Mapping[int, int]) -> Int32s:
    """int32[P, W]: replica lists by id as broker rows."""
    return padded([row[b] for b in ids] for ids in lists)


def light_measured(state: ClusterState, receivers: tuple[int, ...], load: KnownLoad) -> MeasuredLoads:
    """CPU, where it is known of every broker that may receive; of another one it counts nothing."""
    if not receivers or not all(b in load.cpu_used and load.processors.get(b, 0) > 0 for b in receivers):
        return MeasuredLoads()
    ids = state.brokers.id.tolist()
    processors = np.array([float(load.processors.get(b, 1)) for b in ids])
    share = np.array([load.cpu_used.get(b, 0.0) for b in ids])
    return with_cpu(state, MeasuredLoads(), BrokerCpu(share * processors, processors))


def _leader(seen: PartitionSeen) -> int:
    return seen.target[0] if seen.target else seen.leader


def _rack(kafka: KafkaSnapshot, broker: int) -> str:
    """Brokers of unknown rack are each a rack of their own: nothing is proved."""
    seen = kafka.brokers.get(broker)
    return seen.rack if seen is not None and seen.rack else f"broker {broker}"


def _disk(kafka: KafkaSnapshot, broker: int) -> int:
    known = kafka.log_dirs.get(broker)
    return known.used_bytes + known.usable_bytes if known is not None and known.total_bytes > 0 else 0


def _hardware(ids: list[int], load: KnownLoad) -> Hardware:
    def column(known: Mapping[int, float]) -> Floats:
        return np.array([known.get(b, np.nan) for b in ids], dtype=np.float64)

    nothing = unknown_hardware(len(ids))
    return Hardware(
        nic_in_bytes_per_s=column(load.nic_in_bytes_per_s),
        nic_out_bytes_per_s=column(load.nic_out_bytes_per_s),
        disk_write_bytes_per_s=nothing.disk_write_bytes_per_s,
        disk_read_bytes_per_s=nothing.disk_read_bytes_per_s,
        disk_io_bytes_per_s=nothing.disk_io_bytes_per_s,
    )
