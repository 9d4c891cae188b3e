"""One thread of shipping for the broker that is up, none for any other; nothing here waits."""

import threading
from dataclasses import replace

from agent.kafka_tls import BrokerTask, at_brokers
from agent.metrics_duty import MeasuredBroker, MetricsDuty
from agent.wire import MetricsTopic
from tests.unit.agent.wanted import broker

BROKER = MeasuredBroker(broker(), "c1", "b-1", MetricsTopic(name="m", replication=1))
MEASURED = BrokerTask(BROKER)


class Threads:
    """Starts threads that end at once, or when they are told to leave."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.die = False
        self.started: list[tuple[BrokerTask[MeasuredBroker], threading.Event]] = []
        self.last = threading.Thread()

    def monotonic_s(self) -> float:
        return self.now_s

    def start(self, measured: BrokerTask[MeasuredBroker], /, *, leaving: threading.Event) -> threading.Thread:
        self.started.append((measured, leaving))
        self.last = threading.Thread(target=(lambda: None) if self.die else leaving.wait, daemon=True)
        self.last.start()
        return self.last


def test_one_thread_runs_while_the_same_broker_is_up() -> None:
    threads = Threads()
    duty = MetricsDuty(threads.start, threads)
    duty.follow(None)
    for _ in range(3):
        duty.follow(MEASURED)
    ((measured, leaving),) = threads.started
    assert measured == MEASURED
    assert not leaving.is_set()
    duty.follow(None)
    assert leaving.is_set()


def test_another_topic_or_broker_gets_a_thread_of_its_own_and_the_old_one_leaves() -> None:
    threads = Threads()
    duty = MetricsDuty(threads.start, threads)
    duty.follow(MEASURED)
    other = BrokerTask(replace(BROKER, topic=MetricsTopic(name="other", replication=1)))
    duty.follow(other)
    assert [measured for measured, _ in threads.started] == [MEASURED, other]
    assert [leaving.is_set() for _, leaving in threads.started] == [True, False]
    duty.follow(None)


def test_a_thread_that_died_is_started_again_but_not_at_once() -> None:
    threads = Threads()
    threads.die = True
    duty = MetricsDuty(threads.start, threads)
    duty.follow(MEASURED)
    threads.last.join()
    threads.now_s = 299
    duty.follow(MEASURED)
    assert len(threads.started) == 1
    threads.now_s = 300
    duty.follow(MEASURED)
    assert len(threads.started) == 2


def test_metrics_go_to_the_brokers_own_cluster_unless_another_is_named() -> None:
    own = replace(BROKER, broker=broker())
    assert own.bootstrap == f"{own.broker.address}:{own.broker.port}"
    away = MetricsTopic(name="m", replication=1, bootstrap="10.9.9.9:9092")
    assert replace(own, topic=away).bootstrap == "10.9.9.9:9092"


def test_where_brokers_speak_tls_it_waits_for_the_certificate_of_the_node() -> None:
    secured = replace(BROKER, topic=MetricsTopic(name="m", replication=1, secured=True))
    assert at_brokers(secured, None) is None
    assert at_brokers(BROKER, None) == MEASURED
