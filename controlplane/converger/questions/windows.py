"""Windows and freezes: what may begin at any time, and what waits until it is welcome.

One table says of every step of the ladder whether it begins anything voluntary. What has begun is always ended, and
what is lost, ill or down is always mended; the rest of `decide.NEXT` begins inside a window of the spec and outside
every freeze. A person may waive the windows for the work of one generation (`kedge roll --now`), never a freeze.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from enum import StrEnum

from controlplane.cluster.view import ClusterView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.rolls.images import is_urgent
from controlplane.converger.situation.decision import Situation, StartBalancing, Verdict, Wait
from controlplane.runtime.quantities import moment_to_minute
from events import facts, topic_facts
from events.spec.rollout import RolloutWindow
from planner.rollout.windows import Freeze, UnknownZone, Window, next_chance, open_at, open_until

_FOR_EVER_S = timedelta(days=36500).total_seconds()


class Begins(StrEnum):
    """What a step begins."""

    NOTHING = "nothing voluntary"
    VOLUNTARY = "voluntary"
    BOTH = "both"
    """It is asked again with `Situation.repairs_only`."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """A row of the table: `why` is for people who read it."""

    begins: Begins
    why: str
    at_once: Callable[[ClusterView], bool] = lambda view: False
    """Whether the spec lets what is due now begin at any time."""
    of_spec: bool = False
    """It brings a changed spec about: it waits for earlier stages of the fleet, too."""


_ENDS = Begins.NOTHING

BEGINNINGS: Mapping[str, Beginning] = {
    # What is in hand.
    "chaos_step": Beginning(_ENDS, "ends a fault that somebody brought about"),
    "loss_step": Beginning(_ENDS, "records what is gone"),
    "volume_step": Beginning(_ENDS, "records a disk that is gone"),
    "intent_step": Beginning(_ENDS, "sees a Terraform run through"),
    "founding_step": Beginning(_ENDS, "founds the quorum of a cluster that serves nobody yet"),
    "import_step": Beginning(_ENDS, "records what others run; touches nothing"),
    "voter_step": Beginning(_ENDS, "sees a change of the quorum through; a newcomer that stands there gets its vote"),
    "reconfiguration_step": Beginning(_ENDS, "new VMs that refuse what they were told, and serve nobody, start anew"),
    "arrival_step": Beginning(_ENDS, "waits for VMs that are made"),
    "hung_repair_step": Beginning(_ENDS, "cures moves that hang, of replicas made anew"),
    "lost_replicas_step": Beginning(_ENDS, "replicas on brokers nobody has are made anew: a repair"),
    "cordon_step": Beginning(_ENDS, "keeps new replicas off brokers that are being emptied; copies nothing"),
    "hung_step": Beginning(_ENDS, "cures moves that hang"),
    "drain_step": Beginning(_ENDS, "sees a drain through, all its rounds"),
    "late_order_step": Beginning(_ENDS, "gives again what was asked already, and was not heard in time"),
    "departure_step": Beginning(_ENDS, "ends what is drained"),
    "external_departure_step": Beginning(_ENDS, "records what others stopped, forgets what is long gone"),
    "abortion_step": Beginning(_ENDS, "a person gave the roll up"),
    "handover_step": Beginning(_ENDS, "a successor stands there already"),
    "relief_step": Beginning(_ENDS, "a newcomer of another address stands there already"),
    "restart_in_hand_step": Beginning(_ENDS, "sees a restart through, or takes it back"),
    "cut_step": Beginning(_ENDS, "sees the way back from a migration through where it has a broker stopped"),
    "rebalance_in_hand_step": Beginning(_ENDS, "sees the batch in hand through"),
    "replication_in_hand_step": Beginning(_ENDS, "sees the batch in hand through"),
    "upkeep_step": Beginning(_ENDS, "clears throttles, gives leadership back: part of the end of each step"),
    "settings_in_hand_step": Beginning(_ENDS, "sees a live setting through"),
    # What is next.
    "voters_left_step": Beginning(_ENDS, "only says what a change of the quorum waits for"),
    "migration_step": Beginning(
        _ENDS, "sees a migration through; brokers that serve, and its point of no return, wait for a window by its word"
    ),
    "healing_step": Beginning(_ENDS, "a cure is a repair"),
    "election_step": Beginning(_ENDS, "a cure: another controller where leaders are not elected; no data is moved"),
    "maintenance_step": Beginning(_ENDS, "the cloud takes the VM down, window or not"),
    "demotion_step": Beginning(_ENDS, "a cure: leadership goes off a slow broker, no data is moved"),
    "settings_step": Beginning(_ENDS, "live settings stop no process and move no data"),
    "growth_step": Beginning(_ENDS, "a disk that grows stops no process and moves no data"),
    "settings_watch_step": Beginning(_ENDS, "watches the first broker that has a live value"),
    "evacuation_step": Beginning(Begins.VOLUNTARY, "empties brokers that serve"),
    "external_quorum_step": Beginning(Begins.VOLUNTARY, "a static quorum of others made dynamic: no way back"),
    "network_step": Beginning(_ENDS, "only says that a network is missing"),
    "replacement_step": Beginning(
        Begins.BOTH,
        "what is lost, ill, down or new at any time; what is outdated waits",
        at_once=is_urgent,
        of_spec=True,
    ),
    "image_step": Beginning(_ENDS, "fixes what new VMs are made from; the roll to it waits"),
    "server_list_step": Beginning(_ENDS, "ends the replacement of a VM whose ZooKeeper server is to leave"),
    "server_move_step": Beginning(Begins.VOLUNTARY, "takes the vote of servers beside brokers, whose VMs stay"),
    "refusal_left_step": Beginning(_ENDS, "only says what new VMs refuse"),
    "settings_left_step": Beginning(_ENDS, "only says what live settings wait for"),
    "restart_step": Beginning(
        Begins.BOTH, "the canary is watched and taken back at any time; restarts wait", of_spec=True
    ),
    "healing_left_step": Beginning(_ENDS, "only says what a cure waits for"),
    "external_drain_step": Beginning(Begins.VOLUNTARY, "empties brokers that serve"),
    "migration_begin_step": Beginning(
        Begins.VOLUNTARY, "every service is restarted for it, brokers twice", of_spec=True
    ),
    "finalisation_step": Beginning(Begins.VOLUNTARY, "it closes the way back", of_spec=True),
    "tagging_step": Beginning(_ENDS, "cost tags stop no process and move no data"),
    "replication_step": Beginning(Begins.VOLUNTARY, "moves replicas"),
    "placement_step": Beginning(Begins.VOLUNTARY, "moves replicas"),
    "hot_broker_step": Beginning(Begins.VOLUNTARY, "changes who leads, which clients notice"),
    "leader_order_step": Beginning(Begins.VOLUNTARY, "changes who leads, which clients notice"),
    "rebalance_step": Beginning(Begins.VOLUNTARY, "moves replicas"),
    "image_left_step": Beginning(_ENDS, "only says why an image is not rolled to"),
    "tags_left_step": Beginning(_ENDS, "only says which cost tags are missing"),
}
"""By the name of the step. A step that is not in it cannot be in the ladder: a test says so."""

BEGUN = (
    facts.RecycleStarted,
    facts.SurgeRequested,
    facts.DrainRequested,
    facts.RestartRequested,
    facts.VoterRemoveRequested,
    facts.FinalisationRequested,
    facts.ProtocolRaised,
    facts.MigrationBegun,
    topic_facts.ReplicationRequested,
    facts.RebalanceBatchStarted,
)
"""What is recorded as it begins. A test holds every event of a voluntary step against it."""


@dataclass(frozen=True, slots=True)
class Closed:
    """Why nothing voluntary may begin. `until` is the next chance, None where nobody can say."""

    reason: WaitReason
    words: str
    until: datetime | None

    def verdict(self, held: Verdict, now: datetime) -> Verdict:
        """The wait in place of what would have begun."""
        sentence = f"{self.sentence(now)}; then: {held.sentence}"
        return Verdict(sentence, wait=Wait(self.reason, patience_s=_FOR_EVER_S))

    def sentence(self, now: datetime) -> str:
        """`waits for its window, which opens at 2026-01-03 02:00 UTC (in 3 h)`."""
        return f"{self.words} (in {_hours(self.until - now)})" if self.until is not None else self.words


def closed_for(situation: Situation) -> Closed | None:
    """What keeps the cluster from beginning anything voluntary now, None when nothing does.

    A cluster that has never converged serves nobody yet: nothing of it waits.
    """
    return closed(situation.view, situation.freezes, situation.now)


def closed(view: ClusterView, freezes: tuple[Freeze, ...], now: datetime) -> Closed | None:
    """The same, of a view: for plans and descriptions."""
    if view.document is None or not view.converged:
        return None
    metadata = view.document.metadata
    named = tuple(f for f in freezes if f.names(metadata.name, metadata.owner, metadata.labels))
    windows = () if is_waived(view) else windows_of(view)
    try:
        frozen = max((f for f in named if f.begins <= now < f.ends), key=lambda f: f.ends, default=None)
        if frozen is None and (not windows or open_at(windows, now)):
            return None
        chance = next_chance(windows, named, now)
    except UnknownZone as error:
        return Closed(WaitReason.WINDOW, f"waits for its window: {error}; nobody can say when it opens", None)
    if frozen is not None:
        goes_on = f", goes on at {moment_to_minute(chance)}" if chance is not None else ""
        return Closed(WaitReason.FREEZE, f"{_frozen_words(frozen)}{goes_on}", chance)
    if chance is None:
        return Closed(WaitReason.WINDOW, "waits for a window outside of all freezes; none is in sight", None)
    return Closed(WaitReason.WINDOW, f"waits for its window, which opens at {moment_to_minute(chance)}", chance)


def frozen_words(view: ClusterView, freezes: Iterable[Freeze], now: datetime) -> str:
    """The freeze in force that names the cluster and lasts longest, in words; "" where none does."""
    if view.document is None:
        return ""
    metadata = view.document.metadata
    named = (f for f in freezes if f.names(metadata.name, metadata.owner, metadata.labels))
    frozen = max((f for f in named if f.begins <= now < f.ends), key=lambda f: f.ends, default=None)
    return _frozen_words(frozen) if frozen is not None else ""


def window_words(view: ClusterView, freezes: tuple[Freeze, ...], now: datetime) -> str:
    """For plans and descriptions; "" where the spec has no window and no freeze is in force."""
    shut = closed(view, freezes, now)
    if shut is not None:
        return shut.sentence(now)
    windows = windows_of(view)
    if not windows:
        return ""
    if not view.converged:
        return "a new cluster is made at any time"
    if is_waived(view):
        return f"waived for generation {view.generation}: {view.waived[1] if view.waived else ''}"
    closes = open_until(windows, now)
    return f"open until {moment_to_minute(closes)}" if closes is not None else ""


def windows_of(view: ClusterView) -> tuple[Window, ...]:
    """The windows of the spec in force."""
    return as_windows(view.document.spec.rollout.windows) if view.document else ()


def as_windows(declared: Iterable[RolloutWindow]) -> tuple[Window, ...]:
    """Windows of a spec, as times are held against them."""
    return tuple(
        Window(time.fromisoformat(w.start), timedelta(seconds=w.duration_s), w.zone, frozenset(w.days))
        for w in declared
    )


def begins(step: str) -> Begins:
    """What that step begins. A step that nobody has put into the table waits: that hurts nobody."""
    row = BEGINNINGS.get(step)
    return row.begins if row is not None else Begins.VOLUNTARY


def waits(step: str, verdict: Verdict, view: ClusterView) -> bool:
    """Whether this verdict of that step begins, or asks the fleet for, what has to wait while windows are closed."""
    row = BEGINNINGS.get(step)
    if begins(step) is Begins.NOTHING or (row is not None and row.at_once(view)):
        return False
    if any(isinstance(e, BEGUN) for e in verdict.events) or any(isinstance(e, StartBalancing) for e in verdict.effects):
        return True
    return verdict.wait is not None and verdict.wait.reason.asks_for_place


def brings_spec(step: str) -> bool:
    """Whether that step brings a changed spec about. One that is not in the table is taken for such a step."""
    row = BEGINNINGS.get(step)
    return row is None or row.of_spec


def waits_its_turn(verdict: Verdict) -> bool:
    """Whether nothing but a closed window, a freeze or an earlier stage holds the cluster up: nobody has to act."""
    return verdict.wait is not None and verdict.wait.reason.awaits_turn


def is_waived(view: ClusterView) -> bool:
    return view.waived is not None and view.waived[0] == view.generation


def _frozen_words(freeze: Freeze) -> str:
    by = f" by {freeze.by}" if freeze.by else ""
    thaw = f" (to end it: kedge thaw {freeze.id})" if freeze.id else ""
    return f"frozen until {moment_to_minute(freeze.ends)}{by}: {freeze.reason}{thaw}"


def _hours(left: timedelta) -> str:
    minutes = max(1, round(left.total_seconds() / 60))
    if minutes < 120:
        return f"{minutes} min"
    hours = round(minutes / 60)
    return f"{hours} h" if hours < 72 else f"{round(hours / 24)} days"
