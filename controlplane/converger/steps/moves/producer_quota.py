"""Producers are slowed while a disk is nearly full, beside whatever else a tick decides, where the spec asks for it.

producer_quota.lowered -> set -> producer_quota.restore_requested -> put back -> producer_quota.restored

The quota is the default one of users. What was there is recorded before it is touched, and comes back; one that
somebody sets meanwhile stays, and so does one that is lower anyway.
"""

import math

from controlplane.cluster.external_brokers import is_shared
from controlplane.cluster.holds import hold_on
from controlplane.cluster.views.producer_quota import ProducerQuotaView
from controlplane.converger.questions.rolls.disk_limits import disk_limits
from controlplane.converger.situation.decision import Decision, act, record
from controlplane.converger.situation.effects import SetProducerQuota
from controlplane.converger.situation.situation import Situation
from events import facts
from planner.disk_protection import producer_rate
from planner.quantities import human_bytes


def with_producer_quota(situation: Situation, decision: Decision) -> Decision:
    """The decision, with what is done about producers beside it. What it has to record comes first."""
    view = situation.view
    if decision.events or view.history.unreadable or view.requests.held or view.deleted:
        return decision
    seen, quota = situation.seen.access.producer_quota, view.settings.producer_quota
    if seen is None:
        return decision
    found = _lowered(situation, seen.bytes_per_s) if quota is None else _in_force(situation, quota, seen.bytes_per_s)
    return decision if found is None else decision.and_beside(found)


def _lowered(situation: Situation, there: float | None) -> Decision | None:
    view, limits, kafka = situation.view, disk_limits(situation), situation.seen.fresh_kafka(situation.now)
    near = [n for n in limits.near if n.slows] if limits is not None else []
    if not near or kafka is None or is_shared(view) or view.requests.tombstone:
        return None
    if hold_on(view, situation.now) is not None:
        return None
    replicas = max((len(p.target) for p in kafka.partitions), default=1)
    rate = producer_rate(min(n.free_bytes for n in near), replicas)
    if there is not None and there <= rate:
        return None
    reason = "; ".join(n.words for n in near)
    lowered = facts.ProducerQuotaLowered(rate, there, reason)
    return record(f"producers are slowed to {human_bytes(rate)}/s a broker: {reason}", lowered)


def _in_force(situation: Situation, quota: ProducerQuotaView, there: float | None) -> Decision | None:
    if quota.ending:
        if _same(there, quota.bytes_per_s):
            words = "none" if quota.before is None else f"{human_bytes(quota.before)}/s"
            return act(f"putting back the default quota of producers: {words}", SetProducerQuota(quota.before))
        return record(f"producers are slowed no more: {quota.ending}", facts.ProducerQuotaRestored(there))
    over = _why_over(situation)
    if over:
        return record(f"producers are to be slowed no more: {over}", facts.ProducerQuotaRestoreRequested(over))
    if _same(there, quota.before):
        return act(f"slowing producers to {human_bytes(quota.bytes_per_s)}/s", SetProducerQuota(quota.bytes_per_s))
    return None


def _why_over(situation: Situation) -> str:
    """Why producers may go on as before, "" while they may not. Brokers that have not told may be full."""
    view, limits = situation.view, disk_limits(situation)
    spec = view.document.spec if view.document is not None else None
    if view.requests.tombstone:
        return "the cluster is being deleted"
    if spec is None or not any(pool.disk.protect == "quota" for pool in spec.pools if pool.is_broker):
        return "the spec asks for it no more"
    if limits is None or limits.unknown or any(n.slows for n in limits.near):
        return ""
    return "no disk is nearly full any more, or it grows"


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-6)
