"""Which cure a finding gets: the gentlest that has not failed yet, never more often than an unhealthy fleet can bear.
Pure.

A restart first, where a fresh process is a cure; a new VM where the restart did not last, or where the disk is what
failed. A cure that comes again and again is none, and a cluster is not rolled to death on findings: hence the caps.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

from planner.breakdown import BreakdownKind
from planner.cure_checks import NOTHING_KNOWN, Evidence, Question, is_shared, why_no_act
from planner.cure_table import RESTART_FAILED, ROWS, TARGET_DEAD, Sharing


class Cure(StrEnum):
    """What is done about a finding."""

    RESTART = "restart"
    REPLACE = "replace"


_THE_DISK_FAILED = frozenset({"log_dir_failed", "directory_lost"})
"""A new process would find the same disk, or nothing on it."""
_THE_MACHINE_FAILED = frozenset(BreakdownKind)
"""No process comes up there, or nobody can tell it to."""
_BY_OTHERS = frozenset({TARGET_DEAD, RESTART_FAILED})
"""What comes by `may_replace` alone."""

LASTED = timedelta(hours=6)
"""A restart after which the same finding stays away for so long was a cure; sooner, the next cure is a new VM."""

BACK_OFF = timedelta(minutes=10)
"""Between two cures of one node, doubled with each cure of the last day."""

WITHIN = timedelta(days=1)

NO_PEERS: Mapping[str, frozenset[str]] = MappingProxyType({})
"""Peers where none are known."""

NO_EVIDENCE: Mapping[str, Evidence] = MappingProxyType({})
"""Evidence where nothing is known beside the findings."""


@dataclass(frozen=True, slots=True)
class Ailment:
    """A finding in a service: `node` is the durable slot, `since` when its agent saw it begin. `service` is "" for what
    the VM was made for, else the one beside it."""

    node: str
    key: str
    finding: str
    since: datetime
    message: str
    service: str = ""

    @property
    def whose(self) -> str:
        """`brokers-a-0.g1`, or `brokers-a-0.g1/zookeeper`."""
        return f"{self.key}/{self.service}" if self.service else self.key


@dataclass(frozen=True, slots=True)
class PastCure:
    """What was done about a finding of a node, and when it was asked for."""

    node: str
    finding: str
    cure: Cure
    at: datetime
    service: str = ""

    def was_of(self, ailment: Ailment) -> bool:
        """Whether it was for that finding of that service."""
        return (self.finding, self.service) == (ailment.finding, ailment.service)


@dataclass(frozen=True, slots=True)
class HealingPolicy:
    """What may be done without asking. `after` a finding has to last, `a_day` are cures of the cluster."""

    restart: bool = True
    replace: bool = True
    after: timedelta = timedelta(seconds=60)
    a_day: int = 4
    disks: bool = True
    """Whether a failed disk is replaced; a person may have switched that off for now."""


@dataclass(frozen=True, slots=True)
class Prescription:
    """A cure, and in words why this one."""

    ailment: Ailment
    cure: Cure
    reason: str


@dataclass(frozen=True, slots=True)
class HealingRefusal:
    """A finding nothing is done about for now. `reason` is for people, `gave_up` where time will not help; `until` is
    when time alone lets it be cured, None where that is not known."""

    ailment: Ailment
    reason: str
    gave_up: bool
    until: datetime | None = None
    question: Question | None = None
    """Where acting on it would make it no better: by which of the three questions."""


def prescribe(
    ailments: Iterable[Ailment],
    past: Sequence[PastCure],
    policy: HealingPolicy,
    now: datetime,
    peers: Mapping[str, frozenset[str]] = NO_PEERS,
    evidence: Mapping[str, Evidence] = NO_EVIDENCE,
) -> tuple[tuple[Prescription, ...], tuple[HealingRefusal, ...]]:
    """The cures of which the first begins now that may, of the finding that is there longest before others: what keeps
    one waiting may be what the next one cures. And what is left alone, with the reason.

    `ailments` are of services that answer now; `past` is everything that was done to this cluster, oldest first;
    `peers` by service (`Ailment.whose`) the nodes whose service does the same, its own among them; `evidence` by
    service what else is known of it.
    """
    recent = [c for c in past if now - c.at < WITHIN]
    unhealthy, prescriptions, refusals = tuple(ailments), [], []
    for ailment in sorted(unhealthy, key=lambda a: (a.since, a.key, a.service, a.finding)):
        have = frozenset(a.node for a in unhealthy if (a.finding, a.service) == (ailment.finding, ailment.service))
        had = frozenset(c.node for c in past if c.was_of(ailment) and now - c.at < LASTED)
        around = _Around(have, had, peers.get(ailment.whose, frozenset()), evidence.get(ailment.whose, NOTHING_KNOWN))
        judged = _judge(ailment, recent, [c for c in past if c.node == ailment.node], policy, now, around)
        if isinstance(judged, Prescription) and judged.cure is Cure.REPLACE:
            judged = _unless_shared(judged, around)
        if isinstance(judged, HealingRefusal):
            refusals.append(judged)
        elif judged is not None:
            prescriptions.append(judged)
    return tuple(prescriptions), tuple(refusals)


@dataclass(frozen=True, slots=True)
class _Around:
    """Who has the same finding now or was cured of it lately, who does the same, and what else is known."""

    have: frozenset[str]
    had: frozenset[str]
    peers: frozenset[str]
    evidence: Evidence


def _unless_shared(wanted: Prescription, around: _Around) -> Prescription | HealingRefusal:
    """No new VM for what many have at once: each would copy all of a broker's data, and have it too. A disk that failed
    is nobody else's."""
    row = ROWS[wanted.ailment.finding.partition(":")[0]]
    together = around.have | around.had
    if row.sharing is Sharing.NOTHING_WITHHELD or not is_shared(together, around.peers):
        return wanted
    reason = (
        f"{wanted.reason}, and {len(together & around.peers)} of {len(around.peers)} have it or were cured of it "
        "within 6 h: what they share (load, settings, the controllers) is the cause, and no new VM takes that away"
    )
    return HealingRefusal(wanted.ailment, reason, gave_up=True)


