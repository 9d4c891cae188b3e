"""Fault injection as pages: said first, brought about once, by whoever may delete; and what followed each."""

import re
from dataclasses import replace
from html import unescape

import pytest
from fastapi.testclient import TestClient

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.read_models.chaos_report import fault_statuses
from controlplane.cluster.view import ChaosView, ClusterView
from controlplane.portal.app import create_app
from controlplane.storage.streams import cluster_stream
from events import facts
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.api.portal_house import House, brokers_as_declared, three_brokers
from tests.unit.controlplane.portal.test_portal_roles_matrix import OURS
from tests.unit.controlplane.portal.test_portal_topic_verbs import fields, types

OWNER, OPERATOR = Binding("", Role.OWNER, "*"), Binding("", Role.OPERATOR, "*")
PAGE = "/clusters/orders/chaos"
PAUSE = f"{PAGE}/ask?fault=pause&vms=brokers-a-0.g1&for_s=30&force=true"
AWS = OURS.replace(
    "{cloud: local, region: local-1, zones: [a, b, c]}",
    "{cloud: aws, region: eu-west-1, zones: [eu-west-1a, eu-west-1b, eu-west-1c]}",
)


class Hands:
    """Lends hands on every VM, and keeps what was done and whether it was on record by then."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.done: list[tuple[str, tuple[str, ...], bool]] = []
        house.app = create_app(replace(house.services, cluster=replace(house.services.cluster, harm=self)))

    def __call__(self, view: ClusterView, chaos: ChaosView) -> None:
        self.done.append((chaos.fault, chaos.keys, "chaos.injected" in types(self.house)))


def house_of(text: str = OURS) -> House:
    house = House()
    house.apply(text)
    house.join(*(brokers_as_declared(house.view()) if text == OURS else three_brokers()))
    house.snapshots[house.view().uid] = a_snapshot(a_partition("clicks-0"), at=house.now)
    return house


@pytest.fixture
def house() -> House:
    return house_of()


def browser_of(house: House, binding: Binding = OWNER) -> TestClient:
    return house.browser("ada", binding)


def test_a_fault_is_told_with_how_it_ends_and_nothing_is_recorded(house: House) -> None:
    hands, browser, head = Hands(house), browser_of(house), house.store.head()
    assert f'href="{PAGE}"' in browser.get("/clusters/orders").text
    form = browser.get(PAGE).text
    assert 'name="vms" value="brokers-a-0.g1"' in form
    assert "<option>split</option>" in form
    text = browser.get(PAUSE).text
    assert "Pause of brokers-a-0.g1 for 30 s." in text
    assert "Its processes go on when the time is over" in text
    assert "Forced" in text
    assert 'name="confirm"' not in text, "on the local cloud no name is typed"
    assert (house.store.head(), hands.done) == (head, [])


def test_a_yes_records_it_and_does_it_once_however_often_it_is_sent(house: House) -> None:
    hands, browser = Hands(house), browser_of(house)
    form = fields(browser.get(PAUSE).text, reason="game day")
    answers = [browser.post(PAUSE, data=form) for _ in range(2)]
    assert [(a.status_code, a.headers.get("location")) for a in answers] == [(303, PAGE)] * 2, answers[0].text
    assert hands.done == [("pause", ("brokers-a-0.g1",), True)]
    assert types(house).count("chaos.injected") == 1
    text = browser.get(PAGE).text
    assert "asked by ada: game day" in text
    assert "not over" in text
    assert "pause of brokers-a-0.g1 on purpose, asked by ada: game day" in browser.get("/clusters/orders").text


def test_where_no_hands_are_lent_the_page_says_so(house: House) -> None:
    browser = browser_of(house)
    answer = browser.post(PAUSE, data=fields(browser.get(PAUSE).text))
    assert (answer.status_code, "cannot control the VMs" in answer.text) == (409, True)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("fault=pause", "no VM was named"),
        ("fault=pause&vms=brokers-a-0.g1&for_s=0", "a fault lasts longer than 0 s"),
        ("fault=<b>&vms=brokers-a-0.g1", "there is no fault"),
        ("fault=pause&rack=z", "has no rack"),
        ("fault=pause&vms=brokers-a-0.g1&vms=brokers-b-0.g1&force=true", "racks a, b at once"),
    ],
)
def test_what_the_command_refuses_is_told_and_leads_back(house: House, asked: str, why: str) -> None:
    head = house.store.head()
    answer = browser_of(house).get(f"{PAGE}/ask?{asked}")
    assert (answer.status_code, why in answer.text) == (409, True), answer.text
    assert "<b>" not in answer.text
    assert 'href="/clusters/orders">Back to orders' in answer.text
    assert house.store.head() == head


def test_a_yes_to_a_cluster_that_is_unhealthy_by_now_is_refused(house: House) -> None:
    hands, browser, calm = Hands(house), browser_of(house), PAUSE.replace("&force=true", "")
    house.record(facts.RecycleCompleted(1))
    form = fields(browser.get(calm).text)
    house.snapshots[house.view().uid] = a_snapshot(a_partition("clicks-0", isr=(1001, 1002)), at=house.now)
    answer = browser.post(calm, data=form)
    assert (answer.status_code, hands.done) == (409, [])
    assert "not fully healthy" in answer.text


def test_off_the_local_cloud_the_spec_allows_it_and_the_name_is_typed() -> None:
    told = browser_of(house_of(AWS)).get(PAGE).text
    assert "its spec does not say <code>chaos: allowed</code>" in told
    assert 'name="vms"' not in told
    house = house_of(AWS + "  chaos: allowed\n")
    hands, browser = Hands(house), browser_of(house)
    form = browser.get(PAGE).text
    assert re.findall(r"<option>([\w-]+)</option>", form.partition('name="rack"')[0]) == ["kill-rack", "kill-vm"]
    kill = f"{PAGE}/ask?fault=kill-vm&vms=brokers-a-0.g1&force=true"
    text = browser.get(kill).text
    assert "It runs on aws: VMs are terminated there" in text
    assert browser.post(kill, data=fields(text)).status_code == 422
    assert hands.done == []
    assert browser.post(kill, data=fields(text, confirm="orders")).status_code == 303
    assert [fault for fault, _, _ in hands.done] == ["kill-vm"]


def test_who_may_not_delete_sees_what_came_of_faults_and_no_form(house: House) -> None:
    bob = house.browser("bob", OPERATOR)
    text = bob.get(PAGE).text
    assert "Whoever may delete the cluster may inject a fault" in text
    assert 'name="vms"' not in text
    assert {bob.get(PAUSE).status_code, bob.post(PAUSE).status_code} == {403}
    eve = house.browser("eve", Binding("", Role.VIEWER, "team:search"))
    assert eve.get(PAGE).status_code == 404


def fault(house: House, number: str, reason: str, *, follows: bool = True) -> None:
    house.record(facts.ChaosInjected(number, "kill-vm", ("brokers-a-0.g1",), 15.0, reason))
    house.pass_time(seconds=4)
    if follows:
        house.record(facts.ConditionChanged("Blocked", True, "Lost", "brokers-a-0.g1 is gone"))
        house.pass_time(seconds=26)
        house.record(facts.ConditionChanged("Blocked", False, "Cleared", ""))
    house.record(facts.ChaosEnded(number, "its 15 s are over"))
    house.pass_time(minutes=1)


def test_a_fault_is_told_with_what_kedge_recorded_until_the_next_one(house: House) -> None:
    fault(house, "one", "asked by ada: why not <i>")
    fault(house, "two", "asked by ada", follows=False)
    house.pass_time(minutes=10)
    house.record(facts.ConditionChanged("Blocked", True, "Other", "much later"))
    second, first = fault_statuses(house.store.read_stream(cluster_stream(house.view().uid)))
    assert (first.settled_s, first.ended_at is not None) == (30.0, True)
    assert second.followed == ()
    text = browser_of(house).get(PAGE).text
    assert "+4.0 s</span> Blocked is True (Lost): brokers-a-0.g1 is gone" in unescape(text)
    assert "why not &lt;i&gt;" in text
    assert "much later" not in text.partition("Events after each fault")[2]


GAME = f"{PAGE}/game?events=2&seed=7&faults=pause&force=true"


def test_a_game_day_is_told_first_then_on_record_once_and_shown_as_it_goes(house: House) -> None:
    browser, head = browser_of(house), house.store.head()
    assert 'action="/clusters/orders/chaos/game"' in browser.get(PAGE).text
    told = browser.get(GAME).text
    assert "A game day of 2 faults by seed 7: pause." in told
    assert house.store.head() == head
    form = fields(told, reason="weekly")
    answers = [browser.post(GAME, data=form) for _ in range(2)]
    assert [(a.status_code, a.headers.get("location")) for a in answers] == [(303, PAGE)] * 2, answers[1].text
    assert types(house).count("chaos.game_started") == 1
    text = browser.get(PAGE).text
    assert "In hand, waiting for full health before the first fault." in text
    assert 'action="/clusters/orders/chaos/game"' not in text, "one at a time"
    game = house.view().requests.game
    assert game is not None
    house.record(facts.ChaosInjected("c1", "pause", ("brokers-a-0.g1",), 15.0, "asked by ada", game=game.id))
    text = browser.get(PAGE).text
    assert "waits for full health" in text
    assert "1 fault: none judged yet</summary>" in text, "it is not said never to have been noticed"
    house.record(facts.FaultScored(game.id, "c1", 2.0, 20.5, 0.0, "<b> is down", ("Blocked/BrokerDown",)))
    text = browser.get(PAGE).text
    assert "&lt;b&gt; is down" in text
    assert "healthy after p50 20.5 s" in text
    log = browser.get("/events").text
    assert "a game day of 2 faults by seed 7, asked by" in log
    assert "noticed after 2 s, in full health after 20 s" in log


def test_a_game_day_is_ended_early_after_a_yes_and_its_report_stays(house: House) -> None:
    browser = browser_of(house)
    browser.post(GAME, data=fields(browser.get(GAME).text))
    (end,) = re.findall(r'href="(/clusters/orders/chaos/game/end[^"]+)"', browser.get(PAGE).text)
    form = fields(browser.get(unescape(end)).text, reason="lunch")
    answers = [browser.post(unescape(end), data=form) for _ in range(2)]
    assert [a.status_code for a in answers] == [303, 303], answers[1].text
    assert types(house).count("chaos.game_ended") == 1
    text = browser.get(PAGE).text
    assert "ended early, asked by ada: lunch" in text
    assert 'action="/clusters/orders/chaos/game"' in text
    assert browser.get(f"{PAGE}/game/end?game=nobody").status_code == 409


def test_who_may_not_delete_sees_a_game_day_and_no_way_to_begin_or_end_one(house: House) -> None:
    ada = browser_of(house)
    ada.post(GAME, data=fields(ada.get(GAME).text))
    bob = house.browser("bob", OPERATOR)
    text = bob.get(PAGE).text
    assert "In hand, waiting for full health" in text
    assert "chaos/game" not in text
    assert {bob.get(GAME).status_code, bob.post(f"{PAGE}/game/end?game=x").status_code} == {403}
