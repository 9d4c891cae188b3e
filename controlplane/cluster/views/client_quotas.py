"""The part of the view that quotas of the cluster's spec are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from planner.rights.wanted import QuotaEntity


@dataclass(frozen=True, slots=True)
class QuotaChangeView:
    """The change in hand, as `QuotasChangeRequested` says."""

    id: str
    quotas: Mapping[QuotaEntity, Mapping[str, int | None]]
    requested_at: datetime


@dataclass(frozen=True, slots=True)
class ClientQuotasView:
    """What Kafka was last seen to have of what specs declared: Kedge's, until it has been taken away."""

    owned: Mapping[QuotaEntity, Mapping[str, int]] = field(default_factory=lambda: MappingProxyType({}))
    change: QuotaChangeView | None = None
    changes: int = 0
    """Changes begun, ever."""
    refused: str = ""
    """Why Kafka said no, "" where it did not: it is asked again for another spec, or once a person says so."""
