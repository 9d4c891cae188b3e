"""What Kafka 4.3 and the fake do with a cordoned broker: 1 controller, brokers 1000 to 1002 in three racks."""

from collections.abc import Callable, Iterator

import pytest

from controlplane.converger.steps.rolls.cordons import takes_cordons
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.gateway import KafkaGateway
from planner.observed import TopicPartition
from tests.contract.kafka_worlds import FakeWorld, World, real_world

VERSION = "4.3.0"


@pytest.fixture(scope="module", params=["fake", pytest.param("kafka", marks=pytest.mark.kafka)])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    if request.param == "fake":
        yield FakeWorld(VERSION)
        return
    root = tmp_path_factory.mktemp("cordons")
    with real_world(root, network="127.0.44", version=VERSION, patience_s=30.0) as real:
        yield real


def test_a_new_topic_goes_past_a_cordoned_broker_and_an_assignment_by_name_does_not(world: World) -> None:
    kafka = world.gateway
    assert takes_cordons(kafka.snapshot())
    kafka.set_cordons([1002], [])
    _until(world, lambda: kafka.snapshot().cordoned == {1002}, "the cordon")
    world.create_topic("made-under-it", partitions=6, rf=2)
    _until(world, lambda: len(_holders(kafka, "made-under-it")) == 6, "the topic")
    assert {b for replicas in _holders(kafka, "made-under-it") for b in replicas} == {1000, 1001}
    assert kafka.reassign({TopicPartition("made-under-it", 0): (1002, 1001)}) == {}
    _until(world, lambda: (1002, 1001) in _holders(kafka, "made-under-it"), "the named assignment")


def test_a_cordon_outlives_a_restart_and_is_lifted_once(world: World) -> None:
    kafka = world.gateway
    world.stop_broker(1002)
    world.start_broker(1002)
    _until(world, lambda: kafka.snapshot().cordoned == {1002}, "the broker to be back, cordoned")
    kafka.set_cordons([], [1002])
    kafka.set_cordons([], [1002])
    _until(world, lambda: not kafka.snapshot().cordoned, "no cordon")
    world.create_topic("made-after-it", partitions=6, rf=3)
    _until(world, lambda: len(_holders(kafka, "made-after-it")) == 6, "the topic")


def test_a_broker_that_is_away_takes_no_cordon_and_tells_of_none(world: World) -> None:
    kafka = world.gateway
    kafka.set_cordons([1002], [])
    _until(world, lambda: kafka.snapshot().cordoned == {1002}, "the cordon")
    world.stop_broker(1002)
    _until(world, lambda: 1002 not in kafka.snapshot().live_brokers(), "the broker to be away")
    assert not kafka.snapshot().cordoned
    with pytest.raises(KafkaUnavailable, match="1002"):
        kafka.set_cordons([], [1002])


def test_a_cordon_outlives_the_registration_unless_it_was_lifted_before_the_stop(world: World) -> None:
    """The one before left broker 1002 stopped, and cordoned."""
    kafka = world.gateway
    assert _forgotten_and_back(world) == {1002}
    kafka.set_cordons([], [1002])
    _until(world, lambda: not kafka.snapshot().cordoned, "no cordon")
    world.stop_broker(1002)
    assert _forgotten_and_back(world) == frozenset()


def _forgotten_and_back(world: World) -> frozenset[int]:
    """Unregisters broker 1002, which is stopped, and starts it again: who is cordoned then."""
    kafka = world.gateway
    _until(world, lambda: kafka.snapshot().brokers[1002].fenced, "the broker to be fenced")
    assert kafka.unregister_broker(1002)
    _until(world, lambda: 1002 not in kafka.snapshot().brokers, "the broker to be forgotten")
    world.start_broker(1002)
    _until(world, lambda: 1002 in kafka.snapshot().live_brokers(), "the broker to be back")
    return kafka.snapshot().cordoned


def _holders(kafka: KafkaGateway, topic: str) -> list[tuple[int, ...]]:
    return [p.replicas for p in kafka.snapshot().partitions if p.name.topic == topic]


def _until(world: World, condition: Callable[[], object], what: str) -> None:
    """Kafka may be unable to answer meanwhile."""

    def answered() -> object:
        try:
            return condition()
        except KafkaUnavailable:
            return False

    world.until(answered, what)
