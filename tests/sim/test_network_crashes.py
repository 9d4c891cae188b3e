"""The server dies at each point of a network's life, once a run: it is made, grown, opened and removed all the same."""

import pytest

from providers.networks import Ports
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


def points() -> int:
    world = NetworkWorld()
    life(world)
    return world.points


POINTS = points()


def test_without_a_crash_everything_is_as_declared() -> None:
    world = NetworkWorld()
    life(world)
    assert [(n.name, n.place.account, str(n.cidr)) for n in world.view.standing()] == [
        ("default", "main", "10.64.0.0/20"),
        ("second", "main", "10.64.16.0/20"),
    ]
    default = world.view.standing()[0]
    assert (dict(default.zones), default.clients) == ({"a": 0, "b": 1, "c": 2}, (OFFICE,))
    assert default.ports == Ports((9092, 9192), (9093,))


@pytest.mark.parametrize("point", range(1, POINTS + 1))
def test_a_crash_at_any_point_leaves_no_twin_and_nothing_half_done(point: int) -> None:
    world = NetworkWorld(crash_at=point)
    try:
        life(world)
    except AssertionError as error:
        raise AssertionError("\n".join([str(error), *world.story])) from error
    assert len(world.cloud) == 2
