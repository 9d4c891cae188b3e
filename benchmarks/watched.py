"""A living cluster on which every detector that can raise a false alarm looks: heartbeats through each broker, metrics
in a lake, lines of logs, consumer groups, and a band of what is written to a topic."""

import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.lake_writer import LakeWriter
from benchmarks.loaded import on_a_cluster
from controlplane.api.schemas import clusters as api, specs as spec_api
from controlplane.kafka.workload import Workload
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.heartbeats import reports
from tests.e2e.living_cluster import LivingCluster

RATED_PER_S = 50
RATED = f"""\
apiVersion: kedge/v1alpha1
kind: KafkaTopic
metadata: {{name: rated}}
spec: {{cluster: NAME, partitions: 3, replicas: 3, rate: {{min: {RATED_PER_S // 2}, max: {RATED_PER_S * 2}}}}}
"""
"""Its rates are judged by three windows of 5 min: a run has to be longer for that detector to say anything."""

_SEES_WITHIN_S = 300.0

WatchedRow = Callable[[LivingCluster, "Watch", float], dict[str, Any]]


@dataclass
class Watch:
    """What the detectors had to go by while a row ran."""

    lake: Path
    windows: int = 0
    """Of brokers, in the lake: each with the brokers' own past beside it."""
    groups: set[str] = field(default_factory=set)
    heard: set[int] = field(default_factory=set)
    """Brokers through which a heartbeat came back."""

    def figures(self) -> dict[str, Any]:
        """For the row's answer."""
        return {
            "heartbeats_of": len(self.heard),
            "windows_in_lake": self.windows,
            "groups_watched": len(self.groups),
            "rate_band": True,
            "logs": True,
        }


def on_a_watched_cluster(row: WatchedRow, spec: ClusterSpec, mib: float, scale: float) -> dict[str, Any]:
    """The row on a new cluster with all of it switched on, from when each detector has something to go by."""
    with tempfile.TemporaryDirectory(prefix=f"kedge-{spec.name}-lake-") as lake:
        watch = Watch(Path(lake))
        inner = partial(_watched, row, watch)
        found = on_a_cluster(inner, replace(spec, heartbeats=True), mib, scale, settings=_settings(watch.lake))
        return found | watch.figures()


def _settings(lake: Path) -> Mapping[str, str]:
    return {
        "KEDGE_METRICS": "true",
        "KEDGE_METRICS_LAKE": str(lake),
        "KEDGE_LOGS": "true",
        "KEDGE_SLOW_WINDOW_S": "60",
        "KEDGE_ANOMALIES_POLL_S": "2",
        "KEDGE_WATCH_GROUPS": "always",
        "KEDGE_GROUPS_POLL_S": "10",
    }


def _watched(row: WatchedRow, watch: Watch, cluster: LivingCluster, scale: float) -> dict[str, Any]:
    text = RATED.replace("NAME", cluster.spec.name)
    answer = cluster.client.apply(spec_api.ApplyIn(text=text, file="rated.yaml"))
    assert answer.ok, answer.problems
    cluster.until(lambda: "rated" in _topics(cluster) or None, "the topic with a band", timeout_s=60)
    rated = Workload(cluster.bootstrap, "rated", records_per_s=RATED_PER_S, group="rated-readers")
    rated.start()
    try:
        with _written(cluster, watch):
            cluster.until(lambda: _all_seen(cluster, watch) or None, "every detector to see", timeout_s=_SEES_WITHIN_S)
            return row(cluster, watch, scale)
    finally:
        rated.stop()


@contextmanager
def _written(cluster: LivingCluster, watch: Watch) -> Iterator[None]:
    """Windows of the brokers' metrics go into the lake meanwhile, with a past as soon as all three have a minute."""
    over = threading.Event()

    def write() -> None:
        writer, remembered = LakeWriter(watch.lake, cluster.bootstrap()), False
        try:
            while not over.wait(1.0):
                writer.read()
                watch.windows = sum(len(minutes) for minutes in writer.minutes.values())
                if not remembered and len(writer.minutes) >= 3:
                    writer.remember()
                    remembered = True
        finally:
            writer.close()

    with ThreadPoolExecutor(1, "lake") as pool:
        writing = pool.submit(write)
        try:
            yield
        finally:
            over.set()
        writing.result(60)


def _all_seen(cluster: LivingCluster, watch: Watch) -> bool:
    brokers = {i.service_id for i in cluster.detail().instances if i.service == "broker"}
    watch.heard = {h.broker for h in reports(cluster) if h.beats >= 2 and h.silent_s < 5}
    watch.groups = {g.name for g in cluster.client.groups(cluster.spec.name).groups}
    time.sleep(1)
    return watch.heard == brokers and watch.windows >= len(brokers) and "rated-readers" in watch.groups


def _topics(cluster: LivingCluster) -> set[str]:
    return {p.name.topic for p in cluster.snapshot().partitions}


def conditions_raised(events: Sequence[api.EventOut]) -> list[str]:
    """Conditions that became true, each with its reason, but `Converged`, and `Blocked`, which is told on its own."""
    raised = [e.data for e in events if e.type == "condition.changed" and e.data["status"]]
    return [f"{c['type']}: {c['reason']}" for c in raised if c["type"] not in ("Converged", "Blocked")]
