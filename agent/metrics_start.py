"""Starts the shipping of one broker's metrics with the real parts; the only place that puts them together."""

import threading
from collections.abc import Mapping
from pathlib import Path

from agent.disk_spool import DiskSpool
from agent.host_port import HostPort
from agent.kafka_tls import BrokerTask
from agent.metrics import Jolokia
from agent.metrics_duty import MeasuredBroker
from agent.metrics_interval import MetricsSubject
from agent.metrics_reading import read_counters
from agent.metrics_shipping import Shipping, ShippingSettings
from agent.metrics_topic import topic_is_there
from agent.sending import Carrier, KafkaCarrier, ship
from agent.services.launch import JOLOKIA_PORT
from agent.system_clock import SystemClock

_ONE = threading.Lock()
"""The thread before may still be leaving: two would take from one spool."""


def start_shipping(task: BrokerTask[MeasuredBroker], /, *, leaving: threading.Event, spool: Path) -> threading.Thread:
    """A thread that makes the topic and ships until `leaving` is set. What waits is kept in the directory `spool`.

    A daemon, and everything happens in it: neither the agent's passes nor its end ever wait for metrics. If it dies its
    traceback is in agent.out, and `MetricsDuty` starts another.
    """

    measured = task.what

    def run() -> None:
        with _ONE:
            client = task.properties
            if topic_is_there(measured.bootstrap, measured.topic, "metrics", pause=leaving.wait, client=client):
                ship(*_parts(measured, spool, client), leaving=leaving)

    thread = threading.Thread(target=run, name="metrics", daemon=True)
    thread.start()
    return thread


def _parts(measured: MeasuredBroker, spool: Path, client: Mapping[str, str]) -> tuple[Shipping, Carrier]:
    broker = measured.broker
    jolokia = Jolokia(f"http://{HostPort(broker.address, JOLOKIA_PORT[broker.name])}", timeout_s=10.0)
    carrier = KafkaCarrier(measured.bootstrap, measured.topic.name, client=client)
    settings = ShippingSettings(interval_s=measured.topic.interval_s)
    shipping = Shipping(
        MetricsSubject(measured.cluster_uid, broker.node_id, measured.node),
        lambda at_s: read_counters(jolokia, at_s=at_s),
        carrier,
        SystemClock(),
        settings,
        DiskSpool(spool, most_bytes=settings.spool_bytes),
    )
    return shipping, carrier
