"""The fleet's brake: how many clusters may roll at once, how many surge VMs an account may have, how many cures begin
in a day, and an image that broke twice stops everywhere.

What is counted follows from events alone, so a restarted server brakes where the last one did.

VMs that fail to join in a cluster that is being founded take nothing from anybody, and mostly their cause is there: an
account, a network, a setting. But an image that starts nowhere fails every founding. So a founding counts as one
failure, however many of its VMs fail, and not at all once it is through: then the image is not what is broken.

A cluster rolls from the start of its roll to its end, also while it is paused: a pause is short, and it goes on where
it was. An aborted one rolls for as long as something is still taken back or finished. Then it rests in its mixed state,
maybe for weeks, and keeps its place from nobody; once resumed it waits for a place like one that has not begun.
"""

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from controlplane.cluster.folds.images import build_name, image_in_force
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.wait_reasons import Mark, WaitReason
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.situation.cure_budget import NO_CURES, FleetCures
from controlplane.converger.situation.decision import Decision, Wait
from controlplane.converger.situation.situation import Allowance
from controlplane.converger.tick.surge_budget import SurgeBudget, surge_vms
from controlplane.fleet.images.fold import urgency
from controlplane.storage.streams import cluster_uid_of
from events import facts
from events.codec import decode
from events.envelope import Recorded
from planner.maintenance import FINDING as MAINTENANCE
from planner.stuck_moves import MoveCure

MAX_IMAGE_FAILURES = 2
"""Failed replacements and foundings on one Kafka version, or revision, fleet-wide, before no further cluster begins to
roll to it."""

MAX_ROLLING = 10
MAX_SURGE_PER_ACCOUNT = 20


def is_counted(decision: Decision) -> bool:
    """Whether the decision takes something the brake counts: a place among the rolling, surge VMs, or a cure."""
    return any(isinstance(e, facts.RecycleStarted | facts.SurgeRequested) or is_a_cure(e) for e in decision.events)


def is_a_cure(event: object) -> bool:
    """Whether a process or a VM is given up for it. Throttles and moves are put right in each cluster by itself."""
    if isinstance(event, facts.MoveCureRequested):
        return event.cure in (MoveCure.RESTART_CONTROLLER, MoveCure.REELECT_CONTROLLER)
    if isinstance(event, facts.HealingRequested):
        return event.finding != MAINTENANCE  # which has a cause that is known, and a date
    return isinstance(event, facts.ElectionCureRequested)


