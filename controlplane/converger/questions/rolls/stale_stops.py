"""Orders that were not heard in time: a stop, or another start, of a service that still serves as it did before.

What its gate saw is old by then: another broker may have died, and an agent that hears again would obey all the same.
So such a document is kept back until its gate is open once more (`stale_orders`); a younger one too, for as long as
another service is seen to have gone since (`stale_gates`). Who does not run any more takes nothing from anybody, and is
told at once. Pure.
"""

from collections.abc import Container, Iterator
from datetime import datetime, timedelta

from controlplane.cluster.folds.orders import HOLDS_FOR
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.quorum_config import has_stop_order
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView, vm_of
from controlplane.cluster.views.members import services_on
from controlplane.converger.questions.documents import is_doomed
from controlplane.converger.questions.rolls.stale_gates import LastReport, somebody_has_gone
from controlplane.converger.questions.services.service_reports import start_id
from controlplane.converger.situation.situation import Situation

_RUNS = frozenset({"running", "starting"})

ON_ITS_WAY = timedelta(seconds=45)
"""How long after its date an order may still be obeyed: it is given for `HOLDS_FOR`, and an agent takes no answer that
is older than 10 s (`agent.talk`)."""


def may_have_stale_stop(view: ClusterView, key: str) -> bool:
    """Whether the VM was given an order: a cheap no, before anybody looks up reports."""
    return any(vm_of(name) == key for name in view.settings.orders)


def has_stale_stop(view: ClusterView, key: str, last: LastReport, now: datetime) -> bool:
    """Whether the VM's document is not to be given now."""
    return any(
        now - at > HOLDS_FOR or somebody_has_gone(view, at, last, now, but=key)
        for _, at in _unheard_on(view, key, last(key))
    )


def stale_orders(situation: Situation) -> tuple[InstanceView, ...]:
    """Services that serve on though they were told otherwise, too long ago to be obeyed now."""
    view, reports = situation.view, situation.seen.reports
    keys = sorted({vm_of(name) for name in view.settings.orders})
    return tuple(s for key in keys for s in _late_on(view, key, reports.get(key), situation.now))


def is_late(situation: Situation, service: InstanceView) -> bool:
    """Whether this one is among them."""
    reports = situation.seen.reports
    late = _late_on(situation.view, service.key, reports.get(service.key), situation.now)
    return any(s.service_key == service.service_key for s in late)


def on_its_way(situation: Situation, *, but: Container[str]) -> str:
    """Another service that may obey an order any moment, the names in `but` excepted; "" where none may. Until then it
    serves and Kafka counts on it: whoever is stopped beside it is not to."""
    dates = situation.view.settings.orders.items()
    return next((name for name, at in dates if name not in but and situation.now - at <= ON_ITS_WAY), "")


def _late_on(view: ClusterView, key: str, seen: ReportSeen | None, now: datetime) -> Iterator[InstanceView]:
    return (service for service, at in _unheard_on(view, key, seen) if now - at > HOLDS_FOR)


def _unheard_on(view: ClusterView, key: str, seen: ReportSeen | None) -> Iterator[tuple[InstanceView, datetime]]:
    """Its services that run on though they were told otherwise, and when they were, by its last report."""
    instance = view.instances.get(key)
    if not view.settings.orders or instance is None or instance.lost or seen is None or is_doomed(view):
        return
    for service in services_on(instance):
        asked_at = view.settings.orders.get(service.service_key)
        report = seen.service(service.planned.service)
        if asked_at is None or report is None or report.state not in _RUNS:
            continue
        stops = service.phase is Phase.FENCING or has_stop_order(view, service)
        if stops or report.start_id != start_id(service):
            yield service, asked_at
