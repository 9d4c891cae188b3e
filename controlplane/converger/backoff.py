"""How long to leave a failing thing alone. Doubling, capped; derived from counts, so a restart forgets nothing."""

FIRST_S = 2.0
CAP_S = 300.0


def delay_s(failures: int) -> float:
    """Seconds to wait after this many failures in a row: 2, 4, 8, ... 300. None after zero failures."""
    if failures <= 0:
        return 0.0
    return min(CAP_S, FIRST_S * 2.0 ** min(failures - 1, 16))
