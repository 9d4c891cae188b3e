"""The list of the fleet: the environment a label says, and when a cluster was last declared anew."""

import re

from controlplane.portal.access.bindings import Binding
from controlplane.portal.access.roles import Role
from tests.unit.controlplane.gitsync.git_house import named
from tests.unit.controlplane.portal.portal_house import House
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


def test_a_cluster_shows_when_its_spec_last_changed_and_the_newest_can_come_first() -> None:
    house = House()
    for name in ("clicks", "views"):
        house.apply(named(name))
        house.pass_time(minutes=5)
    house.apply(named("clicks").replace("size: 3", "size: 5"))
    changed = house.view("clicks").declared_at
    assert changed is not None
    browser = house.browser("ada", VIEWER)
    assert f'datetime="{changed.isoformat()}"' in row_of(browser.get("/").text, "clicks")
    assert names_in(browser.get("/?sort=changed&down=true").text) == ["clicks", "views"]
    assert names_in(browser.get("/?sort=changed").text) == ["views", "clicks"]
