"""Deleting a cluster and taking its spec over on pages: said first, recorded once, by whoever may, as the API does."""

from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.cluster.spec_source import fact_of
from controlplane.cluster.views.source import SpecOrigin
from controlplane.portal.app import create_app
from tests.unit.controlplane.api.portal_house import House, three_brokers
from tests.unit.controlplane.api.test_proposals import APPROVER as PAYMENTS_APPROVER, Shelved, token_of
from tests.unit.controlplane.background.git_sync.git_house import LARGER, GitHouse, binding
from tests.unit.controlplane.portal.test_portal_roles_matrix import OURS
from tests.unit.controlplane.portal.test_portal_topic_verbs import HOSTILE, fields, types
from tests.unit.events.spec_texts import ORDERS

OWNER, OPERATOR = Binding("", Role.OWNER, "*"), Binding("", Role.OPERATOR, "*")
PAGE, DELETE, TAKE_OVER = "/clusters/orders", "/clusters/orders/delete", "/clusters/orders/take-over"
TO_GIT = f"{TAKE_OVER}?to=git%3Ateams"
DESTROY = OURS + "  deletionPolicy: destroy\n"
FILE = SpecOrigin("git:teams", "https://git.example.org/specs.git", "main", "orders.yaml", "c0ffee" * 6, "Ada")


def house_of(text: str = OURS, **more: Any) -> House:
    house = House(**more)
    house.apply(text)
    house.join(*three_brokers())
    return house


def bound(**changes: Any) -> GitHouse:
    """`orders` as the API declared it, on a server with the binding `teams`."""
    git = GitHouse(house_of(), binding(**changes))
    git.house.app = create_app(
        replace(git.house.services, fleet=replace(git.house.services.fleet, sources=git.service))
    )
    return git


@pytest.fixture
def house() -> House:
    return house_of(DESTROY)


@pytest.fixture
def browser(house: House) -> TestClient:
    return house.browser("ada", OWNER)


def test_a_deletion_says_what_is_destroyed_and_records_nothing(house: House, browser: TestClient) -> None:
    head = house.store.head()
    assert f'href="{DELETE}"' in browser.get(PAGE).text
    text = browser.get(DELETE).text
    assert "all its VMs and disks are destroyed, with every record of every topic" in text
    assert "told to stop first, then its controllers or ZooKeeper servers, and get 90 s each time" in text
    assert "It has 3 VMs. Kafka was not read yet: what is in it is not known" in text
    assert "DNS" not in text
    assert house.store.head() == head


def test_what_its_policy_keeps_is_said_to_stay_and_to_cost() -> None:
    dns = OURS + "  bootstrap: {dns: orders.kafka.example.com}\n"
    text = house_of(dns).browser("ada", OWNER).get(DELETE).text
    assert "its VMs and disks stay, Kafka goes on as it was last told, and both cost what they cost" in text
    assert "are destroyed" not in text
    assert "The names under orders.kafka.example.com that Kedge keeps are taken out of DNS" in text


def test_the_name_typed_out_records_the_tombstone_and_leads_to_the_cluster(house: House, browser: TestClient) -> None:
    answer = browser.post(DELETE, data=fields(browser.get(DELETE).text, confirm=" orders ", reason="moved <b>"))
    assert (answer.status_code, answer.headers["location"]) == (303, PAGE)
    (asked,) = house.store.read_all(house.store.head() - 1)
    assert (asked.type, asked.actor, asked.data) == (
        "cluster.deletion_requested",
        "person:ada",
        {"name": "orders", "reason": "moved <b>"},
    )
    assert house.view().uid in house.woken
    text = browser.get(PAGE).text
    assert "Being deleted." in text
    assert "moved &lt;b&gt;" in text
    assert f'href="{DELETE}"' not in text
    assert "/change" not in text, "a cluster that goes is not changed"
    assert "Ask for" not in text
    assert "orders is being deleted already" in browser.get(DELETE).text


def test_a_deletion_nobody_gave_a_reason_for_says_so(house: House, browser: TestClient) -> None:
    browser.post(DELETE, data=fields(browser.get(DELETE).text, confirm="orders"))
    text = browser.get(PAGE).text
    assert "No reason was given." in text
    assert "deletion asked for <span" in text


def test_a_form_that_is_sent_twice_is_recorded_once(house: House, browser: TestClient) -> None:
    form = fields(browser.get(DELETE).text, confirm="orders")
    assert [browser.post(DELETE, data=form).status_code for _ in range(2)] == [303, 409]
    assert types(house).count("cluster.deletion_requested") == 1


