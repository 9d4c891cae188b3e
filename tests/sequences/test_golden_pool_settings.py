"""The stories of settings that a pool has for itself, told and compared as those of rolls are (`test_golden_rolls`)."""

from collections.abc import Callable, Mapping

import pytest

from controlplane.cluster.views.running_settings import SettingStage
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.crashes import Crashes
from tests.sim.world import World


def _born(world: World, **spec: object) -> None:
    world.declare(a_document(**{"others": 3, **spec}))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def _runs(world: World, name: str) -> Mapping[str, set[str | None]]:
    """What brokers run with, by pool."""
    seen = world.kafka.running_settings(frozenset({name})).brokers
    found: dict[str, set[str | None]] = {}
    for broker in world.view().brokers():
        found.setdefault(broker.planned.pool, set()).add(seen[broker.service_id][name].value)
    return found


def _told(world: World, name: str) -> Mapping[str, set[str | None]]:
    """What services are started with, by pool."""
    found: dict[str, set[str | None]] = {}
    for instance in world.view().alive():
        found.setdefault(instance.planned.pool, set()).add(instance.settings.get(name))
    return found


def _starts(world: World) -> Mapping[str, set[int]]:
    found: dict[str, set[int]] = {}
    for instance in world.view().alive():
        found.setdefault(instance.planned.pool, set()).add(instance.start.count)
    return found


def pool_settings_live_and_by_restart(world: World) -> None:
    """The live one is set on each broker of the pool as its own, one first; the other restarts that pool alone."""
    _born(world)
    world.declare(a_document(others=3, pool_config="num.io.threads: 16, queued.max.requests: 700"))
    world.converge(ticks=300)
    assert _runs(world, "num.io.threads") == {"brokers": {"16"}, "others": {"8"}}
    assert _told(world, "num.io.threads") == {"brokers": {"16"}, "others": {None}, "controllers": {None}}
    assert _told(world, "queued.max.requests") == {"brokers": {"700"}, "others": {None}, "controllers": {None}}
    assert _starts(world) == {"brokers": {2}, "others": {1}, "controllers": {1}}
    assert "num.io.threads" not in world.kafka.settings.defaults


def pool_setting_beside_one_of_the_cluster(world: World) -> None:
    """Another value for the cluster leaves the pool with its own, which each of its brokers holds first."""
    _born(world, config=", config: {num.io.threads: 8}", pool_config="num.io.threads: 16")
    world.declare(a_document(others=3, config=", config: {num.io.threads: 4}", pool_config="num.io.threads: 16"))
    world.converge(ticks=100)
    assert _runs(world, "num.io.threads") == {"brokers": {"16"}, "others": {"4"}}
    assert _told(world, "num.io.threads") == {"brokers": {"16"}, "others": {"4"}, "controllers": {"4"}}
    assert set(_starts(world)["brokers"]) == {1}


def pool_setting_leaves_the_spec(world: World) -> None:
    """The brokers of the pool go back to what holds for the cluster, and have nothing of their own left."""
    _born(world, config=", config: {num.io.threads: 8}", pool_config="num.io.threads: 16")
    world.declare(a_document(others=3, config=", config: {num.io.threads: 8}"))
    world.converge(ticks=100)
    assert _runs(world, "num.io.threads") == {"brokers": {"8"}, "others": {"8"}}
    assert _told(world, "num.io.threads") == {"brokers": {"8"}, "others": {"8"}, "controllers": {"8"}}
    assert not any(world.kafka.settings.own.values())


def pool_setting_changed_by_hand(world: World) -> None:
    """It is put right on the brokers of the pool, as their own; the others are none of its business."""
    _born(world, pool_config="num.io.threads: 16")
    world.kafka.settings.by_hand(1000, "num.io.threads", "10")
    world.run(until=lambda w: _runs(w, "num.io.threads")["brokers"] == {"16"}, ticks=200)
    world.converge(ticks=50)
    assert _runs(world, "num.io.threads") == {"brokers": {"16"}, "others": {"8"}}


def pool_setting_that_fells_its_first_broker(world: World) -> None:
    """It gets back what it held before; no other broker ever had anything else."""
    _born(world, pool_config="num.io.threads: 10")
    world.declare(a_document(others=3, pool_config="num.io.threads: 16"))
    world.converge(ticks=100)
    world.declare(a_document(others=3, pool_config="num.io.threads: 20", soak="60s"))
    world.run(until=_is_watched, ticks=60)
    world.machines.vms["brokers-a-0.g1"].deaf = True
    world.machines.stop_process("brokers-a-0.g1")
    world.run(until=lambda w: "settings.revert_requested" in {r.type for r in w.history()}, ticks=60)
    world.machines.vms["brokers-a-0.g1"].deaf = False
    world.run(until=lambda w: w.is_held(), ticks=100)
    for _ in range(10):
        world.tick()
    assert _runs(world, "num.io.threads") == {"brokers": {"16"}, "others": {"8"}}
    assert _told(world, "num.io.threads")["brokers"] == {"16"}
    world.declare(a_document(others=3, pool_config="num.io.threads: 18"))
    world.converge(ticks=100)
    assert _runs(world, "num.io.threads")["brokers"] == {"18"}


def _is_watched(world: World) -> bool:
    change = world.view().settings.change
    return change is not None and change.stage is SettingStage.WATCH


SCENARIOS: tuple[Callable[[World], None], ...] = (
    pool_settings_live_and_by_restart,
    pool_setting_beside_one_of_the_cluster,
    pool_setting_leaves_the_spec,
    pool_setting_changed_by_hand,
    pool_setting_that_fells_its_first_broker,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_the_story_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)


def test_a_new_vm_of_a_pool_is_born_with_what_its_pool_says() -> None:
    world = World()
    _born(world, pool_config="num.io.threads: 16")
    world.declare(a_document(others=3, pool_config="num.io.threads: 16", version="4.2.0"))
    world.converge(ticks=1500)
    assert _told(world, "num.io.threads") == {"brokers": {"16"}, "others": {None}, "controllers": {None}}
    assert _runs(world, "num.io.threads") == {"brokers": {"16"}, "others": {"8"}}
    assert set().union(*_starts(world).values()) == {1}


def _live(world: World) -> None:
    _born(world)
    world.declare(a_document(others=3, pool_config="num.io.threads: 16"))
    world.converge(ticks=300)
    assert _runs(world, "num.io.threads") == {"brokers": {"16"}, "others": {"8"}}


CRASHES = Crashes(_live)
FIRST = next(n for n, name in enumerate(CRASHES.points, start=1) if "settings." in name)


@pytest.mark.parametrize("point", range(FIRST, len(CRASHES.points) + 1), ids=CRASHES.id_of)
def test_a_pool_gets_its_value_though_the_server_dies_at(point: int) -> None:
    CRASHES.at(point)
