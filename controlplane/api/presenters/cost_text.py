"""What a plan costs, in a few lines. Unknown is said, never 0."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from controlplane.api.schemas.costs import BillOut, CrossingOut, KindOfCostOut, MoneyOut, PlanCostOut, SurgeCostOut
from controlplane.api.schemas.specs import PlanOut
from controlplane.runtime.styled_text import styled
from planner.quantities import human_bytes


def cost_lines(plan: PlanOut) -> Iterator[Text]:
    """Per month, of the roll, between zones; nothing where no cloud of it sells anything."""
    cost = plan.cost
    if cost is None:
        return
    yield styled(f"  cost a month: {_month(cost)}")
    for kind in cost.after.kinds:
        yield styled(f"    {kind.kind} ({kind.count}): {_kind(kind)}")
    for part in cost.after.unknown:
        yield styled(f"    unknown: {part}", "yellow")
    if cost.surge is not None:
        yield styled(f"  cost of the roll: {_surge(cost.surge)}")
    if cost.crossing is not None:
        yield styled(f"  from zone to zone: {_crossing(cost.crossing)}")
    for source in cost.old:
        yield styled(f"  old price: {source}", "yellow")
    if cost.problem:
        yield styled(f"  prices were not read: {cost.problem}", "yellow")


def money_words(moneys: Sequence[MoneyOut]) -> str:
    """`12.40 EUR`, several currencies with `+`."""
    return " + ".join(f"{m.amount} {m.currency}" for m in moneys)


def bill_words(bill: BillOut) -> str:
    """`464.40 USD`, or `at least 464.40 USD, without price: root disks (3)`."""
    if not bill.unknown:
        return money_words(bill.totals) or "nothing"
    if not bill.totals:
        return "unknown"
    missing = [f"{kind.kind} ({kind.without_price})" for kind in bill.kinds if kind.without_price]
    return f"at least {money_words(bill.totals)}, without price: {', '.join(missing or bill.unknown)}"


def difference_words(difference: Sequence[MoneyOut]) -> str:
    """`+24.00 USD`."""
    changes = [f"{m.amount:+f} {m.currency}" for m in difference if m.amount]
    return ", ".join(changes) or "no known difference"


def _month(cost: PlanCostOut) -> str:
    if cost.before is None:
        return bill_words(cost.after)
    if cost.difference is None:
        return f"{bill_words(cost.after)}, now {bill_words(cost.before)}; the difference is unknown"
    return f"{bill_words(cost.after)} ({difference_words(cost.difference)})"


def _kind(kind: KindOfCostOut) -> str:
    if not kind.without_price:
        return money_words(kind.totals) or "nothing"
    if not kind.totals:
        return "unknown"
    return f"at least {money_words(kind.totals)}, {kind.without_price} without price"


def _surge(surge: SurgeCostOut) -> str:
    return f"{surge.vm_hours:g} VM-hours beside the old ones, {bill_words(surge.bill)}"


def _crossing(crossing: CrossingOut) -> str:
    if crossing.bytes is None:
        return "unknown, Kafka was not read"
    others = f", unknown of {', '.join(crossing.unknown)}" if crossing.unknown else ""
    price = money_words(crossing.bill.totals) if not crossing.bill.unknown else "price unknown"
    return f"about {human_bytes(crossing.bytes)}{f', {price}' if price and crossing.bytes else ''}{others}"
