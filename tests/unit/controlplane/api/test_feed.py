"""Waiting for a cluster to change: whom news wake, and whom a ring."""

import asyncio

import pytest

from controlplane.api.feed import Feed
from events.ids import ClusterUid
from tests.unit.controlplane.api.portal_house import House


@pytest.fixture
def house() -> House:
    house = House()
    house.apply()
    return house


def waited(house: House, *rung: str, timeout_s: float) -> bool:
    """Whether somebody who waits for news of `orders`, of which there are none, is woken by what rings."""
    view = house.view()

    async def waiting() -> bool:
        feed = Feed(house.converger, look_every_s=0.001)
        waits = asyncio.create_task(feed.wait(view.uid, view.version, timeout_s))
        await asyncio.sleep(0)
        for uid in rung:
            feed.ring(uid)
        return await waits

    return asyncio.run(waiting())


def test_a_ring_wakes_who_waits_for_that_cluster_though_nothing_was_recorded(house: House) -> None:
    assert waited(house, house.view().uid, timeout_s=20)


def test_a_ring_for_another_cluster_wakes_nobody(house: House) -> None:
    assert not waited(house, ClusterUid("ab" * 16), timeout_s=0.05)


def test_rings_that_nobody_hears_are_no_more_than_there_are_clusters(house: House) -> None:
    feed = Feed(house.converger)
    for _ in range(3):
        feed.ring(house.view().uid)
    assert feed._rung == {house.view().uid}
