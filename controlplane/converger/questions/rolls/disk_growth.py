"""Which pools' disks are to grow by themselves (`disk.grow`), and why others do not. Pure.

All disks of a pool get one size: its nodes are made alike, planned for alike, and a broker's next VM is made as its
pool says. Who grew alone would have a disk that its successor does not have.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.rolls.disk_fill import FillSeen, disk_fill
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.converger.situation.situation import Situation
from controlplane.runtime.once import once
from events.spec.model import Pool
from events.spec.storage_rules import grows_in_place
from planner.disk_growth import GrowthPolicy, cool_down, next_size
from planner.quantities import brokers_named
from planner.rollout.diff import Change


@dataclass(frozen=True, slots=True)
class PoolGrowth:
    """Disks of a pool that grow by themselves. `full`: brokers above the threshold, the fullest first, each with the
    share of its disk in use."""

    pool: str
    gib: int
    """What each disk has, or is being given."""
    wanted_gib: int
    policy: GrowthPolicy
    full: tuple[tuple[int, float], ...] = ()
    unknown: tuple[int, ...] = ()
    """Brokers of the pool that have not told how full they are."""
    growing: bool = False
    """A growth is in hand, by the spec's word or by this."""
    rests_until: datetime | None = None
    """When its disks may be changed again, where they were a moment ago."""

    @property
    def is_due(self) -> bool:
        """Whether its disks are to be made larger now."""
        return self.wanted_gib > self.gib and not self.growing and self.rests_until is None

    @property
    def is_at_limit(self) -> bool:
        """Whether brokers are full and the spec allows no more."""
        return bool(self.full) and not self.growing and self.gib >= self.policy.to_gib

    @property
    def who(self) -> str:
        """`broker 1001 (83 % full)`, the fullest ones by name."""
        shown = ", ".join(f"{brokers_named([b])} ({share:.0%} full)" for b, share in self.full[:3])
        return f"{shown} and {len(self.full) - 3} more" if len(self.full) > 3 else shown


@once
def pool_growths(situation: Situation) -> tuple[PoolGrowth, ...] | None:
    """Of each pool whose spec lets its disks grow; None where how full brokers are is not known now."""
    pools = list(_growing_pools(situation.view))
    if not pools:
        return ()
    fill = disk_fill(situation)
    return tuple(_of_pool(situation, pool, fill) for pool in pools) if fill is not None else None


def grows_by_itself(view: ClusterView) -> bool:
    """Whether the spec lets any disks grow without a word."""
    return any(True for _ in _growing_pools(view))


def _growing_pools(view: ClusterView) -> Iterator[Pool]:
    spec = view.working_spec()
    for pool in spec.spec.pools if spec is not None else ():
        if pool.disk.grow is not None and pool.is_broker and grows_in_place(pool):
            yield pool


def _of_pool(situation: Situation, pool: Pool, fill: FillSeen) -> PoolGrowth:
    grow = pool.disk.grow
    assert grow is not None
    policy = GrowthPolicy(above=grow.above / 100, to_gib=grow.to)
    ids = {i.service_id for i in situation.view.brokers() if i.planned.pool == pool.name}
    shares = {broker: share for broker, share in fill.by_broker.items() if broker in ids}
    full = sorted(((b, share) for b, share in shares.items() if share > policy.above), key=lambda f: (-f[1], f[0]))
    fullest = full[0][1] if full else 0.0
    return PoolGrowth(
        pool.name,
        pool.disk.size_gib,
        next_size(pool.disk.size_gib, fullest, policy),
        policy,
        tuple(full),
        tuple(broker for broker in fill.unknown if broker in ids),
        _is_growing(situation.view, pool.name),
        _rests_until(situation, pool),
    )


def _is_growing(view: ClusterView, pool: str) -> bool:
    asked = any(c.change is Change.GROW and c.desired and c.desired.pool == pool for c in pending_changes(view))
    of_pool = {i.key for i in view.alive() if i.planned.pool == pool}
    return asked or any(i.kind == "grow" and not of_pool.isdisjoint(i.keys) for i in view.intents.values())


def _rests_until(situation: Situation, pool: Pool) -> datetime | None:
    """By what is recorded of its volumes, so that another server knows it too, and growth by the spec's word counts."""
    view = situation.view
    volumes = (v.key for i in view.brokers() if i.planned.pool == pool.name for v in i.planned.volumes)
    changed = [at for key in volumes if (at := view.vms.volumes_grown_at.get(key)) is not None]
    rest: timedelta = cool_down(pool.place.cloud)
    until = max(changed) + rest if changed else None
    return until if until is not None and until > situation.now else None
