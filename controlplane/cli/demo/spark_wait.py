"""How long the demo waits for Spark: as long as a session starts, and not for ever where none does. Pure."""

IDLE_WITHIN_S = 180.0
"""In all, without a session that starts: the server gives up a start that stands still, and tries again later."""
MOST_STARTS = 3


class SparkWait:
    """`planner` is what the server's version says of it: `spark`, `starting` or `in-process`."""

    def __init__(self, now_s: float) -> None:
        self._looked_s, self._idle_s = now_s, 0.0
        self._before, self._starts = "", 0

    def given_up(self, planner: str, now_s: float) -> str:
        """Why waiting is over without Spark; "" while it goes on."""
        if planner != "starting":
            self._idle_s += now_s - self._looked_s
        elif self._before != "starting":
            self._starts += 1
        self._looked_s, self._before = now_s, planner
        if self._starts > MOST_STARTS:
            return f"{MOST_STARTS} starts of its session failed"
        if self._idle_s > IDLE_WITHIN_S:
            return f"no session of it has started for {IDLE_WITHIN_S:.0f} s ({planner})"
        return ""
