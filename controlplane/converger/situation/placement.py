"""What one look at the metadata tells of where replicas are, and should be."""

from dataclasses import dataclass, field

from planner.demotion import Orders
from planner.placement.corrections import NONE, Corrections
from planner.placement.deviations import Deviation


@dataclass(frozen=True, slots=True)
class PlacementSeen:
    """`found`: what breaks a rule. `repair` and `spread`: the next batch against replicas that are gone, and against
    shared zones; what cannot be mended now is in their `left`. `leaders`: the next lists to be put into another order,
    and how uneven leaders are without that, in percent."""

    found: tuple[Deviation, ...] = ()
    repair: Corrections = field(default=NONE)
    spread: Corrections = field(default=NONE)
    leaders: Orders = field(default_factory=dict)
    leaders_percent: float = 0.0


IN_PLACE = PlacementSeen()
