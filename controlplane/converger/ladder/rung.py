"""A rung of the ladder: a step, when it has its turn, what it begins, and what may go past it while it waits."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from controlplane.cluster.view import ClusterView
from controlplane.cluster.wait_reasons import Mark, WaitReason
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.effects import StartBalancing
from controlplane.converger.situation.situation import Situation
from events import facts, topic_facts

Step = Callable[[Situation], Decision | None]


class Phase(StrEnum):
    """When a rung has its turn."""

    FIRST = "first"
    """Whatever else is in hand."""
    IN_HAND = "in hand"
    """While a cluster is paused too: it ends what has begun, safely."""
    NEXT = "next"
    """It begins something new."""


class Begins(StrEnum):
    """What a step begins."""

    NOTHING = "nothing voluntary"
    VOLUNTARY = "voluntary"
    BOTH = "both"
    """It is asked again with `Situation.repairs_only`."""


@dataclass(frozen=True, slots=True)
class Rung:
    """A row of the ladder. `looks_after` and `why` are for people: what it does, and why it begins what it begins."""

    step: Step
    phase: Phase
    looks_after: str
    why: str
    more: str = ""
    """The page of docs/ that says more, as a link."""
    begins: Begins = Begins.NOTHING
    at_once: Callable[[ClusterView], bool] = lambda view: False
    """Whether the spec lets what is due now begin at any time."""
    of_spec: bool = False
    """It brings a changed spec about: it waits for earlier stages of the fleet, too."""
    lets_notices_pass: bool = False
    """A VM that its cloud takes back in minutes does not wait for it."""
    waits_for_agents: bool = False
    """It waits until a service has obeyed: whoever did not hear an order is mended first."""
    sees_controllers_in: bool = False
    """It goes on though something before it waits for metadata that a lost quorum keeps from everybody."""
    waits_for_copies: bool = False
    """It may wait for what nobody who serves has a copy of: who has it may be started anew first."""
    waits_for_unhealthy: Callable[[WaitReason], bool] = lambda reason: False
    """Whether it may wait, for that reason, for one that is unhealthy, whom nobody would cure meanwhile."""

    @property
    def name(self) -> str:
        """That of its step."""
        return self.step.__name__

    @property
    def file(self) -> str:
        """Where its step is, from the folder of the converger."""
        return f"{self.step.__module__.partition('.converger.')[2].replace('.', '/')}.py"

    def is_postponed(self, decision: Decision, view: ClusterView) -> bool:
        """Whether that decision of its step begins, or asks the fleet for, what waits while windows are closed."""
        if self.begins is Begins.NOTHING or self.at_once(view):
            return False
        if any(isinstance(e, BEGUN) for e in decision.events):
            return True
        if any(isinstance(e, StartBalancing) for e in decision.effects):
            return True
        return decision.wait is not None and decision.wait.reason.has(Mark.ASKS_FOR_PLACE)


BEGUN = (
    facts.RecycleStarted,
    facts.SurgeRequested,
    facts.DrainRequested,
    facts.RestartRequested,
    facts.VoterRemoveRequested,
    facts.FinalisationRequested,
    facts.ProtocolRaised,
    facts.MigrationBegun,
    facts.SecurityStepRequested,
    topic_facts.ReplicationRequested,
    facts.RebalanceBatchStarted,
)
"""What is recorded as it begins. A test holds every event of a voluntary step against it."""
