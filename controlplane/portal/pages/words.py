"""A cluster in two words: is it what was asked for, and is it well. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from controlplane.converger.conditions import BLOCKED
from controlplane.converger.inhand import has_work
from controlplane.converger.pausing import hold_on
from controlplane.view import ClusterView
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
    if view.unreadable:
        return Word("Unknown", "mute", f"the history cannot be read: {view.unreadable}")
    if view.tombstone:
        return Word("OutOfSync", "warn", "it is being deleted")
    if source_sync in ("OutOfSync", "Refused"):
        return Word("OutOfSync", "warn", f"its file in git is not in force ({source_sync})")
    if view.converged != view.generation:
        reached = f"generation {view.converged} is reached" if view.converged else "none is reached yet"
        return Word("OutOfSync", "busy", f"generation {view.generation} is declared, {reached}")
    if source_sync == "Unknown":
        return Word("Unknown", "mute", "its file in git was not looked at")
    return Word("Synced", "good", f"generation {view.generation} is in force")


def health_word(view: ClusterView, snapshot: KafkaSnapshot | None, now: datetime) -> Word:
    """Healthy, Progressing, Suspended, Degraded, Missing or Unknown; the worst that is known comes first."""
    if view.unreadable:
        return Word("Unknown", "mute", f"the history cannot be read: {view.unreadable}")
    if (ill := _illness(view, snapshot)) is not None:
        return ill
    if view.held or hold_on(view, now) is not None:
        return Word("Suspended", "warn", view.held or view.paused or "the spec says pause")
    if view.tombstone or has_work(view):
        return Word("Progressing", "busy", "there is work in hand")
    if not view.alive():
        return Word("Missing", "bad", "no VM of it is known")
    if snapshot is None:
        return Word("Unknown", "mute", "Kafka was not read by this server yet")
    if now - snapshot.at > STALE:
        return Word("Unknown", "mute", f"Kafka was last read {(now - snapshot.at).total_seconds():.0f} s ago")
    behind = len(snapshot.under_replicated())
    if behind:
        return Word("Degraded", "warn", f"{behind} partitions have a replica out of sync")
    return Word("Healthy", "good", f"all {len(snapshot.partitions)} partitions are in sync")


def _illness(view: ClusterView, snapshot: KafkaSnapshot | None) -> Word | None:
    lost = sum(i.lost for i in view.alive())
    if lost:
        return Word("Degraded", "bad", f"{lost} VMs are gone")
    offline = len(snapshot.leaderless()) if snapshot else 0
    if offline:
        return Word("Degraded", "bad", f"{offline} partitions have no leader")
    below = len(snapshot.under_min_isr()) if snapshot else 0
    if below:
        return Word("Degraded", "bad", f"{below} partitions are below their min ISR")
    blocked = view.conditions.get(BLOCKED)
    if blocked is not None and blocked.status:
        return Word("Degraded", "warn", blocked.message or blocked.reason)
    return None
