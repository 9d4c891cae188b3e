"""Brokers that are there and do not serve: what their agents, Kafka and the cloud say of them, and what is told.

    runs, and Kafka has it otherwise for a minute           -> `registration_wrong`, cured by `healing`
    ends again and again for `healing.lostAfter`            -> `crash_loop`, its node gets a new VM
    no word of its agent, nor of Kafka's, for as long       -> `unreachable`, the same; its VM goes with proof alone

Grace first: a reboot, an upgrade of its agent, a freeze of seconds and a split are no loss. What is in hand, and faults
that people brought about, explain themselves.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from agent.wire import ServiceReport
from controlplane.cluster.external_brokers import expected_brokers
from controlplane.cluster.healing_switches import why_not
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.places import place_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.services.registrations import GRACE, is_running, misregistered
from controlplane.converger.questions.services.service_reports import service_report
from controlplane.converger.situation.situation import Situation
from events import facts
from planner.anomalies.kinds import Kind
from planner.breakdown import LEAST, MISREGISTERED, BreakdownContext, BreakdownKind, Broken, why_left
from planner.healing import Ailment
from planner.observed import KafkaSnapshot
from providers.base import InstanceState

BROKER_AWAY = "BrokerAway"

_REASONS: Mapping[BreakdownKind, str] = {
    BreakdownKind.CRASH_LOOP: "CrashLoop",
    BreakdownKind.UNREACHABLE: "Unreachable",
}
_SERVES = (Phase.JOINED, Phase.DRAINING)
_NO_ROOM_BYTES = 1 << 20
_NAMED = 3


def exits_of(view: ClusterView, reports: Mapping[str, ReportSeen], now: datetime) -> Mapping[str, int]:
    """By instance, how often its process has ended by itself on its VM, ever, by the young word of its agent."""
    found = {}
    for instance in view.in_phase(*_SERVES):
        seen = reports.get(instance.key)
        service = seen.service("broker") if seen is not None and seen.is_young(now) else None
        if instance.is_broker and service is not None and "unexpected_exits" in service.metrics:
            found[instance.key] = int(service.metrics["unexpected_exits"])
    return found


def broken_ailments(situation: Situation) -> Iterator[Ailment]:
    """What is to be cured of brokers that do not serve though their VM is there. Nothing where a person switched it
    off, where what is known is old, or where nothing says that the broker alone is the cause."""
    view, now = situation.view, situation.now
    if why_not(view, Kind.BROKER_FAILURE, now):
        return
    yield from _misregistered(situation)
    kafka, broken = situation.seen.fresh_kafka(now), broken_down(situation)
    if kafka is None:
        return
    for one in broken:
        if is_replaced(view, view.instances[one.key]) or now < one.due(_lost_after(situation)):
            continue
        if not why_left(one, broken, _around(situation, kafka, one)):
            yield Ailment(one.node, one.key, str(one.manner), one.since, one.words)


def waited_for(situation: Situation) -> Iterator[InstanceView]:
    """Instances that are to serve, and of brokers that are emptied those that have the only copy of something: nothing
    else waits for one that has its successor."""
    view, kafka = situation.view, situation.seen.fresh_kafka(situation.now)
    for instance in view.in_phase(*_SERVES):
        if instance.lost:
            continue
        if instance.phase is Phase.JOINED or (kafka is not None and kafka.may_have_only_copy(instance.service_id)):
            yield instance


def is_replaced(view: ClusterView, instance: InstanceView) -> bool:
    """Whether it gets a new VM, so that nothing else is done about it. One that is emptied for that has to serve until
    all it has is elsewhere."""
    return instance.key in view.requests.to_replace and instance.phase is not Phase.DRAINING


def broken_down(situation: Situation) -> tuple[Broken, ...]:
    """Brokers that end again and again, or that nobody hears, by what was seen so far; the longest away first."""
    view, away = situation.view, situation.seen.health.away
    there = [i for i in waited_for(situation) if i.key in away] if away else []
    found = (_broken(situation, instance) for instance in there if instance.key not in view.settings.restarts)
    return tuple(sorted((one for one in found if one is not None), key=lambda one: (one.since, one.key)))


def broker_away(situation: Situation) -> facts.ConditionChanged | None:
    """The condition: who, how, since when, and what is done about it or why nothing. None while that is not known."""
    kafka = situation.seen.kafka
    if kafka is None:
        return None
    broken = [one for one in broken_down(situation) if situation.now - one.since >= LEAST]
    if not broken:
        return facts.ConditionChanged(BROKER_AWAY, False, "Free", "")
    reasons = {_REASONS[one.manner] for one in broken}
    sentences = "; ".join(f"{one.words}: {_what_is_done(situation, kafka, one, broken)}" for one in broken[:_NAMED])
    more = f"; and {len(broken) - _NAMED} more" if len(broken) > _NAMED else ""
    return facts.ConditionChanged(
        BROKER_AWAY, True, reasons.pop() if len(reasons) == 1 else "Several", f"{sentences}{more}"
    )


def _misregistered(situation: Situation) -> Iterator[Ailment]:
    """Of those that run, beyond the grace after which that is told."""
    view, kafka, since = situation.view, situation.seen.kafka, situation.seen.health.misregistered
    if kafka is None or not since:
        return
    waits = {i.key for i in waited_for(situation)}
    found = {
        b: a
        for b, a in misregistered(view, kafka).items()
        if b in since and a.key in waits and is_running(situation, a)
    }
    if len(found) > 1 and 2 * len(found) >= len(expected_brokers(view)):
        return  # whatever that is, it is not in them: all are told
    away = situation.seen.health.away
    for broker, wrong in sorted(found.items()):
        if is_replaced(view, view.instances[wrong.key]) or (wrong.is_away and wrong.key not in away):
            continue
        began = max(since[broker], away[wrong.key].since) if wrong.is_away else since[broker]
        yield Ailment(view.instances[wrong.key].node, wrong.key, MISREGISTERED, began + GRACE, wrong.words)


def _broken(situation: Situation, instance: InstanceView) -> Broken | None:
    """What is wrong with a broker that Kafka is without; None where it may well come up, or is not known."""
    absence, seen = situation.seen.health.away[instance.key], situation.seen.reports.get(instance.key)
    who = f"{instance.key} (broker {instance.service_id})"
    if seen is None or not seen.is_young(situation.now):
        kafka = situation.seen.kafka
        if kafka is None or instance.service_id in kafka.live_brokers():
            return None
        since = absence.since if seen is None else max(absence.since, seen.received_at)
        words = f"{who} is not served by Kafka, and its agent is not heard, since {_clock(since)}"
        return Broken(instance.node, instance.key, instance.service_id, BreakdownKind.UNREACHABLE, since, words)
    service = service_report(situation, instance)
    if service is None or not absence.ends_again_and_again(situation.now) or _needs_a_person(service):
        return None
    words = f"the process of {who} ends again and again since {_clock(absence.since)}"
    return Broken(instance.node, instance.key, instance.service_id, BreakdownKind.CRASH_LOOP, absence.since, words)


def _needs_a_person(service: ServiceReport) -> bool:
    """Whether it would end on another VM, too: it has no room, which more disk or less data gives it."""
    return any(d.total_bytes > 0 and d.free_bytes <= _NO_ROOM_BYTES for d in service.log_dirs)


def _what_is_done(situation: Situation, kafka: KafkaSnapshot, one: Broken, broken: list[Broken]) -> str:
    view = situation.view
    if view.instances[one.key].phase is Phase.DRAINING:
        look = f"Next: look at its VM, or kedge describe {view.name} for what waits"
        return f"it is being emptied, and what nobody else has in sync waits until it serves. {look}"
    asked = view.requests.to_replace.get(one.key)
    if asked is not None:
        return f"it gets a new VM ({asked.reason})"
    off = why_not(view, Kind.BROKER_FAILURE, situation.now)
    if off:
        return f"{off}. Next: kedge healing on {view.name} --kind {Kind.BROKER_FAILURE}"
    left = why_left(one, broken, _around(situation, kafka, one))
    if view.document is not None and not view.document.spec.healing.replace:
        left = "the spec allows no replacement without asking (healing.replace)"
    if left:
        return f"not replaced: {left}. Next: kedge replace {view.name} {one.node}, if it does not come back"
    if situation.now >= one.due(_lost_after(situation)):
        return "a new VM is due, and waits for its turn among cures"
    return f"it gets a new VM at {_clock(one.due(_lost_after(situation)))}, unless it serves until then"


def _around(situation: Situation, kafka: KafkaSnapshot, one: Broken) -> BreakdownContext:
    view, expected = situation.view, expected_brokers(situation.view)
    instance = view.instances[one.key]
    others = [i for i in view.in_phase(Phase.JOINED) if i.is_broker and not i.lost]
    unheard = tuple(i.key for i in others if not _is_heard(situation, i))
    return BreakdownContext(
        brokers=len(expected),
        not_serving=tuple(b for b in expected if b not in kafka.live_brokers()),
        unheard=unheard,
        cloud=_cloud(situation, instance),
    )


def _is_heard(situation: Situation, instance: InstanceView) -> bool:
    seen = situation.seen.reports.get(instance.key)
    return seen is not None and seen.is_young(situation.now)


def _cloud(situation: Situation, instance: InstanceView) -> str:
    """A VM that somebody stopped is that person's, and one that no listing names is not known to be there."""
    place = place_of(situation.view, instance)
    inventory = situation.seen.fresh_inventory(situation.now)
    if inventory is None or inventory.silence(place):
        return "the cloud does not tell how its VM is"
    listed = inventory.instances.get(instance.key)
    if listed is None:
        return "the cloud's listing does not name its VM"
    return "" if listed.state is InstanceState.RUNNING else f"its VM is {listed.state}, by the cloud's word"


def _lost_after(situation: Situation) -> timedelta:
    return timedelta(seconds=situation.lost_after_s)


def _clock(at: datetime) -> str:
    return f"{at:%H:%M:%S} UTC"
