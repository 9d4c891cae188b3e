"""What a look at topics or at users came to, in words."""

from collections.abc import Sequence

from controlplane.cluster.folds.kept import Trouble
from events.quantities import named


def outcome_text(settled: Sequence[str], news: Sequence[Trouble]) -> str:
    """Who is as declared, and the first that is not."""
    bad = [t for t in news if t.reason]
    parts = [f"{named(settled)} as declared"] if settled else []
    parts += [f"{bad[0].name}: {bad[0].reason}: {bad[0].message}"] if bad else []
    return "; ".join(parts) or "seen"
