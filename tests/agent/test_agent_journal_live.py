"""Lines of logs through a real broker: a split, what waits meanwhile, and who is not held up by it."""

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from confluent_kafka import Producer

from agent.journal.shipping import LogOrigin
from agent.journal.start import start_journal
from agent.layout import AgentLayout
from agent.wire import LogsTopic
from controlplane.background.log_reader.lines import LogLine, LogQuery
from controlplane.background.log_reader.reading import Cursor, read_page
from controlplane.background.log_reader.topic import LOGS_CONFIG, LOGS_TOPIC
from tests.kafka_processes import KafkaProcesses
from tests.kafka_topics import create_topic

pytestmark = [pytest.mark.kafka, pytest.mark.soak]

ORIGIN = LogOrigin("c1", "brokers-a-0", 1)
BEGAN = datetime.now(UTC) - timedelta(hours=1)


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaProcesses]:
    kafka = KafkaProcesses(tmp_path_factory.mktemp("kafka"), network="127.0.62", min_isr=1, replication=1)
    try:
        kafka.found({1: "a"})
        create_topic(kafka.bootstrap, "orders", partitions=1, rf=1)
        yield kafka
    finally:
        kafka.close()


class BusyLog:
    """A broker's log that somebody writes to, and rolls as log4j does."""

    def __init__(self, logs: Path) -> None:
        self._log, self._rolls, self.written = logs / "broker.log", 0, 0

    def write(self, count: int) -> None:
        at = datetime.now().isoformat(sep=" ", timespec="milliseconds").replace(".", ",")
        with self._log.open("a") as log:
            for number in range(self.written, self.written + count):
                trace = "\n\tat kafka.A(A.java:1)" if number % 50 == 0 else ""
                log.write(f"[{at}] INFO number {number} {'x' * 80} (kafka.Test){trace}\n")
        self.written += count

    def roll(self) -> None:
        self._rolls += 1
        self._log.rename(self._log.with_name(f"broker.log.{self._rolls}"))


def all_lines(bootstrap: str) -> list[LogLine]:
    """Page by page, as a person reads them."""
    lines: list[LogLine] = []
    after: Cursor = {}
    while True:
        page = read_page(bootstrap, LogQuery(BEGAN, service="broker"), after=after, limit=1000, where="test")
        lines += page.lines
        after = page.cursor
        if page.is_end:
            return lines


def numbers(lines: list[LogLine]) -> list[int]:
    return [int(line.text.split(" number ")[1].split()[0]) for line in lines if " number " in line.text]


def await_lines(bootstrap: str, count: int, *, timeout_s: float) -> list[LogLine]:
    until_s = time.monotonic() + timeout_s
    while True:
        lines = all_lines(bootstrap)
        if len(numbers(lines)) >= count or time.monotonic() > until_s:
            return lines
        time.sleep(0.5)


def produce_latencies(bootstrap: str, seconds: float) -> list[float]:
    """Seconds each small record took until the leader had it, sorted."""
    producer = Producer({"bootstrap.servers": bootstrap, "acks": 1, "linger.ms": 0})
    taken: list[float] = []
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        producer.produce("orders", b"x" * 100, on_delivery=lambda _, message: taken.append(message.latency() or 9.0))
        producer.flush(10)
        time.sleep(0.005)
    return sorted(taken)


def p95(values: list[float]) -> float:
    return values[int(len(values) * 0.95)]


def test_a_split_is_caught_up_in_order_and_nobody_who_writes_or_produces_is_held_up(
    kafka: KafkaProcesses, tmp_path: Path
) -> None:
    bootstrap = kafka.bootstrap[0]
    layout = AgentLayout(tmp_path)
    layout.prepare()
    log = BusyLog(layout.logs)
    topic = LogsTopic(name=LOGS_TOPIC, bootstrap=bootstrap, replication=1, config=LOGS_CONFIG, lines_per_min=1_000_000)
    log.write(200)
    quiet = produce_latencies(bootstrap, 4)

    leaving = threading.Event()
    thread = start_journal(ORIGIN, topic, leaving=leaving, layout=layout)
    try:
        assert numbers(await_lines(bootstrap, 200, timeout_s=60)) == list(range(200))

        kafka.stop(1)
        slowest_s = 0.0
        for _ in range(40):
            began_s = time.monotonic()
            log.write(1500)
            slowest_s = max(slowest_s, time.monotonic() - began_s)
            if log.written % 15_000 < 1500:
                log.roll()
            time.sleep(0.05)
        assert slowest_s < 1.0  # who logs waits for nobody
        assert thread.is_alive()

        kafka.start(1)
        busy = produce_latencies(bootstrap, 6)  # while 60,000 lines are caught up with
        lines = await_lines(bootstrap, log.written, timeout_s=90)
        assert numbers(lines) == list(range(log.written))
        assert lines[0].text.endswith("at kafka.A(A.java:1)")
        assert p95(busy) <= max(3 * p95(quiet), p95(quiet) + 0.02)
    finally:
        leaving.set()
        thread.join(20)
    assert not thread.is_alive()

    log.write(10)  # while no agent is there
    leaving = threading.Event()
    thread = start_journal(ORIGIN, topic, leaving=leaving, layout=layout)
    try:
        again = numbers(await_lines(bootstrap, log.written, timeout_s=60))
        assert again == list(range(log.written))  # none left out, none told again
    finally:
        leaving.set()
        thread.join(20)
