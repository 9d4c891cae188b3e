"""How much a condition matters to those who are notified: one row for each type. Pure.

A condition is told as an anomaly of the kind `condition`, unless another kind of anomaly tells the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from planner.anomalies.kinds import Kind


class Severity(StrEnum):
    """How soon a person has to look. The words are Alertmanager's and PagerDuty's."""

    INFO = "info"
    """Nobody has to do anything."""
    WARNING = "warning"
    """Within working hours."""
    CRITICAL = "critical"
    """Now: data or its availability is harmed, or about to be."""

    def covers(self, other: "Severity") -> bool:
        """Whether who wants to hear of this severity hears of the other one."""
        order = list(Severity)
        return order.index(other) >= order.index(self)


@dataclass(frozen=True, slots=True)
class ConditionRow:
    """One type of condition. `reasons` have another severity than the type's own."""

    severity: Severity
    reasons: Mapping[str, Severity] = field(default_factory=lambda: MappingProxyType({}))
    good_when_true: bool = False
    note: bool = False
    """Somebody wanted it so, or it harms nobody: no reason to call the cluster unwell."""
    told_by: Kind | None = None
    """The kind of anomaly that tells the same, so that nobody hears it twice."""


_INFO = ConditionRow(Severity.INFO)
_NOTE = ConditionRow(Severity.INFO, note=True)
_WARNING = ConditionRow(Severity.WARNING)
_CRITICAL = ConditionRow(Severity.CRITICAL)

CONDITIONS: Mapping[str, ConditionRow] = MappingProxyType(
    {
        "AgentUpgradeFailed": _WARNING,
        "Ailing": _WARNING,
        "AtMinIsr": _CRITICAL,
        "Blocked": _WARNING,
        "BrokerAway": _CRITICAL,
        "CaReplacement": ConditionRow(Severity.INFO, {"Stuck": Severity.WARNING}, note=True),
        "CertificateEnding": ConditionRow(Severity.WARNING, {"Held": Severity.CRITICAL, "Over": Severity.CRITICAL}),
        "CertificateNotServed": _WARNING,
        "CloudDrift": _WARNING,
        "ConsumersStuck": _WARNING,
        "Converged": ConditionRow(Severity.INFO, good_when_true=True),
        "DiskGrowthHeld": ConditionRow(Severity.WARNING, {"CoolDown": Severity.INFO, "FiguresUnknown": Severity.INFO}),
        "DiskNearlyFull": _CRITICAL,
        "ElectionsFail": _WARNING,
        "ExternalEmpty": _NOTE,
        "ExternalUnread": _WARNING,
        "HealingOff": _NOTE,
        "HeartbeatsSilent": _CRITICAL,
        "ImageBehind": _NOTE,
        "KedgeRightsMissing": ConditionRow(Severity.WARNING, {"Denied": Severity.CRITICAL}),
        "LeadershipMoved": ConditionRow(Severity.WARNING, told_by=Kind.SLOW_BROKER),
        "ListingRefused": _WARNING,
        "MachineFallback": _NOTE,
        "MaintenanceScheduled": ConditionRow(
            Severity.WARNING, {"Announced": Severity.INFO}, told_by=Kind.MAINTENANCE_EVENT
        ),
        "Misplaced": ConditionRow(Severity.WARNING, told_by=Kind.GOAL_VIOLATION),
        "MovesBraked": _NOTE,
        "NetworkDrift": _WARNING,
        "Orphans": _WARNING,
        "OverlayNotReady": _WARNING,
        "OwnCaFiles": ConditionRow(
            Severity.WARNING, {"Over": Severity.CRITICAL, "Renewed": Severity.INFO, "NotInUse": Severity.INFO}
        ),
        "PacketFilterBehind": _WARNING,
        "Paused": _INFO,
        "PlannedInProcess": _NOTE,
        "ReassignmentHung": _WARNING,
        "RegistrationWrong": _CRITICAL,
        "SettingsAdopted": _NOTE,
        "SingleCopies": _NOTE,
        "StrangersMoves": _WARNING,
        "Synced": ConditionRow(Severity.WARNING, good_when_true=True),
        "TickFailing": _CRITICAL,
        "TokenKeysStale": ConditionRow(Severity.WARNING, {"NoKeys": Severity.CRITICAL}),
        "TopicsDegraded": ConditionRow(Severity.WARNING, told_by=Kind.TOPIC_ANOMALY),
        "Twins": _INFO,
        "UsersDegraded": _WARNING,
        "WaitsForStage": ConditionRow(Severity.INFO, {"StageFails": Severity.WARNING}, note=True),
        "WaitsForWindow": _NOTE,
    }
)
"""By type. A type without a row is told as a warning."""

OF_PAIRS: Mapping[str, ConditionRow] = MappingProxyType(
    {
        "FailoverWaits": _CRITICAL,
        "PairWaits": _WARNING,
        "StandbyBehind": _WARNING,
        "StandbyIncomplete": _WARNING,
    }
)
"""What is told of a pair of clusters, as anomalies of the one that stands by: no condition of either."""

DISK_THIS_WEEK = "/disk/week"
"""How the subject of an anomaly ends that tells of a disk which is full within a week: writes fail then."""

UNREADABLE = "Unreadable"
"""What is told of a cluster whose history cannot be read: nothing can be recorded of it, so it is no condition."""

_OF_KIND: Mapping[Kind, Severity] = MappingProxyType(
    {
        Kind.GOAL_VIOLATION: Severity.WARNING,
        Kind.BROKER_FAILURE: Severity.CRITICAL,
        Kind.SLOW_BROKER: Severity.WARNING,
        Kind.HOT_BROKER: Severity.WARNING,
        Kind.DISK_FAILURE: Severity.CRITICAL,
        Kind.TOPIC_ANOMALY: Severity.WARNING,
        Kind.MAINTENANCE_EVENT: Severity.WARNING,
        Kind.PARTITION_FAILURE: Severity.CRITICAL,
        Kind.CAPACITY: Severity.WARNING,
    }
)


def row_of(condition: str) -> ConditionRow:
    """Of a type of condition."""
    return CONDITIONS.get(condition) or OF_PAIRS.get(condition, _WARNING)


def severity_of(condition: str, reason: str) -> Severity:
    """Of a condition with this reason."""
    row = row_of(condition)
    return row.reasons.get(reason, row.severity)


def is_note(condition: str, reason: str) -> bool:
    """Whether a condition of this type, for this reason, says nothing that anybody has to mend."""
    row = row_of(condition)
    return (row.note or reason in row.reasons) and severity_of(condition, reason) is Severity.INFO


def subject_of(condition: str, reason: str) -> str:
    """What an anomaly of the kind `condition` is about: another reason is another one."""
    return f"{condition}/{reason}" if reason else condition


def condition_of(subject: str) -> str:
    """The type of condition such an anomaly is about."""
    return subject.partition("/")[0]


def severity_of_anomaly(kind: str, subject: str) -> Severity:
    """Of an anomaly. A kind that another release wrote is a warning."""
    if kind == Kind.CONDITION:
        condition, _, reason = subject.partition("/")
        return Severity.CRITICAL if condition == UNREADABLE else severity_of(condition, reason)
    if kind == Kind.CAPACITY and subject.endswith(DISK_THIS_WEEK):
        return Severity.CRITICAL
    return next((severity for known, severity in _OF_KIND.items() if known == kind), Severity.WARNING)
