"""A cluster as two Arrow tables and back: what crosses to Spark and lies in Parquet.

One row per partition, one per broker, ids and names instead of rows and codes, plain types only (Spark reads no
Arrow dictionaries). Policy (disk limit, flow, destinations) is in the brokers table's schema metadata. Columns are
built from whole arrays: a million partitions take well under a second.
"""

import json
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from planner.drain.model.arrow_log_dirs import log_dirs_in, with_broker_dirs, with_replica_dirs
from planner.drain.model.hardware import FIGURES as HARDWARE, Hardware, hardware_of
from planner.drain.model.problem import DocumentRefused, StateProblem, StateProblemKind
from planner.drain.model.state import (
    NO_BROKER,
    Bools,
    Brokers,
    BrokerState,
    ClusterState,
    Int32s,
    Int64s,
    Partitions,
)

_BROKER_FIELDS: "list[pa.Field[Any]]" = [
    pa.field("id", pa.int32()),
    pa.field("rack", pa.string()),
    pa.field("state", pa.string()),
    pa.field("disk_bytes", pa.int64()),
    pa.field("ingress_bytes_per_s", pa.float64()),
    pa.field("egress_bytes_per_s", pa.float64()),
]
_PARTITION_FIELDS: "list[pa.Field[Any]]" = [
    pa.field("topic", pa.string()),
    pa.field("partition", pa.int32()),
    pa.field("replicas", pa.list_(pa.int32())),
    pa.field("leader", pa.int32()),
    pa.field("isr", pa.list_(pa.int32())),
    pa.field("min_isr", pa.int32()),
    pa.field("size_bytes", pa.int64()),
    pa.field("write_bytes_per_s", pa.float64()),
    pa.field("read_bytes_per_s", pa.float64()),
]
BROKERS = pa.schema(_BROKER_FIELDS)
PARTITIONS = pa.schema(_PARTITION_FIELDS)
"""A null leader: nobody leads. A null rate: nobody measured it."""

POLICY = b"kedge.policy"
"""Key of the policy (JSON) in the schema metadata of a brokers table."""


def brokers_table(state: ClusterState) -> pa.Table:
    """B rows, ascending by id, with the policy in the schema metadata."""
    brokers = state.brokers
    names = np.array([s.name.lower() for s in sorted(BrokerState)], dtype=object)
    columns: list[Any] = [
        pa.array(brokers.id),
        pa.array(np.array(brokers.racks, dtype=object)[brokers.rack], pa.string()),
        pa.array(names[brokers.state], pa.string()),
        pa.array(brokers.disk_bytes),
        pa.array(brokers.ingress_bytes_per_s),
        pa.array(brokers.egress_bytes_per_s),
    ]
    table = with_hardware(with_broker_dirs(pa.table(columns, schema=BROKERS), state), state)
    return table.replace_schema_metadata({POLICY: _policy(state)})


def partitions_table(state: ClusterState) -> pa.Table:
    """P rows in the state's order."""
    parts, ids = state.partitions, state.brokers.id
    held = parts.replicas != NO_BROKER
    topics = pa.DictionaryArray.from_arrays(pa.array(parts.topic, pa.int32()), pa.array(parts.topics, pa.string()))
    columns: list[Any] = [
        topics.cast(pa.string()),
        pa.array(parts.partition),
        _lists(parts.replicas, held, ids),
        pa.array(ids[parts.leader], mask=parts.leader == NO_BROKER),
        _lists(parts.replicas, held & parts.in_sync, ids),
        pa.array(parts.min_isr),
        pa.array(parts.size_bytes),
        pa.array(parts.write_bytes_per_s, mask=np.isnan(parts.write_bytes_per_s)),
        pa.array(parts.read_bytes_per_s, mask=np.isnan(parts.read_bytes_per_s)),
    ]
    return with_replica_dirs(pa.table(columns, schema=PARTITIONS), state)


def state_of(brokers: pa.Table, partitions: pa.Table) -> ClusterState:
    """The arrays of two tables as made above; other columns are ignored. Raises DocumentRefused for a broker that
    is not in the brokers table, KeyError for a missing column or policy.
    """
    table = _brokers_of(brokers)
    policy = json.loads((brokers.schema.metadata or {})[POLICY])
    row_of = {int(broker): row for row, broker in enumerate(table.id)}
    parts = _partitions_of(partitions.combine_chunks(), table.id)
    return ClusterState(
        brokers=table,
        partitions=parts,
        disk_limit=policy["disk_limit"],
        flow_bytes_per_s=policy["flow_bytes_per_s"],
        destinations={row_of[int(b)]: tuple(row_of[t] for t in to) for b, to in policy["destinations"].items()},
        log_dirs=log_dirs_in(brokers, partitions, table.id, parts.replicas),
        hardware=hardware_in(brokers),
    )


