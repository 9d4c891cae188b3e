"""What needs a person though no other kind of anomaly tells it: conditions, and partitions that fail. Pure."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from controlplane.background.anomalies.standstill import stands_still
from controlplane.cluster.condition_severity import OF_PAIRS, Severity, condition_of, row_of, severity_of, subject_of
from controlplane.cluster.view import ClusterView, ConditionView
from controlplane.cluster.wait_reasons import NEXT, WaitReason, is_for_a_person
from events.quantities import counted
from planner.anomalies.judge import AnomalyFinding
from planner.anomalies.kinds import Kind
from planner.observed import KafkaSnapshot, PartitionSeen

LEADERLESS, UNDER_MIN_ISR = "leaderless", "under-min-isr"
"""Subjects of failed partitions."""

_NAMED = 3
_BLOCKED = "Blocked"


def conditions_that_last(view: ClusterView, now: datetime) -> Iterator[AnomalyFinding]:
    """Conditions that tell of harm or wait for a person, but for those that an anomaly of another kind tells."""
    for name, condition in sorted(view.conditions.items()):
        row = row_of(name)
        is_good = condition.status == row.good_when_true
        if is_good or row.told_by is not None or severity_of(name, condition.reason) is Severity.INFO:
            continue
        if name == _BLOCKED and not _needs_somebody(view, condition, now):
            continue
        message = condition.message.partition(NEXT)[0].rstrip(" .") or condition.reason
        yield AnomalyFinding(Kind.CONDITION, subject_of(name, condition.reason), message)


def _needs_somebody(view: ClusterView, blocked: ConditionView, now: datetime) -> bool:
    """What is waited for mostly comes by itself: that is told once nothing has gone on for long. Who paused a cluster
    knows that it is."""
    if blocked.reason == WaitReason.PAUSED:
        return False
    return is_for_a_person(blocked.reason, blocked.message) or bool(stands_still(view, now))


def next_step(view: ClusterView, subject: str) -> str:
    """What a person does about such a condition: the command its message ends with, else the one that explains it."""
    if condition_of(subject) in OF_PAIRS:
        return "kedge failovers"
    condition = view.conditions.get(condition_of(subject))
    command = condition.message.partition(NEXT)[2].strip() if condition is not None else ""
    return command or f"kedge describe {view.name}"


def failed_partitions(kafka: KafkaSnapshot) -> Iterator[AnomalyFinding]:
    """Partitions that cannot be read or written, and those that refuse writes of acks=all."""
    leaderless = kafka.leaderless()
    if leaderless:
        reason = f"{_named(leaderless)} without a leader: nobody can read or write them"
        yield AnomalyFinding(Kind.PARTITION_FAILURE, LEADERLESS, reason)
    gone = {p.name for p in leaderless}
    below = [p for p in kafka.under_min_isr() if p.name not in gone]
    if below:
        reason = f"{_named(below)} below min ISR: writes of acks=all are refused"
        yield AnomalyFinding(Kind.PARTITION_FAILURE, UNDER_MIN_ISR, reason)


def _named(partitions: Sequence[PartitionSeen]) -> str:
    names = ", ".join(str(p.name) for p in partitions[:_NAMED])
    more = f" and {len(partitions) - _NAMED} more" if len(partitions) > _NAMED else ""
    return f"{counted(len(partitions), 'partition')} ({names}{more})"
