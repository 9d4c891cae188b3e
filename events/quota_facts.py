"""Quotas of clients that are not of one user: those that the spec of a cluster declares, and that of producers which
Kedge lowers while a disk is nearly full. Part of a cluster's stream, see `facts`."""

from collections.abc import Mapping
from dataclasses import dataclass

from events.registry import fact


@fact("producer_quota.lowered", schema=1)
@dataclass(frozen=True, slots=True)
class ProducerQuotaLowered:
    """The default quota of users, `producer_byte_rate`, is to be `bytes_per_s` on each broker. `before`: what somebody
    had set until then, None where nobody had: to be put back."""

    bytes_per_s: float
    before: float | None
    reason: str


@fact("producer_quota.restore_requested", schema=1)
@dataclass(frozen=True, slots=True)
class ProducerQuotaRestoreRequested:
    """What was there before is to be put back."""

    reason: str


@fact("producer_quota.restored", schema=1)
@dataclass(frozen=True, slots=True)
class ProducerQuotaRestored:
    """It is there again, or what somebody has set meanwhile: `found`, None for no quota at all."""

    found: float | None


@dataclass(frozen=True, slots=True)
class EntityQuota:
    """Quotas of one entity: (type, name) pairs in order, as `(("client-id", "app"), ("user", None))`; None: the default
    of that type. `values` are by Kafka's names; None takes one away."""

    entity: tuple[tuple[str, str | None], ...]
    values: Mapping[str, int | None]


@fact("quotas.change_requested", schema=1)
@dataclass(frozen=True, slots=True)
class QuotasChangeRequested:
    """These quotas are to be so in Kafka, as `spec.quotas` of the cluster says."""

    change: str
    quotas: tuple[EntityQuota, ...]
    reason: str


@fact("quotas.changed", schema=1)
@dataclass(frozen=True, slots=True)
class QuotasChanged:
    """Kafka shows what was asked for; `change` "" where nothing had to be changed. `quotas`: all that are the spec's
    from here on, so that they can be taken away with it. `refused`: why Kafka said no, "" where it did not."""

    change: str
    quotas: tuple[EntityQuota, ...]
    refused: str = ""
