"""Drain planning: one cluster of 100,000 partitions in-process, and ten clusters in one Spark job.

    python -m benchmarks plan

Clusters follow the generator of the planning research: topic popularity Exp(1), log size Exp(10 GB x popularity),
RF 3 with one replica per rack, racks balanced, disks 55 % full.
"""

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from planner.drain.arrays import BrokerTable, ClusterModel
from planner.drain.infeasible import Infeasible
from planner.drain.plan import DrainPlan
from planner.drain.request import Bandwidth, DrainRequest
from planner.drain.solve import solve
from planner.kinds import DRAIN, PlanTask

RACKS, BROKERS, PARTITIONS, FACTOR = 3, 52, 100_000, 3
CLUSTERS, CLUSTER_PARTITIONS = 10, 10_000
BANDWIDTH = Bandwidth(500 * 10**6, "assumed")


def main() -> dict[str, Any]:
    """Seconds of a first plan (kernels loaded), of a warm one, and of the Spark job (warm), requests to answers."""
    request = drain_of(generated(seed=1), name="large")
    first_s = _timed(lambda: solve(request))
    solve_s = _timed(lambda: solve(request))
    plan = solve(request)
    if isinstance(plan, Infeasible):
        raise RuntimeError(f"the generated cluster cannot be drained: {plan.message}")
    measures = plan.certificate.measures
    return {
        "partitions": PARTITIONS,
        "moves": len(plan.moves),
        "first_s": round(first_s, 3),
        "solve_s": round(solve_s, 3),
        "plan_bytes": len(plan.to_bytes()),
        "bytes_ratio": round(measures.bytes.ratio, 4),
        "makespan_ratio": round(measures.makespan_s.ratio, 4),
        **_on_spark(),
    }


def generated(*, seed: int, partitions: int = PARTITIONS, brokers: int = BROKERS) -> ClusterModel:
    """A balanced rack-aware cluster; the same seed gives the same arrays."""
    rng = np.random.default_rng(seed)
    topics = max(1, partitions // 160)
    popularity = rng.exponential(1.0, topics)
    topic = np.sort(rng.integers(0, topics, partitions)).astype(np.int32)
    starts = np.searchsorted(topic, np.arange(topics))
    size = (rng.exponential(10e9 * popularity[topic]) + 1e6).astype(np.int64)
    rack = (np.arange(brokers) % RACKS).astype(np.int32)
    columns = [rng.choice(np.flatnonzero(rack == r), partitions) for r in range(RACKS)]
    replicas = rng.permuted(np.stack(columns, axis=1), axis=1).astype(np.int32)
    held = np.bincount(replicas.ravel(), weights=np.repeat(size, FACTOR), minlength=brokers).astype(np.int64)
    total = np.full(brokers, int(held.mean() / 0.55), dtype=np.int64)
    ids = (1000 + np.arange(brokers)).astype(np.int32)
    return ClusterModel(
        topics=tuple(f"topic-{i:05}" for i in range(topics)),
        topic=topic,
        partition=(np.arange(partitions) - starts[topic]).astype(np.int32),
        leader=ids[replicas[:, 0]],
        replicas=ids[replicas],
        isr=ids[replicas],
        min_isr=np.full(partitions, 2, dtype=np.int32),
        moving=np.zeros(partitions, dtype=np.bool_),
        size_bytes=size,
        write_bytes_per_s=size // (3 * 86_400),
        brokers=BrokerTable(
            id=ids,
            rack=rack,
            racks=("a", "b", "c"),
            live=np.ones(brokers, dtype=np.bool_),
            total_bytes=total,
            free_bytes=total - held,
            log_bytes=held,
        ),
    )


def drain_of(model: ClusterModel, *, name: str, leaving: int = 6) -> DrainRequest:
    """Empty the newest brokers of the cluster onto the others."""
    ids = [int(b) for b in model.brokers.id]
    return DrainRequest(
        cluster_uid=name,
        drain_id=f"drain-{name}",
        round=1,
        outgoing=tuple(ids[-leaving:]),
        targets=tuple(ids[:-leaving]),
        cluster=model,
        bandwidth=BANDWIDTH,
    )


def _on_spark() -> dict[str, Any]:
    from spark.jobs.plans import planned
    from spark.session import SparkSettings, build_session, close_session

    tasks = [
        PlanTask(DRAIN, drain_of(generated(seed=i, partitions=CLUSTER_PARTITIONS, brokers=12), name=f"c{i}", leaving=3))
        for i in range(CLUSTERS)
    ]
    with tempfile.TemporaryDirectory() as work:
        started = time.monotonic()
        session = build_session(SparkSettings(work_dir=Path(work)))
        session_s = time.monotonic() - started
        try:
            first_s = _timed(lambda: planned(session, tasks))
            again_s = min(_timed(lambda: planned(session, tasks)) for _ in range(3))
            answers = planned(session, tasks)
        finally:
            close_session(session)
    same = all(
        isinstance(plan := DRAIN.from_bytes(a.answer_bytes), DrainPlan)
        and replace(plan, engine="in-process") == solve(task.request)
        for a, task in zip(answers, tasks, strict=True)
    )
    return {
        "spark_clusters": CLUSTERS,
        "spark_partitions": CLUSTERS * CLUSTER_PARTITIONS,
        "spark_session_s": round(session_s, 2),
        "spark_first_job_s": round(first_s, 2),
        "spark_job_s": round(again_s, 2),
        "spark_equals_in_process": same,
    }


def _timed(act: Any) -> float:
    started = time.monotonic()
    act()
    return time.monotonic() - started
