"""The stories of disks and zones that change, told and compared as those of rolls are (`test_golden_rolls`)."""

from collections.abc import Callable

import pytest

from controlplane.cluster.commands import CommandRefused
from events import facts
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.asking import ask_for_evacuation
from tests.sim.world import World


def _born(world: World, **spec: object) -> None:
    world.declare(a_document(**spec))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def _starts(world: World) -> dict[str, int]:
    return {i.key: i.start.count for i in world.view().alive()}


def _sizes(world: World) -> dict[str, int]:
    return {key: v.size_gib for key, v in world.machines.volumes.items()}


def disks_grow_where_they_are(world: World) -> None:
    """One node at a time, brokers and controllers alike; nobody is started anew, nothing moves."""
    _born(world)
    before = _starts(world)
    world.declare(a_document(broker_gib=200, quorum_gib=2))
    world.converge(ticks=120)
    assert _starts(world) == before
    assert sorted(_sizes(world).values()) == [2, 2, 2, 200, 200, 200]
    assert not [r for r in world.history() if r.type in ("drain.requested", "restart.requested")]


def disks_grow_though_terraform_dies_half_way(world: World) -> None:
    _born(world)
    world.interrupt_runs = 1
    world.declare(a_document(broker_gib=200))
    world.converge(ticks=200)
    assert sorted(_sizes(world).values()) == [1, 1, 1, 200, 200, 200]


def vm_is_lost_while_its_disk_grows(world: World) -> None:
    """The disk has grown; the VM goes, and the one that replaces it has a disk of its own."""
    _born(world)
    world.declare(a_document(broker_gib=200))
    world.run(until=lambda w: bool(w.view().intents), ticks=20)
    world.machines.power_cut(next(iter(world.view().intents.values())).keys[0])
    world.converge(ticks=600)
    assert {v.size_gib for v in world.machines.volumes.values()} == {1, 200}


def a_version_and_a_larger_disk_at_once(world: World) -> None:
    """Brokers that get a new VM get a new disk with it; controllers keep theirs, and it grows afterwards."""
    _born(world)
    world.declare(a_document(version="4.2.0", broker_gib=200, quorum_gib=2))
    world.converge(ticks=900)
    assert sorted(_sizes(world).values()) == [2, 2, 2, 200, 200, 200]


def reattached_brokers_take_their_disks_along_and_grow_them(world: World) -> None:
    _born(world, strategy="reattach", max_unavailable=1)
    world.declare(a_document(strategy="reattach", max_unavailable=1, version="4.2.0", broker_gib=200))
    world.converge(ticks=900)
    assert sorted(_sizes(world).values()) == [1, 1, 1, 200, 200, 200]
    assert not [r for r in world.history() if r.type == "drain.requested"]


def smaller_disks_are_filled_by_copying(world: World) -> None:
    """Though brokers reattach: a disk does not shrink, so each broker moves to a new VM. Controllers stay."""
    _born(world, strategy="reattach", max_unavailable=1)
    controllers = {i.key for i in world.view().controllers()}
    world.declare(a_document(strategy="reattach", max_unavailable=1, broker_gib=50))
    world.converge(ticks=900)
    assert sorted(_sizes(world).values()) == [1, 1, 1, 50, 50, 50]
    assert {i.key for i in world.view().controllers()} == controllers


def persistent_disks_become_ephemeral(world: World) -> None:
    """Another kind of disk is another VM; afterwards brokers are replaced by draining, as ever."""
    _born(world)
    world.declare(a_document(disk="ephemeral"))
    world.converge(ticks=900)
    assert {v.planned.volumes[0].kind for v in world.view().brokers()} == {"ephemeral"}
    world.declare(a_document(disk="ephemeral", version="4.2.0"))
    world.converge(ticks=900)
    assert len([r for r in world.history() if r.type == "instance.drained"]) >= 4


GROW = ", grow: {above: 80, to: 250}"


def _fills(world: World, broker: int, share: float) -> None:
    """Something that is not to be copied anywhere fills the disk of this broker."""
    total = world.kafka.snapshot().log_dirs[broker].total_bytes
    world.kafka.on_disk.taken[broker] = 0
    world.kafka.on_disk.taken[broker] = world.kafka.on_disk.free_bytes(broker) - int((1 - share) * total)
    world.disturbed()


