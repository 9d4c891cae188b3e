"""The list of the fleet: the environment a label says, and when a cluster was last declared anew."""

import html
import re

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.portal import fleet
from tests.builders import a_snapshot
from tests.unit.controlplane.api.portal_house import House, three_brokers
from tests.unit.controlplane.background.git_sync.git_house import named
from tests.unit.events.spec_texts import ORDERS

VIEWER = Binding("", Role.VIEWER, "*")


def labelled(name: str, label: str) -> str:
    return named(name).replace(f"name: {name}", f"name: {name}\n  labels: {{{label}}}")


def names_in(text: str) -> list[str]:
    return re.findall(r'<th scope="row"><a href="/clusters/([a-z]+)"', text)


def row_of(text: str, name: str) -> str:
    return text.partition(f'<a href="/clusters/{name}"')[2].partition("</tr>")[0]


def test_a_cluster_shows_the_environment_of_its_label_and_is_found_and_sorted_by_it() -> None:
    house = House()
    for text in (ORDERS, labelled("clicks", "env: prod"), labelled("views", "environment: dev")):
        house.apply(text)
    browser = house.browser("ada", VIEWER)
    shown = browser.get("/").text
    assert "<td>prod</td>" in row_of(shown, "clicks")
    assert "<td>dev</td>" in row_of(shown, "views")
    assert "<td>dev</td>" not in row_of(shown, "orders")
    assert names_in(browser.get("/?q=PROD").text) == ["clicks"]
    assert names_in(browser.get("/?sort=env").text) == ["orders", "views", "clicks"]


def test_a_broker_that_kafka_does_not_count_on_is_not_counted_as_up() -> None:
    house = House()
    house.apply()
    house.join(*three_brokers())
    browser = house.browser("ada", VIEWER)
    assert '<td class="num">3 / 3</td>' in row_of(browser.get("/").text, "orders"), "as far as is known"
    house.snapshots[house.view().uid] = a_snapshot(brokers=(1000, 1002), fenced=(1001,), at=house.now)
    assert '<td class="num">2 / 3</td>' in row_of(browser.get("/").text, "orders")
    assert house.client.get("/v1/clusters/orders").json()["brokers"] == 2


def test_a_cluster_shows_when_its_spec_last_changed_and_the_newest_can_come_first() -> None:
    house = House()
    for name in ("clicks", "views"):
        house.apply(named(name))
        house.pass_time(minutes=5)
    house.apply(named("clicks").replace("size: 3", "size: 5"))
    changed = house.view("clicks").declaration.declared_at
    assert changed is not None
    browser = house.browser("ada", VIEWER)
    assert f'datetime="{changed.isoformat()}"' in row_of(browser.get("/").text, "clicks")
    assert names_in(browser.get("/?sort=changed&down=true").text) == ["clicks", "views"]
    assert names_in(browser.get("/?sort=changed").text) == ["views", "clicks"]


def test_a_long_fleet_comes_in_pages_that_keep_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "MOST_ROWS", 2)
    house = House()
    for name in ("clicks", "views", "likes", "shares", "other"):
        house.apply(named(name) if name == "other" else labelled(name, "env: prod"))
    browser = house.browser("ada", VIEWER)
    text, walked = browser.get("/?q=prod&sort=name&down=true").text, list[str]()
    assert "1 to 2 of 4" in text
    assert "Before these" not in text
    while True:
        walked += names_in(text)
        following = re.search(r'rel="next" href="([^"]+)"', text)
        if following is None:
            break
        text = browser.get(html.unescape(following[1])).text
    assert walked == ["views", "shares", "likes", "clicks"]
    before = re.search(r'rel="prev" href="([^"]+)"', text)
    assert before is not None
    assert names_in(browser.get(html.unescape(before[1])).text) == ["views", "shares"]
    assert names_in(browser.get("/?q=prod&skip=400").text) == ["clicks", "likes"], "the first where there are no more"
    assert "More clusters" not in browser.get("/?q=clicks").text
    assert "all 5" in browser.get("/?skip=2").text, "counts are of the whole fleet"
