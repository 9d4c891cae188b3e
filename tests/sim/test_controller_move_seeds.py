"""Controllers move between two regions, or to other zones, and back: the server dies at each point, and under seeded
trouble. P1-P9 hold after every step, among them: one change of the voters at a time and none that costs the majority
(`World` judges each vote), and never two processes of one controller id (`Machines` refuses them)."""

from typing import Any

import pytest

from controlplane.converger.questions.quorum.seats import size_to_bring_back
from providers.handover import Handover
from tests.builders import a_document
from tests.sim.crashes import Crashes
from tests.sim.faults import Trouble
from tests.sim.stories import remembers_controllers
from tests.sim.sweep import sweep
from tests.sim.world import World

HERE, THERE = "local/default/local-1", "local/default/local-2"


def quorum_in(region: str, zones: str = "a, b, c") -> str:
    return f"cloud: local, region: {region}, zones: [{zones}]"


def controllers_move_and_back(world: World) -> None:
    """Three controllers go to the other region; to other zones, under their ids, they come back; an upgrade goes
    through, so nobody is remembered with an old version; all is deleted."""
    world.declare(a_document())
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=6, rf=3, min_isr=2, bytes_per_partition=20_000_000)
    world.declare(a_document(quorum_place=quorum_in("local-2")))
    world.converge(ticks=900)
    assert not [t for t in world.machines.states[HERE] if "controllers" in t]
    world.declare(a_document(quorum_place=quorum_in("local-1", "d, e, f")))
    world.converge(ticks=900)
    assert world.machines.states[THERE] == set()
    assert set(world.kafka.voters()) == {100, 101, 102}


CRASHES = Crashes(controllers_move_and_back)


@pytest.mark.parametrize(
    "kind",
    ["after run surge", "after voter.removed", "after instance.fenced"],
)
def test_a_move_of_controllers_survives_a_crash(kind: str) -> None:
    CRASHES.at(CRASHES.last(kind))


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_move_of_controllers_survives_a_crash_at_every_single_point() -> None:
    CRASHES.at_every_single_point()


class Moving(Trouble):
    """All the usual trouble; and people change their minds about where controllers are to be."""

    def __init__(self, world: World, *, chance: float, **spec: Any) -> None:
        super().__init__(world, chance=chance, **spec)
        self._faults = (*self._faults, *((("controllers are to be elsewhere", self._elsewhere),) * 4))

    def _elsewhere(self) -> bool:
        if self._world.view().generation >= 8:
            return False
        region = self._random.choice(("local-1", "local-2"))
        zones = self._random.choice(("a, b, c", "a, b, c", "d, e, f"))
        self._spec = {**self._spec, "quorum_place": quorum_in(region, zones)}
        self._world.declare(a_document(**{**self._last, **self._spec}))
        return True


def troubled_move(
    seed: int, *, steps: int = 250, chance: float = 0.08, handover: Handover = Handover.REBIND, **spec: Any
) -> World:
    """Controllers move under seeded trouble; then quiet: it must converge, with all ids voting and none elsewhere."""
    world = World(seed=seed)
    world.machines.handover = handover
    world.declare(a_document(**spec))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    spec = {**spec, "quorum_place": quorum_in("local-2")}
    world.declare(a_document(**spec))
    trouble = Moving(world, chance=chance, **spec)
    trouble.lasts(steps)
    world.run(until=lambda w: w.is_converged() or remembers_controllers(w), ticks=1500)
    if remembers_controllers(world):
        trouble.bring_back(size_to_bring_back(world.view()))
    world.converge(ticks=1500)
    document = world.view().document
    assert document is not None
    pool = document.spec.controller_pool
    left = {
        p: [t for t in state if "controllers" in t]
        for p, state in world.machines.states.items()
        if p != pool.place.name
    }
    assert not any(left.values()), left
    assert len(world.kafka.voters()) == pool.size
    return world


@pytest.mark.parametrize("seed", [9801])
def test_it_converges_though_people_move_controllers_to_and_fro(seed: int) -> None:
    troubled_move(seed)


def test_it_converges_where_addresses_stay_with_their_vms() -> None:
    troubled_move(9803, handover=Handover.NONE)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_after_much_more_trouble_with_controllers() -> None:
    ways = (Handover.REBIND, Handover.NONE, Handover.DELETE_FIRST)

    def run(seed: int) -> object:
        return troubled_move(seed, chance=0.12, handover=ways[seed % 3])

    sweep("troubled_move of controllers, chance=0.12, seed", range(9900, 9999), run)