def disks_of_a_pool_grow_by_themselves(world: World) -> None:
    """One broker is full, all disks of its pool grow; a spec with less is no shrink, and at the bound it is told."""
    _born(world, disks=GROW)
    before = _starts(world)
    _fills(world, 1001, 0.85)
    world.run(until=lambda w: bool(w.view().vms.grown_pools), ticks=120)
    world.converge(ticks=200)
    assert sorted(_sizes(world).values()) == [1, 1, 1, 140, 140, 140]
    world.declare(a_document(disks=GROW, broker_gib=60))
    world.converge(ticks=200)
    assert sorted(_sizes(world).values()) == [1, 1, 1, 140, 140, 140]
    _fills(world, 1001, 0.97)
    world.run(until=lambda w: w.view().vms.grown_pools["brokers"] > 140, ticks=1200)
    world.converge(ticks=200)
    assert sorted(_sizes(world).values()) == [1, 1, 1, 210, 210, 210]
    _fills(world, 1001, 0.97)
    world.run(until=lambda w: w.view().vms.grown_pools["brokers"] > 210, ticks=1200)
    world.converge(ticks=200)
    assert sorted(_sizes(world).values()) == [1, 1, 1, 250, 250, 250]
    _fills(world, 1001, 0.9)
    world.run(until=lambda w: w.view().conditions["DiskGrowthHeld"].reason == "AtLimit", ticks=1200)
    assert _starts(world) == before
    assert not [r for r in world.history() if r.type in ("drain.requested", "restart.requested")]


def vm_made_after_disks_grew_has_their_size(world: World) -> None:
    """A node that is replaced, or added, is made as the others are by now, whatever the spec says."""
    _born(world, disks=GROW)
    _fills(world, 1001, 0.85)
    world.run(until=lambda w: bool(w.view().vms.grown_pools), ticks=120)
    world.converge(ticks=200)
    world.declare(a_document(disks=GROW, brokers=4, version="4.2.0"))
    world.converge(ticks=900)
    assert sorted(_sizes(world).values()) == [1, 1, 1, 140, 140, 140, 140]


def zone_is_removed(world: World) -> None:
    """Its brokers are made anew in the other zones first, then drained; no partition loses a replica."""
    _born(world, brokers=4, zones="a, b, c, d")
    world.declare(a_document(brokers=4, zones="a, b, d"))
    world.converge(ticks=900)
    assert {i.planned.rack for i in world.view().brokers()} == {"a", "b", "d"}
    assert all(len(p.replicas) == len(p.isr) == 3 for p in world.kafka.partitions())


def zone_is_added(world: World) -> None:
    """New brokers first; whoever is surplus then is drained, and the new ones get their share."""
    _born(world, brokers=6)
    world.declare(a_document(brokers=6, zones="a, b, c, d"))
    world.converge(ticks=900)
    assert {i.planned.rack for i in world.view().brokers()} == {"a", "b", "c", "d"}
    assert all(world.kafka.snapshot().hosted_by(i.service_id) for i in world.view().brokers())


STORIES: tuple[Callable[[World], None], ...] = (
    disks_grow_where_they_are,
    disks_grow_though_terraform_dies_half_way,
    vm_is_lost_while_its_disk_grows,
    a_version_and_a_larger_disk_at_once,
    reattached_brokers_take_their_disks_along_and_grow_them,
    smaller_disks_are_filled_by_copying,
    persistent_disks_become_ephemeral,
    disks_of_a_pool_grow_by_themselves,
    vm_made_after_disks_grew_has_their_size,
    zone_is_removed,
    zone_is_added,
)


@pytest.mark.parametrize("story", STORIES, ids=lambda s: s.__name__)
def test_a_story_is_told_as_recorded(story: Callable[[World], None]) -> None:
    assert_told_as_recorded(story)


def test_a_disk_that_grows_waits_for_no_window_and_stands_still_while_paused() -> None:
    world = World()
    _born(world)
    world.person(facts.ClusterPaused("lunch", None))
    world.declare(a_document(broker_gib=200))
    world.run(until=lambda w: w.sentence().startswith("paused"), ticks=30)
    assert not world.view().vms.volume_sizes
    world.person(facts.ClusterResumed("back"))
    world.converge(ticks=120)
    assert set(world.view().vms.volume_sizes.values()) == {200}


def test_a_broker_that_is_kept_empty_and_a_scale_down_in_its_rack_end_in_no_drain_without_a_place() -> None:
    """Seed 8021 of `troubled_roll(asking=True)` and its like: such a drain was begun, and never found a plan."""
    world = World()
    _born(world, brokers=6)
    ask_for_evacuation(world, "brokers-b-0.g1", "strange noises")
    world.converge(ticks=200)
    world.declare(a_document(brokers=4))
    world.run(until=lambda w: "NoRoom" in {c.reason for c in w.view().conditions.values()}, ticks=60)
    assert "rack b has only brokers that are kept empty" in world.sentence()
    assert "drain.requested" not in [r.type for r in world.history()][-5:]
    world.person(facts.EvacuationEnded(("brokers-b-0.g1",), "asked by anna: enough"))
    world.converge(ticks=300)
    assert len(world.view().brokers()) == 4


def test_nobody_is_evacuated_whose_share_only_those_could_take_who_are_about_to_leave() -> None:
    world = World()
    _born(world, brokers=6)
    world.declare(a_document(brokers=4))
    with pytest.raises(CommandRefused, match="2 would be left to hold it"):
        ask_for_evacuation(world, "brokers-b-0.g1", "strange noises")
    world.converge(ticks=300)
