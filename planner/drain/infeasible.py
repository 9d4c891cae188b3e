"""A refusal to plan, in words a person can act on: what does not fit and the smallest thing that would make
it fit.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from planner.observed import TopicPartition

if TYPE_CHECKING:
    from planner.drain.plan import DrainPlan

InfeasibleKind = Literal[
    "target", "disk-unknown", "broker", "destination", "disk", "log-dir", "repair", "throttle", "refused"
]
"""What is missing: a usable target, what its disk holds, a broker (in a rack), another target than those named, disk, a
log directory that one log fits in whole, replicas in sync, a higher throttle cap; the first where there are several.
`refused`: the judge found fault with the plan, a defect of the planner."""


@dataclass(frozen=True, slots=True)
class Infeasible:
    """No plan empties the brokers. `stuck` names the partitions that cannot be placed (all of them).

    `feasible_part` is a plan for the others, when the request asked for one.
    """

    drain_id: str
    cluster_uid: str
    round: int
    kind: InfeasibleKind
    message: str
    stuck: tuple[TopicPartition, ...] = ()
    feasible_part: "DrainPlan | None" = None
