"""The cost of a plan, with the prices of the moment, and as the API says it."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal

from controlplane.api.schemas import costs as api
from controlplane.api.services import PortalServices
from controlplane.cluster.view import ClusterView
from controlplane.commands.previews.costs import Bill, CostPart, Crossing, KindOfCost, PlanCost, SurgeCost, plan_cost
from events.spec.model import KafkaClusterDocument
from planner.observed import KafkaSnapshot
from planner.rollout.steps import RolloutPlan
from providers.errors import PlaceUnknown
from providers.price_list import PriceList

_CENT, _SMALL = Decimal("0.01"), Decimal("0.0001")


def priced(
    services: PortalServices,
    view: ClusterView,
    document: KafkaClusterDocument,
    rollout: RolloutPlan,
    snapshot: KafkaSnapshot | None,
) -> PlanCost | None:
    """The cost of a plan. A `catalog.yaml` that makes no sense leaves every price unknown, and is told."""
    price_list, problem = price_list_of(services)
    today = services.clock().date()
    cost = plan_cost(view, document, rollout, snapshot=snapshot, price_list=price_list, today=today)
    return cost and replace(cost, problem=problem)


def price_list_of(services: PortalServices) -> tuple[PriceList, str]:
    """The prices of now, and why there are none where `catalog.yaml` makes no sense."""
    try:
        return services.fleet.prices(), ""
    except PlaceUnknown as error:
        return PriceList(), str(error)


def cost_out(cost: PlanCost | None) -> api.PlanCostOut | None:
    """The same for the API."""
    if cost is None:
        return None
    return api.PlanCostOut(
        before=bill_out(cost.before) if cost.before else None,
        after=bill_out(cost.after),
        difference=None if cost.difference is None else moneys_out(cost.difference),
        surge=_surge(cost.surge) if cost.surge else None,
        crossing=_crossing(cost.crossing) if cost.crossing else None,
        old=list(cost.old),
        problem=cost.problem,
    )


def bill_out(bill: Bill) -> api.BillOut:
    return api.BillOut(
        totals=moneys_out(bill.totals),
        unknown=list(bill.unknown),
        parts=[_part(part) for part in bill.parts],
        kinds=[_kind(one) for one in bill.kinds],
    )


def _kind(one: KindOfCost) -> api.KindOfCostOut:
    without = sum(one.bill.without_price.values())
    return api.KindOfCostOut(kind=one.kind, count=one.count, totals=moneys_out(one.bill.totals), without_price=without)


def moneys_out(sums: Mapping[str, Decimal]) -> list[api.MoneyOut]:
    """Sums for the API, by currency."""
    return [_money(amount, currency) for currency, amount in sorted(sums.items())]


def _surge(surge: SurgeCost) -> api.SurgeCostOut:
    return api.SurgeCostOut(vm_hours=round(float(surge.vm_hours), 3), bill=bill_out(surge.bill))


def _crossing(crossing: Crossing) -> api.CrossingOut:
    return api.CrossingOut(bytes=crossing.bytes, unknown=list(crossing.unknown), bill=bill_out(crossing.bill))


def _part(part: CostPart) -> api.CostPartOut:
    if part.price is None or part.amount is None:
        return api.CostPartOut(what=part.what, amount=None, kind=part.kind, count=part.count)
    return api.CostPartOut.like(
        part, amount=_money(part.amount, part.price.currency), source=part.price.source, read=part.price.read
    )


def _money(amount: Decimal, currency: str) -> api.MoneyOut:
    """To the cent; what is below 1 to a hundredth of it, so that little is not told as nothing."""
    step = _CENT if abs(amount) >= 1 or amount == 0 else _SMALL
    return api.MoneyOut(amount=amount.quantize(step, ROUND_HALF_UP), currency=currency)
