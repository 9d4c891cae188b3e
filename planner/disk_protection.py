"""How slowly producers may write while a disk is nearly full, and when that is over. Pure."""

HYSTERESIS = 0.05
"""A disk is nearly full until it is so far (share of the disk) below the threshold: retention deletes whole segments,
and a disk at the threshold would be so and not so by turns."""

LASTS_S = 24 * 3600.0
"""What is free lasts for so long at the quota, if nothing is deleted meanwhile: time for a person to act."""

LEAST_BYTES_PER_S = 16 * 1024.0
"""No producer is stopped by it: one that cannot send at all drops records when its time is up."""


def producer_rate(free_bytes: int, replicas: int) -> float:
    """Bytes/s that the producers of a user may send to each broker, whole. A broker stores what it leads and as much
    for each other replica of what the others lead, so it gets `replicas` times that in the end."""
    return max(LEAST_BYTES_PER_S, float(int(free_bytes / LASTS_S / max(1, replicas))))


def is_near(share: float, above: float, *, was: bool) -> bool:
    """Whether a disk with this share in use is nearly full, where it was so a moment ago or not."""
    return share >= above - (HYSTERESIS if was else 0.0)
