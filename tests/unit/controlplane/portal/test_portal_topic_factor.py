"""Another replication factor on pages: chosen, said first, recorded on a yes, by whoever may."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from planner.observed import LogDirsSeen
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.portal.test_portal_roles_matrix import OURS
from tests.unit.controlplane.portal.test_portal_topic_verbs import fields, types

OPERATOR, VIEWER = Binding("", Role.OPERATOR, "*"), Binding("", Role.VIEWER, "*")
PAGE = "/clusters/orders/topics/payments/replication-factor"


def house_of(**more: Any) -> House:
    house = House(**more)
    house.apply(OURS)
    parts = [a_partition(f"payments-{n}", (1000, 1001, 1002)) for n in range(2)]
    room = {b: LogDirsSeen(2, 2000, 10**9, 10**9) for b in (1000, 1001, 1002)}
    house.snapshots[house.view().uid] = a_snapshot(*parts, log_dirs=room)
    return house


@pytest.fixture
def house() -> House:
    return house_of()


def browser(house: House) -> TestClient:
    return house.browser("ada", OPERATOR)


def test_how_many_is_chosen_first(house: House) -> None:
    text = browser(house).get(PAGE).text
    assert f'href="{PAGE}?to=2"' in text
    assert "<form action" not in text.partition('id="what"')[2].partition("</section>")[0]


def test_it_says_what_would_happen_and_records_it_on_a_yes_once(house: House) -> None:
    here = browser(house)
    shown = here.get(f"{PAGE}?to=2")
    assert "topic payments get 2 replicas" in shown.text
    assert "replication_factor.requested" not in types(house)
    form = fields(shown.text, reason="enough")
    answer = here.post(f"{PAGE}?to=2", data=form)
    assert (answer.status_code, answer.headers["location"]) == (303, "/clusters/orders/topics/payments")
    assert house.view().topics.factors["payments"].reason == "asked by ada: enough"
    assert here.post(f"{PAGE}?to=2", data=form).status_code == 409, "another yes finds nothing to do"
    assert types(house).count("replication_factor.requested") == 1
    assert "to have 2 replicas: asked by ada: enough" in here.get("/clusters/orders/topics/payments").text


def test_it_is_ended_on_a_yes(house: House) -> None:
    here = browser(house)
    here.post(f"{PAGE}?to=2", data=fields(here.get(f"{PAGE}?to=2").text))
    assert "begin nothing more" in here.get(PAGE).text
    here.post(f"{PAGE}?to=0", data=fields(here.get(f"{PAGE}?to=0").text))
    assert house.view().topics.factors == {}


def test_what_is_refused_is_told(house: House) -> None:
    answer = browser(house).get(f"{PAGE}?to=1")
    assert answer.status_code == 409
    assert "min.insync.replicas 2" in answer.text


def test_who_may_only_look_is_not_led_there(house: House) -> None:
    viewer = house.browser("vic", VIEWER)
    assert "replication-factor" not in viewer.get("/clusters/orders/topics/payments").text
    assert viewer.get(f"{PAGE}?to=2").status_code == 403
