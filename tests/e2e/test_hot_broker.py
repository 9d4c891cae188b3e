"""Others lead what a hot broker did: real brokers, real rates of their agents, a CPU that is made.

The partitions, their rates and the bytes of each broker are those that real agents measured in a minute of an audited
workload; that minute is written as the windows of the last two hours, in whose last 25 min one broker's CPU is another
one: a local machine has not enough of it to make a single broker hot for that long.
"""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from confluent_kafka import Consumer
from deltalake import write_deltalake

from controlplane.kafka.workload import Workload
from spark.metrics.columns import to_table
from spark.metrics.kernel import MINUTE_MS, WindowFigures, summary, windows_of_broker
from spark.metrics.topic import TOPIC
from spark.metrics.wire import MetricsMessage, decode
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(470)]

WIDTH_MS = 5 * MINUTE_MS
DAY_MS = 24 * 60 * MINUTE_MS
PAST, SAMPLES = 20, 5
COOL, HOT = 0.1, 0.8


@dataclass
class Minutes:
    """The newest minute that each broker's agent sent in which partitions had a rate."""

    bootstrap: list[str]
    by_broker: dict[int, MetricsMessage] = field(default_factory=dict)

    def until_known_of(self, brokers: int, workload: Workload, cluster: LivingCluster) -> None:
        options = {"bootstrap.servers": ",".join(self.bootstrap), "group.id": "lake", "auto.offset.reset": "earliest"}
        consumer = Consumer({**options, "log_level": 0})
        consumer.subscribe([TOPIC])

        def look() -> bool:
            while (record := consumer.poll(0.2)) is not None:
                message = decode(record.value() or b"") if record.error() is None else None
                if message is not None and np.nan_to_num(message.figures["nic_out_bytes_per_s"]) > 0:
                    self.by_broker[message.broker] = message
            return len(self.by_broker) == brokers and workload.error == ""

        try:
            cluster.until(look, "a minute of each broker with rates", timeout_s=200)
        finally:
            consumer.close()

    def written(self, lake: Path, hot: int, now: datetime) -> None:
        """The windows until now, of which the last ones of `hot` are hot."""
        newest_ms = int(now.timestamp() * 1000) // WIDTH_MS * WIDTH_MS
        rows = []
        for broker, message in self.by_broker.items():
            window, *_ = windows_of_broker([message], width_ms=WIDTH_MS)  # its minute: of the width one of five came
            for back in range(PAST + SAMPLES):
                share = HOT if broker == hot and back < SAMPLES else COOL
                rows.append(_at(window, newest_ms - (back + 1) * WIDTH_MS, share))
        write_deltalake(str(lake / "windows"), to_table(rows), mode="append", partition_by=["width_s", "day"])


def _at(window: WindowFigures, start_ms: int, cpu: float) -> WindowFigures:
    return WindowFigures(
        cluster=window.cluster,
        broker=window.broker,
        node=window.node,
        start_ms=start_ms,
        width_ms=WIDTH_MS,
        broker_started_ms=start_ms - DAY_MS,
        expected=window.expected,
        received=window.received,
        partitions=window.partitions,
        figures={**window.figures, "cpu": summary(np.array([[cpu]]))},
    )


def test_others_lead_what_a_hot_broker_did_and_nobody_else_becomes_hot(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    settings = {"KEDGE_METRICS": "true", "KEDGE_METRICS_LAKE": str(lake), "KEDGE_ANOMALIES_POLL_S": "2"}
    spec = ClusterSpec(name="heated", healing={"grace": {"hot-broker": "0s"}})
    cluster = LivingCluster(tmp_path / "home", spec=spec, settings=settings)
    try:
        cluster.open()
        with traffic(cluster.bootstrap) as workload:
            _is_cooled(cluster, workload, lake)
    finally:
        strays = cluster.close()
    assert strays == []


def _is_cooled(cluster: LivingCluster, workload: Workload, lake: Path) -> None:
    minutes = Minutes(cluster.bootstrap())
    minutes.until_known_of(3, workload, cluster)
    assert cluster.client.anomalies(cluster.spec.name).found == 0, "nothing is wrong yet"
    before, head = cluster.snapshot(), cluster.head()
    led = Counter(p.leader for p in before.partitions if p.name.topic.startswith("traffic-"))
    hot = max(led, key=lambda b: (led[b], -b))
    minutes.written(lake, hot, datetime.now(UTC))

    asked = cluster.event("topics.replication_requested", head, within_s=150, where="hot").data
    print(asked["reason"])
    assert asked["cause"] == "hot"
    assert asked["bytes"] == 0
    cluster.event("topics.replication_ended", head, within_s=60)

    def is_led_by_others() -> bool:
        now = cluster.snapshot()
        return all(p.leader == p.replicas[0] for p in now.partitions) and not now.moving()

    cluster.until(is_led_by_others, "leaders to follow their lists", timeout_s=60)
    after = cluster.snapshot().by_name
    moved = [p for p in before.partitions if after[p.name].leader != p.leader]
    assert moved
    assert {p.leader for p in moved} == {hot}, "nobody else gave any"
    for p in before.partitions:
        assert sorted(after[p.name].replicas) == sorted(p.replicas), "no replica came or went"
    (found,) = (a for a in cluster.client.anomalies(cluster.spec.name).anomalies if a.kind == "hot-broker")
    assert (found.state, found.told) == ("healing", True)
    assert f"broker {hot} was hot in 25 of the last 25 min: CPU 80% (peers 10%, its own past 10%)" in found.reason
