"""A fault that people brought about, as a cluster's history has it."""

from dataclasses import dataclass, field
from datetime import datetime

from events import facts


@dataclass(frozen=True, slots=True)
class ChaosView:
    """A fault somebody brought about on purpose and that is not over yet."""

    id: str
    fault: str
    keys: tuple[str, ...]
    reason: str
    since: datetime
    for_s: float
    manner: facts.ChaosManner = field(default_factory=facts.ChaosManner)