def may_replace(
    ailment: Ailment,
    past: Sequence[PastCure],
    policy: HealingPolicy,
    now: datetime,
    *,
    have: frozenset[str] = frozenset(),
    peers: frozenset[str] = frozenset(),
    evidence: Evidence = NOTHING_KNOWN,
) -> Prescription | HealingRefusal:
    """A new VM for something that others than its agent found, by the same questions and under the caps of all cures;
    or why it gets none. `have` are the nodes of `peers` that are as unhealthy."""
    against = why_no_act(ailment.finding, False, ailment.node, have, peers, evidence)
    if against is not None:
        return HealingRefusal(ailment, against.words, gave_up=False, question=against.question)
    recent = [c for c in past if now - c.at < WITHIN]
    own = [c for c in past if c.node == ailment.node]
    return _within_caps(Prescription(ailment, Cure.REPLACE, "it does not serve"), recent, own, policy, now)


def _judge(
    ailment: Ailment,
    recent: Sequence[PastCure],
    own: Sequence[PastCure],
    policy: HealingPolicy,
    now: datetime,
    around: _Around,
) -> Prescription | HealingRefusal | None:
    kind = ailment.finding.partition(":")[0]
    if kind not in ROWS.keys() - _BY_OTHERS or now - ailment.since < policy.after:
        return None
    cure, why = _gentlest(ailment, kind, own, now)
    is_restart = cure is Cure.RESTART
    against = why_no_act(kind, is_restart, ailment.node, around.have, around.peers, around.evidence)
    if against is not None:
        return HealingRefusal(ailment, against.words, gave_up=False, question=against.question)
    return _within_caps(Prescription(ailment, cure, why), recent, own, policy, now)


def _within_caps(
    wanted: Prescription, recent: Sequence[PastCure], own: Sequence[PastCure], policy: HealingPolicy, now: datetime
) -> Prescription | HealingRefusal:
    ailment, cure, why = wanted.ailment, wanted.cure, wanted.reason
    kind = ailment.finding.partition(":")[0]
    if not (policy.restart if cure is Cure.RESTART else policy.replace):
        return HealingRefusal(ailment, f"{why}, and the spec allows no {cure} without asking", gave_up=True)
    if kind in _THE_DISK_FAILED and not policy.disks:
        return HealingRefusal(ailment, f"{why}, and healing of disk failures is switched off", gave_up=True)
    if own and own[-1].cure is Cure.REPLACE and own[-1].was_of(ailment) and now - own[-1].at < WITHIN:
        return HealingRefusal(ailment, "it came back on a new VM: its cause is not the machine", gave_up=True)
    if policy.a_day == 0:
        return HealingRefusal(ailment, f"{why}, and the spec allows 0 cures a day", gave_up=True)
    if len(recent) >= policy.a_day:
        at = recent[-policy.a_day].at + WITHIN
        reason = f"{len(recent)} cures in a day are the most this cluster gets, the next at {at:%H:%M} UTC"
        return HealingRefusal(ailment, reason, gave_up=False, until=at)
    pause = BACK_OFF * 2 ** max(0, sum(c.node == ailment.node for c in recent) - 1)
    if own and now - own[-1].at < pause:
        at = own[-1].at + pause
        words = f"{ailment.node} had its {own[-1].cure} at {own[-1].at:%H:%M} UTC"
        return HealingRefusal(
            ailment, f"{words}: the next cure at {at:%H:%M} UTC at the earliest", gave_up=False, until=at
        )
    return wanted


def _gentlest(ailment: Ailment, kind: str, own: Sequence[PastCure], now: datetime) -> tuple[Cure, str]:
    if kind in _THE_DISK_FAILED:
        return Cure.REPLACE, "a failed disk does not come back with a new process"
    if kind in _THE_MACHINE_FAILED:
        return Cure.REPLACE, "no further start helps there"
    restarted = [c for c in own if c.cure is Cure.RESTART and c.was_of(ailment) and now - c.at < LASTED]
    if restarted:
        ago_min = (now - restarted[-1].at).total_seconds() / 60
        return Cure.REPLACE, f"the restart {ago_min:.0f} min ago did not last"
    return Cure.RESTART, "a fresh process is the gentlest cure"
