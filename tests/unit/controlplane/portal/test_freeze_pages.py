"""The page of freezes: declaring one by the form, why it is refused, thawing, and who may."""

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.api.test_freeze_routes import house as house  # the same clusters

OPERATOR = Binding("", Role.OPERATOR, "team:payments")
VIEWER = Binding("", Role.VIEWER, "team:payments")
FORM = {"until": "2026-01-02T12:00", "reason": "winter sale", "clusters": "orders"}


def test_a_freeze_by_the_form_holds_and_is_listed_until_it_is_thawed(house: House) -> None:
    ada = house.browser("ada", OPERATOR)
    assert ada.post("/freezes", data=FORM).headers["location"] == "/freezes"
    assert "" in house.woken
    text = ada.get("/freezes").text
    assert "winter sale" in text
    assert "in force" in text
    (known,) = house.services.fleet.freezes.status().declared
    assert known.by == "person:ada"
    assert ada.post(f"/freezes/{known.id}/thaw", data={"reason": "it is over"}).status_code == 303
    assert "winter sale" not in ada.get("/freezes").text
    past = ada.get("/freezes?past=true").text
    assert "it is over" in past
    assert "thawed" in past


def test_a_freeze_that_silences_notices_says_so(house: House) -> None:
    ada = house.browser("ada", OPERATOR)
    ada.post("/freezes", data={**FORM, "silence": "true"})
    (known,) = house.services.fleet.freezes.status().declared
    assert known.freeze.silence
    assert "notices silenced, but critical ones" in ada.get("/freezes").text


def test_a_form_sent_twice_is_one_freeze(house: House) -> None:
    ada = house.browser("ada", OPERATOR)
    for _ in range(2):
        assert ada.post("/freezes", data={**FORM, "key": "a" * 32}).status_code == 303
    assert len(house.services.fleet.freezes.status().declared) == 1


def test_the_end_is_read_in_the_zone_of_the_browser(house: House) -> None:
    ada = house.browser("ada", OPERATOR)
    ada.post("/account/zone", data={"zone": "Asia/Kolkata"})
    ada.post("/freezes", data={**FORM, "until": "2026-01-02T05:30"})
    (known,) = house.services.fleet.freezes.status().declared
    assert known.freeze.ends.isoformat() == "2026-01-02T00:00:00+00:00"
    assert "2026-01-02 05:30:00 +05:30" in ada.get("/freezes").text


@pytest.mark.parametrize(
    ("change", "status", "why"),
    [
        ({"until": "soon"}, 422, "is not a time"),
        ({"reason": " "}, 422, "give a reason"),
        ({"labels": "production"}, 422, "key=value"),
        ({"clusters": ""}, 409, "names no cluster"),
        ({"until": "2025-01-01T00:00"}, 409, "has passed"),
        ({"clusters": "nowhere"}, 422, "nowhere"),
        ({"everything": "true", "clusters": ""}, 403, "every"),
    ],
)
def test_a_form_that_makes_no_sense_comes_back_with_the_reason_and_freezes_nothing(
    house: House, change: dict[str, str], status: int, why: str
) -> None:
    answer = house.browser("ada", OPERATOR).post("/freezes", data={**FORM, **change})
    assert answer.status_code == status
    assert why in answer.text
    assert "Nothing was frozen." in answer.text
    assert not house.services.fleet.freezes.status().declared


def test_who_may_only_look_freezes_and_thaws_nothing(house: House) -> None:
    house.browser("ada", OPERATOR).post("/freezes", data=FORM)
    (known,) = house.services.fleet.freezes.status().declared
    vic = house.browser("vic", VIEWER)
    assert "winter sale" in vic.get("/freezes").text
    assert vic.post("/freezes", data=FORM).status_code == 403
    assert vic.post(f"/freezes/{known.id}/thaw", data={"reason": "mine"}).status_code == 403
    assert house.services.fleet.freezes.status().declared[0].thaw is None


def test_freezes_of_others_are_not_there(house: House) -> None:
    house.browser("ada", OPERATOR).post("/freezes", data=FORM)
    sue = house.browser("sue", Binding("", Role.OPERATOR, "team:search"))
    text = sue.get("/freezes").text
    assert "winter sale" not in text
    assert "audit of search" in text, "that of the settings, which nobody thaws"
    assert "act-thaw" not in text
    assert sue.post("/freezes/freeze-1/thaw", data={"reason": "theirs"}).status_code == 409
