"""What a KafkaGateway promises of moves between the log directories of one broker, asked of the fake and of real
brokers alike: 1 controller, brokers 1000 to 1002 with two directories each.
"""

from collections.abc import Iterator

import pytest

from controlplane.kafka.errors import KafkaRefused, KafkaUnavailable
from planner.observed import LogDirSeen, TopicPartition
from tests.contract.kafka_worlds import FakeWorld, World, real_world

MB = 10**6
NAME = TopicPartition("between", 0)


@pytest.fixture(scope="module", params=["fake", pytest.param("real", marks=pytest.mark.kafka)])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    if request.param == "fake":
        yield FakeWorld(disks=2)
        return
    with real_world(tmp_path_factory.mktemp("log-dir-moves"), network="127.0.98", disks=2) as real:
        yield real


def _broker(world: World) -> int:
    """The one that has the only replica."""
    return next(p for p in world.gateway.snapshot().partitions if p.name == NAME).replicas[0]


def _dirs(world: World) -> tuple[LogDirSeen, ...]:
    return world.gateway.snapshot().log_dirs[_broker(world)].dirs


def _here(world: World) -> LogDirSeen:
    return next(d for d in _dirs(world) if NAME in d.replicas)


def _arriving(world: World) -> dict[TopicPartition, int]:
    return {name: there for d in _dirs(world) for name, there in d.arriving.items()}


def test_a_throttled_move_is_told_of_on_its_way_with_the_bytes_that_are_there_and_then_ends(world: World) -> None:
    world.create_topic("between", partitions=1, rf=1, min_isr=1, bytes_per_partition=20 * MB)
    world.until(lambda: NAME in {n for d in _dirs(world) for n in d.replicas}, "the replica to be told of")
    broker, before = _broker(world), _here(world)
    target = next(d.path for d in _dirs(world) if d.path != before.path)
    size = next(p for p in world.gateway.snapshot().partitions if p.name == NAME).size_bytes
    world.gateway.set_log_dirs_throttle({broker: 2 * MB})
    world.until(
        lambda: world.gateway.snapshot().throttles.log_dirs_rate == {broker: 2 * MB}, "the throttle to be told of"
    )
    assert not world.gateway.snapshot().throttles.any, "no part of those of replication"

    for _ in range(2):  # asked twice it goes on
        world.gateway.prefer_log_dirs({broker: {NAME: target}})
    world.until(lambda: NAME in _arriving(world), "the move to be seen")
    assert _here(world).path == before.path, "the replica serves from where it was"
    seen = next(p for p in world.gateway.snapshot().partitions if p.name == NAME)
    assert seen.isr == (broker,)
    assert not seen.is_moving
    assert seen.size_bytes <= size * 1.01, "the copy makes no log larger"
    world.until(lambda: _arriving(world).get(NAME, 1) > 0, "some of it to be there")

    world.gateway.set_log_dirs_throttle({broker: None})
    world.until(lambda: _here(world).path == target and not _arriving(world), "the move to end")
    assert world.gateway.snapshot().throttles.log_dirs_rate == {}


def test_a_move_back_to_where_the_replica_is_ends_it(world: World) -> None:
    broker, here = _broker(world), _here(world).path
    target = next(d.path for d in _dirs(world) if d.path != here)
    world.gateway.set_log_dirs_throttle({broker: MB})
    world.gateway.prefer_log_dirs({broker: {NAME: target}})
    world.until(lambda: NAME in _arriving(world), "the move to be seen")
    world.gateway.prefer_log_dirs({broker: {NAME: here}})
    world.until(lambda: not _arriving(world), "no move")
    assert _here(world).path == here
    world.gateway.set_log_dirs_throttle({broker: None})


def test_an_unknown_directory_is_refused_and_a_broker_that_is_not_there_is_unavailable(world: World) -> None:
    with pytest.raises(KafkaRefused, match="LogDirNotFound"):
        world.gateway.prefer_log_dirs({_broker(world): {NAME: "/nowhere"}})
    with pytest.raises(KafkaUnavailable):
        world.gateway.prefer_log_dirs({4711: {NAME: "/nowhere"}})