@dataclass(slots=True)
class FleetBrake:
    """`max_rolling` clusters may roll at a time, with `max_surge_per_account` surge VMs in each cloud account; `cures`
    are those begun in a day, with their limit.

    Hold `taking` from the count to the record of what was taken: two clusters must not take the same last place.
    """

    max_rolling: int = MAX_ROLLING
    max_surge_per_account: int = MAX_SURGE_PER_ACCOUNT
    cures: FleetCures = NO_CURES
    failed_images: Counter[str] = field(default_factory=Counter)
    """Replacements that failed to join, by what they were made from."""
    failed_foundings: dict[str, set[str]] = field(default_factory=dict)
    """By the same, streams of clusters that are not founded yet and had VMs that failed to join."""
    taking: threading.RLock = field(default_factory=threading.RLock)
    _rolling: dict[str, str] = field(default_factory=dict)
    """Uid -> name."""
    _counted: dict[str, int] = field(default_factory=dict)
    """Uid -> stream version that is counted."""
    _aborted: set[str] = field(default_factory=set)
    """Who gave its place up and has not surged again since."""
    _resting: set[str] = field(default_factory=set)
    """Whose last tick waited for a window, or for earlier stages."""
    _urgent: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Uid -> urgency and name of who waits for a place to roll for its security."""
    _images: dict[tuple[str, str], str] = field(default_factory=dict)
    _founded: set[str] = field(default_factory=set)
    """Streams of clusters that have been what their spec says, once."""
    _budget: SurgeBudget = field(init=False)

    def __post_init__(self) -> None:
        self._budget = SurgeBudget(self.max_surge_per_account)

    def look_at(self, fleet: Sequence[ClusterView]) -> None:
        """Counts the whole fleet, once a tick."""
        for view in fleet:
            self.note(view)
        if len(self._counted) > len(fleet):
            self._keep_only({v.uid for v in fleet})

    def note(self, view: ClusterView) -> None:
        """Counts one cluster, unless this or a newer view of it is counted already."""
        with self.taking:
            if self._counted.get(view.uid, -1) >= view.version:
                return
            self._counted[view.uid] = view.version
            self._budget.note(view)
            self._place(view)

    def hear(self, view: ClusterView, waiting: Wait | None) -> None:
        """What the cluster's tick ended in: waiting for surge VMs, for its turn, or for neither.

        Who waits for a window, or for earlier stages, with nothing in hand keeps its place from nobody; when its turn
        comes it waits for one anew.
        """
        with self.taking:
            self._budget.hear(view, waiting.ask if waiting else None)
            reason = waiting.reason if waiting else None
            if reason is not None and reason.has(Mark.TURN):
                self._resting.add(view.uid)
            elif reason != WaitReason.FLEET_BRAKE:
                self._resting.discard(view.uid)
            if reason == WaitReason.FLEET_BRAKE and _urgency(view) and not self._fails(view):
                self._urgent[view.uid] = (_urgency(view), view.name)
            else:
                self._urgent.pop(view.uid, None)
            self._place(view)

    def forget(self, uid: str) -> None:
        """The cluster's tick failed: what it asked for is kept from nobody."""
        with self.taking:
            self._urgent.pop(uid, None)
            self._budget.forget(uid)

    def allowance(self, view: ClusterView) -> Allowance:
        """What this cluster may begin now. One that already rolls may go on, within the account's budget."""
        if not has_work(view):
            return Allowance(cures=self.cures)
        with self.taking:
            reason = "" if self._has_a_place(view) else self._why_not(view)
            upgrade, repair = (self._budget.share(view, mends=mends) for mends in (False, True))
        return Allowance(not reason, reason, upgrade, repair, self.cures)

    def words(self, view: ClusterView) -> str:
        """For a plan: what the brake would say to a roll of this cluster now."""
        with self.taking:
            reason = "" if self._has_a_place(view) else self._why_not(view)
            share = self._budget.share(view, mends=False)
            used = self._budget.words(view)
            rolling = f"{len(self._rolling)} of {self.max_rolling} clusters roll"
        if reason or not share.vms:
            return f"would wait: {reason or share.reason}"
        return f"{rolling}; {used}"

    def take_in(self, recorded: Recorded) -> None:
        """Counts failed joins, and cures; a person's resume forgives them. Notes who gave its roll up.

        Takes no lock: it is called under the fold's, which whoever holds `taking` may wait for.
        """
        if recorded.type not in _COUNTED:
            return
        uid = str(cluster_uid_of(recorded.stream) or "")
        event = decode(recorded)
        if is_a_cure(event):
            self.cures = self.cures.with_one(recorded.recorded_at, uid)
            return
        match event:
            case facts.SurgeRequested(instances=instances):
                self._aborted.discard(uid)
                for planned in instances:
                    image = planned.image or facts.PlannedImage("", {})
                    made_from = build_name(image.revision, planned.kafka_version, image.sha256)
                    self._images[(recorded.stream, planned.key)] = made_from
            case facts.JoinFailed(superseded=True):
                pass  # its spec is another one by now: that says nothing of the image
            case facts.JoinFailed(key=key):
                self._count_failure(recorded.stream, self._images.get((recorded.stream, key), ""))
            case facts.ClusterResumed():
                self.cures = self.cures.forgiven_by(uid)
                for version in {v for (stream, _), v in self._images.items() if stream == recorded.stream}:
                    self.failed_images.pop(version, None)
                    self.failed_foundings.pop(version, None)
            case facts.RecycleAborted():
                self._aborted.add(uid)
            case facts.RecycleCompleted() | facts.ClusterAdopted() | facts.ClusterImported():
                self._aborted.discard(uid)
                self._end_founding(recorded.stream)
                self._founded.add(recorded.stream)
            case facts.ClusterDeleted():
                self._end_founding(recorded.stream)
                self._founded.discard(recorded.stream)
            case _:
                self._aborted.discard(uid)

    def _count_failure(self, stream: str, version: str) -> None:
        if stream in self._founded:
            self.failed_images[version] += 1
        else:
            self.failed_foundings.setdefault(version, set()).add(stream)

    def _end_founding(self, stream: str) -> None:
        """It is through, or given up for good: nobody could forgive it any more."""
        left = {version: there - {stream} for version, there in self.failed_foundings.items()}
        self.failed_foundings = {version: there for version, there in left.items() if there}

    def _place(self, view: ClusterView) -> None:
        if view.roll.converged and self._has_a_place(view):
            self._rolling[view.uid] = view.name
        else:
            self._rolling.pop(view.uid, None)

    def _has_a_place(self, view: ClusterView) -> bool:
        rests = view.uid in self._aborted or view.uid in self._resting
        return bool(view.roll.recycling) and (not rests or _is_in_hand(view))

    def _why_not(self, view: ClusterView) -> str:
        version = _made_from(view)
        if self._fails(view):
            image = "image" if image_in_force(view) else "Kafka"
            reason = f"{self._failures(version)} with {image} {version} failed in the fleet"
            return f"{reason}; `kedge resume` on a failed cluster lifts this"
        others = sorted(name for uid, name in self._rolling.items() if uid != view.uid)
        if len(others) >= self.max_rolling:
            named = ", ".join(others[:5]) + (", ..." if len(others) > 5 else "")
            return f"{len(others)} clusters are rolling ({named}), at most {self.max_rolling} may"
        ahead = sorted(name for urgency, name in self._urgent.values() if urgency > _urgency(view))
        if ahead and len(others) + len(ahead) >= self.max_rolling:
            named = ", ".join(ahead[:5]) + (", ..." if len(ahead) > 5 else "")
            return f"{len(others)} clusters are rolling and {named} is more urgent, at most {self.max_rolling} may roll"
        return ""

    def _fails(self, view: ClusterView) -> bool:
        """Whether what its VMs would be made from broke too often in the fleet."""
        version = _made_from(view)
        return self.failed_images[version] + len(self.failed_foundings.get(version, ())) >= MAX_IMAGE_FAILURES

    def _failures(self, version: str) -> str:
        each = ((self.failed_images[version], "replacement"), (len(self.failed_foundings.get(version, ())), "founding"))
        return " and ".join(f"{n} {what}{'' if n == 1 else 's'}" for n, what in each if n)

    def _keep_only(self, uids: set[str]) -> None:
        with self.taking:
            for uid in set(self._counted) - uids:
                self._counted.pop(uid)
                self._rolling.pop(uid, None)
            for uid in self._urgent.keys() - uids:
                self._urgent.pop(uid)
            self._aborted &= uids
            self._resting &= uids
            self._budget.keep_only(uids)


