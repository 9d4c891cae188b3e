"""The drain in hand and those that were put off, as values. Part of `controlplane.cluster.view`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from controlplane.cluster.views.plans import PlanningView, PlanView, ProgressView


@dataclass(frozen=True, slots=True)
class DrainView:
    """The drain in hand, if any."""

    id: str
    keys: tuple[str, ...]
    outgoing: tuple[int, ...]
    successors: Mapping[int, int]
    targets: tuple[int, ...]
    round: int
    requested_at: datetime
    planning: PlanningView = field(default_factory=PlanningView)
    plan: PlanView = field(default_factory=PlanView)
    progress: ProgressView = field(default_factory=ProgressView)
    stays: bool = False
    """An evacuation: the brokers are emptied and stay."""


@dataclass(frozen=True, slots=True)
class PostponedView:
    """How many in a row, with nothing done between them; when the last one was, and why."""

    times: int
    at: datetime
    reason: str
