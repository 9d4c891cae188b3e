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
    after `for_s` seconds, where it is of a kind that ends. `game`: the game day that drew it, "" for none."""

    chaos: str
    fault: str
    keys: tuple[str, ...]
    for_s: float
    reason: str
    manner: ChaosManner = ChaosManner()
    game: str = ""


@fact("chaos.ended", schema=1)
@dataclass(frozen=True, slots=True)
class ChaosEnded:
    """The fault is over, as far as it was ours to end it. `outcome` in words."""

    chaos: str
    outcome: str


@fact("chaos.game_started", schema=1)
@dataclass(frozen=True, slots=True)
class GameStarted:
    """A person has a game day played: `wanted` faults of these kinds drawn by `seed`, one after the other, with full
    health between, `heal_within_s` seconds at most. None begins `within_s` after the first; each lasts `lasts_s`.

    `actor` is who asked as the history names them; by `subject` and `via`, how they proved it, what they may do is
    judged again before each fault.
    """

    game: str
    seed: int
    wanted: int
    within_s: float
    lasts_s: float
    heal_within_s: float
    faults: tuple[str, ...]
    reason: str
    actor: str
    subject: str
    via: str


@fact("chaos.fault_scored", schema=1)
@dataclass(frozen=True, slots=True)
class FaultScored:
    """What came of one fault of a game, in seconds from its beginning; None: it was never noticed, or did not heal.

    `first_sign`: why the cluster was not fully healthy when that was first seen; `findings`: conditions that held.
    """

    game: str
    chaos: str
    detected_s: float | None
    healed_s: float | None
    under_min_isr_s: float
    first_sign: str
    findings: tuple[str, ...]


@fact("chaos.game_ended", schema=1)
@dataclass(frozen=True, slots=True)
class GameEnded:
    """No further fault of the game begins. `stopped` says why it ended early, "" where all was played."""

    game: str
    stopped: str
