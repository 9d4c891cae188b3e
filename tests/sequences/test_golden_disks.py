"""The stories of brokers with several disks, told and compared as those of rolls are (`test_golden_rolls`)."""

from collections.abc import Callable

import pytest

from events import facts
from tests.builders import a_document, a_zookeeper_document
from tests.sequences.recorded import assert_told_as_recorded, told_as_recorded_by
from tests.sim.asking import ask_for_replacement, ask_to_fix_offline
from tests.sim.world import World

TWO, THREE = ", count: 2", ", count: 3"


def _born(world: World, **spec: object) -> None:
    world.declare(a_document(**spec))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def _disks_of_brokers(world: World) -> dict[str, list[str]]:
    """By broker's VM, the directories of the volumes on it, as the cloud lists them."""
    brokers = {i.key for i in world.view().brokers()}
    held: dict[str, list[str]] = {key: [] for key in sorted(brokers)}
    for key, volume in sorted(world.machines.volumes.items()):
        if volume.attached_to in brokers:
            held[volume.attached_to].append(key.split(".")[1])
    return held


def _volumes_of(world: World, node: str) -> list[str]:
    """Keys of the volumes the cloud shows on the node's one VM."""
    (there,) = world.view().of_node(node)
    return sorted(key for key, volume in world.machines.volumes.items() if volume.attached_to == there.key)


def _fills(world: World) -> bool:
    return "fills its new disk" in world.sentence()


def _drains(world: World) -> list[object]:
    return [r for r in world.history() if r.type == "drain.requested"]


def brokers_with_two_disks_move_to_a_new_version(world: World) -> None:
    """Each new VM comes with two new disks; both old ones go with the old VM. Controllers have one, and keep it."""
    _born(world, disks=TWO)
    world.declare(a_document(disks=TWO, version="4.2.0"))
    world.converge(ticks=900)
    assert list(_disks_of_brokers(world).values()) == [["data", "data2"]] * 3
    assert len(world.machines.volumes) == 3 * 2 + 3


def reattached_brokers_take_both_disks_along(world: World) -> None:
    """One release and one bind for both; same id, nothing is copied but what was written meanwhile."""
    spec = {"disks": TWO, "strategy": "reattach", "max_unavailable": 1}
    _born(world, **spec)
    before = set(world.machines.volumes)
    world.declare(a_document(**spec, version="4.2.0"))
    world.converge(ticks=900)
    assert set(world.machines.volumes) == before
    assert list(_disks_of_brokers(world).values()) == [["data", "data2"]] * 3
    assert not _drains(world)


def brokers_get_a_third_disk(world: World) -> None:
    """Though brokers reattach: another number of disks is a new VM, filled by copying."""
    spec = {"strategy": "reattach", "max_unavailable": 1}
    _born(world, **spec, disks=TWO)
    world.declare(a_document(**spec, disks=THREE))
    world.converge(ticks=900)
    assert list(_disks_of_brokers(world).values()) == [["data", "data2", "data3"]] * 3
    assert len(_drains(world)) == 3


def brokers_are_left_with_one_disk(world: World) -> None:
    _born(world, disks=TWO)
    world.declare(a_document())
    world.converge(ticks=900)
    assert list(_disks_of_brokers(world).values()) == [["data"]] * 3
    assert len(world.machines.volumes) == 6


def two_disks_of_a_broker_grow_together(world: World) -> None:
    """One grow run for each node, with both sizes; no restart."""
    _born(world, disks=TWO)
    world.declare(a_document(disks=TWO, broker_gib=200))
    world.converge(ticks=120)
    assert sorted(v.size_gib for v in world.machines.volumes.values()) == [1] * 3 + [200] * 6
    assert not _drains(world)


def one_disk_of_two_is_replaced_because_a_person_asked(world: World) -> None:
    """By handover, though brokers migrate: same id, the other disk passes on, only what was on that one is copied."""
    _born(world, disks=TWO)
    before = world.kafka.bytes_moved
    ask_for_replacement(world, "brokers-b-0.g1", "bad blocks", disks=("data2",))
    world.converge(ticks=300)
    assert _volumes_of(world, "brokers-b-0") == ["brokers-b-0.data.v1", "brokers-b-0.data2.v2"]
    assert len(world.machines.volumes) == 3 * 2 + 3
    assert not _drains(world)
    assert round(world.kafka.bytes_moved - before) == 6 * 50_000_000  # half of what the broker holds


