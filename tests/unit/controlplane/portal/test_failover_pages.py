"""The pages of pairs: the list, one pair, and what is ordered of it, by whom and with what refused."""

import dataclasses
import re
from dataclasses import dataclass, replace
from html import unescape

import pytest
from fastapi.testclient import TestClient

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.cluster.commands import CommandRefused
from controlplane.commands.failover_orders import OrderFailover, PairOutcome
from controlplane.commands.failovers import FailoverService
from controlplane.fleet.failovers.troubles import PairTroubles
from controlplane.fleet.failovers.view import OrderView, PairState, PairView
from controlplane.portal.app import create_app
from controlplane.portal.failovers import stages_of
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.api.test_failover_routes import fences, house as house, pair, seeded  # the same clusters
from tests.unit.controlplane.portal.test_portal_topic_verbs import fields

OWNER, OPERATOR = Binding("", Role.OWNER, "team:sales"), Binding("", Role.OPERATOR, "team:sales")
VIEWER, THEIRS = Binding("", Role.VIEWER, "team:sales"), Binding("", Role.ADMIN, "team:search")
PAGE = "/failovers/both"
ASKING = ("/failover", "/abort", "/certify-shut", "/withdraw")


@pytest.fixture
def paired(house: House) -> House:
    house.apply(pair())
    return house


@dataclass
class Troubled:
    """The same house where something stands in the way of its pairs."""

    house: House
    troubles: PairTroubles

    def browser(self) -> TestClient:
        services = self.house.services
        service = services.fleet.failovers
        assert isinstance(service, FailoverService)
        told = replace(service, in_its_way=lambda pair: self.troubles)
        self.house.app = create_app(replace(services, fleet=replace(services.fleet, failovers=told)))
        return self.house.browser("ada", OWNER)


class SomebodyElseFirst(FailoverService):
    """What it plans is refused when it is ordered."""

    def order(self, command: OrderFailover) -> PairOutcome:
        raise CommandRefused("failover-in-hand", "somebody else was first", "Look again.")


def text_of(browser: TestClient, path: str, *, status: int = 200) -> str:
    """What a person reads there."""
    answer = browser.get(path)
    assert answer.status_code == status, answer.text
    return words(answer.text)


