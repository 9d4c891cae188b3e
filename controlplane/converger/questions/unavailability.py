"""How many brokers may be away at a time, whoever took them away: `rollout.maxUnavailable`. Pure.

Stopping a broker that serves (a restart, a handover) waits while as many others are away as may be. One of ours is away
by what is recorded (its VM is gone, it is being restarted or handed over, a fault of `kedge chaos` has it), by the
young word of its agent (its cloud takes its VM back within minutes, too), or by Kafka's; one that Kafka does not know
counts, too. An agent that is silent is left to Kafka's word, as everywhere. Empty brokers on their way out, and new
ones that never served, are nobody's loss.

Repairs do not ask: a broker that is away already, or is stopped as its own cure, takes nothing from anybody. One whose
host goes down some other day does.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from controlplane.cluster.external_brokers import expected_externals, external_brokers
from controlplane.cluster.healing_switches import findings_being_cured
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.clouds.announced import announced_dates, preemptions
from controlplane.converger.questions.services.agent_evidence import is_unproved, says_it_is_down, why_not_serving
from controlplane.converger.questions.services.service_reports import service_report
from controlplane.converger.situation.situation import Situation
from controlplane.kafka.gates import Gate
from planner.maintenance import FINDING as MAINTENANCE_FINDING
from planner.observed import KafkaSnapshot
from providers.harm import Harm
from providers.notices import MaintenanceNotice

_SERVING = frozenset({Phase.JOINED, Phase.DRAINING})
_HANDED = frozenset({Phase.FENCING, Phase.FENCED, Phase.RELEASED})

_TAKEN_AWAY = frozenset(
    {Harm.PAUSE, Harm.SPLIT, Harm.LOSE_VOLUME, Harm.KILL_BROKER, Harm.KILL_VM, "kill-rack"}  # of a rack: each VM of it
)
"""Faults of chaos a broker does not serve under, whether Kafka has noticed or not."""


TAKEN_SOON = timedelta(minutes=5)
"""Whose VM is taken back within this is not counted on: a handover or a restart beside it may well last as long. Nor
is one for as long after its date; who is there later was left."""


@dataclass(frozen=True, slots=True)
class Away:
    """A broker that does not serve, or may not: why, and since when, None where that is not known."""

    broker: int
    name: str
    why: str
    since: datetime | None

    def __str__(self) -> str:
        known = f"since {self.since:%Y-%m-%d %H:%M:%S} UTC" if self.since else "(since when is not known)"
        return f"broker {self.broker}{self.name} is away {known}: {self.why}"


def most_away(view: ClusterView) -> int:
    """How many brokers may be away at a time. 0 is one: without any nobody could be restarted where it is."""
    return max(1, view.document.spec.rollout.max_unavailable) if view.document else 1


def may_go_away(situation: Situation, kafka: KafkaSnapshot, instance: InstanceView) -> Gate:
    """Whether this broker may be stopped on purpose, as far as the number of those away is concerned."""
    away = brokers_away(situation, kafka)
    if is_unproved(situation, kafka, instance) and not says_it_is_down(situation, instance):
        # It may well serve again: nobody else may be away beside it, and that it may be away itself excuses nothing.
        away = {broker: reason for broker, reason in away.items() if broker != instance.service_id}
    if instance.service_id in away or _is_unhealthy(situation, instance):
        return Gate(True, f"{instance.key} is away or unhealthy itself")
    most = most_away(situation.view)
    if len(away) < most:
        return Gate(True, f"{len(away)} brokers are away, {most} may be")
    first, *others = (away[broker] for broker in sorted(away))
    more = f"; and {len(others)} more" if others else ""
    return Gate(False, f"{first}{more} (at most {most} at a time, by rollout.maxUnavailable)")


def _is_unhealthy(situation: Situation, instance: InstanceView) -> bool:
    """Whether it is stopped as its own cure. One whose host goes down serves until then, and no longer goes where its
    cloud took that back: it is unhealthy only with the date at hand."""
    findings = findings_being_cured(situation.view, instance.node, instance.key)
    if findings - {MAINTENANCE_FINDING}:
        return True
    date = announced_dates(situation).get(instance.key) if findings else None
    return date is not None and _is_soon(situation, date)


def _is_soon(situation: Situation, date: datetime) -> bool:
    return abs(date - situation.now) <= TAKEN_SOON


def brokers_away(situation: Situation, kafka: KafkaSnapshot) -> Mapping[int, Away]:
    """By id, ours and those of others."""
    found = {away.broker: away for away in (*_others_away(situation, kafka), *_handed_over(situation.view))}
    for instance in situation.view.brokers():
        if instance.phase in _SERVING:
            # Whoever serves under an id now decides, whatever became of the one before.
            found.pop(instance.service_id, None)
    taken_back = preemptions(situation)
    for instance in situation.view.brokers():
        reason = _away(situation, kafka, instance, taken_back) if instance.phase in _SERVING else None
        if reason is not None:
            why, since = reason
            found[instance.service_id] = Away(instance.service_id, _name(instance), why, since)
    return found


def _away(
    situation: Situation,
    kafka: KafkaSnapshot,
    instance: InstanceView,
    taken_back: Mapping[str, MaintenanceNotice],
) -> tuple[str, datetime | None] | None:
    """Why it is away, and since when; None where it serves."""
    if instance.lost:
        return "its VM is gone", instance.lost_at
    restart = situation.view.settings.restarts.get(instance.key)
    if restart is not None and not restart.service:
        return "it is being restarted", restart.since
    for chaos in situation.view.requests.chaos.values():
        if instance.key in chaos.keys and chaos.fault in _TAKEN_AWAY:
            return f"chaos: {chaos.fault}", chaos.since
    taken = taken_back.get(instance.key)
    if taken is not None and taken.not_before is not None and _is_soon(situation, taken.not_before):
        return f"its cloud takes its VM back at {taken.not_before:%H:%M:%S} UTC", None
    since = situation.seen.health.misregistered.get(instance.service_id)
    report, against = service_report(situation, instance), why_not_serving(situation, kafka, instance)
    if report is not None and against:
        return against, min(since, report.since) if since else report.since
    if instance.service_id in kafka.live_brokers():
        return None
    known = instance.service_id in kafka.brokers
    return "it is down, by Kafka's word" if known else "Kafka does not know it", since


def _handed_over(view: ClusterView) -> Iterator[Away]:
    """Stopped, with their replicas on a disk that passes to the next one of their node."""
    for instance in view.brokers():
        if instance.phase in _HANDED and view.hands_over(instance):
            since = instance.departure.fenced_at or instance.since
            yield Away(instance.service_id, _name(instance), "it is being handed over", since)


def _others_away(situation: Situation, kafka: KafkaSnapshot) -> Iterator[Away]:
    """Brokers that others run: only Kafka tells of them, and whoever stopped one for good."""
    known = external_brokers(situation.view)
    for broker in expected_externals(situation.view):
        if broker not in kafka.live_brokers():
            yield Away(broker, "", "others run it, and it does not serve", known[broker].stopped_at)


def _name(instance: InstanceView) -> str:
    return f" ({instance.key}, rack {instance.planned.rack})"
