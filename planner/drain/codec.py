"""Requests and answers as bytes: policy and brokers as JSON, partitions as an Arrow table (or JSON rows).

This is what crosses to the planning worker and what Spark's partitions hold. Readers raise ValueError,
KeyError or TypeError on anything else.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from events.spec.broker_sets import BrokerSets
from planner.drain.arrays import BrokerTable, ClusterModel, LogDirTable
from planner.drain.columns import LISTS, PARTITIONS, id_matrix, whole
from planner.drain.infeasible import Infeasible
from planner.drain.plan import DrainPlan, canonical, plan_document, plan_from
from planner.drain.request import Bandwidth, DrainRequest, TlsLimits, VolumeLimits
from planner.observed import TopicPartition

Answer = DrainPlan | Infeasible

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
        "volumes": {"bytes_per_s": sorted(request.volumes.bytes_per_s.items()), "told": list(request.volumes.told)},
        "tls": {
            "into": sorted(request.tls.into.items()),
            "out": sorted(request.tls.out.items()),
            "told": list(request.tls.told),
        },
        "read_bytes_per_s": sorted(request.read_bytes_per_s.items()),
        "sets": [sorted(request.sets.of_broker.items()), sorted(request.sets.of_topics.items())],
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


def request_from(document: Mapping[str, Any], partitions: pa.Table) -> DrainRequest:
    """The request those two describe, field for field. Rows that got lost on the way are a ValueError."""
    bandwidth, tls = document["bandwidth"], document["tls"]
    return DrainRequest(
        **{name: document[name] for name in _SCALARS},
        outgoing=tuple(document["outgoing"]),
        targets=tuple(document["targets"]),
        successors=dict(document["successors"]),
        throttle_cap_bytes_per_s=document["throttle_cap_bytes_per_s"],
        bandwidth=Bandwidth(bandwidth["bytes_per_s"], bandwidth["source"], dict(bandwidth["by_broker"])),
        cluster=_model(document, partitions),
        read_bytes_per_s=dict(document["read_bytes_per_s"]),
        sets=BrokerSets(*(dict(part) for part in document["sets"])),
        volumes=VolumeLimits(dict(document["volumes"]["bytes_per_s"]), tuple(document["volumes"]["told"])),
        tls=TlsLimits(dict(tls["into"]), dict(tls["out"]), tuple(tls["told"])),
    )


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
    table = whole(partitions, document["partition_count"], asked=document["drain_id"])
    brokers = document["brokers"]
    plain = {name: table.column(name).to_numpy() for name in PARTITIONS.names if name not in LISTS}
    return ClusterModel(
        topics=tuple(document["topics"]),
        replicas=id_matrix(table.column("replicas")),
        isr=id_matrix(table.column("isr")),
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
