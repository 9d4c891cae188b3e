"""Which VM is replaced before its host goes down: the one whose date comes first, within the caps of all cures. Pure.

A VM with a date that is past is left alone: the cloud is at it, and a replacement would come too late.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from planner.healing import WITHIN, Cure, PastCure

FINDING = "maintenance"
"""What a replacement before maintenance is recorded as, beside the findings of agents."""


@dataclass(frozen=True, slots=True)
class Announced:
    """An announcement with a date for the VM of a node; `words` are the cloud's."""

    node: str
    key: str
    not_before: datetime
    words: str
    is_certain: bool = False
    """The VM itself was told: it goes, whatever became of those before it."""


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """Nothing is done about it, or not yet, with the reason for people."""

    announced: Announced
    reason: str


def next_replacement(
    announced: Iterable[Announced],
    past: Sequence[PastCure],
    *,
    replaces: bool,
    a_day: int,
    now: datetime,
    switched_off: bool = False,
) -> tuple[Announced | None, tuple[LeftAlone, ...]]:
    """The one to replace now, and what waits or is left alone. `past` are the cures of the cluster, oldest first.

    They count against `a_day`, as every cure does: announcements come for whole racks of hosts at once, and a date is
    usually days away. A node that was replaced for an announcement within a day is not replaced for another, unless
    that VM goes for certain: a pre-emptible one may be taken several times a day.
    """
    recent = [c for c in past if now - c.at < WITHIN]
    again = {c.node for c in recent if c.finding == FINDING and c.cure is Cure.REPLACE}
    chosen, left = None, []
    for one in sorted(announced, key=lambda a: (a.not_before, a.key)):
        reason = _against(one, recent, again, replaces=replaces, a_day=a_day, now=now)
        reason = reason or ("healing of maintenance events is switched off" if switched_off else "")
        if reason:
            left.append(LeftAlone(one, reason))
        elif chosen is None:
            chosen = one
        else:
            left.append(LeftAlone(one, f"{chosen.key} goes first"))
    return chosen, tuple(left)


def _against(
    one: Announced, recent: Sequence[PastCure], again: set[str], *, replaces: bool, a_day: int, now: datetime
) -> str:
    if not replaces:
        return "the spec has `healing.maintenance: tell`"
    if one.not_before <= now:
        return "its date is past: the cloud is at it"
    if one.node in again and not one.is_certain:
        return "its node had a new VM for an announcement within a day"
    if a_day == 0:
        return "the spec allows 0 cures a day"
    if len(recent) >= a_day:
        at = recent[-a_day].at + WITHIN
        return f"{len(recent)} cures in a day are the most this cluster gets, the next at {at:%H:%M} UTC"
    return ""
