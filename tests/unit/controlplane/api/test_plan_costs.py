"""The cost of a plan on its way to people: through the judge, the API's answer, and the lines of `kedge plan`."""

from dataclasses import replace
from datetime import UTC, datetime

from controlplane.api.presenters import specs as spec_answers
from controlplane.api.presenters.plan_text import plan_lines
from controlplane.api.schemas.costs import PlanCostOut
from controlplane.api.schemas.specs import PlanOut
from controlplane.api.specs import Judged, judge
from providers.errors import PlaceUnknown
from providers.price_list import PriceList
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.price_pages import aws_page, price_list
from tests.unit.events.spec_texts import ORDERS

ON_AWS = ORDERS.replace(
    "{cloud: local, region: local-1, zones: [a, b, c]}",
    "{cloud: aws, region: eu-west-1, zones: [eu-west-1a, eu-west-1b, eu-west-1c]}",
).replace("medium", "small")
"""Six m7g.large, 330 GiB."""

TODAY = datetime(2026, 2, 1, tzinfo=UTC)


def judged(prices: PriceList, text: str = ON_AWS, now: datetime = TODAY) -> Judged:
    services = House().services
    services = replace(services, clock=lambda: now, fleet=replace(services.fleet, prices=lambda: prices))
    return judge(services, text, file="orders.yaml")


def plan(prices: PriceList, text: str = ON_AWS, now: datetime = TODAY) -> PlanOut:
    (found,) = judged(prices, text, now).plans
    return spec_answers.plan_out(found)


def cost(of: PlanOut) -> PlanCostOut:
    assert of.cost is not None
    return of.cost


def lines(of: PlanOut) -> list[str]:
    return [line.plain for line in plan_lines(of)]


def test_a_new_cluster_says_what_it_will_cost_a_month() -> None:
    told = plan(price_list())
    assert "  cost a month: 464.40 USD" in lines(told)
    assert [m.model_dump(mode="json") for m in cost(told).after.totals] == [{"amount": "464.40", "currency": "USD"}]


def test_each_line_of_the_bill_has_its_source_and_day() -> None:
    first = cost(plan(price_list())).after.parts[0].model_dump(mode="json")
    assert first == {
        "what": "controllers: 3 x m7g.large (aws eu-west-1)",
        "amount": {"amount": "219.00", "currency": "USD"},
        "source": "a price page",
        "read": "2026-01-01",
        "kind": "machines",
        "count": 3,
    }


def test_what_is_unknown_is_named_and_not_counted_as_0() -> None:
    told = lines(plan(price_list(aws_page(disks={}))))
    assert "  cost a month: at least 438.00 USD, without price: data disks (6)" in told
    assert "    machines (6): 438.00 USD" in told
    assert "    data disks (6): unknown" in told
    assert "    unknown: brokers: 3 x 100 GiB persistent (aws eu-west-1)" in told


def test_without_any_price_the_cost_is_unknown() -> None:
    told = plan(PriceList())
    assert "  cost a month: unknown" in lines(told)
    assert cost(told).after.totals == []
    assert all(part.amount is None for part in cost(told).after.parts)


def test_a_plan_on_the_local_cloud_says_nothing_of_costs() -> None:
    told = plan(price_list(), ORDERS)
    assert told.cost is None
    assert not any("cost" in line for line in lines(told))


def test_an_old_price_is_flagged() -> None:
    told = lines(plan(price_list(), now=datetime(2026, 4, 2, tzinfo=UTC)))
    assert "  old price: a price page (read 2026-01-01)" in told


def test_a_catalog_that_cannot_be_read_stops_no_plan() -> None:
    def broken() -> PriceList:
        raise PlaceUnknown("catalog.yaml: no sense")

    services = House().services
    services = replace(services, fleet=replace(services.fleet, prices=broken))
    (found,) = judge(services, ON_AWS, file="orders.yaml").plans
    told = lines(spec_answers.plan_out(found))
    assert "  cost a month: unknown" in told
    assert "  prices were not read: catalog.yaml: no sense" in told


def test_a_price_read_anew_does_not_move_a_plan() -> None:
    """A person who said yes said it to the steps; `apply` must not refuse because a price changed."""
    assert judged(price_list()).digest == judged(PriceList()).digest


def test_the_plan_of_the_server_tells_the_cost() -> None:
    answer = House().client.post("/v1/plan", json={"text": ON_AWS, "file": "orders.yaml"})
    assert answer.status_code == 200
    assert answer.json()["plans"][0]["cost"]["after"]["totals"] == []
