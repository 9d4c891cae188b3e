"""How `kedge plan` words costs: of a change, of the roll, and of bytes from zone to zone."""

from decimal import Decimal
from typing import Any

import pytest

from controlplane.api.presenters.cost_text import cost_lines
from controlplane.api.schemas.costs import BillOut, CrossingOut, MoneyOut, PlanCostOut, SurgeCostOut
from tests.unit.controlplane.cli.cli_world import World, plan_of, plans_of, snapshot


def usd(amount: str) -> MoneyOut:
    return MoneyOut(amount=Decimal(amount), currency="USD")


def bill(*totals: MoneyOut, unknown: tuple[str, ...] = ()) -> BillOut:
    return BillOut(totals=list(totals), unknown=list(unknown), parts=[])


def cost(**changes: Any) -> PlanCostOut:
    """A roll that makes the cluster 24 USD dearer."""
    given: dict[str, Any] = {
        "before": bill(usd("464.40")),
        "after": bill(usd("488.40")),
        "difference": [usd("24.00")],
        "surge": SurgeCostOut(vm_hours=0.25, bill=bill(usd("0.0411"))),
        "crossing": CrossingOut(bytes=7 * 2**30, unknown=[], bill=bill(usd("0.14"))),
        "old": [],
    }
    return PlanCostOut(**given | changes)


def words(**changes: Any) -> str:
    return "\n".join(line.plain for line in cost_lines(plan_of(cost=cost(**changes))))


def test_plan_shows_cost_beside_time_and_bytes(world: World) -> None:
    world.server.plans(plans_of(plan_of(cost=cost())))
    snapshot("plan-cost.txt", world.run("plan", "-f", world.spec()).stdout)


def test_plan_writes_cost_into_its_document(world: World) -> None:
    world.server.plans(plans_of(plan_of(cost=cost())))
    snapshot("plan-cost.json", world.run("plan", "-f", world.spec(), "--json").stdout)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"difference": [usd("-24.00")]}, "488.40 USD (-24.00 USD)"),
        ({"difference": [usd("0")]}, "488.40 USD (no known difference)"),
        ({"difference": None}, "488.40 USD, now 464.40 USD; the difference is unknown"),
        ({"before": None}, "cost a month: 488.40 USD\n"),
        ({"after": bill(unknown=("disks",)), "difference": None}, "cost a month: unknown, now 464.40 USD"),
        ({"after": bill(unknown=("disks",))}, "    unknown: disks"),
        (
            {"surge": SurgeCostOut(vm_hours=2.0, bill=bill(unknown=("VMs",)))},
            "the roll: 2 VM-hours beside the old ones, unknown",
        ),
        (
            {"crossing": CrossingOut(bytes=None, unknown=["a-0"], bill=bill())},
            "zone to zone: unknown, Kafka was not read",
        ),
        ({"crossing": CrossingOut(bytes=2**30, unknown=[], bill=bill(unknown=("b",)))}, "about 1.0 GiB, price unknown"),
        ({"crossing": CrossingOut(bytes=0, unknown=["a-0"], bill=bill())}, "about 0 B, unknown of a-0"),
    ],
)
def test_costs_in_words(changes: dict[str, Any], says: str) -> None:
    assert says in words(**changes)


def test_money_of_two_currencies_is_not_added_up() -> None:
    euro = MoneyOut(amount=Decimal("3.00"), currency="EUR")
    assert "3.00 EUR + 4.00 USD" in words(after=bill(euro, usd("4.00")), before=None)
