"""The views of all clusters, in the order people read them."""

from tests.unit.controlplane.api.portal_house import House
from tests.unit.events.spec_texts import ORDERS


def names(house: House) -> list[str]:
    house.converger.catch_up()
    return [view.name for view in house.converger.views()]


def test_clusters_are_in_the_order_of_their_names_whenever_they_came() -> None:
    house = House()
    for name, then in (("orders", ["orders"]), ("audit", ["audit", "orders"]), ("zebra", ["audit", "orders", "zebra"])):
        house.apply(ORDERS.replace("name: orders", f"name: {name}"))
        assert names(house) == then


def test_what_was_recorded_of_a_cluster_is_in_the_next_list() -> None:
    house = House()
    house.apply()
    house.apply(ORDERS.replace("name: orders", "name: audit"))
    before = {view.name: view.version for view in house.converger.views()}
    house.client.post("/v1/clusters/orders/pause", json={"reason": "test"})
    names(house)
    after = {view.name: view.version for view in house.converger.views()}
    assert after["orders"] > before["orders"]
    assert after["audit"] == before["audit"]
