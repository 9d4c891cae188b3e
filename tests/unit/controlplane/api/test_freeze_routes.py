"""/v1/freezes: declaring, listing, thawing, who may, and what is told of clusters that are others'."""

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.rights import Forbidden, rights_of
from controlplane.api.access.roles import ALLOWS, Role, Verb
from controlplane.api.scoped.services import scoped
from controlplane.cluster.commands import ClusterNotFound, CommandRefused
from controlplane.converger.tick.loop import Converger
from controlplane.fleet.freezes.commands import FreezeAnswer, Freezes, FreezeService, WantedFreeze
from controlplane.fleet.freezes.state import FreezeCache
from controlplane.portal.app import create_app
from controlplane.storage.streams import FREEZES
from planner.rollout.windows import Freeze
from tests.changed_view import changed_view
from tests.unit.controlplane.api.portal_house import START, House, broker
from tests.unit.events.spec_texts import ORDERS

OURS = ORDERS.replace("name: orders", "name: orders\n  owner: payments\n  labels: {env: prod}")
THEIRS = (
    OURS.replace("name: orders", "name: search").replace("owner: payments", "owner: search").replace("prod", "test")
)
A_FREEZE = {"until": "2026-01-02T12:00:00Z", "reason": "winter sale", "clusters": ["orders"]}
AUDIT = Freeze(START, START + timedelta(days=90), "audit of search", owners=frozenset({"search"}))
UNTIL = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture
def house() -> House:
    """Clusters `orders` of payments and `search` of search; the settings freeze the latter."""
    house = House()
    cache = FreezeCache((AUDIT,))
    house.converger = Converger(house.converger._ports, freezes=cache)
    service = FreezeService(house.store, cache, house.converger.views, house.converger.catch_up, lambda: house.now)
    house.services = replace(
        house.services,
        fleet=replace(house.services.fleet, freezes=service, clusters=house.converger),
        cluster=replace(house.services.cluster, window=house.converger.window_on),
    )
    house.app = create_app(house.services)
    house.client = house.client_with(dict(house.client.headers))
    house.apply(OURS)
    house.apply(THEIRS)
    return house


def of(house: House, role: Role | None, scope: str) -> Freezes:
    mine = [Binding("user:ada", role, scope)] if role else []
    return scoped(house.services, rights_of("user:ada", mine)).fleet.freezes


def test_a_freeze_is_declared_listed_and_thawed(house: House) -> None:
    done = house.client.post("/v1/freezes", json={**A_FREEZE, "silence": True})
    assert (done.status_code, done.json()["id"]) == (200, "freeze-1"), done.text
    assert done.json()["sentence"].endswith("; notices wait until then, but critical ones")
    assert "" in house.woken
    told, of_settings = house.client.get("/v1/freezes").json()["items"]
    assert (told["state"], told["by"], told["until"]) == ("in force", "person:local", "2026-01-02T12:00:00Z")
    assert (told["clusters"], told["everything"], told["source"]) == (["orders"], False, "people")
    assert (told["silence"], of_settings["silence"]) == (True, False)
    assert (of_settings["source"], of_settings["id"], of_settings["teams"]) == ("settings", "", ["search"])
    thawed = house.client.post("/v1/freezes/freeze-1/thaw", json={"reason": "over"})
    assert thawed.status_code == 200, thawed.text
    assert [f["source"] for f in house.client.get("/v1/freezes").json()["items"]] == ["settings"]
    past = house.client.get("/v1/freezes", params={"past": True}).json()["items"][0]
    assert (past["state"], past["thawed_by"], past["thawed_why"]) == ("thawed", "person:local", "over")


def test_a_freeze_that_ended_by_itself_is_over(house: House) -> None:
    house.client.post("/v1/freezes", json=A_FREEZE)
    house.pass_time(days=1)
    assert [f["id"] for f in house.client.get("/v1/freezes").json()["items"]] == [""]
    assert house.client.get("/v1/freezes", params={"past": True}).json()["items"][0]["state"] == "over"


def test_the_same_call_is_answered_alike_and_recorded_once(house: House) -> None:
    key = {"Idempotency-Key": "k"}
    first = house.client.post("/v1/freezes", json=A_FREEZE, headers=key)
    head = house.store.head()
    assert house.client.post("/v1/freezes", json=A_FREEZE, headers=key).json()["id"] == first.json()["id"]
    assert house.store.head() == head