@pytest.mark.parametrize("typed", ["", "order", "Orders", "orders-eu", HOSTILE])
def test_another_name_is_told_at_its_field_and_records_nothing(house: House, browser: TestClient, typed: str) -> None:
    head = house.store.head()
    answer = browser.post(DELETE, data=fields(browser.get(DELETE).text, confirm=typed))
    assert answer.status_code == 422
    assert 'aria-invalid="true" aria-describedby="e-confirm"' in answer.text
    assert "<img" not in answer.text
    assert house.store.head() == head


def test_a_yes_to_what_would_stay_does_not_destroy_it() -> None:
    house = house_of()
    browser = house.browser("ada", OWNER)
    form = fields(browser.get(DELETE).text, confirm="orders")
    house.apply(DESTROY)
    head = house.store.head()
    answer = browser.post(DELETE, data=form)
    assert (answer.status_code, "Review it again; nothing was recorded" in answer.text) == (409, True)
    assert "VMs and disks are destroyed" in answer.text
    assert browser.post(DELETE, data={"confirm": "orders"}).status_code == 409, "nothing was looked at"
    assert house.store.head() == head


def test_what_a_policy_reserves_becomes_a_proposal_that_somebody_else_agrees_to() -> None:
    house = house_of(DESTROY, policies=Shelved())
    browser = house.browser("ada", OWNER)
    text = browser.get(DELETE).text
    assert "A second person must approve" in text
    assert ">Propose</button>" in text
    answer = browser.post(DELETE, data=fields(text, confirm="orders", reason="moved"))
    assert answer.status_code == 303
    assert "cluster.deletion_requested" not in types(house)
    number = answer.headers["location"].removeprefix("/proposals/")
    assert browser.get(f"/proposals/{number}").status_code == 200
    agreed = token_of(house, "bob", PAYMENTS_APPROVER).post(f"/v1/proposals/{number}/approve", json={})
    assert agreed.json()["state"] == "executed"
    assert "cluster.deletion_requested" in types(house)


def test_a_cluster_a_file_declares_is_not_deleted_while_the_file_is_there(house: House, browser: TestClient) -> None:
    form = fields(browser.get(DELETE).text, confirm="orders")
    house.record(fact_of(FILE))
    for answer in (browser.get(DELETE), browser.post(DELETE, data=form)):
        assert (answer.status_code, "is still declared by" in answer.text) == (409, True)
    assert types(house)[-1] == "cluster.source_changed"


def test_a_spec_is_taken_over_from_git_and_its_file_changes_it_no_more() -> None:
    git = GitHouse()
    git.push({"orders.yaml": ORDERS})
    browser = git.house.browser("ada", OWNER)
    assert f'href="{TAKE_OVER}"' in browser.get(PAGE).text
    head = git.house.store.head()
    text = browser.get(TAKE_OVER).text
    assert "orders.yaml in https://git.example.org/specs.git, branch main" in text
    assert "generation 1 stays in force" in text
    assert git.house.store.head() == head
    answer = browser.post(TAKE_OVER, data=fields(text, reason="the repository is down"))
    assert (answer.status_code, answer.headers["location"]) == (303, PAGE)
    (changed,) = git.house.store.read_all(head)
    assert (changed.type, changed.actor) == ("cluster.source_changed", "person:ada")
    assert (changed.data["source"], changed.data["reason"]) == ("api", "the repository is down")
    git.push({"orders.yaml": LARGER})
    assert git.status.state == "Refused", "as the page says"
    assert git.view().generation == 1
    assert f'href="{TAKE_OVER}"' not in browser.get(PAGE).text
    assert git.house.apply(LARGER)["applied"][0]["changed"]
    assert browser.get(DELETE).status_code == 200, "although the file is there"


def test_a_spec_is_taken_over_once_and_not_of_a_cluster_that_is_going(house: House, browser: TestClient) -> None:
    house.record(fact_of(FILE))
    form = fields(browser.get(TAKE_OVER).text)
    assert [browser.post(TAKE_OVER, data=form).status_code for _ in range(2)] == [303, 409]
    assert types(house).count("cluster.source_changed") == 2
    assert "comes from api already" in browser.get(TAKE_OVER).text
    browser.post(DELETE, data=fields(browser.get(DELETE).text, confirm="orders"))
    assert browser.get(TAKE_OVER).status_code == 409


