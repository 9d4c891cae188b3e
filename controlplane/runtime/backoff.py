"""How long to leave a failing thing alone. Doubling, capped; derived from counts, so a restart forgets nothing."""

FIRST_S = 2.0
CAP_S = 300.0
REFUSED_CAP_S = 3600.0


def delay_s(failures: int) -> float:
    """Seconds to wait after this many failures in a row: 2, 4, 8, ... 300. None after zero failures."""
    if failures <= 0:
        return 0.0
    return min(CAP_S, FIRST_S * 2.0 ** min(failures - 1, 16))


def refused_pause_s(refusals: int) -> float:
    """Seconds to wait after so many refusals in a row for want of a permission: 5, 10, 20, 40 min, then an hour."""
    return min(REFUSED_CAP_S, CAP_S * 2.0 ** min(refusals - 1, 16)) if refusals > 0 else 0.0
