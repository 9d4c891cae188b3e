"""Faults that people brought about on purpose: part of a cluster's stream, see `facts`. What happens meanwhile is known
to have this cause.
"""

from dataclasses import dataclass

from events.registry import fact


@dataclass(frozen=True, slots=True)
class ChaosManner:
    """How a fault is brought about, where there is more than one way; see `kedge chaos`.

    `cut_from` is `everyone`, `brokers` or `control-plane`, `way` is `both`, `in` or `out`; packets lost in percent.
    """

    cut_from: str = "everyone"
    way: str = "both"
    loss_percent: float = 0.0
    mib_per_s: float = 0.0


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
    manner: ChaosManner = ChaosManner()


@fact("chaos.ended", schema=1)
@dataclass(frozen=True, slots=True)
class ChaosEnded:
    """The fault is over, as far as it was ours to end it. `outcome` in words."""

    chaos: str
    outcome: str
