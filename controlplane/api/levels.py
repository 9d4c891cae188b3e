"""How far from even is too far: the levels that colour figures of brokers and topics. Pure.

Those of tools people come from: kafbat's of skew (10 and 20 percent), and disks as the meter of the page draws them.
"""

GOOD, WARN, BAD = "good", "warn", "bad"
SKEW_WARN, SKEW_BAD = 0.10, 0.20
DISK_WARN, DISK_BAD = 0.70, 0.85


def skew_level(skew: float | None, *, mean: float) -> str:
    """Of a count against the mean of the live brokers; "" where it is not known. A count of whole things cannot be
    nearer to the mean than one of them: as long as it is less than one away, nothing is wrong."""
    if skew is None:
        return ""
    if abs(skew) * mean < 1.0:
        return GOOD
    return BAD if abs(skew) >= SKEW_BAD else WARN if abs(skew) >= SKEW_WARN else GOOD


def disk_level(share: float | None) -> str:
    """Of the used share of a disk, 0 to 1; "" where it is not known."""
    if share is None:
        return ""
    return BAD if share >= DISK_BAD else WARN if share >= DISK_WARN else GOOD
