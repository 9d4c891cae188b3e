"""Clusters whose ZooKeeper servers share the VMs of one pool, with brokers of another pool beside them, or that leave
for a pool of their own, under crashes and seeded trouble: the same properties after every step, and one more, that no
server leaves while brokers would know too few of those that stay."""

from typing import Any

import pytest

from tests.builders import a_cohosted_document, a_zookeeper_document
from tests.sim.crashes import Crashes
from tests.sim.faults import Trouble
from tests.sim.stories import COHOSTED, IN_ZOOKEEPER_MODE, troubled_roll
from tests.sim.sweep import sweep
from tests.sim.world import World


def _rolled(world: World) -> None:
    """Every VM with a server is replaced, and those elsewhere are told; converged and quiet after it."""
    _born(world, others=3)
    world.declare(a_cohosted_document(others=3, machine="medium"))
    world.converge(ticks=900)


def _moved_out(world: World) -> None:
    """The servers leave for a pool of their own; converged and quiet after it."""
    _born(world)
    world.declare(a_zookeeper_document())
    world.converge(ticks=600)


ROLLED, MOVED_OUT = Crashes(_rolled, version="3.8.1"), Crashes(_moved_out, version="3.8.1")


@pytest.mark.parametrize("seeds", [range(7602, 7603), pytest.param(range(7603, 7640), marks=pytest.mark.soak)])
@pytest.mark.timeout(3600)
def test_servers_beside_brokers_leave_them_whatever_happens_meanwhile(seeds: range) -> None:
    sweep("servers leave brokers' VMs, seed", seeds, _troubled_move)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_shared_ensemble_and_another_pool_converge_after_seeded_trouble() -> None:
    sweep("shared ensemble, seed", range(7500, 7540), _troubled)


def test_it_survives_a_crash_before_the_first_server_beside_a_broker_leaves() -> None:
    MOVED_OUT.at(next(n for n, name in enumerate(MOVED_OUT.points, start=1) if "voter.remove_requested" in name))


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("crashes", [ROLLED, MOVED_OUT], ids=["rolled", "moved out"])
def test_it_survives_a_crash_at_every_single_point(crashes: Crashes) -> None:
    crashes.at_every_single_point()


def _born(world: World, **spec: Any) -> None:
    world.declare(a_cohosted_document(**spec))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=6, rf=3, min_isr=2, bytes_per_partition=20_000_000)


def _troubled(seed: int) -> None:
    _all_know_a_majority(troubled_roll(seed, born_as="3.8.1", becomes="3.9.1", sharing=True, others=3, **COHOSTED))


def _troubled_move(seed: int) -> None:
    """Every third one with another pool of brokers beside; every fourth rolls in the same spec, to be handed over."""
    world, others = World(seed=seed, version="3.8.1"), 0 if seed % 3 else 3
    _born(world, others=others)
    rolls = {} if seed % 4 else {"strategy": "reattach", "max_unavailable": 1, "machine": "medium"}
    world.declare(a_zookeeper_document(others=others, **rolls))
    spec = {**IN_ZOOKEEPER_MODE, "version": "3.8.1", "brokers": 3, "others": others, **rolls}
    Trouble(world, sharing=True, **spec).lasts(300)  # type: ignore[arg-type]
    world.converge(ticks=1500)
    view = world.view()
    assert not [i.service_key for i in view.controllers() if i.hosted]
    assert not [vm.key for vm in world.machines.vms.values() if vm.member and vm.member.up]
    _all_know_a_majority(world)


def _all_know_a_majority(world: World) -> None:
    view = world.view()
    servers = {i.service_id: i.planned.volumes[0].directory_id for i in view.controllers()}
    assert world.kafka.voters() == servers
    assert all(
        i.start.listed is not None and len(i.start.listed & servers.keys()) > len(servers) // 2 for i in view.brokers()
    )
