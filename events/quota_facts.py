"""A quota of producers that Kedge lowers while a disk is nearly full: part of a cluster's stream, see `facts`."""

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
