"""What Kafka 4.3 and the fake do with a cordoned broker: 1 controller, brokers 1000 to 1002 in three racks."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from controlplane.converger.cordons import takes_cordons
from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.gateway import KafkaGateway
from planner.observed import TopicPartition
from tests.fakes.kafka import FakeKafka
from tests.kafka_processes import KafkaProcesses, wait_until
from tests.kafka_topics import create_topic

VERSION, CONTROLLER = "4.3.0", 100
RACKS = {1000: "az-1", 1001: "az-2", 1002: "az-3"}


class World(Protocol):
    """A gateway, and a hand on the machines behind it."""

    gateway: KafkaGateway

    def create_topic(self, name: str, *, partitions: int, rf: int) -> None: ...
    def restart_broker(self, broker: int) -> None: ...
    def stop_broker(self, broker: int) -> None: ...
    def until(self, condition: Callable[[], object], what: str) -> None: ...


class FakeWorld:
    def __init__(self) -> None:
        self._kafka = FakeKafka(version=VERSION)
        self.gateway: KafkaGateway = self._kafka
        self._kafka.add_controller(CONTROLLER, version=VERSION)
        for broker, rack in RACKS.items():
            self._kafka.add_broker(broker, rack, version=VERSION)

    def create_topic(self, name: str, *, partitions: int, rf: int) -> None:
        self._kafka.create_topic(name, partitions=partitions, rf=rf)

    def restart_broker(self, broker: int) -> None:
        self.stop_broker(broker)
        self._kafka.start_broker(broker)

    def stop_broker(self, broker: int) -> None:
        assert self._kafka.stop_broker(broker)

    def until(self, condition: Callable[[], object], what: str) -> None:
        for _ in range(600):
            if condition():
                return
            self._kafka.advance(0.1)
        raise TimeoutError(what)


class RealWorld:
    def __init__(self, root: Path) -> None:
        self._kafka = KafkaProcesses(root, network="127.0.44", version=VERSION, controllers=(CONTROLLER,))
        self._kafka.start_controllers()
        for broker, rack in RACKS.items():
            self._kafka.add_broker(broker, rack)
            self._kafka.start(broker, wait=False)
        for broker in RACKS:
            self._kafka.await_listening(broker)
        self._dialer = DirectDialer()
        self.gateway: KafkaGateway = AdminGateway(self._dialer, "cordons", self._kafka.bootstrap)
        self.until(lambda: len(self.gateway.snapshot().live_brokers()) == len(RACKS), "three live brokers")

    def create_topic(self, name: str, *, partitions: int, rf: int) -> None:
        create_topic(self._kafka.bootstrap, name, partitions=partitions, rf=rf)

    def restart_broker(self, broker: int) -> None:
        self.stop_broker(broker)
        self._kafka.start(broker)

    def stop_broker(self, broker: int) -> None:
        self._kafka.stop(broker)

    def until(self, condition: Callable[[], object], what: str) -> None:
        wait_until(lambda: _answered(condition), what)

    def close(self) -> None:
        self._dialer.close()
        self._kafka.close()


@pytest.fixture(scope="module", params=["fake", pytest.param("kafka", marks=pytest.mark.kafka)])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    if request.param == "fake":
        yield FakeWorld()
        return
    real = RealWorld(tmp_path_factory.mktemp("cordons"))
    try:
        yield real
    finally:
        real.close()


def test_a_new_topic_goes_past_a_cordoned_broker_and_an_assignment_by_name_does_not(world: World) -> None:
    kafka = world.gateway
    assert takes_cordons(kafka.snapshot())
    kafka.set_cordons([1002], [])
    world.until(lambda: kafka.snapshot().cordoned == {1002}, "the cordon")
    world.create_topic("made-under-it", partitions=6, rf=2)
    world.until(lambda: len(_holders(kafka, "made-under-it")) == 6, "the topic")
    assert {b for replicas in _holders(kafka, "made-under-it") for b in replicas} == {1000, 1001}
    assert kafka.reassign({TopicPartition("made-under-it", 0): (1002, 1001)}) == {}
    world.until(lambda: (1002, 1001) in _holders(kafka, "made-under-it"), "the named assignment")


def test_a_cordon_outlives_a_restart_and_is_lifted_once(world: World) -> None:
    kafka = world.gateway
    world.restart_broker(1002)
    world.until(lambda: kafka.snapshot().cordoned == {1002}, "the broker to be back, cordoned")
    kafka.set_cordons([], [1002])
    kafka.set_cordons([], [1002])
    world.until(lambda: not kafka.snapshot().cordoned, "no cordon")
    world.create_topic("made-after-it", partitions=6, rf=3)
    world.until(lambda: len(_holders(kafka, "made-after-it")) == 6, "the topic")


def test_a_broker_that_is_away_takes_no_cordon_and_tells_of_none(world: World) -> None:
    kafka = world.gateway
    kafka.set_cordons([1002], [])
    world.until(lambda: kafka.snapshot().cordoned == {1002}, "the cordon")
    world.stop_broker(1002)
    world.until(lambda: 1002 not in kafka.snapshot().live_brokers(), "the broker to be away")
    assert not kafka.snapshot().cordoned
    with pytest.raises(KafkaUnavailable, match="1002"):
        kafka.set_cordons([], [1002])


def _holders(kafka: KafkaGateway, topic: str) -> list[tuple[int, ...]]:
    return [p.replicas for p in kafka.snapshot().partitions if p.name.topic == topic]


def _answered(condition: Callable[[], object]) -> object:
    try:
        return condition()
    except KafkaUnavailable:
        return False
