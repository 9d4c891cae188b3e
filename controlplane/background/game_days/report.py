"""What a game day came to. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.cluster.views.game_days import GameView


@dataclass(frozen=True, slots=True)
class Totals:
    """Quantiles in seconds, None of none."""

    detected_p50_s: float | None
    detected_p95_s: float | None
    healed_p50_s: float | None
    healed_p95_s: float | None
    under_min_isr_s: float


def totals_of(game: GameView) -> Totals:
    """Of what was judged by now."""
    scores = [p.score for p in game.played if p.score is not None]
    detected = [s.detected_s for s in scores if s.detected_s is not None]
    # What nobody noticed had nothing to heal: it would only make the others look better.
    healed = [s.healed_s for s in scores if s.healed_s is not None and s.detected_s is not None]
    return Totals(
        detected_p50_s=quantile(detected, 0.5),
        detected_p95_s=quantile(detected, 0.95),
        healed_p50_s=quantile(healed, 0.5),
        healed_p95_s=quantile(healed, 0.95),
        under_min_isr_s=round(sum(s.under_min_isr_s for s in scores), 1),
    )


def game_words(game: GameView) -> str:
    """How it stands, in one sentence."""
    asked, count = game.asked, len(game.played)
    done = f"{count} of {asked.wanted} faults were injected"
    if game.ended_at is not None:
        return f"over, {done}: {game.stopped}" if game.stopped else f"over, {done}"
    last = game.played[-1] if game.played else None
    if last is None:
        return "in hand, waiting for full health before the first fault"
    if last.score is None:
        return f"in hand, {done}: waiting for full health after {last.fault} of {last.key}"
    return f"in hand, {done}"


def quantile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that at least this share of them does not exceed; None of none."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)] if values else None
