"""What a tick decides: events to record, effects to carry out, and one sentence with numbers that says why."""

from dataclasses import dataclass
from datetime import datetime

from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.situation.effects import Effect


@dataclass(frozen=True, slots=True)
class SurgeAsk:
    """So many surge VMs are wanted, as soon as the account's budget has them."""

    vms: int
    mends: bool
    """A lost VM is replaced: goes before upgrades."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can be done now. After `patience_s` without progress it is shown as the condition `Blocked`."""

    reason: WaitReason
    next_command: str = ""
    patience_s: float = 20.0
    ask: SurgeAsk | None = None
    """What is waited for, when that is surge VMs."""
    until: datetime | None = None
    """When it is tried again by itself, where that is known."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What one step decides. Events are recorded first; effects follow from what is recorded."""

    sentence: str
    events: tuple[object, ...] = ()
    effects: tuple[Effect, ...] = ()
    wait: Wait | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to do, nor waited for."""
        return self.wait is None and not self.events and not self.effects

    def and_beside(self, found: "Decision") -> "Decision":
        """This one with the effects of another one beside it. What that has to record comes first, alone."""
        if found.events:
            return found
        return Decision(f"{self.sentence}; {found.sentence}", (), (*self.effects, *found.effects), self.wait)


def record(sentence: str, *events: object) -> Decision:
    """A decision that records events; the tick decides again on the view after them."""
    return Decision(sentence, events=events)


def act(sentence: str, *effects: Effect) -> Decision:
    """A decision that carries out effects."""
    return Decision(sentence, effects=effects)


def wait(
    reason: WaitReason,
    sentence: str,
    *effects: Effect,
    next_command: str = "",
    patience_s: float = 20.0,
    until: datetime | None = None,
) -> Decision:
    """A decision that waits, perhaps with effects that keep things going."""
    return Decision(sentence, effects=effects, wait=Wait(reason, next_command, patience_s, until=until))
