"""Clusters in ZooKeeper mode under crashes and seeded trouble: the same properties after every step, and one more, that
no broker starts without the cluster's id in ZooKeeper, or with a protocol that another one does not understand."""

import pytest

from tests.sim.stories import IN_ZOOKEEPER_MODE, life_of_an_ensemble, troubled_roll
from tests.sim.sweep import sweep
from tests.sim.world import World

NEW_KINDS = ("ensemble.", "protocol.raised", "fix_cluster_id", "take_restart_lock")


def _points() -> list[str]:
    world = World(version="3.8.1")
    life_of_an_ensemble(world)
    return world.points.names


POINTS = _points()


def _first_of_what_is_new() -> list[int]:
    kinds = {p for p in POINTS if any(kind in p for kind in NEW_KINDS)}
    return sorted(POINTS.index(name) + 1 for name in kinds)


@pytest.mark.parametrize("point", _first_of_what_is_new(), ids=lambda n: f"{n}-{POINTS[n - 1].replace(' ', '-')}")
def test_an_ensemble_survives_a_crash_at(point: int) -> None:
    world = World(seed=point, crash_at=point, version="3.8.1")
    life_of_an_ensemble(world)
    assert world.crashes == [POINTS[point - 1]]


def test_what_is_new_is_among_the_crashes() -> None:
    told = " ".join(POINTS)
    assert all(kind in told for kind in NEW_KINDS)


@pytest.mark.parametrize("seed", range(7000, 7002))
def test_a_zookeeper_cluster_converges_after_seeded_trouble(seed: int) -> None:
    _troubled(seed)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_zookeeper_clusters_converge_after_seeded_trouble() -> None:
    sweep("zookeeper, seed", range(7100, 7300), lambda seed: _troubled(seed))


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_an_ensemble_survives_a_crash_at_every_single_point() -> None:
    def run(point: int) -> None:
        world = World(seed=point, crash_at=point, version="3.8.1")
        life_of_an_ensemble(world)
        assert world.crashes, f"failpoint {point} ({POINTS[point - 1]}) was not reached"

    sweep("life_of_an_ensemble, crash at failpoint", range(1, len(POINTS) + 1), run)


def _troubled(seed: int) -> None:
    world = troubled_roll(seed, born_as="3.8.1", becomes="3.9.1", **IN_ZOOKEEPER_MODE)
    brokers = {i.service_id for i in world.view().brokers()}
    assert {world.machines.protocols[b] for b in brokers} == {"3.9"}
