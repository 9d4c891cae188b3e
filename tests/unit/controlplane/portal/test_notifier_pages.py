"""The page /notifiers: how each does, a test notice by its button, and what is said when it does not arrive."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.background.notifications.binding import NotifierBinding
from controlplane.background.notifications.delivery import NotDelivered
from controlplane.background.notifications.outbox import NotifierStatus
from controlplane.background.notifications.service import NotifierNotFound, NotifierSeen
from controlplane.portal.app import create_app
from tests.builders import NOW
from tests.unit.controlplane.api.portal_house import House

ADMIN = Binding("", Role.ADMIN, "*")


class Notifiers:
    def __init__(self) -> None:
        self.tested: list[str] = []
        self.problem = ""

    def all(self) -> Sequence[NotifierSeen]:
        oncall = NotifierBinding(name="oncall", kind="log", kinds=("disk-failure",), owners=("payments",))
        failing = NotifierStatus(9, waiting=3, delivered=7, dropped=2, error="it answered 500", failing_since=NOW)
        return [NotifierSeen(oncall, failing), NotifierSeen(NotifierBinding(name="quiet", kind="log"), None)]

    def test(self, name: str) -> None:
        if name not in ("oncall", "quiet"):
            raise NotifierNotFound(name)
        if self.problem:
            raise NotDelivered(self.problem)
        self.tested.append(name)


@pytest.fixture
def notifiers() -> Notifiers:
    return Notifiers()


@pytest.fixture
def house(notifiers: Notifiers) -> House:
    house = House()
    house.app = create_app(replace(house.services, fleet=replace(house.services.fleet, notifiers=notifiers)))
    return house


def test_each_is_listed_with_what_it_is_told_and_what_stands_in_the_way(house: House) -> None:
    text = house.browser("ada", ADMIN).get("/notifiers").text
    for said in ("oncall", "disk-failure; owners payments", "it answered 500", "2 dropped", "nothing to tell yet"):
        assert said in text
    assert 'href="/notifiers"' in text


def test_the_button_sends_a_test_notice_and_says_that_it_was_taken(house: House, notifiers: Notifiers) -> None:
    answer = house.browser("ada", ADMIN).post("/notifiers/oncall/test")
    assert (answer.status_code, notifiers.tested) == (200, ["oncall"])
    assert "oncall took the test notice." in answer.text


def test_one_that_did_not_take_it_is_said_with_the_reason(house: House, notifiers: Notifiers) -> None:
    notifiers.problem = "hooks.example.com answered 410"
    answer = house.browser("ada", ADMIN).post("/notifiers/oncall/test")
    assert answer.status_code == 409
    assert "oncall did not take it: hooks.example.com answered 410" in answer.text
    gone = house.browser("ada", ADMIN).post("/notifiers/nobody/test")
    assert gone.status_code == 409
    assert "There is no notifier" in gone.text


def test_it_is_an_administrators(house: House, notifiers: Notifiers) -> None:
    bob = house.browser("bob")
    assert bob.get("/notifiers").status_code == 403
    assert bob.post("/notifiers/oncall/test").status_code == 403
    assert notifiers.tested == []