def test_a_yes_is_void_once_the_spec_comes_from_elsewhere(house: House, browser: TestClient) -> None:
    house.record(fact_of(FILE))
    form = fields(browser.get(TAKE_OVER).text)
    house.record(fact_of(replace(FILE, source="git:others")))
    head = house.store.head()
    assert browser.post(TAKE_OVER, data=form).status_code == 409
    assert browser.post(TAKE_OVER, data={"reason": "x"}).status_code == 409, "nothing was looked at"
    assert house.store.head() == head


def test_a_hostile_path_in_git_is_text(house: House, browser: TestClient) -> None:
    house.record(fact_of(replace(FILE, path=HOSTILE, branch=HOSTILE)))
    text = browser.get(TAKE_OVER).text
    assert "&lt;img src=x" in text
    assert "<img src=x" not in text


def test_a_spec_is_handed_over_to_a_binding_whose_file_declares_it_from_then_on() -> None:
    git = bound()
    browser = git.house.browser("ada", OWNER)
    assert f'href="{TAKE_OVER}">move to git' in browser.get(PAGE).text
    assert f'href="{TO_GIT}">hand it over to git:teams' in browser.get(TAKE_OVER).text
    head = git.house.store.head()
    text = browser.get(TO_GIT).text
    assert "https://git.example.org/specs.git, branch main. These pages" in text
    assert "generation 1 stays in force until a file there declares orders" in text
    assert git.house.store.head() == head
    answer = browser.post(TO_GIT, data=fields(text, reason="the team wants reviews"))
    assert (answer.status_code, answer.headers["location"]) == (303, PAGE)
    (changed,) = git.house.store.read_all(head)
    assert (changed.type, changed.actor, changed.data["source"]) == (
        "cluster.source_changed",
        "person:ada",
        "git:teams",
    )
    assert git.rung == ["teams"], "the repository is looked at now"
    assert "the spec comes from git:teams: the team wants reviews" in browser.get(PAGE).text
    git.push({"orders.yaml": OURS.replace("4.1.1", "4.2.0")})
    assert (git.view().generation, git.status.state) == (2, "Synced")
    assert "comes from git:teams already" in browser.get(TO_GIT).text


def test_what_a_binding_could_not_do_is_said_before_it_is_given_the_say() -> None:
    git = bound(team="search", verbs=("create",), path="clusters")
    text = git.house.browser("ada", OWNER).get(TO_GIT).text
    assert "branch main, folder clusters" in text
    assert "Its team is payments and the binding is of search" in text
    assert "Commits of this binding may not change clusters" in text


@pytest.mark.parametrize("to", ["git:nothing", "nothing", "git:", "git:teams%20"])
def test_a_spec_is_not_handed_over_to_what_is_no_binding(to: str) -> None:
    git = bound()
    browser, head = git.house.browser("ada", OWNER), git.house.store.head()
    assert browser.get(f"{TAKE_OVER}?to={to}").status_code == 404
    assert browser.post(f"{TAKE_OVER}?to={to}").status_code == 404
    assert git.house.store.head() == head


def test_who_may_not_read_a_binding_hands_nothing_over_to_it() -> None:
    git = bound(team="search")
    paul = git.house.browser("paul", Binding("", Role.OWNER, "team:payments"))
    assert "move to git" not in paul.get(PAGE).text
    assert "specs.git" not in paul.get(TAKE_OVER).text
    assert paul.get(TO_GIT).status_code == 404


def test_who_may_not_take_over_finds_no_link_and_is_refused(house: House) -> None:
    house.record(fact_of(FILE))
    bob = house.browser("bob", OPERATOR)
    assert f'href="{TAKE_OVER}"' not in bob.get(PAGE).text
    assert {bob.get(TAKE_OVER).status_code, bob.post(TAKE_OVER).status_code} == {403}
    assert types(house).count("cluster.source_changed") == 1


def test_who_may_not_finds_no_link_and_is_refused(house: House) -> None:
    bob = house.browser("bob", OPERATOR)
    assert f'href="{DELETE}"' not in bob.get(PAGE).text
    assert bob.get(DELETE).status_code == 403
    assert bob.post(DELETE, data={"confirm": "orders"}).status_code == 403
    eve = house.browser("eve", Binding("", Role.OWNER, "team:search"))
    assert {eve.get(DELETE).status_code, eve.post(DELETE).status_code} == {404}
    assert "cluster.deletion_requested" not in types(house)
