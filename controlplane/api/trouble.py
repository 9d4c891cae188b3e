"""Why a cluster is not well, in one sentence: what a person reads first, in the API, on the pages and in `describe`.

The gravest goes first: what freezes the cluster, writes that are refused, what waits for a person, conditions that tell
of harm, VMs and brokers by name, then every other condition. Notes are no illness and no reason.
"""

from collections.abc import Iterator, Sequence

from controlplane.api.schemas.clusters import ClusterDetailOut
from controlplane.api.schemas.conditions import ConditionOut
from controlplane.api.schemas.instances import BesideOut, InstanceOut
from controlplane.api.schemas.quorum import QuorumMemberOut
from controlplane.cluster.condition_severity import is_note, row_of
from controlplane.cluster.wait_reasons import NEXT, Mark, WaitReason, is_for_a_person
from controlplane.kafka.quorum import keeps_up, silence
from events.quantities import counted

GRAVE = (
    "TickFailing",
    "BrokerAway",
    "HeartbeatsSilent",
    "RegistrationWrong",
    "AtMinIsr",
    "Ailing",
    "ElectionsFail",
    "ReassignmentHung",
)
"""Conditions that tell of harm done or about to be done, the worst first."""

ITS_TURN = ("WaitsForStage", "WaitsForWindow")
"""Why work is not begun: no illness, and said only where nothing else explains that it is not done."""

SILENT_S = 120.0
"""An agent that was not heard for as long is told; as the alert KedgeAgentSilent has it."""

_AT_REST = "Converged"
_FROZEN = ("Unreadable", "Held")


def why(detail: ClusterDetailOut) -> str:
    """The one sentence, "" for a cluster that is well.

    A roll takes replicas out of sync and stops services on purpose: while one is in hand that is no reason.
    """
    return next(_reasons(detail), "")


def is_unhealthy(condition: ConditionOut) -> bool:
    """Whether it tells of an illness: it is as it should not be, and no note. Work towards what is declared is none."""
    if condition.type == "Converged" or condition.status == row_of(condition.type).good_when_true:
        return False
    return not is_note(condition.type, condition.reason)


def needs_a_person(reason: str, message: str) -> bool:
    """Whether it is blocked on somebody. Who paused it knows: what goes wrong meanwhile is told before that."""
    return is_for_a_person(reason, message) and reason != WaitReason.PAUSED


def message_of(condition: ConditionOut) -> str:
    """The message without the command at its end."""
    return condition.message.partition(NEXT)[0].rstrip(" .")


def has_or_have(count: int) -> str:
    """The verb behind so many of something."""
    return "has" if count == 1 else "have"


def _reasons(detail: ClusterDetailOut) -> Iterator[str]:
    """The gravest first."""
    if detail.status in _FROZEN:
        yield f"{detail.status}: {detail.sentence or 'nothing is done on this cluster'}"
    there = [i for i in detail.instances if i.phase == "joined"]
    away = [i for i in there if not i.lost and _is_away(i)] if _nothing_on_purpose(detail) else []
    yield from _partitions(detail, [i for i in there if i.lost] + away)
    unhealthy = [c for c in detail.conditions if is_unhealthy(c)]
    yield from (_said(c) for c in unhealthy if c.type == "Blocked" and needs_a_person(c.reason, c.message))
    yield from (_said(c) for kind in GRAVE for c in unhealthy if c.type == kind)
    yield from _by_name(there, away)
    yield from (_said(c) for c in sorted(unhealthy, key=lambda c: (c.type != "Blocked", c.since, c.type)))
    if _is_at_rest(detail):
        yield from _late(detail)
        if detail.under_replicated:
            behind = detail.under_replicated
            yield f"{counted(behind, 'partition')} {has_or_have(behind)} replicas that are not in sync"
    else:
        yield from (_said(c) for kind in ITS_TURN for c in detail.conditions if c.type == kind and c.status)


def _said(condition: ConditionOut) -> str:
    return f"{condition.type}: {message_of(condition) or condition.reason}"


def _is_at_rest(detail: ClusterDetailOut) -> bool:
    """Whether nothing of Kedge's is in hand. A fault on purpose explains nothing: what it harms is told."""
    return detail.status == _AT_REST or (detail.status == "Working" and detail.faults_alone)


