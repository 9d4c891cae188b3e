"""Every list of `/v1` comes in pages: the table of routes says which calls are lists, and which tell of one thing."""

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.api_document import api_document
from controlplane.api.paging import MOST_ON_A_PAGE
from controlplane.background.agent_upgrades.service import AgentReleaseStatus, ClusterAgents
from controlplane.background.anomalies.fold import read_anomalies
from controlplane.background.anomalies.record import keep_noted
from controlplane.fleet.freezes.commands import FreezeService
from controlplane.fleet.freezes.state import FreezeCache
from controlplane.portal.app import create_app
from controlplane.storage.streams import FREEZES, anomalies_stream
from events import facts
from events.codec import encode
from events.envelope import Origin
from planner.rollout.windows import Freeze
from tests.builders import a_partition, a_snapshot
from tests.fakes.services import NoAgents
from tests.unit.controlplane.api.api_routes import API_ROUTES, address
from tests.unit.controlplane.api.portal_house import START, House
from tests.unit.controlplane.api.test_proposals import token_of
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_topics
from tests.unit.events.spec_texts import ORDERS

_CLUSTER = "/v1/clusters/{name}"
_NODES = "the nodes of one cluster"
_NAMED = "one thing, by its name"
ONE_THING = {
    f"{_CLUSTER}/acls/explain": "one answer, with the ACLs that decide",
    _CLUSTER: _NODES,
    f"{_CLUSTER}/anomalies/{{anomaly}}": _NAMED,
    f"{_CLUSTER}/brokers/{{broker}}/dependents": "of one broker, from one look at its groups",
    f"{_CLUSTER}/brokers/{{broker}}/settings": "the settings of one broker: Kafka has some three hundred",
    f"{_CLUSTER}/certificates": _NODES,
    f"{_CLUSTER}/console/{{node}}": _NAMED,
    f"{_CLUSTER}/drift": "the places of one cluster, with the last audit of each",
    f"{_CLUSTER}/endpoints": _NODES,
    f"{_CLUSTER}/games/{{game}}": _NAMED,
    f"{_CLUSTER}/generations/{{generation}}": _NAMED,
    f"{_CLUSTER}/groups/{{group:path}}": _NAMED,
    f"{_CLUSTER}/group": _NAMED,
    f"{_CLUSTER}/users/{{user}}": _NAMED,
    f"{_CLUSTER}/health": _NODES,
    f"{_CLUSTER}/restart-check": _NODES,
    f"{_CLUSTER}/state": "the input of planners: half of it is of no use",
    f"{_CLUSTER}/topics/{{topic}}": _NAMED,
    f"{_CLUSTER}/topics/{{topic}}/settings": "the settings of one topic: Kafka has some forty",
    "/v1/audit/check": "one sentence",
    f"{_CLUSTER}/figures": "what was measured of its brokers lately, and six hours of its traffic",
    "/v1/doctor": "the checks there are of a cloud",
    "/v1/failovers/{name}": _NAMED,
    "/v1/failovers/{name}/plan": "the steps of one failover",
    "/v1/images/{name}": _NAMED,
    "/v1/loop": "60 beats, 200 jobs and what fails right now",
    "/v1/metrics": "the format of Prometheus, which knows no pages",
    "/v1/proposals/{number}": _NAMED,
    "/v1/version": "one sentence",
    "/v1/whoami": "the caller",
}
LISTS = {path for method, path in API_ROUTES if method == "GET"} - {*ONE_THING}
BY_THEIR_OWN_WORD = {"/v1/events", f"{_CLUSTER}/events", f"{_CLUSTER}/logs"}
"""They go on as long as something happens: the answer says where, in fields of its own."""
GROWS = {"/v1/audit"}
"""Tried by a test of its own: what is denied and done meanwhile is in it."""
ASKED_OF_BROKERS = {f"{_CLUSTER}/acls", f"{_CLUSTER}/groups", f"{_CLUSTER}/topics/{{topic}}/logs"}
"""There are none here; test_acls.py, test_portal_groups.py and test_topic_logs.py have some."""


