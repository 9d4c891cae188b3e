"""Figures somebody read somewhere: each with what it was read from and when. A figure nobody read is None, never 0."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

OLD_AFTER_DAYS = 90
"""A figure read longer ago is shown, counted, and flagged."""

HOURS_PER_MONTH = Decimal(730)
"""A twelfth of 365 days of 24 hours: how a price per hour becomes one per month, and the other way round."""


@dataclass(frozen=True, slots=True)
class CatalogFigure:
    """`source` is what it was read from, in words; `read` the day."""

    value: Decimal
    source: str
    read: date

    def is_old(self, today: date) -> bool:
        """Whether it was read more than `OLD_AFTER_DAYS` ago."""
        return is_old(self.read, today)


@dataclass(frozen=True, slots=True)
class Price(CatalogFigure):
    """Money without taxes. `currency` as in ISO 4217."""

    currency: str


def is_old(read: date, today: date) -> bool:
    """Whether what was read that day is older than `OLD_AFTER_DAYS`."""
    return (today - read).days > OLD_AFTER_DAYS
