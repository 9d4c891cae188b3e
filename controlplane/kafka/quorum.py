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


def silent_for(silent_s: float) -> str:
    """`2.3 s`; `never heard of` where the leader, since it leads, has had no fetch of it at all."""
    return f"{silent_s:.1f} s" if silent_s < _NEVER_S else "never heard of"


def silence(silent_s: float) -> str:
    """The same in a sentence: `silent for 2.3 s`."""
    seconds = silent_for(silent_s)
    return f"silent for {seconds}" if silent_s < _NEVER_S else seconds


_NEVER_S = 10 * 365 * 86400.0
"""Without a fetch Kafka tells -1, so what is counted from that is the time since 1970."""
