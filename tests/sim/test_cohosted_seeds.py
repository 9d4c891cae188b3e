"""Clusters whose ZooKeeper servers share the VMs of their brokers, under crashes and seeded trouble: the same
properties after every step, and one more, that no VM goes while the server on it votes."""

import pytest

from tests.sim.crashes import Crashes
from tests.sim.stories import COHOSTED, life_of_a_cohosted_ensemble, troubled_roll
from tests.sim.sweep import sweep

CRASHES = Crashes(life_of_a_cohosted_ensemble, version="3.8.1")


@pytest.mark.parametrize("seed", range(7400, 7401))
def test_a_cohosted_cluster_converges_after_seeded_trouble(seed: int) -> None:
    _troubled(seed)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_cohosted_clusters_converge_after_seeded_trouble() -> None:
    sweep("cohosted, seed", range(7410, 7440), _troubled)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_cohosted_cluster_survives_a_crash_at_every_single_point() -> None:
    CRASHES.at_every_single_point()


def _troubled(seed: int) -> None:
    world = troubled_roll(seed, born_as="3.8.1", becomes="3.9.1", sharing=True, **COHOSTED)
    view = world.view()
    assert {world.machines.protocols[i.service_id] for i in view.brokers()} == {"3.9"}
    assert world.kafka.voters() == {i.service_id: i.planned.volumes[0].directory_id for i in view.controllers()}
