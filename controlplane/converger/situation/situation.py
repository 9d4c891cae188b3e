"""All a decision may look at."""

import sys
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.cure_budget import NO_CURES, FleetCures
from controlplane.converger.situation.observation import Observation
from controlplane.fleet.images.offer import NOTHING, ImageOffer
from controlplane.fleet.spec_order import StageWait
from planner.rollout.windows import Freeze


@dataclass(frozen=True, slots=True)
class SurgeShare:
    """How many surge VMs a cluster may make now. When none: why, and the names of the clusters that have them."""

    vms: int = sys.maxsize
    reason: str = ""
    holders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Allowance:
    """What this cluster may begin now: the fleet's brake. `reason` says why it may not roll."""

    may_roll: bool = True
    reason: str = ""
    upgrade: SurgeShare = SurgeShare()
    repair: SurgeShare = SurgeShare()
    cures: FleetCures = NO_CURES
    """Begun in the fleet so far: a cure asks them first."""


LOSS_GRACE_S = 300.0
"""How long a VM may be gone before anything is done about it, unless the settings say otherwise."""


@dataclass(frozen=True, slots=True)
class Situation:
    """All a decision may look at."""

    view: ClusterView
    seen: Observation
    now: datetime
    allowance: Allowance = Allowance()
    loss_grace_s: float = LOSS_GRACE_S
    """The server's; a spec may have its own."""
    freezes: tuple[Freeze, ...] = ()
    """Of the whole fleet, in force or not."""
    image: ImageOffer = NOTHING
    """What the image catalogue means for the cluster."""
    order: StageWait | None = None
    """Who of earlier stages goes before it with what it has in hand."""
    cost_tags: tuple[str, ...] = ()
    """Labels, by key, that the server's settings let through to clouds."""
    why_not_spark: str | None = None
    """Why its last plan was not made on Spark, "" where it was; None on a server that plans without Spark."""
    waits_for_spark: str = ""
    """What its plans wait for: where they have to be Spark's (`planner.require_spark`), and Spark is not up."""
    taken_producer_ids: frozenset[int] = frozenset()
    """Where the producer ids of other clusters begin; told until the cluster is founded."""
    repairs_only: bool = False
    """Nothing voluntary may begin now: a step that has both names what is left of it, or None."""
    _answers: dict[Any, Any] | None = field(default=None, init=False, repr=False, compare=False)
    """What `once` keeps. A changed copy begins without."""

    @property
    def join_deadline_s(self) -> float:
        """How long a new VM may take until its service serves."""
        return self.view.document.spec.rollout.join_deadline_s if self.view.document else 600.0

    @property
    def lost_after_s(self) -> float:
        """How long a VM may be gone before anything is done about it."""
        own = self.view.document.spec.healing.lost_after_s if self.view.document else None
        return self.loss_grace_s if own is None else own

    @property
    def excused_topics(self) -> frozenset[str]:
        """Topics the spec allows below their min ISR."""
        return frozenset(self.view.document.spec.rollout.allow_unavailable) if self.view.document else frozenset()

    def seconds_since(self, then: datetime) -> float:
        return (self.now - then).total_seconds()
