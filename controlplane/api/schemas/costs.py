"""What the API says of costs. An amount is a decimal in quotes; what nobody has a price for is named, never 0."""

from datetime import date
from decimal import Decimal

from pydantic import Field

from controlplane.api.schemas.messages import Message


class MoneyOut(Message):
    """`currency` as in ISO 4217; without taxes."""

    amount: Decimal
    currency: str


class CostPartOut(Message):
    """One line of a bill. `amount` is null for unknown; `source` and `read` say where the price is from."""

    what: str
    amount: MoneyOut | None
    source: str = ""
    read: date | None = None
    kind: str = Field(default="", description="what such things are called together, as in `root disks`")
    count: int = Field(default=0, description="how many of them it stands for")


class KindOfCostOut(Message):
    """All parts of a bill of one kind: `totals` of those with a price, and how many things have none."""

    kind: str
    count: int
    totals: list[MoneyOut]
    without_price: int


class BillOut(Message):
    """`totals` leaves out what is in `unknown`: where that is not empty, they are the least it costs."""

    totals: list[MoneyOut]
    unknown: list[str]
    parts: list[CostPartOut]
    kinds: list[KindOfCostOut] = Field(default=[], description="the same by kind of thing")


class SurgeCostOut(Message):
    """VMs that stand twice while the roll replaces them, by the plan's estimate of time."""

    vm_hours: float
    bill: BillOut


class CrossingOut(Message):
    """What drains copy from zone to zone; `bytes` is null where Kafka was not read."""

    bytes: int | None
    unknown: list[str] = Field(description="nodes whose replicas nobody knows the way of")
    bill: BillOut


class PlanCostOut(Message):
    """Cost per month before and after, and of the roll itself."""

    before: BillOut | None = Field(description="null for a new cluster")
    after: BillOut
    difference: list[MoneyOut] | None = Field(description="null where it hangs on a price nobody knows")
    surge: SurgeCostOut | None
    crossing: CrossingOut | None
    old: list[str] = Field(description="sources that were read more than 90 days ago")
    problem: str = Field(default="", description="why the home's catalog.yaml could not be read")
