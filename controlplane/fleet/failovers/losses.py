"""What a failover of a pair may lose, said before a person says yes. Pure. What is not known is told as unknown, and
counts for more than any bound."""

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.fleet.failovers.seen import CopySeen, PairSeen
from controlplane.fleet.failovers.view import PairView

_MOST_NAMED = 20
"""Partitions that are named one by one; the others are counted."""


@dataclass(frozen=True, slots=True)
class PairLoss:
    """`lines` say it in words. `seconds`: of writes that were acknowledged last, None where nobody knows, and where
    everything stays behind; `is_nothing`: no acknowledged record is lost."""

    lines: tuple[str, ...]
    seconds: float | None = None
    is_nothing: bool = False

    def exceeds(self, most_s: int) -> bool:
        """Whether it may be more than a failover may lose unless a person accepts it."""
        return not self.is_nothing and (self.seconds is None or self.seconds > most_s)


def loss_of(view: PairView, seen: PairSeen, *, planned: bool) -> PairLoss:
    """What a failover that began now may lose."""
    if not view.is_warm:
        return PairLoss(_cold(planned))
    if planned:
        line = "no acknowledged record: the standby has every one before its door opens, else the failover is aborted"
        return PairLoss((line, *_gaps(seen.copy), *_RESTARTED), 0.0, is_nothing=True)
    return _unplanned(seen.copy)


_RESTARTED = ("transactional producers and Streams have not been tried: expect to restart them",)


def _cold(planned: bool) -> tuple[str, ...]:
    stays = "every record stays on the old primary: a cold standby gets none, and its topics begin empty"
    groups = (
        "groups begin as `auto.offset.reset` of their clients says; what they have not read stays on the old primary"
    )
    if planned:
        return stays, groups
    return stays, groups, "what the old primary loses with its disks is lost"


def _unplanned(copy: CopySeen | None) -> PairLoss:
    if copy is None or copy.lag_s is None:
        return PairLoss(
            (
                "unknown: nobody knows how far the copy is behind; it may be everything that was written since it"
                " was last seen to keep up",
                *((copy.problem,) if copy is not None and copy.problem else ()),
                *_gaps(copy),
            )
        )
    begun = f"up to {copy.lag_s:.1f} s of acknowledged writes, and what was in flight"
    return PairLoss((begun, *_named(sorted(copy.lag_records.items())), *_gaps(copy), *_RESTARTED), copy.lag_s)


def _gaps(copy: CopySeen | None) -> tuple[str, ...]:
    """What the primary itself has no more, so that no failover loses it: readers of the standby miss it all the
    same."""
    gaps = sorted(copy.gaps.items()) if copy is not None else []
    if not gaps:
        return ()
    named = ", ".join(f"{name}: {count}" for name, count in gaps[:_MOST_NAMED])
    more = f", and {len(gaps) - _MOST_NAMED} more partitions" if len(gaps) > _MOST_NAMED else ""
    line = f"up to so many records were deleted by retention before they were copied, and are on neither: {named}{more}"
    return (line,)


def _named(behind: Sequence[tuple[str, int]]) -> list[str]:
    if not behind:
        return ["at the last look no partition was behind: what was acknowledged since then may be lost"]
    lines = [f"{name}: {count} records" for name, count in behind[:_MOST_NAMED]]
    left = behind[_MOST_NAMED:]
    return lines + ([f"{len(left)} more partitions: {sum(count for _, count in left)} records"] if left else [])
