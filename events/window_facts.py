"""What people say of windows and freezes: part of a cluster's stream, see `facts`."""

from dataclasses import dataclass

from events.registry import fact


@fact("window.waived", schema=1)
@dataclass(frozen=True, slots=True)
class WindowWaived:
    """A person lets the work left for this generation begin at once, outside the windows of the spec.

    Over when the generation is reached, when another one is declared, and when the roll is aborted. No freeze is
    lifted by it.
    """

    generation: int
    reason: str
