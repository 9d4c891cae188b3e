"""Which VMs are asked next: one first, a soak, then cluster by cluster, the early stages of the fleet first. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from planner.rollout.fleet_order import stage_word


@dataclass(frozen=True, slots=True)
class UpgradingCluster:
    """A cluster that is not known to be through. `behind` are VMs to be asked, `in_hand` those that were.

    `blocked` says why none of it may be asked now, "" where one may.
    """

    uid: str
    name: str
    stage: int
    behind: tuple[str, ...] = ()
    in_hand: tuple[str, ...] = ()
    blocked: str = ""

    @property
    def who(self) -> str:
        return f"{self.name} ({stage_word(self.stage)})"


@dataclass(frozen=True, slots=True)
class ReleaseProgress:
    """What the fleet's history says of one version: when VMs became it, by stage of their clusters; and who failed."""

    done: Mapping[int, tuple[datetime, ...]]
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UpgradeOrders:
    """`asks` are uid -> key of the VM that is asked now; `waits` says what is waited for, "" where nothing is."""

    asks: Mapping[str, str]
    waits: str = ""


def next_asks(
    members: Sequence[UpgradingCluster], progress: ReleaseProgress, now: datetime, *, soak: timedelta, at_once: int
) -> UpgradeOrders:
    """One VM in a cluster at a time, in `at_once` clusters at most. The very first VM soaks alone, and each stage
    soaks before the next one begins. A member that cannot be asked keeps later stages waiting."""
    if progress.failed:
        return UpgradeOrders({}, f"paused: {'; '.join(progress.failed[:3])}. Next: kedge agents resume, or withdraw")
    if not members:
        return UpgradeOrders({})
    every = [at for times in progress.done.values() for at in times]
    in_hand = [m for m in members if m.in_hand]
    stage = min(m.stage for m in members)
    if not every:
        if in_hand:
            return UpgradeOrders({}, f"the first VM, {in_hand[0].in_hand[0]} of {in_hand[0].who}, is being upgraded")
        return _from(members, stage, free=1)
    soaked_at = min(every) + soak
    if soaked_at > now:
        return UpgradeOrders({}, f"the first VM soaks {_seconds(soaked_at - now)} more")
    before = [at for rank, times in progress.done.items() if rank < stage for at in times]
    if before and max(before) + soak > now:
        return UpgradeOrders(
            {}, f"the stages before {stage_word(stage)} soak {_seconds(max(before) + soak - now)} more"
        )
    return _from(members, stage, free=at_once - len(in_hand))


def _from(members: Sequence[UpgradingCluster], stage: int, *, free: int) -> UpgradeOrders:
    here = [m for m in members if m.stage == stage]
    ready = [m for m in here if m.behind and not m.in_hand and not m.blocked]
    asks = {m.uid: m.behind[0] for m in ready[: max(0, free)]}
    if asks:
        return UpgradeOrders(asks)
    waiting = next((f"{m.who} waits: {m.blocked}" for m in here if m.blocked), "")
    busy = next((f"{m.in_hand[0]} of {m.who} is being upgraded" for m in members if m.in_hand), "")
    return UpgradeOrders({}, busy or waiting)


def _seconds(left: timedelta) -> str:
    return f"{left.total_seconds():.0f} s"