def _nothing_on_purpose(detail: ClusterDetailOut) -> bool:
    """Whether a service that does not run is nobody's doing."""
    if _is_at_rest(detail):
        return True
    blocked = [WaitReason.of(c.reason) for c in detail.conditions if c.type == "Blocked" and c.status]
    return any(reason is not None and reason.has(Mark.BROKER_BEHIND) for reason in blocked)


def _partitions(detail: ClusterDetailOut, away: Sequence[InstanceOut]) -> Iterator[str]:
    names = ", ".join(_name(i) for i in away if i.service == "broker")
    who = f" ({names} away)" if names else ""
    if detail.leaderless:
        many, has = counted(detail.leaderless, "partition"), has_or_have(detail.leaderless)
        them = "it" if detail.leaderless == 1 else "them"
        yield f"{many} {has} no leader: nobody can write to {them} or read {them}{who}"
    if detail.under_min_isr:
        is_below = "is below its" if detail.under_min_isr == 1 else "are below their"
        refuses = "it refuses" if detail.under_min_isr == 1 else "they refuse"
        yield f"{counted(detail.under_min_isr, 'partition')} {is_below} min ISR: {refuses} writes of acks=all{who}"


def _by_name(there: Sequence[InstanceOut], away: Sequence[InstanceOut]) -> Iterator[str]:
    """VMs that are gone, services that do not run, brokers Kafka does not count on, what is wrong in those that run."""
    yield from (f"{i.key}: the cloud says that its VM is gone{_others(there)}" for i in there if i.lost)
    yield from _findings(away)
    yield from (_how_away(i) for i in away)
    yield from _findings(there)
    yield from (_silent(i) for i in there if _is_silent(i) and not i.lost)


def _others(there: Sequence[InstanceOut]) -> str:
    gone = sum(i.lost for i in there)
    whose = "other's" if gone == 2 else "others'"
    return f" (and {gone - 1} {whose} as well)" if gone > 1 else ""


def _findings(there: Sequence[InstanceOut]) -> Iterator[str]:
    found = sorted(((f.since, i.key, f) for i in there for f in i.findings), key=lambda one: one[:2])
    more = f" (and {counted(len(found) - 1, 'finding')} more)" if len(found) > 1 else ""
    yield from (f"{key}: {finding.name}: {finding.message}{more}" for _, key, finding in found[:1])


def _is_away(instance: InstanceOut) -> bool:
    return _is_down(instance) or _is_down(instance.beside) or instance.kafka_state in ("fenced", "absent")


def _is_down(service: InstanceOut | BesideOut | None) -> bool:
    return service is not None and service.reported_state not in ("", "running")


def _how_away(instance: InstanceOut) -> str:
    if _is_down(instance):
        return f"{_name(instance)} is {_by_word_of_agent(instance)}"
    if instance.beside is not None and _is_down(instance.beside):
        server = f"zookeeper {instance.beside.service_id} ({instance.key})"
        return f"{server} is {_by_word_of_agent(instance.beside)}"
    held = "holds it fenced: it serves nobody" if instance.kafka_state == "fenced" else "does not have it registered"
    return f"{_name(instance)} is away: Kafka {held}; {_heard(instance)}"


def _silent(instance: InstanceOut) -> str:
    return f"{_name(instance)}: {_heard(instance)}"


def _is_silent(instance: InstanceOut) -> bool:
    return instance.report_age_s is not None and instance.report_age_s > SILENT_S


def _heard(instance: InstanceOut) -> str:
    if instance.report_age_s is None:
        return "its agent has not been heard"
    if _is_silent(instance):
        return f"its agent has been silent for {instance.report_age_s:.0f} s"
    return f"its agent says {instance.reported_state or 'nothing of it'}"


def _name(instance: InstanceOut) -> str:
    return f"{instance.service} {instance.service_id} ({instance.key})"


def _by_word_of_agent(service: InstanceOut | BesideOut) -> str:
    why = f": {service.reported_message}" if service.reported_message else ""
    return f"{service.reported_state} by its agent's word{why}"


def _late(detail: ClusterDetailOut) -> Iterator[str]:
    yield from (_behind(m) for m in (detail.quorum.members if detail.quorum else ()) if m.votes and not _keeps_up(m))


def _keeps_up(member: QuorumMemberOut) -> bool:
    return keeps_up(member.lag, member.silent_s)


def _behind(member: QuorumMemberOut) -> str:
    behind = f"{member.lag} records behind, {silence(member.silent_s)}"
    return f"controller {member.id} ({member.node}) does not keep up with the quorum: {behind}"
