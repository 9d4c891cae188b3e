"""The stories of changed heaps, told and compared as those of rolls are (`test_golden_rolls`)."""

from collections.abc import Callable

import pytest

from events import facts
from tests.builders import a_document, a_zookeeper_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.crashes import Crashes
from tests.sim.world import World


def _born(world: World, **spec: object) -> None:
    world.declare(a_document(heap=512, **spec))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def _running(world: World) -> dict[str, int]:
    """What runs: Java heap by instance, as its process was started."""
    return {k: vm.process.document.heap_mib for k, vm in sorted(world.machines.vms.items()) if vm.process}


def _starts(world: World) -> dict[str, int]:
    return {i.key: i.start.count for i in world.view().alive()}


def _of(world: World, pool: str) -> set[int]:
    return {heap for key, heap in _running(world).items() if key.startswith(pool)}


def heap_changed(world: World) -> None:
    """Brokers alone: the first is watched, the others follow rack by rack, and every VM stays."""
    _born(world)
    before = set(_running(world))
    world.declare(a_document(heap=1024))
    world.converge(ticks=200)
    assert set(_running(world)) == before
    assert (_of(world, "brokers"), _of(world, "controllers")) == ({1024}, {128})
    assert sorted(_starts(world).values()) == [1, 1, 1, 2, 2, 2]


def heaps_of_all_changed_with_a_setting(world: World) -> None:
    """One start of each brings the heap and the setting."""
    _born(world)
    world.declare(a_document(heap=1024, quorum_heap=256, config=", config: {num.partitions: 6}"))
    world.converge(ticks=200)
    assert (_of(world, "brokers"), _of(world, "controllers")) == ({1024}, {256})
    assert set(_starts(world).values()) == {2}
    assert {i.settings["num.partitions"] for i in world.view().alive()} == {"6"}


def heap_too_large_for_its_vm(world: World) -> None:
    """The first one does not come back: it gets the heap it had, and nobody else is touched until the next spec."""
    _born(world)
    world.machines.largest_heap_mib = 2048
    world.declare(a_document(heap=65536))
    world.run(until=lambda w: w.is_held(), ticks=300)
    for _ in range(30):
        world.tick()
    assert all(world.kafka.serves(b) for b in (1000, 1001, 1002))
    assert _of(world, "brokers") == {512}
    assert sorted(_starts(world).values()) == [1, 1, 1, 1, 1, 3]
    world.declare(a_document(heap=1024))
    world.converge(ticks=200)
    assert _of(world, "brokers") == {1024}


def heap_too_large_but_taken_back_meanwhile(world: World) -> None:
    """The restart in hand ends with the heap it had; the spec that came meanwhile begins with a canary of its own."""
    _born(world)
    world.machines.largest_heap_mib = 2048
    world.declare(a_document(heap=65536))
    world.run(until=lambda w: bool(w.view().settings.restarts), ticks=20)
    world.declare(a_document(heap=1024))
    world.converge(ticks=400)
    assert _of(world, "brokers") == {1024}
    assert sorted(_starts(world).values()) == [1, 1, 1, 2, 2, 4]


def heap_and_version_changed(world: World) -> None:
    """New VMs come with the heap: one roll, and nothing is started anew after it."""
    _born(world)
    world.declare(a_document(heap=1024, version="4.2.0"))
    world.converge(ticks=900)
    assert (_of(world, "brokers"), _of(world, "controllers")) == ({1024}, {128})
    assert set(_starts(world).values()) == {1}
    assert {i.planned.generation for i in world.view().alive()} == {2}


def heap_changed_and_taken_back(world: World) -> None:
    """Who has the new one gets the old one again; who was not reached is left alone."""
    _born(world)
    world.declare(a_document(heap=1024))
    world.run(until=lambda w: bool(w.view().settings.canaries), ticks=100)
    world.declare(a_document(heap=512))
    world.converge(ticks=200)
    assert _of(world, "brokers") == {512}
    assert sorted(_starts(world).values()) == [1, 1, 1, 1, 1, 3]


def version_changed_after_a_heap(world: World) -> None:
    """The next VMs of who was given another heap are born with it."""
    _born(world)
    world.declare(a_document(heap=1024))
    world.converge(ticks=200)
    world.declare(a_document(heap=1024, version="4.2.0"))
    world.converge(ticks=900)
    assert _of(world, "brokers") == {1024}
    assert set(_starts(world).values()) == {1}


def heap_of_an_ensemble_changed(world: World) -> None:
    """ZooKeeper servers, which know no Kafka settings, are started anew one by one as well."""
    world.declare(a_zookeeper_document())
    world.converge(ticks=200)
    before = set(_running(world))
    world.declare(a_zookeeper_document(quorum_heap=256))
    world.converge(ticks=200)
    assert set(_running(world)) == before
    assert (_of(world, "zookeepers"), _of(world, "brokers")) == ({256}, {256})
    assert {k: n for k, n in _starts(world).items() if k.startswith("zookeepers")} == {
        f"zookeepers-{rack}-0.g1": 2 for rack in "abc"
    }


SCENARIOS: tuple[Callable[[World], None], ...] = (
    heap_changed,
    heaps_of_all_changed_with_a_setting,
    heap_too_large_for_its_vm,
    heap_too_large_but_taken_back_meanwhile,
    heap_and_version_changed,
    heap_changed_and_taken_back,
    version_changed_after_a_heap,
    heap_of_an_ensemble_changed,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_the_story_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)


def _too_large(world: World) -> None:
    """As far as the old heap is back, and rest there."""
    _born(world, join_deadline="20s")
    world.machines.largest_heap_mib = 2048
    world.declare(a_document(heap=65536, join_deadline="20s"))
    world.run(until=lambda w: w.is_held(), ticks=100)
    assert _of(world, "brokers") == {512}


CRASHES = Crashes(_too_large)
FIRST = next(n for n, name in enumerate(CRASHES.points, start=1) if "restart." in name)


@pytest.mark.parametrize("point", range(FIRST, len(CRASHES.points) + 1), ids=CRASHES.id_of)
def test_a_heap_that_is_too_large_is_taken_back_though_the_server_dies_at(point: int) -> None:
    CRASHES.at(point)


def test_a_spec_that_names_the_heap_it_had_by_default_starts_nothing_anew() -> None:
    world = World()
    world.declare(a_document())
    world.converge(ticks=200)
    world.declare(a_document(heap=256, quorum_heap=128))
    world.converge(ticks=50)
    assert set(_starts(world).values()) == {1}
    assert {i.planned.generation for i in world.view().alive()} == {1}


def test_a_person_may_try_the_heap_again() -> None:
    world = World()
    _too_large(world)
    world.machines.largest_heap_mib = 0
    world.person(facts.ClusterResumed("the VM was resized"))
    world.converge(ticks=300)
    assert _of(world, "brokers") == {65536}
