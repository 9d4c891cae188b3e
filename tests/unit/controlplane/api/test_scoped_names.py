"""Names of clusters that somebody may not read are taken out of what is said to them, and nothing else is."""

from dataclasses import replace

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Role
from controlplane.api.scoped.services import ScopedFleet
from tests.unit.controlplane.api.portal_house import House
from tests.unit.events.spec_texts import ORDERS

NAMES = ("orders", "orders-eu", "eu", "audit")


@pytest.fixture
def house() -> House:
    house = House()
    for name in NAMES:
        house.apply(ORDERS.replace("name: orders", f"name: {name}"))
    house.converger.catch_up()
    return house


def seen(house: House, name: str = "audit") -> ScopedFleet:
    """By somebody who may read that cluster alone."""
    return ScopedFleet(house.converger, Rights("user:ada", (Binding("user:ada", Role.VIEWER, f"cluster:{name}"),)))


def test_who_may_read_one_cluster_sees_one(house: House) -> None:
    assert [view.name for view in seen(house).views()] == ["audit"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("waits for orders", "waits for another cluster"),
        ("orders, orders-eu and audit roll", "another cluster, another cluster and audit roll"),
        ("(orders-eu)", "(another cluster)"),
        ("orders.example.com", "another cluster.example.com"),
        ("reorders orders_2 orders-us my-orders", "reorders orders_2 orders-us my-orders"),
        ("Orders EU", "Orders EU"),
        ("", ""),
    ],
)
def test_a_name_is_taken_out_where_it_is_a_word_and_as_a_whole(house: House, said: str, told: str) -> None:
    assert seen(house).without_others(said) == told


def test_a_cluster_that_comes_later_is_hidden_as_well(house: House) -> None:
    fleet = seen(house)
    assert fleet.without_others("billing rolls") == "billing rolls"
    house.apply(ORDERS.replace("name: orders", "name: billing"))
    house.converger.catch_up()
    assert fleet.without_others("billing rolls") == "another cluster rolls"


def test_who_may_read_all_hears_all(house: House) -> None:
    everything = Rights("user:ada", (replace(seen(house).rights.bindings[0], scope="*"),))
    assert ScopedFleet(house.converger, everything).without_others("orders and eu") == "orders and eu"