def words(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def answered(browser: TestClient, path: str, **typed: str) -> tuple[int, str]:
    """What came of the form there, sent with that."""
    done = browser.post(path, data={**fields(browser.get(path).text), **typed})
    return done.status_code, words(done.text) or done.headers.get("location", "")


def ordered(house: House, browser: TestClient) -> str:
    """A failover is in hand."""
    seeded(house)
    assert answered(browser, f"{PAGE}/failover?planned=true", confirm="both", reason="drill") == (303, PAGE)
    order = house.services.fleet.failovers.get("both").view.order
    assert order is not None
    return order.id


def test_where_there_is_none_the_page_says_how_one_is_declared(house: House) -> None:
    text = text_of(house.browser("ada", OWNER), "/failovers")
    assert "No pair yet" in text
    assert "kind: KafkaFailover" in text
    assert "kedge apply -f" in text


def test_pairs_are_listed_with_what_comes_next(paired: House) -> None:
    browser = paired.browser("ada", VIEWER)
    text = text_of(browser, "/failovers")
    assert "cold orders → orders-us Seeding none" in text
    assert "the door of the standby is closing by order 1, and not proved shut" in text
    assert f'href="{PAGE}"' in browser.get("/failovers").text


def test_pairs_of_others_are_not_there(paired: House) -> None:
    sue = paired.browser("sue", THEIRS)
    assert PAGE not in sue.get("/failovers").text
    half = paired.browser("hal", Binding("", Role.ADMIN, "cluster:orders"))
    assert PAGE not in half.get("/failovers").text
    for browser in (sue, half):
        for path in ("", *ASKING):
            assert browser.get(f"{PAGE}{path}").status_code == 404
        for path in ASKING:
            assert browser.post(f"{PAGE}{path}", data={"confirm": "both", "reason": "mine"}).status_code == 404
    assert PAGE not in half.get("/clusters/orders").text


def test_a_pair_is_shown_with_both_clusters_its_doors_its_name_and_the_plan(paired: House) -> None:
    seeded(paired)
    browser = paired.browser("ada", VIEWER)
    text, page = text_of(browser, PAGE), browser.get(PAGE).text
    assert "orders orders-us Role primary standby" in text
    assert "Door open shut by order 1" in text
    assert "The name leads here yes –" in text
    assert {'href="/clusters/orders"', 'href="/clusters/orders-us"'} <= set(re.findall(r'href="[^"]*"', page))
    assert "both.example is to lead to orders." in text
    assert "active Standby" in text
    assert "waiting Preparing → · waiting Flipping → · waiting Fencing → · waiting Promoting" in text
    assert "Steps of a planned failover from orders to orders-us" in text
    assert "Point of no return: from here on only another failover leads back" in text
    assert "every record stays on the old primary" in text
    assert "failover.seeded" in text
    assert not re.findall(rf'href="{PAGE}/', page), "who may only look is offered nothing"
    assert "every 3s" not in page


def test_what_is_in_hand_and_what_stands_in_its_way_is_said(paired: House) -> None:
    order = ordered(paired, paired.browser("ops", OPERATOR))
    fences(paired, order)
    troubles = PairTroubles(
        {"brokers-a-0.g1": "its agent has been <b>silent</b>"}, "its server answers: REFUSED", "orders-us is paused"
    )
    browser = Troubled(paired, troubles).browser()
    text, page = text_of(browser, PAGE), browser.get(PAGE).text
    assert f"planned failover {order} ; it can be aborted" in text
    assert "done Flipping → ▸ active Fencing → · waiting Promoting" in text
    assert "Not proved shut brokers-a-0.g1 : its agent has been <b>silent</b>" in text
    assert "<b>silent" not in page
    assert "Not so, or not known: its server answers: REFUSED" in text
    assert "Door closing by order 2 shut by order 1" in text
    assert "every 3s" in page, "what agents tell is no event"
    assert set(re.findall(rf'href="{PAGE}/([a-z-]+)', page)) == {"abort", "certify-shut"}
    asked = text_of(browser, f"{PAGE}/certify-shut")
    assert "Not proved of brokers-a-0.g1: its agent has been <b>silent</b>" in asked


def test_why_a_standby_cannot_be_made_ready_is_part_of_what_is_next(paired: House) -> None:
    ordered(paired, paired.browser("ops", OPERATOR))
    browser = Troubled(paired, PairTroubles(standby="orders-us cannot be made ready: it is paused")).browser()
    waits = "what the standby has is not known; orders-us cannot be made ready: it is paused"
    assert waits in text_of(browser, PAGE)
    assert waits in text_of(browser, "/failovers")


def test_a_failover_is_ordered_once_by_the_name_typed(paired: House) -> None:
    seeded(paired)
    browser = paired.browser("ada", OPERATOR)
    path = f"{PAGE}/failover?planned=true"
    head = paired.store.head()
    asked = text_of(browser, path)
    assert "orders-us takes over from orders, while orders is there and answers." in asked
    assert "every record stays on the old primary" in asked
    status, text = answered(browser, path, confirm="bot")
    assert (status, "“bot” is not its name: type both. Nothing was recorded." in text) == (422, True)
    assert paired.store.head() == head
    form = {**fields(browser.get(path).text), "confirm": "both", "reason": "drill"}
    assert browser.post(path, data=form).headers["location"] == PAGE
    order = paired.services.fleet.failovers.get("both").view.order
    assert order is not None
    assert order.planned
    again = browser.post(path, data=form)
    assert again.status_code == 409
    assert "is in hand: there is one at a time" in again.text
    assert paired.store.head() == head + 1


def test_an_unplanned_failover_needs_the_loss_accepted(paired: House) -> None:
    seeded(paired)
    browser = paired.browser("ada", OPERATOR)
    path = f"{PAGE}/failover?planned=false"
    assert "I have read what may be lost, and accept it" in text_of(browser, path)
    status, text = answered(browser, path, confirm="both")
    assert (status, "It has to be accepted. Nothing was recorded." in text) == (422, True)
    assert paired.services.fleet.failovers.get("both").view.order is None
    assert answered(browser, path, confirm="both", accept="true") == (303, PAGE)
    order = paired.services.fleet.failovers.get("both").view.order
    assert order is not None
    assert not order.planned


def test_what_would_be_refused_is_said_where_it_is_asked(paired: House) -> None:
    browser = paired.browser("ada", OWNER)
    assert "the pair is Seeding: its standby is not what it has to be" in text_of(browser, f"{PAGE}/failover")
    assert "no failover of both is in hand: there is nothing to abort" in text_of(browser, f"{PAGE}/abort")
    assert "no failover of both is in hand: no door is closed by one" in text_of(browser, f"{PAGE}/certify-shut")
    head = paired.store.head()
    for path in ("/failover", "/abort", "/certify-shut"):
        page = browser.get(f"{PAGE}{path}").text
        assert "It would be refused" in page
        assert 'name="confirm"' not in page
        assert browser.post(f"{PAGE}{path}", data={"confirm": "both", "reason": "x"}).status_code == 409
    assert paired.store.head() == head
    ordered(paired, browser)
    assert "is in hand: nothing was changed" in text_of(browser, f"{PAGE}/withdraw")


def test_what_was_shown_of_another_plan_orders_nothing(paired: House) -> None:
    seeded(paired)
    browser = paired.browser("ada", OPERATOR)
    form = {**fields(browser.get(f"{PAGE}/failover?planned=true").text), "confirm": "both"}
    paired.apply(pair().replace("size: 3", "size: 4"))
    head = paired.store.head()
    answer = browser.post(f"{PAGE}/failover?planned=true", data=form)
    assert answer.status_code == 409
    assert "Review it again" in answer.text
    assert paired.store.head() == head


def test_a_refusal_of_the_last_moment_is_told_with_the_form(paired: House) -> None:
    """Somebody else was first between the question and the order."""
    seeded(paired)
    service = paired.services.fleet.failovers
    assert isinstance(service, FailoverService)
    late = SomebodyElseFirst(**{one.name: getattr(service, one.name) for one in dataclasses.fields(service)})
    paired.app = create_app(replace(paired.services, fleet=replace(paired.services.fleet, failovers=late)))
    browser = paired.browser("ada", OPERATOR)
    status, text = answered(browser, f"{PAGE}/failover?planned=true", confirm="both", reason="drill")
    assert status == 409
    assert "Nothing was recorded. somebody else was first. Look again." in text
    assert "Type both to go on" in text


def test_a_persons_word_needs_a_reason_and_an_abort_leads_back(paired: House) -> None:
    browser = paired.browser("ada", OWNER)
    fences(paired, ordered(paired, browser))
    status, text = answered(browser, f"{PAGE}/certify-shut", confirm="both")
    assert (status, "A reason is needed. Nothing was recorded." in text) == (422, True)
    assert answered(browser, f"{PAGE}/certify-shut", confirm="both", reason="switched off") == (303, PAGE)
    view = paired.services.fleet.failovers.get("both").view
    assert view.doors[view.primary].is_shut
    assert answered(browser, f"{PAGE}/abort", confirm="both", reason="enough") == (303, PAGE)
    assert paired.services.fleet.failovers.get("both").view.state is PairState.ABORTING
    assert "active Aborting → · waiting Standby" in text_of(browser, PAGE)


def test_a_pair_is_withdrawn_by_the_name_typed(paired: House) -> None:
    browser = paired.browser("ada", OWNER)
    assert answered(browser, f"{PAGE}/withdraw", confirm="orders")[0] == 422
    assert answered(browser, f"{PAGE}/withdraw", confirm="both", reason="given up") == (303, "/failovers")
    assert "No pair yet" in text_of(browser, "/failovers")
    assert browser.get(PAGE).status_code == 404


def test_who_steers_orders_and_who_may_delete_certifies_and_withdraws(paired: House) -> None:
    seeded(paired)
    viewer, operator = paired.browser("vic", VIEWER), paired.browser("ops", OPERATOR)
    head = paired.store.head()
    for browser, paths in ((viewer, ASKING), (operator, ("/certify-shut", "/withdraw"))):
        for path in paths:
            assert browser.get(f"{PAGE}{path}").status_code == 403
            assert browser.post(f"{PAGE}{path}", data={"confirm": "both", "reason": "x"}).status_code == 403
    assert paired.store.head() == head
    offered = rf'href="{PAGE}/([a-z-]+)'
    assert set(re.findall(offered, operator.get(PAGE).text)) == {"failover"}
    owner = paired.browser("own", OWNER)
    assert set(re.findall(offered, owner.get(PAGE).text)) == {"failover", "withdraw"}


def test_a_form_without_the_token_of_its_session_orders_nothing(paired: House) -> None:
    seeded(paired)
    browser = paired.browser("ada", OWNER, csrf=False)
    for path in ASKING:
        refused = browser.post(f"{PAGE}{path}", data={"confirm": "both", "reason": "x"})
        assert refused.status_code == 403
        assert "this form is not of your session" in refused.text


def test_a_cluster_says_of_which_pair_it_is(paired: House) -> None:
    browser = paired.browser("ada", VIEWER)
    assert "Pair both : primary, its door is open" in text_of(browser, "/clusters/orders")
    assert "Pair both : standby, its door is closing" in text_of(browser, "/clusters/orders-us")
    assert '"/failovers/' not in paired.browser("sue", THEIRS).get("/clusters/search").text


@pytest.mark.parametrize(
    ("view", "names"),
    [
        (PairView(state=PairState.SEEDING), "Seeding Standby Preparing Flipping Fencing Promoting"),
        (
            PairView(state=PairState.REVERSING, is_warm=True),
            "Reversing Standby Preparing Flipping Fencing Draining Aligning Promoting",
        ),
        (
            PairView(state=PairState.FENCING, is_warm=True, order=OrderView("f", False, 1)),
            "Standby Preparing Flipping Fencing Promoting",
        ),
        (PairView(state=PairState.ABORTING, order=OrderView("f", True, 1)), "Aborting Standby"),
    ],
)
def test_the_row_of_steps_is_that_of_its_kind_of_failover(view: PairView, names: str) -> None:
    stages = stages_of(view)
    assert [stage.name for stage in stages] == names.split()
    at = [stage.mark for stage in stages].index("active")
    assert stages[at].name == view.state
    assert {stage.mark for stage in stages[:at]} <= {"done"}
    assert {stage.mark for stage in stages[at + 1 :]} <= {"waiting"}
