"""The server dies at each point of a network's life, once a run: it is made, grown, opened and removed all the same."""

from collections.abc import Callable

import pytest

from providers.networks import FirewallPorts
from tests.sim.networkworld import NetworkWorld

OFFICE = "192.168.8.0/24"


def life(world: NetworkWorld) -> None:
    """Two clusters in one network, one in another account's; zones, clients and a port come; one network goes."""
    world.declare("orders", zones=("a", "b"))
    world.declare("events", account="other")
    world.settle(12)
    world.declare("carts", zones=("c",), clients=(OFFICE,), port=9192)
    world.settle(25)
    world.delete("events")
    world.remove("default", account="other")
    world.settle(20)
    world.remove("default", account="other")
    world.declare("late", network="second")
    world.settle(60)
    world.judge_settled()


def moved(world: NetworkWorld) -> None:
    """A cluster moves to another network, each letting the other in meanwhile, and back again."""
    world.declare("orders")
    world.settle(12)
    for there in ("r2", "r1"):
        world.move("orders", region=there)
        world.settle(20)
        world.join("orders")
        world.settle(20)
        world.judge_settled()
        assert sorted(len(n.peers) for n in world.cloud.values()) == [1, 1]
        world.arrive("orders")
        world.settle(30)
        world.judge_settled()
        (left,) = world.cloud.values()
        assert left.peers == {}


def points(of: Callable[[NetworkWorld], None]) -> int:
    world = NetworkWorld()
    of(world)
    return world.points


def test_without_a_crash_everything_is_as_declared() -> None:
    world = NetworkWorld()
    life(world)
    assert [(n.name, n.place.account, str(n.cidr)) for n in world.view.existing()] == [
        ("default", "main", "10.64.0.0/20"),
        ("second", "main", "10.64.16.0/20"),
    ]
    default = world.view.existing()[0]
    assert (dict(default.zones), default.access.clients) == ({"a": 0, "b": 1, "c": 2}, (OFFICE,))
    assert default.access.ports == FirewallPorts((9092, 9192), (9093,))


@pytest.mark.parametrize("point", range(1, points(moved) + 1))
def test_a_crash_at_any_point_of_a_move_leaves_nobody_let_in_or_shut_out(point: int) -> None:
    world = NetworkWorld(crash_at=point)
    try:
        moved(world)
    except AssertionError as error:
        raise AssertionError("\n".join([str(error), *world.story])) from error


@pytest.mark.parametrize("point", range(1, points(life) + 1))
def test_a_crash_at_any_point_leaves_no_twin_and_nothing_half_done(point: int) -> None:
    world = NetworkWorld(crash_at=point)
    try:
        life(world)
    except AssertionError as error:
        raise AssertionError("\n".join([str(error), *world.story])) from error
    assert len(world.cloud) == 2