@pytest.fixture(scope="module")
def house() -> House:
    house = house_with_topics()
    cache = FreezeCache((Freeze(START, START + timedelta(days=90), "audit", owners=frozenset({"payments"})),) * 2)

    def catch_up() -> None:
        for recorded in house.store.read_stream(FREEZES):
            cache.take_in(recorded)

    service = FreezeService(house.store, cache, house.converger.views, catch_up, lambda: house.now)
    house.services = replace(house.services, fleet=replace(house.services.fleet, freezes=service))
    house.app = create_app(house.services)
    house.client = house.client_with(dict(house.client.headers))
    house.apply(ORDERS.replace("name: orders", "name: ledger"))
    house.apply(ORDERS.replace("name: orders", "name: billing"))
    view = house.view("orders")
    found = [
        facts.AnomalyFound(f"orders-{n}", "orders", "slow-broker", f"brokers-{n}", "200 ms", "waiting", "why")
        for n in (2, 3, 4)
    ]
    over = facts.AnomalyChanged("orders-2", "over", "healed")
    events = [encode(fact, f"e{n}") for n, fact in enumerate([*found, over])]
    house.store.append(anomalies_stream(view.uid), events, expected_version=1, origin=Origin("anomalies"))
    keep_noted(house.latest, view.uid, read_anomalies(house.store, view.uid), house.now)
    for name in ("ada", "bob"):
        house.client.post("/v1/users", json={"name": name})
        house.client.post("/v1/tokens", json={"label": name, "role": "viewer"})
    for name in ("orders", "ledger", "billing"):
        asked = {"until": "2026-01-02T00:00:00Z", "reason": "x", "clusters": [name]}
        frozen = house.client.post("/v1/freezes", json=asked)
        assert frozen.status_code == 200, frozen.text
    return house


def parameters() -> dict[str, dict[str, Any]]:
    """Of each GET of the document, its parameters by name."""
    told = api_document(House().app)["paths"].items()
    return {
        path: {p["name"]: p["schema"] for p in calls["get"]["parameters"]} for path, calls in told if "get" in calls
    }


def in_document(path: str) -> str:
    return re.sub(r":path}", "}", path)


def items(answer: httpx.Response) -> list[Any]:
    """What a list has: itself, or its one field that is the list."""
    assert answer.status_code == 200, answer.text
    told = answer.json()
    if isinstance(told, list):
        return told
    names = ("items", "clusters", "found", "policies", "entries", "anomalies", "brokers", "partitions", "changes")
    more = ("fields", "games", "generations", "groups", "rows", "moves", "rolls", "topics", "users", "declarations")
    return list(next(told[name] for name in (*names, *more) if isinstance(told.get(name), list)))


def walk(client: httpx.Client, path: str, most: int = 1) -> list[Any]:
    """All of a list, by the addresses that its pages tell."""
    answer = client.get(path, params={"limit": most})
    walked = items(answer)
    while link := answer.links.get("next"):
        answer = client.get(link["url"])
        assert len(items(answer)) <= most
        walked += items(answer)
        assert len(walked) < 1000, "no end"
    return walked


def test_each_list_takes_how_many_and_after_which_and_has_a_largest_page() -> None:
    taken = parameters()
    assert LISTS, "no list is left"
    for path in sorted(LISTS):
        takes = taken[in_document(path)]
        assert {"limit", "after"} <= {*takes}, f"{path} is a list, or has to stand in ONE_THING with why it is none"
        assert takes["limit"]["default"] <= takes["limit"]["maximum"] <= 5000, path


def test_what_is_one_thing_takes_neither_and_is_there() -> None:
    taken = parameters()
    for path in ONE_THING:
        assert not {"limit", "after"} & {*taken[in_document(path)]}, path


@pytest.mark.parametrize("path", sorted(LISTS - BY_THEIR_OWN_WORD - GROWS - ASKED_OF_BROKERS))
def test_page_by_page_by_the_addresses_told_it_is_the_whole_list(house: House, path: str) -> None:
    where = address(path)
    assert walk(house.client, where) == items(house.client.get(where))


@pytest.mark.parametrize(
    ("path", "least"),
    [("/v1/clusters", 3), ("/v1/freezes", 5), ("/v1/anomalies", 3), ("/v1/clusters/orders/anomalies", 4)],
)
def test_a_walk_is_of_several_pages(house: House, path: str, least: int) -> None:
    assert len(walk(house.client, path)) >= least


def test_pages_are_of_what_the_caller_may_read_alone() -> None:
    house = house_with_topics()
    for name in ("billing", "ledger", "search"):
        owned = ORDERS.replace("name: orders", f"name: {name}\n  owner: {'search' if name == 'search' else 'money'}")
        house.apply(owned)
    caller = token_of(house, "eve", Binding("", Role.VIEWER, "team:money"))
    first = caller.get("/v1/clusters", params={"limit": 1})
    assert [c["name"] for c in first.json()] == ["billing"]
    assert [c["name"] for c in walk(caller, "/v1/clusters")] == ["billing", "ledger"]
    last = caller.get("/v1/clusters", params={"limit": 1, "after": "billing"})
    assert "link" not in last.headers, "that others have more is nobody's to know"


