"""`[loop]`: how often clusters are looked at, and how much may be in hand at a time."""

from pydantic import Field

from controlplane.converger.situation.cure_budget import MAX_CURES_PER_DAY
from controlplane.converger.situation.situation import LOSS_GRACE_S
from controlplane.converger.tick.fleet_brake import MAX_ROLLING, MAX_SURGE_PER_ACCOUNT
from controlplane.server.sections.section import Section


class LoopSection(Section):
    """Of the converger."""

    tick_interval_s: float = Field(default=0.5, gt=0, le=60)
    rest_s: float = Field(default=5.0, ge=0, le=60, description="between two looks at a cluster without work")
    loss_grace_s: float = Field(
        default=LOSS_GRACE_S, ge=0, le=86_400, description="how long a VM may be gone before it is replaced"
    )
    workers: int = Field(default=4, ge=1, le=64, description="threads that tick clusters with work in hand")
    max_rolling: int = Field(default=MAX_ROLLING, ge=1, description="clusters that may roll at a time")
    max_surge_per_account: int = Field(
        default=MAX_SURGE_PER_ACCOUNT, ge=1, description="VMs beyond one per node, all clusters of an account together"
    )
    max_cures_per_day: int = Field(
        default=MAX_CURES_PER_DAY, ge=1, description="cures all clusters together begin in 24 h, then a person looks"
    )
