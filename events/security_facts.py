"""How a living cluster goes from plaintext between its nodes to TLS, and back: part of a cluster's stream."""

from dataclasses import dataclass

from events.registry import fact


@fact("security.step_requested", schema=1)
@dataclass(frozen=True, slots=True)
class SecurityStepRequested:
    """All services of one kind are to be restarted for `step` (`C1`, `B1`, ...). `position` is how many steps are made
    once that is done: one more than before, or one less where the step is undone."""

    step: str
    position: int
    generation: int
    reason: str


@fact("security.step_completed", schema=1)
@dataclass(frozen=True, slots=True)
class SecurityStepCompleted:
    """Each of them serves with it, and the controllers' endpoints in the metadata log are those of it."""

    step: str
    position: int
    reason: str


@fact("security.least_rights_begun", schema=1)
@dataclass(frozen=True, slots=True)
class LeastRightsBegun:
    """From here on services are started without Kedge's server among their super users: it has ACLs, or gets them
    before it asks for anything, where the cluster is being founded. Who runs is told with its next start."""

    reason: str
