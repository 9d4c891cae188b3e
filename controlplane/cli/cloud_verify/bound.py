"""The most that verifying a cloud may cost, before anything is made. Pure."""

from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from math import ceil

from controlplane.api.schemas.costs import MoneyOut, PlanCostOut

_HOURS_A_MONTH = Decimal(730)
"""As in the catalogue: prices by the hour are told by the month."""
_AT_ONCE = 2
"""VMs of a node while it is replaced, with a disk each."""
_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class CostBound:
    """`most` in each currency, for `hours`; `unknown` names what nobody has a price for, which is not in it."""

    hours: int
    most: tuple[MoneyOut, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether all of it has a price."""
        return not self.unknown

    def exceeds(self, ceiling: Decimal) -> bool:
        """In any currency: nobody knows here what one is in another."""
        return any(one.amount > ceiling for one in self.most)

    def __str__(self) -> str:
        amounts = " + ".join(f"{one.amount} {one.currency}" for one in self.most)
        told = f"at most {amounts} in {self.hours} h" if amounts else "nobody knows what it costs"
        return f"{told}; without a price: {', '.join(self.unknown)}" if self.unknown and amounts else told


def cost_bound(cost: PlanCostOut | None, *, limit_s: float) -> CostBound | None:
    """Two VMs of each node for all of `limit_s` and the deletion after it, as long, in whole hours: some clouds bill by
    the hour begun. None where the cloud sells nothing."""
    if cost is None:
        return None
    hours = max(1, ceil(2 * limit_s / 3600))
    most = tuple(
        MoneyOut(amount=_upwards(total.amount * _AT_ONCE * hours / _HOURS_A_MONTH), currency=total.currency)
        for total in cost.after.totals
        if total.amount
    )
    return CostBound(hours, most, tuple(cost.after.unknown))


def _upwards(amount: Decimal) -> Decimal:
    return amount.quantize(_CENT, rounding=ROUND_UP)
