"""The life of one instance as a state machine: the legal phases and the moves between them.

    REQUESTED -> LAUNCHED -> JOINED -> DRAINING -> LINGERING -> FENCING -> FENCED -> RETIRING -> RETIRED
                     |          |                                 ^          |
                     |          +-------- (handover) -------------+          +-> RELEASED (handover) -> RETIRING
                     +--> FAILED (never joined) -> FENCING | RETIRING
                     +--> RETIRING (a controller's successor that an abort takes back: nothing was handed to it)

    REQUESTED goes to RETIRING, too, where an abort takes back a successor that only its bind would have made.

A node that is to go while its handover is under way is drained from where it stands, from the surviving copies.
A broker that metadata names again, though it is fenced or was told to stop, goes back to JOINED (`FenceReverted`).
Whether the VM is *lost* is a flag beside the phase: a broker that dies while it is drained is still being drained, from
its surviving copies.
"""

from enum import StrEnum


class Phase(StrEnum):
    """Where an instance stands. Only `cluster.evolve` moves it."""

    REQUESTED = "requested"
    LAUNCHED = "launched"
    JOINED = "joined"
    DRAINING = "draining"
    LINGERING = "lingering"
    FENCING = "fencing"
    FENCED = "fenced"
    RELEASED = "released"
    FAILED = "failed"
    RETIRING = "retiring"
    RETIRED = "retired"


LEGAL: dict[Phase, frozenset[Phase]] = {
    Phase.REQUESTED: frozenset({Phase.LAUNCHED, Phase.FAILED, Phase.RETIRING}),
    Phase.LAUNCHED: frozenset({Phase.JOINED, Phase.FAILED, Phase.RETIRING}),
    Phase.JOINED: frozenset({Phase.DRAINING, Phase.FENCING, Phase.FENCED}),
    Phase.DRAINING: frozenset({Phase.DRAINING, Phase.LINGERING, Phase.JOINED}),
    Phase.LINGERING: frozenset({Phase.FENCING, Phase.DRAINING}),
    Phase.FENCING: frozenset({Phase.FENCED, Phase.JOINED}),
    Phase.FENCED: frozenset({Phase.JOINED, Phase.DRAINING, Phase.RELEASED, Phase.RETIRING}),
    Phase.RELEASED: frozenset({Phase.DRAINING, Phase.RETIRING}),
    Phase.FAILED: frozenset({Phase.FENCING, Phase.FENCED, Phase.RETIRING}),
    Phase.RETIRING: frozenset({Phase.RETIRED}),
    Phase.RETIRED: frozenset(),
}

ALIVE = frozenset(Phase) - {Phase.RETIRED}
"""Phases in which a VM may exist and therefore stays in the rendered set."""

SERVING = frozenset({Phase.LAUNCHED, Phase.JOINED, Phase.DRAINING, Phase.LINGERING})
"""Phases in which the agent's document says `running`."""


class IllegalTransition(Exception):
    """An event asks for a move the table does not know. `evolve` turns it into `HistoryUnreadable`."""

    def __init__(self, key: str, old: Phase, new: Phase) -> None:
        super().__init__(f"instance {key} cannot go from {old} to {new}")


def require(key: str, old: Phase, new: Phase) -> Phase:
    """The new phase, if the table allows it."""
    if new not in LEGAL[old]:
        raise IllegalTransition(key, old, new)
    return new
