"""One name in two accounts: a second spec of a living cluster's name moves that cluster, and never makes another one.

What the clouds hold of two clusters of one name is told apart by the cluster's uid: the contract suite shows it.
"""

from controlplane.cluster.places import place_of, places_of
from events import facts
from tests.unit.controlplane.api.portal_house import House, broker
from tests.unit.events.spec_texts import ORDERS

RED, BLUE = (ORDERS.replace("{cloud: local", f"{{cloud: local, account: {name}") for name in ("red", "blue"))


def test_a_spec_of_the_same_name_in_another_account_is_a_move_of_that_cluster() -> None:
    house = House()
    (born,) = house.apply(RED)["applied"]
    before = house.join(broker())
    (plan,) = house.client.post("/v1/plan", json={"text": BLUE}).json()["plans"]
    assert [(c["path"], c["old"], c["new"]) for c in plan["changes"]] == [
        (f"spec.pools[{pool}].place.account", "red", "blue") for pool in ("controllers", "brokers")
    ]
    (moved,) = house.apply(BLUE)["applied"]
    assert (moved["uid"], moved["created"]) == (born["uid"], False)
    assert [c["uid"] for c in house.client.get("/v1/clusters").json()] == [born["uid"]]

    # What stands in the first account is still looked for there, and has a state and runs of its own.
    view = house.view()
    assert place_of(view, view.instances["brokers-a-0.g1"]) == place_of(before, before.instances["brokers-a-0.g1"])
    assert [str(place) for place in places_of(view)] == ["local/blue/local-1", "local/red/local-1"]


def test_a_name_that_is_free_again_is_another_cluster_in_another_account() -> None:
    house = House()
    (first,) = house.apply(RED)["applied"]
    gone = house.client.post("/v1/clusters/orders/delete", json={"confirm": "orders"})
    assert gone.status_code == 200, gone.text
    house.record(facts.ClusterDeleted(retained=True))
    (second,) = house.apply(BLUE)["applied"]
    assert second["created"]
    assert second["uid"] != first["uid"]
    assert [str(place) for place in places_of(house.view())] == ["local/blue/local-1"]
