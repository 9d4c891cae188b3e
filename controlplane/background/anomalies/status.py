"""Where a finding stands: Kedge's own doing, being healed, within its grace, or waiting. Pure.

Knowledge first: what Kedge does itself is no alarm, and the words say what it does. Then what is done about it, then
its grace, then why nothing is done.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from controlplane.background.anomalies.conditions import next_step
from controlplane.background.anomalies.standstill import stands_still
from controlplane.cluster.healing_switches import why_not
from controlplane.cluster.holds import hold_on
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.conditions.maintenance import MAINTENANCE
from controlplane.converger.questions.moves.placement_work import corrects, leaves_leaders
from planner.anomalies.cooling import Cooling
from planner.anomalies.judge import AnomalyFinding, FindingStatus
from planner.anomalies.kinds import GRACE, HEALED, Kind, State
from planner.anomalies.slow import too_many
from planner.anomalies.topic_rates import topic_of_rate

_DEMOTED = "its leadership is taken off it until it is as fast as the others"

_HANDS_OVER = "others are to lead some of its partitions, at rest and in the windows of rolls: nothing is copied"
_HANDED_OVER = "others lead some of its partitions now: what came of it is told by windows that begin after that"

SETS = "broker-sets"
"""Subject of a violated goal: replicas outside of the brokers their topic stays on."""
ZONES = "zones"
"""Subject of a violated goal: replicas that share a zone."""

_MOVED = {
    ZONES: "replicas that share a zone are moved apart in small batches (`balance.placement`)",
    SETS: "replicas outside of their broker set are moved there in small batches (`balance.placement`)",
}

SETTLES = timedelta(minutes=15)
"""How long after a roll caches are cold and leaders move: slowness of that time is its doing."""
HOT_SETTLES = timedelta(minutes=30)
"""The same of what is hot, which is judged by 25 min."""


@dataclass(frozen=True, slots=True)
class Stance:
    """A `Stands`: tells of one cluster's findings where they stand at `now`. `slow`: how many brokers are slow at once.
    `coolings`: by node, what others could lead of a hot broker; of one without nothing is known, or nothing yet."""

    view: ClusterView
    now: datetime
    slow: int = 0
    coolings: Mapping[str, Cooling] = field(default_factory=dict)

    def of(self, finding: AnomalyFinding, since: datetime) -> FindingStatus:
        ours = own_doing(self.view, finding, self.now)
        if ours:
            return FindingStatus(State.SUPPRESSED, ours)
        healing = self._healing(finding)
        if healing:
            return FindingStatus(State.HEALING, healing)
        left = grace_of(self.view, finding.kind) - (self.now - since)
        if left > timedelta(0):
            return FindingStatus(State.FOUND, f"it may pass by itself: {_then(finding.kind)} in {_minutes(left)}")
        if finding.kind is Kind.CONDITION:
            return FindingStatus(State.WAITING, f"Next: {next_step(self.view, finding.subject)}")
        return self._after_grace(finding)

    def _healing(self, finding: AnomalyFinding) -> str:
        """What is done about it now, "" where nothing is begun."""
        view = self.view
        if finding.kind in (Kind.BROKER_FAILURE, Kind.DISK_FAILURE):
            return _cure_in_hand(view, finding.subject)
        if finding.kind is Kind.SLOW_BROKER:
            if why_not(view, finding.kind, self.now):
                return ""
            demoted = [k for k, d in view.requests.demotions.items() if not d.ended]
            return _DEMOTED if any(view.instances[k].node == finding.subject for k in demoted) else ""
        if finding.kind is Kind.HOT_BROKER and view.topics.replication is not None:
            return _HANDED_OVER if view.topics.replication.cause == "hot" else ""
        if finding.kind is Kind.GOAL_VIOLATION and view.moves.rebalance is not None:
            return f"a rebalance is in hand: {view.moves.rebalance.reason}"
        if finding.kind is Kind.GOAL_VIOLATION and finding.subject in (SETS, ZONES) and corrects(view):
            return "" if why_not(view, finding.kind, self.now) else _MOVED[finding.subject]
        if finding.kind is Kind.MAINTENANCE_EVENT:
            maintenance = view.conditions.get(MAINTENANCE)
            begun = (
                maintenance is not None
                and maintenance.reason != "Waiting"
                and why_not(view, finding.kind, self.now) == ""
            )
            return "each VM with a date gets its successor before it" if begun else ""
        return ""

    def _after_grace(self, finding: AnomalyFinding) -> FindingStatus:
        view, kind = self.view, finding.kind
        topic = topic_of_rate(finding.subject)
        if topic is not None:
            known = view.topics.by_name.get(topic)
            otherwise = _LEARN_ANEW if known is not None and known.declared.rate_learn else "declare another `rate`"
            return FindingStatus(State.WAITING, _RATE_LEFT.format(name=view.name, topic=topic, otherwise=otherwise))
        off = why_not(view, kind, self.now)
        if off:
            return FindingStatus(State.WAITING, f"{off}. Next: kedge healing on {view.name} --kind {kind}")
        hold = hold_on(view, self.now)
        if view.requests.held or hold is not None:
            why = view.requests.held or (hold.sentence if hold else "")
            return FindingStatus(State.WAITING, f"nothing begins: {why}. Next: kedge resume {view.name}")
        still = stands_still(view, self.now) if _in_hand(view) else ""
        if still:
            words = f"{_in_hand(view)} and goes before, but {still}. Next: kedge describe {view.name}"
            return FindingStatus(State.WAITING, words)
        if kind is Kind.SLOW_BROKER:
            return self._demote(finding)
        if kind is Kind.HOT_BROKER:
            return self._cool(finding)
        return FindingStatus(State.WAITING, _LEFT[kind].format(name=view.name, subject=finding.subject))

    def _demote(self, finding: AnomalyFinding) -> FindingStatus:
        brokers = len(self.view.brokers())
        if too_many(self.slow, brokers):
            words = (
                f"{self.slow} of {brokers} brokers are slow at once: what they share is slow, and moving leaders would "
                f"only move the load. Next: kedge describe {self.view.name}"
            )
            return FindingStatus(State.WAITING, words)
        return FindingStatus(State.HEALING, _DEMOTED)

    def _cool(self, finding: AnomalyFinding) -> FindingStatus:
        view, cure = self.view, self.coolings.get(finding.subject)
        moved_at = view.topics.handed_over_at
        if cure is None and moved_at is not None and self.now - moved_at < HOT_SETTLES:
            return FindingStatus(State.HEALING, _HANDED_OVER)
        if cure is None:
            words = f"what could be moved off it is not measured yet. Next: kedge describe {view.name}"
            return FindingStatus(State.WAITING, words)
        if cure.orders:
            if leaves_leaders(view):
                words = "leaders stay where they are (`balance.preferredLeaders: leave`)"
                return FindingStatus(State.WAITING, f"{words}. Next: kedge rebalance {view.name}")
            return FindingStatus(State.HEALING, _HANDS_OVER)
        if view.document is not None and view.document.spec.balance.continuous:
            return FindingStatus(State.HEALING, f"{cure.why_not}: replicas are spread anew (`balance.continuous`)")
        return FindingStatus(State.WAITING, f"{cure.why_not}. Next: kedge rebalance {view.name}")


_RATE_LEFT = (
    "what producers send is theirs to say: Kedge does nothing about it. Next: kedge topic describe {name} {topic}, and "
    "those who write to it; or {otherwise}"
)
_LEARN_ANEW = (
    "take `rate.learn` out for two minutes where this is usual from here on: what was learned is forgotten then"
)

_LEFT: Mapping[Kind, str] = {
    Kind.GOAL_VIOLATION: "nothing of it is repaired unless a person asks. Next: kedge rebalance {name}",
    Kind.BROKER_FAILURE: "it is left alone while it may come back. Next: kedge describe {name}, or "
    "kedge replace {name} {subject}",
    Kind.DISK_FAILURE: "its cure waits or is given up. Next: kedge describe {name}, or kedge replace {name} {subject}",
    Kind.TOPIC_ANOMALY: "it is put right once what stands in its way is gone. Next: kedge topics {name}",
    Kind.PARTITION_FAILURE: "it is over once replicas are back in sync; what keeps them away is told apart. "
    "Next: kedge describe {name}",
    Kind.CAPACITY: "nothing is begun for a forecast. Larger disks or machines, more brokers or shorter retention help. "
    "Next: kedge topics {name}",
    Kind.MAINTENANCE_EVENT: "nothing is done about it before its date. Next: kedge describe {name}",
}
"""What an anomaly waits for whose grace is over, where nothing is in hand."""


def grace_of(view: ClusterView, kind: Kind) -> timedelta:
    """How long an anomaly of the kind is given to pass by itself: as the spec says, else the default."""
    spec = view.document.spec.healing if view.document else None
    own = spec.grace.get(kind.value) if spec else None
    return GRACE[kind] if own is None else timedelta(seconds=own)


def own_doing(view: ClusterView, finding: AnomalyFinding, now: datetime) -> str:
    """What Kedge does itself that explains the finding, "" where nothing does."""
    if finding.kind is Kind.BROKER_FAILURE:
        return _stopped_by_us(view, finding.subject)
    in_hand = "" if stands_still(view, now) else _in_hand(view)
    if finding.kind is Kind.GOAL_VIOLATION and view.moves.rebalance is None:
        return in_hand
    if topic_of_rate(finding.subject) is not None:
        return f"{in_hand}: clients find their leaders anew meanwhile" if in_hand else ""
    if finding.kind is Kind.TOPIC_ANOMALY and in_hand and (view.roll.recycling or view.moves.drain is not None):
        return f"{in_hand}: topics are put right beside it or after it"
    if finding.kind in (Kind.SLOW_BROKER, Kind.HOT_BROKER):
        return _load_of_ours(view, finding.kind, now, in_hand)
    return ""


def _load_of_ours(view: ClusterView, kind: Kind, now: datetime, in_hand: str) -> str:
    if view.moves.rebalance is not None:
        return "a rebalance copies data from and to brokers"
    if in_hand:
        return in_hand
    settles = SETTLES if kind is Kind.SLOW_BROKER else HOT_SETTLES
    if view.roll.replaced_at is not None and now - view.roll.replaced_at < settles:
        return f"a broker was replaced {_minutes(now - view.roll.replaced_at)} ago: caches are cold, leaders move"
    if kind is Kind.SLOW_BROKER:
        return ""
    batch, last = view.topics.replication, view.moves.last_rebalance
    if batch is not None and batch.cause in ("sets", "zones", "gone", "factor"):
        return "replicas are copied to where they should be"
    if last is not None and now - last.ended_at < settles:
        return f"a rebalance ended {_minutes(now - last.ended_at)} ago: windows still have what it copied"
    return ""


def _stopped_by_us(view: ClusterView, node: str) -> str:
    there = view.of_node(node)
    restarting = next((i for i in there if i.key in view.settings.restarts), None)
    if restarting is not None:
        return f"{restarting.key} is being restarted"
    migration = view.quorum.migration
    stepped = next((i for i in there if migration is not None and i.service_id in migration.last), None)
    if stepped is not None:
        return f"{stepped.key} is started anew by the migration to KRaft"
    going = next((i for i in there if i.phase in _GOING), None)
    if going is not None and not any(i.lost for i in there):
        return f"{going.key} is being replaced"
    successor = next((i for i in there if i.phase in _COMING and not i.lost), None)
    if successor is not None and not any(i.lost for i in there):
        return f"{successor.key} takes its place"
    return ""


_GOING = (Phase.FENCING, Phase.FENCED, Phase.RELEASED, Phase.RETIRING)
_COMING = (Phase.REQUESTED, Phase.LAUNCHED)


def _in_hand(view: ClusterView) -> str:
    """What of Kedge's own is in hand that moves replicas, leaders or processes."""
    if view.roll.recycling or view.roll.converged != view.generation:
        return f"a roll to generation {view.generation} is in hand"
    if view.moves.drain is not None:
        return f"a drain of {', '.join(view.moves.drain.keys)} is in hand"
    if view.settings.restarts or view.requests.rolling_restart is not None:
        return "a restart is in hand"
    if view.is_evacuating():
        return "an evacuation is in hand"
    batch = view.topics.replication
    if view.topics.has_work and (batch is None or batch.cause in ("topics", "factor")):
        return "a change of topics is in hand"
    return ""


def _cure_in_hand(view: ClusterView, node: str) -> str:
    there = view.of_node(node)
    successor = next((i for i in there if i.phase in _COMING), None)
    if successor is not None:
        return f"its successor {successor.key} is on the way"
    asked = next((k for k in (i.key for i in there) if k in view.requests.to_replace), "")
    if asked:
        return f"{asked} is being replaced: {view.requests.to_replace[asked].reason}"
    return _emptied(view, there)


def _emptied(view: ClusterView, there: tuple[InstanceView, ...]) -> str:
    lost = {i.key for i in there if i.lost}
    if view.moves.drain is not None and lost & set(view.moves.drain.keys):
        return f"replicas of {', '.join(sorted(lost))} are made anew elsewhere"
    if len(there) > len(lost) > 0:
        return f"{', '.join(sorted(i.key for i in there if not i.lost))} takes its place"
    return ""


def _then(kind: Kind) -> str:
    return "told and healed" if kind in HEALED else "told"


def _minutes(span: timedelta) -> str:
    seconds = span.total_seconds()
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{max(0.0, seconds):.0f} s"
