"""Bounds of what counts as following the metadata log, shared by readers and gates."""

CAUGHT_UP_LAG = 20
"""Records a member may be behind and still count as caught up. At rest a member is 0 or 1 behind."""

SILENT_S = 5.0
"""Seconds without a fetch after which a member does not count as alive; a live one fetches about every 0.5
s."""

STEADY_S = 2.0
"""Before a voter is stopped the others have to be this close: one that died or froze a moment ago still counts as
alive for SILENT_S, and the two together would take the majority."""


def keeps_up(lag: int, silent_s: float) -> bool:
    """Whether a member that is so many records behind, and so long silent, counts as alive and caught up."""
    return lag < CAUGHT_UP_LAG and silent_s < SILENT_S
