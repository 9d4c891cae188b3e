"""Starts the shipping of one broker's metrics with the real parts; the only place that puts them together."""

import logging
import threading
import time
from collections.abc import Callable

from agent.metrics import Jolokia
from agent.metrics_duty import Measured
from agent.metrics_interval import Subject
from agent.metrics_reading import read_counters
from agent.metrics_shipping import Carrier, KafkaCarrier, Shipping, ShippingSettings, ship
from agent.metrics_topic import TopicNotMade, ensure_topic
from agent.services.launch import JOLOKIA_PORT

_log = logging.getLogger(__name__)

_TOPIC_PAUSE_S = 15.0


class SystemClock:
    """The machine's clocks."""

    def epoch_s(self) -> float:
        return time.time()

    def monotonic_s(self) -> float:
        return time.monotonic()


def start_shipping(measured: Measured, /, *, leaving: threading.Event) -> threading.Thread:
    """A thread that makes the topic and ships until `leaving` is set.

    A daemon, and everything happens in it: neither the agent's passes nor its end ever wait for metrics. If it dies its
    traceback is in agent.out, and `MetricsDuty` starts another.
    """

    def run() -> None:
        if _topic_is_there(measured, leaving.wait):
            ship(*_parts(measured), leaving=leaving)

    thread = threading.Thread(target=run, name="metrics", daemon=True)
    thread.start()
    return thread


def _topic_is_there(measured: Measured, pause: Callable[[float], bool]) -> bool:
    """Tries until it is; False when `pause` says that it is time to leave."""
    told = False
    while True:
        try:
            ensure_topic(measured.bootstrap, measured.topic)
        except TopicNotMade as error:
            if not told:
                _log.warning("metrics wait: %s", error)
            told = True
        else:
            return True
        if pause(_TOPIC_PAUSE_S):
            return False


def _parts(measured: Measured) -> tuple[Shipping, Carrier]:
    broker = measured.broker
    jolokia = Jolokia(f"http://{broker.address}:{JOLOKIA_PORT[broker.name]}", timeout_s=10.0)
    carrier = KafkaCarrier(measured.bootstrap, measured.topic.name)
    shipping = Shipping(
        Subject(measured.cluster_uid, broker.node_id, measured.node),
        lambda at_s: read_counters(jolokia, at_s=at_s),
        carrier,
        SystemClock(),
        ShippingSettings(interval_s=measured.topic.interval_s),
    )
    return shipping, carrier
