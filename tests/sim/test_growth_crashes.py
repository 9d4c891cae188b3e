"""The server dies before and after everything that makes a disk larger: the next one goes on, nothing grows twice."""

import pytest

from tests.builders import a_document
from tests.sim.crashes import Crashes
from tests.sim.world import World


def _grown(world: World) -> None:
    world.declare(a_document())
    world.converge(ticks=200)
    world.declare(a_document(broker_gib=200, quorum_gib=2))
    world.converge(ticks=400)
    sizes = sorted(v.size_gib for v in world.machines.volumes.values())
    assert sizes == [2, 2, 2, 200, 200, 200]
    assert len([r for r in world.history() if r.type == "growth.completed"]) == 6
    assert {i.start.count for i in world.view().alive()} == {1}


CRASHES = Crashes(_grown)
GROWTH = [n for n, name in enumerate(CRASHES.points, start=1) if "growth." in name or "run grow" in name]


def test_each_of_six_disks_is_asked_for_run_and_recorded() -> None:
    assert len(GROWTH) == 6 * 2 * 3


@pytest.mark.parametrize("point", [*GROWTH[:6], *GROWTH[-6:]], ids=CRASHES.id_of)
def test_it_survives_a_crash_at(point: int) -> None:
    CRASHES.at(point)


def _grown_by_itself(world: World) -> None:
    spec = {"disks": ", grow: {above: 80, to: 500}"}
    world.declare(a_document(**spec))
    world.converge(ticks=200)
    world.kafka.on_disk.taken[1001] = int(0.9 * world.kafka.snapshot().log_dirs[1001].total_bytes)
    world.disturbed()
    world.run(until=lambda w: bool(w.view().vms.grown_pools), ticks=200)
    world.converge(ticks=400)
    assert sorted(v.size_gib for v in world.machines.volumes.values()) == [1, 1, 1, 140, 140, 140]
    assert len([r for r in world.history() if r.type == "growth.decided"]) == 1
    assert len([r for r in world.history() if r.type == "growth.completed"]) == 3
    assert {i.start.count for i in world.view().alive()} == {1}


BY_ITSELF = Crashes(_grown_by_itself)
DECIDED = [n for n, name in enumerate(BY_ITSELF.points, start=1) if "growth." in name or "run grow" in name]


@pytest.mark.parametrize("point", DECIDED, ids=BY_ITSELF.id_of)
def test_disks_that_grow_by_themselves_are_decided_on_once_though_it_crashes_at(point: int) -> None:
    BY_ITSELF.at(point)
