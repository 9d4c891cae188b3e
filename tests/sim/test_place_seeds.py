"""Brokers move between two regions and back: the server dies at each point, and under seeded trouble. P1-P9 hold after
every step, the guard of each region's state lets nothing else through, and the region that was left is empty."""

from typing import Any

import pytest

from events import facts
from tests.builders import a_document
from tests.sim.crashes import Crashes
from tests.sim.faults import Trouble
from tests.sim.sweep import sweep
from tests.sim.world import World

HERE, THERE = "local/default/local-1", "local/default/local-2"


def brokers_move_and_back(world: World) -> None:
    """Three brokers go to the other region; by a change of the zones' names they come back; all is deleted."""
    world.declare(a_document())
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=6, rf=3, min_isr=2, bytes_per_partition=20_000_000)
    world.declare(a_document(brokers_in="local-2"))
    world.converge(ticks=900)
    assert not [t for t in world.machines.states[HERE] if "brokers" in t]
    world.declare(a_document(zones="d, e, f"))
    world.converge(ticks=900)
    assert world.machines.states[THERE] == set()
    assert world.machines.states.keys() == {HERE, THERE}


CRASHES = Crashes(brokers_move_and_back)


@pytest.mark.parametrize(
    "kind",
    [
        "after run surge",
        "after run retire",
        "before surge.requested",
        "after retire.requested",
        "after surge.completed",
    ],
)
def test_a_move_survives_a_crash(kind: str) -> None:
    CRASHES.at(CRASHES.last(kind))


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_move_survives_a_crash_at_every_single_point() -> None:
    CRASHES.at_every_single_point()


class Moving(Trouble):
    """All the usual trouble; and people change their minds about where brokers are to be, and a region falls silent."""

    def __init__(self, world: World, *, chance: float, **spec: Any) -> None:
        super().__init__(world, chance=chance, **spec)
        self._faults = (
            *self._faults,
            *((("brokers are to be elsewhere", self._elsewhere),) * 4),
            *((("a region falls silent", self._silence),) * 2),
            *((("all regions answer", self._speech),) * 3),
        )

    def _elsewhere(self) -> bool:
        if self._world.view().generation >= 8:
            return False
        self._spec = {**self._spec, "brokers_in": self._random.choice(("local-1", "local-2", "local-3"))}
        self._world.declare(a_document(**{**self._last, **self._spec}))
        return True

    def _silence(self) -> bool:
        self._world.machines.silent = {self._random.choice((HERE, THERE))}
        return True

    def _speech(self) -> bool:
        self._world.machines.silent = set()
        return True


def troubled_move(seed: int, *, steps: int = 250, chance: float = 0.08, **spec: Any) -> World:
    """Brokers move under seeded trouble; then quiet: it must converge, and no place but the last holds any broker."""
    world = World(seed=seed)
    world.declare(a_document(**spec))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    spec = {**spec, "brokers_in": "local-2"}
    world.declare(a_document(**spec))
    trouble = Moving(world, chance=chance, **spec)
    for _ in range(steps):
        trouble.step()
    trouble.stop()
    world.machines.silent = set()
    world.person(facts.ClusterResumed("the trouble is over"))
    world.converge(ticks=1500)
    document = world.view().document
    assert document is not None
    home = document.spec.pool("brokers").place.name
    left = {p: [t for t in state if "brokers" in t] for p, state in world.machines.states.items() if p != home}
    assert not any(left.values()), left
    return world


@pytest.mark.parametrize("seed", range(9300, 9302))
def test_it_converges_though_people_move_it_to_and_fro(seed: int) -> None:
    troubled_move(seed)


@pytest.mark.parametrize("seed", [9302, 9483])
def test_a_pool_that_keeps_its_disks_converges_too(seed: int) -> None:
    """In 9483 the newcomer dies beside the broker it was to replace: its own successor takes nothing from that one."""
    troubled_move(seed, chance=0.12, strategy="reattach", max_unavailable=1)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_after_much_more_trouble_with_places() -> None:
    def run(seed: int) -> object:
        more: dict[str, Any] = {"strategy": "reattach", "max_unavailable": 1} if seed % 3 == 0 else {}
        return troubled_move(seed, chance=0.12, **more)

    sweep("troubled_move, chance=0.12, seed", range(9400, 9520), run)