def with_hardware(table: pa.Table, state: ClusterState) -> pa.Table:
    """The table of brokers with a column for each figure of the hardware; as it was where the state knows none."""
    if state.hardware is None:
        return table
    for name in HARDWARE:
        values = getattr(state.hardware, name)
        table = table.append_column(name, pa.array(values, pa.float64(), mask=np.isnan(values)))
    return table


def hardware_in(brokers: pa.Table) -> Hardware | None:
    """What the columns of a table of brokers say, None where it has none of them."""
    if HARDWARE[0] not in brokers.column_names:
        return None
    return hardware_of(brokers.sort_by("id").select(HARDWARE).to_pylist())


def _policy(state: ClusterState) -> bytes:
    ids = state.brokers.id.tolist()
    named: Mapping[str, list[int]] = {str(ids[b]): [ids[t] for t in to] for b, to in state.destinations.items()}
    return json.dumps(
        {"disk_limit": state.disk_limit, "flow_bytes_per_s": state.flow_bytes_per_s, "destinations": named}
    ).encode()


def _lists(rows: Int32s, chosen: Bools, ids: Int32s) -> Any:
    offsets = np.concatenate([[0], np.cumsum(chosen.sum(axis=1))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(ids[rows[chosen]], pa.int32()))


def _brokers_of(table: pa.Table) -> Brokers:
    table = table.sort_by("id")
    rack_of, words = _texts(table["rack"]), _texts(table["state"])
    racks = tuple(sorted(set(rack_of)))
    code = {rack: i for i, rack in enumerate(racks)}
    return Brokers(
        id=table["id"].to_numpy().astype(np.int32),
        rack=np.array([code[r] for r in rack_of], dtype=np.int32),
        racks=racks,
        state=np.array([BrokerState[s.upper()] for s in words], dtype=np.int8),
        disk_bytes=table["disk_bytes"].to_numpy().astype(np.int64),
        ingress_bytes_per_s=table["ingress_bytes_per_s"].to_numpy().astype(np.float64),
        egress_bytes_per_s=table["egress_bytes_per_s"].to_numpy().astype(np.float64),
    )


def _partitions_of(table: pa.Table, ids: Int32s) -> Partitions:
    topics = _chunk(table, "topic").dictionary_encode()
    replicas = _rows(_chunk(table, "replicas"), ids, "replicas")
    isr = _rows(_chunk(table, "isr"), ids, "isr")
    in_sync = np.zeros(replicas.shape, dtype=np.bool_)
    for column in range(isr.shape[1]):
        in_sync |= replicas == isr[:, column, None]
    leader = _chunk(table, "leader").fill_null(NO_BROKER).to_numpy(zero_copy_only=False)
    return Partitions(
        topics=tuple(_texts(topics.dictionary)),
        topic=topics.indices.to_numpy(zero_copy_only=False).astype(np.int32),
        partition=_numbers(table, "partition", np.int32),
        replicas=replicas,
        in_sync=in_sync & (replicas != NO_BROKER),
        leader=_row_of(leader, ids, "leader"),
        min_isr=_numbers(table, "min_isr", np.int32),
        size_bytes=_numbers(table, "size_bytes", np.int64),
        write_bytes_per_s=_numbers(table, "write_bytes_per_s", np.float64),
        read_bytes_per_s=_numbers(table, "read_bytes_per_s", np.float64),
    )


def _texts(column: Any) -> list[str]:
    return cast(list[str], column.to_pylist())


def _chunk(table: pa.Table, name: str) -> Any:
    """The column as one array: the caller has combined the chunks."""
    column = table[name]
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


def _numbers(table: pa.Table, name: str, kind: type[np.generic]) -> Any:
    return _chunk(table, name).to_numpy(zero_copy_only=False).astype(kind)


def _rows(lists: Any, ids: Int32s, field: str) -> Int32s:
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    matrix = np.full((lengths.size, max(1, int(lengths.max(initial=1)))), NO_BROKER, dtype=np.int32)
    named = lists.flatten().to_numpy(zero_copy_only=False)
    matrix[np.arange(matrix.shape[1]) < lengths[:, None]] = _row_of(named, ids, field)
    return matrix


def _row_of(named: Int32s | Int64s, ids: Int32s, field: str) -> Int32s:
    """Rows of broker ids; NO_BROKER stays NO_BROKER."""
    found = pc.index_in(pa.array(named), value_set=pa.array(ids.astype(named.dtype)))
    row: Int32s = found.fill_null(NO_BROKER).to_numpy(zero_copy_only=False).astype(np.int32)
    strange = (row == NO_BROKER) & (named != NO_BROKER)
    if strange.any():
        kind = StateProblemKind.UNKNOWN
        missing = np.unique(named[strange]).tolist()
        raise DocumentRefused(
            "partitions table", [StateProblem(kind, field, f"no broker {b} in the table") for b in missing]
        )
    return row
