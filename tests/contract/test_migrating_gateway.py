"""What the gateway says of a cluster in each phase of its migration, asked of the fake and of Kafka 3.9.1 alike.

The tests of a world run in order: each goes on where the one before it has stopped.
"""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from controlplane.kafka.errors import KafkaFault, KafkaRefused, KafkaUnavailable
from controlplane.kafka.zookeeper.migration import (
    ForgetClaim,
    Knows,
    MigrationPhase,
    MigrationSeen,
    MigrationState,
    phase_of,
)
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition
from tests.agent.migrating_documents import BROKERS, CONTROLLERS, SERVER
from tests.contract.migrating_worlds import FakeMigratingWorld, MigratingWorld, real_migrating_world

pytestmark = pytest.mark.timeout(460)
ORDERS = TopicPartition("orders", 0)


@pytest.fixture(scope="module", params=["fake", pytest.param("real", marks=[pytest.mark.kafka, pytest.mark.soak])])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MigratingWorld]:
    if request.param == "fake":
        made = FakeMigratingWorld()
        made.make_topic("orders")
        yield made
        return
    with real_migrating_world(tmp_path_factory.mktemp("migrating")) as real:
        real.make_topic("orders")
        yield real


def test_controllers_beside_the_ensemble_change_nothing_of_what_is_read(world: MigratingWorld) -> None:
    _go(world, lambda seen: phase_of(seen) is MigrationPhase.PROVISIONED and seen.state is MigrationState.WAITING)
    _is_led_by_a_broker(world)


def test_while_brokers_are_told_of_both_a_broker_leads_and_is_read(world: MigratingWorld) -> None:
    _go(world, lambda seen: list(seen.brokers.values()).count(Knows.BOTH) == 1)
    _is_led_by_a_broker(world)


def test_a_quorum_that_leads_brokers_in_zookeeper_mode_is_read_by_its_own_word(world: MigratingWorld) -> None:
    _go(world, lambda seen: seen.state is MigrationState.BOTH_WRITTEN)
    snapshot = _is_led_by_the_quorum(world)
    assert all(level.max_supported == 0 for level in snapshot.features.values()), "such brokers have no levels"


def test_a_broker_that_leaves_and_comes_back_is_seen_to_while_the_quorum_leads_such_brokers(
    world: MigratingWorld,
) -> None:
    world.stop_broker(1002)
    world.until(lambda: _in_sync(world) == {1000, 1001}, "broker 1002 to be out of the ISRs")
    world.start_broker(1002)
    world.until(lambda: _in_sync(world) == set(BROKERS), "broker 1002 to be back in them")


def test_what_makes_no_sense_between_two_homes_is_refused_and_elections_are_not(world: MigratingWorld) -> None:
    calls: tuple[Callable[[], object], ...] = (
        lambda: world.gateway.reassign({ORDERS: (1001, 1000)}),
        lambda: world.gateway.cancel([ORDERS]),
        lambda: world.gateway.unregister_broker(1002),
        lambda: world.gateway.update_feature("metadata.version", 21, validate_only=True),
        lambda: world.gateway.add_voter(106, "CSnKsACqWL2QdNr26bSUNw", host="127.0.44.126", port=9093),
        lambda: world.gateway.remove_voter(103, "CSnKsACqWL2QdNr26bSUNw"),
        lambda: world.gateway.reelect_controller(1000, 1),
    )
    for call in calls:
        with pytest.raises(KafkaRefused, match="migrates from ZooKeeper to KRaft"):
            call()
    world.gateway.elect_preferred(None)
    world.until(lambda: all(p.leader == p.replicas[0] for p in _orders(world)), "preferred leaders")


def test_brokers_of_both_modes_side_by_side_are_read_by_those_of_krafts(world: MigratingWorld) -> None:
    for count in range(1, len(BROKERS) + 1):
        _go(world, partial(_are_krafts, count))
        _is_led_by_the_quorum(world)


def test_the_way_back_leads_past_a_moment_in_which_nobody_leads_to_a_broker_that_does(world: MigratingWorld) -> None:
    cuts = 0
    for step in world.steps("zookeeper"):
        if isinstance(step, ForgetClaim) and world.registry().kraft_epoch >= 0:
            cuts += 1
            with pytest.raises(KafkaUnavailable):
                world.gateway.snapshot()
    assert cuts == 1, "its controllers are stopped, and their claim is still there"
    _is_led_by_a_broker(world)


def _are_krafts(count: int, seen: MigrationSeen) -> bool:
    return list(seen.brokers.values()).count(Knows.QUORUM) == count


def _go(world: MigratingWorld, there: Callable[[MigrationSeen], bool]) -> None:
    """Until it holds and everybody is back in sync."""
    for _ in world.steps("kraft"):
        seen = world.look()
        if there(seen) and not seen.unsettled:
            return
    raise AssertionError("the migration is over before that")


def _is_led_by_a_broker(world: MigratingWorld) -> None:
    snapshot = _read(world)
    assert (snapshot.mode, snapshot.controller) == ("zookeeper", world.registry().controller)
    assert {m.id for m in snapshot.quorum.members if m.is_voter} == {SERVER.id}
    world.until(lambda: _elects(world), "an election")


def _is_led_by_the_quorum(world: MigratingWorld) -> KafkaSnapshot:
    snapshot = _read(world)
    assert (snapshot.mode, snapshot.controller) == ("kraft", -1)
    assert {m.id for m in snapshot.quorum.members if m.is_voter} == set(CONTROLLERS)
    assert snapshot.quorum.leader == world.look().leader
    return snapshot


def _read(world: MigratingWorld) -> KafkaSnapshot:
    """A picture of three live brokers that have it all; others have to be refused meanwhile."""
    read: list[KafkaSnapshot] = []

    def is_whole() -> bool:
        try:
            read.append(world.gateway.snapshot())
        except KafkaFault:
            return False
        seen = read[-1]
        in_sync = all(set(p.isr) == set(BROKERS) for p in seen.partitions if p.name.topic == "orders")
        return in_sync and seen.live_brokers() == set(BROKERS) and set(seen.log_dirs) == set(BROKERS)

    world.until(is_whole, "a whole reading")
    return read[-1]


def _orders(world: MigratingWorld) -> list[PartitionSeen]:
    return [p for p in _read(world).partitions if p.name.topic == "orders"]


def _in_sync(world: MigratingWorld) -> set[int]:
    """Brokers in every ISR of the topic; nobody while the cluster cannot be read."""
    try:
        seen = world.gateway.snapshot()
    except KafkaUnavailable:
        return set()
    return set.intersection(*(set(p.isr) for p in seen.partitions if p.name.topic == "orders"))


def _elects(world: MigratingWorld) -> bool:
    """A broker that was told of both may leave it without an answer for a moment: then it is asked again."""
    try:
        return world.gateway.elect_preferred([ORDERS]) in (0, 1)
    except KafkaUnavailable:
        return False
