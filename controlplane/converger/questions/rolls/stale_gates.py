"""Who has gone since an order was given: what its gate saw is not true any more, however young it is. Pure.

    order given -> not heard -> another broker dies -> the agent hears again within the time an order counts

What counts is what is known when the agent asks: VMs recorded as lost, and the last words of the other agents. One that
has just fallen silent is unknown, not dead; the order waits for it all the same, and no longer than an order counts.
"""

from collections.abc import Callable, Container
from datetime import datetime

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.observed.report_pace import AT_WORK
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.members import services_on

LastReport = Callable[[str], ReportSeen | None]
"""The last report of an instance's agent, by its key; None where it never reported."""


def somebody_has_gone(view: ClusterView, asked_at: datetime, last: LastReport, now: datetime, *, but: str) -> bool:
    """Whether an instance that served when the order was given may serve no more. Its own VM is left out (`but`), and
    so is who was told to stop or to start anew: that was with a gate of its own."""
    others = (i for i in view.in_phase(Phase.JOINED) if i.key != but and i.key not in view.settings.orders)
    return any(_has_gone(view, i, asked_at, last, now) for i in others)


def _has_gone(view: ClusterView, instance: InstanceView, asked_at: datetime, last: LastReport, now: datetime) -> bool:
    if instance.lost_at is not None:
        return instance.lost_at > asked_at
    seen = last(instance.key)
    if seen is None:
        return False
    if _is_silent(seen, asked_at, now):
        return seen.received_at > asked_at - seen.pace.silent_after
    return any(_changed(seen, s, asked_at, view.settings.orders) for s in services_on(instance))


def _is_silent(seen: ReportSeen, asked_at: datetime, now: datetime) -> bool:
    """By the pace it was asked for, and, as an order is work in hand, by that pace from the order on."""
    since_order = now - max(seen.received_at, asked_at)
    return now - seen.received_at > seen.pace.silent_after or since_order > AT_WORK.silent_after


def _changed(seen: ReportSeen, service: InstanceView, asked_at: datetime, orders: Container[str]) -> bool:
    """Whether its process ended or began since."""
    report = seen.service(service.planned.service)
    return report is not None and service.service_key not in orders and seen.since(report) > asked_at
