"""Which disks are nearly full with nothing on its way that makes them larger. Pure."""

from dataclasses import dataclass
from datetime import timedelta

from controlplane.cluster.holds import hold_on
from controlplane.converger.questions.rolls.disk_fill import FillSeen, disk_fill
from controlplane.converger.questions.rolls.disk_growth import PoolGrowth, pool_growths
from controlplane.converger.situation.situation import Situation
from controlplane.runtime.once import once
from events.spec.model import Pool
from planner.disk_protection import is_near
from planner.quantities import brokers_named

DISK_NEARLY_FULL = "DiskNearlyFull"
"""The condition that tells it: while it is true the threshold is lower (`planner.disk_protection`)."""

GROWS_WITHIN = timedelta(minutes=15)
"""A growth that takes longer is no help that is on its way."""


@dataclass(frozen=True, slots=True)
class NearLimit:
    """A pool with disks that are nearly full: (broker, share in use) of those, the fullest first."""

    pool: str
    full: tuple[tuple[int, float], ...]
    free_bytes: int
    """Left on the fullest disk."""
    slows: bool
    """The spec has producers slowed for it."""

    @property
    def words(self) -> str:
        named = ", ".join(f"{brokers_named([b])} ({share:.1%} full)" for b, share in self.full[:3])
        more = f" and {len(self.full) - 3} more" if len(self.full) > 3 else ""
        return f"pool {self.pool}: {named}{more}"


@dataclass(frozen=True, slots=True)
class Limits:
    """What is nearly full, and brokers of which nobody knows."""

    near: tuple[NearLimit, ...] = ()
    unknown: tuple[int, ...] = ()


@once
def disk_limits(situation: Situation) -> Limits | None:
    """None where how full brokers are is not known now."""
    fill, spec = disk_fill(situation), situation.view.working_spec()
    if fill is None or spec is None:
        return None
    found = (_of_pool(situation, pool, fill) for pool in spec.spec.pools if pool.is_broker)
    return Limits(tuple(near for near in found if near is not None), fill.unknown)


def _of_pool(situation: Situation, pool: Pool, fill: FillSeen) -> NearLimit | None:
    told = situation.view.conditions.get(DISK_NEARLY_FULL)
    was = (told is not None and told.status) or situation.view.settings.producer_quota is not None
    ids = {i.service_id for i in situation.view.brokers() if i.planned.pool == pool.name}
    above = pool.disk.protect_above / 100
    full = [(b, share) for b, share in fill.by_broker.items() if b in ids and is_near(share, above, was=was)]
    if not full or _grows_soon(situation, pool.name):
        return None
    full.sort(key=lambda each: (-each[1], each[0]))
    return NearLimit(pool.name, tuple(full), fill.free_bytes[full[0][0]], pool.disk.protect == "quota")


def _grows_soon(situation: Situation, pool: str) -> bool:
    if hold_on(situation.view, situation.now) is not None:
        return False
    growth: PoolGrowth | None = next((g for g in pool_growths(situation) or () if g.pool == pool), None)
    if growth is None:
        return False
    if growth.growing:
        of_pool = {i.key for i in situation.view.alive() if i.planned.pool == pool}
        runs = [i for i in situation.view.intents.values() if i.kind == "grow" and not of_pool.isdisjoint(i.keys)]
        return all(not run.failures and situation.now - run.requested_at <= GROWS_WITHIN for run in runs)
    return growth.is_due
