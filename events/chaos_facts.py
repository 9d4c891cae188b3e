"""Faults that people brought about on purpose: part of a cluster's stream, see `facts`. What happens meanwhile is known
to have this cause.
"""

from dataclasses import dataclass

from events.registry import fact


@fact("chaos.injected", schema=1)
@dataclass(frozen=True, slots=True)
class ChaosInjected:
    """A person has a fault brought about in these instances (keys), recorded before it is done. It ends by itself
    after `for_s` seconds, where it is of a kind that ends."""

    chaos: str
    fault: str
    keys: tuple[str, ...]
    for_s: float
    reason: str


@fact("chaos.ended", schema=1)
@dataclass(frozen=True, slots=True)
class ChaosEnded:
    """The fault is over, as far as it was ours to end it. `outcome` in words."""

    chaos: str
    outcome: str