def _made_from(view: ClusterView) -> str:
    """What its next VMs are made from: a revision of the catalogue, else a build of its own, else a Kafka version."""
    image = image_in_force(view)
    if image is not None or view.document is None:
        return image.name if image is not None else ""
    kafka = view.document.spec.kafka
    return build_name("", kafka.version, kafka.distribution.sha256 if kafka.distribution is not None else "")


def _urgency(view: ClusterView) -> int:
    """How urgent the roll to another image is, 0 where none is due or nothing is wrong with the old one."""
    image = image_in_force(view)
    return urgency(image.chosen.security) if image is not None and image.reached_at is None else 0


def _is_in_hand(view: ClusterView) -> bool:
    """Whether anything that has begun is not yet ended."""
    unsettled = any(i.phase is not Phase.JOINED for i in view.alive())
    return (
        bool(view.intents or view.moves.drain or view.settings.restarts or view.quorum.migration or surge_vms(view))
        or unsettled
    )


_COUNTED = frozenset(
    {
        "surge.requested",
        "instance.join_failed",
        "cluster.resumed",
        "cluster.aborted",
        "recycle.started",
        "recycle.completed",
        "cluster.adopted",
        "cluster.imported",
        "cluster.deleted",
        "healing.requested",
        "move_cure.requested",
        "election_cure.requested",
    }
)
