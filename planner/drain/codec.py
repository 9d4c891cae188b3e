"""Requests and answers as bytes: policy and brokers as JSON, partitions as an Arrow table (or JSON rows).

This is what crosses to the planning worker and what Spark's partitions hold. Readers raise ValueError,
KeyError or TypeError on anything else.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from planner.drain.arrays import UNKNOWN, BrokerTable, ClusterModel, Int32s, LogDirTable
from planner.drain.infeasible import Infeasible
from planner.drain.plan import DrainPlan, canonical, plan_document, plan_from
from planner.drain.request import Bandwidth, DrainRequest
from planner.observed import TopicPartition

Answer = DrainPlan | Infeasible

PARTITIONS = pa.schema(
    [
        ("topic", pa.int32()),
        ("partition", pa.int32()),
        ("leader", pa.int32()),
        ("replicas", pa.list_(pa.int32())),
        ("isr", pa.list_(pa.int32())),
        ("min_isr", pa.int32()),
        ("moving", pa.bool_()),
        ("size_bytes", pa.int64()),
        ("write_bytes_per_s", pa.int64()),
    ]
)
"""One row per partition. `topic` is an index into the document's `topics`: codes, not strings,, on rows."""

_LOG_DIR_FIGURES = ("broker", "total_bytes", "free_bytes")

_SCALARS = (
    "cluster_uid",
    "drain_id",
    "round",
    "disk_limit_fraction",
    "client_fraction",
    "allow_partial",
    "write_rates_from",
)


def request_document(request: DrainRequest) -> dict[str, Any]:
    """Everything but the partitions, ready for JSON."""
    brokers = request.cluster.brokers
    return {
        **{name: getattr(request, name) for name in _SCALARS},
        "outgoing": list(request.outgoing),
        "targets": list(request.targets),
        "successors": sorted(request.successors.items()),
        "throttle_cap_bytes_per_s": request.throttle_cap_bytes_per_s,
        "bandwidth": {
            "bytes_per_s": request.bandwidth.bytes_per_s,
            "source": request.bandwidth.source,
            "by_broker": sorted(request.bandwidth.by_broker.items()),
        },
        "partition_count": len(request.cluster),
        "topics": list(request.cluster.topics),
        "racks": list(brokers.racks),
        "brokers": {
            name: getattr(brokers, name).tolist()
            for name in ("id", "rack", "live", "total_bytes", "free_bytes", "log_bytes")
        },
        "log_dirs": {
            "path": list(brokers.log_dirs.path),
            **{name: getattr(brokers.log_dirs, name).tolist() for name in _LOG_DIR_FIGURES},
        },
    }


def partitions_table(model: ClusterModel) -> pa.Table:
    """The partitions as Arrow, schema PARTITIONS."""
    columns = {
        name: _lists(getattr(model, name)) if name in ("replicas", "isr") else pa.array(getattr(model, name))
        for name in PARTITIONS.names
    }
    return pa.table(columns, schema=PARTITIONS)


def request_from(document: Mapping[str, Any], partitions: pa.Table) -> DrainRequest:
    """The request those two describe, field for field. Rows that got lost on the way are a ValueError: a plan
    made without them would say that nothing is left to move.
    """
    if partitions.num_rows != document["partition_count"]:
        raise ValueError(
            f"request {document['drain_id']} came with {partitions.num_rows} of "
            f"{document['partition_count']} partitions"
        )
    bandwidth = document["bandwidth"]
    return DrainRequest(
        **{name: document[name] for name in _SCALARS},
        outgoing=tuple(document["outgoing"]),
        targets=tuple(document["targets"]),
        successors=dict(document["successors"]),
        throttle_cap_bytes_per_s=document["throttle_cap_bytes_per_s"],
        bandwidth=Bandwidth(bandwidth["bytes_per_s"], bandwidth["source"], dict(bandwidth["by_broker"])),
        cluster=_model(document, partitions),
    )


def request_to_json(request: DrainRequest) -> bytes:
    """One JSON text with the partitions in it, for a report or a test case."""
    rows = partitions_table(request.cluster).to_pylist()
    return canonical({**request_document(request), "partitions": rows})