def one_disk_of_two_fails_and_is_replaced(world: World) -> None:
    """What the agent finds is cured without being asked; the failed disk is kept until its copies are whole."""
    _born(world, disks=TWO)
    world.kafka.link_bytes_per_s = 20_000_000
    world.machines.fail_disk("brokers-b-0.g1", "data2")
    world.run(until=lambda w: _fills(w), ticks=300)
    assert "brokers-b-0.data2.v1" in world.machines.volumes
    assert world.kafka.serves(1001)
    world.converge(ticks=300)
    assert _volumes_of(world, "brokers-b-0") == ["brokers-b-0.data.v1", "brokers-b-0.data2.v2"]
    assert "brokers-b-0.data2.v1" not in world.machines.volumes
    assert not _drains(world)


def one_disk_fails_where_disks_cannot_be_told_apart(world: World) -> None:
    """On other clouds than the local one no disk is left behind alone: the broker moves to a new VM with new disks."""
    spec = {"cloud": "google", "quorum_place": "cloud: google, region: local-1, zones: [a, b, c]", "disks": TWO}
    _born(world, **spec)
    world.machines.fail_disk("brokers-b-0.g1", "data2")
    world.run(until=lambda w: not w.is_converged(), ticks=120)
    world.converge(ticks=600)
    assert _volumes_of(world, "brokers-b-0") == ["brokers-b-0.data.v2", "brokers-b-0.data2.v2"]
    assert len(_drains(world)) == 1


def what_is_in_a_failed_log_directory_is_made_anew_elsewhere(world: World) -> None:
    """Healing is switched off, so the disk stays failed; a person gives up what is in it, and the broker serves on with
    the other one."""
    _born(world, brokers=6, disks=TWO)
    world.person(facts.HealingSwitched("", False, None, "asked by anna: no spare disks"))
    world.machines.fail_disk("brokers-b-0.g1", "data2")
    broker = world.view().instances["brokers-b-0.g1"].service_id
    offline = {p.name for p in world.kafka.snapshot().in_failed_dirs(broker)}
    kept = {p.name for p in world.kafka.partitions() if broker in p.replicas} - offline
    assert offline
    assert kept
    for _ in range(5):
        world.tick()
    assert not [r for r in world.history() if r.type == "topics.replication_requested"], "nobody gave it up"
    ask_to_fix_offline(world, broker, reason="no spare disks")
    world.run(until=lambda w: not w.view().requests.offline, ticks=400)
    parts = {p.name: p for p in world.kafka.partitions()}
    assert all(broker not in parts[name].replicas and len(parts[name].isr) == 3 for name in offline)
    assert {name for name, p in parts.items() if broker in p.replicas} == kept
    racks = {b: seen.rack for b, seen in world.kafka.snapshot().brokers.items()}
    assert all(len({racks[b] for b in p.replicas}) == 3 for p in parts.values()), "no zone is lost"


def first_disk_of_two_is_lost_and_the_broker_stops_over_it(world: World) -> None:
    """Kafka's metadata is there, so the broker ends and does not start again; the other disk passes on all the same."""
    _born(world, disks=TWO)
    world.machines.lose_volume("brokers-b-0.g1", "data")
    world.run(until=lambda w: _fills(w), ticks=300)
    assert "brokers-b-0.data.v1" in world.machines.volumes
    world.converge(ticks=300)
    assert _volumes_of(world, "brokers-b-0") == ["brokers-b-0.data.v2", "brokers-b-0.data2.v1"]
    assert not _drains(world)