def test_what_is_frozen_says_who_froze_it_and_how_it_ends(house: House) -> None:
    house.join(broker())
    house.converger.catch_up()
    view = changed_view(house.view(), converged=1)
    house.client.post("/v1/freezes", json=A_FREEZE)
    words = house.services.cluster.window(view)
    assert words.startswith("frozen until 2026-01-02 12:00 UTC by local: winter sale (to end it: kedge thaw freeze-1)")
    house.client.post("/v1/freezes/freeze-1/thaw", json={"reason": "over"})
    assert house.services.cluster.window(view) == ""


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"until": "2026-01-01T11:00:00Z"}, 409),
        ({"until": "2026-03-01T12:00:00Z"}, 409),
        ({"until": "9999-12-31T23:59:59-05:00"}, 422),
        ({"until": 1767355200}, 422),
        ({"reason": "  "}, 422),
        ({"clusters": []}, 409),
        ({"everything": True}, 409),
        ({"clusters": ["typo"]}, 404),
        ({"more": "than is known"}, 422),
    ],
)
def test_a_freeze_that_makes_no_sense_is_refused_whole(house: House, wrong: dict[str, Any], status: int) -> None:
    head = house.store.head()
    answer = house.client.post("/v1/freezes", json={**A_FREEZE, **wrong})
    assert answer.status_code == status, answer.text
    assert house.store.head() == head


def test_a_thaw_of_what_is_not_there_or_without_a_reason_is_refused(house: House) -> None:
    unknown = house.client.post("/v1/freezes/freeze-9/thaw", json={"reason": "over"})
    assert (unknown.status_code, unknown.json()["code"]) == (409, "freeze-not-found")
    house.client.post("/v1/freezes", json=A_FREEZE)
    assert house.client.post("/v1/freezes/freeze-1/thaw", json={"reason": ""}).status_code == 422


ORDERS_ONLY = WantedFreeze(UNTIL, "x", clusters=("orders",))
BOTH = WantedFreeze(UNTIL, "x", clusters=("orders", "search"))
TEAM = WantedFreeze(UNTIL, "x", teams=("payments",))
LABEL = WantedFreeze(UNTIL, "x", labels=(("env", "prod"),))
FLEET = WantedFreeze(UNTIL, "x", everything=True)
SCOPES = {
    "*": (ORDERS_ONLY, BOTH, TEAM, LABEL, FLEET),
    "team:payments": (ORDERS_ONLY, TEAM),
    "label:env=prod": (ORDERS_ONLY, LABEL),
    "cluster:orders": (ORDERS_ONLY,),
    "team:search": (),
}
"""What somebody may freeze who may steer there: all of it, those to come included, has to be theirs."""


@pytest.mark.parametrize(("role", "scope"), [(None, "*"), *itertools.product(Role, SCOPES)])
def test_who_may_steer_all_of_what_is_named_may_freeze_and_thaw_it(house: House, role: Role | None, scope: str) -> None:
    mine, everybody = of(house, role, scope), of(house, Role.ADMIN, "*")
    may = SCOPES[scope] if role is not None and Verb.STEER in ALLOWS[role] else ()
    for n, wanted in enumerate((ORDERS_ONLY, BOTH, TEAM, LABEL, FLEET)):
        ours = everybody.declare(wanted, actor="person:zoe", command_id=f"z{n}")
        if wanted in may:
            assert mine.declare(wanted, actor="user:ada", command_id=f"d{n}").id != ours.id
            assert mine.thaw(ours.id, reason="y", actor="user:ada", command_id=f"t{n}") == FreezeAnswer(
                ours.id, f"{ours.id} is thawed; what it held goes on, where no other freeze holds it (kedge freezes)"
            )
            continue
        head = house.store.head()
        with pytest.raises((Forbidden, ClusterNotFound)):
            mine.declare(wanted, actor="user:ada", command_id=f"d{n}")
        with pytest.raises((Forbidden, CommandRefused)):
            mine.thaw(ours.id, reason="y", actor="user:ada", command_id=f"t{n}")
        assert house.store.head() == head


def test_of_clusters_that_are_others_nothing_is_told(house: House) -> None:
    everybody = of(house, Role.ADMIN, "*")
    everybody.declare(replace(BOTH, reason="search moves"), actor="person:zoe", command_id="a")
    everybody.declare(WantedFreeze(UNTIL, "x", clusters=("search",)), actor="person:zoe", command_id="b")
    everybody.declare(FLEET, actor="person:zoe", command_id="c")
    status = of(house, Role.OPERATOR, "team:payments").status()
    assert [d.id for d in status.declared] == ["freeze-3", "freeze-1"]
    both = status.declared[1].fact
    assert (both.clusters, both.reason) == (("orders", "another cluster"), "another cluster moves")
    assert status.of_settings == ()
    with pytest.raises(Forbidden) as refused:
        of(house, Role.OPERATOR, "team:payments").thaw("freeze-1", reason="y", actor="user:ada", command_id="d")
    assert "search" not in str(refused.value)
    assert len(of(house, Role.VIEWER, "*").status().declared) == 3
    assert len(house.store.read_stream(FREEZES)) == 3
