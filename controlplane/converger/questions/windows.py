"""Windows and freezes: what may begin at any time, and what waits until it is welcome.

What has begun is always ended, and what is lost, unhealthy or down is always mended; what else a rung of the ladder
begins waits for a window of the spec, outside every freeze. A person may waive the windows for the work of one
generation (`kedge roll --now`), never a freeze.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, time, timedelta

from controlplane.cluster.view import ClusterView
from controlplane.cluster.wait_reasons import Mark, WaitReason
from controlplane.converger.situation.decision import Decision, Wait
from controlplane.converger.situation.situation import Situation
from controlplane.runtime.quantities import moment_to_minute
from events.spec.rollout import RolloutWindow
from planner.rollout.windows import NO_END, Freeze, UnknownZone, Window, next_chance, open_at, open_until

_FOR_EVER_S = timedelta(days=36500).total_seconds()


@dataclass(frozen=True, slots=True)
class Closed:
    """Why nothing voluntary may begin. `until` is the next chance, None where nobody can say."""

    reason: WaitReason
    words: str
    until: datetime | None

    def decision(self, held: Decision, now: datetime) -> Decision:
        """The wait in place of what would have begun."""
        sentence = f"{self.sentence(now)}; then: {held.sentence}"
        return Decision(sentence, wait=Wait(self.reason, patience_s=_FOR_EVER_S))

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
    if view.document is None or not view.roll.converged:
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
    if not view.roll.converged:
        return "a new cluster is made at any time"
    if is_waived(view):
        return f"waived for generation {view.generation}: {view.requests.waived[1] if view.requests.waived else ''}"
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


def waits_its_turn(decision: Decision) -> bool:
    """Whether nothing but a closed window, a freeze or an earlier stage holds the cluster up: nobody has to act."""
    return decision.wait is not None and decision.wait.reason.has(Mark.TURN)


def is_waived(view: ClusterView) -> bool:
    return view.requests.waived is not None and view.requests.waived[0] == view.generation


def _frozen_words(freeze: Freeze) -> str:
    by = f" by {freeze.by}" if freeze.by else ""
    thaw = f" (to end it: kedge thaw {freeze.id})" if freeze.id else ""
    until = f" until {moment_to_minute(freeze.ends)}" if freeze.ends != NO_END else ""
    return f"frozen{until}{by}: {freeze.reason}{thaw}"


def _hours(left: timedelta) -> str:
    minutes = max(1, round(left.total_seconds() / 60))
    if minutes < 120:
        return f"{minutes} min"
    hours = round(minutes / 60)
    return f"{hours} h" if hours < 72 else f"{round(hours / 24)} days"