def only_disk_of_a_broker_is_lost(world: World) -> None:
    """There is nothing to hand over: a new broker is made, and what the lost one had is copied from the others."""
    _born(world)
    world.machines.lose_volume("brokers-b-0.g1")
    world.run(until=lambda w: not w.is_converged(), ticks=120)
    world.converge(ticks=600)
    assert _volumes_of(world, "brokers-b-0") == ["brokers-b-0.data.v2"]
    assert len(_drains(world)) == 1
    assert not world.kafka.is_running(1001)


def successor_dies_while_it_fills_its_new_disk(world: World) -> None:
    """The node gets another VM; the disks there are pass on, the failed one goes in the end."""
    _born(world, disks=TWO)
    world.kafka.link_bytes_per_s = 10_000_000
    ask_for_replacement(world, "brokers-b-0.g1", "bad blocks", disks=("data2",))
    world.run(until=lambda w: _fills(w), ticks=300)
    world.machines.power_cut("brokers-b-0.g2")
    world.run(until=lambda w: not w.is_converged(), ticks=60)
    world.converge(ticks=900)
    assert len(world.machines.volumes) == 3 * 2 + 3
    assert "brokers-b-0.data2.v1" not in world.machines.volumes


def first_disk_of_two_fails_in_zookeeper_mode_and_the_broker_serves_on(world: World) -> None:
    """Nothing of the cluster's own is on it, so no broker stops over it; then one more disk each, on new VMs."""
    world.declare(a_zookeeper_document(disks=TWO))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.machines.fail_disk("brokers-b-0.g1", "data")
    world.run(until=lambda w: _fills(w), ticks=300)
    assert "brokers-b-0.data.v1" in world.machines.volumes
    world.converge(ticks=300)
    assert _volumes_of(world, "brokers-b-0") == ["brokers-b-0.data.v2", "brokers-b-0.data2.v1"]
    assert not _drains(world)
    world.declare(a_zookeeper_document(disks=THREE))
    world.converge(ticks=900)
    assert list(_disks_of_brokers(world).values()) == [["data", "data2", "data3"]] * 3
    assert len(_drains(world)) == 3


def brokers_with_two_disks_migrate_to_kraft(world: World) -> None:
    """Each keeps both; the disk of one that fails after that is replaced alone."""
    world.declare(a_zookeeper_document(version="3.9.1", disks=TWO))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_document(version="3.9.1", disks=TWO))
    world.converge(ticks=900)
    assert _disks_of_brokers(world) == {f"brokers-{rack}-0.g1": ["data", "data2"] for rack in "abc"}
    world.machines.fail_disk("brokers-b-0.g1", "data2")
    world.run(until=lambda w: not w.is_converged(), ticks=120)
    world.converge(ticks=300)
    assert _volumes_of(world, "brokers-b-0") == ["brokers-b-0.data.v1", "brokers-b-0.data2.v2"]
    assert not _drains(world)


STORIES = [
    brokers_with_two_disks_move_to_a_new_version,
    reattached_brokers_take_both_disks_along,
    brokers_get_a_third_disk,
    brokers_are_left_with_one_disk,
    two_disks_of_a_broker_grow_together,
    one_disk_of_two_is_replaced_because_a_person_asked,
    one_disk_of_two_fails_and_is_replaced,
    one_disk_fails_where_disks_cannot_be_told_apart,
    first_disk_of_two_is_lost_and_the_broker_stops_over_it,
    only_disk_of_a_broker_is_lost,
    successor_dies_while_it_fills_its_new_disk,
    what_is_in_a_failed_log_directory_is_made_anew_elsewhere,
]
OF_ZOOKEEPER = [
    (first_disk_of_two_fails_in_zookeeper_mode_and_the_broker_serves_on, "3.8.1"),
    (brokers_with_two_disks_migrate_to_kraft, "3.9.1"),
]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_the_story_is_told_as_it_was_recorded(story: Callable[[World], None]) -> None:
    assert_told_as_recorded(story)


@pytest.mark.parametrize(("story", "version"), OF_ZOOKEEPER, ids=[story.__name__ for story, _ in OF_ZOOKEEPER])
def test_the_story_of_zookeepers_brokers_is_told_as_it_was_recorded(
    story: Callable[[World], None], version: str
) -> None:
    told_as_recorded_by(World(version=version), story)
