"""A cluster in two words: is it what was asked for, and is it well. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from controlplane.api.trouble import GRAVE, has_or_have, needs_a_person
from controlplane.cluster.holds import hold_on
from controlplane.cluster.view import ClusterView, ConditionView
from controlplane.cluster.work_in_hand import is_worked_on
from controlplane.converger.conditions.changes import BLOCKED
from controlplane.converger.conditions.ticks import TICK_FAILING
from events.quantities import counted
from planner.observed import KafkaSnapshot

STALE = timedelta(seconds=180)
"""Kafka of a cluster at rest is read once a minute: older than three such looks, nobody knows."""


@dataclass(frozen=True, slots=True)
class Word:
    """`text` is the word, `tone` its colour (good, busy, warn, bad, mute), `why` the reason in words."""

    text: str
    tone: str
    why: str


def sync_word(view: ClusterView, source_sync: str = "") -> Word:
    """Synced, OutOfSync or Unknown: whether what runs was declared, and the declaration is its source's."""
    if view.history.unreadable:
        return Word("Unknown", "mute", f"the history cannot be read: {view.history.unreadable}")
    if view.requests.tombstone:
        return Word("OutOfSync", "warn", "it is being deleted")
    if (failing := _true(view, TICK_FAILING)) is not None:
        return Word("Unknown", "mute", f"it is not compared with its spec: {TICK_FAILING}, {failing.reason}")
    if source_sync in ("OutOfSync", "Refused"):
        return Word("OutOfSync", "warn", f"its file in git is not in force ({source_sync})")
    if view.roll.converged != view.generation:
        reached = f"generation {view.roll.converged} is reached" if view.roll.converged else "none is reached yet"
        return Word("OutOfSync", "busy", f"generation {view.generation} is declared, {reached}")
    if source_sync == "Unknown":
        return Word("Unknown", "mute", "its file in git was not looked at")
    return Word("Synced", "good", f"generation {view.generation} is in force")


def health_word(view: ClusterView, snapshot: KafkaSnapshot | None, now: datetime, *, ails: bool = False) -> Word:
    """Healthy, Progressing, Suspended, Degraded, Missing or Unknown; the worst that is known comes first. `ails`: an
    agent has told of a finding a moment ago."""
    if view.history.unreadable:
        return Word("Unknown", "mute", f"the history cannot be read: {view.history.unreadable}")
    if (unhealthy := _illness(view, snapshot)) is not None:
        return unhealthy
    if view.requests.held or hold_on(view, now) is not None:
        return Word("Suspended", "warn", view.requests.held or view.requests.paused or "the spec says pause")
    if view.requests.tombstone or is_worked_on(view):
        return Word("Progressing", "busy", "there is work in hand")
    if not view.alive():
        return Word("Missing", "bad", "no VM of it is known")
    if snapshot is None:
        return Word("Unknown", "mute", "Kafka was not read by this server yet")
    if now - snapshot.at > STALE:
        return Word("Unknown", "mute", f"Kafka was last read {(now - snapshot.at).total_seconds():.0f} s ago")
    behind = len(snapshot.under_replicated())
    if behind:
        return Word("Degraded", "warn", f"{counted(behind, 'partition')} {has_or_have(behind)} a replica out of sync")
    if ails:
        return Word("Degraded", "warn", "an agent finds something wrong, which the cluster's own page tells")
    return Word("Healthy", "good", f"all {len(snapshot.partitions)} partitions are in sync")


def _illness(view: ClusterView, snapshot: KafkaSnapshot | None) -> Word | None:
    """In the order of `controlplane.api.trouble`, which knows more: what agents say is not read for a whole list."""
    offline = len(snapshot.leaderless()) if snapshot else 0
    below = len(snapshot.under_min_isr()) if snapshot else 0
    lost = sum(i.lost for i in view.alive())
    tone = "bad" if offline or below or lost else "warn"
    blocked = view.conditions.get(BLOCKED)
    waits = blocked is not None and blocked.status
    for_a_person = blocked is not None and waits and needs_a_person(blocked.reason, blocked.message)
    grave = [
        f"{kind}: {condition.message or condition.reason}"
        for kind in GRAVE
        if (condition := _true(view, kind)) is not None
    ]
    found = (
        f"{counted(offline, 'partition')} {has_or_have(offline)} no leader" if offline else "",
        f"{counted(below, 'partition')} below min ISR" if below else "",
        _words(blocked) if for_a_person else "",
        *grave,
        f"{counted(lost, 'VM')} {'is' if lost == 1 else 'are'} gone" if lost else "",
        _words(blocked) if waits else "",
    )
    why = next((words for words in found if words), "")
    return Word("Degraded", tone, why) if why else None


def _true(view: ClusterView, kind: str) -> ConditionView | None:
    condition = view.conditions.get(kind)
    return condition if condition is not None and condition.status else None


def _words(blocked: ConditionView | None) -> str:
    return "" if blocked is None else blocked.message or blocked.reason