def request_from_json(raw: bytes) -> DrainRequest:
    document = json.loads(raw)
    return request_from(document, pa.Table.from_pylist(document["partitions"], schema=PARTITIONS))


def answer_to_bytes(answer: Answer) -> bytes:
    """Canonical JSON of a plan or a refusal; a plan's bytes are exactly `plan.to_bytes()`."""
    if isinstance(answer, DrainPlan):
        return answer.to_bytes()
    part = answer.feasible_part
    return canonical(
        {
            "infeasible": answer.kind,
            "drain_id": answer.drain_id,
            "cluster_uid": answer.cluster_uid,
            "round": answer.round,
            "message": answer.message,
            "stuck": [[name.topic, name.partition] for name in answer.stuck],
            "feasible_part": None if part is None else plan_document(part),
        }
    )


def answer_from_bytes(raw: bytes) -> Answer:
    """Raises PlanUnreadable (a ValueError) or KeyError when the bytes are neither."""
    document = json.loads(raw)
    if "infeasible" not in document:
        return DrainPlan.from_bytes(raw)
    part = document["feasible_part"]
    return Infeasible(
        drain_id=document["drain_id"],
        cluster_uid=document["cluster_uid"],
        round=document["round"],
        kind=document["infeasible"],
        message=document["message"],
        stuck=tuple(TopicPartition(topic, partition) for topic, partition in document["stuck"]),
        feasible_part=None if part is None else plan_from(part),
    )


def _model(document: Mapping[str, Any], partitions: pa.Table) -> ClusterModel:
    table = _in_order(partitions)
    brokers = document["brokers"]
    plain = {name: table.column(name).to_numpy() for name in PARTITIONS.names if name not in ("replicas", "isr")}
    return ClusterModel(
        topics=tuple(document["topics"]),
        replicas=_matrix(table.column("replicas")),
        isr=_matrix(table.column("isr")),
        brokers=BrokerTable(
            id=np.array(brokers["id"], dtype=np.int32),
            rack=np.array(brokers["rack"], dtype=np.int32),
            racks=tuple(document["racks"]),
            live=np.array(brokers["live"], dtype=np.bool_),
            total_bytes=np.array(brokers["total_bytes"], dtype=np.int64),
            free_bytes=np.array(brokers["free_bytes"], dtype=np.int64),
            log_bytes=np.array(brokers["log_bytes"], dtype=np.int64),
            log_dirs=LogDirTable(
                path=tuple(document["log_dirs"]["path"]),
                **{name: np.array(document["log_dirs"][name], dtype=np.int64) for name in _LOG_DIR_FIGURES},
            ),
        ),
        **plain,
    )


def _in_order(table: pa.Table) -> pa.Table:
    """Rows by topic and partition, as model_of makes them: a Spark shuffle keeps no order, and ties follow
    rows.
    """
    topic, partition = (table.column(name).to_numpy() for name in ("topic", "partition"))
    order = np.lexsort((partition, topic))
    return table if np.array_equal(order, np.arange(order.size)) else table.take(order)


def _lists(matrix: Int32s) -> Any:
    held = matrix >= 0
    offsets: npt.NDArray[np.int32] = np.zeros(len(matrix) + 1, dtype=np.int32)
    np.cumsum(held.sum(axis=1), out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(matrix[held]), type=pa.list_(pa.int32()))  # type: ignore[call-overload]


def _matrix(column: Any) -> Int32s:
    """A list<int32> column (pyarrow.ChunkedArray) as a padded matrix; chunk by chunk, order kept."""
    chunks = column.chunks
    lengths = np.concatenate([np.asarray(c.value_lengths()) for c in chunks] or [np.zeros(0, np.int64)])
    values = np.concatenate([np.asarray(c.flatten()) for c in chunks] or [np.zeros(0, np.int32)])
    matrix = np.full((lengths.size, max(int(lengths.max(initial=0)), 1)), UNKNOWN, dtype=np.int32)
    matrix[np.arange(matrix.shape[1])[None, :] < lengths[:, None]] = values
    return matrix
