"""What the fake of a migration refuses: each is what no step of Kedge may ever do."""

from collections.abc import Iterator

import pytest

from agent.wire import ServiceDocument
from controlplane.kafka.zookeeper.migration import Goal, Knows, MigrationState, StartServices, Step
from tests.agent.migrating_documents import BROKERS, CONTROLLERS
from tests.contract.migrating_worlds import FakeMigratingWorld
from tests.fakes.migration import BrokenMigration


@pytest.fixture
def world() -> FakeMigratingWorld:
    made = FakeMigratingWorld()
    made.make_topic("orders")
    return made


def _until(world: FakeMigratingWorld, state: MigrationState, goal: Goal = "kraft") -> Iterator[Step]:
    for step in world.steps(goal):
        if world.kafka.migration.state is state:
            return
        yield step
    raise AssertionError(f"it never was {state}")


def _told(world: FakeMigratingWorld, service: int, knows: Knows) -> ServiceDocument:
    world.documents.tell(service, knows)
    return world.documents.of(service)


def test_it_migrates_without_a_partition_below_its_min_isr(world: FakeMigratingWorld) -> None:
    steps = list(world.steps("kraft"))
    assert [s.service for s in steps if isinstance(s, StartServices) and s.ends_way_back] == ["controller"]
    assert (world.kafka.migration.mode, world.kafka.under_min_isr_s) == ("kraft", 0.0)


def test_a_broker_in_kraft_mode_is_refused_while_a_broker_leads(world: FakeMigratingWorld) -> None:
    list(_until(world, MigrationState.WAITING))
    with pytest.raises(BrokenMigration, match="no quorum leads"):
        world.kafka.migration.starts(_told(world, 1000, Knows.QUORUM))


def test_a_broker_told_of_a_quorum_that_is_not_there_is_refused(world: FakeMigratingWorld) -> None:
    with pytest.raises(BrokenMigration, match="a quorum that is not there"):
        world.kafka.migration.starts(_told(world, 1000, Knows.BOTH))


def test_a_controller_forgets_zookeeper_only_after_the_last_broker_did(world: FakeMigratingWorld) -> None:
    list(_until(world, MigrationState.BOTH_WRITTEN))
    with pytest.raises(BrokenMigration, match=r"brokers \[1000, 1001, 1002\] are ZooKeeper's"):
        world.kafka.migration.starts(_told(world, 103, Knows.QUORUM))


def test_a_broker_told_of_both_ends_over_any_disk_and_comes_up_without_it(world: FakeMigratingWorld) -> None:
    kafka, knows = world.kafka, world.kafka.migration.knows
    next(None for _ in world.steps("kraft") if Knows.BOTH in [knows.get(b) for b in BROKERS])
    told = next(b for b in BROKERS if knows[b] is Knows.BOTH)
    other = next(b for b in BROKERS if knows.get(b) is not Knows.BOTH)
    for broker in (told, other):
        kafka.fail_dir(broker, "/data")
    assert (kafka.is_running(told), kafka.is_running(other)) == (False, True)
    kafka.start_broker(told)
    assert kafka.is_running(told)


def test_zookeepers_notes_are_kept_while_a_controller_runs(world: FakeMigratingWorld) -> None:
    list(_until(world, MigrationState.BOTH_WRITTEN))
    with pytest.raises(BrokenMigration, match="would write over"):
        world.kafka.migration.forget()


def test_the_ensemble_is_not_stopped_and_its_volume_not_deleted_while_somebody_needs_it(
    world: FakeMigratingWorld,
) -> None:
    list(_until(world, MigrationState.BOTH_WRITTEN))
    server = world.documents.zookeeper()
    with pytest.raises(BrokenMigration, match="need a majority"):
        world.kafka.migration.stops(server, graceful=True)
    with pytest.raises(BrokenMigration, match="is deleted"):
        world.kafka.migration.deletes(server.log_dirs[0].volume)


def test_nobody_needs_the_ensemble_once_it_is_over(world: FakeMigratingWorld) -> None:
    list(world.steps("kraft"))
    server = world.documents.zookeeper()
    world.kafka.migration.stops(server, graceful=True)
    world.kafka.migration.deletes(server.log_dirs[0].volume)
    assert world.kafka.migration.needs_ensemble == frozenset()


def test_a_broker_that_stops_while_nobody_leads_hangs(world: FakeMigratingWorld) -> None:
    list(_until(world, MigrationState.BOTH_WRITTEN))
    for controller in CONTROLLERS:
        document = world.documents.of(controller)
        world.kafka.migration.stops(document, graceful=True)
        world.kafka.migration.home_of("controller").stop_controller(controller)
    with pytest.raises(BrokenMigration, match="would hang"):
        world.kafka.migration.stops(world.documents.of(1000), graceful=True)


def test_controllers_of_a_later_migration_need_empty_disks(world: FakeMigratingWorld) -> None:
    list(_until(world, MigrationState.BOTH_WRITTEN))
    list(world.steps("zookeeper"))
    with pytest.raises(BrokenMigration, match="turned back"):
        world.kafka.migration.starts(_told(world, 103, Knows.BOTH))
    for controller in CONTROLLERS:
        world.documents.renew_disk(controller)
    list(world.steps("kraft"))
    assert world.kafka.migration.state is MigrationState.OVER


def test_a_broker_sent_back_in_the_moment_in_which_the_quorum_begins_to_lead_serves_nobody(
    world: FakeMigratingWorld,
) -> None:
    steps = world.steps("kraft")
    for _ in steps:
        if [world.documents.knows[b] for b in BROKERS].count(Knows.BOTH) == len(BROKERS):
            break
    world.stop_broker(1000)
    assert not world.kafka.migration.starts(_told(world, 1000, Knows.ENSEMBLE))