def test_a_list_nobody_limits_ends_after_a_thousand_and_says_where_it_goes_on() -> None:
    class Many(NoAgents):
        def status(self) -> AgentReleaseStatus:
            return AgentReleaseStatus(clusters=tuple(ClusterAgents(f"c{n:04}", "", ()) for n in range(1002)))

    house = House()
    house.app = create_app(replace(house.services, fleet=replace(house.services.fleet, agents=Many())))
    client = house.client_with(dict(house.client.headers))
    first = client.get("/v1/agents", params={"q": "c"})
    assert len(items(first)) == MOST_ON_A_PAGE == 1000
    assert first.links["next"]["url"] == "/v1/agents?q=c&after=c0999"
    assert [c["name"] for c in items(client.get(first.links["next"]["url"]))] == ["c1000", "c1001"]


def test_an_anomaly_that_ends_between_two_pages_hides_no_open_one_behind_it(house: House) -> None:
    view = house.view("orders")
    everywhere = house.client.get("/v1/anomalies", params={"limit": 1})
    here = house.client.get("/v1/clusters/orders/anomalies", params={"limit": 1})
    (newest,) = here.json()["anomalies"]
    left = [a["id"] for a in house.client.get("/v1/anomalies").json()][1:]
    ended = encode(facts.AnomalyChanged(newest["id"], "over", "healed"), "ended")
    version = read_anomalies(house.store, view.uid).version
    house.store.append(anomalies_stream(view.uid), [ended], expected_version=version, origin=Origin("anomalies"))
    keep_noted(house.latest, view.uid, read_anomalies(house.store, view.uid), house.now)
    behind = items(house.client.get(everywhere.links["next"]["url"].replace("limit=1", "limit=9")))
    assert [a["id"] for a in behind] == left
    then = items(house.client.get(here.links["next"]["url"].replace("limit=1", "limit=9")))
    assert [a["id"] for a in then if a["state"] != "over"] == left
    assert newest["id"] not in [a["id"] for a in then]


def test_a_move_that_ends_between_two_pages_stops_nobody(house: House) -> None:
    view = house.view("orders")
    moving = [a_partition(f"p-{n}", (1000, 1001), adding=(1001,), isr=(1000,)) for n in (2, 10, 1)]
    before = house.snapshots[view.uid]
    house.snapshots[view.uid] = a_snapshot(*moving, at=house.now)
    try:
        first = house.client.get("/v1/clusters/orders/moves", params={"limit": 2})
        assert [m["partition"] for m in first.json()["moves"]] == [1, 2]
        house.snapshots[view.uid] = a_snapshot(moving[1], at=house.now)
        assert [m["partition"] for m in items(house.client.get(first.links["next"]["url"]))] == [10]
        assert house.client.get("/v1/clusters/orders/moves", params={"after": "p"}).status_code == 422
    finally:
        house.snapshots[view.uid] = before


def test_a_freeze_that_ended_since_is_still_where_the_next_page_begins(house: House) -> None:
    first = house.client.get("/v1/freezes", params={"limit": 1})
    ((one,), every) = items(first), items(house.client.get("/v1/freezes"))
    assert house.client.post(f"/v1/freezes/{one['id']}/thaw", json={"reason": "x"}).status_code == 200
    behind = items(house.client.get(first.links["next"]["url"].replace("limit=1", "limit=9")))
    assert [f["id"] for f in behind] == [f["id"] for f in every[1:]]
    assert [f["source"] for f in every[-2:]] == ["settings", "settings"], "those have no id, and come all the same"


def test_the_audit_is_read_on_from_an_entry_oldest_first(house: House) -> None:
    newest = house.client.get("/v1/audit", params={"limit": 2})
    assert newest.json()["older"] == newest.json()["entries"][-1]["position"]
    assert f"before={newest.json()['older']}" in newest.links["next"]["url"]
    first = house.client.get("/v1/audit", params={"after": 0, "limit": 2})
    assert [e["position"] for e in first.json()["entries"]] == [1, 2]
    assert [e["position"] for e in house.client.get(first.links["next"]["url"]).json()["entries"]] == [3, 4]
    assert house.client.get("/v1/audit", params={"after": 10**6}).json()["entries"] == []
