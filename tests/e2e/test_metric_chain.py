"""The whole chain with nothing invented: agents, their topic, the stream the server supervises, the lake, its readers,
and a rebalance that goes by what was measured.

The process that reads is killed with SIGKILL in the middle: no minute of a broker is missing, none is there twice. Five
minutes have to be measured and closed, so this takes about ten. How a slow broker is found by it: `test_anomalies.py`.
"""

import itertools
import os
import signal
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from controlplane.api.schemas.metric_pipeline import MetricPipelineOut
from controlplane.api.schemas.nodes import RebalanceIn
from spark.metrics.latencies import recent_windows
from spark.metrics.rates import read_rates
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(1800)]

JARS = Path(__file__).resolve().parents[2] / ".cache" / "spark" / "jars"
SETTINGS = {
    "KEDGE_TELEMETRY__PIPELINE": "true",
    "KEDGE_TELEMETRY__PIPELINE_MASTER": "local[1]",
    "KEDGE_TELEMETRY__BATCH_EVERY_S": "5",
    "KEDGE_TELEMETRY__WINDOW_DELAY_S": "60",
    "KEDGE_TELEMETRY__JARS": str(JARS),
}
MINUTE = timedelta(minutes=1)


def test_what_agents_measure_is_in_the_lake_once_though_the_reader_is_killed(tmp_path: Path) -> None:
    cluster = LivingCluster(tmp_path / "home", spec=ClusterSpec(name="measured"), settings=SETTINGS)
    lake = tmp_path / "home" / "metrics" / "lake"
    try:
        cluster.open()
        with traffic(cluster.bootstrap) as workload:
            _is_read_again_after_a_kill(cluster)
            cluster.until(
                lambda: read_rates(str(lake), cluster.uid, now=datetime.now(UTC)).by_partition,
                "rates of partitions",
                timeout_s=900,
                every_s=2,
            )
            assert workload.error == ""
            _is_served(cluster, lake)
            _is_what_a_rebalance_goes_by(cluster)
        _is_there_once(lake)
    finally:
        strays = cluster.close()
    assert strays == [], "the reader ends with its server"


def _is_read_again_after_a_kill(cluster: LivingCluster) -> None:
    def reading(restarts: int) -> MetricPipelineOut | None:
        told = _pipeline(cluster)
        is_so = told.restarts == restarts and any(s.state == "reading" and s.records for s in told.streams)
        return told if is_so else None

    first = cluster.until(lambda: reading(0), "messages of agents to be read", timeout_s=400, every_s=1)
    assert [s.name for s in first.streams] == [cluster.spec.name]
    assert first.pid is not None
    os.kill(first.pid, signal.SIGKILL)
    again = cluster.until(lambda: reading(1), "the reader to be back", timeout_s=300, every_s=1)
    assert again.pid != first.pid
    assert f"pid {first.pid}" in again.error


def _is_served(cluster: LivingCluster, lake: Path) -> None:
    """By those who read the lake: rates of partitions, and figures of each broker for the search of slow ones."""
    rates = read_rates(str(lake), cluster.uid, now=datetime.now(UTC))
    written = {name: rate for name, rate in rates.by_partition.items() if name[0].startswith("traffic-")}
    assert len(written) == 6
    assert sum(rate.write_bytes_per_s for rate in written.values()) > 0
    assert sum(rate.read_bytes_per_s for rate in written.values()) > 0
    windows = recent_windows(str(lake), 60, now=datetime.now(UTC))[cluster.uid]
    brokers = {i.service_id for i in cluster.detail().instances if not i.node.startswith("controllers")}
    assert {w.broker for w in windows} == brokers
    assert {w.broker for w in windows if "cpu" in w.figures} == brokers
    told = cluster.client.figures(cluster.spec.name)
    assert {b.broker for b in told.brokers} == brokers
    newest = told.brokers[0]
    assert newest.gc_share is not None
    assert newest.disk_write_bytes_per_s is not None
    assert newest.produce_total_p99_ms is not None
    assert any(point.in_bytes_per_s for point in told.traffic)


def _is_what_a_rebalance_goes_by(cluster: LivingCluster) -> None:
    """Somebody has one broker lead all that is written. What brokers send is known from the lake alone: it is judged,
    and evened out."""
    seen, kafka = cluster.snapshot(), cluster.kafka()
    written = [p for p in seen.partitions if p.name.topic.startswith("traffic-")]
    chosen = min(seen.brokers)
    turned = {p.name: (chosen, *(b for b in p.replicas if b != chosen)) for p in written}
    assert kafka.reassign(turned) == {}
    kafka.elect_preferred(list(turned))
    cluster.until(lambda: _led(cluster) == {chosen: len(written)}, "one broker to lead all of it", timeout_s=120)
    before = cluster.head()
    cluster.client.rebalance(cluster.spec.name, RebalanceIn(reason="one leads all"))
    planned = cluster.event("rebalance.planned", before, within_s=120).data
    assert "metric windows of" in " ".join(planned["assumptions"])
    was, becomes = planned["uneven"]["nic-out"]
    assert was > 50 > becomes, planned["uneven"]
    cluster.event("rebalance.completed", before, within_s=180)
    assert set(_led(cluster).values()) == {len(written) // len(seen.brokers)}


def _led(cluster: LivingCluster) -> Mapping[int, int]:
    """By broker, partitions of the traffic that it leads."""
    return Counter(p.leader for p in cluster.snapshot().partitions if p.name.topic.startswith("traffic-"))


def _is_there_once(lake: Path) -> None:
    minutes = _rows(lake, "windows", ("broker", "window_start", "width_s", "received", "expected"))
    of_a_minute = [row for row in minutes if row["width_s"] == 60]
    by_broker: dict[int, list[datetime]] = {}
    for row in of_a_minute:
        by_broker.setdefault(row["broker"], []).append(row["window_start"])
        assert (row["received"], row["expected"]) == (1, 1)
    assert len(by_broker) == 3
    for starts in by_broker.values():
        starts.sort()
        assert {after - before for before, after in itertools.pairwise(starts)} <= {MINUTE}, "no gap"
    messages = _rows(lake, "messages", ("kafka_partition", "kafka_offset", "standing", "broker", "interval_start"))
    offsets = sorted((row["kafka_partition"], row["kafka_offset"]) for row in messages)
    assert offsets == [(0, n) for n in range(len(offsets))], "each record once, and none is missing"
    assert {row["standing"] for row in messages} == {"timely"}
    assert set(Counter((row["broker"], row["interval_start"]) for row in messages).values()) == {1}


def _rows(lake: Path, table: str, columns: Sequence[str]) -> Sequence[Mapping[str, Any]]:
    try:
        rows: Sequence[Mapping[str, Any]] = (
            DeltaTable(str(lake / table)).to_pyarrow_table(columns=list(columns)).to_pylist()
        )
    except TableNotFoundError:
        return []
    return rows


def _pipeline(cluster: LivingCluster) -> MetricPipelineOut:
    told = cluster.client.loop().metrics
    assert told is not None
    return told
