"""Clusters in ZooKeeper mode under crashes and seeded trouble: the same properties after every step, and one more, that
no broker starts without the cluster's id in ZooKeeper, or with a protocol that another one does not understand."""

import pytest

from tests.sim.crashes import Crashes
from tests.sim.stories import IN_ZOOKEEPER_MODE, life_of_an_ensemble, troubled_roll
from tests.sim.sweep import sweep

NEW_KINDS = ("ensemble.", "protocol.raised", "fix_cluster_id", "take_restart_lock")


CRASHES = Crashes(life_of_an_ensemble, version="3.8.1")


def _first_of_what_is_new() -> list[int]:
    kinds = {p for p in CRASHES.points if any(kind in p for kind in NEW_KINDS)}
    return sorted(CRASHES.points.index(name) + 1 for name in kinds)


@pytest.mark.parametrize("point", _first_of_what_is_new(), ids=CRASHES.id_of)
def test_an_ensemble_survives_a_crash_at(point: int) -> None:
    CRASHES.at(point)


def test_what_is_new_is_among_the_crashes() -> None:
    told = " ".join(CRASHES.points)
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
    CRASHES.at_every_single_point()


def _troubled(seed: int) -> None:
    world = troubled_roll(seed, born_as="3.8.1", becomes="3.9.1", **IN_ZOOKEEPER_MODE)
    brokers = {i.service_id for i in world.view().brokers()}
    assert {world.machines.protocols[b] for b in brokers} == {"3.9"}
