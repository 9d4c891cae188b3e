"""A cluster that others made, in the portal and by the API: shown as run by others, and no page stumbles over it."""

from dataclasses import replace
from functools import cache

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from events import facts
from planner.observed import FeatureSeen, QuorumSeen, VoterSeen
from tests.builders import a_partition, a_snapshot
from tests.external_clusters import CLUSTER_ID, an_external_spec
from tests.unit.controlplane.api.portal_house import START, House

OWNER = Binding("", Role.OWNER, "*")
_VOTER = facts.FoundingVoter("external-9", 9, "theirs.example", 9093, "")
_FOUND = tuple(facts.ExternalBrokerFound(b, "abc"[b - 1], f"theirs-{b}.example", 9092) for b in (1, 2, 3))


def imported() -> House:
    """Broker 1 is emptied, broker 2 is to be, broker 3 stays; no pool has a VM yet."""
    house = House()
    house.apply(an_external_spec())
    house.record(facts.ClusterImported(CLUSTER_ID, "4.1", (_VOTER,), _FOUND, 1000))
    house.apply(an_external_spec(ours=3, theirs=(3,)))
    house.record(facts.ExternalDrained("", (1,), 0, 0))
    house.snapshots[house.view().uid] = a_snapshot(
        a_partition("orders-0", (2, 3)),
        brokers=(1, 2, 3),
        cluster_id=CLUSTER_ID,
        quorum=QuorumSeen(9, 1, (VoterSeen(9, "d", 0, True),)),
        at=START,
    )
    return house


@cache
def shared_house() -> House:
    return imported()


PAGES = (
    "",
    "/brokers",
    "/brokers.csv",
    "/topics",
    "/topics/orders",
    "/matrix",
    "/moves",
    "/rollout",
    "/history",
    "/diff",
    "/groups",
    "/anomalies",
    "/change",
)


@pytest.mark.parametrize("page", PAGES)
def test_no_page_of_such_a_cluster_stumbles(page: str) -> None:
    answer = shared_house().browser(f"reader{PAGES.index(page)}", OWNER).get(f"/clusters/orders{page}")
    assert answer.status_code in (200, 303), (page, answer.status_code, answer.text[:400])


def test_brokers_of_others_are_listed_without_an_instance() -> None:
    house = imported()
    text = house.browser("ada", OWNER).get("/clusters/orders/brokers").text
    assert text.count("run by others") == 3
    assert "empty: stop it yourself" in text
    assert "to be emptied" in text
    assert "/clusters/orders/brokers/1" not in text
    assert house.browser("bob", OWNER).get("/clusters/orders/brokers/1").status_code == 404


def test_the_api_tells_how_each_of_them_stands_and_where_clients_go() -> None:
    house = imported()
    detail = house.client.get("/v1/clusters/orders").json()
    assert [(b["id"], b["address"], b["state"]) for b in detail["externals"]] == [
        (1, "theirs-1.example:9092", "empty: stop it yourself"),
        (2, "theirs-2.example:9092", "to be emptied"),
        (3, "theirs-3.example:9092", "serves"),
    ]
    assert detail["instances"] == []
    assert house.client.get("/v1/clusters/orders/endpoints").json()["bootstrap"] == ["theirs-3.example:9092"]


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("replace", {"broker": 1}),
        ("evacuate", {"brokers": [1]}),
        ("rebalance", {}),
    ],
)
def test_what_is_asked_of_a_broker_of_others_is_refused_with_the_way_to_do_it(verb: str, body: object) -> None:
    answer = imported().client.post(f"/v1/clusters/orders/{verb}", json=body)
    assert answer.status_code in (409, 422), answer.text
    assert answer.json()["code"] == "external"
    assert "spec.external.brokers" in answer.json()["next"]


def test_a_plan_says_what_is_emptied_and_who_stops_it() -> None:
    house = imported()
    text = an_external_spec(ours=3, theirs=())
    (plan,) = house.client.post("/v1/plan", json={"text": text, "file": "orders.yaml"}).json()["plans"]
    assert len(plan["moves"]) == 1
    assert plan["moves"][0].startswith("external brokers 2, 3: emptied onto the pools, about 2.0 KiB copied")
    assert "not by Kedge" in plan["moves"][0]


def test_a_plan_of_an_import_makes_nothing() -> None:
    house = House()
    (plan,) = house.client.post("/v1/plan", json={"text": an_external_spec(), "file": "orders.yaml"}).json()["plans"]
    assert plan["phases"] == []
    assert plan["moves"] == ["imported: 3 brokers and 1 voters that others run are watched, and never touched"]


@pytest.mark.parametrize("level", [0, 1])
def test_the_api_tells_whether_their_quorum_is_static(level: int) -> None:
    house = imported()
    seen = house.snapshots[house.view().uid]
    house.snapshots[house.view().uid] = replace(seen, features={"kraft.version": FeatureSeen(level, 0, 1)})
    detail = house.client.get("/v1/clusters/orders").json()
    assert detail["quorum"]["static"] is (level == 0)
